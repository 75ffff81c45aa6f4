/* CPython's small objects. Larger ones (> 512 bytes) lie in the C library's heap, and the arenas
 * that hold the pools are plain mappings. */
#include <stdio.h>

#include "base/alloc.h"
#include "pools.h"
#include "region_bits.h"
#include "symbols/elf.h"

static const char owner_name[] = "cpython";

struct cpython {
    const struct hs_process_copy *process; /* borrowed */
    struct cpython_types *types;           /* owned */
    struct cpython_heap heap;
    char version[16];
    uint64_t n_pools, n_agreeing, n_damaged, n_refused;
    uint64_t n_free_blocks; /* handed out before, free now */
};

struct cpython_types *hs_cpython_state_types(const void *state)
{
    const struct cpython *cpython = state;
    return cpython == NULL ? NULL : cpython->types;
}

/* Takes what a pool is; called for each in ascending order of arenas, then for loose ones. */
typedef hs_status cpython_visit(struct cpython *cpython, hs_addr address,
                                const struct cpython_pool *pool, struct hs_heap_map *map,
                                struct hs_ledger *ledger, struct hs_error *err);

static hs_status cpython_each(struct cpython *cpython, cpython_visit *visit,
                              struct hs_heap_map *map, struct hs_ledger *ledger,
                              struct hs_error *err)
{
    const struct cpython_heap *heap = &cpython->heap;
    const struct hs_image *image = cpython->process->image;
    const hs_addr step = heap->pool_bytes;
    struct cpython_pool pool;

    for (size_t i = 0; i < heap->n_arenas; i++) {
        hs_addr at = (heap->arenas[i].begin + step - 1) & ~(step - 1);
        if (hs_image_resident_bytes(image, heap->arenas[i].begin, heap->arenas[i].end) == 0)
            continue; /* the word of its entry alone: nothing is in there */
        for (; at < heap->arenas[i].pools_end && at + step <= heap->arenas[i].end; at += step) {
            hs_cpython_read_pool(image, at, heap->pool_bytes, &pool);
            HS_TRY(visit(cpython, at, &pool, map, ledger, err));
        }
    }
    for (size_t i = 0; i < heap->n_loose; i++) {
        hs_cpython_read_pool(image, heap->loose[i], heap->pool_bytes, &pool);
        HS_TRY(visit(cpython, heap->loose[i], &pool, map, ledger, err));
    }
    return HS_OK;
}

static struct hs_heap_span cpython_span(hs_addr address, const struct cpython_pool *pool)
{
    hs_addr begin = address + CPYTHON_HEADER_BYTES;

    return (struct hs_heap_span){.begin = begin,
                                 .end = begin + (uint64_t)pool->n_carved * pool->block_bytes,
                                 .unit_bytes = pool->block_bytes,
                                 .tag = pool->block_bytes / 16 - 1,
                                 .form = HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_cpython,
                                 .states = pool->form == CPYTHON_POOL_TORN ? HS_BLOCK_UNSURE : 0};
}

static hs_status cpython_add_pool(struct cpython *cpython, hs_addr address,
                                  const struct cpython_pool *pool, struct hs_heap_map *map,
                                  struct hs_ledger *ledger, struct hs_error *err)
{
    (void)cpython;
    (void)ledger;
    struct hs_heap_span span;

    if (pool->form == CPYTHON_NO_POOL || pool->form == CPYTHON_POOL_EMPTY)
        return HS_OK;
    span = cpython_span(address, pool);
    return hs_heap_map_add(map, &span, err);
}

static hs_status cpython_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                   struct hs_error *err)
{
    struct cpython *cpython = state;
    struct cpython_heap *heap = &cpython->heap;

    hs_ledger_seal(ledger); /* what others have claimed so far */
    HS_TRY(hs_cpython_find_loose(cpython->process, ledger, heap, err));
    for (size_t i = 0; i < heap->n_arenas; i++)
        HS_TRY(hs_ledger_claim(ledger, owner_name, HS_MEMORY_FREE, heap->arenas[i].begin,
                               heap->arenas[i].end, 0, err));
    for (size_t i = 0; i < heap->n_loose; i++)
        HS_TRY(hs_ledger_claim(ledger, owner_name, HS_MEMORY_FREE, heap->loose[i],
                               heap->loose[i] + heap->pool_bytes, 0, err));
    return cpython_each(cpython, cpython_add_pool, map, ledger, err);
}

/* Live blocks, header and the rest that no block fits into. */
static hs_status cpython_book_pool(const struct cpython *cpython, hs_addr address,
                                   const struct cpython_pool *pool, struct hs_ledger *ledger,
                                   struct hs_error *err)
{
    hs_addr begin = address + CPYTHON_HEADER_BYTES, end = address + cpython->heap.pool_bytes;
    hs_addr rest = end - (end - begin) % pool->block_bytes;

    HS_TRY(hs_ledger_move(ledger, owner_name, HS_MEMORY_FREE, HS_MEMORY_INTERNAL, address, begin, 0,
                          err));
    if (rest < end)
        HS_TRY(hs_ledger_move(ledger, owner_name, HS_MEMORY_FREE, HS_MEMORY_INTERNAL, rest, end, 0,
                              err));
    return hs_region_bits_move(ledger,
                               &(struct hs_region_move){owner_name, HS_MEMORY_FREE, HS_MEMORY_LIVE,
                                                        begin, pool->block_bytes},
                               pool->live, pool->n_carved, err);
}

static hs_status cpython_mark_pool(struct cpython *cpython, hs_addr address,
                                   const struct cpython_pool *pool, struct hs_heap_map *map,
                                   struct hs_ledger *ledger, struct hs_error *err)
{
    if (pool->form == CPYTHON_NO_POOL) {
        cpython->n_damaged++;
        return hs_ledger_move(ledger, owner_name, HS_MEMORY_FREE, HS_MEMORY_DAMAGED, address,
                              address + cpython->heap.pool_bytes, 0, err);
    }
    cpython->n_free_blocks += pool->n_carved - pool->n_live;
    if (pool->form == CPYTHON_POOL_EMPTY)
        return HS_OK;
    cpython->n_pools++;
    cpython->n_agreeing += pool->form == CPYTHON_POOL_USED;
    struct hs_heap_span expected = cpython_span(address, pool);
    const struct hs_heap_span *span = hs_heap_map_span_at(map, expected.begin);
    if (span == NULL || span->begin != expected.begin || span->end != expected.end ||
        span->owner != HS_OWNER_cpython || span->unit_bytes != expected.unit_bytes) {
        cpython->n_refused++;
        return HS_OK;
    }
    hs_region_bits_set(&map->starts, span->first_bit, pool->live, pool->n_carved);
    return cpython_book_pool(cpython, address, pool, ledger, err);
}

static hs_status cpython_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                              struct hs_error *err)
{
    struct cpython *cpython = state;
    struct hs_findings *findings = cpython->process->findings;

    cpython->n_pools = cpython->n_agreeing = cpython->n_damaged = cpython->n_refused = 0;
    cpython->n_free_blocks = 0;
    HS_TRY(cpython_each(cpython, cpython_mark_pool, map, ledger, err));
    HS_TRY(hs_cpython_book_tables(&cpython->heap,
                                  &(struct cpython_table_book){map, ledger, owner_name}, err));
    HS_TRY(hs_ledger_set_blocks(ledger, owner_name, HS_MEMORY_FREE, cpython->n_free_blocks, err));
    findings->n_torn += cpython->n_pools - cpython->n_agreeing;
    HS_TRY(hs_findings_proof(findings, "cpython: pools whose free list is as long as they say",
                             cpython->n_pools, cpython->n_agreeing, err));
    if (cpython->n_damaged != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "cpython: %llu pools have no sound header and were left out",
                                (unsigned long long)cpython->n_damaged));
    if (cpython->n_pools == 0)
        HS_TRY(hs_findings_note(findings, false, err,
                                "cpython: no pools of small objects were found; objects lie in "
                                "malloc's heap, or this layout is not supported"));
    if (cpython->n_refused != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "cpython: %llu pools lie where another allocator's blocks do and "
                                "were left out",
                                (unsigned long long)cpython->n_refused));
    return HS_OK;
}

/* The version from the constant Py_Version (3.11 and later), else from the file's name. */
static void cpython_read_version(struct cpython *cpython, const struct hs_object *object)
{
    struct hs_live_symbol symbol;
    const uint8_t *bytes = NULL;
    uint32_t hex;

    if (hs_object_find(object, "Py_Version", &symbol))
        bytes = hs_elf_bytes_at(object->elf, symbol.address - object->bias, sizeof hex);
    if (bytes != NULL) {
        memcpy(&hex, bytes, sizeof hex);
        snprintf(cpython->version, sizeof cpython->version, "%u.%u", hex >> 24, hex >> 16 & 255);
        return;
    }
    const char *at = object->name == NULL ? NULL : strstr(object->name, "python");
    if (at == NULL)
        return;
    at += strlen("python");
    size_t n = strspn(at, "0123456789");
    if (at[n] == '.' && strspn(at + n + 1, "0123456789") != 0)
        n += 1 + strspn(at + n + 1, "0123456789");
    if (n < sizeof cpython->version) {
        memcpy(cpython->version, at, n);
        cpython->version[n] = '\0';
    }
}

/* Up to 3.7 the collector's part of an object was longer. */
static bool cpython_is_old(const char *version)
{
    return strncmp(version, "3.", 2) == 0 && version[2] >= '0' && version[2] <= '7' &&
           version[3] == '\0';
}

static void cpython_close(void *state)
{
    struct cpython *cpython = state;

    if (cpython == NULL)
        return;
    hs_cpython_types_free(cpython->types);
    hs_cpython_heap_fini(&cpython->heap);
    hs_free(cpython);
}

static hs_status cpython_open(const struct hs_process_copy *process, void **ret_state,
                              struct hs_error *err)
{
    const struct hs_object *object = hs_cpython_object(process->objects);
    struct cpython *cpython;

    if (object == NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&cpython, 1, err));
    cpython->process = process;
    cpython_read_version(cpython, object);
    hs_status status =
        hs_cpython_types_new(process, cpython_is_old(cpython->version), &cpython->types, err);
    if (status == HS_OK)
        status = hs_cpython_find_arenas(process, &cpython->heap, err);
    if (status != HS_OK)
        cpython_close(cpython);
    else
        *ret_state = cpython;
    return status;
}

static const char *cpython_version(const void *state)
{
    const struct cpython *cpython = state;
    return cpython == NULL ? "" : cpython->version;
}

const struct hs_allocator hs_allocator_cpython = {
    .name = owner_name,
    .open = cpython_open,
    .add_spans = cpython_add_spans,
    .mark = cpython_mark,
    .close = cpython_close,
    .version = cpython_version,
    .known_as = "CPython",
    .library = "libpython",
    .symbols = {"Py_Initialize", "Py_InitializeEx"},
    .objects = &hs_cpython_objects,
};
