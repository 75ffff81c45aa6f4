/* Builds small and large snapshots for tests through the real writer.
 *
 *     struct hs_graph_builder b = {0};
 *     uint32_t a = hs_graph_builder_block(&b, 3, false);          blocks are numbered from 0
 *     uint32_t c = hs_graph_builder_block(&b, 2, false);
 *     hs_graph_builder_edge(&b, a, c, HS_EDGE_EXACT);             field 0, 1, ... of a in order
 *     uint32_t leaf = hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, "coqtop", "Stm", "Stm.VCS", a);
 *     struct hs_snap *snap = hs_graph_builder_open(&b);           bytes live in the builder
 *     hs_node node = hs_graph_builder_node(&b, a);                its node number in the snapshot
 *     hs_snap_close(snap);
 *     hs_graph_builder_fini(&b);
 *
 * Leaves may be added in any order: the tree all -> kind -> module -> unit [-> variable] -> leaf is
 * made of their names. Everything that fails aborts with the reason on stderr: a test has nothing
 * to handle. Cost: 24 bytes per edge, 32 per block; no sort worse than linear, so millions of
 * blocks are fine.
 */
#ifndef HS_TEST_GRAPH_BUILDER_H
#define HS_TEST_GRAPH_BUILDER_H

#include "snapshot/reader.h"
#include "snapshot/writer.h"

#define HS_GRAPH_BUILDER_NOWHERE UINT32_MAX /* a leaf without a target */

struct hs_graph_builder_edge_record {
    uint32_t source, target;
    uint32_t offset_words;
    uint8_t edge_class, reason;
};

/* Zero it first. The members up to the line may be set by the test at any time before writing. */
struct hs_graph_builder {
    struct hs_snap_facts facts; /* word_bytes 0 means 8; arrays borrowed */
    struct hs_strtab strings;   /* for facts and names of one's own */
    hs_addr next_address;       /* of the next block; 0 means 0x10000 */
    int zstd_level;             /* 0: the writer's own; -1: stored, bytes independent of zstd */
    /* ---- */
    struct hs_block_record *blocks;
    struct hs_graph_builder_edge_record *edges;
    struct hs_root *leaves; /* parent is an index into groups until written; target a block */
    struct hs_root *groups; /* parent likewise */
    struct hs_type *types;
    struct hs_member *members;
    struct hs_sample *samples; /* sampler 0 and no site unless changed */
    struct hs_site_frame *frames;
    uint32_t *degree; /* edges added per block */
    size_t n_blocks, n_edges, n_leaves, n_groups, n_types, n_members, n_samples, n_frames;
    size_t blocks_capacity, edges_capacity, leaves_capacity, groups_capacity, types_capacity;
    size_t samples_capacity, degree_capacity, members_capacity, frames_capacity;
    void *bytes; /* of the last hs_graph_builder_open, owned */
};

void hs_graph_builder_fini(struct hs_graph_builder *b);

/* The next block, right behind the one before it. Type 0 ("block") unless changed in
 * b->blocks[index].type. words >= 1. */
uint32_t hs_graph_builder_block(struct hs_graph_builder *b, uint64_t words, bool is_static);
/* n blocks of so many words; returns the first. */
uint32_t hs_graph_builder_blocks(struct hs_graph_builder *b, uint32_t n, uint64_t words);

/* An edge at the next word of the source (the last word again when it has no more). Any class. */
void hs_graph_builder_edge(struct hs_graph_builder *b, uint32_t source, uint32_t target,
                           unsigned edge_class);
void hs_graph_builder_edge_at(struct hs_graph_builder *b, uint32_t source, uint32_t target,
                              unsigned edge_class, uint32_t offset_words);
/* The rule that lowered the edge that was added last. */
void hs_graph_builder_reason(struct hs_graph_builder *b, enum hs_reason reason);

/* A root; returns its index, good for b->leaves[index] (line, weak, certainty, ... may be set until
 * written) and for hs_graph_builder_leaf_node. module or unit NULL: that group is called "(none)".
 */
uint32_t hs_graph_builder_leaf(struct hs_graph_builder *b, unsigned kind, const char *module,
                               const char *unit, const char *name, uint32_t target);

/* The same with a variable above it (NULL: none). */
uint32_t hs_graph_builder_slot(struct hs_graph_builder *b, unsigned kind, const char *module,
                               const char *unit, const char *variable, const char *name,
                               uint32_t target);

/* For b->blocks[].type; the first call makes type 1 when type 0 is the default one. */
uint32_t hs_graph_builder_type(struct hs_graph_builder *b, const char *name, uint16_t tag,
                               unsigned form);
/* In ascending type, then offset. */
void hs_graph_builder_member(struct hs_graph_builder *b, uint32_t type, uint64_t offset_bytes,
                             const char *name, const char *type_name);
void hs_graph_builder_sample(struct hs_graph_builder *b, uint64_t id, uint32_t block);
/* The next frame of the backtraces. file NULL: unknown. */
void hs_graph_builder_frame(struct hs_graph_builder *b, uint32_t site, const char *function,
                            const char *file, uint32_t line);

/* Node numbers in what is written. */
hs_node hs_graph_builder_n_tree(const struct hs_graph_builder *b);
hs_node hs_graph_builder_node(const struct hs_graph_builder *b, uint32_t block);
hs_node hs_graph_builder_leaf_node(const struct hs_graph_builder *b, uint32_t leaf);

/* Writes. The status is returned, for tests that make it fail; *ret_totals may be NULL. */
hs_status hs_graph_builder_write(struct hs_graph_builder *b, struct hs_out *out,
                                 struct hs_snap_totals *ret_totals, struct hs_error *err);
/* Four blocks, a leaf that holds the first and a weak one at the third: 0 -> 1 twice, 0 -> 0,
 * 0 -weak-> 2, 1 -ephemeron-> 3 and 0. The caller adds what else it wants. */
void hs_graph_builder_small(struct hs_graph_builder *b, uint32_t *leaf, uint32_t *weak_leaf);
/* Into memory: *ret is the caller's to hs_free. */
void hs_graph_builder_bytes(struct hs_graph_builder *b, void **ret, size_t *ret_n);
void hs_graph_builder_file(struct hs_graph_builder *b, const char *path);
/* Writes to memory and opens that; close the snapshot before the builder. */
struct hs_snap *hs_graph_builder_open(struct hs_graph_builder *b);

#endif
