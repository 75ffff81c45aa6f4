/* The blocks of an open view one by one, for who looks at many of them at random for long: a
 * server. A snapshot's blocks are packed 65,536 at a time, and what is known of one costs the
 * decoding of all of these. Here each chunk is decoded once, verified as ever, and written to a
 * temporary file in groups of 64 blocks, each of which stands for itself; a look at a block reads
 * one group.
 *
 *   group:  u32 bytes of the first part
 *           per block: zigzag(address - the one before) | words | type | state
 *           per block: edges | sparse edges | per edge: zigzag(target - the one before, at first
 * the block) offset + 1, kind | per sparse edge: zigzag(target - block), offset + 1, kind
 *           kind: class, and the reason where the class has one
 *
 * The file has no name, and nobody else writes it. Some 12 bytes a block of disk; of memory 66
 * bytes per group of 1,024 blocks and some MiB. Rows of groups with very many edges are left out,
 * as is what would be beyond HS_BLOCK_FILE_MOST: of these the chunks are decoded as without. */
#ifndef HS_ANALYSIS_BLOCK_FILE_H
#define HS_ANALYSIS_BLOCK_FILE_H

#include "analysis/neighbours.h"

#define HS_BLOCK_FILE_MOST ((uint64_t)1 << 30)

/* Adds the next chunk to the view's file, which is begun with the first: some milliseconds.
 * *ret_more: call it again. After a failure (no room on disk, a damaged chunk) the view has no
 * file, which changes no answer. */
hs_status hs_block_file_add(struct hs_view *view, bool *ret_more, struct hs_error *err);
void hs_block_file_close(struct hs_view *view);

/* The following are of a view's file; false in *ret_found where that has none of the node. */
struct hs_loose_block {
    hs_addr address;
    uint64_t words;
    uint32_t type;
    uint8_t state;
};
hs_status hs_block_file_look(const struct hs_view *view, hs_node node, struct hs_loose_block *ret,
                             bool *ret_found, struct hs_error *err);

/* Finds the block of the chunk that contains the address; *ret is HS_NO_NODE where none does. */
hs_status hs_block_file_find_address(const struct hs_view *view, uint64_t chunk, hs_addr address,
                                     hs_node *ret, bool *ret_found, struct hs_error *err);

/* The edges of a block as a chunk has them. Borrowed until the next call for the view. */
struct hs_edge_row {
    uint64_t n, n_extra;
    const hs_node *target; /* ascending */
    const uint64_t *offset_words;
    const uint8_t *edge_class, *edge_reason;
    const struct hs_extra_edge *extra; /* n_extra of them */
};
hs_status hs_block_file_row(const struct hs_view *view, hs_node node, struct hs_edge_row *ret,
                            bool *ret_found, struct hs_error *err);

/* Appends the weak edges to the node, of blocks and of roots. *ret_found: false while chunks are
 * missing, or when there are too many to be kept. */
hs_status hs_block_file_weak(const struct hs_view *view, hs_node node, struct hs_links *links,
                             bool *ret_found, struct hs_error *err);

#endif
