#include "forest_search.h"

#include <assert.h>

#include "base/alloc.h"
#include "forest_stack.h"
#include "pass_steps.h"

#define BATCH 8192 /* visits that are written at once */
#define TELL_BATCHES 64

/* The visited nodes on their way to the spills. */
struct search {
    const struct forest_lists *lists;
    struct forest_stack stack;
    struct hs_passes *passes;
    struct hs_bitmap is_head; /* with room for all nodes */
    const struct hs_progress *progress;
    uint64_t n_visited, n_batches;
    unsigned width, n_batch;
    uint32_t depths[BATCH];
    uint8_t order[BATCH * 5 + 8];
};

static hs_status search_flush(struct search *search, struct hs_error *err)
{
    struct hs_passes *passes = search->passes;
    size_t n = search->n_batch;

    HS_TRY(hs_spill_write(&passes->order, search->order, n * search->width, err));
    HS_TRY(hs_spill_write(&passes->depths, search->depths, n * sizeof(uint32_t), err));
    search->n_visited += n;
    search->n_batch = 0;
    if (search->n_batches++ % TELL_BATCHES != 0)
        return HS_OK;
    return hs_progress_tell(search->progress, "searching the forest", search->n_visited,
                            passes->n_nodes, err);
}

static inline hs_status search_visit(struct search *search, hs_node node, uint32_t depth,
                                     struct hs_error *err)
{
    unsigned at = search->n_batch;
    memcpy(search->order + at * search->width, &node, sizeof node); /* little-endian */
    search->depths[at] = depth;
    search->n_batch = at + 1;
    return at + 1 == BATCH ? search_flush(search, err) : HS_OK;
}

/* The next node that waits, out of the topmost frame. */
static hs_status search_return(struct search *search, hs_node *ret, uint32_t *ret_depth,
                               bool *ret_is_end, struct hs_error *err)
{
    struct forest_stack *stack = &search->stack;

    if (stack->n == 0) {
        HS_TRY(forest_stack_load(stack, ret_is_end, err));
        if (*ret_is_end)
            return HS_OK;
    }
    struct forest_frame *frame = &stack->frames[stack->n - 1];
    struct forest_cursor cursor = forest_frame_cursor(frame);
    uint32_t depth = forest_frame_depth(frame);
    *ret = cursor.child;
    *ret_depth = depth;
    if (!cursor.has_more) {
        stack->n--;
        return HS_OK;
    }
    forest_next(search->lists, &cursor);
    forest_prefetch(search->lists, cursor.child);
    *frame = forest_frame_make(&cursor, depth);
    return HS_OK;
}

/* Goes down to a node's first child. A last child leaves no frame behind, so that a way without
 * branches, however long, needs none. */
static hs_status search_descend(struct search *search, hs_node *node, uint32_t *depth,
                                struct hs_error *err)
{
    struct forest_cursor cursor = forest_lists_first(search->lists, *node);

    if (*depth == UINT32_MAX - 1)
        return hs_fail(err, HS_LIMIT, "blocks hang more than 2^32 deep below one another");
    *node = cursor.child;
    ++*depth;
    if (!cursor.has_more)
        return HS_OK;
    forest_next(search->lists, &cursor);
    forest_prefetch(search->lists, cursor.child);
    return forest_stack_push(&search->stack, &cursor, *depth, err);
}

/* Searches one region. Sweeps that differ from each other could make nodes come twice, even in a
 * circle: no more than there are. */
static hs_status search_region(struct search *search, hs_node head, struct hs_error *err)
{
    uint64_t n_nodes = search->passes->n_nodes, max_depth = search->passes->max_depth;
    uint32_t depth = 0;
    hs_node node = head;

    hs_bitmap_set(&search->is_head, search->n_visited + search->n_batch);
    for (bool is_end = false; !is_end;) {
        if (search->n_visited + search->n_batch == n_nodes)
            return hs_fail(err, HS_BUG, "a second sweep gave other edges than the first");
        HS_TRY(search_visit(search, node, depth, err));
        max_depth = depth > max_depth ? depth : max_depth;
        if (forest_has_list(search->lists, node))
            HS_TRY(search_descend(search, &node, &depth, err));
        else
            HS_TRY(search_return(search, &node, &depth, &is_end, err));
    }
    search->passes->max_depth = max_depth;
    return HS_OK;
}

/* The heads as a bitmap of just the positions. */
static hs_status search_heads(struct search *search, struct hs_error *err)
{
    struct hs_passes *passes = search->passes;
    struct hs_bitmap *heads = &passes->is_head;
    uint64_t n_core;

    passes->n_positions = search->n_visited;
    HS_TRY(pass_bitmap_init(passes->budget, passes->n_positions, "the regions", heads, err));
    memcpy(heads->words, search->is_head.words, (passes->n_positions + 63) / 64 * 8);
    HS_TRY(hs_bitmap_index(heads, &n_core, err));
    if (n_core >= HS_NONE)
        return hs_fail(err, HS_LIMIT, "more than 2^32 blocks are held by several others");
    passes->n_core = (uint32_t)n_core;
    return HS_OK;
}

static hs_status search_all(struct search *search, const struct hs_bitmap *is_multi,
                            struct hs_error *err)
{
    struct hs_passes *passes = search->passes;
    uint64_t n = passes->n_nodes;

    HS_TRY(pass_bitmap_init(passes->budget, n, "the regions", &search->is_head, err));
    HS_TRY(forest_stack_init(passes->budget, n / 2 + 1, 0, &search->stack, err));
    HS_TRY(hs_spill_open(passes->budget, "the order of the forest", &passes->order, err));
    HS_TRY(hs_spill_open(passes->budget, "the depths of the forest", &passes->depths, err));
    HS_TRY(search_region(search, 0, err));
    for (uint64_t head = hs_bitmap_next(is_multi, 1); head < n;
         head = hs_bitmap_next(is_multi, head + 1))
        HS_TRY(search_region(search, head, err));
    HS_TRY(search_flush(search, err));
    HS_TRY(hs_spill_seal(&passes->order, err));
    HS_TRY(hs_spill_seal(&passes->depths, err));
    forest_stack_fini(&search->stack);
    return search_heads(search, err);
}

hs_status forest_search_run(const struct forest_lists *lists, const struct hs_bitmap *is_multi,
                            const struct hs_progress *progress, struct hs_passes *passes,
                            struct hs_error *err)
{
    hs_auto_free struct search *search = NULL;

    HS_TRY(HS_ALLOC(&search, 1, err));
    search->lists = lists;
    search->passes = passes;
    search->progress = progress;
    search->width = hs_ids_width(passes->n_nodes);
    hs_status status = search_all(search, is_multi, err);
    forest_stack_fini(&search->stack);
    pass_bitmap_fini(passes->budget, &search->is_head);
    return status;
}
