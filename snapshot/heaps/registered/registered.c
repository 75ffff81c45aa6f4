/* Registered pools as an allocator, and the list of registered roots. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "parts.h"

#define REGISTERED_OWNER "registered"
/* Parts of a pool that were never touched are passed over in these steps. */
/* The bytes by which roots may overlap, in all. */
#define REGISTERED_SHARED_BYTES (UINT64_C(1) << 30)
#define REGISTERED_STEP ((uint64_t)2 << 20)

static void registered_close(void *state)
{
    struct hs_registered *registered = state;

    if (registered == NULL)
        return;
    hs_free(registered->roots);
    hs_free(registered->pools);
    hs_free(registered);
}

/* Reads every registry of one object once: each of its source files has a note. */
static hs_status registered_read_object(struct hs_registered *registered,
                                        const struct hs_object *object, bool *found,
                                        struct hs_error *err)
{
    struct hs_registered_notes notes = {.object = object, .type = HS_REGISTERED_NOTE};
    hs_addr registry, before = 0;

    while (hs_registered_next(&notes, &registry)) {
        if (registry == before)
            continue;
        if (before != 0)
            return hs_findings_note(registered->process->findings, true, err,
                                    "'%s' has several registries of memory: only one is read",
                                    object->name);
        before = registry;
        *found = true;
        HS_TRY(hs_registered_read(registered, object, registry, err));
    }
    return HS_OK;
}

static int registered_compare(const void *left, const void *right)
{
    const struct hs_registered_root *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* Registered roots may overlap, but a million of them over the same memory must cost no more than
 * one. When they are large in sum, each is cut to what no root before it by address has. */
static void registered_disjoin_roots(struct hs_registered *registered)
{
    struct hs_registered_root *roots = registered->roots;
    uint64_t n_bytes = 0;
    hs_addr end = 0;
    size_t n = 0;

    for (size_t i = 0; i < registered->n_roots && n_bytes <= REGISTERED_SHARED_BYTES; i++)
        n_bytes += roots[i].end - roots[i].begin; /* less than 2^47 each */
    if (n_bytes <= REGISTERED_SHARED_BYTES)
        return;
    if (registered->n_roots > 1)
        qsort(roots, registered->n_roots, sizeof *roots, registered_compare);
    for (size_t i = 0; i < registered->n_roots; i++) {
        struct hs_registered_root root = roots[i];
        if (root.begin < end)
            root.begin = end;
        if (root.begin >= root.end)
            continue;
        end = root.end;
        roots[n++] = root;
    }
    registered->n_roots = n;
}

static hs_status registered_read_all(struct hs_registered *registered, bool *found,
                                     struct hs_error *err)
{
    const struct hs_objects *objects = registered->process->objects;

    for (size_t i = 0; objects != NULL && i < objects->n; i++)
        HS_TRY(registered_read_object(registered, &objects->objects[i], found, err));
    registered_disjoin_roots(registered);
    if (registered->n_left_out == 0)
        return HS_OK;
    return hs_findings_note(registered->process->findings, true, err,
                            "%llu registered areas are left out, the first is '%s': they must lie "
                            "in private writable memory, blocks have at least 8 bytes",
                            (unsigned long long)registered->n_left_out, registered->first_left_out);
}

static hs_status registered_open(const struct hs_process_copy *process, void **ret_state,
                                 struct hs_error *err)
{
    bool found = false;
    struct hs_registered *registered;
    HS_TRY(HS_ALLOC(&registered, 1, err));
    registered->process = process;
    hs_status status = registered_read_all(registered, &found, err);
    if (status == HS_OK && found)
        *ret_state = registered;
    else
        registered_close(registered);
    return status;
}

/* Records lead to what they register, which does not keep it. */
static hs_status registered_claim_record(struct hs_ledger *ledger, hs_addr entry,
                                         struct hs_error *err)
{
    hs_addr end;

    if (!hs_add_fits(entry, HS_REGISTERED_RECORD_BYTES, &end))
        return HS_OK;
    return hs_ledger_claim(ledger, REGISTERED_OWNER, HS_MEMORY_INTERNAL, entry, end, 0, err);
}

static hs_status registered_add_spans(void *state, struct hs_heap_map *map,
                                      struct hs_ledger *ledger, struct hs_error *err)
{
    const struct hs_registered *registered = state;

    for (size_t i = 0; i < registered->n_pools; i++) {
        const struct hs_registered_pool *pool = &registered->pools[i];
        struct hs_heap_span span = {
            .begin = pool->begin,
            .end = pool->end,
            .unit_bytes = pool->block_bytes,
            .tag = (uint32_t)i,
            .form = pool->block_bytes == 0 ? HS_SPAN_SINGLE : HS_SPAN_UNIFORM,
            .owner = HS_OWNER_registered,
            .states = pool->bits == NULL ? HS_BLOCK_UNSURE : 0,
        };
        HS_TRY(hs_heap_map_add(map, &span, err));
        HS_TRY(hs_ledger_claim(ledger, REGISTERED_OWNER, HS_MEMORY_FREE, pool->begin, pool->end, 0,
                               err));
    }
    for (size_t i = 0; i < registered->n_pools; i++)
        HS_TRY(registered_claim_record(ledger, registered->pools[i].entry, err));
    for (size_t i = 0; i < registered->n_roots; i++)
        HS_TRY(registered_claim_record(ledger, registered->roots[i].entry, err));
    return HS_OK;
}

/* Blocks that are adjacent and alive, to be booked together. */
struct registered_run {
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    uint32_t pool;
    hs_addr begin, end;
};

static hs_status registered_book(struct registered_run *run, struct hs_error *err)
{
    if (run->begin == run->end)
        return HS_OK;
    return hs_ledger_move(run->ledger, REGISTERED_OWNER, HS_MEMORY_FREE, HS_MEMORY_LIVE, run->begin,
                          run->end, 0, err);
}

/* The block at `begin` lives, unless the map has the place for another pool or owner. */
static hs_status registered_set(struct registered_run *run, hs_addr begin, uint64_t n_bytes,
                                struct hs_error *err)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(run->map, begin);

    if (span == NULL || span->owner != HS_OWNER_registered || span->tag != run->pool ||
        !hs_heap_map_set(run->map, begin))
        return HS_OK;
    if (run->end != begin) {
        HS_TRY(registered_book(run, err));
        run->begin = begin;
    }
    run->end = begin + n_bytes;
    return HS_OK;
}

/* Blocks [first, last) of a pool, as its bitmap has them. */
static hs_status registered_mark_bits(struct registered_run *run,
                                      const struct hs_registered_pool *pool, uint64_t n_blocks,
                                      struct hs_error *err)
{
    for (uint64_t byte = 0; byte * 8 < n_blocks; byte++)
        for (unsigned bits = pool->bits[byte]; bits != 0; bits &= bits - 1) {
            uint64_t block = byte * 8 + (unsigned)__builtin_ctz(bits);
            if (block < n_blocks)
                HS_TRY(registered_set(run, pool->begin + block * pool->block_bytes,
                                      pool->block_bytes, err));
        }
    return HS_OK;
}

/* Without a bitmap: every block of which something has been touched. */
static hs_status registered_mark_touched(struct registered_run *run,
                                         const struct hs_registered_pool *pool, uint64_t n_blocks,
                                         struct hs_error *err)
{
    const struct hs_image *image = run->map->image;

    for (uint64_t block = 0; block < n_blocks;) {
        hs_addr begin = pool->begin + block * pool->block_bytes;
        hs_addr end = begin + pool->block_bytes;
        uint64_t n_in_step = REGISTERED_STEP / pool->block_bytes;
        if (n_in_step > 1 && n_in_step <= n_blocks - block &&
            hs_image_resident_bytes(image, begin, begin + n_in_step * pool->block_bytes) == 0) {
            block += n_in_step;
            continue;
        }
        uint64_t stop = n_in_step <= 1 ? block + 1 : block + n_in_step;
        for (; block < stop && block < n_blocks; block++, begin = end, end += pool->block_bytes)
            if (hs_image_resident_bytes(image, begin, end) != 0)
                HS_TRY(registered_set(run, begin, pool->block_bytes, err));
    }
    return HS_OK;
}

static hs_status registered_mark_pool(const struct hs_registered_pool *pool,
                                      struct registered_run *run, struct hs_error *err)
{
    uint64_t n_bytes = pool->end - pool->begin;

    if (pool->block_bytes == 0) {
        if (pool->bits == NULL || (pool->bits[0] & 1) != 0)
            HS_TRY(registered_set(run, pool->begin, n_bytes, err));
    } else if (pool->bits != NULL) {
        HS_TRY(registered_mark_bits(run, pool, n_bytes / pool->block_bytes, err));
    } else {
        HS_TRY(registered_mark_touched(run, pool, n_bytes / pool->block_bytes, err));
    }
    return registered_book(run, err);
}

static hs_status registered_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                 struct hs_error *err)
{
    const struct hs_registered *registered = state;

    for (size_t i = 0; i < registered->n_pools; i++) {
        const struct hs_registered_pool *pool = &registered->pools[i];
        struct registered_run run = {.map = map, .ledger = ledger, .pool = (uint32_t)i};
        HS_TRY(registered_mark_pool(pool, &run, err));
        if (pool->live_bits != 0 && pool->bits == NULL)
            HS_TRY(hs_findings_note(
                registered->process->findings, true, err,
                "the bitmap of the registered pool '%s' is not in private "
                "writable memory: which of its blocks are in use is unknown",
                hs_strtab_get(registered->process->findings->strings, pool->name)));
    }
    return HS_OK;
}

static const char *registered_version(const void *state)
{
    (void)state;
    return "1";
}

static const struct hs_registered_root *registered_roots(const void *state, size_t *ret_n)
{
    const struct hs_registered *registered = state;

    *ret_n = registered->n_roots;
    return registered->roots;
}

static hs_str registered_pool_name(const void *state, uint32_t tag)
{
    const struct hs_registered *registered = state;
    return tag < registered->n_pools ? registered->pools[tag].name : 0;
}

const struct hs_allocator hs_allocator_registered = {
    .name = REGISTERED_OWNER,
    .open = registered_open,
    .add_spans = registered_add_spans,
    .mark = registered_mark,
    .close = registered_close,
    .version = registered_version,
    .roots = registered_roots,
    .pool_name = registered_pool_name,
};
