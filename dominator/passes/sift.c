#include "sift.h"

#include <assert.h>

#include "base/alloc.h"
#include "pass_steps.h"

#define ROWS_PER_TELL 8192

hs_status sift_init(const struct sift_rule *rule, uint32_t n_nodes, struct hs_budget *budget,
                    const struct hs_progress *progress, struct sift *ret, struct hs_error *err)
{
    *ret = (struct sift){
        .rule = *rule, .budget = budget, .progress = progress, .phase = "sifting the core"};
    hs_status status = core_rows_open(budget, "the core's edges", &ret->rows, err);
    if (status == HS_OK)
        status = core_rows_open(budget, "the core's leaves", &ret->leaves, err);
    if (status == HS_OK)
        status = pass_bitmap_init(budget, n_nodes, "the core's leaves", &ret->is_source, err);
    if (status == HS_OK)
        status = pass_bitmap_init(budget, n_nodes, "the core's leaves", &ret->is_next_source, err);
    if (status != HS_OK)
        sift_fini(ret);
    return status;
}

void sift_fini(struct sift *sift)
{
    core_rows_close(&sift->rows);
    core_rows_close(&sift->leaves);
    pass_bitmap_fini(sift->budget, &sift->is_source);
    pass_bitmap_fini(sift->budget, &sift->is_next_source);
    *sift = (struct sift){0};
}

/* ---- one row ---- */

/* The rows of the last node have passed. */
static hs_status node_close(struct sift *sift, struct hs_error *err)
{
    bool is_done = sift->has_node && !sift->has_kept;

    sift->has_node = sift->has_kept = false;
    if (!is_done || hs_bitmap_get(sift->rule.is_settled, sift->node))
        return HS_OK;
    return sift->rule.settle(sift->rule.context, sift->node, err);
}

/* *ret_passes is false for rows of nodes that are settled. */
static hs_status node_enter(struct sift *sift, uint32_t node, bool *ret_passes,
                            struct hs_error *err)
{
    if (!sift->has_node || sift->node != node)
        HS_TRY(node_close(sift, err));
    sift->node = node;
    sift->has_node = true;
    *ret_passes = !hs_bitmap_get(sift->rule.is_settled, node);
    return HS_OK;
}

/* Folds the settled sources and keeps the others; true when that settles the node. */
static bool row_fold(const struct sift_rule *rule, struct core_row *row)
{
    uint32_t n_kept = 0;

    for (uint32_t i = 0; i < row->n; i++) {
        uint32_t source = row->source[i];
        if (!hs_bitmap_get(rule->is_settled, source))
            row->source[n_kept++] = source;
        else if (rule->fold(rule->context, row->node, source))
            return true;
    }
    row->n = n_kept;
    return false;
}

/* `out`: where the row of such a node goes. */
static hs_status row_take(struct sift *sift, struct core_row *row, struct core_rows *rows,
                          struct core_rows *leaves, struct hs_error *err)
{
    bool passes;

    HS_TRY(node_enter(sift, row->node, &passes, err));
    if (!passes)
        return HS_OK;
    sift->n_seen += row->n;
    if (row_fold(&sift->rule, row))
        return sift->rule.settle(sift->rule.context, row->node, err);
    if (row->n == 0)
        return HS_OK;
    sift->has_kept = true;
    if (leaves != NULL && !hs_bitmap_get(&sift->is_source, row->node))
        return core_rows_put(leaves, row, err);
    for (uint32_t i = 0; i < row->n; i++)
        hs_bitmap_set(&sift->is_next_source, row->source[i]);
    return core_rows_put(rows, row, err);
}

hs_status sift_put(struct sift *sift, struct core_row *row, struct hs_error *err)
{
    return row_take(sift, row, &sift->rows, NULL, err);
}

/* ---- rounds ---- */

/* The sources of what was written are those of what is read next. */
static void sources_turn(struct sift *sift)
{
    struct hs_bitmap old = sift->is_source;

    sift->is_source = sift->is_next_source;
    sift->is_next_source = old;
    hs_pages_discard(old.words, (size_t)((old.n_bits + 63) / 64 * sizeof *old.words));
}

static hs_status tell(const struct sift *sift, const struct hs_spill_reader *reader,
                      uint64_t *n_rows, struct hs_error *err)
{
    if ((*n_rows)++ % ROWS_PER_TELL != 0)
        return HS_OK;
    return hs_progress_tell(sift->progress, sift->phase, reader->at, reader->spill->n_bytes, err);
}

static hs_status round_read(struct sift *sift, struct core_rows *out, struct core_row *row,
                            struct hs_error *err)
{
    struct core_row_reader reader = {0};
    uint64_t n_rows = 0;
    bool more = true;

    hs_status status = core_rows_read_all(&sift->rows, &reader, err);
    while (status == HS_OK && more) {
        status = tell(sift, &reader.reader, &n_rows, err);
        if (status == HS_OK)
            status = core_rows_get(&reader, row, &more, err);
        if (status == HS_OK && more)
            status = row_take(sift, row, out, &sift->leaves, err);
    }
    if (status == HS_OK)
        status = node_close(sift, err);
    core_rows_reader_close(&reader);
    return status;
}

/* Replaces the rows by what a look at them leaves. */
static hs_status round_run(struct sift *sift, struct core_row *row, struct hs_error *err)
{
    struct core_rows out = {0};

    sift->leaves_begin[sift->n_rounds] = core_rows_restart(&sift->leaves);
    HS_TRY(core_rows_open(sift->budget, "the core's edges", &out, err));
    hs_status status = round_read(sift, &out, row, err);
    if (status == HS_OK)
        status = hs_spill_seal(&out.spill, err);
    if (status != HS_OK) {
        core_rows_close(&out);
        return status;
    }
    core_rows_close(&sift->rows);
    sift->rows = out;
    sift->leaves_begin[++sift->n_rounds] = sift->leaves.spill.n_bytes;
    sources_turn(sift);
    return HS_OK;
}

/* Another round is worth it when the last one left at most 3/4 of what it read. */
static bool round_paid(uint64_t n_before, uint64_t n_after)
{
    return n_after < n_before && n_after <= n_before - n_before / 4;
}

hs_status sift_begin(struct sift *sift, struct hs_error *err)
{
    HS_TRY(node_close(sift, err));
    HS_TRY(hs_spill_seal(&sift->rows.spill, err));
    sources_turn(sift);
    return HS_OK;
}

hs_status sift_run(struct sift *sift, struct hs_error *err)
{
    hs_auto_free void *row = NULL;
    bool goes_on = true;

    HS_TRY(hs_alloc(1, sizeof(struct core_row), &row, err));
    while (goes_on && sift->rows.n_edges != 0 && sift->n_rounds < SIFT_ROUNDS_MAX) {
        uint64_t n_before = sift->rows.n_edges;
        HS_TRY(round_run(sift, row, err));
        goes_on = round_paid(n_before, sift->rows.n_edges);
    }
    return HS_OK;
}

/* ---- leaves ---- */

static hs_status leaves_settle(struct sift *sift, unsigned round, struct core_row *row,
                               struct hs_error *err)
{
    struct core_row_reader reader = {0};
    uint64_t n_rows = 0;
    bool more = true, passes;
    hs_status status = core_rows_read(&sift->leaves, sift->leaves_begin[round],
                                      sift->leaves_begin[round + 1], &reader, err);

    while (status == HS_OK && more) {
        status = tell(sift, &reader.reader, &n_rows, err);
        if (status == HS_OK)
            status = core_rows_get(&reader, row, &more, err);
        if (status == HS_OK && more)
            status = node_enter(sift, row->node, &passes, err);
        if (status == HS_OK && more && passes && row_fold(&sift->rule, row))
            status = sift->rule.settle(sift->rule.context, row->node, err);
    }
    if (status == HS_OK)
        status = node_close(sift, err);
    core_rows_reader_close(&reader);
    return status;
}

hs_status sift_leaves(struct sift *sift, struct hs_error *err)
{
    hs_auto_free void *row = NULL;

    HS_TRY(hs_alloc(1, sizeof(struct core_row), &row, err));
    HS_TRY(hs_spill_seal(&sift->leaves.spill, err));
    for (unsigned round = sift->n_rounds; round-- > 0;)
        HS_TRY(leaves_settle(sift, round, row, err));
    return HS_OK;
}
