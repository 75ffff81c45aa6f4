/* The proofs: what the runtime itself has counted, found by what is counted here.
 *
 * runtime.memstats begins with three generations of counts that are summed (mstats.go,
 * heapStatsDelta). It has no symbol in a stripped program: it is the place in the data where, for
 * most sizes of objects, allocations less frees are the objects that were found. */
#include <string.h>

#include "base/load.h"
#include "session.h"

enum { GENERATIONS = 3, WRONG_SHARE = 4, MISCOUNTED_SHARE = 8 };

/* The objects by size class; class 0 has the large ones. */
struct counts {
    int64_t objects[HS_GO_N_CLASSES];
    int64_t cached[HS_GO_N_CLASSES]; /* of them, those that a P has not told yet */
    uint64_t bytes[HS_GO_N_CLASSES]; /* of each object */
    uint64_t large_bytes;
    unsigned n_classes; /* with objects */
};

static void count_objects(const struct hs_go_heap *heap, struct counts *c)
{
    for (size_t i = 0; i < heap->n_spans; i++) {
        const struct hs_go_span *span = &heap->spans[i];
        unsigned class = span->spanclass / 2;
        if (span->is_stack)
            continue;
        uint64_t n = hs_bitmap_rank(&heap->live, span->first_slot + span->n_elems) -
                     hs_bitmap_rank(&heap->live, span->first_slot);
        c->objects[class] += (int64_t)n;
        c->bytes[class] = span->elem_bytes;
        if (class == 0)
            c->large_bytes += n * span->elem_bytes;
    }
    for (unsigned i = 1; i < HS_GO_N_CLASSES; i++)
        c->n_classes += c->objects[i] != 0;
}

/* Counts what processors took from the spans that they have, and told nobody of yet. */
static void count_cached(const struct hs_go_session *s, struct counts *c)
{
    const struct hs_go_layout *l = s->layout;
    const struct hs_image *image = &s->dump->image;

    for (size_t i = 0; i < s->goroutines.n_ps; i++) {
        hs_addr cache = hs_go_member(&s->heap, s->goroutines.ps[i], l->p_mcache);
        for (unsigned k = 0; cache != 0 && k < 2 * HS_GO_N_CLASSES; k++) {
            hs_addr span = hs_go_member(&s->heap, cache,
                                        (int64_t)l->mcache_alloc + (int64_t)k * HS_WORD_BYTES);
            uint16_t n, before;
            uint8_t spanclass;
            if (hs_image_u16(image, span + (uint64_t)l->mspan_allocCount, &n) &&
                hs_image_u16(image, span + (uint64_t)l->mspan_allocCountBeforeCache, &before) &&
                hs_image_u8(image, span + (uint64_t)l->mspan_spanclass, &spanclass) &&
                spanclass / 2 < HS_GO_N_CLASSES)
                c->cached[spanclass / 2] += (int64_t)n - before;
        }
    }
}

/* Sums a member over the generations. */
static uint64_t sum(const struct hs_go_layout *l, const uint8_t *stats, int32_t member, unsigned i)
{
    uint64_t n = 0;

    for (int32_t k = 0; k < GENERATIONS; k++)
        n += hs_load_u64(stats + k * l->heapStatsDelta_size + member + i * HS_WORD_BYTES);
    return n;
}

/* Counts are what the program has there: sums of them may wrap. */
static int64_t live_of(const struct hs_go_layout *l, const uint8_t *stats, unsigned class,
                       const struct counts *c)
{
    return (int64_t)(sum(l, stats, l->heapStatsDelta_smallAllocCount, class) -
                     sum(l, stats, l->heapStatsDelta_smallFreeCount, class) +
                     (uint64_t)c->cached[class]);
}

static uint64_t large_of(const struct hs_go_layout *l, const uint8_t *stats)
{
    return sum(l, stats, l->heapStatsDelta_largeAlloc, 0) -
           sum(l, stats, l->heapStatsDelta_largeFree, 0);
}

static uint64_t manual_of(const struct hs_go_layout *l, const uint8_t *stats)
{
    return sum(l, stats, l->heapStatsDelta_inStacks, 0) +
           sum(l, stats, l->heapStatsDelta_inWorkBufs, 0) +
           (l->heapStatsDelta_inPtrScalarBits < 0
                ? 0
                : sum(l, stats, l->heapStatsDelta_inPtrScalarBits, 0));
}

/* Counts the classes and the sums that do not agree; stops when it is no better than `most`. All
 * are asked: where only some are, a place one generation before the true one fits as well. */
static unsigned n_wrong(const struct hs_go_session *s, const uint8_t *stats, const struct counts *c,
                        unsigned most)
{
    const struct hs_go_layout *l = s->layout;
    unsigned n = 0;

    n += large_of(l, stats) != c->large_bytes;
    n += sum(l, stats, l->heapStatsDelta_inHeap, 0) != s->heap.span_bytes;
    n += manual_of(l, stats) != s->heap.manual_bytes;
    for (unsigned i = 1; i < HS_GO_N_CLASSES && n < most; i++)
        n += live_of(l, stats, i, c) != c->objects[i];
    return n;
}

static const uint8_t *find_stats(const struct hs_go_session *s, const struct counts *c)
{
    const struct hs_go_layout *l = s->layout;
    const uint8_t *best = NULL;
    unsigned wrong = c->n_classes / WRONG_SHARE + 1;
    static const unsigned order[] = {HS_GO_NOPTRBSS, HS_GO_BSS};
    uint64_t n_stats = GENERATIONS * (uint64_t)l->heapStatsDelta_size;

    for (size_t k = 0; k < sizeof order / sizeof *order && wrong != 0; k++) {
        const struct hs_go_data *data = &s->heap.module.data[order[k]];
        uint64_t n_bytes = data->end - data->begin;
        const uint8_t *bytes = hs_image_bytes(&s->dump->image, data->begin, n_bytes);
        for (uint64_t at = 0; bytes != NULL && at + n_stats <= n_bytes && wrong != 0;
             at += HS_WORD_BYTES) {
            unsigned n = n_wrong(s, bytes + at, c, wrong);
            best = n < wrong ? bytes + at : best;
            wrong = n < wrong ? n : wrong;
        }
    }
    return best;
}

static hs_status prove_by(struct hs_go_session *s, const uint8_t *stats, const struct counts *c,
                          struct hs_error *err)
{
    const struct hs_go_layout *l = s->layout;
    struct hs_findings *f = &s->findings;
    uint64_t n_bytes = large_of(l, stats), in_heap = sum(l, stats, l->heapStatsDelta_inHeap, 0);
    uint64_t n = sum(l, stats, l->heapStatsDelta_largeAllocCount, 0) -
                 sum(l, stats, l->heapStatsDelta_largeFreeCount, 0);

    for (unsigned i = 1; i < HS_GO_N_CLASSES; i++) {
        n += (uint64_t)live_of(l, stats, i, c);
        n_bytes += (uint64_t)live_of(l, stats, i, c) * c->bytes[i];
    }
    s->dump->findings.n_torn += n_bytes != s->heap.object_bytes || n != s->heap.n_objects ||
                                in_heap != s->heap.span_bytes ||
                                manual_of(l, stats) != s->heap.manual_bytes;
    HS_TRY(hs_findings_proof(f, "Go: HeapAlloc", n_bytes, s->heap.object_bytes, err));
    HS_TRY(hs_findings_proof(f, "Go: Mallocs - Frees", n, s->heap.n_objects, err));
    HS_TRY(hs_findings_proof(f, "Go: HeapInuse", in_heap, s->heap.span_bytes, err));
    return hs_findings_proof(f, "Go: stacks and work buffers", manual_of(l, stats),
                             s->heap.manual_bytes, err);
}

hs_status hs_go_prove(struct hs_go_session *s, struct hs_error *err)
{
    const struct hs_go_heap *heap = &s->heap;
    struct counts counts = {.n_classes = 0};

    if (heap->n_spans_in_use == 0 ||
        heap->n_miscounted + heap->n_damaged > heap->n_spans_in_use / MISCOUNTED_SHARE)
        return hs_fail(err, HS_TARGET,
                       "the heap of '%s' does not count its objects as Go %s does: %llu of %llu "
                       "spans differ",
                       s->dump->objects.objects[0].name, s->layout->name,
                       (unsigned long long)(heap->n_miscounted + heap->n_damaged),
                       (unsigned long long)heap->n_spans_in_use);
    s->dump->findings.n_torn += heap->n_miscounted;
    HS_TRY(hs_findings_proof(&s->findings, "Go: spans whose objects the runtime counts alike",
                             heap->n_spans_in_use, heap->n_spans_in_use - heap->n_miscounted, err));
    count_objects(heap, &counts);
    count_cached(s, &counts);
    const uint8_t *stats = find_stats(s, &counts);
    if (stats != NULL)
        return prove_by(s, stats, &counts, err);
    s->dump->findings.n_torn++;
    return hs_findings_note(&s->findings, true, err,
                            "the counts of Go's runtime were not found: nothing proves that all "
                            "its objects are listed");
}
