/* Reachable sizes from the dominator tree in pieces: units, what they weigh and the edges between
 * them go to spills, each in one sweep, from which the condensed graph is made. */
#include <assert.h>

#include "base/alloc.h"
#include "core_edges.h"
#include "pass_condense.h"
#include "pass_steps.h"
#include "pass_units.h"
#include "pass_weights.h"

#define WHAT "the reachable sizes"

struct reach {
    struct hs_passes *passes;
    struct hs_budget *budget;
    const struct hs_progress *progress;
    struct pass_units units;
    struct pass_links links;
    const struct hs_owner_request *owners; /* NULL: nobody wants sets */
    hs_node last_top;
    uint64_t n_words, n_objects; /* of all units */
};

static void reach_fini(struct reach *reach)
{
    pass_units_fini(&reach->units);
    pass_condense_links_fini(&reach->links);
}

/* ---- what units weigh ---- */

static hs_status sizes_put(struct reach *reach, uint32_t unit, struct hs_sizes *sizes,
                           struct hs_error *err)
{
    struct hs_spill *spill = &reach->links.sizes;

    if (unit == HS_NONE || (sizes->objects == 0 && sizes->static_objects == 0))
        return HS_OK;
    HS_TRY(hs_spill_put_varint(spill, unit, err));
    HS_TRY(hs_spill_put_varint(spill, sizes->words, err));
    HS_TRY(hs_spill_put_varint(spill, sizes->objects, err));
    HS_TRY(hs_spill_put_varint(spill, sizes->static_words, err));
    HS_TRY(hs_spill_put_varint(spill, sizes->static_objects, err));
    reach->n_words += sizes->words;
    reach->n_objects += sizes->objects;
    reach->links.n_wide += sizes->static_objects != 0;
    *sizes = (struct hs_sizes){0};
    return HS_OK;
}

static void sizes_add(const struct pass_weights *weights, hs_node node, struct hs_sizes *sizes)
{
    uint64_t words;
    bool is_static;

    if (!pass_weights_get(weights, node, &words, &is_static))
        return;
    if (is_static)
        hs_sizes_add(sizes, &(struct hs_sizes){.static_words = words, .static_objects = 1});
    else
        hs_sizes_add(sizes, &(struct hs_sizes){.words = words, .objects = 1});
}

/* Core nodes come in the order of their nodes. */
static hs_status top_put(struct reach *reach, uint32_t core, hs_node node, struct hs_error *err)
{
    struct hs_spill *spill = &reach->links.tops;

    if (reach->owners == NULL || !hs_bitmap_get(&reach->units.is_top, core))
        return HS_OK;
    assert(node > reach->last_top);
    HS_TRY(hs_spill_put_varint(spill, node - reach->last_top, err));
    HS_TRY(hs_spill_put_varint(spill, reach->units.of_core[core], err));
    reach->last_top = node;
    return HS_OK;
}

/* Tells whether another unit may begin here. */
static inline bool run_begins(const struct reach *reach, uint64_t at)
{
    if (at < pass_units_end(&reach->units))
        return hs_bitmap_get(&reach->units.is_mark, at);
    return hs_bitmap_get(&reach->passes->is_head, at);
}

static hs_status sizes_read(struct reach *reach, const struct pass_weights *weights,
                            struct hs_spill_reader *order, struct hs_error *err)
{
    const struct hs_passes *passes = reach->passes;
    unsigned width = hs_ids_width(passes->n_nodes);
    struct hs_sizes sizes = {0};
    uint32_t unit = HS_NONE, core = 0;

    for (uint64_t at = 0; at < passes->n_positions; at++) {
        hs_node node;
        HS_TRY(hs_spill_get_fixed(order, width, &node, err));
        if (run_begins(reach, at)) {
            bool is_mark = at < pass_units_end(&reach->units);
            HS_TRY(sizes_put(reach, unit, &sizes, err));
            core += !is_mark;
            unit = is_mark ? pass_units_of_mark(&reach->units, at) : reach->units.of_core[core];
            HS_TRY(top_put(reach, core, node, err));
        }
        if (unit != HS_NONE)
            sizes_add(weights, node, &sizes);
    }
    HS_TRY(sizes_put(reach, unit, &sizes, err));
    reach->links.n_wide += hs_unit_sizes_wide(reach->n_words, reach->n_objects);
    if (reach->owners != NULL)
        HS_TRY(hs_spill_seal(&reach->links.tops, err));
    return hs_spill_seal(&reach->links.sizes, err);
}

static hs_status sizes_find(struct reach *reach, const struct hs_weight_source *source,
                            struct hs_error *err)
{
    const struct hs_spill *order = &reach->passes->order;
    struct hs_spill_reader reader = {0};
    struct pass_weights weights;

    HS_TRY(hs_spill_open(reach->budget, WHAT, &reach->links.sizes, err));
    if (reach->owners != NULL)
        HS_TRY(hs_spill_open(reach->budget, WHAT, &reach->links.tops, err));
    HS_TRY(pass_weights_load(reach->passes, source, &weights, err));
    hs_status status = hs_spill_read(order, 0, order->n_bytes, &reader, err);
    if (status == HS_OK)
        status = sizes_read(reach, &weights, &reader, err);
    hs_spill_reader_close(&reader);
    pass_weights_fini(&weights);
    return status;
}

/* ---- edges between units ---- */

/* Keeps the sources' units of one record that lead into another unit, each once per target: all
 * records of a target stand together. */
static void record_reduce(struct reach *reach, struct core_edges *record, uint32_t *seen)
{
    uint32_t to = reach->units.of_core[record->core], n = 0;

    for (uint32_t i = 0; i < record->n; i++) {
        if (record->source[i] == 0) /* edges from node 0 are not followed */
            continue;
        uint32_t unit = pass_units_of(&reach->units, record->source[i]);
        if (unit == HS_NONE || unit == to || seen[unit] == to)
            continue;
        seen[unit] = to;
        hs_bitmap_set(&reach->links.leads, unit);
        record->source[n++] = unit;
    }
    record->n = n;
    reach->links.n_edges += n;
}

static hs_status record_put(struct reach *reach, const struct core_edges *record,
                            struct hs_error *err)
{
    if (record->n == 0)
        return HS_OK;
    HS_TRY(hs_spill_put_varint(&reach->links.edges, reach->units.of_core[record->core], err));
    HS_TRY(hs_spill_put_varint(&reach->links.edges, record->n, err));
    for (uint32_t i = 0; i < record->n; i++)
        HS_TRY(hs_spill_put_varint(&reach->links.edges, record->source[i], err));
    return HS_OK;
}

/* An edge into another unit can only lead to its head. `seen` is zeroed: unit 0, the target of no
 * record. */
static hs_status edges_read(struct reach *reach, struct hs_spill_reader *reader, uint32_t *seen,
                            struct hs_error *err)
{
    struct core_edges record;
    bool more;

    for (uint64_t n = 0;; n++) {
        if ((n & 0xfffff) == 0)
            HS_TRY(hs_progress_tell(reach->progress, "condensing the graph", reader->at,
                                    reader->end, err));
        HS_TRY(core_edges_get(reader, &record, &more, err));
        if (!more)
            return HS_OK;
        if (!hs_bitmap_get(&reach->units.is_head, record.core))
            continue;
        record_reduce(reach, &record, seen);
        HS_TRY(record_put(reach, &record, err));
    }
}

static hs_status edges_find(struct reach *reach, struct hs_error *err)
{
    const struct hs_spill *spill = &reach->passes->core_edges;
    struct hs_budget *budget = reach->budget;
    struct hs_spill_reader reader = {0};
    uint32_t *seen = NULL;

    HS_TRY(hs_spill_open(budget, WHAT, &reach->links.edges, err));
    HS_TRY(pass_bitmap_init(budget, reach->links.n_units, WHAT, &reach->links.leads, err));
    HS_TRY(pass_array_init(budget, reach->links.n_units, WHAT, &seen, err));
    hs_status status = hs_spill_read(spill, 0, spill->n_bytes, &reader, err);
    if (status == HS_OK)
        status = edges_read(reach, &reader, seen, err);
    hs_spill_reader_close(&reader);
    pass_array_fini(budget, &seen, reach->links.n_units);
    return status == HS_OK ? hs_spill_seal(&reach->links.edges, err) : status;
}

/* ---- all of it ---- */

/* Drops all that is known of core nodes alone. */
static void cores_drop(struct hs_passes *passes)
{
    pass_bitmap_fini(passes->budget, &passes->is_reached);
    pass_array_fini(passes->budget, &passes->region, passes->n_core);
    pass_array_fini(passes->budget, &passes->sequence, passes->n_core);
    hs_ids_fini(&passes->attach);
}

/* Numbers the units, which alone count from here on. */
static hs_status units_find(struct reach *reach, const struct hs_weight_source *weights,
                            struct hs_error *err)
{
    const struct hs_owner_roots *roots = reach->owners == NULL ? NULL : reach->owners->roots;

    HS_TRY(pass_units_find(reach->passes, roots, &reach->units, err));
    reach->links.n_tree = reach->units.n_tree;
    reach->links.n_units = reach->units.n_units;
    reach->links.parent = HS_STEAL(reach->units.parent);
    reach->links.n_edges = reach->links.n_tree;
    cores_drop(reach->passes);
    hs_spill_close(&reach->passes->depths);
    HS_TRY(sizes_find(reach, weights, err));
    hs_spill_close(&reach->passes->order);
    HS_TRY(edges_find(reach, err));
    pass_units_fini(&reach->units);
    hs_passes_fini(reach->passes);
    return HS_OK;
}

/* ---- sets ---- */

static hs_status tops_read(struct hs_spill_reader *reader,
                           hs_status (*put)(void *sink, hs_node top, uint64_t place,
                                            struct hs_error *err),
                           void *sink, struct hs_error *err)
{
    uint64_t gap, place;
    hs_node top = 0;

    while (!hs_spill_at_end(reader)) {
        HS_TRY(hs_spill_get_varint(reader, &gap, err));
        HS_TRY(hs_spill_get_varint(reader, &place, err));
        top += gap;
        HS_TRY(put(sink, top, place, err));
    }
    return HS_OK;
}

static hs_status tops_run(const void *context,
                          hs_status (*put)(void *sink, hs_node top, uint64_t place,
                                           struct hs_error *err),
                          void *sink, struct hs_error *err)
{
    const struct hs_spill *tops = context;
    struct hs_spill_reader reader = {0};

    HS_TRY(hs_spill_read(tops, 0, tops->n_bytes, &reader, err));
    hs_status status = tops_read(&reader, put, sink, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* Sizes, and sets where they are asked for. */
static hs_status condensed_answer(const struct reach *reach, struct hs_condensed *condensed,
                                  const struct hs_spill *tops, struct hs_sizes **ret,
                                  struct hs_error *err)
{
    const struct hs_owner_request *owners = reach->owners;
    const struct hs_owner_tops source = {tops_run, tops};
    hs_auto_free struct hs_sizes *sizes = NULL;

    HS_TRY(hs_condensed_reach(condensed, owners == NULL ? NULL : owners->roots, reach->progress,
                              &sizes, err));
    if (owners != NULL)
        HS_TRY(hs_owner_sets_give(condensed, &source, owners, reach->progress, err));
    *ret = HS_STEAL(sizes);
    return HS_OK;
}

hs_status hs_passes_reachable(struct hs_passes *passes, const struct hs_weight_source *weights,
                              const struct hs_owner_request *owners,
                              const struct hs_progress *progress, struct hs_sizes **ret,
                              struct hs_error *err)
{
    struct reach reach = {
        .passes = passes,
        .budget = passes->budget,
        .progress = progress,
        .owners = owners,
        .links = {.budget = passes->budget, .sink_bytes = owners == NULL ? 0 : owners->sink_bytes}};
    struct hs_condensed condensed = {0};
    struct hs_spill tops = {0};

    hs_status status = hs_progress_tell(progress, "condensing the graph", 0, 0, err);
    if (status == HS_OK)
        status = units_find(&reach, weights, err);
    if (status == HS_OK)
        status = pass_condense_run(&reach.links, &condensed, &tops, err);
    reach_fini(&reach);
    if (status == HS_OK)
        status = condensed_answer(&reach, &condensed, &tops, ret, err);
    hs_spill_close(&tops);
    hs_condensed_fini(&condensed);
    return status;
}
