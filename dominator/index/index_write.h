/* Writes a new index, section by section, whichever engine computes it: into the file that is kept,
 * a file without a name, or memory.
 *
 *   index_write_begin(PREDECESSORS)  index_write_rows ...       index_write_end
 *   index_write_begin(RETAINED)      index_write_retained ...   index_write_end
 *   index_write_begin(IDOM)          index_write_idom ...       index_write_end
 *   index_owners_put (index_owners.h)    OWNERS, SET_ROOTS, SETS
 *   index_write_begin(DOMINATED)     index_write_rows ...       index_write_end
 *   index_write_reachable            at any time
 *
 * in this order, each node's part in ascending order, none left out. A section that is there
 * already (index_write_has), from an earlier run that was ended before it was done, is left out:
 * nothing that only it needs has to be computed again.
 *
 * Resident, and reserved in the budget while a section is written: 1/8 byte per node and
 * INDEX_WRITE_BYTES; of memory instead of a file, what is written. */
#ifndef HS_INDEX_WRITE_H
#define HS_INDEX_WRITE_H

#include "index_format.h"
#include "index_output.h"

#define INDEX_WRITE_BYTES ((uint64_t)4 << 20)

/* A reader of the finished part of a section, while others are written. */
struct index_reader {
    struct hs_map map; /* of a file; else zero */
    struct hs_packed packed;
};

struct index_writer {
    const struct hs_snap *snap; /* borrowed, as all of these */
    struct hs_budget *budget;
    struct index_output *out;
    struct index_header header;
    const struct hs_tiers *tiers;   /* set while OWNERS is written; NULL: all are firm */
    bool is_resumed;                /* sections were taken over */
    enum index_section section;     /* being written; INDEX_N_SECTIONS: none */
    struct hs_packed_writer packed; /* its pages */
    uint64_t reserved_bytes;        /* from the budget */
    struct index_reader sources;    /* the predecessors, while IDOM is written */
    struct hs_bitmap single;        /* which nodes have one; no words: IDOM asks `sources` */
};

/* Takes over from `out` what is whole of an index of this snapshot and policy (its key); the rest
 * of it is cut off. */
hs_status index_write_init(struct index_output *out, const struct hs_snap *snap, uint64_t policy,
                           struct hs_budget *budget, struct index_writer *ret,
                           struct hs_error *err);
void index_write_fini(struct index_writer *writer);

/* Returns the memory that index_write_begin reserves. */
uint64_t index_write_bytes(const struct index_writer *writer, enum index_section section);
bool index_write_has(const struct index_writer *writer, enum index_section section);

hs_status index_write_begin(struct index_writer *writer, enum index_section section,
                            struct hs_error *err);
hs_status index_write_end(struct index_writer *writer, struct hs_error *err);

/* Has the writer note, while it writes PREDECESSORS, which nodes have one alone, so that IDOM need
 * not read them again: a bit for each node, until IDOM is written. */
hs_status index_write_note_single(struct index_writer *writer, struct hs_error *err);

/* Writes rows of PREDECESSORS (no self loops) and DOMINATED. */
hs_status index_write_rows(struct index_writer *writer, const struct hs_piece *piece,
                           struct hs_error *err);
/* The same as a sink of hs_reverse and sweeps. */
struct hs_piece_sink index_write_sink(struct index_writer *writer);
hs_status index_write_idom(struct index_writer *writer, hs_node node, hs_node idom,
                           struct hs_error *err);
hs_status index_write_retained(struct index_writer *writer, hs_node node,
                               const struct hs_sizes *retained, struct hs_error *err);
hs_status index_write_owner(struct index_writer *writer, hs_node node, unsigned tier, uint32_t set,
                            struct hs_error *err);
/* Writes the sets, from 1 on. */
hs_status index_write_set(struct index_writer *writer, const struct hs_owner_set *set,
                          struct hs_error *err);
/* Writes n_tree sizes. */
hs_status index_write_reachable(struct index_writer *writer, const struct hs_sizes *sizes,
                                struct hs_error *err);

/* Finishes the file when all sections are there: the output may be committed. */
hs_status index_write_finish(struct index_writer *writer, struct hs_error *err);

/* Opens a reader of a section. Closing takes zeroed ones. */
hs_status index_reader_open(struct index_writer *writer, enum index_section section,
                            hs_packed_skip *skip, struct index_reader *ret, struct hs_error *err);
void index_reader_close(struct index_reader *reader);

/* A finished section as something to sweep, any number of times: PREDECESSORS (node -> sources), or
 * IDOM (node -> its immediate dominator: one target or none). Do not move it while it is open.
 * Resident: 1 MiB and 1 MiB of the file's map. */
struct index_sweep {
    struct index_reader reader;  /* of the section */
    struct index_reader sources; /* of the predecessors, for IDOM */
    struct hs_packed_rows rows;
    struct hs_sweep sweep;
};
hs_status index_sweep_open(struct index_writer *writer, enum index_section section,
                           const struct hs_progress *progress, const char *phase,
                           struct index_sweep *ret, struct hs_error *err);
void index_sweep_close(struct index_sweep *sweep);

#endif
