/* The times at which a watch looks and dumps: ticks that stand `every` apart and never drift, and
 * the rest after failures. Knows no clock: every function is told the time.
 *
 *   ticks   |----|----|----|----|      a dump that takes longer than one misses those it covers
 *   dump    [---------]  [--]          and the next one still begins on a tick
 */
#ifndef HS_WATCH_PLAN_H
#define HS_WATCH_PLAN_H

#include "base/error.h"

#define HS_WATCH_MIN_EVERY_NS ((uint64_t)1000000)
#define HS_WATCH_MAX_EVERY_NS ((uint64_t)366 * 24 * 3600 * 1000000000)
/* The longest rest: however often dumps fail, one is tried again after so long, or at the next
 * tick. */
#define HS_WATCH_MAX_REST_NS ((uint64_t)3600 * 1000000000)

struct hs_watch_plan {
    uint64_t every_ns;
    uint64_t next_ns;    /* when the next tick is due */
    uint64_t n_failures; /* since the last good dump */
    uint64_t n_resting;  /* ticks to let pass before the next try */
};

/* Begins a plan, whose first tick is due after delay_ns. every_ns lies between the bounds above. */
void hs_watch_plan_init(uint64_t every_ns, uint64_t delay_ns, uint64_t now_ns,
                        struct hs_watch_plan *ret);

/* Returns the nanoseconds until the next tick; 0 when one is due. */
uint64_t hs_watch_plan_wait_ns(const struct hs_watch_plan *plan, uint64_t now_ns);

/* Takes the ticks that are due: how many, so that all but one were missed. */
uint64_t hs_watch_plan_take(struct hs_watch_plan *plan, uint64_t now_ns);

/* Tells, when n_ticks were taken, whether a dump may be tried now, or failures still make it
 * rest. */
bool hs_watch_plan_may_try(struct hs_watch_plan *plan, uint64_t n_ticks);

void hs_watch_plan_succeeded(struct hs_watch_plan *plan);
/* Rests after a failure: 1, 2, 4, 8, 16, then every 32 ticks, as long as that is no more than
 * HS_WATCH_MAX_REST_NS. Returns how many ticks from now the next try is. */
uint64_t hs_watch_plan_failed(struct hs_watch_plan *plan);

/* Returns the delay of a watch that goes on with a series and keeps its distance from the last dump
 * (0: none): what is left of `every` by the wall clock, which may have been set in between. */
uint64_t hs_watch_delay_ns(uint64_t every_ns, uint64_t last_ms, uint64_t now_ms);

#endif
