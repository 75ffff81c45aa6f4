/* The blocks that Gc.Memprof tracks (runtime/memprof.c).
 *
 *   entry_array: {t, min_alloc_len, alloc_len, len, young_idx, delete_idx}
 *   entry, 48 bytes: block +0, n_samples +8, wosize +16, user_data +24, running +32, u32 flags +40
 *
 * user_data is a root, the block is not (weak). A tracker such as memtrace stores an allocation id,
 * so an immediate user_data of an entry in entries_global whose callback is not running is a
 * sample. Entries whose first callback has not returned live in the context of their thread, and
 * have no id yet. */
#include "memprof.h"

enum {
    ENTRY_BYTES = 48,
    ENTRY_N_SAMPLES = 8,
    ENTRY_WOSIZE = 16,
    ENTRY_USER_DATA = 24,
    ENTRY_RUNNING = 32,
    ENTRY_FLAGS = 40,
    FLAG_PROMOTED = 1 << 3,
    FLAG_DEALLOCATED = 1 << 4,
    FLAG_DELETED = 1 << 7,
    CONTEXT_ENTRIES = 16, /* int suspended; intnat callback_status; entries */
    ARRAY_ALLOC_LEN = 16,
    ARRAY_LEN = 24,
    THREAD_MEMPROF_CONTEXT = 104,
};

static const uint64_t max_entries = UINT64_C(1) << 32;

struct entry {
    uint64_t block, n_samples, wosize, user_data, running;
    uint32_t flags;
};

static bool entry_read(struct hs_root_walk *walk, hs_addr at, struct entry *ret)
{
    return hs_walk_u64(walk, at, &ret->block) &&
           hs_walk_u64(walk, at + ENTRY_N_SAMPLES, &ret->n_samples) &&
           hs_walk_u64(walk, at + ENTRY_WOSIZE, &ret->wosize) &&
           hs_walk_u64(walk, at + ENTRY_USER_DATA, &ret->user_data) &&
           hs_walk_u64(walk, at + ENTRY_RUNNING, &ret->running) &&
           hs_walk_u32(walk, at + ENTRY_FLAGS, &ret->flags);
}

static hs_status walk_entry(struct hs_root_walk *walk, hs_addr at, bool has_ids)
{
    struct entry entry;
    if (!entry_read(walk, at, &entry))
        return HS_OK;
    HS_TRY(hs_memprof_add_leaf(walk, at + ENTRY_USER_DATA, entry.user_data, "user data", false));
    bool is_live = (entry.flags & (FLAG_DEALLOCATED | FLAG_DELETED)) == 0 && (entry.block & 1) == 0;
    if (!is_live)
        return HS_OK;
    HS_TRY(hs_memprof_add_leaf(walk, at, entry.block, "tracked block", true));
    if (has_ids && (entry.user_data & 1) != 0 && entry.running == 0)
        return hs_memprof_add_sample(
            walk, &(struct hs_memprof_entry){.block = entry.block,
                                             .n_samples = entry.n_samples,
                                             .wosize = entry.wosize,
                                             .user_data = entry.user_data,
                                             .is_promoted = (entry.flags & FLAG_PROMOTED) != 0});
    return HS_OK;
}

static hs_status walk_array(struct hs_root_walk *walk, hs_addr array, bool has_ids)
{
    uint64_t table, alloc_len, len;
    if (!hs_walk_u64(walk, array, &table) || !hs_walk_u64(walk, array + ARRAY_LEN, &len) ||
        !hs_walk_u64(walk, array + ARRAY_ALLOC_LEN, &alloc_len))
        return HS_OK;
    if (len > alloc_len || len > max_entries) {
        walk->n_damaged++;
        return HS_OK;
    }
    if (hs_walk_is_copying(walk)) {
        hs_walk_need(walk, table, len * ENTRY_BYTES);
        return HS_OK;
    }
    uint64_t unreadable = walk->n_unreadable;
    for (uint64_t i = 0; i < len && walk->n_unreadable == unreadable; i++)
        HS_TRY(walk_entry(walk, table + i * ENTRY_BYTES, has_ids));
    return HS_OK;
}

/* Reads the period from `lambda`, a C static variable: without .symtab it stays unknown. */
static void read_lambda(struct hs_root_walk *walk)
{
    struct hs_live_symbol symbol;
    uint64_t lambda;
    if (!hs_walk_is_copying(walk) && walk->roots->n_samples != 0 &&
        hs_objects_find(walk->rt->objects, "lambda", &symbol) &&
        hs_walk_u64(walk, symbol.address, &lambda))
        hs_memprof_note_lambda(walk, lambda);
}

hs_status hs_ocaml_walk_memprof(struct hs_root_walk *walk)
{
    const struct hs_ocaml_stops *stops = walk->roots->stops;
    struct hs_live_symbol main_context = {0};
    if (!hs_objects_find(walk->rt->objects, "caml_memprof_main_ctx", &main_context))
        main_context.address = 0;
    if (stops->statics.entries_global != 0)
        HS_TRY(walk_array(walk, stops->statics.entries_global, true));
    else if (!hs_walk_is_copying(walk))
        HS_TRY(hs_findings_note(&walk->rt->findings, true, walk->err,
                                "memprof was not scanned: its table was not found"));
    if (main_context.address != 0)
        HS_TRY(walk_array(walk, main_context.address + CONTEXT_ENTRIES, false));
    for (size_t i = 0; i < stops->n; i++) {
        uint64_t context = 0;
        if (stops->threads[i].info == 0 ||
            !hs_walk_u64(walk, stops->threads[i].info + THREAD_MEMPROF_CONTEXT, &context) ||
            context == 0 || context == main_context.address)
            continue;
        HS_TRY(walk_array(walk, context + CONTEXT_ENTRIES, false));
    }
    read_lambda(walk);
    return HS_OK;
}
