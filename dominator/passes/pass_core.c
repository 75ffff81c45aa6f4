/* Dominators between core nodes. A source in the region of node 0 says at once that node 0 is the
 * dominator; a node whose sources are known has their nearest common ancestor. So most of the core
 * is resolved by peeling its rows, and the engine in memory gets the cycles. */
#include "pass_core.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "core_edges.h"

/* Records between two tellings. */
#define RECORDS_PER_TELL 8192

static bool rule_fold(void *context, uint32_t node, uint32_t source)
{
    struct core_work *work = context;
    uint32_t *region = &work->passes->region[node];

    *region = *region == HS_NONE ? source : core_tree_nca(&work->tree, *region, source);
    return *region == 0;
}

/* A node none of whose sources is reached is not reached. */
static hs_status rule_resolve(void *context, uint32_t node, struct hs_error *err)
{
    struct core_work *work = context;
    return work->passes->region[node] == HS_NONE ? HS_OK : core_work_resolve(work, node, err);
}

/* ---- from positions to core nodes ---- */

struct core_feed {
    struct core_edges edges;
    struct core_row row;
};

/* The core nodes of ascending positions, each once and without the target; node 0 alone when it is
 * one of them. */
static void row_of_edges(const struct hs_passes *passes, uint64_t n_in_first,
                         const struct core_edges *edges, struct core_row *row)
{
    uint32_t last = HS_NONE;

    row->node = edges->core;
    row->n = 0;
    if (edges->n != 0 && edges->source[0] < n_in_first) {
        row->source[row->n++] = 0;
        return;
    }
    for (uint32_t i = 0; i < edges->n; i++) {
        uint32_t source = core_of(passes, edges->source[i]);
        if (source != last && source != edges->core)
            row->source[row->n++] = source;
        last = source;
    }
}

static hs_status feed_read(struct core_work *work, struct hs_spill_reader *reader,
                           struct core_feed *feed, struct peel *peel, struct hs_error *err)
{
    const struct hs_passes *passes = work->passes;
    uint64_t n_in_first = hs_bitmap_next(&passes->is_head, 1);
    bool more;

    for (uint64_t i = 0;; i++) {
        if (i % RECORDS_PER_TELL == 0)
            HS_TRY(hs_progress_tell(work->progress, "reading the core", reader->at,
                                    reader->spill->n_bytes, err));
        HS_TRY(core_edges_get(reader, &feed->edges, &more, err));
        if (!more)
            return HS_OK;
        assert(feed->edges.core < passes->n_core && feed->edges.n <= CORE_ROW_MAX);
        if (feed->edges.core == 0 || hs_bitmap_get(&passes->is_reached, feed->edges.core))
            continue;
        row_of_edges(passes, n_in_first, &feed->edges, &feed->row);
        if (feed->row.n != 0)
            HS_TRY(peel_put(peel, &feed->row, err));
    }
}

static hs_status core_feed(struct core_work *work, struct peel *peel, struct hs_error *err)
{
    const struct hs_spill *spill = &work->passes->core_edges;
    struct hs_spill_reader reader = {0};
    hs_auto_free void *feed = NULL;

    HS_TRY(hs_alloc(1, sizeof(struct core_feed), &feed, err));
    HS_TRY(hs_spill_read(spill, 0, spill->n_bytes, &reader, err));
    hs_status status = feed_read(work, &reader, feed, peel, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* ---- the pass ---- */

static hs_status core_peel(struct core_work *work, struct peel *peel, struct hs_error *err)
{
    HS_TRY(core_work_resolve(work, 0, err));
    HS_TRY(core_feed(work, peel, err));
    HS_TRY(peel_begin(peel, err));
    HS_TRY(peel_run(peel, err));
    HS_TRY(core_labels_resolve(work, peel, err));
    HS_TRY(core_graph_resolve(work, &peel->rows, err));
    if (work->tree.jump == NULL) {
        HS_TRY(core_tree_init(work->passes->region, work->passes->n_core, work->passes->budget,
                              &work->tree, err));
        core_tree_add_all(&work->tree, &work->passes->is_reached);
    }
    return peel_leaves(peel, err);
}

static hs_status core_find(struct core_work *work, struct hs_error *err)
{
    struct hs_passes *passes = work->passes;
    const struct peel_rule rule = {rule_fold, rule_resolve, work, &passes->is_reached};
    struct peel peel;

    HS_TRY(pass_bitmap_init(passes->budget, passes->n_core, "the core", &passes->is_reached, err));
    HS_TRY(pass_array_init(passes->budget, passes->n_core, "the core", &passes->region, err));
    memset(passes->region, 0xff, (size_t)passes->n_core * sizeof *passes->region); /* HS_NONE */
    HS_TRY(core_tree_init(passes->region, passes->n_core, passes->budget, &work->tree, err));
    HS_TRY(hs_spill_open(passes->budget, "the core's order", &work->sequence.spill, err));
    HS_TRY(peel_init(&rule, passes->n_core, passes->budget, work->progress, &peel, err));
    hs_status status = core_peel(work, &peel, err);
    work->counts.n_edges = peel.n_seen;
    work->counts.n_climbed += work->tree.n_steps;
    peel_fini(&peel);
    return status;
}

hs_status pass_core_counted(const struct hs_passes_input *input, struct hs_passes *passes,
                            struct pass_core_counts *ret, struct hs_error *err)
{
    struct core_work work = {.passes = passes, .progress = input->progress};

    hs_status status = core_find(&work, err);
    core_tree_fini(&work.tree);
    if (status == HS_OK)
        status = hs_spill_seal(&work.sequence.spill, err);
    if (status == HS_OK)
        status = core_work_sequence_fetch(passes, &work.sequence, err);
    hs_parked_close(&work.sequence);
    if (status == HS_OK)
        *ret = work.counts;
    return status;
}

hs_status pass_core_run(const struct hs_passes_input *input, struct hs_passes *passes,
                        struct hs_error *err)
{
    struct pass_core_counts counts;
    return pass_core_counted(input, passes, &counts, err);
}
