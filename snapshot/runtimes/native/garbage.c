#include "garbage.h"

#include "base/alloc.h"
#include "base/load.h"
#include "flow.h"

enum { WORD = 8, MOST_COUNTED = UINT8_MAX };

struct hidden {
    struct hs_bitmap holders; /* those that may be in such a circle, or behind one */
    struct hs_bitmap kept;    /* what is reached from what they refer to */
};

struct counter {
    struct hs_scan *scan;
    uint8_t *n_words;  /* owned pages: by rank, the words of unreached blocks that refer to it */
    uint8_t *n_hidden; /* the same: those of blocks that the collector does not look into */
    uint64_t n;
    struct hidden hidden;
    bool any_hidden; /* such a block is unreached, and refers to something */
};

typedef hs_status visit_reference(struct counter *c, const struct hs_heap_block *to,
                                  struct hs_error *err);

static bool is_unreached(const struct counter *c, const struct hs_heap_block *block)
{
    return !hs_bitmap_get(&c->scan->reached, block->rank) && block->bytes != NULL;
}

/* Visits what the references of a block lead to. */
static hs_status visit_references(struct counter *c, const struct hs_heap_block *block,
                                  const struct hs_object_words *words, visit_reference *visit,
                                  struct hs_error *err)
{
    struct hs_heap_block target;

    for (uint64_t at = 0; at + WORD <= block->n_bytes && at / WORD < words->n_owning; at += WORD) {
        at = hs_flow_touched(c->scan->native, block, at);
        if (at + WORD > block->n_bytes ||
            hs_scan_passes_over(words, words->links | words->weak, at))
            continue;
        uint64_t word = hs_object_address(words, at / WORD, hs_load_u64(block->bytes + at));
        if (hs_flow_resolve(c->scan->native, word, &target) != HS_POINTER_NONE)
            HS_TRY(visit(c, &target, err));
    }
    return HS_OK;
}

static hs_status count_reference(struct counter *c, const struct hs_heap_block *to,
                                 struct hs_error *err)
{
    (void)err;
    if (c->n_words[to->rank] < MOST_COUNTED)
        c->n_words[to->rank]++;
    return HS_OK;
}

static hs_status count_hidden(struct counter *c, const struct hs_heap_block *to,
                              struct hs_error *err)
{
    (void)err;
    if (c->n_hidden[to->rank] < MOST_COUNTED)
        c->n_hidden[to->rank]++;
    return HS_OK;
}

static hs_status count_block(struct counter *c, const struct hs_heap_block *block,
                             struct hs_error *err)
{
    struct hs_object_words words;

    hs_scan_object_words(c->scan, block, &words);
    c->any_hidden |= words.is_hidden;
    return visit_references(c, block, &words, count_reference, err);
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
            HS_TRY(count_block(c, &block, err));
    while (hs_heap_map_next(&again, &block))
        if (is_unreached(c, &block) && is_leaked(c, &block))
            HS_TRY(hs_scan_mark_as(c->scan, &c->scan->leaked, &block, err));
    return HS_OK;
}

/* ---- circles through what the collector does not look into
 *
 * An array of objects of numpy, and an object of a C type without tp_traverse, refer to objects
 * that the collector then takes for used from outside: it frees them only when their holder goes,
 * which is never where they lead back to it. */

enum { MOST_ROUNDS = 16 };

/* Tells whether the collector sees fewer references to an object than are counted: the others are
 * those of hidden words, then, for all in all there are enough. */
static bool is_held_unseen(const struct counter *c, const struct hs_heap_block *block)
{
    uint8_t n_words = c->n_words[block->rank], n_hidden = c->n_hidden[block->rank];
    struct hs_object_words words;

    return n_hidden != 0 && n_words < MOST_COUNTED && is_unreached(c, block) &&
           hs_scan_object_words(c->scan, block, &words) &&
           words.n_references > (uint64_t)n_words - n_hidden;
}

static hs_status keep_unseen(struct counter *c, const struct hs_heap_block *to,
                             struct hs_error *err)
{
    return is_held_unseen(c, to) ? hs_scan_mark_as(c->scan, &c->hidden.kept, to, err) : HS_OK;
}

/* Visits what hidden blocks refer to: all of them (holders NULL), or those of a set. */
static hs_status visit_hidden(struct counter *c, const struct hs_bitmap *holders,
                              visit_reference *visit, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &c->scan->native->dump->heaps.map};
    struct hs_object_words words;
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block))
        if (is_unreached(c, &block) && (holders == NULL || hs_bitmap_get(holders, block.rank)) &&
            hs_scan_object_words(c->scan, &block, &words) && words.is_hidden) {
            if (holders == NULL)
                hs_bitmap_set(&c->hidden.holders, block.rank);
            HS_TRY(visit_references(c, &block, &words, visit, err));
        }
    return HS_OK;
}

/* Leaves of the holders those that are reached from one. *ret: these are all. */
static bool keep_reached_holders(struct hidden *hidden)
{
    bool is_same = true;

    for (uint64_t i = 0; i < (hidden->holders.n_bits + 63) / 64; i++) {
        uint64_t left = hidden->holders.words[i] & hidden->kept.words[i];
        is_same &= left == hidden->holders.words[i];
        hidden->holders.words[i] = left;
    }
    return is_same;
}

/* Marks what the collector will never free, as leaked: after as many rounds as there are holders
 * one behind the other without a circle; of more than a few nothing is said. */
static hs_status mark_circles(struct counter *c, struct hs_error *err)
{
    struct hidden *hidden = &c->hidden;
    bool is_done = false;

    HS_TRY(visit_hidden(c, NULL, count_hidden, err));
    for (int i = 0; i < MOST_ROUNDS && !is_done; i++) {
        hs_bitmap_fini(&hidden->kept);
        HS_TRY(hs_bitmap_init(&hidden->kept, c->n, err));
        HS_TRY(visit_hidden(c, &hidden->holders, keep_unseen, err));
        is_done = keep_reached_holders(hidden);
    }
    for (uint64_t i = 0; is_done && i < (c->n + 63) / 64; i++)
        c->scan->leaked.words[i] |= hidden->kept.words[i];
    return HS_OK;
}

static hs_status find_circles(struct counter *c, struct hs_error *err)
{
    struct hs_dump_plan *plan = &c->scan->native->dump->plan;
    const uint64_t n_bytes = c->n + c->n / 4; /* counts, and two bits */

    if (!c->any_hidden || hs_dump_plan_reserve(plan, n_bytes, "hidden references", err) != HS_OK) {
        *err = (struct hs_error)HS_ERROR_INIT;
        return HS_OK; /* then it is what the collector has yet to find */
    }
    hs_status status = HS_PAGES_ALLOC(&c->n_hidden, c->n, err);
    if (status == HS_OK)
        status = hs_bitmap_init(&c->hidden.holders, c->n, err);
    if (status == HS_OK)
        status = mark_circles(c, err);
    hs_bitmap_fini(&c->hidden.holders);
    hs_bitmap_fini(&c->hidden.kept);
    hs_pages_free(c->n_hidden, c->n, sizeof *c->n_hidden);
    hs_dump_plan_release(plan, n_bytes);
    return status;
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
    if (status == HS_OK)
        status = find_circles(&c, err);
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
