/* Words without a name that are one container's of C++ are one root.
 *
 * A static map of a program without symbols is three words that lead to blocks: its root and its
 * two ends. Code mentions each by its own address, as compilers do, so nothing says that they are
 * one object, and "3 roots together" keep what one variable keeps. But the blocks say it: layouts
 * are those of libstdc++ (stl_tree.h, stl_list.h, hashtable.h, stl_vector.h, stl_deque.h,
 * shared_ptr_base.h), and a container is believed when what it leads to leads back, or agrees with
 * all of its words:
 *
 *   tree          root | first | last                      the root's parent is the word before
 *   list          next | previous                          both lead back here
 *   unordered     buckets | how many | first node          a bucket has the address of the third
 *   vector        begin | end | end of room                the room is all of one block
 *   deque         map | its length | two iterators         the map has the blocks of both
 *   shared_ptr    object | its count                       the count has the object
 */
#include "base/load.h"
#include "globals.h"
#include "shapes.h"

enum { WORD = 8, DEQUE_WORDS = 10, DEQUE_BLOCK_BYTES_MAX = 1 << 20 };
#define BUCKETS_MOST (UINT64_C(1) << 26) /* to be looked at, of all tables together */

struct containers {
    struct hs_native *native; /* borrowed */
    size_t hint;              /* of the image */
    uint64_t n_buckets_left;
};

/* Reads the words from `at` on, as far as they are in the copy; the others stay. */
static void read_words(struct containers *c, hs_addr at, uint64_t words[DEQUE_WORDS])
{
    const struct hs_image_range *range = hs_image_find(&c->native->dump->image, at, &c->hint);
    uint64_t n = range == NULL ? 0 : (range->end - at) / WORD;

    for (uint64_t i = 0; i < DEQUE_WORDS && i < n; i++)
        words[i] = hs_load_u64(range->bytes + (at - range->begin) + i * WORD);
}

/* Finds the block that a word leads to the start of, of so many bytes at least. */
static bool block_at(const struct containers *c, uint64_t word, uint64_t least_bytes,
                     struct hs_heap_block *ret)
{
    enum hs_pointer how;

    return hs_native_resolve(c->native, word, &how, ret) && how == HS_POINTER_START &&
           ret->bytes != NULL && ret->begin == word && ret->n_bytes >= least_bytes;
}

static bool is_tree(const struct containers *c, hs_addr at, const uint64_t *words)
{
    struct hs_heap_block root, first, last;

    return block_at(c, words[0], 5 * WORD, &root) && hs_load_u64(root.bytes + WORD) == at - WORD &&
           block_at(c, words[1], 5 * WORD, &first) && block_at(c, words[2], 5 * WORD, &last);
}

static bool is_list(const struct containers *c, hs_addr at, const uint64_t *words)
{
    struct hs_heap_block next, previous;

    return block_at(c, words[0], 3 * WORD, &next) && hs_load_u64(next.bytes + WORD) == at &&
           block_at(c, words[1], 3 * WORD, &previous) && hs_load_u64(previous.bytes) == at;
}

/* Looks for the bucket of the first node. A process may have as many words that lead to one large
 * table as it likes, so all of them together have a bound. */
static bool is_hash(struct containers *c, hs_addr at, const uint64_t *words)
{
    struct hs_heap_block buckets, first;

    if (words[1] < 2 || words[1] > UINT64_MAX / WORD || !block_at(c, words[0], WORD, &buckets) ||
        !hs_shapes_fits(&buckets, words[1] * WORD) || !block_at(c, words[2], 2 * WORD, &first))
        return false;
    for (uint64_t i = 0; i < words[1] && c->n_buckets_left != 0; i++, c->n_buckets_left--)
        if (hs_load_u64(buckets.bytes + i * WORD) == at + 2 * WORD)
            return true;
    return false;
}

static bool is_vector(const struct containers *c, const uint64_t *words)
{
    struct hs_heap_block room;

    return words[0] < words[1] && words[1] <= words[2] && block_at(c, words[0], WORD, &room) &&
           hs_shapes_fits(&room, words[2] - words[0]);
}

/* Tells whether an iterator (at, its block's begin and end, the block's place in the map) agrees
 * with the map. */
static bool is_iterator(const uint64_t *words, const struct hs_heap_block *map, uint64_t n_bytes)
{
    uint64_t place = words[3] - map->begin;

    return words[0] - words[1] <= n_bytes && words[2] - words[1] == n_bytes && place % WORD == 0 &&
           place <= map->n_bytes - WORD && hs_load_u64(map->bytes + place) == words[1];
}

static bool is_deque(const struct containers *c, const uint64_t *words)
{
    uint64_t n_bytes = words[4] - words[3];
    struct hs_heap_block map;

    return words[1] != 0 && words[1] <= UINT64_MAX / WORD && n_bytes != 0 &&
           n_bytes <= DEQUE_BLOCK_BYTES_MAX && block_at(c, words[0], WORD, &map) &&
           hs_shapes_fits(&map, words[1] * WORD) && is_iterator(words + 2, &map, n_bytes) &&
           is_iterator(words + 6, &map, n_bytes);
}

static bool is_shared(const struct containers *c, const uint64_t *words)
{
    struct hs_heap_block count;

    return block_at(c, words[1], 3 * WORD, &count) &&
           hs_objects_object_at(&c->native->dump->objects, hs_load_u64(count.bytes)) != NULL &&
           hs_load_u32(count.bytes + WORD) != 0 && hs_load_u32(count.bytes + WORD + 4) != 0 &&
           (words[0] == count.begin + 2 * WORD || hs_load_u64(count.bytes + 2 * WORD) == words[0]);
}

/* Returns how many words from `at` on are a container's; 0: none is known. */
static unsigned n_words_at(struct containers *c, hs_addr at)
{
    uint64_t words[DEQUE_WORDS] = {0};

    read_words(c, at, words);
    return is_tree(c, at, words) || is_hash(c, at, words) || is_vector(c, words) ? 3
           : is_list(c, at, words) || is_shared(c, words)                        ? 2
           : is_deque(c, words)                                                  ? DEQUE_WORDS
                                                                                 : 0;
}

void hs_native_join_containers(struct hs_native *native, size_t first)
{
    struct containers c = {.native = native, .n_buckets_left = BUCKETS_MOST};
    struct hs_root_leaf *leaves = native->roots.leaves;

    for (size_t i = first, end; i < native->roots.n_leaves; i = end) {
        const struct hs_root *root = &leaves[i].root;
        end = i + 1;
        if (!hs_native_is_nameless(native, &leaves[i]))
            continue;
        hs_addr stop = root->address + n_words_at(&c, root->address) * (hs_addr)WORD;
        hs_addr object = leaves[i].object != 0 ? leaves[i].object : root->address;
        while (end < native->roots.n_leaves && leaves[end].root.symbol == root->symbol &&
               hs_native_is_nameless(native, &leaves[end]) &&
               leaves[end].root.address > root->address && leaves[end].root.address < stop) {
            leaves[i].object = object;
            leaves[end++].object = object;
        }
    }
}
