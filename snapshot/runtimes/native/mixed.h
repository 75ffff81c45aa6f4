/* An OCaml program's two heaps as one graph: that of its collector, walked precisely by ocaml,
 * and what its C code has from malloc, walked here.
 *
 *   OCaml -> C   custom blocks (bigarrays, channels, ...) and abstract ones: their words are taken
 *                for pointers, as everywhere in memory of C
 *   C -> OCaml   roots that C code registered (caml_register_global_root) and that stand in a block
 *                of malloc: when a global, a stack or a thread's variables lead to that block, the
 *                block holds what the root holds, and the root itself no more (it is weak then);
 *                else it stays a root. Other words of C never lead into the OCaml heap, which
 * moves.
 *
 * Blocks of both are numbered together by address. */
#ifndef HS_NATIVE_MIXED_H
#define HS_NATIVE_MIXED_H

#include "scan.h"
#include "sites.h"

/* ---- dump.c: parts of a native dump, in this order, after the copy was made */
void hs_native_bind(struct hs_native *native);
hs_status hs_native_list_blocks(struct hs_native *native, struct hs_error *err);
hs_status hs_native_take_tables(struct hs_native *native, struct hs_error *err);
hs_status hs_native_collect_roots(struct hs_native *native, struct hs_error *err);
void hs_native_fini(struct hs_native *native);

/* ---- emit.c: the type of a block and the rest of its record, but not its state. */
hs_status hs_native_block_record(struct hs_native *native, struct hs_flow *flow,
                                 const struct hs_heap_block *block, struct hs_block_record *ret,
                                 struct hs_error *err);

/* ---- mixed.c */
hs_status hs_native_dump_mixed(const struct hs_dump_options *options, struct hs_out *out,
                               struct hs_dump_report *ret, struct hs_error *err);
/* The memory of OCaml blocks: no roots, no unclaimed mapping, and no block of malloc. After the
 * walkers' own claims. */
hs_status hs_native_claim_ocaml(struct hs_native *native, struct hs_error *err);

/* ---- mixed_roots.c: leaves of both walks, in one list. */
struct hs_mixed_cell {
    hs_addr at;    /* a registered root in a block of malloc that something leads to */
    hs_addr block; /* the OCaml block that it holds */
};
struct hs_mixed_roots {
    struct hs_roots roots;       /* owned */
    struct hs_mixed_cell *cells; /* owned; ascending */
    size_t n_cells, cells_capacity;
};
/* After hs_scan_begin of the native part alone: `scan` says what is reached without OCaml. */
hs_status hs_mixed_roots_make(const struct hs_native *native, const struct hs_scan *scan,
                              struct hs_mixed_roots *ret, struct hs_error *err);
void hs_mixed_roots_fini(struct hs_mixed_roots *roots);
/* The cells in [begin, end). */
const struct hs_mixed_cell *hs_mixed_cells_in(const struct hs_mixed_roots *roots, hs_addr begin,
                                              hs_addr end, size_t *ret_n);

/* ---- mixed_types.c: two tables of types that grow while blocks are written, as one. */
enum { HS_MIXED_NATIVE, HS_MIXED_OCAML, HS_MIXED_SOURCES };
struct hs_mixed_types {
    struct hs_mixed_type {
        uint32_t source, index;
    } * types; /* owned: by number in the snapshot */
    size_t n_types, types_capacity;
    uint32_t *numbers[HS_MIXED_SOURCES]; /* owned: by index, plus 1 */
    size_t numbers_capacity[HS_MIXED_SOURCES];
};
void hs_mixed_types_fini(struct hs_mixed_types *types);
/* The number in the snapshot of a source's type. O(1). */
hs_status hs_mixed_types_number(struct hs_mixed_types *types, unsigned source, uint32_t index,
                                uint32_t *ret, struct hs_error *err);
/* At the end: types[n_types], and the members of those that have some by their new numbers, in
 * order. The caller frees all three with hs_free. */
struct hs_mixed_type_tables {
    struct hs_type *types;
    struct hs_member *members;
    size_t n_types, n_members;
};
hs_status hs_mixed_types_finish(const struct hs_mixed_types *types, struct hs_native_types *native,
                                const struct hs_type *ocaml, struct hs_mixed_type_tables *ret,
                                struct hs_error *err);

/* ---- mixed_samples.c: those of OCaml's sampler and of C's. */
struct hs_mixed_samples {
    struct hs_native_samples of_native; /* owned: its samplers follow OCaml's; its sites are all */
    struct hs_sampler *samplers;        /* owned */
    size_t n_samplers;
    struct hs_sample *samples; /* owned: by id, then sampler */
    size_t n_samples;
};
/* After the native blocks are listed: the samplers. */
hs_status hs_mixed_samples_collect(struct hs_native *native, struct hs_mixed_samples *ret,
                                   struct hs_error *err);
/* When blocks have nodes: `scan` numbers native ones, ocaml[n] have theirs. */
hs_status hs_mixed_samples_place(struct hs_mixed_samples *samples, const struct hs_scan *scan,
                                 const struct hs_sample *ocaml, size_t n, struct hs_error *err);
void hs_mixed_samples_fini(struct hs_mixed_samples *samples);

#endif
