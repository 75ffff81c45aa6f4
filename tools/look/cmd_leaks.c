/* leaks: blocks that no root reaches, and how sure that is. */
#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/leak_groups.h"
#include "analysis/neighbours.h"
#include "analysis/path_fold.h"
#include "base/alloc.h"
#include "commands.h"
#include "open_view.h"

struct report {
    struct hs_view *view;
    struct hs_leak_set set;
    struct hs_leak_groups groups;
    struct hs_node_facts *facts; /* owned: of each group's first block and of its head, in pairs */
    bool is_collected;           /* the heap of a collector: what is lost is garbage, and no leak */
    unsigned certainties;        /* asked for: a bit set of enum hs_leak_certainty */
    size_t at;                   /* the group that is put */
};

static const char *reason_text(const struct hs_leak_group *group)
{
    if (group->certainty == HS_LEAK_CERTAIN)
        return "nothing leads to it";
    if (group->reasons & HS_LEAK_UNSURE)
        return "its owner does not tell whether it is in use";
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

/* A bit set of enum hs_leak_certainty. */
static unsigned certainties_of(const struct hs_invocation *inv)
{
    static const unsigned chosen[] = {1 << HS_LEAK_CERTAIN | 1 << HS_LEAK_POSSIBLE,
                                      1 << HS_LEAK_CERTAIN, 1 << HS_LEAK_POSSIBLE};
    return chosen[inv->number[HS_OPT_CERTAINTY]];
}

static const char *type_name(const struct report *r, const struct hs_leak_group *group)
{
    return hs_view_string(r->view, hs_snap_type(r->view->snap, group->type)->name);
}

/* The head on which a lost block hangs, and whether it is one itself. */
static hs_node head_of(const struct report *r, hs_node node)
{
    return hs_leak_node(&r->set, r->set.head[hs_leak_rank(&r->set, node)]);
}

static bool is_head(const struct report *r, hs_node node)
{
    return r->set.parent[hs_leak_rank(&r->set, node)] == HS_NONE;
}

static hs_status look_up(struct report *r, struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL;
    size_t n = 2 * r->groups.n_groups;
    HS_TRY(hs_alloc(n, sizeof *nodes, (void **)&nodes, err));
    HS_TRY(hs_alloc(n, sizeof *r->facts, (void **)&r->facts, err));
    for (size_t i = 0; i < r->groups.n_groups; i++) {
        nodes[2 * i] = r->groups.groups[i].first;
        nodes[2 * i + 1] = head_of(r, nodes[2 * i]);
    }
    return hs_view_facts_of(r->view, nodes, n, r->facts, err);
}

/* From the head on which the group's first block hangs to that block. */
static hs_status fold_path(const struct report *r, const struct hs_leak_group *group,
                           struct hs_path_fold *fold, struct hs_error *err)
{
    const uint32_t *parent = r->set.parent;
    const uint32_t first = (uint32_t)hs_leak_rank(&r->set, group->first);
    size_t n = 1;
    for (uint32_t rank = first; parent[rank] != HS_NONE; rank = parent[rank])
        n++;
    hs_auto_free hs_node *nodes = NULL;
    HS_TRY(
        hs_budget_reserve(r->view->session.budget, n * sizeof *nodes, "the steps of a path", err));
    hs_status status = hs_alloc(n, sizeof *nodes, (void **)&nodes, err);
    uint32_t rank = first;
    for (size_t i = n; status == HS_OK && i-- > 0; rank = parent[rank])
        nodes[i] = hs_leak_node(&r->set, rank);
    if (status == HS_OK)
        status = hs_path_fold_nodes(fold, r->view, nodes, n, err);
    hs_budget_release(r->view->session.budget, n * sizeof *nodes);
    return status;
}

static const char *head_type(const struct report *r, size_t at)
{
    uint32_t type = r->facts[2 * at + 1].type;
    return hs_view_string(r->view, hs_snap_type(r->view->snap, type)->name);
}

/* The path as source would write it, begun by the type of the head; empty when the block hangs on
 * none, or no type says how. */
static hs_status put_expression(const struct report *r, size_t at, char *text, struct hs_error *err)
{
    const struct hs_leak_group *group = &r->groups.groups[at];
    struct hs_path_fold fold = {0};
    text[0] = '\0';
    if (is_head(r, group->first))
        return HS_OK;
    hs_status status = fold_path(r, group, &fold, err);
    if (status == HS_OK)
        hs_field_path(r->view, head_type(r, at), &fold, text, HS_FIELD_PATH_BYTES);
    hs_path_fold_fini(&fold);
    return status;
}

/* ---- rows */

struct line {
    const char *certainty, *label, *why, *type, *head_type, *expression, *what;
    uint64_t words_each, count, words, heads, held_words, first, first_id, head;
    const struct hs_list *path;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_FIELD(STRING, certainty),
    HS_COLUMN_AS("certainty", 1, STRING, label, "LEAK", HS_COLUMN_NOT_JSON),
    HS_COLUMN(10, STRING, why, "WHY", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(9, STRING, type, "TYPE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(4, WORDS, words_each, "EACH", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(2, COUNT, count, "COUNT", HS_COLUMN_SUMMED),
    HS_COLUMN(3, WORDS, words, "WORDS", HS_COLUMN_SUMMED),
    HS_COLUMN(5, COUNT, heads, "HEADS", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(6, WORDS, held_words, "HELD", 0),
    HS_COLUMN(7, ADDRESS, first, "FIRST", 0),
    HS_FIELD(NODE, first_id),
    HS_FIELD(ADDRESS, head),
    HS_FIELD(STRING, head_type),
    HS_COLUMN(11, STRING, expression, "EXPRESSION", HS_COLUMN_DATA_ONLY),
    HS_FIELD(LIST, path),
    HS_COLUMN(8, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE | HS_COLUMN_TABLE_ONLY),
};
static const struct hs_record record = HS_RECORD(fields);

static hs_status put_step(struct hs_sink *sink, const struct report *r,
                          const struct hs_path_step *step, struct hs_error *err)
{
    struct hs_node_facts facts = {.address = HS_UNKNOWN};
    uint64_t offset = HS_UNKNOWN;
    if (step->node != HS_NO_NODE) {
        HS_TRY(hs_view_facts(r->view, step->node, &facts, err));
        if (step->offset_words != HS_NO_OFFSET)
            offset = step->offset_words * r->view->facts->word_bytes;
    }
    return hs_sink_pairs(sink,
                         HS_PAIRS(HS_VALUE("id", NODE, step->node),
                                  HS_VALUE("address", ADDRESS, facts.address),
                                  HS_COUNT("offset", offset), HS_TEXT("type", facts.label),
                                  HS_COUNT("repeat", step->repeat)),
                         err);
}

static hs_status put_path(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct report *r = context;
    struct hs_path_fold fold = {0};
    hs_status status = fold_path(r, &r->groups.groups[r->at], &fold, err);
    for (size_t i = 0; i < fold.n_steps && status == HS_OK; i++)
        status = put_step(sink, r, &fold.steps[i], err);
    hs_path_fold_fini(&fold);
    return status;
}

/* What a group is, and what is not plain about it. */
static void write_what(const struct report *r, size_t at, const char *expression, char *text,
                       size_t n_bytes)
{
    const struct hs_leak_group *group = &r->groups.groups[at];
    const struct hs_node_facts *head = &r->facts[2 * at + 1];
    const char *type = type_name(r, group);
    if (group->certainty == HS_LEAK_POSSIBLE)
        (void)snprintf(text, n_bytes, "%.400s (%s)", type, reason_text(group));
    else if (expression[0] != '\0')
        (void)snprintf(text, n_bytes, "%.400s = %s", type, expression);
    else if (!is_head(r, group->first))
        (void)snprintf(text, n_bytes, "%.400s, hangs on %.400s at 0x%lx", type, head_type(r, at),
                       (unsigned long)head->address);
    else
        (void)snprintf(text, n_bytes, "%.400s", type);
}

static hs_status put_row(struct hs_sink *sink, struct report *r, size_t at, struct hs_error *err)
{
    const struct hs_leak_group *group = &r->groups.groups[at];
    const struct hs_list path = {.each = put_path, .context = r, .is_line = true};
    bool is_garbage = r->is_collected && group->certainty == HS_LEAK_CERTAIN && sink->is_table;
    char expression[HS_FIELD_PATH_BYTES], what[1024 + HS_FIELD_PATH_BYTES];
    HS_TRY(put_expression(r, at, expression, err));
    write_what(r, at, expression, what, sizeof what);
    r->at = at;
    struct line line = {
        .certainty = hs_leak_certainty_name(group->certainty),
        .label = is_garbage ? "garbage" : hs_leak_certainty_name(group->certainty),
        .why = reason_text(group),
        .type = type_name(r, group),
        .words_each = group->words_each,
        .count = group->count,
        .words = group->words,
        .heads = group->heads,
        .held_words = group->held_words,
        .first = r->facts[2 * at].address,
        .first_id = group->first,
        .head = r->facts[2 * at + 1].address,
        .head_type = head_type(r, at),
        .expression = hs_or_null(expression),
        .path = &path,
        .what = what,
    };
    return hs_sink_row(sink, &line, err);
}

/* A line that belongs to the sum and is no group. */
static void put_closing(struct hs_sink *sink, const char *name, const struct hs_leak_sum *sum)
{
    struct line line = {.what = name,
                        .count = sum->count,
                        .words = sum->words,
                        .held_words = HS_UNKNOWN,
                        .first = HS_UNKNOWN};
    if (sum->count != 0)
        hs_sink_close(sink, &line);
}

/* All that is lost adds up, what was not asked for too. */
static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    static const char *const left_out[] = {"[certain ones]", "[possible ones]"};
    struct report *r = context;
    const struct hs_leak_groups *g = &r->groups;
    for (size_t i = 0; i < g->n_groups; i++)
        HS_TRY(put_row(sink, r, i, err));
    struct line others = {.count = g->others.count, .words = g->others.words};
    hs_sink_others(sink, g->n_others, &others);
    for (unsigned i = 0; i < HS_N_LEAK_CERTAINTIES; i++)
        if ((r->certainties >> i & 1) == 0)
            put_closing(sink, left_out[i], &g->totals[i]);
    put_closing(sink, "[suppressed]", &g->suppressed);
    return HS_OK;
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv, struct report *r,
                            struct hs_error *err)
{
    const struct hs_leak_groups *g = &r->groups;
    const struct hs_leak_sum *certain = &g->totals[HS_LEAK_CERTAIN],
                             *possible = &g->totals[HS_LEAK_POSSIBLE];
    const struct hs_list list = {.record = &record, .each = put_rows, .context = r};
    const struct hs_listing listing = {
        .rows = &list,
        .word_bytes = r->view->facts->word_bytes,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.leaks/1"), HS_TEXT("snapshot", r->view->path),
            HS_COUNT("word_bytes", r->view->facts->word_bytes),
            HS_VALUE("collected", BOOL, r->is_collected), HS_ROWS("groups", &list),
            HS_OBJECT("others"), HS_COUNT("groups", g->n_others),
            HS_COUNT("count", g->others.count), HS_COUNT("words", g->others.words), HS_END,
            HS_OBJECT(hs_leak_certainty_name(HS_LEAK_CERTAIN)), HS_COUNT("count", certain->count),
            HS_COUNT("words", certain->words), HS_END,
            HS_OBJECT(hs_leak_certainty_name(HS_LEAK_POSSIBLE)), HS_COUNT("count", possible->count),
            HS_COUNT("words", possible->words), HS_END, HS_OBJECT("suppressed"),
            HS_COUNT("count", g->suppressed.count), HS_COUNT("words", g->suppressed.words), HS_END),
    };
    if (hs_tool_format(inv) == HS_FORMAT_TABLE && r->set.n_lost == 0)
        return hs_print(&tool->out, err, "no block is lost\n");
    return hs_tool_list(tool, inv, &listing, err);
}

/* The next step. */
static void talk_closing(struct hs_tool *tool, const struct report *r)
{
    if (r->groups.n_groups != 0 && tool->talk_is_terminal)
        hs_tool_hint(tool,
                     "'heapsnap object %s 0x%lx' shows a block and what it points to; --json has a "
                     "path to each group's first",
                     r->view->path, (unsigned long)r->facts[1].address);
}

/* ---- the command */

static bool root_holds(const void *context, const struct hs_root *root)
{
    const void *const *pair = context;
    return hs_suppressions_match(pair[0], HS_SUPPRESS_ROOT, hs_view_string(pair[1], root->name));
}

static hs_status find(const struct hs_invocation *inv, const struct hs_suppressions *suppressions,
                      struct report *r, struct hs_error *err)
{
    const void *context[] = {suppressions, r->view};
    struct hs_leak_holders holders = {root_holds, context};
    struct hs_leak_query query = {
        .suppressions = suppressions,
        .certainties = certainties_of(inv),
        .min_words = inv->number[HS_OPT_MIN_WORDS],
        .max_rows = hs_tool_rows(inv),
    };
    HS_TRY(hs_leak_set_find(r->view, suppressions->n != 0 ? &holders : NULL, &r->set, err));
    HS_TRY(hs_leak_groups_find(r->view, &r->set, &query, &r->groups, err));
    return look_up(r, err);
}

static bool is_collected(const struct hs_view *view)
{
    for (size_t i = 0; i < view->facts->n_runtimes; i++)
        if (strcmp(hs_view_string(view, view->facts->runtimes[i].name), "ocaml") != 0)
            return false;
    return view->facts->n_runtimes != 0;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv, struct report *r,
                       struct hs_error *err)
{
    HS_TRY(print_rows(tool, inv, r, err));
    if (hs_tool_format(inv) == HS_FORMAT_TABLE)
        talk_closing(tool, r);
    return HS_OK;
}

static void judge(struct hs_tool *tool, const struct hs_invocation *inv, const struct report *r)
{
    uint64_t words = 0;
    unsigned certainties =
        hs_given(inv, HS_OPT_CERTAINTY) ? certainties_of(inv) : 1U << HS_LEAK_CERTAIN;
    for (unsigned i = 0; i < HS_N_LEAK_CERTAINTIES; i++)
        if (certainties >> i & 1)
            words += r->groups.totals[i].words;
    if (!hs_given(inv, HS_OPT_FAIL_OVER) || words <= inv->number[HS_OPT_FAIL_OVER])
        return;
    hs_talk("%lu words %s, more than the %lu of --fail-over", (unsigned long)words,
            r->is_collected ? "are garbage" : "have leaked",
            (unsigned long)inv->number[HS_OPT_FAIL_OVER]);
    tool->threshold_crossed = true;
}

hs_status hs_cmd_leaks(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    struct hs_suppressions suppressions = {0};
    struct report r = {.view = &view, .certainties = certainties_of(inv)};
    if (hs_given(inv, HS_OPT_SUPPRESSIONS))
        HS_TRY(hs_suppressions_load(inv->text[HS_OPT_SUPPRESSIONS], &suppressions, err));
    hs_status status = hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err);
    if (status == HS_OK)
        r.is_collected = is_collected(&view);
    if (r.is_collected)
        hs_talk("what no root reaches in an OCaml heap is garbage, which its collector frees");
    if (status == HS_OK)
        status = find(inv, &suppressions, &r, err);
    if (status == HS_OK)
        status = print(tool, inv, &r, err);
    if (status == HS_OK)
        judge(tool, inv, &r);
    hs_free(r.facts);
    hs_leak_groups_fini(&r.groups);
    hs_leak_set_fini(&r.set);
    hs_suppressions_fini(&suppressions);
    return hs_view_finish(&view, status, err);
}
