/* Thread caches: blocks that are freed and yet allocated as the slabs' bitmaps go.
 *
 * 5.3: a tcache is {tcache_slow *, bins of 24 bytes}, in the thread's own storage; its tcache_slow
 * points back to the cache, and, unless jemalloc was built without statistics (as tikv-jemalloc-sys
 * of Rust does), to the bins, and lies in a ring with those of all other caches of the arena,
 * explicit ones included. 5.2: one structure with two runs of bins, its descriptor points back to
 * both. So a cache is recognised by two pointers that name each other. Every thread keeps its cache
 * at the same distance below the thread pointer: the distance is chosen by vote, as a thread may
 * have been stopped while it filled or flushed a bin. Source: jemalloc tcache_structs.h,
 * cache_bin.h. Limit: the storage of a jemalloc that was loaded by dlopen is not below the thread
 * pointer; its caches are found when one thread's is in the ring of another. */
#include <stdlib.h>

#include "base/alloc.h"
#include "symbols/elf.h"
#include "tree.h"

enum {
    CACHES_TLS_BYTES = 0x4000, /* below the thread pointer, and what the objects ask for; seen
                                  0x6e8 and 0x1648 */
    CACHES_MAX_TLS_BYTES = 1 << 20,
    CACHES_MAX_VOTERS = 64, /* threads; all of them have the same distance */
    CACHES_BIN_BYTES = 24,
    CACHES_MAX_BINS = 128,
    CACHES_MAX_OFFSETS = 64,
    CACHES_MAX_RING = 1 << 16, /* explicit caches are numbered with 12 bits; threads are not */
    CACHES_MAX_BIN_BLOCKS = 1 << 13,
    CACHES_MAX_LOOKS = 1 << 25, /* at bins, and at what they hold in vain: caches may overlap */
    CACHES_53_DESCRIPTOR = 32,  /* of the pointer to the bins in tcache_slow_t */
    CACHES_53_ARENA = 40,       /* of what follows in it */
    CACHES_53_BACK = 320,       /* before that is the pointer to the tcache_t; seen at 168 */
};

struct caches {
    const struct hs_image *image;
    const struct jemalloc_tree *tree;
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    struct jemalloc_cached *found;
    hs_addr *bins; /* owned: address of the first bin of every cache */
    size_t n, capacity;
};

/* Return the offsets, from its small bins, of parts of 5.2's tcache_t. Behind the small bins are:
 * link, a link of the thread's data and a flag, a descriptor {link, small bins, large bins}, arena,
 * the next bin to collect, a byte per small bin, large bins. */
static uint64_t caches_52_link(const struct caches *caches)
{
    return CACHES_BIN_BYTES * (uint64_t)jemalloc_n_small(caches->tree);
}

static uint64_t caches_52_descriptor(const struct caches *caches)
{
    return caches_52_link(caches) + 16 + 16 + 8 + 16;
}

static uint64_t caches_52_large(const struct caches *caches)
{
    uint64_t end = caches_52_descriptor(caches) + 16 + 8 + 4 + jemalloc_n_small(caches->tree);
    return (end + 7) & ~UINT64_C(7);
}

static uint64_t caches_word(const struct caches *caches, hs_addr address)
{
    uint64_t word = 0;
    hs_image_u64(caches->image, address, &word);
    return word;
}

/* Does a tcache_slow_t name the tcache_t whose bins these are? */
static bool caches_is_named_back(const struct caches *caches, hs_addr slow, hs_addr bins)
{
    const uint8_t *bytes = hs_image_bytes(caches->image, slow, CACHES_53_BACK);

    for (unsigned at = CACHES_53_ARENA; bytes != NULL && at < CACHES_53_BACK; at += 8)
        if (hs_load_u64(bytes + at) == bins - 8)
            return true;
    return false;
}

/* Do the pointers around `bins` name it? */
static bool caches_is_linked(const struct caches *caches, hs_addr bins)
{
    if (caches->tree->is_52)
        return caches_word(caches, bins + caches_52_descriptor(caches)) == bins &&
               caches_word(caches, bins + caches_52_descriptor(caches) + 8) ==
                   bins + caches_52_large(caches);
    hs_addr slow = caches_word(caches, bins - 8);
    return slow % 8 == 0 && slow >= JEMALLOC_PAGE && slow < HS_USER_END &&
           (caches_word(caches, slow + CACHES_53_DESCRIPTOR) == bins ||
            caches_is_named_back(caches, slow, bins));
}

/* The next cache of the ring, 0 when the pointer leads nowhere. */
static hs_addr caches_next(const struct caches *caches, hs_addr bins)
{
    hs_addr next;

    if (caches->tree->is_52) {
        next = caches_word(caches, bins + caches_52_link(caches));
        next = next == 0 || next >= HS_USER_END ? 0 : next + 16;
    } else {
        next = caches_word(caches, caches_word(caches, bins - 8));
        next =
            next == 0 || next >= HS_USER_END ? 0 : caches_word(caches, next + CACHES_53_DESCRIPTOR);
    }
    return next % 8 == 0 && next >= JEMALLOC_PAGE && next < HS_USER_END ? next : 0;
}

static hs_status caches_add(struct caches *caches, hs_addr bins, struct hs_error *err)
{
    HS_TRY(HS_GROW(&caches->bins, &caches->capacity, caches->n + 1, err));
    caches->bins[caches->n++] = bins;
    return HS_OK;
}

/* One bin: its blocks are the words of [stack, stack + 8 * n). */
struct caches_bin {
    hs_addr stack;
    uint64_t n;
    hs_addr inside; /* an address in the bin's stack, full or not */
};

static bool caches_bin_at(const struct caches *caches, hs_addr bin, struct caches_bin *ret)
{
    const uint8_t *bytes = hs_image_bytes(caches->image, bin, CACHES_BIN_BYTES);

    if (bytes == NULL)
        return false;
    if (caches->tree->is_52) {
        uint64_t n = hs_load_u64(bytes) >> 32, above = hs_load_u64(bytes + 16);
        if (above % 8 != 0 || above == 0 || above >= HS_USER_END || n > CACHES_MAX_BIN_BLOCKS ||
            above < n * 8 + 8)
            return false;
        *ret = (struct caches_bin){above - n * 8, n, above - 8};
        return true;
    }
    hs_addr head = hs_load_u64(bytes);
    uint64_t marks = hs_load_u64(bytes + 16);
    uint16_t full = (uint16_t)(marks >> 16), empty = (uint16_t)(marks >> 32);
    uint16_t used = (uint16_t)(empty - (uint16_t)head), room = (uint16_t)(empty - full);
    if (head % 8 != 0 || head == 0 || head >= HS_USER_END || used > room || used % 8 != 0 ||
        room % 8 != 0)
        return false;
    *ret = (struct caches_bin){head, used / 8, head + used - room};
    return true;
}

static hs_addr caches_bin_address(const struct caches *caches, hs_addr bins, unsigned szind)
{
    unsigned n_small = jemalloc_n_small(caches->tree);

    if (caches->tree->is_52 && szind >= n_small)
        return bins + caches_52_large(caches) + CACHES_BIN_BYTES * (uint64_t)(szind - n_small);
    return bins + CACHES_BIN_BYTES * szind;
}

/* Consecutive bins that look like bins; fewer than all small ones: no cache. */
static unsigned caches_n_bins(const struct caches *caches, hs_addr bins)
{
    struct caches_bin bin;
    unsigned n = 0;

    while (n < CACHES_MAX_BINS && caches->found->n_looks++ < CACHES_MAX_LOOKS &&
           caches_bin_at(caches, caches_bin_address(caches, bins, n), &bin))
        n++;
    return n;
}

/* A distance below the thread pointer, and how many threads have a cache there. */
struct caches_offset {
    uint64_t offset, n_votes;
};

/* Returns how far below the thread pointer the storage of the objects may reach. */
static uint64_t caches_tls_bytes(const struct hs_objects *objects)
{
    uint64_t n_bytes = CACHES_TLS_BYTES;

    for (size_t i = 0; objects != NULL && i < objects->n; i++) {
        struct hs_elf_tls tls;
        if (objects->objects[i].elf == NULL || !hs_elf_tls(objects->objects[i].elf, &tls))
            continue;
        if (tls.n_memory_bytes > CACHES_MAX_TLS_BYTES || tls.align > CACHES_MAX_TLS_BYTES)
            return CACHES_MAX_TLS_BYTES;
        n_bytes += tls.n_memory_bytes + tls.align;
        if (n_bytes > CACHES_MAX_TLS_BYTES)
            return CACHES_MAX_TLS_BYTES;
    }
    return n_bytes & ~UINT64_C(7);
}

/* Lets a thread vote for every place that looks like a cache. */
static void caches_vote(const struct caches *caches, hs_addr thread_pointer, uint64_t n_tls_bytes,
                        struct caches_offset *offsets, size_t *n_offsets)
{
    if (thread_pointer % 8 != 0 || thread_pointer < n_tls_bytes + JEMALLOC_PAGE ||
        thread_pointer >= HS_USER_END)
        return;
    for (uint64_t offset = 16; offset < n_tls_bytes; offset += 8) {
        hs_addr bins = thread_pointer - offset;
        size_t i = 0;
        if (!caches_is_linked(caches, bins) ||
            caches_n_bins(caches, bins) < jemalloc_n_small(caches->tree))
            continue;
        while (i < *n_offsets && offsets[i].offset != offset)
            i++;
        if (i == CACHES_MAX_OFFSETS)
            return;
        if (i == *n_offsets)
            offsets[(*n_offsets)++] = (struct caches_offset){offset, 0};
        offsets[i].n_votes++;
    }
}

static int caches_compare(const void *a, const void *b)
{
    hs_addr x = *(const hs_addr *)a, y = *(const hs_addr *)b;
    return (x > y) - (x < y);
}

/* The caches in a ring with those of threads, explicit ones. Every ring is walked once: from each
 * thread's cache to the next one of a thread. */
static hs_status caches_follow(struct caches *caches, struct hs_error *err)
{
    size_t n_own = caches->n;
    uint64_t budget = CACHES_MAX_RING + n_own;

    if (n_own == 0)
        return HS_OK;
    qsort(caches->bins, n_own, sizeof *caches->bins, caches_compare);
    for (size_t i = 0; i < n_own; i++) {
        hs_addr at = caches_next(caches, caches->bins[i]);
        while (at != 0 && budget != 0 && caches_is_linked(caches, at) &&
               bsearch(&at, caches->bins, n_own, sizeof at, caches_compare) == NULL) {
            HS_TRY(caches_add(caches, at, err));
            at = caches_next(caches, at);
            budget--;
        }
    }
    return HS_OK;
}

/* The caches of all threads, and those in a ring with them. */
static hs_status caches_gather(struct caches *caches, const struct hs_process_copy *process,
                               struct hs_error *err)
{
    const struct hs_target *target = process->target;
    uint64_t n_tls_bytes = caches_tls_bytes(process->objects);
    struct caches_offset offsets[CACHES_MAX_OFFSETS];
    size_t n_offsets = 0, best = 0;

    for (size_t i = 0; i < target->n_threads && i < CACHES_MAX_VOTERS; i++)
        caches_vote(caches, hs_regs_thread_pointer(&target->threads[i].regs), n_tls_bytes, offsets,
                    &n_offsets);
    for (size_t i = 1; i < n_offsets; i++)
        if (offsets[i].n_votes > offsets[best].n_votes)
            best = i;
    if (n_offsets == 0)
        return HS_OK;
    for (size_t i = 0; i < target->n_threads; i++) {
        hs_addr bins = hs_regs_thread_pointer(&target->threads[i].regs) - offsets[best].offset;
        if (caches_is_linked(caches, bins))
            HS_TRY(caches_add(caches, bins, err));
    }
    return caches_follow(caches, err);
}

static void caches_unique(struct caches *caches)
{
    size_t n = 0;

    if (caches->n > 1)
        qsort(caches->bins, caches->n, sizeof *caches->bins, caches_compare);
    for (size_t i = 0; i < caches->n; i++)
        if (n == 0 || caches->bins[n - 1] != caches->bins[i])
            caches->bins[n++] = caches->bins[i];
    caches->n = n;
}

/* The region or large block that `address` lies in, in use or not. */
struct caches_place {
    hs_addr begin;
    uint64_t n_bytes;
    uint32_t szind;
    bool is_set;
};

static bool caches_find(const struct caches *caches, hs_addr address, struct caches_place *ret)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(caches->map, address);

    if (span == NULL || span->owner != HS_OWNER_jemalloc || address < span->begin)
        return false;
    ret->begin = address - (address - span->begin) % span->unit_bytes;
    ret->n_bytes = span->unit_bytes;
    ret->szind = span->tag;
    ret->is_set = hs_heap_map_is_set(caches->map, ret->begin);
    return true;
}

static hs_status caches_clear_bin(struct caches *caches, const struct caches_bin *bin,
                                  unsigned szind, struct hs_error *err)
{
    const uint8_t *stack = hs_image_bytes(caches->image, bin->stack, bin->n * 8);

    if (stack == NULL) {
        caches->found->n_torn += bin->n != 0;
        return HS_OK;
    }
    for (uint64_t i = 0; i < bin->n; i++) {
        hs_addr address = hs_load_u64(stack + i * 8);
        struct caches_place place;
        if (!caches_find(caches, address, &place) || place.begin != address ||
            place.szind != szind) {
            caches->found->n_torn++;
            if (++caches->found->n_looks > CACHES_MAX_LOOKS)
                return HS_OK;
            continue;
        }
        if (!place.is_set && ++caches->found->n_looks > CACHES_MAX_LOOKS)
            return HS_OK; /* as much as nobody would keep */
        if (!place.is_set)
            continue; /* being flushed: its slab has it already, and it counts as free */
        hs_heap_map_clear(caches->map, address);
        HS_TRY(hs_ledger_move(caches->ledger, "jemalloc", HS_MEMORY_LIVE, HS_MEMORY_CACHED, address,
                              address + place.n_bytes, 1, err));
        caches->found->n_blocks++;
        caches->found->n_bytes += place.n_bytes;
    }
    return HS_OK;
}

/* The block that the bins' pointer stacks lie in is jemalloc's own. */
static hs_status caches_clear_stack(struct caches *caches, const struct caches_bin *bin,
                                    struct hs_error *err)
{
    struct caches_place place;

    if (!caches_find(caches, bin->inside, &place) || !place.is_set)
        return HS_OK;
    hs_heap_map_clear(caches->map, place.begin);
    caches->found->n_internal_blocks++;
    caches->found->n_internal_bytes += place.n_bytes;
    return hs_ledger_move(caches->ledger, "jemalloc", HS_MEMORY_LIVE, HS_MEMORY_INTERNAL,
                          place.begin, place.begin + place.n_bytes, 1, err);
}

static hs_status caches_clear(struct caches *caches, hs_addr bins, struct hs_error *err)
{
    unsigned n_bins = caches_n_bins(caches, bins);
    struct caches_bin bin;

    if (n_bins < jemalloc_n_small(caches->tree)) {
        caches->found->n_torn++;
        return HS_OK;
    }
    caches->found->n_caches++;
    for (unsigned i = 0; i < n_bins; i++)
        if (caches_bin_at(caches, caches_bin_address(caches, bins, i), &bin))
            HS_TRY(caches_clear_bin(caches, &bin, i, err));
    if (caches_bin_at(caches, bins, &bin))
        HS_TRY(caches_clear_stack(caches, &bin, err));
    return HS_OK;
}

hs_status hs_jemalloc_caches(const struct hs_process_copy *process,
                             const struct jemalloc_tree *tree, struct hs_heap_map *map,
                             struct hs_ledger *ledger, struct jemalloc_cached *ret,
                             struct hs_error *err)
{
    struct jemalloc_cached found = {0};
    struct caches caches = {
        .image = process->image, .tree = tree, .map = map, .ledger = ledger, .found = &found};
    hs_status status = caches_gather(&caches, process, err);

    if (status == HS_OK)
        caches_unique(&caches);
    for (size_t i = 0; status == HS_OK && i < caches.n; i++)
        status = caches_clear(&caches, caches.bins[i], err);
    hs_free(caches.bins);
    if (status == HS_OK)
        *ret = found;
    return status;
}
