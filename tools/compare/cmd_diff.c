/* diff: what grew, over two and more snapshots. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/newborn.h"
#include "base/alloc.h"
#include "base/append.h"
#include "base/units.h"
#include "commands.h"
#include "comparison.h"
#include "diff_print.h"
#include "look/open_view.h"
#include "look/suspect_text.h"
#include "verdict.h"

enum { COMMAND_BYTES = 4096 };

/* ---- a threshold */

struct threshold {
    bool is_percent; /* of what the heap had first */
    uint64_t value;  /* else bytes */
};

static hs_status parse_threshold(const struct hs_invocation *inv, struct threshold *ret,
                                 struct hs_error *err)
{
    const char *text = inv->text[HS_OPT_FAIL_GROWTH];
    char number[32];
    size_t n = strlen(text);
    if (n == 0 || text[n - 1] != '%' || n > sizeof number)
        return hs_parse_size(text, &ret->value, err) == HS_OK ? HS_OK
                                                              : hs_context(err, "--fail-growth");
    (void)snprintf(number, sizeof number, "%.*s", (int)(n - 1), text);
    ret->is_percent = true;
    if (hs_parse_count(number, &ret->value, err) == HS_OK)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "--fail-growth: '%s' is no size and no percentage", text);
    return hs_hint(err, "write for example 10MiB or 5%%");
}

/* Tells whether a series that has a score crosses the threshold: keys that grew at every step, the
 * whole heap among them. */
static bool is_crossed(const struct hs_series *series, const struct threshold *threshold)
{
    double most = (double)threshold->value / series->word_bytes;
    if (threshold->is_percent)
        most = (double)hs_series_words(series, 0)[0] * (double)threshold->value / 100;
    for (size_t i = 0; i < series->n_rows; i++) {
        const struct hs_series_row *row = &series->rows[i];
        if (row->list == HS_KEY_LIST_KEYS && row->score.score > 0 && row->growth_words > most)
            return true;
    }
    return false;
}

/* ---- an example */

/* Tells whether a snapshot can be looked into beside the newest: the same process, whose blocks
 * stay where they are. */
static bool is_of_run(const struct hs_comparison *comparison, const struct hs_compared *file)
{
    const struct hs_key_facts *newest = &comparison->files[comparison->n - 1].keys.facts;
    return file->is_snap && !newest->moves && file->keys.facts.pid == newest->pid &&
           file->keys.facts.started_ns == newest->started_ns;
}

/* The snapshot before the newest that can still be looked into; NULL when there is none. */
static const struct hs_compared *older_of(const struct hs_comparison *comparison)
{
    for (size_t i = comparison->n - 1; i-- > 0;)
        if (is_of_run(comparison, &comparison->files[i]))
            return &comparison->files[i];
    return NULL;
}

/* The row of keys whose blocks are looked at: the population, or what was found. */
static uint32_t row_of_blocks(const struct hs_series *series)
{
    uint32_t row = series->population;
    bool is_key = row != HS_NO_KEY && series->rows[row].list == HS_KEY_LIST_KEYS;
    return is_key ? row : series->found[0];
}

/* Returns the number of a population's own blocks in the last snapshot; 0: of no population. */
static uint64_t number_of(const struct hs_series *series, uint32_t row)
{
    return row == series->population ? hs_series_own_objects(series, row, series->n - 1) : 0;
}

/* Finds the place of a block, and the elements there in the first snapshot and in the last. */
static hs_status find_place(struct hs_tool *tool, const struct hs_comparison *comparison,
                            struct hs_view *view, hs_node node, struct hs_grown_place *ret,
                            struct hs_error *err)
{
    const struct hs_compared *oldest = &comparison->files[0];
    uint64_t n = number_of(&comparison->series, row_of_blocks(&comparison->series));
    struct hs_view first;
    if (!is_of_run(comparison, oldest))
        return hs_grown_place_find(view, NULL, node, n, ret, err);
    HS_TRY(hs_tool_open_view(tool, oldest->path, HS_VIEW_SNAP, &first, err));
    hs_status status = hs_view_find_index(&first, err);
    if (status == HS_OK)
        status = hs_grown_place_find(view, &first, node, n, ret, err);
    hs_view_close(&first);
    return status;
}

static hs_status look_for(struct hs_tool *tool, const struct hs_comparison *comparison,
                          struct hs_newborn *ret, struct hs_grown_place *ret_place,
                          struct hs_error *err)
{
    const struct hs_compared *newest = &comparison->files[comparison->n - 1];
    const struct hs_compared *older = older_of(comparison);
    const struct hs_series *series = &comparison->series;
    struct hs_view view, before;
    HS_TRY(hs_tool_open_view(tool, newest->path, HS_VIEW_INDEX, &view, err));
    hs_status status = HS_OK;
    if (older != NULL)
        status = hs_tool_open_view(tool, older->path, HS_VIEW_SNAP, &before, err);
    if (status != HS_OK)
        return hs_view_finish(&view, status, err);
    status = hs_newborn_find(&view, older != NULL ? &before : NULL, series, row_of_blocks(series),
                             ret, err);
    if (older != NULL)
        hs_view_close(&before);
    if (status == HS_OK && ret->node != HS_NO_NODE)
        status = find_place(tool, comparison, &view, ret->node, ret_place, err);
    return hs_view_finish(&view, status, err);
}

/* Finds the object to look at: a block's address, of the heap as a whole the type that there is
 * more of; and where that block hangs. */
static hs_status find_what(struct hs_tool *tool, const struct hs_comparison *comparison, char *what,
                           size_t n, struct hs_diff_print *print, struct hs_error *err)
{
    const struct hs_series *series = &comparison->series;
    struct hs_newborn found = {.node = HS_NO_NODE};
    uint32_t type;
    what[0] = '\0';
    if (hs_verdict_is_of_heap(series)) {
        if (hs_series_types(series, &type, 1) != 0)
            (void)snprintf(what, n, "type:%s",
                           hs_strtab_get(&series->names, series->rows[type].name));
        return HS_OK;
    }
    if (series->n_found == 0)
        return HS_OK;
    HS_TRY(look_for(tool, comparison, &found, &print->place, err));
    if (found.node == HS_NO_NODE)
        return HS_OK;
    (void)snprintf(what, n, "0x%llx", (unsigned long long)found.address);
    print->example_is_new = found.is_new;
    return HS_OK;
}

static void put_command(char *command, const char *name, const char *path)
{
    hs_append(command, COMMAND_BYTES, "heapsnap %s ", name);
    hs_suspect_quote(path, command, COMMAND_BYTES);
}

static bool is_lost(const struct hs_series *series)
{
    return series->n_found != 0 && !hs_verdict_is_of_heap(series) &&
           hs_verdict_is_lost(series, series->found[0]);
}

/* "heapsnap paths NEW --to 0x...", of what no path leads to "heapsnap leaks NEW"; empty when there
 * is nothing to show. */
static hs_status find_example(struct hs_tool *tool, const struct hs_comparison *comparison,
                              char *command, struct hs_diff_print *print, struct hs_error *err)
{
    const struct hs_compared *newest = &comparison->files[comparison->n - 1];
    char what[HS_KEY_TEXT_BYTES];
    command[0] = '\0';
    if (!newest->is_snap)
        return HS_OK;
    if (is_lost(&comparison->series)) {
        put_command(command, "leaks", newest->path);
    } else {
        HS_TRY(find_what(tool, comparison, what, sizeof what, print, err));
        if (what[0] == '\0')
            return HS_OK;
        put_command(command, "paths", newest->path);
        hs_append(command, COMMAND_BYTES, " --to ");
        hs_suspect_quote(what, command, COMMAND_BYTES);
    }
    if (tool->policy.kind == HS_POLICY_CONSERVATIVE)
        hs_append(command, COMMAND_BYTES, " --policy conservative");
    return HS_OK;
}

/* ---- */

static hs_status balance_of(struct hs_tool *tool, const char *path, struct hs_balance *ret,
                            struct hs_error *err)
{
    struct hs_view view;
    HS_TRY(hs_tool_open_view(tool, path, HS_VIEW_SNAP, &view, err));
    hs_balance_find(&view, ret);
    ret->allocator = ""; /* of the view's */
    hs_view_close(&view);
    return HS_OK;
}

/* Finds the balances of the process's memory, of the oldest and of the newest that are snapshots.
 */
static hs_status find_balance(struct hs_tool *tool, const struct hs_comparison *comparison,
                              struct hs_diff_print *print, struct hs_error *err)
{
    const struct hs_compared *oldest = &comparison->files[0];
    const struct hs_compared *newest = &comparison->files[comparison->n - 1];

    if (!oldest->is_snap || !newest->is_snap || comparison->are_same)
        return HS_OK;
    HS_TRY(balance_of(tool, oldest->path, &print->ends[0], err));
    HS_TRY(balance_of(tool, newest->path, &print->ends[1], err));
    hs_balance_change(&print->ends[0], &print->ends[1], print->balance, print->balance_verdict);
    return HS_OK;
}

static hs_status find_and_print(struct hs_tool *tool, const struct hs_invocation *inv,
                                struct hs_diff_print *print, struct hs_error *err)
{
    char command[COMMAND_BYTES];
    HS_TRY(find_example(tool, print->comparison, command, print, err));
    print->example = command[0] == '\0' ? NULL : command;
    HS_TRY(find_balance(tool, print->comparison, print, err));
    hs_status status = hs_diff_print(tool, inv, print, err);
    print->example = NULL;
    return status;
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv,
                     const struct hs_comparison *comparison, struct hs_error *err)
{
    struct hs_diff_print print = {.comparison = comparison};
    struct threshold threshold = {0};
    if (hs_given(inv, HS_OPT_FAIL_GROWTH))
        HS_TRY(parse_threshold(inv, &threshold, err));
    hs_status status = find_and_print(tool, inv, &print, err);
    hs_grown_place_fini(&print.place);
    HS_TRY(status);
    if (hs_given(inv, HS_OPT_FAIL_GROWTH) && is_crossed(&comparison->series, &threshold))
        tool->threshold_crossed = true;
    return HS_OK;
}

hs_status hs_cmd_diff(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_comparison comparison;
    const char *baseline = inv->text[HS_OPT_BASELINE];
    hs_timings_enter(&tool->timings, "opening");
    HS_TRY(hs_comparison_open(tool, inv->arguments, inv->n_arguments, baseline, &comparison, err));
    hs_timings_enter(&tool->timings, "answering");
    hs_status status = run(tool, inv, &comparison, err);
    hs_comparison_fini(&comparison);
    return status;
}
