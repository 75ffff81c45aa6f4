/* Calls that are visitors in the memory of what lasts longer.
 *
 * While a request is handled, its calls have memory of their own (the request, the state of a
 * library's call), which leads to what the program keeps in its variables: the session to its
 * server, the connection to its context. Another moment there is no such call. So who has little of
 * its own keeps nothing of what others have:
 *
 *     server (a variable) ----> context --> sessions
 *                                  ^
 *     one: local s ---> connection +         of `one`, which alone leads there; the edge is guessed
 *
 * Calls are gone through from the outermost on, after what outlives them all. One is a visitor when
 * the blocks that it is the first to lead to, behind handles (strangers.h) as well, have less than
 * half of the bytes that variables which outlive calls, and main's own, lead to; main itself is one
 * when it has less than an eighth. Of a visitor's blocks pointers to others' are guessed, unless
 * they are the only owner of what they lead to (a container's, a std::unique_ptr), and so it is
 * with its plain and counted pointers in variables (borrowed.h), but for what the outermost call of
 * a thread was given. Of the program's own memory words of which no type tells stay what they are:
 * closures are there, and what was erased of its type. A call that has more is one of those that
 * the program is about: nothing changes for it.
 *
 * Resident: a bit for each block; while calls are gone through another one, and the queue of
 * queue.h, and 8 MiB at most. */
#ifndef HS_NATIVE_VISITS_H
#define HS_NATIVE_VISITS_H

#include "firm.h"
#include "said.h"

struct hs_visits {
    struct hs_scan *scan;     /* borrowed */
    struct hs_firm *walk;     /* borrowed */
    struct hs_firm beyond;    /* behind handles; strangers' memory */
    struct hs_bitmap marks;   /* by rank: what that has met */
    struct hs_bitmap lasting; /* by rank: what it had met before strangers' variables */
    struct hs_firm_news news;
    uint64_t lasting_bytes; /* of what outlives calls, and of main */
    uint64_t before;        /* bytes that were met before the call at hand */
};

/* The memory that stays, and that is needed besides until it is closed. */
#define HS_VISITS_BYTES(n_blocks) ((n_blocks) / 8)
#define HS_VISITS_CALLS_BYTES(n_blocks) ((n_blocks) / 8 * 2)
/* Opens the visits of a walk, which is open, before anything is met. To be closed before the walk.
 * Fails with HS_LIMIT. */
hs_status hs_visits_open(struct hs_visits *visits, struct hs_scan *scan, struct hs_firm *walk,
                         struct hs_error *err);
void hs_visits_close(struct hs_visits *visits);
/* Begins, after what outlives all calls was met and drained: goes on behind its handles, and from
 * strangers' variables. */
hs_status hs_visits_begin(struct hs_visits *visits, struct hs_error *err);
/* Tells whether anything that was met before, but strangers' variables, leads to this block. */
bool hs_visits_is_met(const struct hs_visits *visits, uint64_t rank);
/* Brackets the meeting of what a call leads to. *ret: the call is a visitor. */
void hs_visits_call_begin(struct hs_visits *visits);
hs_status hs_visits_call_end(struct hs_visits *visits, bool is_main, bool *ret,
                             struct hs_error *err);

/* Tells whether the block is a visitor's. */
static inline bool hs_visits_has(const struct hs_bitmap *visits, const struct hs_heap_block *block)
{
    return visits->n_bits != 0 && hs_bitmap_get(visits, block->rank);
}

#endif
