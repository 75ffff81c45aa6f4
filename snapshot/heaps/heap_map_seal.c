/* Sorting, refusing and cutting spans.
 *
 * One pass in order of (begin, larger first) keeps at most one outer span and the last span inside
 * of it. A new span that overlaps one of the two otherwise than by lying inside the outer one is in
 * conflict with it, and the one added later goes. */
#include "heap_map_seal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

#define SEAL_NONE SIZE_MAX

static int seal_compare(const void *left, const void *right)
{
    const struct hs_heap_span *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->first_bit < b->first_bit ? -1 : a->first_bit > b->first_bit;
}

/* The spans kept so far: those from `outer` + 1 on lie inside of it. A span that was dropped again
 * has form SEAL_DROPPED. */
struct seal_kept {
    struct hs_heap_span *spans;
    size_t n, outer;
    uint64_t n_refused;
};

#define SEAL_DROPPED UINT8_MAX

/* The last kept span inside the outer one, or SEAL_NONE. */
static size_t seal_inner(const struct seal_kept *kept)
{
    return kept->outer != SEAL_NONE && kept->n - 1 > kept->outer ? kept->n - 1 : SEAL_NONE;
}

/* Drops what is in the new span's way at `at`, or says that the new one has to go. */
static bool seal_yields(struct seal_kept *kept, size_t at, const struct hs_heap_span *new)
{
    kept->n_refused++;
    if (kept->spans[at].first_bit < new->first_bit)
        return false;
    if (at == kept->n - 1) {
        kept->n--;
        if (at == kept->outer)
            kept->outer = SEAL_NONE;
    } else {
        kept->spans[at].form = SEAL_DROPPED; /* what lies inside of it stays, as outer spans */
        kept->outer = SEAL_NONE;
    }
    return true;
}

static void seal_place(struct seal_kept *kept, const struct hs_heap_span *new)
{
    for (;;) {
        size_t inner = seal_inner(kept);
        if (kept->outer == SEAL_NONE || new->begin >= kept->spans[kept->outer].end) {
            kept->outer = kept->n;
            break;
        }
        const struct hs_heap_span *outer = &kept->spans[kept->outer];
        size_t in_the_way = SEAL_NONE;
        if (inner != SEAL_NONE && new->begin < kept->spans[inner].end)
            in_the_way = inner;
        else if (new->end > outer->end || (new->begin == outer->begin &&new->end == outer->end))
            in_the_way = kept->outer;
        if (in_the_way == SEAL_NONE)
            break;
        if (!seal_yields(kept, in_the_way, new))
            return;
    }
    kept->spans[kept->n++] = *new;
}

/* The part of an outer span from `begin` on, where a block may start; false when there is none. */
static bool seal_tail(const struct hs_heap_span *outer, hs_addr begin, struct hs_heap_span *ret)
{
    if (outer->form == HS_SPAN_SINGLE)
        return false;
    uint64_t unit = outer->unit_bytes;
    uint64_t n_before = (begin - outer->begin + unit - 1) / unit;
    if (n_before * unit >= outer->end - outer->begin)
        return false;
    *ret = *outer;
    ret->begin = outer->begin + n_before * unit;
    return true;
}

/* Cuts the outer span spans[0] around spans[1 .. n), and appends all to `to`; number appended. */
static size_t seal_cut(const struct hs_heap_span *spans, size_t n, struct hs_heap_span *to)
{
    struct hs_heap_span rest = spans[0];
    bool has_rest = true;
    size_t n_to = 0;

    for (size_t i = 1; i < n; i++) {
        if (has_rest && rest.begin < spans[i].begin) {
            to[n_to] = rest;
            to[n_to++].end = spans[i].begin;
        }
        to[n_to++] = spans[i];
        has_rest = seal_tail(&spans[0], spans[i].end, &rest);
    }
    if (has_rest && rest.begin < rest.end)
        to[n_to++] = rest;
    return n_to;
}

/* Number of spans that begin before the end of spans[0]: itself and those inside of it. */
static size_t seal_family(const struct hs_heap_span *spans, size_t n)
{
    size_t k = 1;

    while (k < n && spans[k].begin < spans[0].end)
        k++;
    return k;
}

hs_status hs_heap_spans_flatten(struct hs_heap_span **spans, size_t *n, size_t *capacity,
                                uint64_t *ret_n_refused, struct hs_error *err)
{
    struct seal_kept kept = {.spans = *spans, .outer = SEAL_NONE};

    struct hs_heap_span *flat;
    HS_TRY(HS_ALLOC(&flat, 2 * *n + 1, err));
    if (*n > 1)
        qsort(*spans, *n, sizeof **spans, seal_compare);
    for (size_t i = 0; i < *n; i++) {
        struct hs_heap_span new = (*spans)[i];
        seal_place(&kept, &new);
    }
    size_t n_left = 0, n_flat = 0;
    for (size_t i = 0; i < kept.n; i++)
        if (kept.spans[i].form != SEAL_DROPPED)
            kept.spans[n_left++] = kept.spans[i];
    for (size_t i = 0; i < n_left;) {
        size_t family = seal_family(kept.spans + i, n_left - i);
        n_flat += seal_cut(kept.spans + i, family, flat + n_flat);
        i += family;
    }
    assert(n_flat <= 2 * *n);
    *ret_n_refused = kept.n_refused;
    *capacity = 2 * *n + 1;
    *n = n_flat;
    hs_free(*spans);
    *spans = flat;
    return HS_OK;
}
