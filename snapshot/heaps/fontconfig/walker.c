/* Structures of fontconfig that lead to their parts by distances. Its caches are files that are
 * mapped wherever there is room, and what it makes in memory has the same layout: every program
 * that draws text has patterns whose elements no address leads to.
 *
 *   FcPattern    int num, size; intptr_t elts; int ref         elts: size * FcPatternElt
 *   FcCharSet    int ref, num; intptr_t leaves, numbers        leaves: num distances from there
 *                                                              numbers: num * uint16_t, ascending
 *
 * The layout is the same from fontconfig 2.4 (2006) to 2.17; nothing of it is public. A block is
 * believed to be one when all its numbers and parts agree.
 *
 * Sources: src/fcint.h (struct _FcPattern, _FcCharSet, FcOffsetToPtr), fcpat.c
 * (FcPatternObjectInsertElt), fccharset.c (FcCharSetPutLeaf). */
#include "base/alloc.h"
#include "base/load.h"
#include "base/table.h"
#include "heaps/allocator.h"

enum {
    HEAD_BYTES = 24,      /* of a pattern, and of a set */
    MOST_HEAD_BYTES = 48, /* with what an allocator rounds up */
    ELT_BYTES = 16,       /* int object; FcValueList *values */
    ELTS_STEP = 16,       /* room is made for so many at a time */
    MOST_ELTS = 1 << 16,
    EXTENDED_OBJECT = 1024, /* a bit of its number that is not of its order */
    LIST_BYTES = 32,        /* FcValueList *next; FcValue value; int binding */
    LEAF_BYTES = 32,
    FIRST_LEAVES = 8,     /* the room for one; then for two, four, ... */
    MOST_LEAVES = 0x1100, /* of 256 characters: all of Unicode */
    MOST_REFERENCES = 1 << 30,
    MOST_PARTS = 1 << 18, /* some 10 MB */
    MOST_LOOKS = 1 << 26, /* at elements and leaves of what may be patterns and sets */
    MAYBE_BITS = 1 << 16,
};

/* The kinds of fontconfig's blocks: each is one structure, or an array of things of one size. */
enum part {
    PART_PATTERN,
    PART_ELTS,
    PART_LIST,
    PART_SET,
    PART_LEAVES,
    PART_NUMBERS,
    PART_LEAF,
    N_PARTS
};
static const struct {
    const char *name;
    unsigned n_bytes;
} parts[N_PARTS] = {
    [PART_PATTERN] = {"FcPattern", HEAD_BYTES},
    [PART_ELTS] = {"FcPatternElt", ELT_BYTES},
    [PART_LIST] = {"FcValueList", LIST_BYTES},
    [PART_SET] = {"FcCharSet", HEAD_BYTES},
    [PART_LEAVES] = {"FcCharSet leaves", HS_WORD_BYTES},
    [PART_NUMBERS] = {"FcCharSet numbers", sizeof(uint16_t)},
    [PART_LEAF] = {"FcCharLeaf", LEAF_BYTES},
};
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
enum { PART_SHIFT = 32 }; /* of a block's entry: what it is, and how many */

struct fontconfig {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_heap_map *map;         /* borrowed */
    hs_addr code;                          /* of the library */
    hs_str names[N_PARTS];
    struct hs_dict parts;            /* by address */
    uint64_t maybe[MAYBE_BITS / 64]; /* by a hash of the address: is it perhaps one? */
    uint64_t n_looks;
};

static void fontconfig_close(void *state)
{
    struct fontconfig *f = state;

    if (f == NULL)
        return;
    hs_dict_fini(&f->parts);
    hs_free(f);
}

static hs_status fontconfig_open(const struct hs_process_copy *process, void **ret_state,
                                 struct hs_error *err)
{
    struct hs_live_symbol symbol;
    struct fontconfig *f;

    if (process->objects == NULL || !hs_objects_find(process->objects, "FcPatternCreate", &symbol))
        return HS_OK;
    HS_TRY(HS_ALLOC(&f, 1, err));
    *f = (struct fontconfig){.process = process, .code = symbol.address};
    *ret_state = f;
    return HS_OK;
}

/* ---- what is what */

/* The block that begins at an address and has room for so many things of `each` bytes, and for no
 * more than twice as many. */
static bool block_of(const struct fontconfig *f, hs_addr address, uint64_t n, uint64_t each,
                     struct hs_heap_block *ret)
{
    return hs_heap_map_resolve(f->map, address, ret) == HS_POINTER_START && ret->bytes != NULL &&
           ret->n_bytes >= n * each && ret->n_bytes <= 2 * n * each + HEAD_BYTES;
}

static bool is_full(const struct fontconfig *f)
{
    return f->parts.n >= MOST_PARTS || f->n_looks >= MOST_LOOKS;
}

static inline size_t maybe_bit(hs_addr address)
{
    return address / HS_WORD_BYTES * HASH_FACTOR >> 48;
}

/* Most blocks are no parts: one look at 8 KB says so. */
static const uint64_t *find_part(const struct fontconfig *f, hs_addr address)
{
    size_t bit = maybe_bit(address);
    return (f->maybe[bit / 64] >> bit % 64 & 1) == 0 ? NULL : hs_dict_find(&f->parts, address);
}

/* *ret_is_new: it was not known. */
static hs_status add_part(struct fontconfig *f, const struct hs_heap_block *block, enum part part,
                          uint64_t n, bool *ret_is_new, struct hs_error *err)
{
    size_t bit = maybe_bit(block->begin);

    *ret_is_new = !is_full(f) && find_part(f, block->begin) == NULL;
    if (!*ret_is_new)
        return HS_OK;
    f->maybe[bit / 64] |= UINT64_C(1) << bit % 64;
    return hs_dict_put(&f->parts, block->begin, (uint64_t)part << PART_SHIFT | n, err);
}

/* ---- patterns */

/* Are the objects' numbers in order, those that are extended behind the others of theirs, and the
 * lists where lists can be? */
static bool are_elts(const struct hs_heap_block *elts, uint64_t n)
{
    uint32_t last = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t object = hs_load_u32(elts->bytes + i * ELT_BYTES);
        uint64_t list = hs_load_u64(elts->bytes + i * ELT_BYTES + HS_WORD_BYTES);
        uint32_t order = object & ~(uint32_t)EXTENDED_OBJECT;
        if (order < last || (order == last && object == order) || order > INT32_MAX ||
            (list % HS_WORD_BYTES != 0 && list % 2 == 0))
            return false;
        last = order;
    }
    return true;
}

/* A pattern that has lost all its objects keeps the room for them. */
static bool are_free_elts(const struct hs_heap_block *elts, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (hs_load_u32(elts->bytes + i * ELT_BYTES) != 0 ||
            hs_load_u64(elts->bytes + i * ELT_BYTES + HS_WORD_BYTES) != 0)
            return false;
    return true;
}

static bool elts_of(struct fontconfig *f, const struct hs_heap_block *pattern,
                    struct hs_heap_block *ret, uint64_t *ret_n)
{
    uint32_t n = hs_load_u32(pattern->bytes), size = hs_load_u32(pattern->bytes + 4);
    uint32_t references = hs_load_u32(pattern->bytes + 16);

    *ret_n = n;
    if (n > size || size == 0 || size > MOST_ELTS || size % ELTS_STEP != 0 || references == 0 ||
        references > MOST_REFERENCES ||
        !block_of(f, pattern->begin + hs_load_u64(pattern->bytes + HS_WORD_BYTES), size, ELT_BYTES,
                  ret) ||
        find_part(f, ret->begin) != NULL)
        return false;
    f->n_looks += size;
    return n != 0 ? are_elts(ret, n) : are_free_elts(ret, size);
}

/* A list of values, up to what is not in the heap or is known. */
static hs_status add_lists(struct fontconfig *f, hs_addr first, struct hs_error *err)
{
    struct hs_heap_block list;
    bool is_new = true;

    for (hs_addr at = first; is_new && block_of(f, at, 1, LIST_BYTES, &list);
         at = hs_load_u64(list.bytes))
        HS_TRY(add_part(f, &list, PART_LIST, 1, &is_new, err));
    return HS_OK;
}

static hs_status add_pattern(struct fontconfig *f, const struct hs_heap_block *block,
                             struct hs_error *err)
{
    struct hs_heap_block elts;
    uint64_t n;
    bool is_new;

    if (!elts_of(f, block, &elts, &n))
        return HS_OK;
    HS_TRY(add_part(f, &elts, PART_ELTS, hs_load_u32(block->bytes + 4), &is_new, err));
    if (!is_new)
        return HS_OK;
    HS_TRY(add_part(f, block, PART_PATTERN, 1, &is_new, err));
    for (uint64_t i = 0; i < n; i++)
        HS_TRY(add_lists(f, hs_load_u64(elts.bytes + i * ELT_BYTES + HS_WORD_BYTES), err));
    return HS_OK;
}

/* ---- sets of characters */

static bool are_leaves(struct fontconfig *f, const struct hs_heap_block *leaves,
                       const struct hs_heap_block *numbers, uint64_t n)
{
    struct hs_heap_block leaf;

    for (uint64_t i = 0; i < n; i++) {
        f->n_looks++;
        if (i != 0 &&
            hs_load_u16(numbers->bytes + (i - 1) * 2) >= hs_load_u16(numbers->bytes + i * 2))
            return false;
        if (!block_of(f, leaves->begin + hs_load_u64(leaves->bytes + i * HS_WORD_BYTES), 1,
                      LEAF_BYTES, &leaf))
            return false;
    }
    return true;
}

static bool leaves_of(struct fontconfig *f, const struct hs_heap_block *set,
                      struct hs_heap_block *ret_leaves, struct hs_heap_block *ret_numbers,
                      uint64_t *ret_n)
{
    uint32_t references = hs_load_u32(set->bytes), n = hs_load_u32(set->bytes + 4);
    uint64_t n_room = n == 1 ? FIRST_LEAVES : 2;

    if (references == 0 || references > MOST_REFERENCES || n == 0 || n > MOST_LEAVES)
        return false;
    while (n_room < n)
        n_room *= 2;
    *ret_n = n;
    return block_of(f, set->begin + hs_load_u64(set->bytes + HS_WORD_BYTES), n_room, HS_WORD_BYTES,
                    ret_leaves) &&
           block_of(f, set->begin + hs_load_u64(set->bytes + 2 * HS_WORD_BYTES), n_room,
                    sizeof(uint16_t), ret_numbers) &&
           find_part(f, ret_leaves->begin) == NULL && are_leaves(f, ret_leaves, ret_numbers, n);
}

static hs_status add_set(struct fontconfig *f, const struct hs_heap_block *block,
                         struct hs_error *err)
{
    struct hs_heap_block leaves, numbers, leaf;
    uint64_t n;
    bool is_new;

    if (!leaves_of(f, block, &leaves, &numbers, &n))
        return HS_OK;
    HS_TRY(add_part(f, &leaves, PART_LEAVES, n, &is_new, err));
    if (!is_new)
        return HS_OK;
    HS_TRY(add_part(f, block, PART_SET, 1, &is_new, err));
    HS_TRY(add_part(f, &numbers, PART_NUMBERS, n, &is_new, err));
    for (uint64_t i = 0; i < n; i++) {
        hs_addr at = leaves.begin + hs_load_u64(leaves.bytes + i * HS_WORD_BYTES);
        if (hs_heap_map_resolve(f->map, at, &leaf) == HS_POINTER_START)
            HS_TRY(add_part(f, &leaf, PART_LEAF, 1, &is_new, err));
    }
    return HS_OK;
}

/* ---- all */

static hs_status fontconfig_add_names(struct fontconfig *f, struct hs_error *err)
{
    for (size_t i = 0; i < N_PARTS; i++)
        HS_TRY(hs_strtab_add(f->process->findings->strings, parts[i].name, &f->names[i], err));
    return HS_OK;
}

static hs_status fontconfig_look(void *state, const struct hs_heap_map *map, struct hs_error *err)
{
    struct fontconfig *f = state;
    struct hs_heap_iterator it = {.map = map};
    struct hs_heap_block block;

    f->map = map;
    HS_TRY(fontconfig_add_names(f, err));
    while (!is_full(f) && hs_heap_map_next(&it, &block)) {
        if (block.n_bytes < HEAD_BYTES || block.n_bytes >= MOST_HEAD_BYTES || block.bytes == NULL)
            continue;
        HS_TRY(add_pattern(f, &block, err));
        HS_TRY(add_set(f, &block, err));
    }
    return !is_full(f) ? HS_OK
                       : hs_findings_note(f->process->findings, true, err,
                                          "fontconfig: not all of its structures were looked for: "
                                          "there are too many, or too much looks like them");
}

static bool part_of(const struct fontconfig *f, const struct hs_heap_block *block,
                    enum part *ret_part, uint32_t *ret_n)
{
    const uint64_t *entry = find_part(f, block->begin);

    if (entry == NULL)
        return false;
    *ret_part = *entry >> PART_SHIFT;
    *ret_n = (uint32_t)*entry;
    return true;
}

static bool fontconfig_name(const void *state, const struct hs_heap_block *block,
                            struct hs_object_name *ret)
{
    const struct fontconfig *f = state;
    enum part part;
    uint32_t n;

    if (!part_of(f, block, &part, &n))
        return false;
    *ret = (struct hs_object_name){
        .name = f->names[part], .n_bytes = (uint64_t)n * parts[part].n_bytes, .code = f->code};
    return true;
}

static struct hs_distances fontconfig_distances(const void *state,
                                                const struct hs_heap_block *block)
{
    enum part part;
    uint32_t n;

    if (!part_of(state, block, &part, &n))
        return (struct hs_distances){0};
    return part == PART_PATTERN  ? (struct hs_distances){.first_word = 1, .n_words = 1}
           : part == PART_SET    ? (struct hs_distances){.first_word = 1, .n_words = 2}
           : part == PART_LEAVES ? (struct hs_distances){.n_words = n}
                                 : (struct hs_distances){0};
}

const struct hs_allocator hs_allocator_fontconfig = {
    .name = "fontconfig",
    .open = fontconfig_open,
    .close = fontconfig_close,
    .has_no_blocks = true,
    .look = fontconfig_look,
    .object_name = fontconfig_name,
    .distances = fontconfig_distances,
};
