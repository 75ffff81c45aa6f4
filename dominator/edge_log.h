/* The edges that the depth-first search puts down for later: written in sequence, then filtered in
 * sequence, then read in sequence. In memory; or in a spill, with a block of them in memory. */
#ifndef HS_EDGE_LOG_H
#define HS_EDGE_LOG_H

#include "base/spill.h"

/* An edge between preorder numbers. */
struct numbered_edge {
    uint32_t target, source;
};

struct edge_log {
    struct hs_budget *budget;
    struct numbered_edge *edges; /* owned pages; with a spill: what is not there yet */
    uint64_t n, capacity;        /* of these */
    uint64_t n_all;              /* of the spill, or once it is ended */
    uint64_t n_kept;             /* of these, once they are filtered */
    struct hs_spill spill;
    uint32_t last; /* the last source in the spill */
    uint64_t (*keep)(void *context, struct numbered_edge *edges, uint64_t n);
    void *keep_context; /* what a spill is filtered by when it is read; or NULL */
    bool spills;
};

hs_status edge_log_init(struct hs_budget *budget, uint64_t capacity, bool spills,
                        struct edge_log *ret, struct hs_error *err);
void edge_log_fini(struct edge_log *log);

/* Returns how many edges may be put behind edges[n] now. */
static inline uint64_t edge_log_room(const struct edge_log *log)
{
    return log->capacity - log->n;
}

/* Makes room, in a spill. */
hs_status edge_log_flush(struct edge_log *log, struct hs_error *err);
/* Ends the log: no more edges come; n_all is set. */
hs_status edge_log_end(struct edge_log *log, struct hs_error *err);

/* Filters block by block: `keep` moves what is to stay to the front and says how many these are;
 * sets n_kept. A spill stays as it is: `keep` is asked again whenever it is read, and must say the
 * same. */
hs_status edge_log_filter(struct edge_log *log,
                          uint64_t (*keep)(void *context, struct numbered_edge *edges, uint64_t n),
                          void *context, struct hs_error *err);
hs_status edge_log_read(struct edge_log *log,
                        void (*put)(void *context, const struct numbered_edge *edges, uint64_t n),
                        void *context, struct hs_error *err);

#endif
