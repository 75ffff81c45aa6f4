/* The results for one snapshot, computed once and kept beside it (`heap.snap.idx`, or in the cache
 * directory when that place is read-only): predecessors, immediate dominators, retained and
 * reachable sizes. Mapped read-only; keyed by the snapshot's checksum; can always be thrown away.
 *
 * Everything is packed (graph/packed.h): some 10 bytes per node on disk, of which only the pages
 * that are asked for become resident.
 *
 * All node arguments must be < n_nodes (asserted). Sizes: `words` are heap words, `static_words`
 * words of static data.
 *
 * The file is hostile. Small ones (HS_INDEX_EAGER_BYTES) are verified whole when they are opened,
 * and rebuilt when damaged; of larger ones each page is verified when it is first used. Damage that
 * is met then makes the answer empty and is remembered: whoever prints asks hs_index_check before.
 */
#ifndef HS_INDEX_INDEX_H
#define HS_INDEX_INDEX_H

#include <sys/types.h>

#include "base/budget.h"
#include "base/out_path.h"
#include "dominator/owner_sets.h"
#include "dominator/weights.h"
#include "graph/packed.h"

#define HS_INDEX_EAGER_BYTES ((uint64_t)64 << 20)

struct hs_index;

/* The policy: what a doubtful word keeps. */
enum hs_policy_kind {
    HS_POLICY_FIRM,         /* it keeps only what nothing firmer keeps (graph/edges.h) */
    HS_POLICY_CONSERVATIVE, /* it keeps what it leads to, as any other word */
    HS_N_POLICY_KINDS
};
/* Returns "firm" or "conservative"; NULL for a policy out of range. */
const char *hs_policy_name(unsigned kind);

/* Zeroed: firm. Borrowed as long as the call that gets it. */
struct hs_policy {
    enum hs_policy_kind kind;
    /* Names of types whose blocks hold pointers where their words are called guessed: arenas that
     * are declared as characters. Of no account to a conservative policy. */
    const char *const *pointers_in;
    size_t n_pointers_in;
};

struct hs_index_options {
    const char *snap_path;              /* NULL: keep nothing on disk */
    const char *cache_dir;              /* second choice; NULL: none */
    const struct hs_out_access *access; /* of the file; NULL: for its owner alone */
    struct hs_policy policy;            /* each has an index file of its own */
    bool rebuild;                       /* ignore what is there */
    bool no_write;
    bool only_kept;           /* give NULL (and HS_OK) rather than compute one */
    bool must_read;           /* HS_IO when a kept one is there and cannot be read */
    struct hs_budget *budget; /* chooses the engine; NULL: no limit. Borrowed until close */
    const struct hs_progress *progress; /* may be NULL */
    /* Is told of a kept index that is of no use, and why; may be NULL. */
    void (*stale)(void *context, const char *path, const char *why);
    void *context;
};

/* Opens a valid index or computes one, in memory when the budget has room for that, else by passes
 * over files: the bytes are the same. A damaged or foreign index is rebuilt, never trusted, and so
 * is one of a user who is neither we, nor root, nor the snapshot's owner. Failing to *write* it is
 * not a failure of the call where it can be kept in memory (see hs_index_path). HS_LIMIT, before
 * anything is computed, when the budget does not allow it; HS_USAGE when the policy names a type
 * that the snapshot has not. */
hs_status hs_index_open(const struct hs_snap *snap, const struct hs_index_options *options,
                        struct hs_index **ret, struct hs_error *err);
void hs_index_close(struct hs_index *index);

/* The places where an index of a snapshot and a policy is kept, the first place first. */
enum hs_index_place { HS_INDEX_BESIDE, HS_INDEX_CACHE, HS_N_INDEX_PLACES };

/* Makes the path of a file there that ends with `end` (".idx"), of snap_path, cache_dir and policy:
 * *ret (hs_free), NULL when there is no such place. HS_USAGE as of the policy. */
hs_status hs_index_place_path(const struct hs_snap *snap, const struct hs_index_options *options,
                              enum hs_index_place place, const char *end, char **ret,
                              struct hs_error *err);
/* Returns the user besides us who may have made the file there: whoever made the snapshot that it
 * lies beside. */
uid_t hs_index_maker(const struct hs_index_options *options, enum hs_index_place place);
/* Computes a number that tells one policy's index from another's. HS_USAGE as of the policy. */
hs_status hs_index_policy_key(const struct hs_snap *snap, const struct hs_policy *policy,
                              uint64_t *ret, struct hs_error *err);

/* The cost of computing an index, to be announced before it is begun. */
struct hs_index_estimate {
    bool in_memory;        /* the engine that the budget allows */
    uint64_t memory_bytes; /* that engine's, beside used_bytes, as all of these */
    uint64_t used_bytes;   /* of the budget, by then */
    uint64_t least_bytes;  /* by passes: no budget below this will do */
    bool is_counted;       /* least_bytes is enough, and not only the least that can be */
    uint64_t spill_bytes;  /* of temporary files, at most */
    uint64_t file_bytes;   /* of the index, about */
    uint64_t seconds;      /* a guess, from nodes and edges */
};
void hs_index_estimate(const struct hs_snap *snap, const struct hs_budget *budget,
                       struct hs_index_estimate *ret);

/* Returns the policy by which it was computed. */
enum hs_policy_kind hs_index_policy(const struct hs_index *index);
/* Returns the path of the index; NULL when it is only in memory. */
const char *hs_index_path(const struct hs_index *index);
bool hs_index_was_built(const struct hs_index *index);

/* Returns HS_FORMAT, with the hint to rebuild it, when an answer given so far met damage. */
hs_status hs_index_check(const struct hs_index *index, struct hs_error *err);
/* Verifies every page and number. */
hs_status hs_index_check_all(struct hs_index *index, const struct hs_progress *progress,
                             struct hs_error *err);

uint64_t hs_index_n_nodes(const struct hs_index *index);
/* Returns the immediate dominator; HS_NO_NODE for node 0 and for unreached blocks. */
hs_node hs_index_idom(struct hs_index *index, hs_node node);
bool hs_index_is_reached(struct hs_index *index, hs_node node);
/* Returns the sizes of the subtree of the dominator tree. Zero for unreached blocks. */
struct hs_sizes hs_index_retained(struct hs_index *index, hs_node node);
/* Returns all that strong edges reach from a node of the root tree (any level). Exact. */
struct hs_sizes hs_index_reachable(struct hs_index *index, hs_node tree_node);
/* Returns everything reached / not reached from any root. */
struct hs_sizes hs_index_reached_total(const struct hs_index *index);
struct hs_sizes hs_index_unreached_total(const struct hs_index *index);

/* Returns the predecessors by strong and ephemeron edges, ascending, root tree nodes included, the
 * node itself left out. To be read with hs_row_next; the number is row.n. */
struct hs_row hs_index_predecessors(struct hs_index *index, hs_node node);
/* Returns the children in the dominator tree, by ascending node. */
struct hs_row hs_index_dominated(struct hs_index *index, hs_node node);
/* Finds the row of a node that begins at a place of which hs_index_run_rows told: for whoever
 * comes to rows in no order, and spares the search in a page. */
struct hs_row hs_index_dominated_at(struct hs_index *index, hs_node node, uint64_t place);

/* The same answers for whoever reads all nodes in order: of the HS_INDEX_RUN nodes from `first` on,
 * a multiple of it. Nodes that there are not, and all at damage, are as if not reached. */
#define HS_INDEX_RUN HS_PACKED_PAGE
#define HS_INDEX_NO_ROW UINT64_MAX
/* Reads the words of hs_index_retained. */
void hs_index_run_words(struct hs_index *index, hs_node first, uint64_t ret[HS_INDEX_RUN]);
/* Reads where the rows of hs_index_dominated begin, HS_INDEX_NO_ROW for an empty one, and of those
 * with one child which it is, HS_NO_NODE for others. */
void hs_index_run_rows(struct hs_index *index, hs_node first, uint64_t places[HS_INDEX_RUN],
                       hs_node only[HS_INDEX_RUN]);
void hs_index_run_tiers(struct hs_index *index, hs_node first, uint8_t ret[HS_INDEX_RUN]);
/* Tells which nodes are reached, 1 or 0. */
void hs_index_run_reached(struct hs_index *index, hs_node first, uint8_t ret[HS_INDEX_RUN]);
void hs_index_run_sets(struct hs_index *index, hs_node first, uint32_t ret[HS_INDEX_RUN]);

/* One of the two that give a byte a node, for nodes that ascend. */
struct hs_index_in_order {
    struct hs_index *index; /* borrowed */
    void (*read)(struct hs_index *index, hs_node first, uint8_t ret[HS_INDEX_RUN]);
    hs_node after; /* the run that was read ends before it; 0: none was */
    uint8_t of[HS_INDEX_RUN];
};

static inline uint8_t hs_index_next(struct hs_index_in_order *in_order, hs_node node)
{
    hs_node first = node - node % HS_INDEX_RUN;
    if (in_order->after != first + HS_INDEX_RUN)
        in_order->read(in_order->index, first, in_order->of);
    in_order->after = first + HS_INDEX_RUN;
    return in_order->of[node - first];
}

/* Owner sets (dominator/owner_sets.h): what several roots keep together, by the exact set of roots
 * that reach it, ephemerons included. Ids are 1 .. n, by descending retained words. What roots
 * retain and what sets do (those without an id included), and what is unreached, add up to the
 * heap. */
uint32_t hs_index_n_sets(const struct hs_index *index);
struct hs_owner_set hs_index_set(struct hs_index *index, uint32_t set);
/* Returns the root tree nodes of a set: variables, and leaves below none; ascending. row.n is
 * n_roots of the set, or 0 where there were too many to list: in all sets as many as there are
 * nodes, but at least 2^20 and at most 2^26, first come first served. */
struct hs_row hs_index_set_roots(struct hs_index *index, uint32_t set);
/* Returns the sum of those that have no id, because more than HS_OWNER_SETS_MAX were found; *ret_n:
 * how many. */
struct hs_sizes hs_index_other_sets(const struct hs_index *index, uint64_t *ret_n);
/* Returns the owner set of a *top unit*, a block whose immediate dominator is a node of the root
 * tree that is no root (all, kind, module, unit): its set, or HS_SET_OTHERS. 0 for any other node:
 * the set of a block is that of the last block on the way up from it to the root tree. */
uint32_t hs_index_set_of(struct hs_index *index, hs_node node);
/* Returns the tier, enum hs_tier; HS_TIER_NONE for what is not reached. */
unsigned hs_index_tier(struct hs_index *index, hs_node node);

/* The children that retain most: at most `most`, by descending retained words, then node.
 * O(children
 * * log most); 16 bytes each of `most`. *ret (hs_free) has *ret_n. */
struct hs_child {
    hs_node node;
    uint64_t words;
};
hs_status hs_index_largest(struct hs_index *index, hs_node node, uint64_t most,
                           struct hs_child **ret, uint64_t *ret_n, struct hs_error *err);

#endif
