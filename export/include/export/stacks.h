/* Stacks with figures: what flame graphs, profiles and trees of folders are made of. Of a snapshot:
 * a root, and below it types, the owners of what stands under them (analysis/keys.h). Of a trace:
 * calls, the innermost last.
 *
 * Everything is held in memory: some 60 bytes for each node, of which a snapshot has at most
 * HS_KEYS_MOST and a trace as many as its tree of calls. */
#ifndef HS_EXPORT_STACKS_H
#define HS_EXPORT_STACKS_H

#include "analysis/view.h"
#include "base/strtab.h"

enum { HS_STACK_VALUES = 4 };
#define HS_NO_STACK UINT32_MAX

/* A frame of a stack. The same frame may stand in many. */
struct hs_stack_frame {
    hs_str name, file; /* of hs_stack_tree.strings; file 0: unknown */
    uint32_t line;     /* 0: unknown */
    uint32_t binary;   /* 1 + index of the snapshot's binaries that it is of; 0: unknown */
};

/* A stack: a frame on top of that of the parent. */
struct hs_stack_node {
    uint32_t parent; /* a smaller number, or HS_NO_STACK */
    uint32_t frame;
    hs_str label;       /* of a root, its name without its kind; 0: as the frame is called */
    uint8_t kind, tier; /* of the root it begins with: enum hs_root_kind, hs_tier; of a trace 0 */
    bool is_root;       /* a root, and no type */
    uint64_t values[HS_STACK_VALUES]; /* its own, without those on top of it */
};

/* A part of what a stack of a trace has, for formats that have labels. All of them together have
 * what the nodes have. */
struct hs_stack_sample {
    uint32_t node;
    uint8_t heap;     /* enum hs_trace_source */
    bool is_promoted; /* of the minor heap: it was copied to the major one */
    uint64_t values[HS_STACK_VALUES];
};

struct hs_stack_value {
    const char *type, *unit; /* "inuse_space", "bytes" */
};

/* The binary of the figures. */
struct hs_stack_binary {
    hs_str path, build_id;
};

struct hs_stack_tree {
    struct hs_strtab strings;
    struct hs_stack_frame *frames; /* owned */
    size_t n_frames, frame_capacity;
    struct hs_table frame_table;
    struct hs_stack_node *nodes; /* owned */
    size_t n, capacity;
    struct hs_stack_sample *samples; /* owned; NULL unless asked for */
    size_t n_samples, sample_capacity;
    struct hs_stack_binary *binaries; /* owned */
    size_t n_binaries;
    const struct hs_stack_value *types; /* of the values: n_values, objects and bytes by turns */
    unsigned n_values;
    unsigned shown; /* the value of formats that have one: bytes */
    bool has_roots; /* of a snapshot: kinds, tiers */
    hs_str command, comment;
    uint64_t time_ns; /* since 1970; 0: unknown */
};

/* Makes a tree of the keys of a view with an index. HS_LIMIT, HS_FORMAT. On failure `ret` can be
 * freed, too. */
hs_status hs_stack_tree_of_view(struct hs_view *view, struct hs_stack_tree *ret,
                                struct hs_error *err);

/* Adds a frame, when it is new, for those that build a tree. *ret: its number. HS_LIMIT. */
hs_status hs_stack_frame_add(struct hs_stack_tree *tree, const struct hs_stack_frame *frame,
                             uint32_t *ret, struct hs_error *err);
/* Adds a node behind the others, zeroed: *ret is borrowed until the next. HS_LIMIT. */
hs_status hs_stack_node_add(struct hs_stack_tree *tree, struct hs_stack_node **ret,
                            struct hs_error *err);

void hs_stack_tree_fini(struct hs_stack_tree *tree);

/* Sums a value over all stacks. */
uint64_t hs_stack_total(const struct hs_stack_tree *tree, unsigned value);

/* Finds the frames of a node, the outermost first: at most `most`, those nearest to the node.
 * *ret_cut tells how many are left out. */
size_t hs_stack_path(const struct hs_stack_tree *tree, uint32_t node, uint32_t *frames, size_t most,
                     size_t *ret_cut);

/* The children of all nodes, in order of their numbers: children[begin[i]] to children[begin[i +
 * 1]] are those of node i, with i = n those that stand on nothing. Both owned (hs_free). */
struct hs_stack_children {
    uint32_t *begin, *children;
};
hs_status hs_stack_children_find(const struct hs_stack_tree *tree, struct hs_stack_children *ret,
                                 struct hs_error *err);
void hs_stack_children_fini(struct hs_stack_children *children);

static inline const char *hs_stack_string(const struct hs_stack_tree *tree, hs_str id)
{
    return hs_strtab_get(&tree->strings, id);
}

/* The frame of a node, and its name. */
static inline const struct hs_stack_frame *hs_stack_frame_of(const struct hs_stack_tree *tree,
                                                             uint32_t node)
{
    return &tree->frames[tree->nodes[node].frame];
}
static inline const char *hs_stack_name(const struct hs_stack_tree *tree, uint32_t node)
{
    return hs_stack_string(tree, hs_stack_frame_of(tree, node)->name);
}

#endif
