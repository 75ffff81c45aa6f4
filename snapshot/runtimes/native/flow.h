/* The state that the parts of the flow of types share: flow.c, rtti.c, named.c, shapes.c. */
#ifndef HS_NATIVE_FLOW_H
#define HS_NATIVE_FLOW_H

#include "base/load.h"
#include "native.h"

/* Finds the block that a word leads to, as it is or else without the bits of --pointer-mask. */
static inline enum hs_pointer hs_flow_resolve(const struct hs_native *native, uint64_t word,
                                              struct hs_heap_block *ret)
{
    const struct hs_heap_map *map = &native->dump->heaps.map;
    uint64_t mask = native->dump->options->pointer_mask;
    enum hs_pointer how =
        hs_heap_map_may_hold(map, word) ? hs_heap_map_resolve(map, word, ret) : HS_POINTER_NONE;

    if (how == HS_POINTER_NONE && (word & mask) != 0 && hs_heap_map_may_hold(map, word & ~mask))
        how = hs_heap_map_resolve(map, word & ~mask, ret);
    return how;
}

/* Returns the offset in `block`, which `word` was found to lead to. */
static inline uint64_t hs_flow_offset(const struct hs_native *native, uint64_t word,
                                      const struct hs_heap_block *block)
{
    uint64_t offset = word - block->begin;
    return offset < block->n_bytes ? offset
                                   : (word & ~native->dump->options->pointer_mask) - block->begin;
}

/* Passes over untouched parts when going over the words of a large block: an offset that is a
 * multiple of HS_FLOW_PART becomes the next such, from itself on, behind which something was
 * touched; n_bytes when there is none. Reading the copy of a page that was never touched costs a
 * page, and some blocks are reserves. */
#define HS_FLOW_PART (UINT64_C(1) << 16)
uint64_t hs_flow_next_part(const struct hs_native *native, const struct hs_heap_block *block,
                           uint64_t at);
static inline uint64_t hs_flow_touched(const struct hs_native *native,
                                       const struct hs_heap_block *block, uint64_t at)
{
    return block->n_bytes < 2 * HS_FLOW_PART || at % HS_FLOW_PART != 0
               ? at
               : hs_flow_next_part(native, block, at);
}

/* ---- what flow.c holds besides the types themselves and the groups of enclosing.h */

/* The most blocks noted whose type changes after types have flowed, or that are said to be two
 * unrelated records, as a part of all: of more none is judged, as which come first is luck. Of the
 * latter twice as many types are counted. */
enum { HS_FLOW_SETTLED = 1 << 18, HS_FLOW_SETTLED_ONE_IN = 8 };
enum { HS_FLOW_CONTESTED = 1 << 16, HS_FLOW_CONTESTED_ONE_IN = 256, HS_FLOW_FEW = 64 };

static inline uint64_t hs_flow_most(uint64_t n_blocks, uint64_t one_in, uint64_t most)
{
    uint64_t n = n_blocks / one_in + HS_FLOW_FEW;
    return n < most ? n : most;
}

static inline uint64_t hs_flow_most_settled(uint64_t n_blocks)
{
    return hs_flow_most(n_blocks, HS_FLOW_SETTLED_ONE_IN, HS_FLOW_SETTLED);
}

static inline uint64_t hs_flow_most_contested(uint64_t n_blocks)
{
    return hs_flow_most(n_blocks, HS_FLOW_CONTESTED_ONE_IN, HS_FLOW_CONTESTED);
}

/* A bit for each block that waits. Limit: what is noted of blocks as above, hardly any in nearly
 * all heaps, is not foreseen. */
#define HS_FLOW_LATE_BYTES(n_blocks) ((n_blocks) / 7)
/* Two bits for each block, once something denies a virtual table and where there is room. */
#define HS_FLOW_STALE_BYTES(n_blocks) ((n_blocks) / 7 * 2)

/* ---- rtti.c: dynamic types of C++ by the first word of a block.
 *
 * Itanium C++ ABI 2.5.2 and 2.9.5: a virtual table pointer leads behind
 *
 *   offset to top (0 here) | type_info *  |  virtual functions ...
 *
 * and a type_info is its own table pointer and the mangled name. All three lie in memory of loaded
 * objects. What was found out about a table is kept by its address. */
struct hs_rtti {
    struct hs_native *native; /* borrowed */
    struct hs_rtti_segment {
        hs_addr begin, end;
        size_t object;
    } * segments; /* owned: ascending; where tables can be */
    size_t n_segments;
    struct hs_dict tables; /* by address: its hs_ntype, 0 where there is none */
    uint64_t n_sized;      /* whose classes' sizes were asked for */
    bool is_possible;      /* the process has something of C++ */
    bool has_class_rules;  /* and a library of which rules describe a class */
};
/* Tells whether the process may have anything of C++. */
bool hs_rtti_is_possible(const struct hs_objects *objects);
hs_status hs_rtti_open(struct hs_rtti *rtti, struct hs_native *native, struct hs_error *err);
void hs_rtti_close(struct hs_rtti *rtti);
/* Finds the type of an object whose first word is `word`; *ret is 0 when it is no virtual table.
 * O(1) once a table is known. Fails with HS_LIMIT. */
hs_status hs_rtti_find(struct hs_rtti *rtti, struct hs_native_types *types, uint64_t word,
                       hs_ntype *ret, struct hs_error *err);

/* Finds the name of a block that an exception was thrown in, and the record of the object at
 * `offset_bytes` in it (0: not described); type 0: nothing was. O(1) once a class is known. Fails
 * with HS_LIMIT. */
struct hs_named_type;
enum { HS_THROWN_OBJECT = 128 };
hs_status hs_rtti_thrown(struct hs_rtti *rtti, struct hs_native_types *types,
                         const struct hs_heap_block *block, struct hs_named_type *ret,
                         struct hs_error *err);

/* ---- rtti_size.c: which sizes the first functions of the virtual table at an address give back:
 * that of its class is one of them, where it has a virtual destructor and its program was made
 * for C++14 or later. O(SLOTS functions). */
void hs_rtti_deleted_sizes(const struct hs_native *native, hs_addr table,
                           struct hs_deleted_sizes *ret);

/* ---- named.c: the type of a block whose object leads to what names it (heaps/allocator.h,
 * object_name). Where the binary that has the type describes a record of that name, and the object
 * begins with the block, it is that record; else its name, and `inner` is the record at
 * `offset_bytes`. *ret is all 0 when the block says nothing. Fails with HS_LIMIT. */
struct hs_named_type {
    hs_ntype type;
    hs_ctype inner; /* 0: nothing more is known */
    uint64_t offset_bytes;
};
hs_status hs_native_named_type(const struct hs_native *native, struct hs_native_types *types,
                               const struct hs_heap_block *block, struct hs_named_type *ret,
                               struct hs_error *err);

/* ---- outside.c: gives what other runtimes' objects have for data a type that has no pointers. */
hs_status hs_native_outside(const struct hs_native *native, struct hs_flow *flow,
                            struct hs_error *err);

/* ---- stdio.c: gives the buffers of glibc's open files a type that has no pointers. Blocks that
 * have a type keep it. */
hs_status hs_native_stdio(const struct hs_native *native, struct hs_flow *flow,
                          struct hs_error *err);
/* Notes, once types have flowed, what of fopen's blocks nobody has written. */
hs_status hs_native_stdio_unused(const struct hs_native *native, struct hs_flow *flow,
                                 struct hs_error *err);

/* ---- shapes.c: containers of C++ that no debug information describes, known by pointers
 * that agree with each other. `flow`: blocks that have a type keep it. */
hs_status hs_native_shapes(struct hs_native *native, struct hs_flow *flow, struct hs_error *err);

#endif
