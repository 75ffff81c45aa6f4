#include "computed.h"

#include "base/alloc.h"
#include "flow.h"

enum { WORD = 8, HALF = 4, MASKED_WORDS = 64, SIZES = 1 << 12, SIZE_SHIFT = 52 };
enum { GROUP = 8, GROUP_BYTES = GROUP * HALF, LOST_OF_GROUP = 6, MOST_BASES = 1 << 10 };
#define COMPUTED_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define SPARE_STEPS (UINT64_C(1) << 20)

struct computed {
    struct hs_scan *scan;
    const struct hs_heap_map *map;
    hs_addr low, high;  /* all blocks lie in here */
    uint64_t most_xor;  /* of two addresses in there */
    uint64_t budget;    /* steps along lists, and look-ups with bases */
    uint64_t *words_of; /* owned: by size of block, the words that may be a xor of two addresses */
    hs_addr *bases;     /* owned */
    size_t n_bases;
    bool has_candidates;
    struct hs_error *err;
};

/* ---- lists linked by xor */

static inline uint64_t *words_of_size(const struct computed *c, uint64_t n_bytes)
{
    return &c->words_of[n_bytes * COMPUTED_HASH_FACTOR >> SIZE_SHIFT];
}

static inline bool may_be_xor(const struct computed *c, uint64_t word)
{
    return word != 0 && word <= c->most_xor && word % WORD == 0;
}

static bool block_at(const struct computed *c, uint64_t word, struct hs_heap_block *ret)
{
    return word - c->low < c->high - c->low &&
           hs_heap_map_resolve(c->map, word, ret) == HS_POINTER_START;
}

/* Notes which words of an unreached block may be a xor, for all blocks of its size. */
static void look_at_lost(struct computed *c, const struct hs_heap_block *block)
{
    uint64_t words = 0;

    for (size_t i = 0; i < MASKED_WORDS && (i + 1) * WORD <= block->n_bytes; i++)
        if (may_be_xor(c, hs_load_u64(block->bytes + i * WORD)))
            words |= UINT64_C(1) << i;
    *words_of_size(c, block->n_bytes) |= words;
    c->has_candidates |= words != 0;
}

/* A place in a list: two neighbours, and where the word is that has both addresses. */
struct place {
    hs_addr before;
    struct hs_heap_block node;
    uint64_t at;
};

enum step { STEP_FAILS, STEP_ENDS, STEP_GOES_ON };

static enum step step_on(struct computed *c, struct place *place)
{
    struct hs_heap_block next;

    if (c->budget == 0 || place->node.bytes == NULL || place->at + WORD > place->node.n_bytes)
        return STEP_FAILS;
    c->budget--;
    uint64_t word = hs_load_u64(place->node.bytes + place->at);
    if (word == place->before)
        return STEP_ENDS;
    if (!may_be_xor(c, word) || !block_at(c, word ^ place->before, &next))
        return STEP_FAILS;
    place->before = place->node.begin;
    place->node = next;
    return hs_scan_is_lost(c->scan, &next) ? STEP_GOES_ON : STEP_ENDS;
}

/* Walks a list to its end, and only then marks its nodes, in a second walk. */
static hs_status walk(struct computed *c, const struct place *first)
{
    struct place place = *first;
    uint64_t n = 0;
    enum step step;

    while ((step = step_on(c, &place)) == STEP_GOES_ON)
        n++;
    if (step == STEP_FAILS || n == 0 || n > c->budget)
        return HS_OK;
    place = *first;
    for (; n != 0 && step_on(c, &place) != STEP_FAILS; n--, c->scan->n_computed++)
        HS_TRY(hs_scan_mark_unsure(c->scan, &place.node, c->err));
    return HS_OK;
}

static hs_status look_for_lists(struct computed *c, const struct hs_heap_block *block)
{
    uint64_t words = *words_of_size(c, block->n_bytes);

    for (; words != 0; words &= words - 1) {
        struct place place = {.before = block->begin,
                              .at = (uint64_t)__builtin_ctzll(words) * WORD};
        if (place.at + WORD > block->n_bytes)
            break;
        if (block_at(c, hs_load_u64(block->bytes + place.at), &place.node) &&
            place.node.rank != block->rank)
            HS_TRY(walk(c, &place));
    }
    return HS_OK;
}

/* ---- offsets */

static hs_status find_bases(struct computed *c)
{
    const struct hs_roots *roots = &c->scan->native->roots;

    HS_TRY(HS_ALLOC(&c->bases, MOST_BASES, c->err));
    for (size_t i = 0; i < roots->n_leaves && c->n_bases < MOST_BASES; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        if (leaf->root.weak || leaf->root.edge_class != HS_EDGE_EXACT ||
            leaf->root.tier == HS_TIER_DOUBTFUL ||
            (c->n_bases != 0 && c->bases[c->n_bases - 1] == leaf->target))
            continue;
        c->bases[c->n_bases++] = leaf->target;
    }
    return HS_OK;
}

static inline bool may_be_offset(const struct computed *c, uint32_t half)
{
    return half != 0 && half % WORD == 0 && half < c->high - c->low;
}

/* Tells whether eight numbers may be offsets: no zeros, and none twice in a row. */
static bool is_group(const struct computed *c, const uint8_t *bytes)
{
    uint32_t last = 0;

    for (size_t i = 0; i < GROUP; i++) {
        uint32_t half = hs_load_u32(bytes + i * HALF);
        if (half == last || !may_be_offset(c, half))
            return false;
        last = half;
    }
    return true;
}

static bool is_group_from(struct computed *c, const uint8_t *bytes, hs_addr base)
{
    struct hs_heap_block block;
    size_t n_lost = 0;

    for (size_t i = 0; i < GROUP; i++) {
        if (c->budget == 0 || !block_at(c, base + hs_load_u32(bytes + i * HALF), &block))
            return false;
        c->budget--;
        n_lost += !hs_bitmap_get(&c->scan->reached, block.rank);
    }
    return n_lost >= LOST_OF_GROUP;
}

/* Marks what the offset leads to; false where it leads nowhere. */
static hs_status mark_offset(struct computed *c, hs_addr base, const uint8_t *at, bool *ret)
{
    struct hs_heap_block block;
    uint32_t half = hs_load_u32(at);

    *ret = may_be_offset(c, half) && block_at(c, base + half, &block);
    if (!*ret || !hs_scan_is_lost(c->scan, &block))
        return HS_OK;
    c->scan->n_computed++;
    return hs_scan_mark_unsure(c->scan, &block, c->err);
}

/* Memory that is searched for tables. */
struct words {
    const uint8_t *bytes;
    uint64_t n_bytes;
    uint64_t done; /* before it all is marked: nothing is looked at twice */
};

/* Marks what the whole table leads to that a group at `at` belongs to. */
static hs_status mark_table(struct computed *c, hs_addr base, struct words *words, uint64_t at)
{
    bool goes_on = true;
    uint64_t end = at;

    while (goes_on && at >= words->done + HALF) {
        at -= HALF;
        HS_TRY(mark_offset(c, base, words->bytes + at, &goes_on));
    }
    for (goes_on = true; goes_on && end + HALF <= words->n_bytes; end += HALF)
        HS_TRY(mark_offset(c, base, words->bytes + end, &goes_on));
    words->done = end;
    return HS_OK;
}

static hs_status look_for_tables(struct computed *c, struct words *words, uint64_t at)
{
    const uint8_t *bytes = words->bytes;

    if (!is_group(c, bytes + at))
        return HS_OK;
    for (size_t i = 0; i < c->n_bases && c->budget != 0; i++) {
        c->budget--;
        if (!is_group_from(c, bytes + at, c->bases[i]))
            continue;
        hs_addr base = c->bases[i]; /* the next tables are most likely relative to it, too */
        c->bases[i] = c->bases[0];
        c->bases[0] = base;
        return mark_table(c, base, words, at);
    }
    return HS_OK;
}

static hs_status look_for_tables_in(struct computed *c, const uint8_t *bytes, uint64_t n,
                                    const struct hs_heap_block *block)
{
    struct words words = {.bytes = bytes, .n_bytes = n};

    for (uint64_t at = 0; at + GROUP_BYTES <= n; at += GROUP_BYTES) {
        if (block != NULL)
            at = hs_flow_touched(c->scan->native, block, at);
        if (at + GROUP_BYTES > n || c->budget == 0)
            break;
        if (!may_be_offset(c, hs_load_u32(bytes + at)))
            continue;
        HS_TRY(look_for_tables(c, &words, at));
        if (words.done > at)
            at += (words.done - at) / GROUP_BYTES * GROUP_BYTES;
    }
    return HS_OK;
}

static hs_status look_at_objects(struct computed *c)
{
    const struct hs_dump *dump = c->scan->native->dump;

    for (size_t i = 0; i < dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &dump->target.mappings[i];
        hs_addr begin = m->begin, at, end;
        if (!m->writable || m->shared || hs_objects_object_at(&dump->objects, m->begin) == NULL)
            continue;
        for (; hs_image_next_present(&dump->image, begin, m->end, &at, &end); begin = end) {
            const uint8_t *bytes = hs_image_bytes(&dump->image, at, end - at);
            if (bytes != NULL)
                HS_TRY(look_for_tables_in(c, bytes, end - at, NULL));
        }
    }
    return HS_OK;
}

/* ---- all */

static hs_status look_at_blocks(struct computed *c)
{
    struct hs_heap_iterator it = {.map = c->map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        if (block.bytes == NULL || !hs_bitmap_get(&c->scan->reached, block.rank))
            continue;
        if (c->has_candidates)
            HS_TRY(look_for_lists(c, &block));
        if (block.n_bytes >= GROUP_BYTES)
            HS_TRY(look_for_tables_in(c, block.bytes, block.n_bytes, &block));
    }
    return HS_OK;
}

static hs_status look(struct computed *c)
{
    struct hs_heap_iterator it = {.map = c->map};
    struct hs_heap_block block;
    uint64_t n_lost = 0;

    HS_TRY(HS_ALLOC(&c->words_of, SIZES, c->err));
    while (hs_scan_next_lost(c->scan, &it, &block)) {
        if (block.bytes == NULL)
            continue;
        n_lost++;
        look_at_lost(c, &block);
    }
    if (n_lost == 0)
        return HS_OK;
    HS_TRY(find_bases(c));
    HS_TRY(look_at_objects(c));
    return look_at_blocks(c);
}

hs_status hs_scan_mark_computed(struct hs_scan *scan, struct hs_error *err)
{
    const struct hs_heap_map *map = &scan->native->dump->heaps.map;
    struct computed c = {.scan = scan, .map = map, .err = err};

    if (map->n_spans == 0)
        return HS_OK;
    c.low = map->spans[0].begin;
    c.high = map->spans[map->n_spans - 1].end;
    c.most_xor = UINT64_MAX >> __builtin_clzll((c.low ^ c.high) | 1);
    c.budget = map->n_blocks + SPARE_STEPS;
    hs_status status = look(&c);
    hs_free(c.words_of);
    hs_free(c.bases);
    return status;
}
