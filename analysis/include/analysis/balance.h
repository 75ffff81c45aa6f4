/* The balance of a process: its resident memory in parts that a reader can act on. They add up to
 * the resident size. What keeps blocks alive explains the first part only. */
#ifndef HS_ANALYSIS_BALANCE_H
#define HS_ANALYSIS_BALANCE_H

#include "analysis/view.h"

enum hs_balance_part {
    HS_BALANCE_LIVE,     /* blocks in use, of every heap that was read */
    HS_BALANCE_FREE,     /* free, cached or dirty in an allocator */
    HS_BALANCE_MAPPINGS, /* of files, shared, or private ones that no allocator has */
    HS_BALANCE_STACKS,
    HS_BALANCE_TABLES, /* an allocator's own: headers, tables, padding */
    HS_BALANCE_BINARIES,
    HS_BALANCE_OTHER,
    HS_BALANCE_ABSENT, /* that a dump of a collector's heap alone has not looked at */
    HS_N_BALANCE_PARTS
};

enum { HS_BALANCE_RUNTIME_BYTES = 64 };

struct hs_balance {
    uint64_t resident_bytes; /* 0: the snapshot does not say where the memory was */
    uint64_t bytes[HS_N_BALANCE_PARTS];
    uint64_t live_bytes;   /* of the live heap, resident or not: what the sentences speak of */
    uint64_t n_free;       /* pieces of free memory, where they were counted */
    uint64_t dirty_bytes;  /* of free: whole pages that the allocator may give back */
    uint64_t shared_bytes; /* of mappings: of files and shared */
    /* The threads that have ended and that nobody has joined: how many, and what their stacks have
     * reserved, resident or not. */
    uint64_t n_unjoined, unjoined_bytes;
    const char *allocator; /* that has most free memory, borrowed; "" without any */
    /* The runtime whose heap, which is not read, most of the mappings are; "": not so, or not
     * known. */
    char runtime[HS_BALANCE_RUNTIME_BYTES];
};

/* Sums up the facts of a snapshot; no index is needed. No figure is above HS_BALANCE_MOST_BYTES,
 * whatever a file says, so that differences have room. O(rows of memory). */
#define HS_BALANCE_MOST_BYTES ((uint64_t)INT64_MAX)
void hs_balance_find(const struct hs_view *view, struct hs_balance *ret);

/* The part that is the answer in place of the live heap: the largest of all, when it has
 * HS_BALANCE_LEAST_BYTES and is none of the binaries'. Stacks also where more of them wait to be
 * joined than a C library would keep for new threads: then addresses run out before memory does.
 * HS_BALANCE_LIVE: no other. */
#define HS_BALANCE_LEAST_BYTES ((uint64_t)4 << 20)
enum hs_balance_part hs_balance_verdict(const struct hs_balance *balance);

#endif
