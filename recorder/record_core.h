/* The recorder between the allocator's functions and what it keeps: decides which allocations are
 * samples, and enters them into the table and the trace.
 *
 * One lock guards both. A thread that has it never calls the allocator, and never waits for
 * anything but the write of a packet; a signal handler that comes in between finds its thread busy
 * and records nothing (frees are put aside for the next holder of the lock). */
#ifndef HS_RECORD_CORE_H
#define HS_RECORD_CORE_H

#include "record_table.h"
#include "record_unwind.h"

struct hs_record_thread {
    uint64_t left; /* bytes until the next sample, that byte included; 0: look closer */
    uint64_t random;
    struct hs_record_stack_range range;
    uint32_t is_busy;
};
extern __thread struct hs_record_thread hs_record_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

extern struct hs_record_anchor heapsnap_record_anchor;

/* Tells whether an allocation may hold a sample. False: that of n_bytes holds none for sure. */
static inline bool hs_record_passes(size_t n_bytes)
{
    if (__builtin_expect(n_bytes >= hs_record_thread.left, 0))
        return true;
    hs_record_thread.left -= n_bytes;
    return false;
}

/* Draws the number of samples that fall into n_bytes; 0 when nothing is to be recorded. Only after
 * hs_record_passes. */
uint32_t hs_record_decide(size_t n_bytes);
/* Enters a block with samples. */
void hs_record_allocated(const void *block, size_t n_bytes, uint32_t n_samples,
                         const struct hs_record_frame *frame);
/* Enters that a block for which hs_record_maybe says yes goes away; before it is given back. */
void hs_record_freed(const void *block);
/* The same in two steps, for what may fail in between: takes it out of the table (false: it was no
 * sample), and then either all is as it was, or the block is gone. */
bool hs_record_take_out(const void *block, struct hs_record_slot *ret);
void hs_record_put_back(const struct hs_record_slot *slot);
void hs_record_gone(const struct hs_record_slot *slot);

/* Forgets a module that was unloaded. */
void hs_record_unloaded(void);
/* Writes what is held back. False: it could not be written, or there is no recorder. */
bool hs_record_flush(void);
/* Switches sampling on or off; false when this process has no recorder. */
bool hs_record_switch(bool is_on);
bool hs_record_is_on(void);

#endif
