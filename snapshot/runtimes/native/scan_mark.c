/* The blocks that roots reach, with the words by which (scan.h). */
#include "flow.h"
#include "owned.h"
#include "said.h"
#include "scan.h"

enum { WORD = 8, BLOCKS_PER_TELL = 1 << 20 };

static inline bool scan_is_leaked(const struct hs_scan *scan, uint64_t rank)
{
    return scan->leaked.n_bits != 0 && hs_bitmap_get(&scan->leaked, rank);
}

/* Marks a block that a word leads to, and queues it when it is new. */
static inline hs_status mark_block(struct hs_scan *scan, struct hs_block_queue *queue,
                                   const struct hs_heap_block *block, enum hs_pointer how,
                                   struct hs_error *err)
{
    if (how == HS_POINTER_START)
        hs_bitmap_set(&scan->by_start, block->rank);
    if (hs_bitmap_get(&scan->reached, block->rank) ||
        (scan->marks != &scan->reached &&
         (hs_bitmap_get(scan->marks, block->rank) || scan_is_leaked(scan, block->rank))))
        return HS_OK;
    hs_bitmap_set(scan->marks, block->rank);
    if (block->bytes == NULL)
        return HS_OK;
    return hs_block_queue_push(queue, block, err);
}

/* Notes that a variable, or a word of which a type tells, leads to the block. */
static inline void mark_told(struct hs_scan *scan, uint64_t rank)
{
    if (scan->slack.told.n_bits != 0)
        hs_bitmap_set(&scan->slack.told, rank);
}

/* Returns up to where a type tells of the words of a block. */
static uint64_t told_end(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    const struct hs_native_type *type =
        scan->slack.told.n_bits == 0 ? NULL : hs_scan_type(scan, block);

    if (type == NULL || type->is_plain)
        return 0;
    return type->is_array || type->tail_type != 0 ? block->n_bytes : type->n_bytes;
}

/* Marks what doubtful roots lead to, or what all others do. */
static hs_status mark_from_roots(struct hs_scan *scan, struct hs_block_queue *queue, bool doubtful,
                                 struct hs_error *err)
{
    const struct hs_roots *roots = &scan->native->roots;
    struct hs_heap_block block;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        if (leaf->root.weak || (leaf->root.tier == HS_TIER_DOUBTFUL) != doubtful ||
            hs_heap_map_resolve(&scan->native->dump->heaps.map, leaf->target, &block) !=
                HS_POINTER_START)
            continue;
        if (!doubtful)
            mark_told(scan, block.rank);
        HS_TRY(mark_block(scan, queue, &block,
                          leaf->root.edge_class == HS_EDGE_INTERIOR ? HS_POINTER_INTERIOR
                                                                    : HS_POINTER_START,
                          err));
    }
    return HS_OK;
}

static inline hs_status mark_address(struct hs_scan *scan, struct hs_block_queue *queue,
                                     uint64_t address, bool is_told, struct hs_error *err)
{
    struct hs_heap_block target;
    enum hs_pointer how = hs_flow_resolve(scan->native, address, &target);

    if (how == HS_POINTER_NONE)
        return HS_OK;
    if (is_told)
        mark_told(scan, target.rank);
    return mark_block(scan, queue, &target, how, err);
}

static hs_status mark_word(struct hs_scan *scan, void *queue, const struct hs_heap_block *block,
                           uint64_t at, struct hs_error *err)
{
    return mark_address(scan, queue, hs_load_u64(block->bytes + at), true, err);
}

/* Counts what the last word of a block of glibc's is, where no type tells. *ret: it leads to a
 * block and waits until all other words are marked. */
static void mark_last(struct hs_scan *scan, const struct hs_heap_block *block,
                      const struct hs_object_words *words, bool *ret)
{
    struct hs_heap_block target;

    *ret = false;
    if (!hs_slack_has(block) || block->n_bytes % WORD != 0 || block->n_bytes < WORD)
        return;
    uint64_t word = hs_load_u64(block->bytes + block->n_bytes - WORD);
    struct hs_slack_size *size = hs_slack_open(&scan->slack, block);
    bool may_wait = scan->slack.late.n_bits != 0 && !words->is_exact && word != 0;
    const struct hs_native_type *type =
        size == NULL && !may_wait ? NULL : hs_scan_type(scan, block);
    if ((size == NULL && !may_wait) || (type != NULL && (type->is_array || type->is_plain ||
                                                         type->n_bytes + WORD > block->n_bytes)))
        return;
    enum hs_pointer how = hs_flow_resolve(scan->native, word, &target);
    if (size != NULL)
        hs_slack_count(size, word, how);
    *ret = may_wait && how != HS_POINTER_NONE && !hs_bitmap_get(&scan->reached, target.rank);
    if (*ret)
        hs_bitmap_set(&scan->slack.late, block->rank);
}

static hs_status mark_words(struct hs_scan *scan, struct hs_block_queue *queue,
                            const struct hs_heap_block *block, struct hs_error *err)
{
    struct hs_object_words room;
    struct hs_heap_block target;
    bool waits = false;

    const struct hs_object_words *words = hs_scan_words(scan, block, &room);
    const uint64_t left = scan->slack.late.n_bits != 0 && !words->is_exact
                              ? hs_said_left_from(scan, hs_scan_type(scan, block), block)
                              : UINT64_MAX;
    if (left != UINT64_MAX)
        hs_bitmap_set(&scan->slack.late, block->rank);
    if (left == 0)
        return HS_OK;
    if (left == UINT64_MAX)
        mark_last(scan, block, words, &waits);
    uint64_t end = waits ? block->n_bytes - WORD : block->n_bytes, told = told_end(scan, block);
    end = left < end ? left : end;
    for (uint64_t at = 0; at + WORD <= end; at += WORD) {
        at = hs_flow_touched(scan->native, block, at);
        if (at + WORD <= end && !hs_scan_passes_over(words, words->links | words->weak, at))
            HS_TRY(mark_address(scan, queue, hs_scan_address(words, block, at), at < told, err));
    }
    for (uint64_t word = 0; hs_scan_next_by_distance(scan, block, &word, &target);)
        HS_TRY(mark_block(scan, queue, &target, HS_POINTER_START, err));
    for (struct hs_owned_walk walk = {0}; hs_owned_next(scan, block, &walk, &target);)
        HS_TRY(mark_block(scan, queue, &target, HS_POINTER_START, err));
    if (!scan->any_packed || block->n_bytes < WORD)
        return HS_OK;
    const struct hs_native_type *type = hs_scan_type(scan, block);
    return type != NULL && type->has_unaligned
               ? hs_scan_packed(scan, block, type, mark_word, queue, err)
               : HS_OK;
}

static hs_status mark_drain(struct hs_scan *scan, struct hs_block_queue *queue, uint64_t *n_done,
                            struct hs_error *err)
{
    struct hs_heap_block block;

    while (hs_block_queue_pop(queue, &block)) {
        hs_scan_cut(scan, &block);
        HS_TRY(mark_words(scan, queue, &block, err));
        if (++*n_done % BLOCKS_PER_TELL == 0)
            HS_TRY(hs_progress_tell(scan->native->dump->options->progress, "marking", *n_done,
                                    scan->native->dump->heaps.map.n_blocks, err));
    }
    return HS_OK;
}

/* Marks what the last words that waited lead to, and the words of blocks that nobody wrote. */
static hs_status mark_late(struct hs_scan *scan, const struct hs_bitmap *late, struct hs_error *err)
{
    struct hs_heap_block block;
    struct hs_object_words words;

    for (uint64_t rank = 0; (rank = hs_bitmap_next(late, rank)) < late->n_bits; rank++) {
        struct hs_heap_iterator it = {.map = &scan->native->dump->heaps.map};
        hs_heap_map_seek(&it, rank);
        if (!hs_heap_map_next(&it, &block))
            break;
        hs_scan_cut(scan, &block);
        if (hs_said_left_from(scan, hs_scan_type(scan, &block), &block) != UINT64_MAX) {
            HS_TRY(mark_words(scan, &scan->queue, &block, err));
            HS_TRY(mark_drain(scan, &scan->queue, &scan->n_marked, err));
            continue;
        }
        uint64_t at = block.n_bytes - WORD;
        hs_scan_object_words(scan, &block, &words);
        if (!hs_scan_passes_over(&words, words.links | words.weak, at))
            HS_TRY(
                mark_address(scan, &scan->queue, hs_scan_address(&words, &block, at), false, err));
        HS_TRY(mark_drain(scan, &scan->queue, &scan->n_marked, err));
    }
    return HS_OK;
}

hs_status hs_scan_mark_roots(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_bitmap late, *sure = &scan->slack.sure;

    HS_TRY(hs_bitmap_init(&scan->slack.late, scan->reached.n_bits, err));
    if (scan->own.n_bits != 0)
        HS_TRY(hs_bitmap_init(&scan->slack.told, scan->reached.n_bits, err));
    HS_TRY(mark_from_roots(scan, &scan->queue, false, err));
    HS_TRY(mark_drain(scan, &scan->queue, &scan->n_marked, err));
    HS_TRY(hs_bitmap_init(sure, scan->reached.n_bits, err));
    for (uint64_t i = 0; i < (sure->n_bits + 63) / 64; i++)
        sure->words[i] = scan->reached.words[i];
    late = scan->slack.late;
    scan->slack.late = (struct hs_bitmap){0};
    hs_status status = mark_late(scan, &late, err);
    hs_bitmap_fini(&late);
    HS_TRY(status);
    HS_TRY(mark_from_roots(scan, &scan->queue, true, err));
    return mark_drain(scan, &scan->queue, &scan->n_marked, err);
}

hs_status hs_scan_mark_word(struct hs_scan *scan, uint64_t word, struct hs_error *err)
{
    struct hs_heap_block target;
    enum hs_pointer how = hs_flow_resolve(scan->native, word, &target);

    if (how == HS_POINTER_NONE)
        return HS_OK;
    HS_TRY(mark_block(scan, &scan->queue, &target, how, err));
    return mark_drain(scan, &scan->queue, &scan->n_marked, err);
}

hs_status hs_scan_mark_as(struct hs_scan *scan, struct hs_bitmap *marks,
                          const struct hs_heap_block *block, struct hs_error *err)
{
    scan->marks = marks;
    hs_status status = mark_block(scan, &scan->queue, block, HS_POINTER_INTERIOR, err);
    if (status == HS_OK)
        status = mark_drain(scan, &scan->queue, &scan->n_marked, err);
    scan->marks = &scan->reached;
    return status;
}

hs_status hs_scan_mark_unsure(struct hs_scan *scan, const struct hs_heap_block *block,
                              struct hs_error *err)
{
    if (!scan->has_unsure)
        HS_TRY(hs_bitmap_init(&scan->unsure, scan->native->dump->heaps.map.n_blocks, err));
    scan->has_unsure = true;
    return hs_scan_mark_as(scan, &scan->unsure, block, err);
}
