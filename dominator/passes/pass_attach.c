/* The core nodes that hang in the region of their dominator. */
#include "pass_attach.h"

#include <assert.h>

#include "base/alloc.h"
#include "core_edges.h"

#define RECORDS_PER_TELL 8192
/* Siblings of one target that are remembered, to leave out most repetitions. */
#define RECENT 256

/* A point, or a sibling's; true when no other can change the answer: the head of the region. */
static bool rule_widen(struct attach_work *work, uint32_t node, uint64_t low, uint64_t high)
{
    struct hs_ids *lows = &work->passes->attach;
    uint64_t first = hs_ids_get(lows, node), last = hs_ids_get(&work->high, node);

    if (first == HS_IDS_NONE || low < first)
        hs_ids_set(lows, node, low);
    if (last == HS_IDS_NONE || high > last)
        hs_ids_set(&work->high, node, high);
    return hs_bitmap_get(&work->passes->is_head, low);
}

static bool rule_fold(void *context, uint32_t node, uint32_t source)
{
    struct attach_work *work = context;
    uint64_t low = hs_ids_get(&work->passes->attach, source);

    assert(low != HS_IDS_NONE);
    return rule_widen(work, node, low, hs_ids_get(&work->high, source));
}

static hs_status rule_resolve(void *context, uint32_t node, struct hs_error *err)
{
    struct attach_work *work = context;

    (void)err;
    assert(hs_ids_get(&work->passes->attach, node) != HS_IDS_NONE);
    hs_bitmap_set(&work->is_resolved, node);
    return HS_OK;
}

/* ---- from positions to points and siblings ---- */

struct attach_feed {
    struct core_edges edges;
    struct core_row row;
    uint32_t core[CORE_EDGES_MAX]; /* of the positions */
    uint64_t recent[RECENT];       /* target and sibling */
};

/* A sibling that was not among the last few. */
static void row_add(struct attach_feed *feed, uint32_t sibling)
{
    struct core_row *row = &feed->row;
    uint64_t edge = (uint64_t)row->node << 32 | sibling;

    if (sibling == row->node || feed->recent[sibling % RECENT] == edge)
        return;
    feed->recent[sibling % RECENT] = edge;
    row->source[row->n++] = sibling;
}

/* The core nodes of a record's positions; what is asked of each is fetched meanwhile. */
static void record_resolve(const struct attach_work *work, uint64_t n_in_first,
                           struct attach_feed *feed)
{
    const struct hs_passes *passes = work->passes;
    const struct hs_bitmap *is_head = &passes->is_head;
    const uint64_t *position = feed->edges.source;
    uint32_t n = feed->edges.n;

    for (uint32_t i = 0; i < n; i++) {
        __builtin_prefetch(&is_head->words[position[i] >> 6]);
        __builtin_prefetch(&is_head->ranks[position[i] >> 9]);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t core = position[i] < n_in_first ? 0 : core_of(passes, position[i]);
        __builtin_prefetch(&passes->region[core]);
        __builtin_prefetch(&work->tree.jump[core]);
        feed->core[i] = core;
    }
}

/* Takes the points into account and collects the siblings; true when the points resolve the node.
 */
static bool record_split(struct attach_work *work, uint64_t n_in_first, struct attach_feed *feed)
{
    const struct hs_passes *passes = work->passes;
    const struct core_edges *edges = &feed->edges;
    uint32_t node = edges->core, above = passes->region[node], last = HS_NONE;

    feed->row.node = node;
    feed->row.n = 0;
    record_resolve(work, n_in_first, feed);
    for (uint32_t i = 0; i < edges->n; i++) {
        uint64_t position = edges->source[i];
        uint32_t source = feed->core[i];
        if (source == above) {
            if (rule_widen(work, node, position, position))
                return true;
        } else if (source != last && hs_bitmap_get(&passes->is_reached, source)) {
            row_add(feed, core_tree_child(&work->tree, above, source));
        }
        last = source;
    }
    return false;
}

/* Tells whether there is nothing to find out for a node: so for all whose dominator's region is a
 * single node. */
static bool record_is_resolved(struct attach_work *work, uint32_t node)
{
    const struct hs_passes *passes = work->passes;

    if (node == 0 || !hs_bitmap_get(&passes->is_reached, node) ||
        hs_bitmap_get(&work->is_resolved, node))
        return true;
    if (!hs_bitmap_get(&work->is_single, passes->region[node]))
        return false;
    hs_bitmap_set(&work->is_resolved, node);
    return true;
}

static hs_status feed_read(struct attach_work *work, struct hs_spill_reader *reader,
                           struct attach_feed *feed, struct peel *peel, struct hs_error *err)
{
    uint64_t n_in_first = hs_bitmap_next(&work->passes->is_head, 1);
    bool more;

    for (uint64_t i = 0;; i++) {
        if (i % RECORDS_PER_TELL == 0)
            HS_TRY(hs_progress_tell(work->progress, "attaching the core", reader->at,
                                    reader->spill->n_bytes, err));
        HS_TRY(core_edges_get(reader, &feed->edges, &more, err));
        if (!more)
            return HS_OK;
        if (record_is_resolved(work, feed->edges.core))
            continue;
        if (record_split(work, n_in_first, feed))
            hs_bitmap_set(&work->is_resolved, feed->edges.core);
        else
            HS_TRY(peel_put(peel, &feed->row, err));
    }
}

static hs_status attach_feed(struct attach_work *work, struct peel *peel, struct hs_error *err)
{
    const struct hs_spill *spill = &work->passes->core_edges;
    struct hs_spill_reader reader = {0};
    hs_auto_free void *feed = NULL;

    HS_TRY(hs_alloc(1, sizeof(struct attach_feed), &feed, err));
    HS_TRY(hs_spill_read(spill, 0, spill->n_bytes, &reader, err));
    hs_status status = feed_read(work, &reader, feed, peel, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* ---- the pass ---- */

static void singles_find(struct attach_work *work)
{
    const struct hs_bitmap *is_head = &work->passes->is_head;
    uint32_t core = 0;

    for (uint64_t at = 0; at < is_head->n_bits; core++) {
        uint64_t next = hs_bitmap_next(is_head, at + 1);
        if (next == at + 1)
            hs_bitmap_set(&work->is_single, core);
        at = next;
    }
    assert(core == work->passes->n_core);
}

static hs_status tree_make(struct attach_work *work, struct hs_error *err)
{
    const struct hs_passes *passes = work->passes;

    HS_TRY(core_tree_init(passes->region, passes->n_core, passes->budget, &work->tree, err));
    core_tree_add_all(&work->tree, &passes->is_reached);
    return HS_OK;
}

static hs_status attach_init(struct attach_work *work, struct hs_error *err)
{
    struct hs_passes *passes = work->passes;
    struct hs_budget *budget = passes->budget;
    uint32_t n = passes->n_core;

    HS_TRY(
        hs_ids_init(n, passes->n_positions, budget, "where the core hangs", &passes->attach, err));
    hs_ids_fill_none(&passes->attach);
    HS_TRY(hs_ids_init(n, passes->n_positions, budget, "where the core hangs", &work->high, err));
    hs_ids_fill_none(&work->high);
    HS_TRY(pass_bitmap_init(budget, n, "where the core hangs", &work->is_resolved, err));
    HS_TRY(pass_bitmap_init(budget, n, "where the core hangs", &work->is_single, err));
    singles_find(work);
    return HS_OK;
}

static hs_status attach_peel(struct attach_work *work, struct peel *peel, struct hs_error *err)
{
    HS_TRY(attach_feed(work, peel, err));
    work->counts.n_climbed = work->tree.n_steps;
    core_tree_fini(&work->tree);
    HS_TRY(peel_begin(peel, err));
    HS_TRY(peel_run(peel, err));
    HS_TRY(attach_spread_run(work, &peel->rows, err));
    HS_TRY(peel_leaves(peel, err));
    work->counts.n_edges = peel->n_seen;
    return HS_OK;
}

/* Without the sequence. */
static hs_status attach_find(struct attach_work *work, struct hs_error *err)
{
    const struct peel_rule rule = {rule_fold, rule_resolve, work, &work->is_resolved};
    struct peel peel;

    HS_TRY(attach_init(work, err));
    HS_TRY(
        peel_init(&rule, work->passes->n_core, work->passes->budget, work->progress, &peel, err));
    hs_status status = attach_peel(work, &peel, err);
    peel_fini(&peel);
    return status == HS_OK ? attach_ask_run(work, err) : status;
}

static void work_fini(struct attach_work *work)
{
    core_tree_fini(&work->tree);
    hs_ids_fini(&work->high);
    pass_bitmap_fini(work->passes->budget, &work->is_resolved);
    pass_bitmap_fini(work->passes->budget, &work->is_single);
}

hs_status pass_attach_counted(const struct hs_passes_input *input, struct hs_passes *passes,
                              struct pass_attach_counts *ret, struct hs_error *err)
{
    struct attach_work work = {.passes = passes, .progress = input->progress};
    struct hs_parked sequence = {0};

    hs_status status =
        hs_parked_put(passes->budget, "the core's order", passes->sequence,
                      (uint64_t)passes->n_sequence * sizeof *passes->sequence, &sequence, err);
    pass_array_fini(passes->budget, &passes->sequence, passes->n_core);
    if (status == HS_OK)
        status = tree_make(&work, err);
    if (status == HS_OK)
        status = attach_find(&work, err);
    work_fini(&work);
    if (status == HS_OK)
        status = core_work_sequence_fetch(passes, &sequence, err);
    hs_parked_close(&sequence);
    if (status == HS_OK)
        *ret = work.counts;
    return status;
}

hs_status pass_attach_run(const struct hs_passes_input *input, struct hs_passes *passes,
                          struct hs_error *err)
{
    struct pass_attach_counts counts;
    return pass_attach_counted(input, passes, &counts, err);
}
