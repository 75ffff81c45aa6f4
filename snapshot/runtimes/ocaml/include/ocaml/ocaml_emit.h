/* What a walk of an OCaml heap found, block by block in address order, for a writer: the OCaml
 * dump's own, or one that has other blocks to write as well. */
#ifndef HS_OCAML_OCAML_EMIT_H
#define HS_OCAML_OCAML_EMIT_H

#include "base/file.h"
#include "base/progress.h"
#include "process/roots.h"
#include "snapshot/writer.h"

struct hs_ocaml; /* these four are private to runtimes/ocaml */
struct hs_block_map;
struct hs_ocaml_marks;
struct hs_ocaml_roots;

struct hs_ocaml_emission {
    struct hs_ocaml *rt;
    struct hs_block_map *map; /* after mark; indexed by hs_ocaml_emitter_new */
    const struct hs_ocaml_marks *marks;
    const struct hs_ocaml_roots *roots;
    const struct hs_snap_facts *facts;
    const struct hs_progress *progress; /* may be NULL */
    struct hs_out *out;
};

/* Blocks go out in address order, each with its strong, weak and ephemeron edges. Resident: the
 * ranks (1/64 byte per word), the edges of one block, 16 bytes per key of a live ephemeron. */
hs_status hs_ocaml_emit(const struct hs_ocaml_emission *emission, struct hs_snap_totals *ret,
                        struct hs_error *err);

/* ---- the same, one block at a time */

/* From a block and how many OCaml blocks lie below it to its node. */
struct hs_ocaml_numbering {
    hs_node (*node)(const void *context, hs_addr block, uint64_t rank);
    const void *context;
};

struct hs_ocaml_emitter;

/* A block as it is written. */
struct hs_ocaml_block {
    struct hs_block_record record; /* type: index into hs_ocaml_emitter_types */
    struct hs_edge *edges;         /* borrowed until the next call */
    size_t n_edges;
    /* Memory of the block that holds no values, but may hold pointers to memory of C: of custom and
     * abstract blocks. NULL and 0: there is none. */
    const uint8_t *outside;
    uint64_t n_outside_words, outside_offset_words; /* of its first word in the block */
    bool is_reached;
};

/* `emission` and `numbering` are borrowed until free; the latter's node is first called by next. */
hs_status hs_ocaml_emitter_new(const struct hs_ocaml_emission *emission,
                               const struct hs_ocaml_numbering *numbering,
                               struct hs_ocaml_emitter **ret, struct hs_error *err);
void hs_ocaml_emitter_free(struct hs_ocaml_emitter *emitter);
/* The next block; *ret_more is false when there is none. */
hs_status hs_ocaml_emitter_next(struct hs_ocaml_emitter *emitter, struct hs_ocaml_block *ret,
                                bool *ret_more, struct hs_error *err);
/* The next block that has words outside of the OCaml heap: those and is_reached alone, no edges and
 * no type. */
void hs_ocaml_emitter_next_outside(struct hs_ocaml_emitter *emitter, struct hs_ocaml_block *ret,
                                   bool *ret_more);
/* Back to before the first block. */
void hs_ocaml_emitter_rewind(struct hs_ocaml_emitter *emitter);
/* Adds an edge to the block that next gave last; ret->edges may move. */
hs_status hs_ocaml_emitter_add_edge(struct hs_ocaml_emitter *emitter, const struct hs_edge *edge,
                                    struct hs_ocaml_block *ret, struct hs_error *err);
/* Types of the blocks that were given so far. */
const struct hs_type *hs_ocaml_emitter_types(const struct hs_ocaml_emitter *emitter, size_t *ret_n);
/* Sampled allocations by ascending id, with their nodes. The caller frees *ret with hs_free. */
hs_status hs_ocaml_emitter_samples(const struct hs_ocaml_emitter *emitter, struct hs_sample **ret,
                                   size_t *ret_n, struct hs_error *err);

/* ---- where the blocks are; after hs_ocaml_emitter_new */
uint64_t hs_ocaml_n_blocks(const struct hs_ocaml_emission *emission);
/* How many lie below an address, whatever is there. O(log n) in areas. */
uint64_t hs_ocaml_blocks_below(const struct hs_ocaml_emission *emission, hs_addr address);
/* The same for the start of a block; HS_NO_NODE when none starts there. O(1). */
uint64_t hs_ocaml_block_rank(const struct hs_ocaml_emission *emission, hs_addr block);
/* Area number `at`: memory that holds nothing but OCaml blocks. False behind the last one.
 * Ascending and disjoint. */
struct hs_ocaml_area {
    hs_addr begin, end;
    bool is_static;
};
bool hs_ocaml_area_at(const struct hs_ocaml_emission *emission, size_t at,
                      struct hs_ocaml_area *ret);
/* Minor heap number `at`, all of it, as far as it is used and beyond; false behind the last one. */
bool hs_ocaml_minor_heap_at(const struct hs_ocaml_emission *emission, size_t at,
                            struct hs_ocaml_area *ret);
/* Ascending addresses of the collector's own records of registered roots. Their first word is the
 * address of the root: what stands there is not kept by the record. Borrowed. */
const hs_addr *hs_ocaml_root_cells(const struct hs_ocaml_emission *emission, size_t *ret_n);
/* Borrowed. */
const struct hs_roots *hs_ocaml_leaves(const struct hs_ocaml_emission *emission);

#endif
