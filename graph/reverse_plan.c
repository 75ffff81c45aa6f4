/* The division into buckets: from the counts of in-edges, so that each can be sorted in the memory
 * there is. A count that is wrong costs time only. */
#include "reverse_plan.h"

#include "base/alloc.h"

#define MIN_EXTENT_BYTES ((uint64_t)16 << 10)
#define GOOD_EXTENT_BYTES ((uint64_t)128 << 10)
#define MAX_EXTENT_BYTES ((uint64_t)1 << 20)
#define MEMORY_EXTENT_BYTES ((uint64_t)64 << 10)
/* A bucket that fits into the processor's cache is sorted fastest. */
#define GOOD_SLOT_BYTES ((uint64_t)8 << 20)
#define MAX_SLOT_BYTES ((uint64_t)64 << 20)
#define MIN_SLOT_BYTES ((uint64_t)2 << 20)

uint64_t hs_reverse_run_count(const struct hs_reverse_counts *counts, uint64_t run)
{
    if (run < counts->n_tree_runs)
        return HS_SWEEP_RUN; /* a node of the tree has one in-edge */
    return counts->of_blocks[run - counts->n_tree_runs];
}

/* A bucket being cut. */
struct cut {
    uint64_t first_run, n_runs, n_records;
};

static unsigned shift_of(uint64_t n)
{
    return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

/* The next bucket from `run` on: as many runs as cost no more than bytes, but one. */
static struct cut cut_next(const struct hs_reverse_counts *counts, uint64_t run, uint64_t bytes,
                           unsigned source_bytes)
{
    struct cut cut = {.first_run = run};
    for (; run < counts->n_runs; run++) {
        uint64_t more = hs_reverse_run_count(counts, run), n_records;
        if (__builtin_add_overflow(cut.n_records, more, &n_records) || n_records > UINT64_MAX / 16)
            n_records = UINT64_MAX / 16;
        uint64_t n_targets = (cut.n_runs + 1) * HS_SWEEP_RUN;
        if (cut.n_runs != 0 && (n_targets > (uint64_t)1 << HS_REVERSE_MAX_SHIFT ||
                                hs_reverse_cost(n_targets, n_records, source_bytes) > bytes))
            break;
        cut.n_runs++;
        cut.n_records = n_records;
    }
    return cut;
}

/* Fills n_buckets and n_words of a plan for its bucket_bytes. */
static void plan_count(const struct hs_reverse_counts *counts, uint64_t n_nodes,
                       struct hs_reverse_plan *plan)
{
    uint64_t n_words = plan->max_edges;

    plan->n_buckets = 0;
    for (uint64_t run = 0; run < counts->n_runs;) {
        struct cut cut = cut_next(counts, run, plan->bucket_bytes, plan->source_bytes);
        /* The gaps of a bucket add up to n_nodes at most: that bounds the escaped ones. */
        uint64_t n_escaped = n_nodes / hs_reverse_escape(shift_of(cut.n_runs * HS_SWEEP_RUN));
        n_words += n_escaped < plan->max_edges ? n_escaped : plan->max_edges;
        n_words += 2 * (n_nodes / UINT32_MAX);
        plan->n_buckets++;
        run += cut.n_runs;
    }
    uint64_t most = 2 * plan->max_edges + 2 * plan->n_buckets * (n_nodes / UINT32_MAX);
    plan->n_words = n_words < most ? n_words : most;
}

/* Extents of a size for all records, when every bucket leaves its last one all but empty. */
static uint64_t plan_extents(const struct hs_reverse_plan *plan, uint64_t extent_words)
{
    return plan->n_words / (extent_words - (HS_REVERSE_RECORD_WORDS - 1)) + plan->n_buckets + 1;
}

static bool plan_memory(struct hs_reverse_plan *plan, uint64_t usable)
{
    uint64_t extent_words = MEMORY_EXTENT_BYTES / sizeof(uint32_t), n_bytes;
    uint64_t slots = plan->n_slots * plan->bucket_bytes;

    if (__builtin_mul_overflow(plan_extents(plan, extent_words), MEMORY_EXTENT_BYTES, &n_bytes) ||
        n_bytes > usable || usable - n_bytes < slots)
        return false;
    plan->in_memory = true;
    plan->slot_bytes = plan->bucket_bytes;
    plan->extent_words = extent_words;
    plan->buffer_words = n_bytes / sizeof(uint32_t);
    return true;
}

/* Each slot reads extents, too. */
static uint64_t extent_most(uint64_t usable)
{
    return usable / 16 < MAX_EXTENT_BYTES ? usable / 16 / 4096 * 4096 : MAX_EXTENT_BYTES;
}

/* Buckets as small as is good, if each can have a good extent; else larger ones, up to what a slot
 * sorts; else ones that are too large. */
static hs_status plan_disk(const struct hs_reverse_counts *counts, uint64_t n_nodes,
                           uint64_t usable, struct hs_reverse_plan *plan, struct hs_error *err)
{
    uint64_t buffers = usable / 2 - HS_SPILL_BUFFER_BYTES, most = extent_most(usable);

    while (plan->bucket_bytes * 2 <= plan->slot_bytes &&
           plan->n_buckets * GOOD_EXTENT_BYTES > buffers) {
        plan->bucket_bytes *= 2;
        plan_count(counts, n_nodes, plan);
    }
    if (plan->n_buckets * GOOD_EXTENT_BYTES > buffers) {
        plan->bucket_bytes = plan->slot_bytes;
        plan_count(counts, n_nodes, plan);
    }
    while (plan->n_buckets * MIN_EXTENT_BYTES > buffers) {
        if (plan->bucket_bytes > UINT64_MAX / 16)
            return hs_fail(err, HS_LIMIT, "too many nodes to turn their edges round in %llu bytes",
                           (unsigned long long)usable);
        plan->bucket_bytes *= 2;
        plan_count(counts, n_nodes, plan);
    }
    uint64_t extent = buffers / plan->n_buckets;
    extent = extent > most ? most : extent / 4096 * 4096;
    plan->extent_words = extent / sizeof(uint32_t);
    plan->buffer_words = plan->n_buckets * plan->extent_words;
    return HS_OK;
}

/* Plans as many slots as threads keep busy, one more for what is being emitted. */
static void plan_slots(uint64_t usable, unsigned n_threads, struct hs_reverse_plan *plan)
{
    uint64_t extent = extent_most(usable);

    if (n_threads > HS_REVERSE_MAX_SLOTS - 1)
        n_threads = HS_REVERSE_MAX_SLOTS - 1;
    plan->n_slots = n_threads == 1 ? 1 : n_threads + 1;
    while (plan->n_slots > 1 && usable / plan->n_slots < MIN_SLOT_BYTES + extent)
        plan->n_slots--;
    plan->n_threads = plan->n_slots < n_threads ? plan->n_slots : n_threads;
    plan->slot_bytes = usable / plan->n_slots - extent;
    if (plan->slot_bytes > MAX_SLOT_BYTES)
        plan->slot_bytes = MAX_SLOT_BYTES;
    plan->slot_bytes = plan->slot_bytes / 4096 * 4096;
}

hs_status hs_reverse_plan(const struct hs_reverse_counts *counts, const struct hs_sweep *forward,
                          uint64_t usable, unsigned n_threads, struct hs_reverse_plan *ret,
                          struct hs_error *err)
{
    struct hs_reverse_plan plan = {.max_edges = forward->max_edges,
                                   .source_bytes = forward->n_nodes > UINT32_MAX ? 8 : 4};

    assert(forward->max_edges <= HS_REVERSE_MAX_EDGES);
    plan_slots(usable, n_threads, &plan);
    plan.bucket_bytes = plan.slot_bytes < GOOD_SLOT_BYTES ? plan.slot_bytes : GOOD_SLOT_BYTES;
    plan_count(counts, forward->n_nodes, &plan);
    if (plan_memory(&plan, usable)) {
        *ret = plan;
        return HS_OK;
    }
    HS_TRY(plan_disk(counts, forward->n_nodes, usable, &plan, err));
    *ret = plan;
    return HS_OK;
}

void hs_reverse_cut(const struct hs_reverse_counts *counts, const struct hs_reverse_plan *plan,
                    struct hs_reverse_buckets *buckets)
{
    uint32_t i = 0;
    for (uint64_t run = 0; run < counts->n_runs; i++) {
        struct cut cut = cut_next(counts, run, plan->bucket_bytes, plan->source_bytes);
        uint64_t begin = cut.first_run * HS_SWEEP_RUN, end = begin + cut.n_runs * HS_SWEEP_RUN;
        begin -= begin < buckets->pad ? begin : buckets->pad;
        end -= buckets->pad;
        if (end > buckets->n_nodes)
            end = buckets->n_nodes;
        assert(i < plan->n_buckets && end > begin);
        buckets->buckets[i] = (struct hs_reverse_bucket){.first = begin,
                                                         .n = (uint32_t)(end - begin),
                                                         .shift = shift_of(end - begin),
                                                         .first_extent = HS_REVERSE_NO_EXTENT,
                                                         .last_extent = HS_REVERSE_NO_EXTENT};
        for (; cut.n_runs != 0; cut.n_runs--)
            buckets->of_run[run++] = i;
    }
    assert(i == plan->n_buckets);
}
