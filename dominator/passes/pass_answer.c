/* Nearest common ancestors within regions, all at once: the way from the head to each position in
 * turn is at hand when the positions are swept, and positions on it ascend. */
#include <assert.h>

#include "base/load.h"
#include "pass_steps.h"

#define SHORT 32 /* sorted by insertion */
#define BATCH 8192
#define TELL_BATCHES 64

/* ---- in place, by `high`: byte by byte from the top (McIlroy, Bostic, McIlroy: "Engineering Radix
 * Sort", 1993, American flag sort) ---- */

struct query_range {
    struct pass_query *queries;
    uint64_t n;
    unsigned shift; /* of the byte that tells them apart */
};

static void queries_insert(struct pass_query *queries, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        struct pass_query query = queries[i];
        uint64_t at = i;
        for (; at != 0 && queries[at - 1].high > query.high; at--)
            queries[at] = queries[at - 1];
        queries[at] = query;
    }
}

static inline unsigned query_digit(const struct pass_query *query, unsigned shift)
{
    return query->high >> shift & 0xff;
}

/* Deals the queries of a range out to their digits. next[d] ends where digit d does. */
static void queries_deal(const struct query_range *range, uint64_t *next)
{
    struct pass_query *queries = range->queries;
    uint64_t end[256], sum = 0;

    for (unsigned digit = 0; digit < 256; digit++)
        next[digit] = 0;
    for (uint64_t i = 0; i < range->n; i++)
        next[query_digit(&queries[i], range->shift)]++;
    for (unsigned digit = 0; digit < 256; digit++) {
        uint64_t n = next[digit];
        next[digit] = sum;
        sum += n;
        end[digit] = sum;
    }
    for (unsigned digit = 0; digit < 256; digit++)
        while (next[digit] < end[digit]) {
            struct pass_query query = queries[next[digit]];
            unsigned to;
            while ((to = query_digit(&query, range->shift)) != digit) {
                struct pass_query other = queries[next[to]];
                queries[next[to]++] = query;
                query = other;
            }
            queries[next[digit]++] = query;
        }
}

/* Each range on the stack adds at most 255 to it, once per byte. */
static void queries_sort(struct pass_query *queries, uint64_t n)
{
    struct query_range stack[8 * 256];
    unsigned n_stack = 0, shift = 0;

    for (uint64_t i = 0; i < n; i++)
        while (shift < 56 && queries[i].high >> shift > 0xff)
            shift += 8;
    stack[n_stack++] = (struct query_range){queries, n, shift};
    while (n_stack != 0) {
        struct query_range range = stack[--n_stack];
        uint64_t next[256];
        if (range.n <= SHORT) {
            queries_insert(range.queries, range.n);
            continue;
        }
        queries_deal(&range, next);
        if (range.shift == 0)
            continue;
        for (unsigned digit = 0; digit < 256; digit++) {
            uint64_t begin = digit == 0 ? 0 : next[digit - 1];
            if (next[digit] - begin > 1)
                stack[n_stack++] = (struct query_range){range.queries + begin, next[digit] - begin,
                                                        range.shift - 8};
        }
    }
}

/* ---- the sweep ---- */

struct answerer {
    struct hs_passes *passes;
    const struct pass_query *queries, *end;
    struct hs_ids way; /* by depth: the position there on the way to the one at hand */
};

/* The deepest on the way, down to `depth`, that is not behind `low`. */
static uint64_t answer_find(const struct hs_ids *way, uint64_t depth, uint64_t low)
{
    uint64_t first = 0, end = depth + 1; /* way[first] <= low < way[end] */
    while (end - first > 1) {
        uint64_t middle = first + (end - first) / 2;
        if (hs_ids_get(way, middle) <= low)
            first = middle;
        else
            end = middle;
    }
    return hs_ids_get(way, first);
}

static void answer_batch(struct answerer *answerer, const uint8_t *depths, uint64_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t position = first + i;
        uint32_t depth = hs_load_u32(depths + i * sizeof depth);
        assert(depth <= answerer->passes->max_depth);
        hs_ids_set(&answerer->way, depth, position);
        const struct pass_query *query = answerer->queries;
        for (; query != answerer->end && query->high == position; query++) {
            assert(query->low <= query->high && hs_ids_get(&answerer->way, 0) <= query->low);
            assert(query->core < answerer->passes->n_core);
            hs_ids_set(&answerer->passes->attach, query->core,
                       answer_find(&answerer->way, depth, query->low));
        }
        answerer->queries = query;
    }
}

static hs_status answer_all(struct answerer *answerer, const struct hs_progress *progress,
                            struct hs_spill_reader *reader, struct hs_error *err)
{
    uint64_t n = answerer->passes->n_positions;
    uint64_t n_batches = 0;

    for (uint64_t first = 0; first < n && answerer->queries != answerer->end; n_batches++) {
        const uint8_t *depths;
        size_t n_batch = n - first < BATCH ? (size_t)(n - first) : BATCH;
        if (n_batches % TELL_BATCHES == 0)
            HS_TRY(hs_progress_tell(progress, "attaching the regions", first, n, err));
        HS_TRY(hs_spill_get_bytes(reader, n_batch * sizeof(uint32_t), &depths, err));
        answer_batch(answerer, depths, first, n_batch);
        first += n_batch;
    }
    assert(answerer->queries == answerer->end);
    return HS_OK;
}

uint64_t pass_answer_bytes(const struct hs_passes *passes)
{
    return (passes->max_depth + 1) * hs_ids_width(passes->n_positions) + sizeof(uint64_t);
}

hs_status pass_answer_run(struct hs_passes *passes, struct pass_query *queries, uint64_t n,
                          const struct hs_progress *progress, struct hs_error *err)
{
    struct answerer answerer = {.passes = passes, .queries = queries, .end = queries + n};
    struct hs_spill_reader reader = {0};

    if (n == 0)
        return HS_OK;
    queries_sort(queries, n);
    HS_TRY(hs_ids_init(passes->max_depth + 1, passes->n_positions, passes->budget,
                       "the way through a region", &answerer.way, err));
    hs_status status = hs_spill_read(&passes->depths, 0, passes->depths.n_bytes, &reader, err);
    if (status == HS_OK)
        status = answer_all(&answerer, progress, &reader, err);
    hs_spill_reader_close(&reader);
    hs_ids_fini(&answerer.way);
    return status;
}
