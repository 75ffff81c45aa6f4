/* Most blocks have a few edges, already in order or nearly: those are inserted. The rest go by the
 * bytes of their key in place (McIlroy, Bostic and McIlroy, "Engineering radix sort", 1993,
 * American flag sort). */
#include "edge_sort.h"

#include <assert.h>

enum { FEW = 16, PARTS = 256, WORD_BYTES = 8, KEY_BYTES = 2 * WORD_BYTES + 2 };

bool hs_edge_precedes(const struct hs_edge *x, const struct hs_edge *y)
{
    if (x->target != y->target)
        return x->target < y->target;
    if (x->offset_words != y->offset_words)
        return x->offset_words < y->offset_words;
    return hs_edge_kind_key(x) < hs_edge_kind_key(y);
}

static void edges_insert(struct hs_edge *edges, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct hs_edge edge = edges[i];
        size_t at = i;
        for (; at > 0 && hs_edge_precedes(&edge, &edges[at - 1]); at--)
            edges[at] = edges[at - 1];
        edges[at] = edge;
    }
}

static bool edges_are_sorted(const struct hs_edge *edges, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (hs_edge_precedes(&edges[i], &edges[i - 1]))
            return false;
    return true;
}

/* Byte `at` of the key, the most significant first. */
static inline uint8_t edge_key(const struct hs_edge *edge, unsigned at)
{
    if (at < WORD_BYTES)
        return (uint8_t)(edge->target >> (8 * (WORD_BYTES - 1 - at)));
    if (at < 2 * WORD_BYTES)
        return (uint8_t)(edge->offset_words >> (8 * (2 * WORD_BYTES - 1 - at)));
    return at == 2 * WORD_BYTES ? edge->edge_class : edge->reason;
}

/* The first byte in which keys differ, KEY_BYTES when all are the same. */
static unsigned edges_differ(const struct hs_edge *edges, size_t n)
{
    uint64_t target = 0, offset = 0;
    uint8_t edge_class = 0, reason = 0;

    for (size_t i = 1; i < n; i++) {
        target |= edges[i].target ^ edges[0].target;
        offset |= edges[i].offset_words ^ edges[0].offset_words;
        edge_class |= edges[i].edge_class ^ edges[0].edge_class;
        reason |= edges[i].reason ^ edges[0].reason;
    }
    if (target != 0)
        return (unsigned)__builtin_clzll(target) / 8;
    if (offset != 0)
        return WORD_BYTES + (unsigned)__builtin_clzll(offset) / 8;
    if (edge_class != 0)
        return 2 * WORD_BYTES;
    return reason != 0 ? KEY_BYTES - 1 : KEY_BYTES;
}

/* Puts each edge into the part that a byte of its key says. end[i]: of part i. */
static void edges_distribute(struct hs_edge *edges, size_t n, unsigned at, size_t end[PARTS])
{
    size_t next[PARTS], sum = 0;

    for (unsigned i = 0; i < PARTS; i++)
        end[i] = 0;
    for (size_t i = 0; i < n; i++)
        end[edge_key(&edges[i], at)]++;
    for (unsigned i = 0; i < PARTS; i++) {
        next[i] = sum;
        sum += end[i];
        end[i] = sum;
    }
    for (unsigned part = 0; part < PARTS; part++)
        while (next[part] < end[part]) {
            struct hs_edge edge = edges[next[part]];
            size_t *to = &next[edge_key(&edge, at)];
            edges[next[part]] = edges[*to];
            edges[(*to)++] = edge;
        }
}

static __attribute__((noinline)) void edges_sort_many(struct hs_edge *edges, size_t n)
{
    /* The parts of a part differ in a later byte only: the bytes of a key bound the depth. */
    struct {
        size_t begin, end;
    } parts[KEY_BYTES * PARTS];
    size_t end[PARTS], n_parts = 0;

    parts[n_parts].begin = 0;
    parts[n_parts++].end = n;
    while (n_parts != 0) {
        size_t begin = parts[--n_parts].begin, n_part = parts[n_parts].end - begin;
        unsigned at = n_part <= FEW ? KEY_BYTES : edges_differ(edges + begin, n_part);
        if (n_part <= FEW)
            edges_insert(edges + begin, n_part);
        if (at == KEY_BYTES)
            continue;
        edges_distribute(edges + begin, n_part, at, end);
        for (size_t i = 0, from = 0; i < PARTS; from = end[i++]) {
            if (end[i] - from < 2)
                continue;
            assert(n_parts < sizeof parts / sizeof *parts);
            parts[n_parts].begin = begin + from;
            parts[n_parts++].end = begin + end[i];
        }
    }
}

void hs_edges_sort(struct hs_edge *edges, size_t n)
{
    if (n <= FEW)
        edges_insert(edges, n);
    else if (!edges_are_sorted(edges, n))
        edges_sort_many(edges, n);
}
