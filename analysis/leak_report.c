/* Groups of lost blocks with what they hang on. */
#include "analysis/leak_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"

/* Returns the reason for a possible leak whose owner does not tell whether the block is in use. */
static const char *reason_unsure(const struct hs_leak_report *report, uint64_t words)
{
    for (size_t i = 0; i < report->n_of_size; i++)
        if (report->of_size[i].words == words)
            return report->of_size[i].text;
    if (report->blind[0] != '\0')
        return report->blind;
    return report->n_of_size != 0
               ? "only possible leaks lead to it, or its owner does not tell whether it is in use"
               : "its owner does not tell whether it is in use";
}

const char *hs_leak_reason_text(const struct hs_leak_report *report,
                                const struct hs_leak_group *group)
{
    if (group->certainty == HS_LEAK_CERTAIN)
        return "nothing leads to it";
    if (group->reasons & HS_LEAK_UNSURE)
        return reason_unsure(report, group->words_each);
    if (group->reasons & HS_LEAK_WEAK && report->weak != NULL)
        return report->weak[group->number];
    bool is_other = (group->reasons & (HS_LEAK_PAST_END | HS_LEAK_GUESSED)) != 0;
    switch (group->reasons & (HS_LEAK_STACK | HS_LEAK_MAPPING)) {
    case HS_LEAK_STACK:
        return is_other ? "only stack slots or registers without a variable, or words that need "
                          "not be pointers, lead to it"
                        : "only stack slots or registers without a variable lead to it";
    case HS_LEAK_MAPPING:
        return is_other ? "only mappings that nobody claims, or words that need not be pointers, "
                          "lead to it"
                        : "only a mapping that nobody claims leads to it";
    case HS_LEAK_STACK | HS_LEAK_MAPPING:
        return "only stack slots or registers without a variable, or mappings that nobody claims, "
               "lead to it";
    default:
        break;
    }
    switch (group->reasons & (HS_LEAK_PAST_END | HS_LEAK_GUESSED)) {
    case HS_LEAK_PAST_END:
        return "only words one past its end lead to it";
    case HS_LEAK_GUESSED:
        return "only words that need not be pointers lead to it";
    case HS_LEAK_PAST_END | HS_LEAK_GUESSED:
        return "only words past its end, or that need not be pointers, lead to it";
    default:
        return "only possible leaks lead to it";
    }
}

const char *hs_leak_type_name(const struct hs_leak_report *report,
                              const struct hs_leak_group *group)
{
    return hs_view_string(report->view, hs_snap_type(report->view->snap, group->type)->name);
}

const char *hs_leak_perhaps(const struct hs_leak_report *report, const struct hs_leak_group *group,
                            char *text, size_t n_bytes)
{
    const char *name = hs_leak_type_name(report, group);
    const char *cut = hs_snap_type(report->view->snap, group->type)->form == HS_FORM_BYTES
                          ? strstr(name, HS_TYPE_PERHAPS)
                          : NULL;
    (void)snprintf(text, n_bytes, "%.*s", cut == NULL ? (int)strlen(name) : (int)(cut - name),
                   name);
    return cut == NULL ? NULL : cut + strlen(HS_TYPE_PERHAPS);
}

/* ---- weak references */

static void weak_text(const struct hs_leak_report *report, size_t at,
                      const struct hs_node_facts *facts, hs_node root)
{
    const struct hs_view *view = report->view;
    const struct hs_leak_group *group = &report->groups.groups[at];
    char from[200] = "";

    if (root != HS_NO_NODE)
        hs_append(from, sizeof from, "%.90s",
                  hs_view_string(view, hs_snap_root(view->snap, root)->name));
    if (group->weak_from >= view->n_tree)
        hs_append(from, sizeof from, root != HS_NO_NODE ? " (%.90s)" : "a block of type %.90s",
                  hs_view_string(view, hs_snap_type(view->snap, facts->type)->name));
    unsigned others = group->reasons & ~(unsigned)(HS_LEAK_WEAK | HS_LEAK_BELOW);
    (void)snprintf(
        report->weak[at], HS_LEAK_WEAK_BYTES, "only weak references%s lead to it, from %s",
        (others & HS_LEAK_STACK) != 0 ? ", or stack slots or registers without a variable,"
        : others != 0                 ? ", or words that need not be pointers,"
                                      : "",
        from);
}

static hs_status weak_texts(struct hs_leak_report *report, hs_node *from, hs_node *roots,
                            struct hs_node_facts *facts, struct hs_error *err)
{
    struct hs_view *view = report->view;
    size_t n = 0, k = 0;

    for (size_t i = 0; i < report->groups.n_groups; i++)
        if (report->groups.groups[i].weak_from != HS_NO_NODE)
            from[n++] = report->groups.groups[i].weak_from;
    HS_TRY(hs_view_facts_of(view, from, n, facts, err));
    HS_TRY(hs_view_retaining_roots(view, from, n, roots, err));
    for (size_t i = 0; i < report->groups.n_groups; i++) {
        hs_node node = report->groups.groups[i].weak_from;
        if (node == HS_NO_NODE)
            continue;
        weak_text(report, i, &facts[k], node < view->n_tree ? node : roots[k]);
        k++;
    }
    return HS_OK;
}

/* Names, for each group to which weak references lead, the place of one of them and what keeps the
 * block it is in. */
static hs_status name_weak(struct hs_leak_report *report, struct hs_error *err)
{
    hs_auto_free hs_node *from = NULL, *roots = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    size_t n = report->groups.n_groups;
    bool has_weak = false;

    for (size_t i = 0; i < n; i++) {
        report->groups.groups[i].number = i;
        has_weak |= report->groups.groups[i].weak_from != HS_NO_NODE;
    }
    if (!has_weak)
        return HS_OK;
    HS_TRY(HS_ALLOC(&from, n, err));
    HS_TRY(HS_ALLOC(&roots, n, err));
    HS_TRY(HS_ALLOC(&facts, n, err));
    HS_TRY(HS_ALLOC(&report->weak, n, err));
    return weak_texts(report, from, roots, facts, err);
}

static hs_node head_of(const struct hs_leak_report *report, hs_node node)
{
    return hs_leak_node(&report->set, report->set.head[hs_leak_rank(&report->set, node)]);
}

bool hs_leak_is_head(const struct hs_leak_report *report, hs_node node)
{
    return report->set.parent[hs_leak_rank(&report->set, node)] == HS_NONE;
}

static hs_status look_up(struct hs_leak_report *report, struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL;
    size_t n = 2 * report->groups.n_groups;
    HS_TRY(HS_ALLOC(&nodes, n, err));
    HS_TRY(HS_ALLOC(&report->facts, n, err));
    for (size_t i = 0; i < report->groups.n_groups; i++) {
        nodes[2 * i] = report->groups.groups[i].first;
        nodes[2 * i + 1] = head_of(report, nodes[2 * i]);
    }
    return hs_view_facts_of(report->view, nodes, n, report->facts, err);
}

hs_status hs_leak_path(const struct hs_leak_report *report, const struct hs_leak_group *group,
                       struct hs_path_fold *fold, struct hs_error *err)
{
    const uint32_t *parent = report->set.parent;
    const uint32_t first = (uint32_t)hs_leak_rank(&report->set, group->first);
    size_t n = 1;
    for (uint32_t rank = first; parent[rank] != HS_NONE; rank = parent[rank])
        n++;
    hs_auto_free hs_node *nodes = NULL;
    HS_TRY(hs_budget_reserve(report->view->session.budget, n * sizeof *nodes, "the steps of a path",
                             err));
    hs_status status = HS_ALLOC(&nodes, n, err);
    uint32_t rank = first;
    for (size_t i = n; status == HS_OK && i-- > 0; rank = parent[rank])
        nodes[i] = hs_leak_node(&report->set, rank);
    if (status == HS_OK)
        status = hs_path_fold_nodes(fold, report->view, nodes, n, err);
    hs_budget_release(report->view->session.budget, n * sizeof *nodes);
    return status;
}

const char *hs_leak_head_type(const struct hs_leak_report *report, size_t at)
{
    uint32_t type = report->facts[2 * at + 1].type;
    return hs_view_string(report->view, hs_snap_type(report->view->snap, type)->name);
}

hs_status hs_leak_expression(const struct hs_leak_report *report, size_t at, char *text,
                             struct hs_error *err)
{
    const struct hs_leak_group *group = &report->groups.groups[at];
    struct hs_path_fold fold = {0};
    text[0] = '\0';
    if (hs_leak_is_head(report, group->first))
        return HS_OK;
    hs_status status = hs_leak_path(report, group, &fold, err);
    if (status == HS_OK)
        hs_field_path(report->view, hs_leak_head_type(report, at), &fold, text,
                      HS_FIELD_PATH_BYTES);
    hs_path_fold_fini(&fold);
    return status;
}

/* Runtimes whose heap is a collector's alone. */
static bool is_collected(const char *runtime)
{
    static const char *const names[] = {"ocaml", "go", "Java heap dump", "V8 heap snapshot"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(runtime, names[i]) == 0)
            return true;
    return false;
}

bool hs_leak_is_garbage(const struct hs_view *view)
{
    for (size_t i = 0; i < view->facts->n_runtimes; i++)
        if (!is_collected(hs_view_string(view, view->facts->runtimes[i].name)))
            return false;
    return view->facts->n_runtimes != 0;
}

static bool root_holds(const void *context, const struct hs_root *root)
{
    const void *const *pair = context;
    return hs_suppressions_match(pair[0], HS_SUPPRESS_ROOT, hs_view_string(pair[1], root->name));
}

/* The number of bytes that a note of blocks of one size speaks of, of its n bytes; 0: of all. */
static uint64_t size_of_note(const char *text, size_t n)
{
    const char *last = NULL;

    for (const char *at = text; (at = strstr(at, HS_NOTE_BLOCKS_OF)) != NULL && at < text + n; at++)
        last = at + strlen(HS_NOTE_BLOCKS_OF);
    uint64_t n_bytes = last == NULL ? 0 : strtoull(last, NULL, 10);
    char end[64];
    int n_end = snprintf(end, sizeof end, HS_NOTE_OF_SIZE, (unsigned long long)n_bytes);
    return n_bytes != 0 && (size_t)n_end <= n && memcmp(text + n - n_end, end, (size_t)n_end) == 0
               ? n_bytes
               : 0;
}

/* Adds the reason of a size: beside why no leak is certain, a size may have reasons of its own. */
static hs_status add_of_size(struct hs_leak_report *report, uint64_t words, const char *text,
                             size_t n, struct hs_error *err)
{
    struct hs_leak_size_reason *reason = NULL;

    for (size_t i = 0; i < report->n_of_size; i++)
        if (report->of_size[i].words == words)
            reason = &report->of_size[i];
    if (reason == NULL) {
        HS_TRY(HS_GROW(&report->of_size, &report->of_size_capacity, report->n_of_size + 1, err));
        reason = &report->of_size[report->n_of_size++];
        reason->words = words;
    }
    hs_append(reason->text, sizeof reason->text, "%s%.*s", reason->text[0] != 0 ? "; or " : "",
              (int)n, text);
    return HS_OK;
}

/* The notes that say that no leak is certain, without these words. A block may be unsure for any of
 * them, but for those that speak of another size. */
static hs_status find_blind(struct hs_leak_report *report, struct hs_error *err)
{
    const struct hs_snap_facts *facts = report->view->facts;
    for (size_t i = 0; i < facts->n_notes; i++) {
        const char *text = hs_view_string(report->view, facts->notes[i].text);
        const char *end = strstr(text, HS_NOTE_NOT_CERTAIN);
        if (end == NULL)
            continue;
        uint64_t n_bytes = size_of_note(text, (size_t)(end - text));
        if (n_bytes != 0)
            HS_TRY(
                add_of_size(report, n_bytes / facts->word_bytes, text, (size_t)(end - text), err));
        else
            hs_append(report->blind, sizeof report->blind, "%s%.*s",
                      report->blind[0] != 0 ? "; or " : "", (int)(end - text), text);
    }
    return HS_OK;
}

static hs_status find(struct hs_leak_report *report, const struct hs_leak_query *query,
                      struct hs_error *err)
{
    const struct hs_suppressions *suppressions = query->suppressions;
    const void *context[] = {suppressions, report->view};
    struct hs_leak_holders holders = {root_holds, context};
    const struct hs_leak_holders *held_by = suppressions->n != 0 ? &holders : NULL;
    HS_TRY(hs_leak_set_find(report->view, held_by, &report->set, err));
    HS_TRY(hs_leak_groups_find(report->view, &report->set, query, &report->groups, err));
    HS_TRY(find_blind(report, err));
    HS_TRY(name_weak(report, err));
    return look_up(report, err);
}

hs_status hs_leak_report_find(struct hs_view *view, const struct hs_leak_query *query,
                              struct hs_leak_report *ret, struct hs_error *err)
{
    struct hs_leak_report report = {.view = view};
    hs_status status = find(&report, query, err);
    if (status == HS_OK)
        *ret = report;
    else
        hs_leak_report_fini(&report);
    return status;
}

void hs_leak_report_fini(struct hs_leak_report *report)
{
    hs_free(report->facts);
    hs_free(report->of_size);
    hs_free(report->weak);
    hs_leak_groups_fini(&report->groups);
    hs_leak_set_fini(&report->set);
    *report = (struct hs_leak_report){0};
}
