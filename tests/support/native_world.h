/* A made-up native process after its heaps were listed: blocks at made-up addresses, types made of
 * a few lines instead of debug information. For tests of native/flow.c and the like.
 *
 *   WORLD_HEAP    blocks, each a span of its own, 16 bytes apart
 *   WORLD_STATIC  words that are mapped and in the copy, but no blocks
 *
 * The file that includes this defines hs_ctypes_find and the like through it: do not link tests
 * that use real debug information. Build blocks, then world_seal, then use `native`. */
#ifndef HS_TESTS_NATIVE_WORLD_H
#define HS_TESTS_NATIVE_WORLD_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fake_tasks.h"
#include "native/native.h"

enum { WORLD_WORDS = 1 << 14, WORLD_BLOCKS = 4096, WORLD_TYPES = 32, WORLD_SLOTS = 32 };
#define WORLD_HEAP UINT64_C(0x7f0000000000)
#define WORLD_STATIC UINT64_C(0x7e0000000000)
#define WORLD_UNMAPPED UINT64_C(0x7d0000000008)

struct world_type {
    struct hs_ctype_facts facts;
    struct hs_cslot slots[WORLD_SLOTS];
    const char *places[WORLD_SLOTS];
    size_t n_slots;
    hs_type_file file;     /* 0: the program's own */
    hs_ctype larger, part; /* part: a record in it, at part_offset */
    hs_ctype base;         /* a base class of it, at 0 */
    hs_ctype counted;      /* a record that has it at counted_at */
    struct hs_ctail tail;
    struct hs_ccount count; /* how it counts its elements; `by` 0: it is no container */
    uint64_t part_offset, counted_at;
    bool may_be_numbered, is_node;
    bool is_cut;
};

struct world {
    struct hs_native native;
    struct hs_dump dump;
    struct hs_dump_options options;
    struct hs_mapping mappings[2];
    char paths[16];
    uint64_t heap[WORLD_WORDS], statics[256];
    hs_addr blocks[WORLD_BLOCKS], next;
    size_t n_blocks;
    uint8_t states; /* of the blocks to come */
    uint8_t owner;
};

static struct world_type world_types[WORLD_TYPES]; /* by number; 0 is unknown */
static struct hs_error world_err;

#define WORLD_OK(call)                                                   \
    do {                                                                 \
        if ((call) != HS_OK) {                                           \
            (void)fprintf(stderr, "%s: %s\n", #call, world_err.message); \
            abort();                                                     \
        }                                                                \
    } while (0)

/* ---- what stands for the debug information */

void hs_ctype_facts(struct hs_ctypes *types, hs_ctype type, struct hs_ctype_facts *ret)
{
    (void)types;
    *ret = world_types[type].facts;
    if (ret->name == NULL)
        ret->name = "";
}

bool hs_ctypes_is_opaque(struct hs_ctypes *types, hs_ctype type)
{
    (void)types;
    return world_types[type].facts.kind == HS_CTYPE_RECORD &&
           world_types[type].facts.is_declaration;
}

const struct hs_cslot *hs_ctypes_slots(struct hs_ctypes *types, hs_ctype type, size_t *ret_n,
                                       bool *ret_is_cut)
{
    (void)types;
    *ret_n = world_types[type].n_slots;
    *ret_is_cut = world_types[type].is_cut;
    return world_types[type].slots;
}

/* A slot with a choice leads to its pointee when the number in front of it is first_choice. */
bool hs_ctypes_is_end_name(const char *name)
{
    return strcmp(name, "end") == 0;
}

bool hs_ctypes_choose(const struct hs_ctypes *types, const struct hs_cslot *slot,
                      hs_cvalue_read *read, void *context, struct hs_cchosen *ret)
{
    uint64_t tag;
    (void)types;
    *ret = (struct hs_cchosen){.pointee = slot->pointee};
    return read(context, -8, 8, &tag) && tag == slot->first_choice;
}

/* A slot that is untold is in the record first_choice; the number that may tell is in front of it.
 */
bool hs_ctypes_untold(const struct hs_ctypes *types, const struct hs_cslot *slot, hs_ctype *ret,
                      uint64_t *ret_offset)
{
    (void)types;
    *ret = slot->first_choice;
    *ret_offset = slot->offset_bytes;
    return slot->is_untold;
}

size_t hs_ctypes_tags(struct hs_ctypes *types, hs_ctype record, uint64_t offset,
                      struct hs_ctag ret[HS_CTAGS_MOST])
{
    (void)types, (void)record;
    if (offset < 8)
        return 0;
    ret[0] = (struct hs_ctag){.at = -8, .n_bytes = 8, .n_bits = 64};
    return 1;
}

hs_ctype hs_ctypes_told(struct hs_ctypes *types, hs_type_file file, enum hs_ctold_by by,
                        hs_addr vaddr, hs_ctype declared)
{
    (void)types, (void)file, (void)by, (void)vaddr;
    return declared;
}

hs_ctype hs_ctypes_larger(struct hs_ctypes *types, hs_ctype type)
{
    (void)types;
    return world_types[type].larger;
}

bool hs_ctypes_tail(struct hs_ctypes *types, hs_ctype type, struct hs_ctail *ret)
{
    (void)types;
    *ret = world_types[type].tail;
    return ret->element != 0;
}

bool hs_ctypes_may_be_numbered(struct hs_ctypes *types, hs_ctype type)
{
    (void)types;
    return world_types[type].may_be_numbered;
}

hs_ctype hs_ctypes_counted(struct hs_ctypes *types, hs_ctype type, uint64_t *ret_offset)
{
    (void)types;
    *ret_offset = world_types[type].counted_at;
    return world_types[type].counted;
}

size_t hs_ctypes_place(struct hs_ctypes *types, hs_ctype type, uint64_t offset_bytes, char *text,
                       size_t n_bytes, hs_ctype *ret_type)
{
    (void)types;
    for (size_t i = 0; i < world_types[type].n_slots; i++) {
        if (world_types[type].slots[i].offset_bytes != offset_bytes ||
            world_types[type].places[i] == NULL)
            continue;
        *ret_type = world_types[type].slots[i].pointee;
        return (size_t)snprintf(text, n_bytes, "%s", world_types[type].places[i]);
    }
    return 0;
}

/* No type has others within it. */
size_t hs_ctypes_around(struct hs_ctypes *types, hs_ctype type, uint64_t offset_bytes,
                        hs_ctype ret[HS_CTYPE_MAX_AROUND], bool *ret_is_whole)
{
    (void)types;
    (void)offset_bytes;
    ret[0] = type;
    *ret_is_whole = true;
    return 1;
}

hs_ctype hs_ctypes_find(struct hs_ctypes *types, hs_type_file file, const char *name)
{
    (void)types;
    (void)file;
    for (hs_ctype i = 1; i < WORLD_TYPES; i++)
        if (world_types[i].facts.name != NULL && strcmp(world_types[i].facts.name, name) == 0)
            return i;
    return 0;
}

size_t hs_ctypes_counts(struct hs_ctypes *types, hs_ctype type,
                        struct hs_ccount ret[HS_CTYPE_MAX_COUNTS])
{
    (void)types;
    ret[0] = world_types[type].count;
    return ret[0].by != 0;
}

/* Each type is itself alone. */
bool hs_ctypes_same(struct hs_ctypes *types, hs_ctype a, hs_ctype b)
{
    (void)types;
    return a == b;
}

uint64_t hs_ctypes_largest_heir(struct hs_ctypes *types, hs_ctype part)
{
    uint64_t most = 0;
    (void)types;
    for (hs_ctype i = 1; part != 0 && i < WORLD_TYPES; i++)
        if (world_types[i].part == part && world_types[i].part_offset == 0 &&
            world_types[i].facts.n_bytes > most)
            most = world_types[i].facts.n_bytes;
    return most;
}

bool hs_ctypes_begins_with(struct hs_ctypes *types, hs_ctype type, hs_ctype part)
{
    (void)types;
    return world_types[type].part == part && world_types[type].part_offset == 0;
}

/* A record that a part begins is one deeper than the part. */
unsigned hs_ctypes_depth(struct hs_ctypes *types, hs_ctype type)
{
    unsigned depth = 0;
    (void)types;
    for (; world_types[type].part != 0 && world_types[type].part_offset == 0; depth++)
        type = world_types[type].part;
    return depth;
}

/* A record without a slot at its beginning has a number there. */
enum hs_cfirst hs_ctypes_first(struct hs_ctypes *types, hs_ctype type)
{
    (void)types;
    if (world_types[type].facts.kind == HS_CTYPE_POINTER)
        return HS_CFIRST_POINTER;
    bool begins_with_slot =
        world_types[type].n_slots != 0 && world_types[type].slots[0].offset_bytes == 0;
    return world_types[type].facts.kind == HS_CTYPE_RECORD && !begins_with_slot ? HS_CFIRST_NUMBER
                                                                                : HS_CFIRST_UNKNOWN;
}

/* All types are the program's, but those that the C library is said to have. */
hs_type_file hs_ctypes_file_of(struct hs_ctypes *types, hs_ctype type)
{
    (void)types;
    return world_types[type].file;
}

bool hs_ctypes_is_node(struct hs_ctypes *types, hs_ctype type)
{
    (void)types;
    return world_types[type].is_node;
}

size_t hs_ctypes_enclosing(struct hs_ctypes *types, hs_ctype part, uint64_t offset_bytes,
                           uint64_t least_bytes, uint64_t most_bytes,
                           hs_ctype ret[HS_CTYPE_MAX_ENCLOSING])
{
    size_t n = 0;
    (void)types;
    for (hs_ctype i = 1; i < WORLD_TYPES && n < HS_CTYPE_MAX_ENCLOSING; i++)
        if (world_types[i].part == part && world_types[i].part_offset == offset_bytes &&
            world_types[i].facts.n_bytes >= least_bytes &&
            world_types[i].facts.n_bytes <= most_bytes)
            ret[n++] = i;
    return n;
}

size_t hs_ctypes_open_heirs(struct hs_ctypes *types, hs_ctype part, uint64_t most_bytes,
                            hs_ctype ret[HS_CTYPE_MAX_ENCLOSING])
{
    size_t n = 0;
    (void)types;
    for (hs_ctype i = 1; part != 0 && i < WORLD_TYPES && n < HS_CTYPE_MAX_ENCLOSING; i++)
        if (world_types[i].part == part && world_types[i].part_offset == 0 &&
            world_types[i].tail.element != 0 && world_types[i].facts.n_bytes <= most_bytes)
            ret[n++] = i;
    return n;
}

bool hs_ctypes_is_header(struct hs_ctypes *types, hs_ctype part)
{
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    bool is_linked = false;
    for (size_t i = 0; i < world_types[part].n_slots; i++)
        is_linked |= world_types[part].slots[i].pointee == part;
    return is_linked && hs_ctypes_open_heirs(types, part, UINT64_MAX, found) != 0;
}

size_t hs_ctypes_heirs(struct hs_ctypes *types, hs_ctype part, uint64_t offset_bytes,
                       uint64_t least_bytes, uint64_t most_bytes,
                       hs_ctype ret[HS_CTYPE_MAX_ENCLOSING])
{
    size_t n = 0;
    (void)types;
    for (hs_ctype i = 1; i < WORLD_TYPES && n < HS_CTYPE_MAX_ENCLOSING; i++)
        if (world_types[i].base == part && part != 0 && offset_bytes == 0 &&
            world_types[i].facts.n_bytes >= least_bytes &&
            world_types[i].facts.n_bytes <= most_bytes)
            ret[n++] = i;
    return n;
}

bool hs_ctypes_has_heir(struct hs_ctypes *types, hs_ctype part, uint64_t least_bytes,
                        uint64_t most_bytes)
{
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    return hs_ctypes_heirs(types, part, 0, least_bytes, most_bytes, found) != 0;
}

bool hs_ctypes_is_c_or_cpp(struct hs_ctypes *types, hs_ctype type)
{
    (void)types, (void)type;
    return true;
}

bool hs_ctypes_has_code_at(struct hs_ctypes *types, hs_ctype type, uint64_t offset)
{
    (void)types, (void)type, (void)offset;
    return false;
}

size_t hs_ctypes_of_size(struct hs_ctypes *types, hs_type_file file, uint64_t least_bytes,
                         uint64_t most_bytes, hs_ctype ret[HS_CTYPE_MAX_OF_SIZE])
{
    size_t n = 0;
    (void)types;
    (void)file;
    for (hs_ctype i = 1; i < WORLD_TYPES && n < HS_CTYPE_MAX_OF_SIZE; i++)
        if (world_types[i].facts.kind == HS_CTYPE_RECORD &&
            world_types[i].facts.n_bytes >= least_bytes &&
            world_types[i].facts.n_bytes <= most_bytes)
            ret[n++] = i;
    return n;
}

static inline void world_no_types(void)
{
    memset(world_types, 0, sizeof world_types);
}

static inline void world_type(hs_ctype number, const char *name, enum hs_ctype_kind kind,
                              uint64_t n_bytes)
{
    world_types[number] =
        (struct world_type){.facts = {.name = name, .kind = (uint8_t)kind, .n_bytes = n_bytes}};
}

/* A pointer in a type; for a pointer type, to what it leads. */
static inline void world_slot(hs_ctype number, const char *place, uint64_t offset, hs_ctype pointee)
{
    struct world_type *type = &world_types[number];
    assert(type->n_slots < WORLD_SLOTS);
    type->slots[type->n_slots] = (struct hs_cslot){.offset_bytes = offset, .pointee = pointee};
    type->places[type->n_slots++] = place;
}

/* ---- memory */

static inline struct world *world_new(void)
{
    void *memory;
    WORLD_OK(hs_alloc(1, sizeof(struct world), &memory, &world_err));
    struct world *w = memory;
    w->next = WORLD_HEAP;
    w->owner = HS_OWNER_registered;
    w->native.dump = &w->dump;
    w->dump.options = &w->options;
    w->mappings[0] = (struct hs_mapping){
        .begin = WORLD_STATIC, .end = WORLD_STATIC + 0x1000, .readable = true, .writable = true};
    w->mappings[1] = (struct hs_mapping){.begin = WORLD_HEAP,
                                         .end = WORLD_HEAP + sizeof w->heap,
                                         .readable = true,
                                         .writable = true};
    w->dump.target.mappings = w->mappings;
    w->dump.target.n_mappings = 2;
    w->dump.target.path_text = w->paths;
    w->dump.target.path_text_bytes = sizeof w->paths;
    w->dump.findings.strings = &w->dump.strings;
    w->native.ctypes = (struct hs_ctypes *)(void *)w; /* never looked into here */
    hs_heap_map_init(&w->dump.heaps.map, &w->dump.image);
    return w;
}

static inline void world_free(struct world *w)
{
    hs_heap_map_fini(&w->dump.heaps.map);
    hs_image_fini(&w->dump.image);
    hs_strtab_fini(&w->dump.strings);
    hs_findings_fini(&w->dump.findings);
    hs_roots_fini(&w->native.roots);
    hs_free(w->native.seeds);
    hs_native_told_fini(&w->native.told);
    hs_unions_fini(&w->native.unions);
    hs_native_counts_fini(&w->native.counts);
    hs_free(w);
}

static inline uint64_t *world_word(struct world *w, hs_addr address)
{
    uint64_t at = address - WORLD_HEAP;
    if (at < sizeof w->heap)
        return &w->heap[at / 8];
    assert(address - WORLD_STATIC < sizeof w->statics);
    return &w->statics[(address - WORLD_STATIC) / 8];
}

/* A live block of zeros. */
static inline hs_addr world_block(struct world *w, uint64_t n_bytes)
{
    hs_addr begin = w->next;
    struct hs_heap_span span = {.begin = begin,
                                .end = begin + n_bytes,
                                .form = HS_SPAN_SINGLE,
                                .owner = w->owner,
                                .states = w->states};
    w->next = (begin + n_bytes + 16 + 15) & ~UINT64_C(15);
    assert(w->next < WORLD_HEAP + sizeof w->heap && w->n_blocks < WORLD_BLOCKS);
    w->blocks[w->n_blocks++] = begin;
    WORLD_OK(hs_heap_map_add(&w->dump.heaps.map, &span, &world_err));
    return begin;
}

static inline void world_seal(struct world *w)
{
    uint64_t n_refused;
    WORLD_OK(hs_image_add(&w->dump.image, WORLD_STATIC, w->statics, sizeof w->statics, &world_err));
    WORLD_OK(hs_image_add(&w->dump.image, WORLD_HEAP, w->heap, sizeof w->heap, &world_err));
    WORLD_OK(hs_heap_map_seal(&w->dump.heaps.map, &n_refused, &world_err));
    assert(n_refused == 0);
    for (size_t i = 0; i < w->n_blocks; i++)
        assert(hs_heap_map_set(&w->dump.heaps.map, w->blocks[i]));
    WORLD_OK(hs_heap_map_index(&w->dump.heaps.map, &world_err));
}

static inline void world_seed(struct world *w, hs_addr word, hs_ctype pointee)
{
    WORLD_OK(hs_grow((void **)&w->native.seeds, &w->native.seeds_capacity, w->native.n_seeds + 1,
                     sizeof *w->native.seeds, &world_err));
    w->native.seeds[w->native.n_seeds++] =
        (struct hs_native_seed){.block = word, .word = word, .pointee = pointee};
}

static inline void world_root(struct world *w, hs_addr block, unsigned edge_class)
{
    struct hs_root_leaf leaf = {.target = block, .root = {.edge_class = (uint8_t)edge_class}};
    WORLD_OK(hs_roots_add(&w->native.roots, &leaf, &world_err));
}

/* The name of the type that a block was given; "" when it has none. */
static inline const char *world_type_of(struct world *w, const struct hs_flow *flow, hs_addr block)
{
    struct hs_heap_block found;
    assert(hs_heap_map_resolve(&w->dump.heaps.map, block, &found) == HS_POINTER_START);
    hs_ntype type = hs_flow_type(flow, found.rank);
    return type == 0 ? "" : hs_strtab_get(&w->dump.strings, flow->types.types[type - 1].type.name);
}

#endif
