/* Owner sets: what several roots keep together, by the exact set of roots that reach it.
 *
 * A *root* is here what listings call one: some nodes of the root tree, none below another, so that
 * every edge from the tree to a block starts at a root or below one. A *top unit* is a block whose
 * immediate dominator is an inner node of the tree that is no root and not below one: two roots or
 * more reach it. All that a top unit dominates is reached by the same roots. What one root alone
 * holds is that root's, and in no set.
 *
 * Every root has a 64-bit number. The *signature* of a node of the condensed graph (condensed.h) is
 * the XOR of the numbers of the roots that reach it: reachable sizes are found by searches that
 * come to each of these nodes anyway. Equal signatures are equal sets, but for odds of 2^-64 for
 * each pair; the list of roots of each set is found by another search, backward, and must give its
 * signature.
 *
 *   condensed graph -> signatures -> table of sets -> largest ones, numbered -> their roots
 *
 * Sets are numbered from 1 by descending words, then objects, then by their first top unit. At most
 * HS_OWNER_SETS_MAX are told apart; the others are one sum. The roots of a set are listed all or
 * not at all: so many as may be listed go to the first sets that they are enough for.
 *
 * Results do not depend on the budget. */
#ifndef HS_DOMINATOR_OWNER_SETS_H
#define HS_DOMINATOR_OWNER_SETS_H

#include "base/bitmap.h"
#include "base/budget.h"
#include "base/progress.h"
#include "dominator/weights.h"
#include "graph/ids.h"

#define HS_OWNER_SETS_MAX 65534
#define HS_SET_OTHERS 65535 /* in place of the number of a set that has none */

struct hs_condensed;
struct hs_owners;

/* The roots. `seed` keeps whoever makes a snapshot from choosing the numbers of its roots. */
struct hs_owner_roots {
    struct hs_bitmap is_root; /* by node of the root tree */
    uint64_t seed;
};

static inline uint64_t hs_owner_number(const struct hs_owner_roots *roots, uint64_t root)
{
    uint64_t x = roots->seed + (root + 1) * 0x9E3779B97F4A7C15ULL; /* splitmix64 (Steele 2014) */
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
    return x ^ x >> 31;
}

struct hs_owner_set {
    struct hs_sizes retained; /* by all its roots together, and by no fewer */
    uint64_t n_tops;          /* its top units */
    uint64_t n_roots;         /* at least 2 */
    hs_node first_top;        /* the lowest of them */
};

/* A request for the sets beside the sizes: `take` is called once, when all signatures are there,
 * and asks for what it wants of `owners`, which is gone afterwards. */
struct hs_owner_request {
    const struct hs_owner_roots *roots;
    uint64_t max_listed; /* roots of all sets together */
    hs_status (*take)(void *context, struct hs_owners *owners, struct hs_error *err);
    void *context;
    uint64_t sink_bytes; /* what `take` reserves at a time */
};

/* ---- what an engine gives ---- */

/* The top units in ascending order, any number of times, each with its place: its node of the
 * condensed graph, or their number and its end. */
struct hs_owner_tops {
    hs_status (*run)(const void *context,
                     hs_status (*put)(void *sink, hs_node top, uint64_t place,
                                      struct hs_error *err),
                     void *sink, struct hs_error *err);
    const void *context;
};

/* Makes the sets of a graph with signatures, and has them taken. O(n) for each range of signatures
 * that the table has room for: 2^18, or less where the budget has less. Takes at least 5.5 MiB
 * where there are as many sets as can be numbered, and while lists are made 8 bytes per node. */
hs_status hs_owner_sets_give(struct hs_condensed *condensed, const struct hs_owner_tops *tops,
                             const struct hs_owner_request *request,
                             const struct hs_progress *progress, struct hs_error *err);

/* ---- what can be asked ---- */

uint32_t hs_owners_n_sets(const struct hs_owners *owners);
/* Returns the sum of those that have no number; *ret_n: how many these are. */
struct hs_sizes hs_owners_others(const struct hs_owners *owners, uint64_t *ret_n);

/* A sink that gets each top unit in ascending order with its set, or HS_SET_OTHERS. To be asked
 * before the lists. */
struct hs_owner_top_sink {
    hs_status (*put)(void *context, hs_node top, uint32_t set, struct hs_error *err);
    void *context;
};
hs_status hs_owners_tops(const struct hs_owners *owners, const struct hs_owner_top_sink *sink,
                         struct hs_error *err);

/* A sink that gets each set in ascending order: first how many roots are listed (all or none), then
 * these, ascending, in one call or more. */
struct hs_owner_list_sink {
    hs_status (*begin)(void *context, uint64_t n, struct hs_error *err);
    hs_status (*more)(void *context, const hs_node *roots, uint64_t n, struct hs_error *err);
    void *context;
};
hs_status hs_owners_lists(struct hs_owners *owners, const struct hs_owner_list_sink *sink,
                          struct hs_error *err);

/* Returns a set, once lists were made. */
struct hs_owner_set hs_owners_set(const struct hs_owners *owners, uint32_t set);

#endif
