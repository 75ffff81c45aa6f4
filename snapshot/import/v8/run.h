/* One import of a .heapsnapshot. Passes over the file, in this order:
 *
 *   hs_v8_nodes_read     nodes: totals, names of types that are wanted, synthetic nodes
 *   hs_v8_tree_read      edges: what stands above the heap
 *   hs_v8_places_read    edges: which name stands at which place of a type's objects
 *   hs_v8_names_read     strings: the wanted names, names of pairs in WeakMaps
 *   hs_v8_graph_rules    edges: for page rules and folded sizes, the graph in memory
 *   hs_v8_retained_read  edges: which objects nothing retains
 *   write             nodes and edges, side by side */
#ifndef HS_V8_RUN_H
#define HS_V8_RUN_H

#include "base/bitmap.h"
#include "file.h"
#include "maker.h"

enum { V8_MAX_TREE = 1024, V8_MAX_GROUP = 4096, V8_MAX_KNOWN = 4, V8_LONGEST_PROPERTY = 64 };

/* A synthetic node of no size: part of the tree above the heap unless something of the heap leads
 * to it or it holds more than V8_MAX_GROUP things. */
struct v8_group {
    uint64_t node, name;
    uint64_t n_edges;
    bool is_heap;    /* to be a block */
    bool is_reached; /* from the root through groups */
};

struct v8_tree_edge {
    uint64_t from, to, name;
    uint8_t kind;
};

/* The number of a name among those of a type; place 0: none. */
struct v8_slot {
    uint64_t place;
    uint32_t type, number;
};

struct v8_run {
    struct maker *maker;
    const struct hs_import_policy *policy;
    struct v8_file file;
    struct v8_group *groups; /* owned: ascending by node */
    size_t n_groups, group_capacity;
    struct v8_tree_edge *tree_edges; /* owned: of the root and of groups */
    size_t n_tree_edges, tree_edge_capacity;
    struct hs_bitmap tree;   /* nodes that are no blocks: the root and groups */
    struct hs_bitmap wanted; /* string * V8_N_KEPT + kind: types to be made */
    struct hs_bitmap labels; /* strings: names of groups and of their edges */
    hs_str *label;           /* owned: by rank in labels */
    uint64_t *place_begin;   /* owned pages: by type, and one more (members.c) */
    uint64_t *places;        /* owned pages */
    uint64_t n_place_types, n_places;
    uint32_t *n_numbered;  /* owned pages: by type, names that have a number */
    struct v8_slot *slots; /* owned pages: a hash table of the numbers */
    uint64_t slots_size, n_slots;
    struct hs_bitmap properties; /* strings: names of properties */
    hs_str *property_name;       /* owned: by rank in properties; 0: not kept */
    struct hs_bitmap pairs;      /* strings: names of pairs in WeakMaps */
    uint64_t *pair_table;        /* owned: by rank in pairs, the identifier of the table */
    size_t n_pairs, pair_capacity;
    struct hs_bitmap page;     /* nodes that are the page's; no words: no such rule */
    struct hs_bitmap retained; /* nodes with an edge that retains them */
    uint64_t *sizes;           /* owned pages: folded sizes; NULL: the file's */
    uint64_t dom_trees[V8_MAX_KNOWN], external_data[V8_MAX_KNOWN]; /* strings */
    size_t n_dom_trees, n_external_data;
    uint64_t max_bytes; /* of one node */
    uint64_t n_bitmap_bytes;
    uint64_t n_dropped; /* edges into the tree from the heap */
    unsigned address_shift;
};

/* Kinds whose names are kept, each with types of its own. */
#define V8_N_KEPT 8
/* Below V8_N_KEPT, or -1 for kinds whose names are the program's data. */
int hs_v8_kept_kind(unsigned node_kind);
/* The type of a node. */
uint32_t hs_v8_type(const struct v8_run *run, const struct v8_node *node);

hs_status hs_v8_bitmap(struct v8_run *run, uint64_t n_bits, struct hs_bitmap *ret,
                       struct hs_error *err);
hs_status hs_v8_tell(const struct v8_run *run, const struct v8_walk *walk, const char *phase,
                     struct hs_error *err);

hs_status hs_v8_nodes_read(struct v8_run *run, struct hs_error *err);
hs_status hs_v8_tree_read(struct v8_run *run, struct hs_error *err);
/* Needs the wanted types. */
hs_status hs_v8_places_read(struct v8_run *run, struct hs_error *err);
/* The offset of an edge: the number of its name, or its place. */
uint64_t hs_v8_offset(const struct v8_run *run, uint32_t type, const struct v8_edge *edge,
                      uint64_t at);
/* After the names. */
hs_status hs_v8_members_make(struct v8_run *run, struct hs_error *err);
void hs_v8_places_free(struct v8_run *run);
hs_status hs_v8_names_read(struct v8_run *run, struct hs_error *err);
hs_status hs_v8_graph_rules(struct v8_run *run, struct hs_error *err);
hs_status hs_v8_retained_read(struct v8_run *run, struct hs_error *err);
/* Makes the root tree: groups, their edges, and what nothing retains. */
hs_status hs_v8_roots_make(struct v8_run *run, struct hs_error *err);

/* Tells whether an edge retains its target, by the policy. `from_id` is the id that the file has
 * for its source. */
bool hs_v8_retains(const struct v8_run *run, uint64_t from, uint64_t from_id,
                   const struct v8_edge *edge);

/* The node's number in the snapshot: blocks only. */
static inline hs_node hs_v8_block(const struct v8_run *run, uint64_t node)
{
    return run->maker->n_roots + node - hs_bitmap_rank(&run->tree, node);
}

#endif
