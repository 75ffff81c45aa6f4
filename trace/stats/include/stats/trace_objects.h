/* The sampled allocations of a trace: one pass over its events gives each its birth, its death or
 * none, its size and its backtrace.
 *
 * Resident: 24 bytes per sampled allocation and 4.5 to find it by its identifier, so 100 million
 * take 2.9 GB; besides, each distinct backtrace (stats/stacks.h) and each distinct combination of
 * size, samples and area once. In chunks, so nothing is ever copied.
 *
 * A life is half open: an object is alive at t when born <= t < died. So a range of one point, the
 * line of live words and the peak mean the same.
 *
 * Limit: times count to 2^48 - 2 microseconds (8.9 years) and the samples of one allocation to
 * 2^31 - 1; beyond that they stay there. At most 2^32 - 2 allocations. */
#ifndef HS_STATS_TRACE_OBJECTS_H
#define HS_STATS_TRACE_OBJECTS_H

#include "stats/stacks.h"
#include "trace/trace.h"

#define HS_OBJECT_CHUNK_BITS 16
#define HS_OBJECT_NEVER (((uint64_t)1 << 48) - 1) /* died_us of what was not freed */
#define HS_OBJECT_MAX_SAMPLES (((uint32_t)1 << 31) - 1)

struct hs_trace_object {
    uint64_t born_us : 48;
    uint64_t domain : 16;
    uint64_t died_us : 48; /* HS_OBJECT_NEVER; never before born_us */
    uint64_t is_promoted : 1;
    uint64_t is_selected : 1; /* by the filter that was applied last; at first all are */
    uint32_t stack;           /* node of the stacks */
    uint32_t shape;           /* index of the shapes */
};

/* The shape that allocations have in common, with what each of them stands for, times the rate. */
struct hs_trace_shape {
    uint64_t words; /* without the header, as in the file */
    uint32_t n_samples;
    uint8_t source;        /* enum hs_trace_source */
    double allocations;    /* n_samples / s, with s of hs_trace_shape_sampled_words */
    double allocations_sq; /* n_samples / s^2 */
};

/* The totals of a run; all counts are of events. */
struct hs_trace_counts {
    uint64_t n_allocations, n_promotions, n_collections;
    uint64_t n_unmatched;    /* promotions and collections of no allocation, or of a freed one */
    uint64_t n_samples;      /* of all allocations */
    uint64_t n_live_samples; /* of those that were never freed */
    uint64_t end_us;         /* time of the latest event */
    uint64_t peak_us;        /* the first time at which most samples were alive; */
    uint64_t n_peak_samples; /* so many */
};

struct hs_trace_objects {
    struct hs_stats_memory memory;
    struct hs_stacks stacks;
    struct hs_trace_object **chunks; /* owned */
    size_t n_chunks, chunks_capacity;
    uint64_t n;
    struct hs_trace_shape *shapes; /* owned */
    size_t n_shapes, shapes_capacity;
    struct hs_trace_counts counts;

    /* The tables used while building. */
    struct hs_key_table sizes, samples, shape_keys; /* two numbers make a key of the third */
    struct hs_key_table id_pages;                   /* identifiers in groups of 64 */
    uint32_t **ids; /* owned: runs of such pages; object + 1, 0 for none */
    size_t n_ids, ids_capacity;
    uint64_t now_us; /* while events come in order of time, the peak is found on the way */
    bool is_disordered;
};

/* Begins the objects. `budget` may be NULL. */
void hs_trace_objects_init(struct hs_trace_objects *objects, struct hs_budget *budget);
void hs_trace_objects_fini(struct hs_trace_objects *objects);

/* Adds one event, in the order of the file. HS_LIMIT. */
hs_status hs_trace_objects_add(struct hs_trace_objects *objects, const struct hs_trace_event *event,
                               struct hs_error *err);
/* Ends the building after the last event: finds the peak where the events of several domains were
 * not in order of time (sorts them piece by piece, 16 MiB at a time), frees what only building
 * needs. */
hs_status hs_trace_objects_finish(struct hs_trace_objects *objects, struct hs_error *err);

static inline struct hs_trace_object *hs_trace_object(const struct hs_trace_objects *objects,
                                                      uint64_t at)
{
    return &objects->chunks[at >> HS_OBJECT_CHUNK_BITS]
                           [at & (((uint64_t)1 << HS_OBJECT_CHUNK_BITS) - 1)];
}

static inline bool hs_trace_object_is_live(const struct hs_trace_object *object, uint64_t at_us)
{
    return object->born_us <= at_us && at_us < object->died_us;
}

/* Returns the words that were drawn from: the header counts, which memory outside of the heap does
 * not have. */
static inline uint64_t hs_trace_shape_sampled_words(uint64_t words, unsigned source)
{
    uint64_t all = words + (source != HS_TRACE_EXTERNAL);
    return all < 1 ? 1 : all;
}

#endif
