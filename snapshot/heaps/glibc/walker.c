/* glibc's malloc as an allocator: what the files beside it find, as spans, claims, live bits and
 * proofs. */
#include <assert.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "heap.h"

static void glibc_close(void *state)
{
    struct glibc_state *g = state;

    if (g == NULL)
        return;
    hs_free(g->instances);
    hs_free(g->arenas);
    hs_free(g->segments);
    hs_free(g->used);
    hs_free(g->freed);
    hs_free(g->mmapped);
    hs_free(g->gaps);
    hs_free(g->large);
    hs_free(g);
}

static hs_status glibc_open(const struct hs_process_copy *process, void **ret_state,
                            struct hs_error *err)
{
    struct glibc_state *g;
    HS_TRY(HS_ALLOC(&g, 1, err));
    g->process = process;
    hs_status status = hs_glibc_find_instances(g, err);
    if (status == HS_OK && g->n_instances > 0) {
        *ret_state = g;
        return HS_OK;
    }
    glibc_close(g);
    return status;
}

static const char *glibc_version(const void *state)
{
    return ((const struct glibc_state *)state)->version;
}

/* ---- Spans and claims. */

static hs_status add_segment(const struct glibc_segment *s, struct hs_heap_map *map,
                             struct hs_ledger *ledger, struct hs_error *err)
{
    struct hs_heap_span span = {
        .begin = s->first + 16,
        .end = s->stop + 8, /* where the last block ends that may be there */
        .unit_bytes = 16,
        .form = HS_SPAN_HEADERS,
        .owner = HS_OWNER_glibc,
    };

    if (span.end > span.begin)
        HS_TRY(hs_heap_map_add(map, &span, err));
    return hs_ledger_claim(ledger, GLIBC_OWNER, HS_MEMORY_LIVE, s->begin, s->end,
                           s->n_used + s->n_free, err);
}

static hs_status add_mmapped(const struct glibc_state *g, const struct glibc_mmapped *m,
                             struct hs_heap_map *map, struct hs_ledger *ledger,
                             struct hs_error *err)
{
    struct hs_heap_span span = {
        .begin = m->user,
        .end = m->user + m->usable_bytes,
        .unit_bytes = m->usable_bytes,
        .form = HS_SPAN_SINGLE,
        .owner = HS_OWNER_glibc,
        .states = g->mmapped_is_sure ? 0 : HS_BLOCK_UNSURE,
    };

    HS_TRY(hs_heap_map_add(map, &span, err));
    return hs_ledger_claim(ledger, GLIBC_OWNER, HS_MEMORY_LIVE, m->begin, m->end, 1, err);
}

/* Books as internal what is neither a block nor free: headers, heap_info, malloc_state,
 * fenceposts. */
static hs_status book_internal(const struct glibc_state *g, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < g->n_segments; i++) {
        const struct glibc_segment *s = &g->segments[i];
        n_bytes += s->end - s->begin - s->used_bytes - s->free_bytes;
        if (s->how == GLIBC_END_TOP && s->end - s->stop > 16)
            n_bytes -= s->end - s->stop - 16;
    }
    for (size_t i = 0; i < g->n_gaps; i++)
        n_bytes -= g->gaps[i].end - g->gaps[i].begin;
    for (size_t i = 0; i < g->n_mmapped; i++)
        n_bytes += g->mmapped[i].end - g->mmapped[i].begin - g->mmapped[i].usable_bytes;
    return hs_ledger_move_bytes(ledger, GLIBC_OWNER, HS_MEMORY_LIVE, HS_MEMORY_INTERNAL, n_bytes, 0,
                                err);
}

/* A main arena lies in the data of its module and is malloc's all the same: its top and its bins
 * lead to chunks, whose first word belongs to the block before. */
static hs_status add_main_arena(const struct glibc_instance *instance, struct hs_ledger *ledger,
                                struct hs_error *err)
{
    hs_addr end = instance->main_arena + instance->layout->bins + GLIBC_STATE_TAIL;

    return hs_ledger_claim(ledger, GLIBC_OWNER, HS_MEMORY_INTERNAL, instance->main_arena, end, 0,
                           err);
}

static hs_status find_segments(struct glibc_state *g, struct hs_error *err)
{
    HS_TRY(hs_glibc_find_heaps(g, err));
    for (size_t i = 0; i < g->n_instances; i++) {
        HS_TRY(hs_glibc_find_main(g, (uint32_t)g->instances[i].first_arena, err));
        hs_glibc_segments_sort(g);
    }
    return HS_OK;
}

static hs_status glibc_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                 struct hs_error *err)
{
    struct glibc_state *g = state;

    HS_TRY(find_segments(g, err));
    HS_TRY(hs_glibc_find_mmapped(g, err));
    for (size_t i = 0; i < g->n_segments; i++)
        HS_TRY(add_segment(&g->segments[i], map, ledger, err));
    for (size_t i = 0; i < g->n_mmapped; i++)
        HS_TRY(add_mmapped(g, &g->mmapped[i], map, ledger, err));
    for (size_t i = 0; i < g->n_instances; i++)
        HS_TRY(add_main_arena(&g->instances[i], ledger, err));
    return book_internal(g, ledger, err);
}

/* ---- Live bits. */

/* The first span that begins at or after `address`. */
static size_t span_lower(const struct hs_heap_map *map, hs_addr address)
{
    return HS_FIRST_FROM(map->spans, map->n_spans, begin, address);
}

/* 64 bits from bit `at` on; those past the last word are 0. */
static uint64_t bits_read(const uint64_t *words, size_t n_words, uint64_t at)
{
    uint64_t low = at >> 6 < n_words ? words[at >> 6] >> (at & 63) : 0;

    if ((at & 63) != 0 && (at >> 6) + 1 < n_words)
        low |= words[(at >> 6) + 1] << (64 - (at & 63));
    return low;
}

/* Writes the live bits of a segment into those of a span of it. */
static void mark_span(const struct glibc_state *g, const struct glibc_segment *s,
                      const struct hs_heap_span *span, uint64_t *words)
{
    hs_addr first = span->begin - 16;
    uint64_t n = (span->end - span->begin + 15) >> 4, from = (first - s->bits_base) >> 4;

    if (n > (s->stop - first) >> 4)
        n = (s->stop - first) >> 4;
    for (uint64_t i = 0; i < n; i += 64) {
        uint64_t bits = bits_read(g->used + s->bits_at, g->n_words - s->bits_at, from + i);
        uint64_t to = span->first_bit + i;
        if (n - i < 64)
            bits &= (UINT64_C(1) << (n - i)) - 1;
        words[to >> 6] |= bits << (to & 63);
        if ((to & 63) != 0 && bits >> (64 - (to & 63)) != 0)
            words[(to >> 6) + 1] |= bits >> (64 - (to & 63));
    }
}

/* The map cuts a span around those that lie in its blocks, and leaves out one that overlaps. */
static hs_status mark_segment(const struct glibc_state *g, const struct glibc_segment *s,
                              struct hs_heap_map *map, struct hs_error *err)
{
    size_t n = 0;

    for (size_t i = span_lower(map, s->first + 16);
         i < map->n_spans && map->spans[i].begin < s->stop; i++) {
        const struct hs_heap_span *span = &map->spans[i];
        if (span->owner != HS_OWNER_glibc || span->form != HS_SPAN_HEADERS)
            continue;
        assert(span->begin + 8 <= s->stop && ((span->begin - 16 - s->bits_base) & 15) == 0);
        mark_span(g, s, span, map->starts.words);
        n++;
    }
    if (n == 0 && s->n_used != 0)
        return hs_findings_note(g->process->findings, true, err,
                                "a heap of glibc's malloc at 0x%llx overlaps another heap and was "
                                "left out",
                                (unsigned long long)s->begin);
    return HS_OK;
}

/* ---- The ledger. Each chunk but its size word belongs to its block; what is neither used nor
 * free of a segment is malloc's own. */

static hs_status book_free(const struct glibc_state *g, struct hs_ledger *ledger,
                           struct hs_error *err)
{
    uint64_t n_bytes = 0, n = 0;

    for (size_t i = 0; i < g->n_segments; i++) {
        const struct glibc_segment *s = &g->segments[i];
        n_bytes += s->free_bytes;
        n += s->n_free;
        if (s->how == GLIBC_END_TOP && s->end - s->stop > 16)
            HS_TRY(hs_ledger_move(ledger, GLIBC_OWNER, HS_MEMORY_LIVE, HS_MEMORY_FREE, s->stop + 16,
                                  s->end, 0, err));
    }
    for (size_t i = 0; i < g->n_large; i++) {
        const struct glibc_gap *chunk = &g->large[i];
        n_bytes -= chunk->end - chunk->begin;
        n--;
        HS_TRY(hs_ledger_move(ledger, GLIBC_OWNER, HS_MEMORY_LIVE, HS_MEMORY_FREE, chunk->begin,
                              chunk->end, 1, err));
    }
    return hs_ledger_move_bytes(ledger, GLIBC_OWNER, HS_MEMORY_LIVE, HS_MEMORY_FREE, n_bytes, n,
                                err);
}

/* The program has protected a part of it (mprotect), so that nobody can read the chain there. */
static bool gap_is_protected(const struct glibc_state *g, const struct glibc_gap *gap)
{
    const struct hs_target *target = g->process->target;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (!m->readable && m->begin < gap->end && gap->begin < m->end)
            return true;
    }
    return false;
}

/* Places of one kind; `first` is one of them. */
struct gap_sum {
    size_t n;
    uint64_t n_bytes;
    hs_addr first;
};

static void gap_count(struct gap_sum *sum, const struct glibc_gap *gap)
{
    if (sum->n++ == 0)
        sum->first = gap->begin;
    sum->n_bytes += gap->end - gap->begin;
}

static hs_status note_gaps(struct glibc_state *g, const struct gap_sum *damaged,
                           const struct gap_sum *hidden, struct hs_error *err)
{
    if (hidden->n != 0)
        HS_TRY(hs_findings_note(
            g->process->findings, true, err,
            "the heap of glibc's malloc is protected against reading in %zu place%s (%llu bytes), "
            "first at 0x%llx: no block there is listed",
            hidden->n, hidden->n == 1 ? "" : "s", (unsigned long long)hidden->n_bytes,
            (unsigned long long)hidden->first));
    if (damaged->n == 0)
        return HS_OK;
    g->process->findings->n_torn += damaged->n;
    return hs_findings_note(g->process->findings, true, err,
                            "the heap of glibc's malloc is damaged in %zu place%s (%llu bytes are "
                            "no chain of blocks), first at 0x%llx",
                            damaged->n, damaged->n == 1 ? "" : "s",
                            (unsigned long long)damaged->n_bytes,
                            (unsigned long long)damaged->first);
}

static hs_status book_gaps(struct glibc_state *g, struct hs_ledger *ledger, struct hs_error *err)
{
    struct gap_sum damaged = {0}, hidden = {0};

    for (size_t i = 0; i < g->n_gaps; i++) {
        const struct glibc_gap *gap = &g->gaps[i];
        bool is_hidden = gap_is_protected(g, gap);
        gap_count(is_hidden ? &hidden : &damaged, gap);
        HS_TRY(hs_ledger_move(ledger, GLIBC_OWNER, HS_MEMORY_LIVE,
                              is_hidden ? HS_MEMORY_INTERNAL : HS_MEMORY_DAMAGED, gap->begin,
                              gap->end, 0, err));
    }
    return note_gaps(g, &damaged, &hidden, err);
}

static hs_status glibc_prove(struct glibc_state *g, const char *what, uint64_t expected,
                             uint64_t found, struct hs_error *err)
{
    g->process->findings->n_torn += expected != found;
    return hs_findings_proof(g->process->findings, what, expected, found, err);
}

/* Proves that the segments found have as many bytes as the arenas have from the system, and that
 * free chunks have two equal sizes and are in lists. A main arena counts the holes that others'
 * sbrk left. */
static hs_status prove_arenas(struct glibc_state *g, struct hs_error *err)
{
    uint64_t expected = 0, found = 0, n_free = 0, n_footers = 0;

    for (size_t i = 0; i < g->n_arenas; i++) {
        const struct glibc_arena *arena = &g->arenas[i];
        bool counts_holes = arena->segment_bytes != arena->system_mem;
        expected += arena->system_mem;
        found += arena->segment_bytes + (counts_holes ? arena->hole_bytes : 0);
    }
    HS_TRY(glibc_prove(g, "glibc malloc: bytes of all arenas", expected, found, err));
    for (size_t i = 0; i < g->n_segments; i++) {
        n_free += g->segments[i].n_free;
        n_footers += g->segments[i].n_footers;
    }
    HS_TRY(
        glibc_prove(g, "glibc malloc: free chunks whose two sizes agree", n_free, n_footers, err));
    return glibc_prove(g, "glibc malloc: free chunks in a list of them", n_free, g->n_binned_known,
                       err);
}

static hs_status prove_mmapped(struct glibc_state *g, struct hs_error *err)
{
    uint64_t n_bytes, n;
    bool is_told;

    n = hs_glibc_mmapped_told(g, &n_bytes, &is_told);
    if (!is_told)
        return hs_findings_note(g->process->findings, true, err,
                                "the counters of glibc's malloc were not found: whether all "
                                "blocks with a mapping of their own are listed is not proved");
    HS_TRY(
        glibc_prove(g, "glibc malloc: blocks with a mapping of their own", n, g->n_mmapped, err));
    return glibc_prove(g, "glibc malloc: bytes of these mappings", n_bytes, g->mmapped_bytes, err);
}

/* Up to 2.41 the first malloc makes the thread's cache, later ones wait for the first free. */
static bool has_early_tcaches(const struct glibc_state *g)
{
    unsigned minor = 0;

    if (g->version[0] == '2' && g->version[1] == '.')
        for (const char *c = g->version + 2; *c >= '0' && *c <= '9' && minor < 1000; c++)
            minor = minor * 10 + (unsigned)(*c - '0');
    return minor < 42 && !g->instances[0].layout->has_inner_mmap_size;
}

static hs_status prove_caches(struct glibc_state *g, struct hs_error *err)
{
    HS_TRY(glibc_prove(g, "glibc malloc: blocks in thread caches", g->n_cached_told, g->n_cached,
                       err));
    HS_TRY(glibc_prove(g, "glibc malloc: blocks in fast lists", g->n_fast, g->n_fast_known, err));
    if (g->n_tcaches == 0 && g->instances[0].params.tcache_count != 0 && g->n_segments > 0 &&
        has_early_tcaches(g))
        return hs_findings_note(g->process->findings, true, err,
                                "no thread cache of glibc's malloc was found: freed blocks in one "
                                "are listed as live");
    return HS_OK;
}

/* An eighth of a bit per byte of heap that is not needed any more. */
static void drop_bits(struct glibc_state *g)
{
    hs_free(g->used);
    hs_free(g->freed);
    g->used = NULL;
    g->freed = NULL;
    g->used_capacity = 0;
    g->freed_capacity = 0;
}

static hs_status glibc_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                            struct hs_error *err)
{
    struct glibc_state *g = state;

    HS_TRY(hs_glibc_clear_tcaches(g, ledger, err));
    HS_TRY(hs_glibc_clear_fastbins(g, ledger, err));
    hs_glibc_check_bins(g);
    for (size_t i = 0; i < g->n_segments; i++)
        HS_TRY(mark_segment(g, &g->segments[i], map, err));
    HS_TRY(book_free(g, ledger, err));
    drop_bits(g);
    for (size_t i = 0; i < g->n_mmapped; i++)
        hs_heap_map_set(map, g->mmapped[i].user);
    HS_TRY(book_gaps(g, ledger, err));
    HS_TRY(prove_arenas(g, err));
    HS_TRY(prove_mmapped(g, err));
    return prove_caches(g, err);
}

const struct hs_allocator hs_allocator_glibc = {
    .name = GLIBC_OWNER,
    .open = glibc_open,
    .add_spans = glibc_add_spans,
    .mark = glibc_mark,
    .close = glibc_close,
    .version = glibc_version,
    .known_as = "glibc",
    .library = "libc.so.6",
    .symbols = {"__libc_malloc", "_IO_2_1_stdout_"},
};
