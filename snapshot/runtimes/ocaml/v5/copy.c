/* Lists and copies the heap of an OCaml 5 program while it is stopped.
 *
 *   caml_heap_state: avail[32] full[32] unswept_avail[32] unswept_full[32]   lists of pools
 *                    swept_large unswept_large   next_to_sweep   owner   stats[8]
 *   pool, 4096 words: next  next_obj  owner  size_class | wastage | slots, header first
 *   large block:      owner  next | header, fields
 *
 * Pools and large blocks of ended domains hang on pool_freelist until a living one adopts them.
 * Every list is read by its heads alone; then what is side by side is copied in one run.
 *
 * In 5.1 the wastage is at the end, and the sizes differ.
 *
 * Sources: runtime/shared_heap.c, caml/sizeclasses.h of 5.1.1, 5.2.0 and 5.3. */
#include <stdlib.h>

#include "base/alloc.h"
#include "ocaml5.h"

enum {
    N_CLASSES = 32,
    N_LISTS = 4 * N_CLASSES,
    POOL_WORDS = 4096,
    POOL_HEAD_WORDS = 4,
    POOL_OWNER = 2, /* words of a pool */
    POOL_CLASS = 3,
    LARGE_HEAD_WORDS = 2,
    SMALL_WORDS_MAX = 128, /* SIZECLASS_MAX */
    HEAP_LARGE = 128,      /* words of caml_heap_state */
    HEAP_OWNER = 131,
    HEAP_STATS = 132,
    HEAP_WORDS = 140,
    FREELIST_STATS = 6, /* words of pool_freelist */
    FREELIST_AVAIL = 14,
    FREELIST_LARGE = 78,
    FREELIST_WORDS = 79,
    RUN_GAP_BYTES = 1 << 14, /* cheaper to read than another run */
};

enum {
    STAT_POOL_WORDS,
    STAT_LIVE_WORDS = 2,
    STAT_LIVE_BLOCKS,
    STAT_LARGE_WORDS = 5,
    STAT_LARGE_BLOCKS = 7,
    N_STATS
};

/* sizeclasses.h: of 5.1, and of what came after. */
static const uint8_t class_words[2][N_CLASSES] = {
    {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 14, 16, 18,  20,  23,
     26, 29, 33, 37, 42, 47, 53, 59, 65, 73, 81, 89, 99, 108, 118, 128},
    {1,  2,  3,  4,  5,  6,  7,  8,  10, 12, 14, 16, 17, 19,  22,  25,
     28, 32, 33, 37, 42, 47, 53, 59, 65, 73, 81, 89, 99, 108, 118, 128}};

struct lists {
    struct hs_ocaml *rt;
    uint64_t stats[N_STATS];
    uint64_t n_damaged, n_pools, n_large, n_large_words;
};

static uint64_t slot_words(const struct lists *l, unsigned size_class)
{
    return class_words[l->rt->five->layout.minor > 1][size_class];
}

/* Finds the slots of a pool, which follow the head in 5.1, and end with the pool later on. */
static struct hs_span pool_slots(const struct lists *l, hs_addr pool, unsigned size_class)
{
    uint64_t slot = slot_words(l, size_class);
    uint64_t n_words = (POOL_WORDS - POOL_HEAD_WORDS) / slot * slot;
    uint64_t first =
        l->rt->five->layout.minor > 1 ? POOL_WORDS - n_words : (uint64_t)POOL_HEAD_WORDS;

    return (struct hs_span){.begin = pool + first * HS_WORD,
                            .end = pool + (first + n_words) * HS_WORD};
}

static bool lists_read(struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    return address % HS_WORD == 0 && address < HS_USER_END &&
           hs_target_read(rt->target, address, words, n * sizeof *words, &ignored) == HS_OK;
}

static bool lists_end(struct lists *l, struct hs_cycle *cycle, hs_addr cell)
{
    if (cell == 0)
        return true;
    bool is_damaged = hs_cycle_found(cycle, cell);
    l->n_damaged += is_damaged;
    return is_damaged;
}

static hs_status lists_add(struct lists *l, hs_addr begin, hs_addr end, unsigned slot_words,
                           struct hs_error *err)
{
    HS_TRY(hs_spans_add(&l->rt->chunks, begin, end, err));
    l->rt->chunks.spans[l->rt->chunks.n - 1].slot_words = (uint8_t)slot_words;
    return HS_OK;
}

/* Adds a list of pools. A pool that a domain adopted from one that ended has no owner
 * (pool_global_adopt). */
static hs_status lists_pools(struct lists *l, hs_addr pool, unsigned size_class, hs_addr owner,
                             struct hs_error *err)
{
    struct hs_cycle cycle = {0};
    uint64_t w[POOL_HEAD_WORDS];

    for (; !lists_end(l, &cycle, pool); pool = w[0]) {
        if (!lists_read(l->rt, pool, w, POOL_HEAD_WORDS) ||
            (w[POOL_OWNER] != owner && w[POOL_OWNER] != 0) ||
            (uint32_t)w[POOL_CLASS] != size_class) {
            l->n_damaged++;
            return HS_OK;
        }
        struct hs_span slots = pool_slots(l, pool, size_class);
        HS_TRY(lists_add(l, slots.begin, slots.end, (unsigned)slot_words(l, size_class), err));
        l->n_pools++;
    }
    return HS_OK;
}

/* Adds a list of large blocks, whose owner may have ended. */
static hs_status lists_large(struct lists *l, hs_addr large, struct hs_error *err)
{
    struct hs_cycle cycle = {0};
    uint64_t w[LARGE_HEAD_WORDS + 1];

    for (; !lists_end(l, &cycle, large); large = w[1]) {
        if (!lists_read(l->rt, large, w, LARGE_HEAD_WORDS + 1)) {
            l->n_damaged++;
            return HS_OK;
        }
        uint64_t n_words = HS_HEADER_WOSIZE(w[LARGE_HEAD_WORDS]) + 1;
        hs_addr begin = large + LARGE_HEAD_WORDS * HS_WORD;
        if (n_words <= SMALL_WORDS_MAX || n_words > (HS_USER_END - begin) / HS_WORD) {
            l->n_damaged++;
            continue;
        }
        HS_TRY(lists_add(l, begin, begin + n_words * HS_WORD, 0, err));
        l->n_large++;
        l->n_large_words += n_words + LARGE_HEAD_WORDS;
    }
    return HS_OK;
}

static void lists_stats(struct lists *l, const uint64_t *stats)
{
    for (size_t i = 0; i < N_STATS; i++)
        l->stats[i] += stats[i];
}

static hs_status lists_domain(struct lists *l, const struct hs_ocaml5_domain *domain,
                              struct hs_error *err)
{
    uint64_t heap[HEAP_WORDS];

    if (!lists_read(l->rt, domain->shared_heap, heap, HEAP_WORDS)) {
        l->n_damaged++;
        return HS_OK;
    }
    for (unsigned i = 0; i < N_LISTS; i++)
        HS_TRY(lists_pools(l, heap[i], i % N_CLASSES, domain->state, err));
    for (unsigned i = 0; i < 2; i++)
        HS_TRY(lists_large(l, heap[HEAP_LARGE + i], err));
    lists_stats(l, heap + HEAP_STATS);
    return HS_OK;
}

static hs_status lists_ended(struct lists *l, struct hs_error *err)
{
    uint64_t list[FREELIST_WORDS];

    if (l->rt->five->pool_freelist == 0)
        return hs_findings_note(&l->rt->findings, true, err,
                                "what ended domains left in the heap was not found");
    if (!lists_read(l->rt, l->rt->five->pool_freelist, list, FREELIST_WORDS)) {
        l->n_damaged++;
        return HS_OK;
    }
    for (unsigned i = 0; i < 2 * N_CLASSES; i++)
        HS_TRY(lists_pools(l, list[FREELIST_AVAIL + i], i % N_CLASSES, 0, err));
    HS_TRY(lists_large(l, list[FREELIST_LARGE], err));
    lists_stats(l, list + FREELIST_STATS);
    return HS_OK;
}

static int by_begin(const void *a, const void *b)
{
    const struct hs_span *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1)
                                : (x->end > y->end) - (x->end < y->end);
}

/* Sorts the chunks. Sound ones are disjoint: of two that overlap the first stays. */
static void lists_sort(struct lists *l)
{
    struct hs_spans *chunks = &l->rt->chunks;
    size_t n = 0;

    if (chunks->n > 1)
        qsort(chunks->spans, chunks->n, sizeof *chunks->spans, by_begin);
    for (size_t i = 0; i < chunks->n; i++) {
        if (n != 0 && chunks->spans[i].begin < chunks->spans[n - 1].end)
            l->n_damaged++;
        else
            chunks->spans[n++] = chunks->spans[i];
    }
    chunks->n = n;
}

static hs_status lists_copy(struct hs_ocaml *rt, struct hs_error *err)
{
    const struct hs_spans *chunks = &rt->chunks;
    size_t i = 0;

    while (i < chunks->n) {
        hs_addr begin = chunks->spans[i].begin, end = chunks->spans[i].end;
        const struct hs_mapping *mapping = hs_target_mapping_at(rt->target, begin);
        for (i++; i < chunks->n && mapping != NULL && chunks->spans[i].end <= mapping->end &&
                  chunks->spans[i].begin - end <= RUN_GAP_BYTES;
             i++)
            end = chunks->spans[i].end;
        HS_TRY(hs_image_copy(rt->image, rt->target, begin, end, err));
    }
    for (size_t d = 0; d < rt->five->n_domains; d++) {
        const struct hs_ocaml5_domain *domain = &rt->five->domains[d];
        hs_addr ephemerons = hs_ocaml5_word(domain, rt->five->layout.ephe_info);
        if (domain->young_ptr < domain->young_end)
            HS_TRY(hs_image_copy(rt->image, rt->target, domain->young_ptr, domain->young_end, err));
        if (ephemerons % HS_WORD == 0 && ephemerons < HS_USER_END)
            HS_TRY(hs_image_copy(rt->image, rt->target, ephemerons, ephemerons + 2 * HS_WORD, err));
    }
    return HS_OK;
}

static hs_status lists_report(const struct lists *l, struct hs_error *err)
{
    struct hs_ocaml *rt = l->rt;

    HS_TRY(hs_findings_proof(&rt->findings, "ocaml domains, by the runtime's count",
                             rt->five->n_running, rt->five->n_domains, err));
    HS_TRY(hs_findings_proof(&rt->findings,
                             "ocaml heap: words of the pools, by the runtime's count",
                             l->stats[STAT_POOL_WORDS], l->n_pools * POOL_WORDS, err));
    HS_TRY(hs_findings_proof(&rt->findings, "ocaml heap: large blocks, by the runtime's count",
                             l->stats[STAT_LARGE_BLOCKS], l->n_large, err));
    HS_TRY(hs_findings_proof(&rt->findings,
                             "ocaml heap: words of large blocks, by the runtime's count",
                             l->stats[STAT_LARGE_WORDS], l->n_large_words, err));
    if (rt->five->n_running != rt->five->n_domains)
        HS_TRY(hs_findings_note(&rt->findings, true, err, "%zu of %llu domains were found",
                                rt->five->n_domains, (unsigned long long)rt->five->n_running));
    if (l->stats[STAT_POOL_WORDS] != l->n_pools * POOL_WORDS ||
        l->stats[STAT_LARGE_WORDS] != l->n_large_words)
        HS_TRY(hs_findings_note(
            &rt->findings, true, err,
            "the heap's pools and large blocks hold %llu words but the runtime "
            "counts %llu",
            (unsigned long long)(l->n_pools * POOL_WORDS + l->n_large_words),
            (unsigned long long)(l->stats[STAT_POOL_WORDS] + l->stats[STAT_LARGE_WORDS])));
    if (l->n_damaged != 0)
        HS_TRY(
            hs_findings_note(&rt->findings, true, err,
                             "%llu lists of pools or large blocks are damaged: what follows there "
                             "was left out",
                             (unsigned long long)l->n_damaged));
    return HS_OK;
}

hs_status hs_ocaml5_copy_heap(struct hs_ocaml *rt, struct hs_error *err)
{
    struct lists l = {.rt = rt};

    rt->chunks.n = 0;
    for (size_t i = 0; i < rt->five->n_domains; i++)
        HS_TRY(lists_domain(&l, &rt->five->domains[i], err));
    HS_TRY(lists_ended(&l, err));
    lists_sort(&l);
    rt->heap_blocks = l.stats[STAT_LIVE_BLOCKS] + l.stats[STAT_LARGE_BLOCKS];
    rt->heap_words = l.stats[STAT_LIVE_WORDS] + l.stats[STAT_LARGE_WORDS] -
                     LARGE_HEAD_WORDS * l.stats[STAT_LARGE_BLOCKS];
    HS_TRY(lists_copy(rt, err));
    HS_TRY(lists_report(&l, err));
    return hs_ocaml5_copy_fibers(rt, err);
}

uint64_t hs_ocaml5_heap_bytes(struct hs_ocaml *rt)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < rt->five->n_domains; i++) {
        const struct hs_ocaml5_domain *domain = &rt->five->domains[i];
        uint64_t stats[N_STATS];
        n_bytes += domain->young_end - domain->young_start;
        if (hs_target_read(rt->target, domain->shared_heap + HEAP_STATS * HS_WORD, stats,
                           sizeof stats, &ignored) == HS_OK)
            n_bytes += (stats[STAT_POOL_WORDS] + stats[STAT_LARGE_WORDS]) * HS_WORD;
    }
    return n_bytes;
}
