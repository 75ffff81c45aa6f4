/* leaks: blocks that no root reaches, and how sure that is. */
#include <stdio.h>
#include <string.h>

#include "analysis/leak_report.h"
#include "analysis/neighbours.h"
#include "analysis/type_family.h"
#include "base/alloc.h"
#include "base/append.h"
#include "base/units.h"
#include "commands.h"
#include "described.h"
#include "leaked_print.h"
#include "noun_fields.h"
#include "open_view.h"
#include "unread_print.h"

struct report {
    struct hs_leak_report found;
    bool is_garbage;      /* the heap of a collector */
    unsigned certainties; /* asked for: a bit set of enum hs_leak_certainty */
    size_t at;            /* the group that is put */
    struct hs_rows rows;  /* its columns */
    struct hs_leaked_goroutines leaked;
};

/* A bit set of enum hs_leak_certainty. */
static unsigned certainties_of(const struct hs_invocation *inv)
{
    static const unsigned chosen[] = {1 << HS_LEAK_CERTAIN | 1 << HS_LEAK_POSSIBLE,
                                      1 << HS_LEAK_CERTAIN, 1 << HS_LEAK_POSSIBLE};
    return chosen[inv->number[HS_OPT_CERTAINTY]];
}

/* ---- rows */

struct line {
    uint64_t cells[HS_LEAKS_N];
    const char *label, *what;
    const struct hs_list *path;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_ROWS_LEAKS(HS_NOUN_FIELD) HS_FIELD(LIST, path),
    HS_COLUMN_AS("certainty", 1, STRING, label, "LEAK", HS_COLUMN_NOT_JSON),
    HS_SHOWN(LEAKS, count, 2, COUNT, "COUNT", HS_COLUMN_SUMMED),
    HS_SHOWN(LEAKS, words, 3, WORDS, "WORDS", HS_COLUMN_SUMMED),
    HS_SHOWN(LEAKS, words_each, 4, WORDS, "EACH", HS_COLUMN_DATA_ONLY),
    HS_SHOWN(LEAKS, heads, 5, COUNT, "HEADS", HS_COLUMN_DATA_ONLY),
    HS_SHOWN(LEAKS, held_words, 6, WORDS, "HELD", HS_COLUMN_NARROW(1)),
    HS_SHOWN(LEAKS, first, 7, ADDRESS, "FIRST", HS_COLUMN_NARROW(2)),
    HS_COLUMN(8, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE | HS_COLUMN_TABLE_ONLY),
    HS_SHOWN(LEAKS, type, 9, STRING, "TYPE", HS_COLUMN_DATA_ONLY),
    HS_SHOWN(LEAKS, why, 10, STRING, "WHY", HS_COLUMN_DATA_ONLY),
    HS_SHOWN(LEAKS, expression, 11, STRING, "EXPRESSION", HS_COLUMN_DATA_ONLY),
};
const struct hs_record hs_leaks_record = HS_RECORD(fields);

static hs_status put_step(struct hs_sink *sink, const struct report *r,
                          const struct hs_path_step *step, struct hs_error *err)
{
    struct hs_node_facts facts = {.address = HS_UNKNOWN};
    uint64_t offset = HS_UNKNOWN;
    if (step->node != HS_NO_NODE) {
        HS_TRY(hs_view_facts(r->found.view, step->node, &facts, err));
        if (step->offset_words != HS_NO_OFFSET)
            offset = step->offset_words * r->found.view->facts->word_bytes;
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
    hs_status status = hs_leak_path(&r->found, &r->found.groups.groups[r->at], &fold, err);
    for (size_t i = 0; i < fold.n_steps && status == HS_OK; i++)
        status = put_step(sink, r, &fold.steps[i], err);
    hs_path_fold_fini(&fold);
    return status;
}

/* Writes the contents of a group, and what is not plain about it. */
static void write_what(const struct report *r, size_t at, const char *expression, char *text,
                       size_t n_bytes)
{
    const struct hs_leak_group *group = &r->found.groups.groups[at];
    const struct hs_node_facts *head = &r->found.facts[2 * at + 1];
    const char *type = hs_leak_type_name(&r->found, group);
    if (group->certainty == HS_LEAK_POSSIBLE)
        (void)snprintf(text, n_bytes, "%.400s (%s)", type, hs_leak_reason_text(&r->found, group));
    else if (expression[0] != '\0')
        (void)snprintf(text, n_bytes, "%.400s = %s", type, expression);
    else if (!hs_leak_is_head(&r->found, group->first))
        (void)snprintf(text, n_bytes, "%.400s, hangs on %.400s at 0x%lx", type,
                       hs_leak_head_type(&r->found, at), (unsigned long)head->address);
    else
        (void)snprintf(text, n_bytes, "%.400s", type);
}

/* Groups of one type that hang alike, which differ in size alone: one row of a table. */
struct alike {
    struct hs_leak_group sum;
    uint64_t least_words, most_words; /* of a block */
};

static bool is_alike(const struct report *r, char *const *expressions, size_t a, size_t b)
{
    const struct hs_leak_group *left = &r->found.groups.groups[a];
    const struct hs_leak_group *right = &r->found.groups.groups[b];
    if (left->certainty != right->certainty || left->type != right->type ||
        strcmp(expressions[a], expressions[b]) != 0 ||
        strcmp(hs_leak_reason_text(&r->found, left), hs_leak_reason_text(&r->found, right)) != 0)
        return false;
    return expressions[a][0] != '\0' ||
           hs_snap_type(r->found.view->snap, left->type)->form != HS_FORM_BYTES;
}

static void add_alike(struct alike *alike, const struct hs_leak_group *group)
{
    alike->sum.count += group->count;
    alike->sum.words += group->words;
    alike->sum.held_words += group->held_words;
    if (group->words_each < alike->least_words)
        alike->least_words = group->words_each;
    if (group->words_each > alike->most_words)
        alike->most_words = group->words_each;
}

/* ", 24 B to 1.5 KiB each" */
static void append_range(const struct report *r, const struct alike *alike, char *text, size_t n)
{
    char least[HS_UNIT_TEXT_BYTES], most[HS_UNIT_TEXT_BYTES];
    unsigned word_bytes = r->found.view->facts->word_bytes;
    if (alike->least_words == alike->most_words)
        return;
    hs_format_bytes(alike->least_words * word_bytes, least);
    hs_format_bytes(alike->most_words * word_bytes, most);
    hs_append(text, n, ", %s to %s each", least, most);
}

/* `alike`: of a table, what the row is of; else NULL. */
static hs_status put_row(struct hs_sink *sink, struct report *r, size_t at,
                         const struct alike *alike, struct hs_error *err)
{
    const struct hs_leak_group *group = &r->found.groups.groups[at];
    const struct hs_list path = {.each = put_path, .context = r, .is_line = true};
    bool is_garbage = r->is_garbage && group->certainty == HS_LEAK_CERTAIN && sink->is_table;
    char what[1024 + HS_FIELD_PATH_BYTES];
    const char *expression;
    struct line line = {.path = &path, .what = what};
    HS_TRY(hs_noun_load(&r->rows, at, line.cells, err));
    memcpy(&expression, &line.cells[HS_LEAKS_expression], sizeof expression);
    write_what(r, at, expression != NULL ? expression : "", what, sizeof what);
    hs_cell_text(&line.cells[HS_LEAKS_why], hs_leak_reason_text(&r->found, group));
    if (alike != NULL) {
        append_range(r, alike, what, sizeof what);
        line.cells[HS_LEAKS_count] = alike->sum.count;
        line.cells[HS_LEAKS_words] = alike->sum.words;
        line.cells[HS_LEAKS_held_words] = alike->sum.held_words;
    }
    line.label = is_garbage ? "garbage" : hs_leak_certainty_name(group->certainty);
    r->at = at;
    return hs_sink_row(sink, &line, err);
}

/* A line that is no group. */
static struct line line_of(const char *name, const struct hs_leak_sum *sum)
{
    struct line line = {.what = name};
    hs_noun_clear(&hs_noun_leaks, line.cells);
    line.cells[HS_LEAKS_count] = sum->count;
    line.cells[HS_LEAKS_words] = sum->words;
    return line;
}

static void put_closing(struct hs_sink *sink, const char *name, const struct hs_leak_sum *sum)
{
    struct line line = line_of(name, sum);
    if (sum->count != 0)
        hs_sink_close(sink, &line);
}

static hs_status find_expressions(const struct report *r, char **expressions, struct hs_error *err)
{
    char text[HS_FIELD_PATH_BYTES];
    for (size_t i = 0; i < r->found.groups.n_groups; i++) {
        HS_TRY(hs_leak_expression(&r->found, i, text, err));
        HS_TRY(hs_strdup(text, &expressions[i], err));
    }
    return HS_OK;
}

static hs_status put_alike(struct hs_sink *sink, struct report *r, char *const *expressions,
                           struct hs_error *err)
{
    const struct hs_leak_groups *g = &r->found.groups;
    hs_auto_free bool *is_put = NULL;
    HS_TRY(HS_ALLOC(&is_put, g->n_groups, err));
    for (size_t i = 0; i < g->n_groups; i++) {
        struct alike alike = {g->groups[i], g->groups[i].words_each, g->groups[i].words_each};
        if (is_put[i])
            continue;
        for (size_t k = i + 1; k < g->n_groups; k++) {
            if (is_put[k] || !is_alike(r, expressions, i, k))
                continue;
            add_alike(&alike, &g->groups[k]);
            is_put[k] = true;
        }
        HS_TRY(put_row(sink, r, i, &alike, err));
    }
    return HS_OK;
}

static hs_status put_table(struct hs_sink *sink, struct report *r, struct hs_error *err)
{
    size_t n = r->found.groups.n_groups;
    hs_auto_free char **expressions = NULL;
    HS_TRY(HS_ALLOC(&expressions, n, err));
    hs_status status = find_expressions(r, expressions, err);
    if (status == HS_OK)
        status = put_alike(sink, r, expressions, err);
    for (size_t i = 0; i < n; i++)
        hs_free(expressions[i]);
    return status;
}

/* Puts the rows. All that is lost adds up, what was not asked for too. */
static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    static const char *const left_out[] = {"[certain ones]", "[possible ones]"};
    struct report *r = context;
    const struct hs_leak_groups *g = &r->found.groups;
    if (sink->is_table)
        HS_TRY(put_table(sink, r, err));
    for (size_t i = 0; i < g->n_groups && !sink->is_table; i++)
        HS_TRY(put_row(sink, r, i, NULL, err));
    struct line others = line_of(NULL, &g->others);
    hs_sink_others(sink, g->n_others, &others);
    for (unsigned i = 0; i < HS_N_LEAK_CERTAINTIES; i++)
        if ((r->certainties >> i & 1) == 0)
            put_closing(sink, left_out[i], &g->totals[i]);
    put_closing(sink, "[suppressed]", &g->suppressed);
    return HS_OK;
}

static hs_status print_leaked(struct hs_tool *tool, const struct report *r, struct hs_error *err)
{
    HS_TRY(hs_leaked_say(tool, r->found.view, &r->leaked, err));
    HS_TRY(hs_leaked_say_each(tool, r->found.view, &r->leaked, err));
    return hs_print(&tool->out, err, "\n");
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv, struct report *r,
                            struct hs_error *err)
{
    const struct hs_leak_groups *g = &r->found.groups;
    const struct hs_leak_sum *certain = &g->totals[HS_LEAK_CERTAIN],
                             *possible = &g->totals[HS_LEAK_POSSIBLE];
    const struct hs_list list = {.record = &hs_leaks_record, .each = put_rows, .context = r};
    struct hs_leaked_pairs leaked;
    hs_leaked_pairs_init(r->found.view, &r->leaked, &leaked);
    const struct hs_listing listing = {
        .rows = &list,
        .word_bytes = r->found.view->facts->word_bytes,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.leaks/1"), HS_TEXT("snapshot", r->found.view->path),
            HS_COUNT("word_bytes", r->found.view->facts->word_bytes),
            HS_VALUE("collected", BOOL, r->is_garbage), HS_ROWS("groups", &list),
            HS_OBJECT("others"), HS_COUNT("groups", g->n_others),
            HS_COUNT("count", g->others.count), HS_COUNT("words", g->others.words), HS_END,
            HS_OBJECT(hs_leak_certainty_name(HS_LEAK_CERTAIN)), HS_COUNT("count", certain->count),
            HS_COUNT("words", certain->words), HS_END,
            HS_OBJECT(hs_leak_certainty_name(HS_LEAK_POSSIBLE)), HS_COUNT("count", possible->count),
            HS_COUNT("words", possible->words), HS_END, HS_OBJECT("possible_on_stack"),
            HS_COUNT("count", g->on_stack.count), HS_COUNT("words", g->on_stack.words), HS_END,
            HS_OBJECT("suppressed"), HS_COUNT("count", g->suppressed.count),
            HS_COUNT("words", g->suppressed.words), HS_END, HS_LEAKED_PAIRS(&leaked)),
    };
    if (hs_tool_format(inv) == HS_FORMAT_TABLE && r->leaked.n != 0)
        HS_TRY(print_leaked(tool, r, err));
    if (hs_tool_format(inv) == HS_FORMAT_TABLE && r->found.set.n_lost == 0)
        return hs_print(&tool->out, err, "no block is lost\n");
    return hs_tool_list(tool, inv, &listing, err);
}

/* Tells the user of unseen holders that a certain leak may have all the same, where the program
 * does such things: docs/answers.md. */
static void talk_of_unseen(const struct report *r)
{
    if (!r->is_garbage && r->found.groups.totals[HS_LEAK_CERTAIN].count != 0 &&
        (r->certainties >> HS_LEAK_CERTAIN & 1) != 0)
        hs_talk(
            "what cannot be seen: addresses in pieces, as text, rotated, multiplied, shifted by "
            "more than 23 bits or fewer than eight by more than 17, or disguised twice or by "
            "their own place; distances from their own place or from where no variable and no "
            "mapping begins, in units other than 1, 8 and 16, and of one block alone in 32 bits; "
            "what is in code that was written over, in files that have a name, in other "
            "processes, in devices or in settings of the kernel");
}

/* The next step. */
static void talk_closing(struct hs_tool *tool, const struct report *r)
{
    const struct hs_leak_groups *g = &r->found.groups;
    talk_of_unseen(r);
    if ((r->certainties >> HS_LEAK_POSSIBLE & 1) != 0 && g->on_stack.count != 0)
        hs_talk("%lu of %lu possible words hang on stack slots and registers in which no variable "
                "is known to live",
                (unsigned long)g->on_stack.words, (unsigned long)g->totals[HS_LEAK_POSSIBLE].words);
    if (r->found.groups.n_groups != 0 && tool->talk_is_terminal)
        hs_tool_hint(tool,
                     "'heapsnap object %s 0x%lx' shows a block and what it points to; --json has a "
                     "path to each group's first",
                     HS_SHELL(r->found.view->path), (unsigned long)r->found.facts[0].address);
}

/* ---- the command */

static hs_status find(const struct hs_invocation *inv, struct hs_view *view,
                      const struct hs_suppressions *suppressions, struct report *r,
                      struct hs_error *err)
{
    struct hs_leak_query query = {
        .suppressions = suppressions,
        .certainties = r->certainties,
        .min_words = hs_tool_min_words(inv, view->facts->word_bytes),
        .max_rows = hs_tool_rows(inv),
    };
    return hs_leak_report_find(view, &query, &r->found, err);
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv, struct report *r,
                       struct hs_error *err)
{
    HS_TRY(hs_rows_of(r->found.view, &hs_noun_leaks, &r->found, r->found.groups.n_groups, &r->rows,
                      err));
    hs_status status = print_rows(tool, inv, r, err);
    hs_rows_fini(&r->rows);
    HS_TRY(status);
    if (hs_tool_format(inv) != HS_FORMAT_TABLE)
        return HS_OK;
    HS_TRY(hs_unread_say(tool, r->found.view, err));
    talk_closing(tool, r);
    return HS_OK;
}

static void judge(struct hs_tool *tool, const struct hs_invocation *inv, const struct report *r)
{
    uint64_t words = 0;
    uint64_t most = hs_tool_words(inv, HS_OPT_FAIL_OVER, r->found.view->facts->word_bytes);
    unsigned certainties =
        hs_given(inv, HS_OPT_CERTAINTY) ? certainties_of(inv) : 1U << HS_LEAK_CERTAIN;
    for (unsigned i = 0; i < HS_N_LEAK_CERTAINTIES; i++)
        if (certainties >> i & 1)
            words += r->found.groups.totals[i].words;
    if (!hs_given(inv, HS_OPT_FAIL_OVER) || words <= most)
        return;
    hs_talk("%lu words %s, more than the %lu of --fail-over", (unsigned long)words,
            r->is_garbage ? "are garbage" : "have leaked", (unsigned long)most);
    tool->threshold_crossed = true;
}

hs_status hs_cmd_leaks(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    struct hs_suppressions suppressions = {0};
    struct report r = {.certainties = certainties_of(inv)};
    if (hs_given(inv, HS_OPT_SUPPRESSIONS))
        HS_TRY(hs_suppressions_load(inv->text[HS_OPT_SUPPRESSIONS], &suppressions, err));
    hs_status status = hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err);
    if (status == HS_OK)
        r.is_garbage = hs_leak_is_garbage(&view);
    if (r.is_garbage)
        hs_talk("what no root reaches in a collected heap is garbage, which its collector frees");
    if (status == HS_OK)
        status = find(inv, &view, &suppressions, &r, err);
    if (status == HS_OK)
        status = hs_leaked_goroutines_find(&view, &r.leaked, err);
    if (status == HS_OK)
        status = print(tool, inv, &r, err);
    if (status == HS_OK)
        judge(tool, inv, &r);
    hs_leaked_goroutines_fini(&r.leaked);
    hs_leak_report_fini(&r.found);
    hs_suppressions_fini(&suppressions);
    return hs_view_finish(&view, status, err);
}
