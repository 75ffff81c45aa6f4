/* Retained sizes: sums over the dominator tree in pieces.
 *
 *   forward    what each region weighs on its own, per core node, to a spill
 *   sequence   backward: totals of core nodes, added to the region they are attached in and to the
 *              place there; 4 to 8 bytes per core node and place, one dimension after the other
 *   backward   over all positions: own size, totals of the core nodes attached there, and what the
 *              children have left on a stack; scattered over the nodes
 *
 * Dimensions that nothing has are left out: most snapshots have no static blocks. */
#include <assert.h>

#include "attach_places.h"
#include "base/alloc.h"
#include "base/load.h"
#include "pass_scatter.h"
#include "pass_stack.h"
#include "pass_weights.h"
#include "position_reader.h"

#define WHAT "the retained sizes"

/* Sums in as few bytes as the greatest needs. */
struct sums {
    uint8_t *bytes; /* owned pages: n * width and 8 more */
    uint64_t n;
    unsigned width;
};

struct retained {
    const struct hs_passes *passes;
    const struct hs_progress *progress;
    const struct hs_retained_sink *sink;
    struct pass_weights weights;
    struct attach_places places;
    unsigned n_dims;                           /* 2, or 4 with static blocks */
    struct hs_spill regions[HS_N_DIMENSIONS];  /* 8 bytes per core node */
    struct hs_spill attached[HS_N_DIMENSIONS]; /* 8 bytes per place */
    uint64_t most[HS_N_DIMENSIONS];            /* of all that has a position */
    uint64_t total[HS_N_DIMENSIONS];           /* of all that is reached */
    struct sums core_sums, place_sums;         /* one dimension */
    struct pass_stack open;                    /* see open_row */
    struct pass_scatter scatter;
};

static uint64_t sums_bytes(const struct sums *sums)
{
    return sums->n * sums->width + 8;
}

static void sums_fini(struct sums *sums, struct hs_budget *budget)
{
    if (sums->bytes == NULL)
        return;
    hs_budget_release(budget, sums_bytes(sums));
    hs_pages_free(sums->bytes, sums_bytes(sums), 1);
    *sums = (struct sums){0};
}

static hs_status sums_init(uint64_t n, uint64_t max, struct hs_budget *budget, struct sums *ret,
                           struct hs_error *err)
{
    struct sums sums = {.n = n, .width = pass_scatter_width(max)};
    void *memory;

    HS_TRY(hs_budget_reserve(budget, sums_bytes(&sums), WHAT, err));
    hs_status status = hs_pages_alloc(sums_bytes(&sums), 1, &memory, err);
    if (status == HS_OK) {
        sums.bytes = memory;
        *ret = sums;
    } else {
        hs_budget_release(budget, sums_bytes(&sums));
    }
    return status;
}

static inline uint64_t sums_get(const struct sums *sums, uint64_t at)
{
    uint64_t value = hs_load_u64(sums->bytes + at * sums->width);
    return value & UINT64_MAX >> (64 - 8 * sums->width);
}

static inline void sums_set(const struct sums *sums, uint64_t at, uint64_t value)
{
    memcpy(sums->bytes + at * sums->width, &value, sums->width); /* little-endian machines only */
}

static inline void sums_add(const struct sums *sums, uint64_t at, uint64_t more)
{
    sums_set(sums, at, sums_get(sums, at) + more);
}

static void retained_fini(struct retained *r)
{
    sums_fini(&r->core_sums, r->passes->budget);
    sums_fini(&r->place_sums, r->passes->budget);
    for (unsigned i = 0; i < HS_N_DIMENSIONS; i++) {
        hs_spill_close(&r->regions[i]);
        hs_spill_close(&r->attached[i]);
    }
    attach_places_fini(&r->places);
    pass_weights_fini(&r->weights);
    pass_stack_fini(&r->open);
    pass_scatter_fini(&r->scatter);
}

static inline void node_add(const struct pass_weights *weights, hs_node node, uint64_t *sums)
{
    uint64_t words;
    bool is_static;

    if (!pass_weights_get(weights, node, &words, &is_static))
        return;
    sums[is_static ? HS_DIM_STATIC_WORDS : HS_DIM_WORDS] += words;
    sums[is_static ? HS_DIM_STATIC_OBJECTS : HS_DIM_OBJECTS]++;
}

/* ---- forward: regions ---- */

static hs_status region_put(struct retained *r, uint64_t *sums, struct hs_error *err)
{
    for (unsigned i = 0; i < r->n_dims; i++) {
        HS_TRY(hs_spill_put_fixed(&r->regions[i], sums[i], 8, err));
        r->most[i] += sums[i];
        sums[i] = 0;
    }
    return HS_OK;
}

static hs_status regions_read(struct retained *r, struct hs_spill_reader *order,
                              struct hs_error *err)
{
    const struct hs_passes *passes = r->passes;
    unsigned width = hs_ids_width(passes->n_nodes);
    uint64_t sums[HS_N_DIMENSIONS] = {0};

    for (uint64_t at = 0; at < passes->n_positions; at++) {
        hs_node node;
        HS_TRY(hs_spill_get_fixed(order, width, &node, err));
        if (at != 0 && hs_bitmap_get(&passes->is_head, at))
            HS_TRY(region_put(r, sums, err));
        node_add(&r->weights, node, sums);
    }
    HS_TRY(region_put(r, sums, err));
    for (unsigned i = 0; i < r->n_dims; i++)
        HS_TRY(hs_spill_seal(&r->regions[i], err));
    return HS_OK;
}

static hs_status regions_find(struct retained *r, struct hs_error *err)
{
    const struct hs_spill *order = &r->passes->order;
    struct hs_spill_reader reader = {0};

    for (unsigned i = 0; i < r->n_dims; i++)
        HS_TRY(hs_spill_open(r->passes->budget, WHAT, &r->regions[i], err));
    HS_TRY(hs_spill_read(order, 0, order->n_bytes, &reader, err));
    hs_status status = regions_read(r, &reader, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* ---- core nodes, dimension by dimension ---- */

static hs_status cores_read(struct retained *r, unsigned dim, struct hs_error *err)
{
    struct hs_spill_reader reader = {0};

    hs_status status = hs_spill_read(&r->regions[dim], 0, r->regions[dim].n_bytes, &reader, err);
    for (uint32_t i = 0; i < r->passes->n_core && status == HS_OK; i++) {
        uint64_t sum;
        status = hs_spill_get_fixed(&reader, 8, &sum, err);
        if (status == HS_OK && sum != 0) /* pages without any stay unpaid */
            sums_set(&r->core_sums, i, sum);
    }
    hs_spill_reader_close(&reader);
    hs_spill_close(&r->regions[dim]);
    return status;
}

/* Each core node stands behind the one whose region it is attached in. */
static void cores_add(struct retained *r)
{
    const struct hs_passes *passes = r->passes;

    for (uint32_t i = passes->n_sequence; i-- > 1;) {
        uint32_t core = passes->sequence[i];
        uint64_t sum = sums_get(&r->core_sums, core);
        if (sum == 0)
            continue;
        sums_add(&r->place_sums, attach_place_of(&r->places, passes, core), sum);
        sums_add(&r->core_sums, passes->region[core], sum);
    }
}

static hs_status places_write(struct retained *r, unsigned dim, struct hs_error *err)
{
    HS_TRY(hs_spill_open(r->passes->budget, WHAT, &r->attached[dim], err));
    for (uint64_t i = 0; i < r->places.n; i++)
        HS_TRY(hs_spill_put_fixed(&r->attached[dim], sums_get(&r->place_sums, i), 8, err));
    return hs_spill_seal(&r->attached[dim], err);
}

static hs_status dim_sum(struct retained *r, unsigned dim, struct hs_error *err)
{
    struct hs_budget *budget = r->passes->budget;

    HS_TRY(sums_init(r->passes->n_core, r->most[dim], budget, &r->core_sums, err));
    HS_TRY(sums_init(r->places.n, r->most[dim], budget, &r->place_sums, err));
    HS_TRY(cores_read(r, dim, err));
    cores_add(r);
    r->total[dim] = sums_get(&r->core_sums, 0);
    HS_TRY(places_write(r, dim, err));
    sums_fini(&r->core_sums, budget);
    sums_fini(&r->place_sums, budget);
    return HS_OK;
}

/* The sizes of blocks are not needed meanwhile: where there is no room for both they are read again
 * afterwards. */
static hs_status cores_sum(struct retained *r, struct hs_error *err)
{
    uint64_t n = r->passes->n_core + r->places.n;
    unsigned width = pass_scatter_width(r->most[HS_DIM_WORDS] | r->most[HS_DIM_STATIC_WORDS]);

    if (hs_budget_left_bytes(r->passes->budget) < n * width + 16)
        pass_weights_fini(&r->weights);
    for (unsigned dim = 0; dim < r->n_dims; dim++)
        HS_TRY(dim_sum(r, dim, err));
    return HS_OK;
}

/* ---- backward: all positions ---- */

/* A row that children have filled for a parent that comes later; depths ascend towards the top,
 * since the position before one of depth d is at least at depth d - 1. */
struct open_row {
    uint64_t depth; /* of the children */
    uint64_t sums[HS_N_DIMENSIONS];
};

static size_t open_row_bytes(const struct retained *r)
{
    return (1 + r->n_dims) * sizeof(uint64_t);
}

static hs_status retained_init(struct retained *r, struct hs_error *err)
{
    const struct hs_passes *passes = r->passes;
    uint64_t max_rows = passes->max_depth + 2;
    struct pass_scatter_shape shape = {
        .n_keys = passes->n_nodes,
        .n_columns = r->n_dims,
        .reserve_bytes =
            pass_scatter_leave(pass_stack_max_bytes(max_rows, open_row_bytes(r)),
                               attach_places_bytes(&r->places) + pass_weights_bytes(&r->weights),
                               r->sink->first_bytes),
    };

    memcpy(shape.max, r->total, sizeof shape.max);
    HS_TRY(pass_stack_init(passes->budget, WHAT, max_rows, open_row_bytes(r), &r->open, err));
    return pass_scatter_init(&shape, passes->budget, WHAT, &r->scatter, err);
}

/* Adds what the children of a node at this depth have left. */
static hs_status open_take(struct retained *r, uint64_t depth, uint64_t *sums, struct hs_error *err)
{
    struct open_row row;

    if (pass_stack_n(&r->open) == 0)
        return HS_OK;
    memcpy(&row, pass_stack_top(&r->open), r->open.row_bytes);
    assert(row.depth <= depth + 1);
    if (row.depth != depth + 1)
        return HS_OK;
    for (unsigned i = 0; i < r->n_dims; i++)
        sums[i] += row.sums[i];
    return pass_stack_cut(&r->open, pass_stack_n(&r->open) - 1, err);
}

/* Leaves a node's sums for its parent. */
static hs_status open_leave(struct retained *r, uint64_t depth, const uint64_t *sums,
                            struct hs_error *err)
{
    struct open_row row = {.depth = depth};

    if (pass_stack_n(&r->open) != 0) {
        uint8_t *top = pass_stack_top(&r->open);
        memcpy(&row, top, r->open.row_bytes);
        if (row.depth == depth) {
            for (unsigned i = 0; i < r->n_dims; i++)
                row.sums[i] += sums[i];
            memcpy(top, &row, r->open.row_bytes);
            return HS_OK;
        }
        assert(row.depth < depth);
        row.depth = depth;
    }
    memcpy(row.sums, sums, r->n_dims * sizeof *sums);
    return pass_stack_push(&r->open, &row, err);
}

struct back {
    struct position_reader positions;
    struct hs_spill_reader attached[HS_N_DIMENSIONS];
};

static void back_close(struct back *back)
{
    position_reader_close(&back->positions);
    for (unsigned i = 0; i < HS_N_DIMENSIONS; i++)
        hs_spill_reader_close(&back->attached[i]);
}

static hs_status back_open(const struct retained *r, struct back *back, struct hs_error *err)
{
    HS_TRY(position_reader_open(r->passes, &back->positions, err));
    for (unsigned i = 0; i < r->n_dims; i++)
        HS_TRY(hs_spill_read(&r->attached[i], 0, r->attached[i].n_bytes, &back->attached[i], err));
    return HS_OK;
}

static hs_status back_position(struct retained *r, struct back *back, uint64_t at, hs_node node,
                               uint64_t depth, struct hs_error *err)
{
    uint64_t sums[HS_N_DIMENSIONS] = {0}, more;

    node_add(&r->weights, node, sums);
    if (hs_bitmap_get(&r->places.is_place, at)) {
        for (unsigned i = 0; i < r->n_dims; i++) {
            HS_TRY(hs_spill_get_fixed_back(&back->attached[i], 8, &more, err));
            sums[i] += more;
        }
    }
    HS_TRY(open_take(r, depth, sums, err));
    if (depth != 0)
        HS_TRY(open_leave(r, depth, sums, err));
    return pass_scatter_put(&r->scatter, node, sums, err);
}

static hs_status back_read(struct retained *r, struct back *back, struct hs_error *err)
{
    const struct hs_passes *passes = r->passes;
    uint32_t core = passes->n_core - 1;

    for (uint64_t at = passes->n_positions; at-- > 0;) {
        hs_node node;
        uint64_t depth;
        if ((at & 0xfffff) == 0)
            HS_TRY(hs_progress_tell(r->progress, "adding up retained sizes",
                                    passes->n_positions - at, passes->n_positions, err));
        HS_TRY(position_previous(&back->positions, &node, &depth, err));
        if (hs_bitmap_get(&passes->is_reached, core))
            HS_TRY(back_position(r, back, at, node, depth, err));
        core -= depth == 0;
    }
    assert(pass_stack_n(&r->open) == 0);
    return HS_OK;
}

static hs_status retained_put(void *context, uint64_t key, const uint64_t *values,
                              struct hs_error *err)
{
    const struct retained *r = context;
    struct hs_sizes sizes = {.words = values[HS_DIM_WORDS], .objects = values[HS_DIM_OBJECTS]};

    if (r->n_dims > HS_DIM_STATIC_WORDS) {
        sizes.static_words = values[HS_DIM_STATIC_WORDS];
        sizes.static_objects = values[HS_DIM_STATIC_OBJECTS];
    }
    return r->sink->put(r->sink->context, key, &sizes, err);
}

static hs_status retained_emit(struct retained *r, const struct hs_weight_source *source,
                               struct hs_error *err)
{
    const struct pass_scatter_sink sink = {retained_put, r};
    struct back back = {0};

    if (r->weights.small == NULL)
        HS_TRY(pass_weights_load(r->passes, source, &r->weights, err));
    HS_TRY(retained_init(r, err));
    hs_status status = back_open(r, &back, err);
    if (status == HS_OK)
        status = back_read(r, &back, err);
    back_close(&back);
    pass_weights_fini(&r->weights);
    attach_places_fini(&r->places);
    pass_stack_fini(&r->open);
    return status == HS_OK ? pass_scatter_emit(&r->scatter, &sink, err) : status;
}

static hs_status retained_run(struct retained *r, const struct hs_weight_source *source,
                              struct hs_error *err)
{
    static_assert(HS_DIM_WORDS == 0 && HS_DIM_OBJECTS == 1 && HS_DIM_STATIC_WORDS == 2);
    HS_TRY(hs_progress_tell(r->progress, "adding up retained sizes", 0, 0, err));
    HS_TRY(pass_weights_load(r->passes, source, &r->weights, err));
    r->n_dims = r->weights.n_static == 0 ? 2 : HS_N_DIMENSIONS;
    HS_TRY(regions_find(r, err));
    HS_TRY(attach_places_find(r->passes, &r->places, err));
    HS_TRY(cores_sum(r, err));
    return retained_emit(r, source, err);
}

hs_status hs_passes_retained(const struct hs_passes *passes, const struct hs_weight_source *weights,
                             const struct hs_progress *progress,
                             const struct hs_retained_sink *sink, struct hs_error *err)
{
    struct retained r = {.passes = passes, .progress = progress, .sink = sink};

    hs_status status = retained_run(&r, weights, err);
    retained_fini(&r);
    return status;
}
