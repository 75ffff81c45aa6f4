#include "garbage.h"

#include "base/alloc.h"
#include "base/load.h"
#include "flow.h"

enum { WORD = 8, MOST_COUNTED = UINT8_MAX };

struct counter {
    struct hs_scan *scan;
    uint8_t *n_words; /* owned pages: by rank, the words of unreached blocks that refer to it */
    uint64_t n;
};

static bool is_unreached(const struct counter *c, const struct hs_heap_block *block)
{
    return !hs_bitmap_get(&c->scan->reached, block->rank) && block->bytes != NULL;
}

static void count_block(struct counter *c, const struct hs_heap_block *block)
{
    struct hs_heap_block target;
    struct hs_object_words words;

    hs_scan_object_words(c->scan, block, &words);
    for (uint64_t at = 0; at + WORD <= block->n_bytes && at / WORD < words.n_owning; at += WORD) {
        at = hs_flow_touched(c->scan->native, block, at);
        if (at + WORD > block->n_bytes || hs_scan_passes_over(&words, words.links | words.weak, at))
            continue;
        uint64_t word = hs_object_address(&words, at / WORD, hs_load_u64(block->bytes + at));
        if (hs_flow_resolve(c->scan->native, word, &target) != HS_POINTER_NONE &&
            c->n_words[target.rank] < MOST_COUNTED)
            c->n_words[target.rank]++;
    }
}

static bool is_leaked(const struct counter *c, const struct hs_heap_block *block)
{
    uint8_t n_words = c->n_words[block->rank];
    struct hs_object_words words;

    return n_words < MOST_COUNTED && hs_scan_object_words(c->scan, block, &words) &&
           words.n_references > n_words;
}

static hs_status count_and_mark(struct counter *c, struct hs_error *err)
{
    const struct hs_heap_map *map = &c->scan->native->dump->heaps.map;
    struct hs_heap_iterator it = {.map = map}, again = it;
    struct hs_heap_block block;

    HS_TRY(HS_PAGES_ALLOC(&c->n_words, c->n, err));
    while (hs_heap_map_next(&it, &block))
        if (is_unreached(c, &block))
            count_block(c, &block);
    while (hs_heap_map_next(&again, &block))
        if (is_unreached(c, &block) && is_leaked(c, &block))
            HS_TRY(hs_scan_mark_as(c->scan, &c->scan->leaked, &block, err));
    return HS_OK;
}

/* Marks what nobody will free. Where there is no memory to count references nothing is marked,
 * which is noted: it is then taken for what the collector has yet to find. */
static hs_status mark_leaked(struct hs_scan *scan, struct hs_error *err)
{
    struct counter c = {.scan = scan, .n = scan->native->dump->heaps.map.n_blocks};
    struct hs_dump_plan *plan = &scan->native->dump->plan;

    HS_TRY(hs_bitmap_init(&scan->leaked, c.n, err));
    hs_status status = hs_dump_plan_reserve(plan, c.n, "counts of references", err);
    if (status == HS_LIMIT) {
        *err = (struct hs_error)HS_ERROR_INIT;
        return hs_findings_note(&scan->native->dump->findings, true, err,
                                "leaks: --memory leaves no room to count references to objects of "
                                "Python: none that extensions lost are certain leaks");
    }
    HS_TRY(status);
    status = count_and_mark(&c, err);
    hs_pages_free(c.n_words, c.n, sizeof *c.n_words);
    hs_dump_plan_release(plan, c.n);
    return status;
}

hs_status hs_garbage_mark(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &scan->native->dump->heaps.map};
    struct hs_object_words words;
    struct hs_heap_block block;

    if (scan->interpreter.model == NULL)
        return HS_OK;
    HS_TRY(mark_leaked(scan, err));
    while (hs_heap_map_next(&it, &block))
        if (!hs_bitmap_get(&scan->reached, block.rank) &&
            !hs_bitmap_get(&scan->unsure, block.rank) &&
            hs_scan_object_words(scan, &block, &words) && words.is_tracked)
            HS_TRY(hs_scan_mark_unsure(scan, &block, err));
    return HS_OK;
}
