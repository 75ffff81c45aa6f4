/* An open snapshot with its index, and cheap looks at single nodes: recently used chunks stay
 * decoded, as many as the budget has room for (HS_VIEW_CHUNK_BYTES each with all columns). */
#ifndef HS_ANALYSIS_VIEW_H
#define HS_ANALYSIS_VIEW_H

#include "analysis/session.h"
#include "index/index.h"
#include "snapshot/reader.h"

#define HS_VIEW_CHUNKS 24
#define HS_VIEW_MIN_CHUNKS 2
#define HS_VIEW_CHUNK_BYTES ((uint64_t)5 << 20)

struct hs_view_chunk {
    struct hs_chunk chunk;
    uint64_t number;
    unsigned columns; /* 0: empty slot */
    uint64_t used_at;
};

struct hs_used_edges;
struct hs_block_file;

struct hs_view {
    const char *path;
    struct hs_snap *snap;
    struct hs_index *index; /* NULL without HS_VIEW_INDEX */
    const struct hs_snap_totals *totals;
    const struct hs_snap_facts *facts;
    uint64_t n_nodes, n_tree;
    struct hs_view_chunk chunks[HS_VIEW_CHUNKS];
    unsigned n_chunks; /* of these that are used */
    uint64_t clock;
    struct hs_session session;
    struct hs_node_facts *kept; /* owned: by node, of hs_view_keep_facts */
    size_t n_kept;
    struct hs_used_edges *used;   /* owned: of used_edges.h; NULL without an index */
    struct hs_block_file *blocks; /* owned: of block_file.h; NULL: chunks are decoded */
    /* Returns a lent view to its lender, in place of closing it; NULL when the view is not lent. */
    void (*give_back)(void *lender, const struct hs_view *view);
    void *lender;
};

enum hs_view_needs { HS_VIEW_SNAP, HS_VIEW_INDEX };

/* Opens a snapshot. `path` stays borrowed, and so does all that the session lends, until the view
 * is closed. */
hs_status hs_view_open(const struct hs_session *session, const char *path, enum hs_view_needs needs,
                       struct hs_view *ret, struct hs_error *err);
/* Opens a snapshot with its index, which `rebuild` computes anew. */
hs_status hs_view_open_index(const struct hs_session *session, const char *path, bool rebuild,
                             struct hs_view *ret, struct hs_error *err);
/* Opens the index of a view that was opened without, when one is kept; none is computed. */
hs_status hs_view_find_index(struct hs_view *view, struct hs_error *err);
/* Opens another index of the view's snapshot, by one of the policies without options: where none is
 * kept, it is computed and kept as the view's own would be. *ret is the caller's, and to be closed
 * before the view. */
hs_status hs_view_policy_index(const struct hs_view *view, enum hs_policy_kind policy,
                               struct hs_index **ret, struct hs_error *err);
/* Fills in where the index of the view is kept, and its policy. `cache`, of n bytes (PATH_MAX), is
 * borrowed by the options. */
void hs_view_index_places(const struct hs_view *view, char *cache, size_t n,
                          struct hs_index_options *options);
void hs_view_close(struct hs_view *view);
/* Returns the command's status; damage that the index met while it was asked comes first:
 * HS_FORMAT, in place of success and of failures that may come of it. To be asked before anything
 * is committed. */
hs_status hs_view_check(const struct hs_view *view, hs_status status, struct hs_error *err);
/* The same, and closes the view: the end of every command that has one. */
hs_status hs_view_finish(struct hs_view *view, hs_status status, struct hs_error *err);

/* The chunk of a block node with at least these columns, and the block's place in it. Borrowed
 * until the next HS_VIEW_MIN_CHUNKS calls. */
hs_status hs_view_chunk(struct hs_view *view, hs_node node, unsigned columns,
                        const struct hs_chunk **ret, uint32_t *ret_at, struct hs_error *err);

/* The block that contains an address, HS_NO_NODE in *ret where there is none: hs_snap_find_address
 * by way of the chunks that are kept. */
hs_status hs_view_find_address(struct hs_view *view, hs_addr address, hs_node *ret,
                               struct hs_error *err);

/* Frees the chunks that are decoded; what was borrowed of them is gone. */
void hs_view_forget_chunks(struct hs_view *view);

/* The facts about one node. */
struct hs_node_facts {
    hs_node node;
    bool is_root; /* a node of the root tree */
    bool is_static, is_young;
    hs_addr address;   /* of a root: its slot */
    uint64_t words;    /* 0 for roots */
    uint32_t type;     /* of blocks */
    const char *label; /* type name, or the root's name */
};

hs_status hs_view_facts(struct hs_view *view, hs_node node, struct hs_node_facts *ret,
                        struct hs_error *err);

/* The same for n nodes in any order (HS_NO_NODE: zeroed facts), looked up in address order, so that
 * each chunk is decoded once however the nodes are scattered. HS_LIMIT also when interrupted. */
hs_status hs_view_facts_of(struct hs_view *view, const hs_node *nodes, size_t n,
                           struct hs_node_facts *facts, struct hs_error *err);

/* Looks up what the blocks among `nodes` are, which it sorts, for hs_view_facts to know without
 * their chunks: before a long list in another order than memory's. Forgets what was kept before. */
hs_status hs_view_keep_facts(struct hs_view *view, hs_node *nodes, size_t n, struct hs_error *err);

/* Tells whether a runtime of this name ("ocaml") was found in the process. */
bool hs_view_has_runtime(const struct hs_view *view, const char *name);

static inline const char *hs_view_string(const struct hs_view *view, hs_str id)
{
    return hs_snap_string(view->snap, id);
}

/* The root that a node of the root tree is, or that it is a slot of: a variable, or a leaf that
 * stands below none. HS_NO_NODE for the groups above. */
hs_node hs_view_root_of(const struct hs_view *view, hs_node tree_node);

/* The nearest dominator that is a root: it retains the node. HS_NO_NODE when several roots share it
 * or none reaches it. */
hs_node hs_view_retaining_root(const struct hs_view *view, hs_node node);

/* The same for n nodes (HS_NO_NODE: HS_NO_NODE), each part of the tree climbed over a few times,
 * however long the lists that they stand in. Some MiB for the call. */
hs_status hs_view_retaining_roots(const struct hs_view *view, const hs_node *nodes, size_t n,
                                  hs_node *roots, struct hs_error *err);

/* Fails for a walk of the dominator tree that met more nodes than there are. An index is checked
 * for sums and ranges when it is opened, but one that was made to mislead may still go round in a
 * circle. */
hs_status hs_view_fail_circle(const struct hs_view *view, struct hs_error *err);

/* Returns the text; NULL for the empty string: JSON's null. */
static inline const char *hs_or_null(const char *text)
{
    return text != NULL && text[0] != 0 ? text : NULL;
}

#endif
