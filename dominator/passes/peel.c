#include "peel.h"

#include <assert.h>

#include "base/alloc.h"
#include "pass_steps.h"

#define ROWS_PER_TELL 8192

hs_status peel_init(const struct peel_rule *rule, uint32_t n_nodes, struct hs_budget *budget,
                    const struct hs_progress *progress, struct peel *ret, struct hs_error *err)
{
    *ret = (struct peel){
        .rule = *rule, .budget = budget, .progress = progress, .phase = "sifting the core"};
    hs_status status = core_rows_open(budget, "the core's edges", &ret->rows, err);
    if (status == HS_OK)
        status = core_rows_open(budget, "the core's leaves", &ret->leaves, err);
    if (status == HS_OK)
        status = pass_bitmap_init(budget, n_nodes, "the core's leaves", &ret->is_source, err);
    if (status == HS_OK)
        status = pass_bitmap_init(budget, n_nodes, "the core's leaves", &ret->is_next_source, err);
    if (status != HS_OK)
        peel_fini(ret);
    return status;
}

void peel_fini(struct peel *peel)
{
    core_rows_close(&peel->rows);
    core_rows_close(&peel->leaves);
    pass_bitmap_fini(peel->budget, &peel->is_source);
    pass_bitmap_fini(peel->budget, &peel->is_next_source);
    *peel = (struct peel){0};
}

/* ---- one row ---- */

/* The rows of the last node have passed. */
static hs_status node_close(struct peel *peel, struct hs_error *err)
{
    bool is_done = peel->has_node && !peel->has_kept;

    peel->has_node = peel->has_kept = false;
    if (!is_done || hs_bitmap_get(peel->rule.is_resolved, peel->node))
        return HS_OK;
    return peel->rule.resolve(peel->rule.context, peel->node, err);
}

/* Enters a node; *ret_passes is false for rows of nodes that are resolved. */
static hs_status node_enter(struct peel *peel, uint32_t node, bool *ret_passes,
                            struct hs_error *err)
{
    if (!peel->has_node || peel->node != node)
        HS_TRY(node_close(peel, err));
    peel->node = node;
    peel->has_node = true;
    *ret_passes = !hs_bitmap_get(peel->rule.is_resolved, node);
    return HS_OK;
}

/* Folds the resolved sources and keeps the others; true when that resolves the node. */
static bool row_fold(const struct peel_rule *rule, struct core_row *row)
{
    uint32_t n_kept = 0;

    for (uint32_t i = 0; i < row->n; i++) {
        uint32_t source = row->source[i];
        if (!hs_bitmap_get(rule->is_resolved, source))
            row->source[n_kept++] = source;
        else if (rule->fold(rule->context, row->node, source))
            return true;
    }
    row->n = n_kept;
    return false;
}

/* `out`: where the row of such a node goes. */
static hs_status row_take(struct peel *peel, struct core_row *row, struct core_rows *rows,
                          struct core_rows *leaves, struct hs_error *err)
{
    bool passes;

    HS_TRY(node_enter(peel, row->node, &passes, err));
    if (!passes)
        return HS_OK;
    peel->n_seen += row->n;
    if (row_fold(&peel->rule, row))
        return peel->rule.resolve(peel->rule.context, row->node, err);
    if (row->n == 0)
        return HS_OK;
    peel->has_kept = true;
    if (leaves != NULL && !hs_bitmap_get(&peel->is_source, row->node))
        return core_rows_put(leaves, row, err);
    for (uint32_t i = 0; i < row->n; i++)
        hs_bitmap_set(&peel->is_next_source, row->source[i]);
    return core_rows_put(rows, row, err);
}

hs_status peel_put(struct peel *peel, struct core_row *row, struct hs_error *err)
{
    return row_take(peel, row, &peel->rows, NULL, err);
}

/* ---- rounds ---- */

/* The sources of what was written are those of what is read next. */
static void sources_turn(struct peel *peel)
{
    struct hs_bitmap old = peel->is_source;

    peel->is_source = peel->is_next_source;
    peel->is_next_source = old;
    hs_pages_discard(old.words, (size_t)((old.n_bits + 63) / 64 * sizeof *old.words));
}

static hs_status tell(const struct peel *peel, const struct hs_spill_reader *reader,
                      uint64_t *n_rows, struct hs_error *err)
{
    if ((*n_rows)++ % ROWS_PER_TELL != 0)
        return HS_OK;
    return hs_progress_tell(peel->progress, peel->phase, reader->at, reader->spill->n_bytes, err);
}

static hs_status round_read(struct peel *peel, struct core_rows *out, struct core_row *row,
                            struct hs_error *err)
{
    struct core_row_reader reader = {0};
    uint64_t n_rows = 0;
    bool more = true;

    hs_status status = core_rows_read_all(&peel->rows, &reader, err);
    while (status == HS_OK && more) {
        status = tell(peel, &reader.reader, &n_rows, err);
        if (status == HS_OK)
            status = core_rows_get(&reader, row, &more, err);
        if (status == HS_OK && more)
            status = row_take(peel, row, out, &peel->leaves, err);
    }
    if (status == HS_OK)
        status = node_close(peel, err);
    core_rows_reader_close(&reader);
    return status;
}

/* Replaces the rows by what a look at them leaves. */
static hs_status round_run(struct peel *peel, struct core_row *row, struct hs_error *err)
{
    struct core_rows out = {0};

    peel->leaves_begin[peel->n_rounds] = core_rows_restart(&peel->leaves);
    HS_TRY(core_rows_open(peel->budget, "the core's edges", &out, err));
    hs_status status = round_read(peel, &out, row, err);
    if (status == HS_OK)
        status = hs_spill_seal(&out.spill, err);
    if (status != HS_OK) {
        core_rows_close(&out);
        return status;
    }
    core_rows_close(&peel->rows);
    peel->rows = out;
    peel->leaves_begin[++peel->n_rounds] = peel->leaves.spill.n_bytes;
    sources_turn(peel);
    return HS_OK;
}

/* Tells whether another round is worth it: the last one left at most 3/4 of what it read. */
static bool round_paid(uint64_t n_before, uint64_t n_after)
{
    return n_after < n_before && n_after <= n_before - n_before / 4;
}

hs_status peel_begin(struct peel *peel, struct hs_error *err)
{
    HS_TRY(node_close(peel, err));
    HS_TRY(hs_spill_seal(&peel->rows.spill, err));
    sources_turn(peel);
    return HS_OK;
}

hs_status peel_run(struct peel *peel, struct hs_error *err)
{
    hs_auto_free void *row = NULL;
    bool goes_on = true;

    HS_TRY(hs_alloc(1, sizeof(struct core_row), &row, err));
    while (goes_on && peel->rows.n_edges != 0 && peel->n_rounds < PEEL_ROUNDS_MAX) {
        uint64_t n_before = peel->rows.n_edges;
        HS_TRY(round_run(peel, row, err));
        goes_on = round_paid(n_before, peel->rows.n_edges);
    }
    return HS_OK;
}

/* ---- leaves ---- */

static hs_status leaves_resolve(struct peel *peel, unsigned round, struct core_row *row,
                                struct hs_error *err)
{
    struct core_row_reader reader = {0};
    uint64_t n_rows = 0;
    bool more = true, passes;
    hs_status status = core_rows_read(&peel->leaves, peel->leaves_begin[round],
                                      peel->leaves_begin[round + 1], &reader, err);

    while (status == HS_OK && more) {
        status = tell(peel, &reader.reader, &n_rows, err);
        if (status == HS_OK)
            status = core_rows_get(&reader, row, &more, err);
        if (status == HS_OK && more)
            status = node_enter(peel, row->node, &passes, err);
        if (status == HS_OK && more && passes && row_fold(&peel->rule, row))
            status = peel->rule.resolve(peel->rule.context, row->node, err);
    }
    if (status == HS_OK)
        status = node_close(peel, err);
    core_rows_reader_close(&reader);
    return status;
}

hs_status peel_leaves(struct peel *peel, struct hs_error *err)
{
    hs_auto_free void *row = NULL;

    HS_TRY(hs_alloc(1, sizeof(struct core_row), &row, err));
    HS_TRY(hs_spill_seal(&peel->leaves.spill, err));
    for (unsigned round = peel->n_rounds; round-- > 0;)
        HS_TRY(leaves_resolve(peel, round, row, err));
    return HS_OK;
}
