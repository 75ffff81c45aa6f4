/* The making of a snapshot, shared by all readers of foreign heaps: the strings, types, roots and
 * notes of the snapshot to come, then its writer. What grows is reserved in the budget.
 *
 * Order of use: init; strings, types, roots, notes; begin (n_blocks); expect, edge*, block for each
 * block; finish (types may be added until then). */
#ifndef HS_MAKER_H
#define HS_MAKER_H

#include "import/import.h"
#include "snapshot/writer.h"

#define MAKER_NAME_BYTES 256 /* names are cut at that */
#define MAKER_MAX_NOTES 16

struct maker {
    const struct hs_import_options *options; /* borrowed */
    struct hs_out *out;                      /* borrowed */
    struct hs_strtab strings;
    struct hs_type *types; /* owned, as the arrays below */
    size_t n_types, type_capacity;
    struct hs_member *members;
    size_t n_members, member_capacity;
    struct hs_root *roots;
    size_t n_roots, root_capacity;
    struct hs_edge *edges; /* of the next block, but for those that went in parts */
    size_t n_edges, edge_capacity;
    uint64_t n_given;      /* edges of the next block so far */
    uint64_t next_words;   /* of the next block; 0: its edges cannot go in parts */
    uint64_t n_given_most; /* of the next block */
    struct hs_note notes[MAKER_MAX_NOTES];
    size_t n_notes;
    struct hs_runtime_fact runtime;
    uint32_t word_bytes;
    struct hs_snap_writer *writer;
    uint64_t reserved_bytes; /* bytes of the budget */
    uint64_t n_string_taken; /* of these for strings */
};

void maker_init(const struct hs_import_options *options, struct hs_out *out, struct maker *ret);
void maker_fini(struct maker *maker);

/* Grows an array as hs_grow does, with the bytes reserved in the budget for `what`. */
hs_status maker_grow(struct maker *maker, void **array, size_t *capacity, size_t needed,
                     size_t size, const char *what, struct hs_error *err);
/* Gives n zeroed elements of pages, reserved in the budget; maker_pages_free gives them back. */
hs_status maker_pages(struct maker *maker, uint64_t n, size_t size, const char *what, void **ret,
                      struct hs_error *err);
void maker_pages_free(struct maker *maker, void *pages, uint64_t n, size_t size);

/* "prefix text", cut at MAKER_NAME_BYTES; either may be empty. */
hs_status maker_name(struct maker *maker, const char *prefix, const char *text, size_t n_bytes,
                     hs_str *ret, struct hs_error *err);
hs_status maker_type(struct maker *maker, hs_str name, unsigned form, struct hs_error *err);
/* Members by ascending type and offset. */
hs_status maker_member(struct maker *maker, const struct hs_member *member, struct hs_error *err);

/* A node of the root tree below `parent`, at the level below it (a leaf: at HS_LEVEL_LEAF). Of
 * node 0 the parent is 0. Its kind, and for what stands below a module the module's name, are
 * inherited. Returns its number in *ret (may be NULL). */
hs_status maker_root(struct maker *maker, const struct hs_root *root, hs_node *ret,
                     struct hs_error *err);
/* An inner node: kind is only taken at the level of kinds. */
hs_status maker_group(struct maker *maker, hs_node parent, unsigned kind, hs_str name, hs_node *ret,
                      struct hs_error *err);
hs_status maker_note(struct maker *maker, bool is_gap, struct hs_error *err, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/* Writes facts and roots. */
hs_status maker_begin(struct maker *maker, uint64_t n_blocks, struct hs_error *err);
/* Announces the next block: its words (0 bytes are one word) and at most so many edges, as far as
 * is known. Without it all of its edges must fit in memory. */
static inline void maker_expect(struct maker *maker, uint64_t words, uint64_t n_edges)
{
    maker->next_words = words != 0 ? words : 1;
    maker->n_given_most = n_edges;
}
/* Room for one more: of many, or beyond the budget, the first go to a file (writer.h). */
hs_status maker_edge_room(struct maker *maker, struct hs_error *err);
static inline hs_status maker_edge(struct maker *maker, struct hs_edge edge, struct hs_error *err)
{
    if (maker->n_edges == maker->edge_capacity && maker_edge_room(maker, err) != HS_OK)
        return err->status;
    maker->edges[maker->n_edges++] = edge;
    maker->n_given++;
    return HS_OK;
}
/* Takes the edges that were put since the last block. An object of 0 bytes becomes a static block
 * of one word. Fields beyond the block are moved to its last word. */
hs_status maker_block(struct maker *maker, hs_addr address, uint64_t n_bytes, uint32_t type,
                      struct hs_error *err);
/* The same by words, at least one, for blocks that are known to be static or not. */
hs_status maker_block_of(struct maker *maker, hs_addr address, uint64_t words, uint32_t type,
                         bool is_static, struct hs_error *err);
hs_status maker_finish(struct maker *maker, struct hs_import_report *ret, struct hs_error *err);

/* policy.c: the policy in words, for a note: "weak keep, shortcuts drop, ...". */
#define MAKER_POLICY_BYTES 160
void hs_policy_text(enum hs_import_from from, const struct hs_import_policy *policy, char *text);

#endif
