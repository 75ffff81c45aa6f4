/* Chunks by what their maps of pages say, runs by their bins. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "mozjemalloc/parts.h"

enum {
    CHUNK_MAP = 32, /* in a chunk */
    MAP_ENTRY = 24, /* of a page */
    MAP_BITS = 16,  /* in one */
    MOST_OWN = 8,   /* pages */
    ARENA_MOST = 1 << 14,
    ARENA_COUNTS = 64 /* words among which the two counts are */
};
enum { BIT_USED = 1, BIT_LARGE = 2, BITS_ALL = 0x1ff };
enum { BIN_BYTES = 48, BIN_SIZE = 16, BIN_BLOCKS = 24, BIN_WORDS = 28, BIN_FIRST = 32 };

/* Lists those of version 102 on and of 138 on, as they are released, then with more checks. */
static const struct moz_layout layouts[] = {{0, 12, 16}, {16, 28, 32}, {8, 4, 20}, {24, 4, 36}};

static bool is_anonymous(const struct moz *moz, hs_addr at)
{
    const struct hs_mapping *m = hs_target_mapping_at(moz->process->target, at);
    return m != NULL && m->inode == 0 && !m->shared && m->writable;
}

/* ---- runs of small blocks */

/* Reads the bin that a run leads to by a layout. False: it is none of the chunk's arena. */
static bool read_bin(const struct moz *moz, const struct moz_layout *layout, hs_addr arena,
                     struct moz_run *run)
{
    const struct hs_image *image = moz->process->image;
    uint64_t bin, n_words;

    if (!hs_image_u64(image, run->begin + layout->bin, &bin) || bin < arena ||
        bin - arena >= ARENA_MOST)
        return false;
    const uint8_t *bytes = hs_image_bytes(image, bin, BIN_BYTES);
    if (bytes == NULL)
        return false;
    const uint64_t size = hs_load_u64(bytes + BIN_SIZE);
    run->n_blocks = hs_load_u32(bytes + BIN_BLOCKS);
    run->first = hs_load_u32(bytes + BIN_FIRST);
    n_words = hs_load_u32(bytes + BIN_WORDS);
    if (size < MOZ_SMALLEST || size % 8 != 0 || size >= MOZ_CHUNK || run->n_blocks == 0 ||
        run->n_blocks > MOZ_MOST_BLOCKS || n_words != (run->n_blocks + 31) / 32)
        return false;
    run->block_bytes = (uint32_t)size;
    return run->first % 8 == 0 && run->first >= layout->mask + n_words * 4 &&
           run->first <= run->n_bytes && run->n_blocks * size <= run->n_bytes - run->first;
}

static uint64_t live_of(const struct moz *moz, const struct moz_layout *layout,
                        const struct moz_run *run, uint64_t *live)
{
    const uint32_t n_words = (run->n_blocks + 31) / 32;
    const uint8_t *mask =
        hs_image_bytes(moz->process->image, run->begin + layout->mask, n_words * 4);
    uint64_t n = 0;

    memset(live, 0, MOZ_MOST_BLOCKS / 8);
    for (uint32_t i = 0; mask != NULL && i < run->n_blocks; i++)
        if ((mask[i / 8] >> (i % 8) & 1) == 0) {
            live[i / 64] |= UINT64_C(1) << (i % 64);
            n++;
        }
    return n;
}

uint64_t hs_moz_live(const struct moz *moz, const struct moz_run *run, uint64_t *live)
{
    return live_of(moz, moz->layout, run, live);
}

/* Does a run have as many free blocks as it says? */
static bool run_is_sound(const struct moz *moz, const struct moz_layout *layout, hs_addr arena,
                         struct moz_run *run)
{
    uint64_t live[MOZ_MOST_BLOCKS / 64];
    uint32_t n_free;

    return read_bin(moz, layout, arena, run) &&
           hs_image_u32(moz->process->image, run->begin + layout->n_free, &n_free) &&
           n_free == run->n_blocks - live_of(moz, layout, run, live);
}

/* The first run that one of the layouts fits tells which it is. */
static bool find_run(struct moz *moz, hs_addr arena, struct moz_run *run)
{
    if (moz->layout != NULL)
        return run_is_sound(moz, moz->layout, arena, run);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (run_is_sound(moz, &layouts[i], arena, run)) {
            moz->layout = &layouts[i];
            return true;
        }
    return false;
}

/* ---- the map of a chunk's pages */

static uint64_t bits_of(const uint8_t *map, uint32_t page)
{
    return hs_load_u64(map + page * MAP_ENTRY + MAP_BITS);
}

static uint64_t address_in(uint64_t bits)
{
    return bits & ~(uint64_t)(MOZ_PAGE - 1);
}

/* Measures what begins at a page, in pages; 0: no map of a chunk says such a thing. */
static uint32_t piece_at(const uint8_t *map, hs_addr chunk, uint32_t page)
{
    const uint64_t bits = bits_of(map, page), address = address_in(bits);
    uint32_t n = 1;

    if ((bits & (MOZ_PAGE - 1)) > BITS_ALL)
        return 0;
    if ((bits & BIT_USED) == 0)
        return 1;
    if ((bits & BIT_LARGE) == 0) {
        if (address != chunk + page * (hs_addr)MOZ_PAGE)
            return 0;
        while (page + n < MOZ_PAGES && bits_of(map, page + n) == bits)
            n++;
        return n;
    }
    if (address == 0 || address / MOZ_PAGE > MOZ_PAGES - page)
        return 0;
    for (; n < address / MOZ_PAGE; n++)
        if (bits_of(map, page + n) != (BIT_USED | BIT_LARGE))
            return 0;
    return n;
}

/* Measures the pages that are the chunk's own, and whether the map says nothing impossible of the
 * others. */
static bool is_map(const uint8_t *map, hs_addr chunk, uint32_t *ret_n_own)
{
    uint32_t page = 0, n;

    while (page <= MOST_OWN && bits_of(map, page) == 0)
        page++;
    *ret_n_own = page;
    if (page == 0 || page > MOST_OWN)
        return false;
    for (; page < MOZ_PAGES; page += n) {
        n = piece_at(map, chunk, page);
        if (n == 0)
            return false;
    }
    return true;
}

static hs_status add_runs(struct moz *moz, const uint8_t *map, struct hs_error *err)
{
    const uint32_t number = (uint32_t)moz->n_chunks - 1;
    const struct moz_chunk chunk = moz->chunks[number];
    uint32_t n;

    for (uint32_t page = chunk.n_own_pages; page < MOZ_PAGES; page += n) {
        const uint64_t bits = bits_of(map, page);
        struct moz_run run = {.begin = chunk.begin + page * (hs_addr)MOZ_PAGE, .chunk = number};
        n = piece_at(map, chunk.begin, page);
        if (n == 0) /* is_map has seen that there is none */
            return HS_OK;
        if ((bits & BIT_USED) == 0)
            continue;
        run.n_bytes = n * MOZ_PAGE;
        if ((bits & BIT_LARGE) == 0 && !find_run(moz, chunk.arena, &run))
            run.n_blocks = 0;
        HS_TRY(HS_GROW(&moz->runs, &moz->runs_capacity, moz->n_runs + 1, err));
        run.block_bytes = (bits & BIT_LARGE) != 0 ? 0 : run.n_blocks == 0 ? 1 : run.block_bytes;
        moz->runs[moz->n_runs++] = run;
    }
    return HS_OK;
}

static hs_status add_chunk(struct moz *moz, hs_addr at, struct hs_error *err)
{
    const struct hs_image *image = moz->process->image;
    uint64_t arena;
    uint32_t n_own;

    if (!hs_image_u64(image, at, &arena) || arena % 8 != 0 || arena < MOZ_CHUNK ||
        arena >= HS_USER_END || !is_anonymous(moz, arena))
        return HS_OK;
    const uint8_t *bytes = hs_image_bytes(image, at, CHUNK_MAP + MOZ_PAGES * MAP_ENTRY);
    if (bytes == NULL || !is_map(bytes + CHUNK_MAP, at, &n_own) || moz->n_chunks == UINT32_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&moz->chunks, &moz->chunks_capacity, moz->n_chunks + 1, err));
    moz->chunks[moz->n_chunks++] = (struct moz_chunk){at, arena, n_own, false};
    return add_runs(moz, bytes + CHUNK_MAP, err);
}

/* ---- arenas */

static int by_address(const void *left, const void *right)
{
    const struct moz_arena *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

struct moz_arena *hs_moz_arena(const struct moz *moz, hs_addr address)
{
    size_t i = HS_FIRST_FROM(moz->arenas, moz->n_arenas, address, address);

    return i < moz->n_arenas && moz->arenas[i].address == address ? &moz->arenas[i] : NULL;
}

static hs_status make_arenas(struct moz *moz, struct hs_error *err)
{
    size_t n = 0;

    HS_TRY(HS_GROW(&moz->arenas, &moz->arenas_capacity, moz->n_chunks, err));
    for (size_t i = 0; i < moz->n_chunks; i++)
        moz->arenas[i] = (struct moz_arena){.address = moz->chunks[i].arena};
    qsort(moz->arenas, moz->n_chunks, sizeof *moz->arenas, by_address);
    for (size_t i = 0; i < moz->n_chunks; i++)
        if (n == 0 || moz->arenas[n - 1].address != moz->arenas[i].address)
            moz->arenas[n++] = moz->arenas[i];
    moz->n_arenas = n;
    for (size_t i = 0; i < moz->n_runs; i++) {
        const struct moz_run *run = &moz->runs[i];
        struct moz_arena *arena = hs_moz_arena(moz, moz->chunks[run->chunk].arena);
        arena->is_sound |= run->n_blocks != 0;
        arena->large_bytes += run->block_bytes == 0 ? run->n_bytes : 0;
    }
    return HS_OK;
}

bool hs_moz_arena_says(const struct moz *moz, const struct moz_arena *arena)
{
    const struct hs_image *image = moz->process->image;
    uint64_t small, large;

    for (unsigned i = 0; i < ARENA_COUNTS; i++) {
        const hs_addr at = arena->address + i * HS_WORD_BYTES;
        if (hs_image_u64(image, at, &small) && hs_image_u64(image, at + HS_WORD_BYTES, &large) &&
            small == arena->small_bytes && large == arena->large_bytes)
            return true;
    }
    return false;
}

/* Leaves out arenas that no run leads into and that say nothing of their large blocks, if they have
 * any: other memory that looks like a chunk. */
static void leave_out(struct moz *moz)
{
    size_t n = 0;

    for (size_t i = 0; i < moz->n_arenas; i++) {
        const struct moz_arena *arena = &moz->arenas[i];
        if (arena->is_sound ||
            (moz->layout != NULL && arena->large_bytes != 0 && hs_moz_arena_says(moz, arena)))
            moz->arenas[n++] = *arena;
    }
    moz->n_arenas = n;
    for (size_t i = 0; i < moz->n_chunks; i++)
        moz->chunks[i].is_left_out = hs_moz_arena(moz, moz->chunks[i].arena) == NULL;
}

/* The largest mapping that is looked through. One that is reserved in one piece, 20 TiB for a
 * sanitizer's shadow, is none of this allocator's, and to ask which of its pages are there takes
 * a kernel before 6.7 minutes. */
#define MAPPING_BYTES (UINT64_C(64) << 30)

/* Looks at each place of a chunk whose first page is there. */
static hs_status add_present(struct moz *moz, const struct hs_mapping *m, struct hs_error *err)
{
    hs_addr begin, end = m->begin;

    while (hs_image_next_present(moz->process->image, end, m->end, &begin, &end)) {
        const hs_addr first = (begin + MOZ_CHUNK - 1) & ~(hs_addr)(MOZ_CHUNK - 1);
        for (hs_addr at = first; at >= begin && at < end; at += MOZ_CHUNK)
            HS_TRY(add_chunk(moz, at, err));
    }
    return HS_OK;
}

hs_status hs_moz_chunks(struct moz *moz, struct hs_error *err)
{
    const struct hs_target *target = moz->process->target;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (m->inode == 0 && !m->shared && m->writable && m->end - m->begin <= MAPPING_BYTES)
            HS_TRY(add_present(moz, m, err));
    }
    if (moz->layout == NULL)
        return HS_OK;
    HS_TRY(make_arenas(moz, err));
    leave_out(moz);
    return HS_OK;
}
