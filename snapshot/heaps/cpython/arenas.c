/* Finds the pools of CPython's small objects.
 *
 * The interpreter's data points to a vector of arena objects; which word of it does is told by the
 * vector: its entries name arenas whose pools carry the number of the entry and prove themselves.
 * So neither symbols nor the version are needed. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/load.h"
#include "pools.h"

enum {
    ARENA_OBJECT_BYTES = 48, /* address, pool_address, nfreepools, ntotalpools, 3 pointers */
    ARENAS_MAX = 1 << 20,    /* 1 TiB of small objects */
};
/* Vector entries, pools and runs of 8 blocks looked at in all. */
#define ARENAS_BUDGET (UINT64_C(1) << 24)

void hs_cpython_heap_fini(struct cpython_heap *heap)
{
    hs_free(heap->arenas);
    hs_free(heap->loose);
    hs_free(heap->tables);
    memset(heap, 0, sizeof *heap);
}

const struct hs_object *hs_cpython_object(const struct hs_objects *objects)
{
    static const char *const names[] = {"_PyRuntime", "PyType_Type", "Py_Initialize"};
    struct hs_live_symbol symbol;

    for (size_t i = 0; objects != NULL && i < objects->n; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (hs_object_find(&objects->objects[i], names[k], &symbol))
                return &objects->objects[i];
    return NULL;
}

/* Reads an entry. False when it cannot be one; an unused one gives begin 0. */
static bool arenas_entry(const uint8_t *entry, uint32_t pool_bytes, struct cpython_arena *ret)
{
    uint64_t arena_bytes = (uint64_t)pool_bytes * CPYTHON_POOLS_IN_ARENA;
    hs_addr begin = hs_load_u64(entry), pools_end = hs_load_u64(entry + 8);
    uint32_t n_free = hs_load_u32(entry + 16), n_total = hs_load_u32(entry + 20);

    if (begin == 0) {
        ret->begin = 0;
        return true;
    }
    uint32_t n_expected = CPYTHON_POOLS_IN_ARENA - (begin % pool_bytes != 0);
    if (begin % 4096 != 0 || begin >= HS_USER_END - arena_bytes || pools_end < begin ||
        pools_end > begin + arena_bytes || pools_end % pool_bytes != 0 || n_total != n_expected ||
        n_free > n_total)
        return false;
    *ret = (struct cpython_arena){begin, begin + arena_bytes, pools_end};
    return true;
}

/* Does a pool of the arena say that it belongs to entry number `index`? */
static bool arenas_is_proven(const struct hs_image *image, const struct cpython_arena *arena,
                             uint32_t pool_bytes, uint32_t index, uint64_t *budget)
{
    struct cpython_pool pool;

    for (hs_addr at = (arena->begin + pool_bytes - 1) & ~(hs_addr)(pool_bytes - 1);
         at < arena->pools_end; at += pool_bytes) {
        hs_cpython_read_pool(image, at, pool_bytes, &pool);
        if (pool.form == CPYTHON_POOL_USED)
            return pool.arena_index == index;
        uint64_t cost = 1 + (pool.form == CPYTHON_NO_POOL ? 0 : pool.n_carved / 8);
        if (*budget <= cost)
            return false;
        *budget -= cost;
    }
    return false;
}

static hs_status arenas_add(struct cpython_heap *heap, const struct cpython_arena *arena,
                            struct hs_error *err)
{
    HS_TRY(HS_GROW(&heap->arenas, &heap->arenas_capacity, heap->n_arenas + 1, err));
    heap->arenas[heap->n_arenas++] = *arena;
    return HS_OK;
}

/* Takes the arenas of the vector at `vector` when one of them proves it. */
static hs_status arenas_try(const struct hs_process_copy *process, hs_addr vector,
                            uint32_t pool_bytes, uint64_t *budget, struct cpython_heap *heap,
                            struct hs_error *err)
{
    const struct hs_image_range *range = hs_image_find(process->image, vector, NULL);
    struct cpython_arena arena;
    size_t n_before = heap->n_arenas;
    bool is_proven = false;

    if (range == NULL)
        return HS_OK;
    uint64_t n = (range->end - vector) / ARENA_OBJECT_BYTES;
    for (uint32_t i = 0; i < n && i < ARENAS_MAX && *budget != 0; i++, --*budget) {
        const uint8_t *entry = range->bytes + (vector - range->begin) + i * ARENA_OBJECT_BYTES;
        if (!arenas_entry(entry, pool_bytes, &arena))
            break;
        if (arena.begin == 0 || hs_image_find(process->image, arena.begin, NULL) == NULL)
            continue;
        /* an arena without a used pool is believed when another one of the vector has one */
        if (is_proven || arenas_is_proven(process->image, &arena, pool_bytes, i, budget))
            is_proven = true;
        else if (!is_proven && heap->n_arenas - n_before > 16)
            break;
        HS_TRY(arenas_add(heap, &arena, err));
    }
    if (!is_proven)
        heap->n_arenas = n_before;
    return HS_OK;
}

/* Is this word a pointer to something that begins like a vector? */
static bool arenas_may_be(const struct hs_process_copy *process, hs_addr vector,
                          uint32_t pool_bytes)
{
    const uint8_t *entry = vector % 8 != 0 || vector < 4096 || vector >= HS_USER_END
                               ? NULL
                               : hs_image_bytes(process->image, vector, ARENA_OBJECT_BYTES);
    struct cpython_arena arena;

    return entry != NULL && arenas_entry(entry, pool_bytes, &arena);
}

static hs_status arenas_scan_part(const struct hs_process_copy *process, hs_addr begin, hs_addr end,
                                  uint64_t *budget, struct cpython_heap *heap, struct hs_error *err)
{
    const uint8_t *bytes = hs_image_bytes(process->image, begin, end - begin);
    hs_addr last = 0;

    if (bytes == NULL)
        return HS_OK;
    for (hs_addr at = begin; at + 8 <= end && *budget > 0; at += 8) {
        hs_addr vector = hs_load_u64(bytes + at - begin);
        size_t n_before = heap->n_arenas;
        if (vector == last || !arenas_may_be(process, vector, heap->pool_bytes))
            continue;
        last = vector;
        HS_TRY(arenas_try(process, vector, heap->pool_bytes, budget, heap, err));
        if (heap->n_arenas != n_before) {
            heap->vector = vector;
            return HS_OK;
        }
    }
    return HS_OK;
}

static hs_status arenas_scan(const struct hs_process_copy *process, hs_addr begin, hs_addr end,
                             uint64_t *budget, struct cpython_heap *heap, struct hs_error *err)
{
    size_t n_before = heap->n_arenas;
    hs_addr part, part_end;

    for (; heap->n_arenas == n_before &&
           hs_image_next_present(process->image, begin, end, &part, &part_end);
         begin = part_end)
        HS_TRY(arenas_scan_part(process, part, part_end, budget, heap, err));
    return HS_OK;
}

static int arenas_compare(const void *a, const void *b)
{
    hs_addr x = ((const struct cpython_arena *)a)->begin;
    hs_addr y = ((const struct cpython_arena *)b)->begin;
    return (x > y) - (x < y);
}

static void arenas_disjoin(struct cpython_heap *heap)
{
    size_t n = 0;

    if (heap->n_arenas > 1)
        qsort(heap->arenas, heap->n_arenas, sizeof *heap->arenas, arenas_compare);
    for (size_t i = 0; i < heap->n_arenas; i++)
        if (n == 0 || heap->arenas[i].begin >= heap->arenas[n - 1].end)
            heap->arenas[n++] = heap->arenas[i];
    heap->n_arenas = n;
}

hs_status hs_cpython_find_arenas(const struct hs_process_copy *process, struct cpython_heap *heap,
                                 struct hs_error *err)
{
    static const uint32_t pool_sizes[] = {1 << 14, 1 << 12};
    const struct hs_object *object = hs_cpython_object(process->objects);
    const struct hs_target *target = process->target;

    if (object == NULL)
        return HS_OK;
    for (size_t k = 0; k < 2 && heap->n_arenas == 0; k++) {
        uint64_t budget = ARENAS_BUDGET;
        heap->pool_bytes = pool_sizes[k];
        for (size_t i = 0; i < target->n_mappings; i++) {
            const struct hs_mapping *m = &target->mappings[i];
            if (m->writable && !m->shared && m->begin < object->end && object->begin < m->end)
                HS_TRY(arenas_scan(process, m->begin, m->end, &budget, heap, err));
        }
    }
    if (heap->n_arenas == 0)
        heap->pool_bytes = pool_sizes[0];
    arenas_disjoin(heap);
    return hs_cpython_find_tables(process, object, heap, err);
}

/* ---- pools outside ---- */

/* Arenas in memory that others claim stay theirs. */
static void loose_drop_arenas(const struct hs_ledger *ledger, struct cpython_heap *heap)
{
    size_t n = 0;

    for (size_t i = 0; i < heap->n_arenas; i++) {
        const struct cpython_arena *arena = &heap->arenas[i];
        hs_addr begin, end;
        if (hs_ledger_next_unclaimed(ledger, arena->begin, arena->end, &begin, &end) &&
            begin == arena->begin && end == arena->end)
            heap->arenas[n++] = *arena;
    }
    heap->n_arenas = n;
}

static hs_status loose_add(struct cpython_heap *heap, hs_addr pool, struct hs_error *err)
{
    HS_TRY(HS_GROW(&heap->loose, &heap->loose_capacity, heap->n_loose + 1, err));
    heap->loose[heap->n_loose++] = pool;
    return HS_OK;
}

/* Pools in [begin, end), which nobody claims; `*arena` is the first arena that may lie there. */
static hs_status loose_scan(const struct hs_process_copy *process, hs_addr begin, hs_addr end,
                            struct cpython_heap *heap, size_t *arena, struct hs_error *err)
{
    const hs_addr step = heap->pool_bytes;
    struct cpython_pool pool;

    begin = (begin + step - 1) & ~(step - 1);
    while (begin < end && step <= end - begin) {
        hs_addr part, part_end;
        if (!hs_image_next_present(process->image, begin, end, &part, &part_end))
            break;
        if (part - begin >= step) { /* nothing was ever touched up to there */
            begin = part & ~(step - 1);
            continue;
        }
        while (*arena < heap->n_arenas && heap->arenas[*arena].end <= begin)
            ++*arena;
        if (*arena < heap->n_arenas && heap->arenas[*arena].begin < begin + step) {
            begin = (heap->arenas[*arena].end + step - 1) & ~(step - 1);
            continue;
        }
        hs_cpython_read_pool(process->image, begin, heap->pool_bytes, &pool);
        if (pool.form == CPYTHON_POOL_USED)
            HS_TRY(loose_add(heap, begin, err));
        begin += step;
    }
    return HS_OK;
}

hs_status hs_cpython_find_loose(const struct hs_process_copy *process,
                                const struct hs_ledger *ledger, struct cpython_heap *heap,
                                struct hs_error *err)
{
    const struct hs_target *target = process->target;
    size_t arena = 0;

    loose_drop_arenas(ledger, heap);
    heap->n_loose = 0;
    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        hs_addr at = m->begin, begin, end;
        if (m->inode != 0 || m->shared || !m->writable || m->end > HS_USER_END)
            continue;
        for (; hs_ledger_next_unclaimed(ledger, at, m->end, &begin, &end); at = end)
            HS_TRY(loose_scan(process, begin, end, heap, &arena, err));
    }
    return HS_OK;
}
