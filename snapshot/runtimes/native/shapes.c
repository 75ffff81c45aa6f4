/* Nodes and bodies of C++ containers without debug information.
 *
 * Nothing is guessed from one word: a node is named when its neighbours' pointers lead back to it,
 * a body when all words of its holder agree with it. Layouts are those of libstdc++ (stl_tree.h,
 * stl_list.h; the others in shapes_holders.c), whose tree and list are everybody's:
 *
 *   tree node   colour (0, 1) | parent | left | right | value
 *   list node   next | previous | value
 *
 * A name here says what was seen, not which class it was. */
#include "shapes.h"
#include "qt.h"

enum { WORD = 8, TREE_BYTES = 32, STEPS_PER_BLOCK = 16, STEPS = 1 << 20 };
/* The bounds of reading windows of a copy in a file: each a few times, and some more. Waiting for
 * one takes the time of reading so much. */
enum { PASSES = 5, FAULT_BYTES = 5 << 28, WAIT_BYTES = 1 << 16 };

/* Tells whether the node at `at` has `parent` as its parent. */
static bool shapes_hangs_below(struct hs_shapes *s, hs_addr at, hs_addr parent)
{
    uint64_t word;
    return hs_shapes_word(s, at + WORD, &word) && word == parent;
}

/* Tells whether the node at `at`, or the head of the tree for its root, leads back to `child`. */
static bool shapes_hangs_above(struct hs_shapes *s, hs_addr at, hs_addr child)
{
    for (unsigned link = 1; link <= 3; link++) {
        uint64_t word;
        if (!hs_shapes_word(s, at + link * WORD, &word))
            return false;
        if (word == child)
            return true;
    }
    return false;
}

static bool shapes_is_tree_node(struct hs_shapes *s, const struct hs_heap_block *block)
{
    uint64_t colour = hs_load_u64(block->bytes) & UINT32_MAX;
    uint64_t parent = hs_load_u64(block->bytes + WORD);
    uint64_t left = hs_load_u64(block->bytes + 2 * WORD);
    uint64_t right = hs_load_u64(block->bytes + 3 * WORD);

    if (colour > 1 || parent == block->begin || left == block->begin || right == block->begin ||
        (left == right && left != 0))
        return false;
    return shapes_hangs_above(s, parent, block->begin) &&
           (left == 0 || shapes_hangs_below(s, left, block->begin)) &&
           (right == 0 || shapes_hangs_below(s, right, block->begin));
}

static bool shapes_is_list_node(struct hs_shapes *s, const struct hs_heap_block *block)
{
    uint64_t next = hs_load_u64(block->bytes), previous = hs_load_u64(block->bytes + WORD);
    uint64_t back, forth;

    return next != block->begin && previous != block->begin &&
           hs_shapes_word(s, next + WORD, &back) && back == block->begin &&
           hs_shapes_word(s, previous, &forth) && forth == block->begin;
}

static hs_status shapes_qt(struct hs_shapes *s, const struct hs_heap_block *block,
                           struct hs_error *err)
{
    HS_TRY(hs_shapes_try_qt_hash(s, block, err));
    return s->qt_version == 5 && hs_flow_type(s->flow, block->rank) == 0
               ? hs_shapes_try_qt5(s, block, err)
               : HS_OK;
}

static hs_status shapes_nodes(struct hs_shapes *s, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &s->native->dump->heaps.map};
    struct hs_heap_block block;

    while (!hs_shapes_is_spent(s) && hs_heap_map_next(&it, &block)) {
        if (block.bytes == NULL || hs_flow_type(s->flow, block.rank) != 0 ||
            (block.span->states & HS_BLOCK_MAPPING) != 0)
            continue;
        if (s->qt_version != 0)
            HS_TRY(shapes_qt(s, &block, err));
        if (hs_flow_type(s->flow, block.rank) == 0)
            HS_TRY(hs_shapes_try_xml(s, &block, err));
        if (hs_flow_type(s->flow, block.rank) != 0)
            continue;
        if (block.n_bytes > TREE_BYTES && shapes_is_tree_node(s, &block))
            HS_TRY(hs_shapes_set(s, &block, HS_SHAPE_TREE, err));
        else if (block.n_bytes > 2 * WORD && shapes_is_list_node(s, &block))
            HS_TRY(hs_shapes_set(s, &block, HS_SHAPE_LIST, err));
    }
    return HS_OK;
}

/* Reads the words from `at` on, as far as they are in the copy. */
static void shapes_words(struct hs_shapes *s, hs_addr at, uint64_t words[HS_HOLDER_WORDS])
{
    bool is_there = true;

    for (size_t i = 0; i < HS_HOLDER_WORDS; i++) {
        words[i] = 0;
        is_there = is_there && hs_shapes_word(s, at + i * WORD, &words[i]);
    }
}

static void shapes_before(struct hs_shapes *s, hs_addr at)
{
    for (unsigned i = 0; i < 2; i++)
        if (at < 2 * WORD || !hs_shapes_word(s, at - (2 - i) * WORD, &s->before[i]))
            s->before[i] = 0;
}

/* Returns how many bytes of a node are its links; of a text, all. */
static uint64_t shapes_n_links(const struct hs_shapes *s, const struct hs_heap_block *block)
{
    hs_ntype type = hs_flow_type(s->flow, block->rank);

    if (type == 0)
        return 0;
    return type == s->types[HS_SHAPE_TREE]        ? TREE_BYTES
           : type == s->types[HS_SHAPE_LIST]      ? 2 * WORD
           : type == s->types[HS_SHAPE_HASH_NODE] ? WORD
           : type == s->types[HS_SHAPE_STRING]    ? block->n_bytes
                                                  : 0;
}

/* Tells whether a number is beside the word, as one is of what hs_shapes_try_counted looks for. */
static inline bool shapes_has_numbers(const struct hs_heap_block *block, uint64_t at)
{
    uint64_t before = at < WORD ? 0 : hs_load_u64(block->bytes + at - WORD);
    uint64_t behind = block->n_bytes - at < 2 * WORD ? 0 : hs_load_u64(block->bytes + at + WORD);
    const uint64_t least = UINT64_C(1) << 46; /* lengths of both halves are less, addresses more */

    return (before != 0 && before < least) || (behind != 0 && behind < least);
}

static hs_status shapes_holders_in(struct hs_shapes *s, const struct hs_heap_block *block,
                                   struct hs_error *err)
{
    uint64_t words[HS_HOLDER_WORDS];

    for (uint64_t at = shapes_n_links(s, block); at + WORD <= block->n_bytes; at += WORD) {
        at = hs_flow_touched(s->native, block, at);
        if (at + WORD > block->n_bytes)
            break;
        if (hs_load_u64(block->bytes + at) - s->low >= s->high - s->low)
            continue;
        uint64_t n = (block->n_bytes - at) / WORD;
        if (s->is_of_c && !shapes_has_numbers(block, at))
            continue;
        for (size_t i = 0; i < HS_HOLDER_WORDS; i++)
            words[i] = i < n ? hs_load_u64(block->bytes + at + i * WORD) : 0;
        s->before[0] = at < 2 * WORD ? 0 : hs_load_u64(block->bytes + at - 2 * WORD);
        s->before[1] = at < WORD ? 0 : hs_load_u64(block->bytes + at - WORD);
        HS_TRY(hs_shapes_try_holder(s, block->begin + at, words, err));
    }
    return HS_OK;
}

/* Looks for holders in blocks that the debug information does not describe, and in slots of roots.
 * Those of vectors are all looked for: their storage is not read, and what they have in reserve
 * keeps nothing, however much memory a dump has. */
static hs_status shapes_bodies(struct hs_shapes *s, struct hs_error *err)
{
    const struct hs_roots *roots = &s->native->roots;
    struct hs_heap_iterator it = {.map = &s->native->dump->heaps.map};
    struct hs_heap_block block;
    uint64_t words[HS_HOLDER_WORDS];

    while (hs_heap_map_next(&it, &block)) {
        hs_ntype type = hs_flow_type(s->flow, block.rank);
        if (block.bytes != NULL &&
            (type == 0 || (!s->is_of_c && hs_native_type_of(&s->flow->types, type)->ctype == 0)))
            HS_TRY(shapes_holders_in(s, &block, err));
    }
    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root *root = &roots->leaves[i].root;
        shapes_words(s, root->address, words);
        shapes_before(s, root->address);
        s->may_be_stale = root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_REGISTER;
        HS_TRY(hs_shapes_try_holder(s, root->address, words, err));
    }
    return HS_OK;
}

/* Begins a search: false where there is nothing. */
static bool shapes_begin(struct hs_native *native, struct hs_flow *flow, struct hs_shapes *ret)
{
    const struct hs_heap_map *map = &native->dump->heaps.map;
    const struct hs_paged *paged = native->dump->image.paged;

    *ret = (struct hs_shapes){.native = native, .flow = flow};
    if (map->n_spans == 0)
        return false;
    ret->low = map->spans[0].begin;
    ret->high = map->spans[map->n_spans - 1].end;
    ret->budget = map->n_blocks * STEPS_PER_BLOCK + STEPS;
    if (paged != NULL)
        ret->most_faults =
            paged->n_faults +
            (FAULT_BYTES + PASSES * hs_image_resident_bytes(&native->dump->image, 0, UINT64_MAX)) /
                (paged->window_bytes + WAIT_BYTES);
    return true;
}

hs_status hs_native_shapes_of_c(struct hs_native *native, struct hs_flow *flow,
                                struct hs_error *err)
{
    struct hs_shapes shapes;

    if (!shapes_begin(native, flow, &shapes))
        return HS_OK;
    shapes.is_of_c = true;
    return shapes_bodies(&shapes, err);
}

hs_status hs_native_shapes(struct hs_native *native, struct hs_flow *flow, struct hs_error *err)
{
    struct hs_shapes shapes;

    if (!shapes_begin(native, flow, &shapes))
        return HS_OK;
    for (size_t i = 0; i < flow->types.n_types && shapes.qt_version == 0; i++)
        shapes.qt_version = hs_qt_version(flow->types.types[i].layout);
    HS_TRY(shapes_nodes(&shapes, err));
    HS_TRY(shapes_bodies(&shapes, err));
    if (!hs_shapes_is_spent(&shapes))
        return HS_OK;
    return hs_findings_note(&native->dump->findings, true, err,
                            "containers of C++ without debug information are named in a part of "
                            "the heap only: the copy is not in memory");
}
