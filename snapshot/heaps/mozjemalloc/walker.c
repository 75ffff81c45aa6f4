/* mozjemalloc: its runs and extents, as another allocator's spans. */
#include "base/alloc.h"
#include "carve.h"
#include "mozjemalloc/parts.h"

static void moz_close(void *state)
{
    struct moz *moz = state;

    if (moz == NULL)
        return;
    hs_free(moz->chunks);
    hs_free(moz->runs);
    hs_free(moz->arenas);
    hs_free(moz->extents);
    hs_free(moz);
}

/* Sums up what the runs of each arena have in use, and leaves out those of no arena. */
static void moz_sum_up(struct moz *moz)
{
    uint64_t live[MOZ_MOST_BLOCKS / 64];
    size_t n = 0;

    for (size_t i = 0; i < moz->n_arenas; i++)
        moz->arenas[i].small_bytes = moz->arenas[i].large_bytes = 0;
    for (size_t i = 0; i < moz->n_runs; i++) {
        const struct moz_run run = moz->runs[i];
        struct moz_arena *arena = hs_moz_arena(moz, moz->chunks[run.chunk].arena);
        if (moz->chunks[run.chunk].is_left_out)
            continue;
        moz->n_small += run.block_bytes != 0;
        if (run.block_bytes != 0 && run.n_blocks == 0) {
            moz->n_damaged++;
            continue;
        }
        if (run.block_bytes == 0)
            arena->large_bytes += run.n_bytes;
        else
            arena->small_bytes += hs_moz_live(moz, &run, live) * run.block_bytes;
        moz->runs[n++] = run;
    }
    moz->n_runs = n;
}

static hs_status moz_open(const struct hs_process_copy *process, void **ret_state,
                          struct hs_error *err)
{
    struct moz *moz;

    if (process->target == NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&moz, 1, err));
    moz->process = process;
    hs_status status = hs_moz_chunks(moz, err);
    if (status == HS_OK && moz->n_arenas != 0)
        status = hs_moz_extents(moz, err);
    if (status == HS_OK && moz->n_arenas != 0) {
        moz_sum_up(moz);
        *ret_state = moz;
    } else
        moz_close(moz);
    return status;
}

static const char *moz_version(const void *state)
{
    (void)state;
    return "";
}

/* ---- spans and claims */

static struct hs_heap_span moz_single(hs_addr begin, uint64_t n_bytes)
{
    return (struct hs_heap_span){.begin = begin,
                                 .end = begin + n_bytes,
                                 .unit_bytes = n_bytes,
                                 .form = HS_SPAN_SINGLE,
                                 .owner = HS_OWNER_mozjemalloc};
}

static struct hs_heap_span moz_span(const struct moz_run *run)
{
    if (run->block_bytes == 0)
        return moz_single(run->begin, run->n_bytes);
    return (struct hs_heap_span){.begin = run->begin + run->first,
                                 .end = run->begin + run->first +
                                        (uint64_t)run->n_blocks * run->block_bytes,
                                 .unit_bytes = run->block_bytes,
                                 .form = HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_mozjemalloc};
}

static hs_status moz_claim(struct hs_ledger *ledger, enum hs_memory_state state, hs_addr begin,
                           uint64_t n_bytes, struct hs_error *err)
{
    return hs_ledger_claim(ledger, MOZ_OWNER, state, begin, begin + n_bytes, 0, err);
}

/* Claims what the allocator has of its own: chunks in which arenas and nodes of trees are, and
 * tables of all chunks, which lead to them and keep none. */
static hs_status moz_claim_own(const struct moz *moz, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    const hs_addr mask = ~(hs_addr)(MOZ_CHUNK - 1);

    for (size_t i = 0; i < moz->n_arenas; i++)
        HS_TRY(
            moz_claim(ledger, HS_MEMORY_INTERNAL, moz->arenas[i].address & mask, MOZ_CHUNK, err));
    for (size_t i = 0; i < moz->n_extents; i++)
        HS_TRY(moz_claim(ledger, HS_MEMORY_INTERNAL, moz->extents[i].node & mask, MOZ_CHUNK, err));
    return HS_OK;
}

static hs_status moz_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    const struct moz *moz = state;

    for (size_t i = 0; i < moz->n_runs; i++) {
        const struct hs_heap_span span = moz_span(&moz->runs[i]);
        HS_TRY(hs_heap_map_add(map, &span, err));
    }
    for (size_t i = 0; i < moz->n_extents; i++) {
        const struct moz_extent *extent = &moz->extents[i];
        const struct hs_heap_span span = moz_single(extent->begin, extent->n_bytes);
        HS_TRY(moz_claim(ledger, HS_MEMORY_FREE, extent->begin, extent->n_bytes, err));
        if (!extent->is_free)
            HS_TRY(hs_heap_map_add(map, &span, err));
    }
    for (size_t i = 0; i < moz->n_chunks; i++)
        if (!moz->chunks[i].is_left_out)
            HS_TRY(moz_claim(ledger, HS_MEMORY_FREE, moz->chunks[i].begin, MOZ_CHUNK, err));
    return moz_claim_own(moz, ledger, err);
}

/* ---- live bits */

static hs_status moz_report(const struct moz *moz, uint64_t n_missing, struct hs_error *err)
{
    struct hs_findings *findings = moz->process->findings;
    uint64_t n_sound = 0;

    for (size_t i = 0; i < moz->n_arenas; i++)
        n_sound += hs_moz_arena_says(moz, &moz->arenas[i]);
    findings->n_torn += moz->n_damaged + moz->n_arenas - n_sound;
    HS_TRY(hs_findings_proof(findings, "mozjemalloc: runs with as many free blocks as they say",
                             moz->n_small, moz->n_small - moz->n_damaged, err));
    HS_TRY(hs_findings_proof(findings, "mozjemalloc: arenas with as many bytes in use as they say",
                             moz->n_arenas, n_sound, err));
    if (moz->n_trees != 0)
        HS_TRY(hs_findings_proof(findings, "mozjemalloc: trees of chunks as large as it says",
                                 moz->n_trees, moz->n_as_large, err));
    if (n_missing == 0)
        return HS_OK;
    return hs_findings_note(findings, true, err,
                            "mozjemalloc: %llu blocks overlap another allocator's: they are left "
                            "out",
                            (unsigned long long)n_missing);
}

static hs_status moz_move_own(struct hs_ledger *ledger, hs_addr begin, uint64_t n_bytes,
                              struct hs_error *err)
{
    return hs_ledger_move(ledger, MOZ_OWNER, HS_MEMORY_FREE, HS_MEMORY_INTERNAL, begin,
                          begin + n_bytes, 0, err);
}

static hs_status moz_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                          struct hs_error *err)
{
    const struct moz *moz = state;
    struct hs_carve_marking marking = {map, ledger, HS_OWNER_mozjemalloc, 0};
    uint64_t live[MOZ_MOST_BLOCKS / 64], n_free = 0;

    for (size_t i = 0; i < moz->n_runs; i++) {
        const struct moz_run *run = &moz->runs[i];
        const struct hs_heap_span expected = moz_span(run);
        if (run->block_bytes == 0) {
            HS_TRY(hs_carve_mark_one(&marking, run->begin, run->n_bytes, err));
            continue;
        }
        HS_TRY(moz_move_own(ledger, run->begin, run->first, err));
        n_free += run->n_blocks - hs_moz_live(moz, run, live);
        HS_TRY(hs_carve_mark(&marking, &expected, live, err));
    }
    for (size_t i = 0; i < moz->n_chunks; i++)
        if (!moz->chunks[i].is_left_out)
            HS_TRY(moz_move_own(ledger, moz->chunks[i].begin,
                                moz->chunks[i].n_own_pages * (uint64_t)MOZ_PAGE, err));
    for (size_t i = 0; i < moz->n_extents; i++)
        if (!moz->extents[i].is_free)
            HS_TRY(
                hs_carve_mark_one(&marking, moz->extents[i].begin, moz->extents[i].n_bytes, err));
    HS_TRY(hs_ledger_set_blocks(ledger, MOZ_OWNER, HS_MEMORY_FREE, n_free, err));
    return moz_report(moz, marking.n_missing, err);
}

/* Multiples of 16 up to 512, of 256 up to a page, then whole pages. */
static bool moz_may_round(const struct hs_heap_block *block, uint64_t n_bytes)
{
    const uint64_t rest = block->n_bytes - n_bytes;
    return block->n_bytes < MOZ_PAGE ? block->n_bytes > 512 && rest < 256 : rest < MOZ_PAGE;
}

const struct hs_allocator hs_allocator_mozjemalloc = {
    .name = MOZ_OWNER,
    .open = moz_open,
    .add_spans = moz_add_spans,
    .mark = moz_mark,
    .close = moz_close,
    .version = moz_version,
    .known_as = MOZ_OWNER,
    .symbols = {"jemalloc_ptr_info"},
    .may_round = moz_may_round,
};
