/* obmalloc's own tables: the vector of arenas, and since 3.10 a tree that says which addresses are
 * in an arena. It has them from malloc, where they would be blocks like any other: they are no
 * blocks of the program, keep nothing, and are booked as the allocator's own.
 *
 *   address: | root | 15 bits: middle node | 14: leaf | 20: in the arena |     in 3.10: 10 and 8
 *
 * A leaf has two halves for each MiB: where the arena that begins there does (-1: at its start),
 * and where the one ends that began in the MiB before. So the tree proves itself by arenas that are
 * known otherwise, and is found without symbols. */
#include "base/alloc.h"
#include "base/load.h"
#include "pools.h"

enum {
    ARENA_BITS = 20,
    HEAD_BYTES = 16, /* what the debugging allocators put before a block */
};

struct tree {
    hs_addr middle;
    unsigned node_bits, leaf_bits;
};

static hs_status tables_add(struct cpython_heap *heap, hs_addr table, struct hs_error *err)
{
    if (heap->n_tables != 0 && heap->tables[heap->n_tables - 1] == table)
        return HS_OK;
    HS_TRY(HS_GROW(&heap->tables, &heap->tables_capacity, heap->n_tables + 1, err));
    heap->tables[heap->n_tables++] = table;
    return HS_OK;
}

/* The leaf for an address, and its two halves there. */
static bool tables_leaf(const struct hs_image *image, const struct tree *tree, hs_addr address,
                        hs_addr *ret_leaf, uint32_t ret_halves[2])
{
    uint64_t at_leaf = address >> ARENA_BITS & ((1U << tree->leaf_bits) - 1);
    uint64_t at_node = address >> (ARENA_BITS + tree->leaf_bits) & ((1U << tree->node_bits) - 1);
    uint64_t halves;

    if (!hs_image_u64(image, tree->middle + at_node * 8, ret_leaf) || *ret_leaf < 4096 ||
        *ret_leaf >= HS_USER_END || *ret_leaf % 8 != 0 ||
        !hs_image_u64(image, *ret_leaf + at_leaf * 8, &halves))
        return false;
    ret_halves[0] = (uint32_t)halves;
    ret_halves[1] = (uint32_t)(halves >> 32);
    return true;
}

/* Tells whether the tree has the arena, and in which one or two leaves. */
static bool tables_have(const struct hs_image *image, const struct tree *tree,
                        const struct cpython_arena *arena, hs_addr ret_leaves[2])
{
    uint32_t tail = arena->begin & ((1U << ARENA_BITS) - 1);
    uint32_t first[2], next[2];

    if (!tables_leaf(image, tree, arena->begin, &ret_leaves[0], first))
        return false;
    ret_leaves[1] = ret_leaves[0];
    if (tail == 0)
        return first[0] == UINT32_MAX;
    return first[0] == tail && tables_leaf(image, tree, arena->end, &ret_leaves[1], next) &&
           next[1] == tail;
}

static hs_status tables_take(const struct hs_image *image, const struct tree *tree,
                             struct cpython_heap *heap, struct hs_error *err)
{
    hs_addr leaves[2];

    HS_TRY(tables_add(heap, tree->middle, err));
    for (size_t i = 0; i < heap->n_arenas; i++)
        if (tables_have(image, tree, &heap->arenas[i], leaves)) {
            HS_TRY(tables_add(heap, leaves[0], err));
            HS_TRY(tables_add(heap, leaves[1], err));
        }
    return HS_OK;
}

/* Is the first arena in it, and the last one? */
static bool tables_are(const struct hs_image *image, const struct tree *tree,
                       const struct cpython_heap *heap)
{
    hs_addr leaves[2];

    return tree->middle % 16 == 0 && tree->middle >= 4096 && tree->middle < HS_USER_END &&
           tables_have(image, tree, &heap->arenas[0], leaves) &&
           tables_have(image, tree, &heap->arenas[heap->n_arenas - 1], leaves);
}

/* The first word of [begin, end) that leads to a tree. */
static bool tables_scan(const struct hs_process_copy *process, hs_addr begin, hs_addr end,
                        const struct cpython_heap *heap, struct tree *ret)
{
    static const struct tree shapes[] = {{.node_bits = 15, .leaf_bits = 14},
                                         {.node_bits = 10, .leaf_bits = 8}};
    hs_addr part, part_end;

    for (; hs_image_next_present(process->image, begin, end, &part, &part_end); begin = part_end) {
        const uint8_t *bytes = hs_image_bytes(process->image, part, part_end - part);
        for (hs_addr at = part; bytes != NULL && at + 8 <= part_end; at += 8)
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                *ret = shapes[i];
                ret->middle = hs_load_u64(bytes + at - part);
                if (tables_are(process->image, ret, heap))
                    return true;
            }
    }
    return false;
}

hs_status hs_cpython_find_tables(const struct hs_process_copy *process,
                                 const struct hs_object *object, struct cpython_heap *heap,
                                 struct hs_error *err)
{
    const struct hs_target *target = process->target;
    struct tree tree;

    if (heap->n_arenas == 0)
        return HS_OK;
    HS_TRY(tables_add(heap, heap->vector, err));
    if (heap->pool_bytes * (uint64_t)CPYTHON_POOLS_IN_ARENA != UINT64_C(1) << ARENA_BITS)
        return HS_OK; /* up to 3.9 the vector alone */
    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (m->writable && !m->shared && m->begin < object->end && object->begin < m->end &&
            tables_scan(process, m->begin, m->end, heap, &tree))
            return tables_take(process->image, &tree, heap, err);
    }
    return HS_OK;
}

static hs_status tables_book(const struct cpython_table_book *book, hs_addr table,
                             struct hs_error *err)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(book->map, table);
    uint64_t n_bytes;

    if (span == NULL || span->owner == HS_OWNER_cpython || span->owner == HS_OWNER_MAPPING ||
        !hs_heap_map_take(book->map, table, &n_bytes))
        return HS_OK;
    return hs_ledger_hand_over(book->ledger, hs_heap_owner_name(span->owner), book->owner, table,
                               table + n_bytes, err);
}

hs_status hs_cpython_book_tables(const struct cpython_heap *heap,
                                 const struct cpython_table_book *book, struct hs_error *err)
{
    for (size_t i = 0; i < heap->n_tables; i++) {
        hs_addr table = heap->tables[i];
        if (!hs_heap_map_is_set(book->map, table))
            table -= HEAD_BYTES;
        HS_TRY(tables_book(book, table, err));
    }
    return HS_OK;
}
