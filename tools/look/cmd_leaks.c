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

/* ---- JSON */

static hs_status put_steps(struct hs_json *json, const struct report *r,
                           const struct hs_path_fold *fold, struct hs_error *err)
{
    hs_status status = HS_OK;
    hs_json_begin_array(json, "path", HS_JSON_LINE);
    for (size_t i = 0; i < fold->n_steps && status == HS_OK; i++) {
        const struct hs_path_step *step = &fold->steps[i];
        struct hs_node_facts facts = {.label = NULL};
        if (step->node != HS_NO_NODE)
            status = hs_view_facts(r->view, step->node, &facts, err);
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_node(json, "id", step->node);
        if (step->node != HS_NO_NODE)
            hs_json_address(json, "address", facts.address);
        else
            hs_json_null(json, "address");
        if (step->node != HS_NO_NODE && step->offset_words != HS_NO_OFFSET)
            hs_json_u64(json, "offset", step->offset_words * r->view->facts->word_bytes);
        else
            hs_json_null(json, "offset");
        hs_json_string(json, "type", facts.label);
        hs_json_u64(json, "repeat", step->repeat);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    return status;
}

static hs_status put_path(struct hs_json *json, const struct report *r,
                          const struct hs_leak_group *group, struct hs_error *err)
{
    struct hs_path_fold fold = {0};
    hs_status status = fold_path(r, group, &fold, err);
    if (status == HS_OK)
        status = put_steps(json, r, &fold, err);
    hs_path_fold_fini(&fold);
    return status;
}

static hs_status put_group(struct hs_json *json, const struct report *r, size_t at,
                           struct hs_error *err)
{
    const struct hs_leak_group *group = &r->groups.groups[at];
    char expression[HS_FIELD_PATH_BYTES];
    HS_TRY(put_expression(r, at, expression, err));
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_string(json, "certainty", hs_leak_certainty_name(group->certainty));
    hs_json_string(json, "why", reason_text(group));
    hs_json_string(json, "type", type_name(r, group));
    hs_json_u64(json, "words_each", group->words_each);
    hs_json_u64(json, "count", group->count);
    hs_json_u64(json, "words", group->words);
    hs_json_u64(json, "heads", group->heads);
    hs_json_u64(json, "held_words", group->held_words);
    hs_json_address(json, "first", r->facts[2 * at].address);
    hs_json_node(json, "first_id", group->first);
    hs_json_address(json, "head", r->facts[2 * at + 1].address);
    hs_json_string(json, "head_type", head_type(r, at));
    hs_json_string(json, "expression", hs_or_null(expression));
    hs_status status = put_path(json, r, group, err);
    hs_json_end_object(json);
    return status;
}

static void put_sum(struct hs_json *json, const char *key, const struct hs_leak_sum *sum)
{
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_u64(json, "count", sum->count);
    hs_json_u64(json, "words", sum->words);
    hs_json_end_object(json);
}

static hs_status print_json(struct hs_tool *tool, const struct report *r, bool is_lines,
                            struct hs_error *err)
{
    struct hs_json json;
    hs_status status = HS_OK;
    hs_json_init(&json, &tool->out, is_lines ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_lines) {
        hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
        hs_json_string(&json, "schema", "heapsnap.leaks/1");
        hs_json_string(&json, "snapshot", r->view->path);
        hs_json_u64(&json, "word_bytes", r->view->facts->word_bytes);
        hs_json_bool(&json, "collected", r->is_collected);
        hs_json_begin_array(&json, "groups", HS_JSON_BLOCK);
    }
    for (size_t i = 0; i < r->groups.n_groups && status == HS_OK; i++)
        status = put_group(&json, r, i, err);
    HS_TRY(status);
    if (!is_lines) {
        hs_json_end_array(&json);
        hs_json_begin_object(&json, "others", HS_JSON_LINE);
        hs_json_u64(&json, "groups", r->groups.n_others);
        hs_json_u64(&json, "count", r->groups.others.count);
        hs_json_u64(&json, "words", r->groups.others.words);
        hs_json_end_object(&json);
        for (unsigned i = 0; i < HS_N_LEAK_CERTAINTIES; i++)
            put_sum(&json, hs_leak_certainty_name(i), &r->groups.totals[i]);
        put_sum(&json, "suppressed", &r->groups.suppressed);
        hs_json_end_object(&json);
    }
    return hs_json_finish(&json, err);
}

/* ---- table */

static const struct hs_column columns[] = {
    {"certainty", "LEAK", HS_COLUMN_STRING, 0},
    {"count", "COUNT", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"words", "WORDS", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"words_each", "EACH", HS_COLUMN_WORDS, HS_COLUMN_DATA_ONLY},
    {"heads", "HEADS", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"held_words", "HELD", HS_COLUMN_WORDS, 0},
    {"first", "FIRST", HS_COLUMN_ADDRESS, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE | HS_COLUMN_TABLE_ONLY},
    {"type", "TYPE", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"why", "WHY", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"expression", "EXPRESSION", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns, COLUMN_COUNT = 1, COLUMN_WORDS = 2 };

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

static hs_status put_row(struct hs_sheet *sheet, const struct report *r, size_t at,
                         struct hs_error *err)
{
    const struct hs_leak_group *group = &r->groups.groups[at];
    bool is_garbage = r->is_collected && group->certainty == HS_LEAK_CERTAIN &&
                      sheet->options.format == HS_SHEET_TABLE;
    char expression[HS_FIELD_PATH_BYTES], what[1024 + HS_FIELD_PATH_BYTES];
    HS_TRY(put_expression(r, at, expression, err));
    write_what(r, at, expression, what, sizeof what);
    hs_sheet_string(sheet, is_garbage ? "garbage" : hs_leak_certainty_name(group->certainty));
    hs_sheet_u64(sheet, group->count);
    hs_sheet_u64(sheet, group->words);
    hs_sheet_u64(sheet, group->words_each);
    hs_sheet_u64(sheet, group->heads);
    hs_sheet_u64(sheet, group->held_words);
    hs_sheet_u64(sheet, r->facts[2 * at].address);
    hs_sheet_string(sheet, what);
    hs_sheet_string(sheet, type_name(r, group));
    hs_sheet_string(sheet, reason_text(group));
    hs_sheet_string(sheet, hs_or_null(expression));
    return HS_OK;
}

/* A line that belongs to the sum and is no group. */
static void put_closing(struct hs_sheet *sheet, const char *name, const struct hs_leak_sum *sum)
{
    if (sum->count == 0)
        return;
    hs_sheet_null(sheet);
    hs_sheet_u64(sheet, sum->count);
    hs_sheet_u64(sheet, sum->words);
    for (size_t i = COLUMN_WORDS + 1; i < N_COLUMNS; i++)
        if (strcmp(columns[i].key, "what") == 0)
            hs_sheet_string(sheet, name);
        else
            hs_sheet_null(sheet);
}

/* All that is lost adds up, what was not asked for too. */
static hs_status put_rows(struct hs_sheet *sheet, const struct report *r, unsigned certainties,
                          struct hs_error *err)
{
    static const char *const left_out[] = {"[certain ones]", "[possible ones]"};
    const struct hs_leak_groups *g = &r->groups;
    for (size_t i = 0; i < g->n_groups; i++)
        HS_TRY(put_row(sheet, r, i, err));
    uint64_t sums[N_COLUMNS] = {[COLUMN_COUNT] = g->others.count, [COLUMN_WORDS] = g->others.words};
    if (g->n_others != 0)
        hs_sheet_fold(sheet, g->n_others, sums);
    hs_sheet_close_rows(sheet);
    for (unsigned i = 0; i < HS_N_LEAK_CERTAINTIES; i++)
        if ((certainties >> i & 1) == 0)
            put_closing(sheet, left_out[i], &g->totals[i]);
    put_closing(sheet, "[suppressed]", &g->suppressed);
    return HS_OK;
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct report *r, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    if (options.format == HS_SHEET_TABLE && r->set.n_lost == 0)
        return hs_print(&tool->out, err, "no block is lost\n");
    options.word_bytes = r->view->facts->word_bytes;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    hs_status status = put_rows(&sheet, r, certainties_of(inv), err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
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

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       const struct report *r, struct hs_error *err)
{
    enum hs_format format = hs_tool_format(inv);
    if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON)
        return print_json(tool, r, format == HS_FORMAT_NDJSON, err);
    HS_TRY(print_sheet(tool, inv, r, err));
    if (format == HS_FORMAT_TABLE)
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
    struct report r = {.view = &view};
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
