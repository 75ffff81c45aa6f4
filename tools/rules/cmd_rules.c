/* rules: what is known of types and libraries, from which file, and what is wrong with one. */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/file.h"
#include "commands.h"
#include "rules/rules.h"

enum { NAMES_BYTES = HS_RULES_MAX_LINE_BYTES };

struct line {
    uint64_t number;
    const char *name, *file;
    uint64_t line;
    const char *kind, *patterns, *says, *language;
    uint64_t enabled;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_FIELD(COUNT, number),
    HS_COLUMN(1, STRING, name, "RULES", 0),
    HS_FIELD(STRING, file),
    HS_COLUMN(2, COUNT, line, "LINE", 0),
    HS_COLUMN(3, STRING, kind, "OF", 0),
    HS_COLUMN(4, STRING, patterns, "NAMES", HS_COLUMN_FLEXIBLE | HS_COLUMN_WRAPS),
    HS_COLUMN(5, STRING, says, "SAYS", 0),
    HS_COLUMN(6, STRING, language, "LANGUAGE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(7, BOOL, enabled, "ENABLED", 0),
};
static const struct hs_record record = HS_RECORD(fields);
#undef HS_ROW

struct listed {
    const struct hs_rules *rules;
    const char *explain; /* NULL: all */
};

static const char *language_of(const struct hs_rule *rule)
{
    switch (rule->languages) {
    case HS_RULE_C:
        return "c";
    case HS_RULE_CPP:
        return "c++";
    case HS_RULE_RUST:
        return "rust";
    default:
        return NULL;
    }
}

static hs_status put_rule(struct hs_sink *sink, const struct hs_rules *rules, size_t at,
                          struct hs_error *err)
{
    const struct hs_rule *rule = &rules->rules[at];
    const struct hs_rule_set *set = &rules->sets[rule->set];
    char patterns[NAMES_BYTES] = "", says[NAMES_BYTES];

    for (uint32_t i = 0; i < rule->n_patterns; i++)
        hs_append_item(patterns, sizeof patterns, " ",
                       rules->patterns[rule->first_pattern + i].text);
    hs_rule_text(rule, says, sizeof says);
    const struct line line = {
        at + 1,   set->name, set->path,         rule->line,     hs_rule_subject(rule),
        patterns, says,      language_of(rule), set->is_enabled};
    return hs_sink_row(sink, &line, err);
}

static hs_status put_rules(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listed *listed = context;

    for (size_t i = 0; i < listed->rules->n_rules; i++)
        if (listed->explain == NULL ||
            hs_rule_is_of(listed->rules, &listed->rules->rules[i], listed->explain))
            HS_TRY(put_rule(sink, listed->rules, i, err));
    return HS_OK;
}

static hs_status list_rules(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_rules *rules, struct hs_error *err)
{
    struct listed listed = {rules,
                            hs_given(inv, HS_OPT_EXPLAIN) ? inv->text[HS_OPT_EXPLAIN] : NULL};
    const struct hs_list rows = {.record = &record, .each = put_rules, .context = &listed};
    char hash[24];

    (void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)rules->hash);
    const struct hs_listing listing = {
        .rows = &rows,
        .no_total = true,
        .document = HS_PAIRS(HS_TEXT("schema", "heapsnap.rules/1"), HS_TEXT("hash", hash),
                             HS_TEXT("explain", listed.explain), HS_ROWS("rules", &rows)),
    };
    return hs_tool_list(tool, inv, &listing, err);
}

/* ---- --check */

struct fault {
    const char *file;
    uint64_t line, column;
    const char *reason;
};

#define HS_ROW struct fault
static const struct hs_field fault_fields[] = {
    HS_COLUMN(1, STRING, file, "FILE", 0),
    HS_COLUMN(2, COUNT, line, "LINE", 0),
    HS_COLUMN(3, COUNT, column, "COLUMN", 0),
    HS_COLUMN(4, STRING, reason, "REASON", HS_COLUMN_FLEXIBLE | HS_COLUMN_WRAPS),
};
static const struct hs_record fault_record = HS_RECORD(fault_fields);
#undef HS_ROW

struct checked {
    struct hs_rule_source source;
    struct hs_sink *sink;
    uint64_t n_faults;
};

static hs_status put_fault(void *context, const struct hs_rule_fault *found, struct hs_error *err)
{
    struct checked *checked = context;
    const struct fault fault = {checked->source.path, found->line, found->column, found->reason};

    checked->n_faults++;
    return hs_sink_row(checked->sink, &fault, err);
}

static hs_status put_faults(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct checked *checked = context;
    struct hs_rules rules = {0};

    checked->sink = sink;
    checked->n_faults = 0;
    hs_status status = hs_rules_add(&rules, &checked->source, err);
    hs_rules_fini(&rules);
    return status;
}

static hs_status check(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    const char *path = inv->text[HS_OPT_CHECK];
    struct hs_map map;
    HS_TRY(hs_map_open(path, &map, err));
    struct checked checked = {.source = {.name = "checked",
                                         .path = path,
                                         .bytes = map.bytes,
                                         .n_bytes = map.n_bytes,
                                         .is_enabled = true,
                                         .told = put_fault}};
    checked.source.context = &checked;
    const struct hs_list rows = {.record = &fault_record, .each = put_faults, .context = &checked};
    const struct hs_listing listing = {
        .rows = &rows,
        .no_total = true,
        .document = HS_PAIRS(HS_TEXT("schema", "heapsnap.rules_check/1"), HS_TEXT("file", path),
                             HS_ROWS("faults", &rows)),
    };
    hs_status status = hs_tool_list(tool, inv, &listing, err);
    hs_map_close(&map);
    HS_TRY(status);
    if (checked.n_faults == 0)
        return HS_OK;
    HS_TRY(hs_tool_commit(tool, err));
    return hs_fail(err, HS_USAGE, "'%s': %llu line%s no rule%s", path,
                   (unsigned long long)checked.n_faults, checked.n_faults == 1 ? " is" : "s are",
                   checked.n_faults == 1 ? "" : "s");
}

hs_status hs_cmd_rules(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    const char *given[HS_MAX_REPEATED];
    struct hs_rules rules = {0};

    if (hs_given(inv, HS_OPT_CHECK))
        return check(tool, inv, err);
    HS_TRY(hs_rules_load(given, hs_repeated(inv, HS_OPT_RULES, given), &rules, err));
    hs_status status = list_rules(tool, inv, &rules, err);
    hs_rules_fini(&rules);
    return status;
}
