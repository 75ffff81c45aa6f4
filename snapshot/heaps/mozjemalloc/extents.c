/* Trees of extents: blocks of more than a chunk, and chunks that are to be used again. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "data_words.h"
#include "mozjemalloc/parts.h"

enum { EXTENT_LEFT = 16, EXTENT_RIGHT = 24, EXTENT_ADDRESS = 32, EXTENT_SIZE = 40, EXTENT_OF = 48 };
#define EFFORT ((uint64_t)1 << 24) /* nodes to be read */
enum { KINDS = 5 };                /* of chunks to be used again, from 1 on */

/* A node, and between which addresses it must be. */
struct node {
    hs_addr at, low, high;
};

struct tree {
    const struct moz *moz;
    const struct hs_object *object; /* borrowed: who has the variable */
    struct node *nodes;             /* owned: those to be read */
    size_t n_nodes, nodes_capacity;
    struct moz_extent *extents; /* owned: one for each */
    size_t extents_capacity;
    uint64_t n_bytes;
    uint64_t effort; /* nodes that may still be read, of all trees together */
};

/* Makes an extent of a node. False: it cannot be one, or not between these addresses. */
static bool read_extent(const struct moz *moz, const struct node *node, struct moz_extent *ret)
{
    const uint8_t *bytes = node->at % HS_WORD_BYTES != 0 || node->at >= HS_USER_END
                               ? NULL
                               : hs_image_bytes(moz->process->image, node->at, MOZ_EXTENT_BYTES);

    if (bytes == NULL)
        return false;
    const hs_addr begin = hs_load_u64(bytes + EXTENT_ADDRESS);
    const uint64_t n_bytes = hs_load_u64(bytes + EXTENT_SIZE), of = hs_load_u64(bytes + EXTENT_OF);
    *ret = (struct moz_extent){begin, node->at, n_bytes, (uint32_t)of - 1 < KINDS - 1};
    return begin % MOZ_CHUNK == 0 && begin >= node->low && begin < node->high && n_bytes != 0 &&
           n_bytes % MOZ_PAGE == 0 && n_bytes <= node->high - begin &&
           (ret->is_free || hs_moz_arena(moz, of) != NULL);
}

static hs_status push(struct tree *tree, hs_addr at, hs_addr low, hs_addr high,
                      struct hs_error *err)
{
    if (at == 0)
        return HS_OK;
    HS_TRY(HS_GROW(&tree->nodes, &tree->nodes_capacity, tree->n_nodes + 1, err));
    tree->nodes[tree->n_nodes++] = (struct node){at, low, high};
    return HS_OK;
}

/* Reads the tree below a node; *ret_is_sound: all of it is of extents, all of one kind. Bounds on
 * both sides let it end, whatever nodes lead to. */
static hs_status read_tree(struct tree *tree, hs_addr root, bool *ret_is_sound,
                           struct hs_error *err)
{
    const struct hs_image *image = tree->moz->process->image;
    uint64_t left, right;

    tree->n_nodes = 0;
    tree->n_bytes = 0;
    *ret_is_sound = false;
    HS_TRY(push(tree, root, MOZ_CHUNK, HS_USER_END, err));
    for (size_t i = 0; i < tree->n_nodes; i++, tree->effort--) {
        const struct node node = tree->nodes[i];
        struct moz_extent extent;
        if (tree->effort == 0 || !read_extent(tree->moz, &node, &extent) ||
            (i != 0 && extent.is_free != tree->extents[0].is_free) ||
            !hs_image_u64(image, node.at + EXTENT_LEFT, &left) ||
            !hs_image_u64(image, node.at + EXTENT_RIGHT, &right))
            return HS_OK;
        HS_TRY(HS_GROW(&tree->extents, &tree->extents_capacity, i + 1, err));
        tree->extents[i] = extent;
        tree->n_bytes += extent.n_bytes;
        HS_TRY(push(tree, left, node.low, extent.begin, err));
        /* the lowest bit of this one is the node's colour */
        HS_TRY(push(tree, right & ~UINT64_C(1), extent.begin + extent.n_bytes, node.high, err));
    }
    *ret_is_sound = true;
    return HS_OK;
}

/* Does a variable of the binary have this number? */
static bool is_said(const struct moz *moz, const struct hs_object *object, uint64_t number)
{
    struct hs_data_words words = {.process = moz->process, .object = object};
    hs_addr address;
    uint64_t word;

    while (hs_data_words_next(&words, &address, &word))
        if (word == number)
            return true;
    return false;
}

static hs_status take_tree(struct moz *moz, const struct tree *tree, struct hs_error *err)
{
    if (tree->n_nodes == 0)
        return HS_OK;
    moz->n_trees++;
    moz->n_as_large += is_said(moz, tree->object, tree->n_bytes);
    HS_TRY(HS_GROW(&moz->extents, &moz->extents_capacity, moz->n_extents + tree->n_nodes, err));
    for (size_t i = 0; i < tree->n_nodes; i++)
        moz->extents[moz->n_extents++] = tree->extents[i];
    return HS_OK;
}

/* Finds the largest tree of each kind: chunks to be used again are in one by their sizes, too,
 * whose root has some of them below it by address. */
static hs_status find_in(struct tree *tree, const struct hs_object *object, struct tree *best,
                         struct hs_error *err)
{
    struct hs_data_words words = {.process = tree->moz->process, .object = object};
    struct moz_extent extent;
    hs_addr address;
    uint64_t word;
    bool is_sound;

    tree->object = object;
    while (hs_data_words_next(&words, &address, &word)) {
        const struct node node = {word, MOZ_CHUNK, HS_USER_END};
        if (word < MOZ_CHUNK || !read_extent(tree->moz, &node, &extent))
            continue;
        HS_TRY(read_tree(tree, word, &is_sound, err));
        if (is_sound && tree->n_nodes > best[extent.is_free].n_nodes) {
            const struct tree found = *tree;
            *tree = best[extent.is_free];
            best[extent.is_free] = found;
            tree->moz = found.moz;
            tree->object = object;
            tree->effort = found.effort;
        }
    }
    return HS_OK;
}

static int by_begin(const void *left, const void *right)
{
    const struct moz_extent *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* A chunk that is to be used again, or is a large block now, still looks like what it was. */
static void leave_out_chunks(struct moz *moz)
{
    if (moz->n_extents != 0)
        qsort(moz->extents, moz->n_extents, sizeof *moz->extents, by_begin);
    for (size_t i = 0; i < moz->n_chunks; i++) {
        struct moz_chunk *chunk = &moz->chunks[i];
        size_t at = HS_FIRST_ABOVE(moz->extents, moz->n_extents, begin, chunk->begin);
        if (at != 0 && chunk->begin - moz->extents[at - 1].begin < moz->extents[at - 1].n_bytes)
            chunk->is_left_out = true;
    }
}

hs_status hs_moz_extents(struct moz *moz, struct hs_error *err)
{
    const struct hs_objects *objects = moz->process->objects;
    struct tree tree = {.moz = moz, .effort = EFFORT}, best[2] = {0};
    hs_status status = HS_OK;

    for (size_t i = 0; objects != NULL && i < objects->n && status == HS_OK; i++)
        status = find_in(&tree, &objects->objects[i], best, err);
    for (size_t i = 0; i < 2; i++) {
        if (status == HS_OK)
            status = take_tree(moz, &best[i], err);
        hs_free(best[i].nodes);
        hs_free(best[i].extents);
    }
    hs_free(tree.nodes);
    hs_free(tree.extents);
    leave_out_chunks(moz);
    return status;
}
