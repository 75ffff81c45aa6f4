/* The edges of blocks, collected by other threads before the blocks are written.
 *
 *   unit:   the edges of so many blocks by rank; unit `at` goes to slot at % n_slots, by whichever
 *           thread is free
 *   taken:  units before this one were written: a slot is free for units below taken + n_slots
 *
 * Collects ahead only light blocks (hs_scan_is_light): one needs nothing that changes while blocks
 * are written, no memory, and gives the same edges whenever it is asked. All else is left to the
 * thread that writes, which collects units, too, while it would have to wait. So the snapshot is
 * the same for every number of threads. */
#ifndef HS_NATIVE_AHEAD_H
#define HS_NATIVE_AHEAD_H

#include "scan.h"

struct hs_ahead;

/* The numbers of blocks of a unit, and of those from which threads are worth while. */
enum { HS_AHEAD_UNIT = 1 << 12, HS_AHEAD_LEAST = 1 << 16 };

/* Begins, after hs_scan_end, with n_threads in all, the caller's one of them. NULL where there is
 * nothing to be had: with one thread, where other runtimes have blocks or objects, with the copy in
 * a file, without memory to spare. */
struct hs_ahead *hs_ahead_open(const struct hs_scan *scan, unsigned n_threads, uint64_t n_of_unit);
/* Waits for the threads; NULL is passed over. */
void hs_ahead_close(struct hs_ahead *ahead);

struct hs_ahead_block {
    struct hs_heap_block block;
    struct hs_edge *edges; /* the caller's until the next call */
    size_t n_edges;
    uint8_t states; /* enum hs_block_state */
    bool is_left;   /* the edges are for the caller to collect */
};
/* Gives the next block, by address; false behind the last. */
bool hs_ahead_next(struct hs_ahead *ahead, struct hs_ahead_block *ret);

#endif
