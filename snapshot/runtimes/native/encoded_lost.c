/* The lost blocks, and the sample taken of them. */
#include <string.h>

#include "base/load.h"
#include "encoded_search.h"
#include "flow.h"

enum { WORD = 8, BYTE_OF_TOP = 40 };
#define EACH_BYTE UINT64_C(0x0101010101010101)

hs_status hs_encoded_each_lost(struct hs_encoded *e,
                               hs_status (*visit)(struct hs_encoded *,
                                                  const struct hs_heap_block *))
{
    struct hs_heap_iterator it = {.map = e->map};
    struct hs_heap_block block;

    if (e->first >= e->n_blocks)
        return HS_OK;
    hs_heap_map_seek(&it, e->first);
    while (hs_scan_next_lost(e->scan, &it, &block) && hs_encoded_is_in_range(e, block.rank))
        HS_TRY(visit(e, &block));
    return HS_OK;
}

static void clear_bits(struct hs_bitmap *map)
{
    memset(map->words, 0, (map->n_bits + 63) / 64 * sizeof *map->words);
}

void hs_encoded_go_to(struct hs_encoded *e, uint64_t i)
{
    if (e->n_ranges > 1) {
        memset(e->found_by, 0, e->n_range);
        clear_bits(&e->beside);
        clear_bits(&e->held);
    }
    e->first = i * e->n_range;
}

size_t hs_encoded_group_of(const struct hs_encoded *e, const struct hs_heap_block *block)
{
    return hs_dict_get(&e->group_of, block->n_bytes, 0);
}

static void note_upper(struct hs_encoded *e, uint64_t upper)
{
    for (size_t i = 0; i < e->n_uppers; i++)
        if (e->uppers[i] == upper)
            return;
    if (e->n_uppers < sizeof e->uppers / sizeof *e->uppers)
        e->uppers[e->n_uppers++] = upper;
}

static void note_top(struct hs_encoded *e, uint8_t top)
{
    for (size_t i = 0; i < e->n_tops && i < ENCODED_TOPS; i++)
        if (e->tops[i] == top * EACH_BYTE)
            return;
    if (e->n_tops < ENCODED_TOPS)
        e->tops[e->n_tops] = top * EACH_BYTE;
    if (e->n_tops <= ENCODED_TOPS)
        e->n_tops++;
}

/* Notes of an address what is left of it under each shift that cuts its first bits off. */
static void note_cut(struct hs_encoded *e, hs_addr address)
{
    const uint64_t first = address >> (64 - ENCODED_SHIFTS);
    size_t i = 0;

    for (unsigned n = ENCODED_WHOLE_SHIFTS + 1; n <= ENCODED_SHIFTS; n++)
        e->cut_shifts[address << n >> 56] |= (uint8_t)(1U << (n - ENCODED_WHOLE_SHIFTS - 1));
    while (i < e->n_cut_off && e->cut_off[i] != first)
        i++;
    if (i == e->n_cut_off && i < ENCODED_CUT_OFF)
        e->cut_off[e->n_cut_off++] = first;
}

static hs_status note_lost(struct hs_encoded *e, const struct hs_heap_block *block)
{
    const unsigned length = 64 - (unsigned)__builtin_clzll(block->begin);
    uint64_t page = hs_encoded_page_bit(block->begin);

    if (e->low == 0)
        e->low = block->begin;
    e->high = block->begin;
    e->lengths |= UINT64_C(1) << length;
    e->pages[page >> 6] |= UINT64_C(1) << (page & 63);
    note_upper(e, block->begin >> 32);
    note_top(e, (uint8_t)(block->begin >> BYTE_OF_TOP));
    note_cut(e, block->begin);
    if (hs_dict_find(&e->group_of, block->n_bytes) == NULL && e->n_groups < ENCODED_GROUPS) {
        e->groups[e->n_groups].n_bytes = block->n_bytes;
        HS_TRY(hs_dict_put(&e->group_of, block->n_bytes, e->n_groups++, e->err));
    }
    e->groups[hs_encoded_group_of(e, block)].n_lost++;
    return HS_OK;
}

/* Finds the blocks of the range that lost ones lead to, wherever these are. */
static void find_held(struct hs_encoded *e)
{
    struct hs_heap_iterator it = {.map = e->map};
    struct hs_heap_block block, target;

    while (hs_scan_next_lost(e->scan, &it, &block)) {
        for (uint64_t at = 0; block.bytes != NULL && at + WORD <= block.n_bytes; at += WORD) {
            at = hs_flow_touched(e->scan->native, &block, at);
            if (at + WORD <= block.n_bytes &&
                hs_flow_resolve(e->scan->native, hs_load_u64(block.bytes + at), &target) !=
                    HS_POINTER_NONE &&
                target.rank != block.rank && hs_encoded_is_in_range(e, target.rank))
                hs_bitmap_set(&e->held, target.rank - e->first);
        }
    }
}

static bool is_held(const struct hs_encoded *e, const struct hs_heap_block *block)
{
    return hs_bitmap_get(&e->held, block->rank - e->first);
}

static hs_status count_head(struct hs_encoded *e, const struct hs_heap_block *block)
{
    e->groups[hs_encoded_group_of(e, block)].n_heads += !is_held(e, block);
    return HS_OK;
}

/* Takes a block into the sample when it is its turn. Of a group only heads are taken, the blocks
 * that no lost one leads to: the rest hangs on them. A ring has none: then all may be taken. */
static hs_status sample(struct hs_encoded *e, const struct hs_heap_block *block)
{
    struct hs_encoded_group *group = &e->groups[hs_encoded_group_of(e, block)];
    uint64_t n = group->n_heads != 0 ? group->n_heads : group->n_lost;
    uint64_t n_most = ENCODED_SAMPLES / e->n_groups;

    n_most = n_most > ENCODED_OF_GROUP ? ENCODED_OF_GROUP : n_most == 0 ? 1 : n_most;
    n_most = n_most > n ? n : n_most;
    if ((group->n_heads != 0 && is_held(e, block)) || e->n_samples == ENCODED_SAMPLES)
        return HS_OK;
    uint64_t seen = group->n_seen++;
    if (seen >= n || seen * n_most / n == (seen + 1) * n_most / n)
        return HS_OK;
    group->n_sampled++;
    e->samples[e->n_samples++] = (struct hs_encoded_sample){
        .begin = block->begin, .n_bytes = block->n_bytes, .group = (uint32_t)(group - e->groups)};
    return HS_OK;
}

/* Calls `visit` for each lost block of each range, for which `held` is filled. */
static hs_status each_range(struct hs_encoded *e,
                            hs_status (*visit)(struct hs_encoded *, const struct hs_heap_block *))
{
    for (uint64_t i = 0; i < e->n_ranges; i++) {
        hs_encoded_go_to(e, i);
        if (e->n_ranges > 1)
            find_held(e);
        HS_TRY(hs_encoded_each_lost(e, visit));
    }
    return HS_OK;
}

hs_status hs_encoded_find_lost(struct hs_encoded *e)
{
    struct hs_heap_iterator it = {.map = e->map};
    struct hs_heap_block block;

    while (hs_scan_next_lost(e->scan, &it, &block))
        HS_TRY(note_lost(e, &block));
    if (e->lengths == 0)
        return HS_OK;
    e->least_length = (unsigned)__builtin_ctzll(e->lengths);
    if (e->n_ranges == 1)
        find_held(e);
    HS_TRY(each_range(e, count_head));
    return each_range(e, sample);
}
