/* Containers by the object that holds them.
 *
 *   string      text | length | room | ...
 *   vector      begin | end | end of room
 *   unordered   buckets | how many | first node | how many nodes       each node: next | value
 *   deque       map | its length | first: at, block begin, block end, place in map | last: the same
 *
 * A hash table is one when the chain from its first node has as many nodes as it says and the
 * bucket of the first leads back into the holder (libstdc++, hashtable.h: a bucket has the address
 * of what stands before its first node). A deque is one when both ends of its map agree with its
 * iterators and every block between them has the size that they tell (stl_deque.h). */
#include <string.h>

#include "shapes.h"

enum { WORD = 8, SSO_BYTES = 15 };
enum { DEQUE_BLOCK_BYTES_MAX = 1 << 20 };
#define BODY_BYTES_MAX (UINT64_C(1) << 40)
#define TEXT_BYTES_MAX (UINT64_C(1) << 12)

static bool holder_in_heap(const struct hs_shapes *s, uint64_t word)
{
    return word - s->low < s->high - s->low;
}

/* Tells whether the words are those of a FILE's buffer (libio.h): like a vector's, with its begin
 * on both sides of them. */
static bool holder_is_buffer(struct hs_shapes *s, hs_addr at, const uint64_t *words)
{
    uint64_t before;
    return words[3] == words[0] && hs_shapes_word(s, at - WORD, &before) && before == words[0];
}

static hs_status try_vector(struct hs_shapes *s, hs_addr at, const uint64_t *words,
                            struct hs_error *err)
{
    struct hs_heap_block body;

    if (words[0] >= words[1] || words[1] > words[2] || words[2] - words[0] >= BODY_BYTES_MAX ||
        !hs_shapes_storage(s, words[0], HS_SHAPE_VECTOR, &body) ||
        !hs_shapes_fits(&body, words[2] - words[0]) || holder_is_buffer(s, at, words))
        return HS_OK;
    if (hs_flow_type(s->flow, body.rank) == 0)
        HS_TRY(hs_shapes_set(s, &body, HS_SHAPE_VECTOR, err));
    const struct hs_native_use use = {.end = words[1] - words[0]};
    return hs_native_reserves_say(&s->flow->reserves, body.rank, body.n_bytes, use, WORD, err);
}

/* Names a small text by its shape; what is larger may as well be anybody's buffer that holds text
 * for now, and is called so only where a type says it. */
static hs_status try_string(struct hs_shapes *s, const uint64_t *words, struct hs_error *err)
{
    struct hs_heap_block body;

    if (words[1] > words[2] || words[2] <= SSO_BYTES || words[2] >= TEXT_BYTES_MAX ||
        !hs_shapes_body_at(s, words[0], &body) || !hs_shapes_fits(&body, words[2] + 1))
        return HS_OK;
    size_t n_text = (size_t)words[1]; /* below the block's size */
    if (body.bytes[n_text] != '\0' || memchr(body.bytes, '\0', n_text) != NULL)
        return HS_OK;
    return hs_shapes_set(s, &body, HS_SHAPE_STRING, err);
}

/* Tells whether the chain has as many nodes as are told, the last one without a next. */
static bool hash_is_chain(struct hs_shapes *s, uint64_t first, uint64_t n)
{
    struct hs_heap_block node;
    uint64_t at = first;

    for (uint64_t i = 0; i < n; i++) {
        if (i >= s->budget || hs_shapes_is_spent(s) || !hs_shapes_body_at(s, at, &node) ||
            node.n_bytes < 2 * WORD) {
            hs_shapes_spend(s, i);
            return false;
        }
        at = hs_load_u64(node.bytes);
    }
    if (at != 0)
        hs_shapes_spend(s, n);
    return at == 0;
}

/* Tells whether one bucket leads back into the holder, and the others to blocks. */
static bool hash_leads_back(struct hs_shapes *s, const struct hs_heap_block *buckets, uint64_t n,
                            hs_addr before_first)
{
    uint64_t n_back = 0, n_odd = 0;

    for (uint64_t i = 0; i < n && n_odd == 0; i++) {
        uint64_t word = hs_load_u64(buckets->bytes + i * WORD);
        n_back += word == before_first;
        n_odd += word != before_first && word != 0 && !holder_in_heap(s, word);
    }
    if (n_back == 1 && n_odd == 0)
        return true;
    hs_shapes_spend(s, n);
    return false;
}

static hs_status try_hash(struct hs_shapes *s, hs_addr at, const uint64_t *words,
                          struct hs_error *err)
{
    struct hs_heap_block buckets, node;
    uint64_t n_buckets = words[1], n_nodes = words[3];

    if (n_buckets < 2 || n_buckets >= BODY_BYTES_MAX || n_nodes == 0 ||
        n_nodes > s->flow->n_blocks || !holder_in_heap(s, words[2]) ||
        !hs_shapes_body_at(s, words[0], &buckets) || !hs_shapes_fits(&buckets, n_buckets * WORD) ||
        n_buckets > s->budget || !hash_is_chain(s, words[2], n_nodes) ||
        !hash_leads_back(s, &buckets, n_buckets, at + 2 * WORD))
        return HS_OK;
    for (uint64_t i = 0, next = words[2]; i < n_nodes && hs_shapes_body_at(s, next, &node); i++) {
        HS_TRY(hs_shapes_set(s, &node, HS_SHAPE_HASH_NODE, err));
        next = hs_load_u64(node.bytes);
    }
    /* the chain does not lead through the buckets: these begin with a node or with the holder */
    return hs_flow_type(s->flow, buckets.rank) != 0
               ? HS_OK
               : hs_shapes_set(s, &buckets, HS_SHAPE_HASH_BUCKETS, err);
}

/* Checks an iterator: at | begin of its block | end | the block's place in the map. */
static bool deque_iterator(const uint64_t *iterator, uint64_t block_bytes, hs_addr map,
                           uint64_t map_bytes, const uint8_t *map_content)
{
    uint64_t at = iterator[0] - iterator[1], place = iterator[3] - map;

    return iterator[2] - iterator[1] == block_bytes && at <= block_bytes && place < map_bytes &&
           place % WORD == 0 && hs_load_u64(map_content + place) == iterator[1];
}

/* Tells whether every place from the first to the last, in bytes of the map, has a block of this
 * size. */
static bool deque_has_blocks(struct hs_shapes *s, const struct hs_heap_block *map, uint64_t first,
                             uint64_t end, uint64_t block_bytes)
{
    struct hs_heap_block block;

    for (uint64_t place = first; place < end; place += WORD) {
        if (s->budget == 0 || !hs_shapes_body_at(s, hs_load_u64(map->bytes + place), &block) ||
            !hs_shapes_fits(&block, block_bytes)) {
            hs_shapes_spend(s, (place - first) / WORD);
            return false;
        }
    }
    return true;
}

static hs_status try_deque(struct hs_shapes *s, const uint64_t *words, struct hs_error *err)
{
    struct hs_heap_block map, block;
    uint64_t block_bytes = words[4] - words[3], map_bytes = words[1] * WORD;

    if (words[1] == 0 || words[1] >= BODY_BYTES_MAX || block_bytes == 0 ||
        block_bytes > DEQUE_BLOCK_BYTES_MAX || words[5] > words[9] ||
        !hs_shapes_body_at(s, words[0], &map) || !hs_shapes_fits(&map, map_bytes) ||
        !deque_iterator(words + 2, block_bytes, words[0], map_bytes, map.bytes) ||
        !deque_iterator(words + 6, block_bytes, words[0], map_bytes, map.bytes))
        return HS_OK;
    uint64_t first = words[5] - words[0], end = words[9] - words[0] + WORD;
    if (!deque_has_blocks(s, &map, first, end, block_bytes))
        return HS_OK;
    for (uint64_t place = first; place < end; place += WORD)
        if (hs_shapes_body_at(s, hs_load_u64(map.bytes + place), &block))
            HS_TRY(hs_shapes_set(s, &block, HS_SHAPE_DEQUE_BLOCK, err));
    return hs_flow_type(s->flow, map.rank) != 0 ? HS_OK
                                                : hs_shapes_set(s, &map, HS_SHAPE_DEQUE_MAP, err);
}

hs_status hs_shapes_try_holder(struct hs_shapes *s, hs_addr at,
                               const uint64_t words[HS_HOLDER_WORDS], struct hs_error *err)
{
    if (words[0] % WORD != 0 || !holder_in_heap(s, words[0]))
        return HS_OK;
    if (s->is_of_c)
        return s->may_be_stale ? HS_OK : hs_shapes_try_counted(s, words, err);
    if (words[0] < words[1] && words[1] <= words[2])
        return try_vector(s, at, words, err);
    if (hs_shapes_is_spent(s))
        return HS_OK;
    if (!s->may_be_stale)
        HS_TRY(hs_shapes_try_counted(s, words, err));
    if (s->qt_version == 6 && words[0] < words[1] && words[2] < words[0])
        HS_TRY(hs_shapes_try_qt6(s, words, err));
    if (words[2] < TEXT_BYTES_MAX)
        return try_string(s, words, err);
    HS_TRY(try_hash(s, at, words, err));
    return try_deque(s, words, err);
}
