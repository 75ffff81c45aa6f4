/* Writes heap.snap as a stream: never seeks, holds one chunk of blocks at a time.
 *
 * Order of use:
 *   new (facts, tree of roots and the strings they use; written at once: a cut file has them)
 *   block * n_blocks (ascending address, edges in any order)
 *   finish (types, members, samples, sites, the strings added since; trailer)
 *
 * Resident: one chunk (64 Ki blocks) of columns, about 8 MiB, and 8 bytes per 1024 blocks for the
 * in-degree histogram; columns of many edges as far as the budget has room for them. The same
 * blocks and edges give the same bytes, whatever the budget and the parts. */
#ifndef HS_SNAPSHOT_WRITER_H
#define HS_SNAPSHOT_WRITER_H

#include "base/budget.h"
#include "base/file.h"
#include "base/strtab.h"
#include "snapshot/model.h"

struct hs_snap_writer;

/* `out` and `strings` are borrowed until finish; `roots[n_roots]` and `facts` only for the call.
 * n_blocks is the exact number of blocks to come. HS_BUG when the tree is malformed. */
hs_status hs_snap_writer_new(struct hs_out *out, const struct hs_strtab *strings,
                             const struct hs_snap_facts *facts, const struct hs_root *roots,
                             uint64_t n_roots, uint64_t n_blocks, struct hs_snap_writer **ret,
                             struct hs_error *err);

struct hs_block_record {
    hs_addr address;
    uint64_t words;         /* header included for OCaml */
    uint32_t type;          /* index into the types given to finish */
    uint8_t state;          /* enum hs_block_state bits */
    bool is_counted;        /* it is the body of a container that tells how many elements it has */
    uint64_t entries, room; /* then; room HS_NO_ROOM: it is not known */
};

/* Sets the budget for the edges of long blocks: before the first block. `budget` is borrowed until
 * the writer is freed. Without it their columns are in memory. */
void hs_snap_writer_set_budget(struct hs_snap_writer *writer, struct hs_budget *budget);

/* Some of the edges of the next block, any number of times: for those of which there are more than
 * the caller has memory for. They are put in order and into a temporary file, 2 to 20 bytes an
 * edge; at most `n_more` come after them. HS_IO when the disk is full or, told with the first part,
 * will be; then they are still the caller's, in another order, with all parts before them kept. */
hs_status hs_snap_writer_part(struct hs_snap_writer *writer, struct hs_edge *edges, size_t n_edges,
                              uint64_t n_more, struct hs_error *err);

/* The next block, and its edges, but for those that were given in parts. `edges` is reordered in
 * place (by target, then offset). */
hs_status hs_snap_writer_block(struct hs_snap_writer *writer, const struct hs_block_record *block,
                               struct hs_edge *edges, size_t n_edges, struct hs_error *err);

/* The tables that are written behind the blocks. Arrays are borrowed for the call; any may be NULL
 * with 0. */
struct hs_snap_ending {
    const struct hs_type *types;
    size_t n_types;
    const struct hs_member *members; /* by ascending type, then offset */
    size_t n_members;
    const struct hs_sample *samples; /* in ascending id, then sampler */
    size_t n_samples;
    const struct hs_site_frame *site_frames;
    size_t n_site_frames;
};

/* Writes the trailer; the caller commits `out`. */
hs_status hs_snap_writer_finish(struct hs_snap_writer *writer, const struct hs_snap_ending *ending,
                                struct hs_snap_totals *ret, struct hs_error *err);

void hs_snap_writer_free(struct hs_snap_writer *writer);

#endif
