/* Source types flow from the variables of modules through the marked heap.
 *
 * A variable's type says which (tag, size) its block may have and what each field leads to, and so
 * on. What comes of it is the type of each block, and how well the types agree with the heap and
 * with each other:
 *
 *   fit        a block without a type has a tag and a size that the type allows
 *   agreement  a block that has the type already, or a type that says more
 *   join       a block with another instance of its type: what both say is kept
 *   conflict   a block with a type of another declaration: the first one stays
 *   misfit     a block that the type does not allow: it stays as it was, and the type in front of
 *              it is charged
 *
 * Then from closures of functions whose captured variables are known. Then from slots of stacks:
 * these types are only probable, and where they do not fit or meet another one nothing is said.
 * Last from containers that are told by their shape (shapes.h), to blocks without a type alone.
 *
 * Blocks wait as a bit each, and are followed region by region, last come first: one order whatever
 * memory there is, so one result. */
#ifndef HS_SOURCE_TYPES_PUSH_H
#define HS_SOURCE_TYPES_PUSH_H

#include "map.h"
#include "tables.h"

struct hs_dump_plan;
struct hs_ocaml_marks;

struct hs_spush_counts {
    uint64_t n_fits, n_agreements, n_joins, n_misfits, n_conflicts;
    /* of what lives in the heap and has fields that a type could tell (tag below 246) */
    uint64_t n_typed_blocks, n_typed_words;
    uint64_t n_probable_blocks; /* of these, by variables in scope where a slot of a stack is */
    uint64_t n_unlikely;        /* blocks behind such that did not fit or had another type */
    uint64_t n_shaped_blocks, n_shaped_words; /* not of these: told by their shape alone */
    bool shapes_stopped;                      /* it would have cost too much to look at more */
};

struct hs_spush {
    struct hs_stables *tables; /* borrowed; joins add types */
    unsigned region_bits;      /* of addresses that are followed together; 0: as they are */
    void *column;              /* owned pages: by rank, `width` bytes: type plus 1; 0: none */
    unsigned width;            /* 2, or 4 when there are more types */
    uint64_t n_blocks;
    struct hs_spush_counts counts;
    uint32_t *charged; /* owned: misfits by the type in front, as many as there were types */
    size_t n_charged;
    struct hs_dict functions; /* what closures captured: code address to tables->captured */
    bool has_shapes;          /* the tables have the types of shapes, from this on: */
    hs_stype first_shape;
    hs_stype storage_type; /* of the local storage of OCaml 5's domains, or HS_STYPE_NONE */
};

void hs_spush_fini(struct hs_spush *push);

/* Lets types flow, after marking; the map has its index, the tables the types of the shapes if
 * these are looked for. HS_LIMIT when memory is short: then the types are missing, and nothing
 * else. About 100 ns per edge of a typed block; resident: 2 or 4 bytes per block, and, while it
 * runs, 2 bits per word and for shapes a byte per block, which the plan has to have room for. */
hs_status hs_spush_run(struct hs_spush *push, const struct hs_ocaml *rt,
                       const struct hs_block_map *map, const struct hs_ocaml_roots *roots,
                       const struct hs_ocaml_marks *marks, struct hs_dump_plan *plan,
                       struct hs_error *err);

/* Returns the type of a block by its rank, or HS_STYPE_NONE. */
static inline hs_stype hs_spush_type(const struct hs_spush *push, uint64_t rank)
{
    if (push->column == NULL)
        return HS_STYPE_NONE;
    return (push->width == 2 ? ((const uint16_t *)push->column)[rank]
                             : ((const uint32_t *)push->column)[rank]) -
           (uint32_t)1;
}

#endif
