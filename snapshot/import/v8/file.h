/* A .heapsnapshot of V8, mapped: where its arrays are, what its fields mean, and rows of it.
 *
 *   {"snapshot": {"meta": {names of fields and types}, "node_count", "edge_count"},
 *    "nodes": [type,name,id,self_size,edge_count,... of each node in turn],
 *    "edges": [type,name_or_index,to_node of each edge, in the order of the nodes they leave],
 *    ..., "strings": ["..."]}
 *
 * There is no specification: this follows V8's heap-snapshot-generator.cc, which writes it, and the
 * loader of DevTools. Field positions and type names are taken from the meta object. to_node is the
 * position of the target's first number; node and name numbers are checked here. */
#ifndef HS_V8_FILE_H
#define HS_V8_FILE_H

#include "base/file.h"
#include "json_scan.h"

enum v8_node_kind {
    V8_HIDDEN,
    V8_ARRAY,
    V8_STRING,
    V8_OBJECT,
    V8_CODE,
    V8_CLOSURE,
    V8_REGEXP,
    V8_NUMBER,
    V8_NATIVE,
    V8_SYNTHETIC,
    V8_CONS_STRING,
    V8_SLICED_STRING,
    V8_SYMBOL,
    V8_BIGINT,
    V8_SHAPE,
    V8_OTHER_NODE, /* of a later V8 */
    V8_N_NODE_KINDS
};

enum v8_edge_kind {
    V8_CONTEXT,
    V8_ELEMENT,
    V8_PROPERTY,
    V8_INTERNAL,
    V8_HIDDEN_EDGE,
    V8_SHORTCUT,
    V8_WEAK,
    V8_OTHER_EDGE,
    V8_N_EDGE_KINDS
};

enum { V8_MAX_KINDS = 64, V8_MAX_FIELDS = 32 };

struct v8_file {
    struct hs_map map;
    struct json_slice nodes, edges, strings;
    uint64_t n_nodes, n_edges, n_strings;
    uint64_t root; /* the node above all */
    unsigned n_node_fields, n_edge_fields;
    /* Positions among the fields. */
    unsigned type, name, id, self_size, edge_count;
    unsigned edge_type, edge_name, edge_to;
    uint8_t node_kinds[V8_MAX_KINDS], edge_kinds[V8_MAX_KINDS]; /* by number in the file */
    unsigned n_node_kinds, n_edge_kinds;
};

struct v8_node {
    uint8_t kind;
    uint64_t name; /* a string */
    uint64_t id, n_bytes, n_edges;
};

struct v8_edge {
    uint8_t kind;
    uint64_t name; /* a string, or an index for elements and hidden edges */
    uint64_t to;   /* a node */
};

/* Finds the arrays and reads the meta object. One look at each byte. HS_FORMAT when it is not such
 * a file or is cut. */
hs_status hs_v8_file_open(const char *path, struct v8_file *ret, struct hs_error *err);
void hs_v8_file_close(struct v8_file *file);

/* Nodes and their edges from front to end. For each node, all its edges must be taken before the
 * next node is, unless the walk has no edges at all. */
struct v8_walk {
    const struct v8_file *file;
    struct json_slice nodes, edges;
    uint64_t n_nodes, n_edges; /* taken */
};

struct v8_walk hs_v8_walk_begin(const struct v8_file *file);
hs_status hs_v8_next_node(struct v8_walk *walk, struct v8_node *ret, struct hs_error *err);
hs_status hs_v8_next_edge(struct v8_walk *walk, struct v8_edge *ret, struct hs_error *err);
/* Checks that the arrays end where their counts do. */
hs_status hs_v8_walk_end(const struct v8_walk *walk, bool with_edges, struct hs_error *err);

static inline bool hs_v8_is_named(unsigned edge_kind)
{
    return edge_kind != V8_ELEMENT && edge_kind != V8_HIDDEN_EDGE;
}

#endif
