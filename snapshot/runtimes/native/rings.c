#include "rings.h"

#include "globals.h"

/* A link is {next, previous}: each leads to the link of another one (QUEUE, list_head), or next to
 * the beginning of what the link is in (TAILQ of BSD). */
enum { RINGS_PREVIOUS = 8, RINGS_MOST_LOOKS = 1 << 18, RINGS_MOST_OF_ONE = 1 << 16 };
/* Bounds how far from its link a member has the pointer to what its list is in. */
enum { RINGS_NEAR_BYTES = 256 };

struct rings {
    struct hs_native *native; /* borrowed */
    uint64_t n_looks;
};

static uint64_t word_at(const struct rings *r, hs_addr at)
{
    uint64_t word = 0;

    (void)hs_image_u64(&r->native->dump->image, at, &word);
    return word;
}

static bool is_variable(const struct hs_root_leaf *leaf)
{
    return leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.address != 0;
}

/* Tells whether a root is a variable of a library without debug information, or of a runtime. */
static bool is_librarys(const struct hs_root_leaf *leaf)
{
    return is_variable(leaf) && (leaf->is_strangers || leaf->root.tier == HS_TIER_RUNTIME);
}

/* Tells whether the link at `link` follows the one at `previous`. `offset`: of links in what they
 * are in. */
static bool follows(const struct rings *r, hs_addr link, hs_addr previous, uint64_t offset)
{
    uint64_t next = word_at(r, previous);
    return next == link || next + offset == link;
}

/* Tells whether the variable's word is the next link of one that is in a list. */
static bool is_link(const struct rings *r, const struct hs_root_leaf *leaf)
{
    hs_addr link = leaf->root.address, next = word_at(r, link);

    return word_at(r, next + RINGS_PREVIOUS) == link ||
           word_at(r, next + leaf->root.offset + RINGS_PREVIOUS) == link;
}

/* Names a library's variable at `at`, of which no word leads to a block. *ret_found is false where
 * there is none. */
static hs_status name_head(const struct rings *r, hs_addr at, struct hs_root_leaf *ret,
                           bool *ret_found, struct hs_error *err)
{
    const struct hs_objects *objects = &r->native->dump->objects;
    const struct hs_object *object = hs_objects_object_at(objects, at);
    size_t number = object == NULL ? 0 : (size_t)(object - objects->objects);
    struct hs_native_variable v = {
        .leaf.root = {.kind = HS_ROOT_GLOBAL, .certainty = HS_CONSERVATIVE, .field = HS_NO_FIELD}};
    hs_addr end;

    *ret_found = number != 0 && (r->native->of_object[number].types == 0 ||
                                 r->native->of_object[number].is_runtime);
    if (!*ret_found)
        return HS_OK;
    HS_TRY(hs_native_set_module(r->native, object, &v.leaf, err));
    HS_TRY(hs_native_find_variable(r->native, number, at, &v, &end, err));
    hs_native_variable_text(r->native, &v);
    v.leaf.root.address = at;
    v.leaf.root.offset = at - v.begin;
    HS_TRY(hs_native_name(r->native, &v.leaf.root.name, err, "%s%s0x%llx", v.text,
                          at == v.begin ? "" : "+", (unsigned long long)v.leaf.root.offset));
    v.leaf.group_variable = v.is_whole ? v.name : 0;
    *ret = v.leaf;
    return HS_OK;
}

/* Finds the root that a library's link is, if a word of it leads to a block. */
static bool find_leaf(const struct rings *r, hs_addr at, struct hs_root_leaf *ret)
{
    const struct hs_roots *roots = &r->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        if (is_librarys(leaf) &&
            (leaf->root.address == at || leaf->root.address == at + RINGS_PREVIOUS)) {
            *ret = *leaf;
            return true;
        }
    }
    return false;
}

/* Finds the head of the list that a link is in, going from each to the one before. A library may
 * have members of its own before the program's (libuv's loop has handles in itself): where no word
 * of these leads to a block, the walk goes on to the head, and the first of them stands for it if
 * that has none either. */
static hs_status find_head(struct rings *r, const struct hs_root_leaf *leaf,
                           struct hs_root_leaf *ret, bool *ret_found, struct hs_error *err)
{
    const struct hs_heap_map *map = &r->native->dump->heaps.map;
    hs_addr first = leaf->root.address, at = first;

    *ret_found = false;
    for (unsigned n = 0; n < RINGS_MOST_OF_ONE && r->n_looks++ < RINGS_MOST_LOOKS; n++) {
        hs_addr previous = word_at(r, at + RINGS_PREVIOUS);
        struct hs_heap_block block;
        if (previous == first || previous == 0 || !follows(r, at, previous, leaf->root.offset))
            return HS_OK;
        at = previous;
        if (hs_heap_map_resolve(map, at, &block) != HS_POINTER_NONE)
            continue;
        if (find_leaf(r, at, ret)) {
            *ret_found = true;
            return HS_OK;
        }
        if (!*ret_found)
            HS_TRY(name_head(r, at, ret, ret_found, err));
    }
    return HS_OK;
}

/* Makes the leaf a slot of the head's variable. */
static void give(struct hs_root_leaf *leaf, const struct hs_root_leaf *head)
{
    struct hs_root_leaf given = *head;

    if (given.group_variable == 0)
        given.group_variable = head->root.name;
    given.root.name = leaf->root.name;
    given.root.address = leaf->root.address;
    given.root.offset = leaf->root.offset;
    given.root.edge_class = leaf->root.edge_class;
    given.target = leaf->target;
    *leaf = given;
}

/* Makes both words of a link slots of the head's variable. */
static void give_link(struct rings *r, hs_addr link, struct hs_root_leaf head)
{
    struct hs_roots *roots = &r->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        struct hs_root_leaf *leaf = &roots->leaves[i];
        if (!is_variable(leaf))
            continue;
        if (leaf->root.address == head.root.address && is_librarys(leaf) &&
            leaf->group_variable == 0)
            leaf->group_variable = head.root.name; /* all hang on one node */
        if (!is_librarys(leaf) &&
            (leaf->root.address == link || leaf->root.address == link + RINGS_PREVIOUS))
            give(leaf, &head);
    }
}

/* Returns the link of the next member: next leads to it, or to the beginning of what it is in. */
static hs_addr next_link(const struct rings *r, hs_addr link, uint64_t offset)
{
    hs_addr next = word_at(r, link);
    return word_at(r, next + RINGS_PREVIOUS) == link ? next : next + offset;
}

/* Tells whether the head is in `block`: then all from this link back to it, and the next one, have
 * a pointer to the block's beginning `near` bytes from their link. */
static bool is_head_in(struct rings *r, const struct hs_root_leaf *leaf, hs_addr near,
                       const struct hs_heap_block *block)
{
    hs_addr first = leaf->root.address, at = first;
    hs_addr next = next_link(r, first, leaf->root.offset);

    if (word_at(r, next + near) != block->begin)
        return false;
    for (unsigned n = 0; n < RINGS_MOST_OF_ONE && r->n_looks++ < RINGS_MOST_LOOKS; n++) {
        hs_addr previous = word_at(r, at + RINGS_PREVIOUS);
        if (previous == first || previous == 0 || !follows(r, at, previous, leaf->root.offset))
            return false;
        if (previous - block->begin < block->n_bytes)
            return true;
        if (word_at(r, previous + near) != block->begin)
            return false;
        at = previous;
    }
    return false;
}

/* Tells whether the link is in a list whose head is in a block. Members lead to it: handles of
 * libuv to their loop, events of libevent to their base. *ret_at: where this one does. */
static bool has_head_in_block(struct rings *r, const struct hs_root_leaf *leaf, hs_addr *ret_at)
{
    const struct hs_heap_map *map = &r->native->dump->heaps.map;
    hs_addr link = leaf->root.address;
    uint64_t before = leaf->root.offset < RINGS_NEAR_BYTES ? leaf->root.offset : RINGS_NEAR_BYTES;

    for (hs_addr at = link - before; at != link + RINGS_NEAR_BYTES; at += HS_WORD_BYTES) {
        struct hs_heap_block block;
        if ((at < link || at > link + RINGS_PREVIOUS) &&
            hs_heap_map_resolve(map, word_at(r, at), &block) == HS_POINTER_START &&
            block.begin == word_at(r, at) && is_head_in(r, leaf, at - link, &block)) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}

/* The places of links in blocks: so far into a block of so many bytes. */
struct rings_kind {
    uint64_t offset, n_bytes;
    unsigned n;
};

/* Counts a link of the ring by its place; false when there are more than two kinds of these. */
static bool count_kind(struct rings_kind kinds[2], const struct hs_heap_block *block, hs_addr at)
{
    uint64_t offset = at - block->begin;

    for (unsigned i = 0; i < 2; i++) {
        if (kinds[i].n != 0 && (kinds[i].offset != offset || kinds[i].n_bytes != block->n_bytes))
            continue;
        kinds[i] = (struct rings_kind){offset, block->n_bytes, kinds[i].n + 1};
        return true;
    }
    return false;
}

/* Tells whether one link of the ring is in a block of its own kind, at another offset than all
 * others, which are in blocks of one size: that is the head, which its members do not lead to by
 * name. */
static bool has_lone_head(struct rings *r, const struct hs_root_leaf *leaf)
{
    const struct hs_heap_map *map = &r->native->dump->heaps.map;
    hs_addr first = leaf->root.address, at = first;
    struct rings_kind kinds[2] = {{0}};

    for (unsigned n = 0; n < RINGS_MOST_OF_ONE && r->n_looks++ < RINGS_MOST_LOOKS; n++) {
        hs_addr previous = word_at(r, at + RINGS_PREVIOUS);
        struct hs_heap_block block;
        if (previous == 0 || word_at(r, previous) != at)
            return false;
        if (previous == first)
            return (kinds[0].n == 1) != (kinds[1].n == 1) && kinds[0].n + kinds[1].n > 2 &&
                   kinds[0].n != 0 && kinds[1].n != 0 && kinds[0].offset != kinds[1].offset;
        if (hs_heap_map_resolve(map, previous, &block) != HS_POINTER_NONE &&
            !count_kind(kinds, &block, previous))
            return false;
        at = previous;
    }
    return false;
}

/* Lowers both words of a link to doubtful, as they lead to neighbours that something else owns, and
 * the word at `back`, which leads to that owner. */
static void doubt_link(struct rings *r, hs_addr link, hs_addr back)
{
    struct hs_roots *roots = &r->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        struct hs_root *root = &roots->leaves[i].root;
        if (root->kind != HS_ROOT_GLOBAL)
            continue;
        if (root->address == link || root->address == link + RINGS_PREVIOUS)
            hs_root_lower(root, HS_TIER_DOUBTFUL, HS_REASON_LIST_NEIGHBOUR);
        else if (root->address == back)
            hs_root_lower(root, HS_TIER_DOUBTFUL, HS_REASON_BACK_REFERENCE);
    }
}

hs_status hs_rings_find(struct hs_native *native, struct hs_error *err)
{
    struct rings r = {.native = native};
    struct hs_roots *roots = &native->roots;

    for (size_t i = 0; i < roots->n_leaves && r.n_looks < RINGS_MOST_LOOKS; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        struct hs_root_leaf head;
        hs_addr back;
        bool is_found;
        if (!is_variable(leaf) || is_librarys(leaf) || leaf->root.tier != HS_TIER_FIRM ||
            !is_link(&r, leaf))
            continue;
        HS_TRY(find_head(&r, leaf, &head, &is_found, err));
        if (is_found)
            give_link(&r, leaf->root.address, head);
        else if (has_head_in_block(&r, leaf, &back))
            doubt_link(&r, leaf->root.address, back);
        else if (has_lone_head(&r, leaf))
            doubt_link(&r, leaf->root.address, leaf->root.address);
    }
    return HS_OK;
}
