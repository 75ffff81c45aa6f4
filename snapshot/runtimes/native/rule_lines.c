#include "rule_lines.h"

#include "rules/rules.h"

enum { PLACE_BYTES = HS_RULES_MAX_NAME_BYTES + 32 };

/* Returns the rule of snapshot/reasons.def that a line is a case of. */
static enum hs_reason base_of(enum hs_rule_kind kind)
{
    switch (kind) {
    case HS_RULE_FIND:
        return HS_REASON_WEAK_POINTER;
    case HS_RULE_BORROWED:
        return HS_REASON_BORROWED_BY_CALL;
    default:
        return HS_REASON_RUNTIME_TABLE;
    }
}

static const struct hs_rule *rule_of(const struct hs_native *native, unsigned reason)
{
    const struct hs_rules *rules = native->dump->options->rules;
    bool is_line = reason >= HS_FIRST_LINE_REASON && rules != NULL;

    return is_line ? hs_rules_numbered(rules, (uint8_t)(reason - HS_FIRST_LINE_REASON + 1)) : NULL;
}

hs_status hs_native_note_lines(struct hs_native *native, struct hs_error *err)
{
    const uint64_t *used = native->dump->findings.rule_lines;
    char place[PLACE_BYTES];

    for (unsigned reason = HS_FIRST_LINE_REASON; reason <= HS_MAX_REASON; reason++) {
        unsigned number = reason - HS_FIRST_LINE_REASON + 1;
        const struct hs_rule *rule =
            (used[number / 64] >> number % 64 & 1) != 0 ? rule_of(native, reason) : NULL;
        if (rule == NULL)
            continue;
        hs_rule_place(native->dump->options->rules, rule, place, sizeof place);
        HS_TRY(hs_findings_note(&native->dump->findings, false, err,
                                HS_NOTE_LINE "%u" HS_NOTE_LINE_IS "%s" HS_NOTE_LINE_BY "%s", reason,
                                hs_reason_name(base_of(rule->kind)), place));
    }
    return HS_OK;
}

void hs_native_raise_roots(struct hs_native *native)
{
    uint64_t off = native->dump->options->reasons_off;

    for (size_t i = 0; off != 0 && i < native->roots.n_leaves; i++) {
        struct hs_root *root = &native->roots.leaves[i].root;
        const struct hs_rule *rule = rule_of(native, root->reason);
        unsigned reason = rule == NULL ? root->reason : base_of(rule->kind);
        if (reason >= HS_FIRST_LINE_REASON || (off >> reason & 1) == 0)
            continue;
        root->tier = (uint8_t)hs_edge_tier(root->edge_class);
        root->reason = HS_REASON_NONE;
    }
}
