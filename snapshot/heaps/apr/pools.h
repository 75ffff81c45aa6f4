/* Pools of the Apache Portable Runtime (private). A program that uses it (httpd, Subversion) has
 * most of its memory from a tree of pools, which begins at a variable of the library's that has no
 * name; each cuts what it gives out of nodes of whole pages, without headers, and frees all of them
 * when it is cleared or destroyed, whoever still leads to them.
 *
 *   node      next, ref; uint32 index, free_index; first_avail, endp         one behind the other
 * in a ring: ref is where the link to it stands. index + 1 pages long
 *
 *             | header | given out ... | not yet |
 *                          first_avail ^    endp ^
 *
 *   pool      parent, child, sibling, ref; cleanups, free_cleanups; allocator; subprocesses;
 *             abort_fn; user_data; tag; active, self, self_first_avail; ...
 *             at the beginning of a node, its self: what it gives out begins at self_first_avail
 *
 *   allocator max_index, max_free_index, current_free_index; mutex; owner; free[20]
 *             a block of malloc's: lists of nodes to be used again, by their size. (In trunk there
 *             is one more list, of nodes above 80 KiB, which is not read.)
 *
 * Nodes are from malloc, or from mmap where APR was built so (as Debian's is): then nobody else
 * knows them.
 *
 * Sources: APR 1.0 to 1.7 and trunk, memory/unix/apr_pools.c, include/apr_allocator.h. With
 * APR_POOL_DEBUG all is malloc's, and there is nothing to be read. */
#ifndef HS_APR_POOLS_H
#define HS_APR_POOLS_H

#include "heaps/allocator.h"

#define APR_OWNER "apr"
#define APR_NONE UINT32_MAX

enum apr_node_at {
    APR_AT_NEXT = 0,
    APR_AT_REF = 8,
    APR_AT_INDEX = 16,
    APR_AT_FIRST_AVAIL = 24,
    APR_AT_END = 32,
    APR_NODE_BYTES = 40, /* APR_MEMNODE_T_SIZE */
};

enum apr_pool_at {
    APR_AT_PARENT = 0,
    APR_AT_CHILD = 8,
    APR_AT_SIBLING = 16,
    APR_AT_POOL_REF = 24,
    APR_AT_ALLOCATOR = 48,
    APR_AT_TAG = 80,
    APR_AT_SELF = 96,
    APR_AT_SELF_FIRST = 104,
    APR_POOL_LEAST = 112, /* all that is read; what follows has grown with releases */
    APR_POOL_MOST = 256,
};

enum {
    APR_AT_FREE = 40, /* in an allocator */
    APR_FREE_LISTS = 20,
    APR_LEAST_PAGE = 4096,
};

struct apr_node {
    hs_addr begin, first; /* its header; what it gives out */
    hs_addr used, end;
};

struct apr_pool {
    hs_addr address, end; /* the object */
    hs_addr allocator;
    uint32_t parent;                  /* APR_NONE: the first */
    uint32_t first_child, next_child; /* APR_NONE: none */
    size_t first_node, n_nodes;       /* none: caught in a change */
    hs_str tag;                       /* its own, else of the nearest above that has one */
    hs_str object_name, memory_name;
    bool is_tagged;
};

struct apr {
    const struct hs_process_copy *process; /* borrowed */
    hs_addr variable;                      /* that leads to the first pool */
    struct apr_pool *pools;                /* owned; parents before their children */
    size_t n_pools, pools_capacity;
    struct apr_node *nodes; /* owned; of one pool in a row */
    size_t n_nodes, nodes_capacity;
    struct hs_extent *free; /* owned: nodes that wait to be used again */
    size_t n_free, free_capacity;
    uint64_t effort;    /* nodes and pools that may still be looked at */
    bool is_strange;    /* there is something, which was not read */
    uint64_t n_damaged; /* pools and lists: caught in a change */
};

/* A pool's object has an odd tag, its memory the even one before it. */
static inline uint32_t hs_apr_tag(uint32_t pool, bool is_object)
{
    return 2 * pool + is_object;
}

/* ---- nodes.c */

/* Counts one node or pool that is looked at. False when the bound is reached. */
bool hs_apr_spend(struct apr *apr);
/* A node at an address, as far as it says what can be. */
bool hs_apr_node_at(const struct apr *apr, hs_addr at, struct apr_node *ret);
/* Appends the nodes of a pool whose object is there; what it gives out of the first one begins
 * behind the object. Links have to lead back, so none is met twice. None is appended, and it is
 * counted as damaged, where anything cannot be. */
hs_status hs_apr_read_nodes(struct apr *apr, uint32_t pool, struct hs_error *err);
/* Appends what the allocators of all pools have in their lists. */
hs_status hs_apr_read_free(struct apr *apr, struct hs_error *err);

/* ---- tree.c: looks for the first pool in an object's variables, and reads all below it. No node
 * overlaps another one: where any does, nothing is believed. n_pools 0: there is none. */
hs_status hs_apr_read_tree(struct apr *apr, const struct hs_object *object, struct hs_error *err);

#endif
