/* The blocks that Gc.Memprof tracks in OCaml 5.3 and later (runtime/memprof.c; before, it did
 * nothing).
 *
 *   domain:   {state, entries, orphans, 2 flags, threads, ...}   state->memprof
 *   thread:   {suspended, running index, running table, entries, domain, next}
 *   orphans:  {entries, next}       of earlier profiles, and of ended domains
 *   entries:  {t, min_capacity, capacity, size, young, evict, active, config}
 *   entry:    block, user_data, samples, wosize, runner, u32 flags (48 bytes)
 *   config:   {status, lambda, 1/ln(1-lambda), frames, callbacks...}     a block of the heap
 *
 * user_data and config are roots, the block is not (weak). A tracker such as memtrace stores an
 * allocation id, so an immediate user_data of an entry whose callback is not running is a sample,
 * unless the entry is in a thread's table: its first callback has not returned, and it has no id.
 */
#include "memprof.h"
#include "ocaml5.h"

enum {
    DOMAIN_ENTRIES = 8,
    DOMAIN_ORPHANS = 72,
    DOMAIN_THREADS = 88,
    THREAD_ENTRIES = 24,
    THREAD_NEXT = 96,
    ORPHANS_NEXT = 64,
    ENTRIES_CAPACITY = 16,
    ENTRIES_SIZE = 24,
    ENTRIES_CONFIG = 56,
    ENTRY_BYTES = 48,
    ENTRY_USER_DATA = 8,
    ENTRY_SAMPLES = 16,
    ENTRY_WOSIZE = 24,
    ENTRY_RUNNER = 32,
    ENTRY_FLAGS = 40,
    FLAG_OFFSET = 1 << 2, /* the block is not allocated yet */
    FLAG_PROMOTED = 1 << 4,
    FLAG_DEALLOCATED = 1 << 5,
    FLAG_DELETED = 1 << 6,
    CONFIG_LAMBDA = 8,
};

static const uint64_t max_entries = UINT64_C(1) << 32;

static hs_status walk_entry(struct hs_root_walk *walk, hs_addr at, bool has_ids)
{
    struct hs_memprof_entry entry;
    uint64_t runner;
    uint32_t flags;
    if (!hs_walk_u64(walk, at, &entry.block) ||
        !hs_walk_u64(walk, at + ENTRY_USER_DATA, &entry.user_data) ||
        !hs_walk_u64(walk, at + ENTRY_SAMPLES, &entry.n_samples) ||
        !hs_walk_u64(walk, at + ENTRY_WOSIZE, &entry.wosize) ||
        !hs_walk_u64(walk, at + ENTRY_RUNNER, &runner) ||
        !hs_walk_u32(walk, at + ENTRY_FLAGS, &flags))
        return HS_OK;
    HS_TRY(hs_memprof_add_leaf(walk, at + ENTRY_USER_DATA, entry.user_data, "user data", false));
    if ((flags & (FLAG_OFFSET | FLAG_DEALLOCATED | FLAG_DELETED)) != 0 || (entry.block & 1) != 0)
        return HS_OK;
    HS_TRY(hs_memprof_add_leaf(walk, at, entry.block, "tracked block", true));
    entry.is_promoted = (flags & FLAG_PROMOTED) != 0;
    if (has_ids && (entry.user_data & 1) != 0 && runner == 0)
        return hs_memprof_add_sample(walk, &entry);
    return HS_OK;
}

static hs_status walk_config(struct hs_root_walk *walk, hs_addr entries, bool has_entries)
{
    uint64_t config, boxed, lambda;
    if (!hs_walk_u64(walk, entries + ENTRIES_CONFIG, &config) || hs_walk_is_copying(walk))
        return HS_OK;
    HS_TRY(hs_memprof_add_leaf(walk, entries + ENTRIES_CONFIG, config, "profile", false));
    hs_addr block;
    if (has_entries && hs_block_of_value(walk->blocks, config, &block) &&
        hs_image_u64(walk->rt->image, block + CONFIG_LAMBDA, &boxed) &&
        hs_block_of_value(walk->blocks, boxed, &block) &&
        hs_image_u64(walk->rt->image, block, &lambda))
        hs_memprof_note_lambda(walk, lambda);
    return HS_OK;
}

static hs_status walk_entries(struct hs_root_walk *walk, hs_addr entries, bool has_ids)
{
    uint64_t table, capacity, size;
    if (!hs_walk_u64(walk, entries, &table) ||
        !hs_walk_u64(walk, entries + ENTRIES_CAPACITY, &capacity) ||
        !hs_walk_u64(walk, entries + ENTRIES_SIZE, &size))
        return HS_OK;
    if (size > capacity || size > max_entries) {
        walk->n_damaged++;
        return HS_OK;
    }
    HS_TRY(walk_config(walk, entries, has_ids && size != 0));
    if (hs_walk_is_copying(walk)) {
        hs_walk_need(walk, table, size * ENTRY_BYTES);
        return HS_OK;
    }
    uint64_t unreadable = walk->n_unreadable;
    for (uint64_t i = 0; i < size && walk->n_unreadable == unreadable; i++)
        HS_TRY(walk_entry(walk, table + i * ENTRY_BYTES, has_ids));
    return HS_OK;
}

static hs_status walk_orphans(struct hs_root_walk *walk, hs_addr head)
{
    struct hs_cycle cycle = {0};
    uint64_t cell = 0, next;
    if (!hs_walk_u64(walk, head, &cell))
        return HS_OK;
    for (; !hs_walk_list_ends(walk, &cycle, cell); cell = next) {
        HS_TRY(walk_entries(walk, cell, true));
        if (!hs_walk_u64(walk, cell + ORPHANS_NEXT, &next))
            return HS_OK;
    }
    return HS_OK;
}

static hs_status walk_threads(struct hs_root_walk *walk, hs_addr head)
{
    struct hs_cycle cycle = {0};
    uint64_t cell = 0, next;
    if (!hs_walk_u64(walk, head, &cell))
        return HS_OK;
    for (; !hs_walk_list_ends(walk, &cycle, cell); cell = next) {
        HS_TRY(walk_entries(walk, cell + THREAD_ENTRIES, false));
        if (!hs_walk_u64(walk, cell + THREAD_NEXT, &next))
            return HS_OK;
    }
    return HS_OK;
}

hs_status hs_ocaml5_walk_memprof(struct hs_root_walk *walk)
{
    const struct hs_ocaml5 *five = walk->rt->five;
    struct hs_live_symbol orphans;
    if (five->layout.minor < 3)
        return HS_OK;
    for (size_t i = 0; i < five->n_domains; i++) {
        hs_addr memprof = hs_ocaml5_word(&five->domains[i], five->layout.memprof);
        if (memprof == 0)
            continue;
        HS_TRY(walk_entries(walk, memprof + DOMAIN_ENTRIES, true));
        HS_TRY(walk_orphans(walk, memprof + DOMAIN_ORPHANS));
        HS_TRY(walk_threads(walk, memprof + DOMAIN_THREADS));
    }
    /* Samples of ended domains wait here for the next collection; a stripped program hides the
     * variable, which is static. */
    if (hs_objects_find(walk->rt->objects, "orphans", &orphans))
        return walk_orphans(walk, orphans.address);
    return HS_OK;
}
