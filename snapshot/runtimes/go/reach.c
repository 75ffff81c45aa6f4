/* The objects that the roots reach. */
#include "base/alloc.h"
#include "pointers.h"
#include "session.h"

struct reach {
    struct hs_go_session *s;
    hs_addr *waiting; /* owned: blocks that are marked and not looked into yet */
    size_t n, capacity;
};

bool hs_go_is_cut(const struct hs_go_session *s, const struct hs_go_block *from,
                  uint64_t offset_words, const struct hs_go_block *to)
{
    if (!hs_bitmap_get(&s->records, from->slot) || !hs_bitmap_get(&s->records, to->slot))
        return false;
    return offset_words * HS_WORD_BYTES != (uint64_t)s->layout->m_alllink ||
           hs_dict_find(&s->goroutines.by_g, from->begin) != NULL;
}

static hs_status mark(struct reach *r, const struct hs_go_block *block, struct hs_error *err)
{
    if (hs_bitmap_get(&r->s->reached, block->slot))
        return HS_OK;
    hs_bitmap_set(&r->s->reached, block->slot);
    HS_TRY(HS_GROW(&r->waiting, &r->capacity, r->n + 1, err));
    r->waiting[r->n++] = block->begin;
    if (!block->span->is_stack) {
        r->s->n_reached++;
        r->s->reached_bytes += block->span->elem_bytes;
    }
    return HS_OK;
}

static hs_status mark_word(void *context, hs_addr at, uint64_t word, bool is_exact,
                           struct hs_error *err)
{
    struct reach *r = context;
    struct hs_go_block block;
    (void)at;
    (void)is_exact;

    return hs_go_resolve(&r->s->heap, word, &block) ? mark(r, &block, err) : HS_OK;
}

static hs_status look_into(struct reach *r, const struct hs_go_block *block, struct hs_error *err)
{
    const struct hs_go_heap *heap = &r->s->heap;
    struct hs_go_block target;
    uint64_t word, offset;

    if (block->span->is_stack) {
        const uint64_t *g = hs_dict_find(&r->s->goroutines.by_g, block->span->record);
        HS_TRY(mark_word(r, 0, block->span->record, true, err));
        return g == NULL ? HS_OK
                         : hs_go_walk_stack(&r->s->goroutines, &r->s->goroutines.goroutines[*g],
                                            mark_word, r, err);
    }
    struct hs_go_pointers it = hs_go_pointers_begin(heap, block);
    while (hs_go_pointers_next(&it, &word, &offset)) {
        if (hs_go_resolve(heap, word, &target)) {
            if (!hs_go_is_cut(r->s, block, offset, &target))
                HS_TRY(mark(r, &target, err));
        } else if (hs_go_slot(heap, word, &target) && !target.span->is_stack) {
            r->s->n_dangling++;
        }
    }
    return HS_OK;
}

/* Sets the bits of the records that lead to each other. */
static void find_records(struct hs_go_session *s)
{
    const struct hs_go_goroutines *gs = &s->goroutines;
    struct hs_go_block block;

    for (size_t i = 0; i < gs->n; i++)
        if (hs_go_resolve(&s->heap, gs->goroutines[i].g, &block))
            hs_bitmap_set(&s->records, block.slot);
    for (size_t i = 0; i < gs->n_ms; i++)
        if (hs_go_resolve(&s->heap, gs->ms[i], &block))
            hs_bitmap_set(&s->records, block.slot);
    for (size_t i = 0; i < gs->n_ps; i++)
        if (hs_go_resolve(&s->heap, gs->ps[i], &block))
            hs_bitmap_set(&s->records, block.slot);
}

static hs_status reach_all(struct reach *r, struct hs_error *err)
{
    struct hs_go_session *s = r->s;
    struct hs_go_block block;

    for (size_t i = 0; i < s->roots.n_leaves; i++) {
        if (!hs_go_slot(&s->heap, s->roots.leaves[i].target, &block))
            continue;
        HS_TRY(mark(r, &block, err));
        while (r->n != 0) {
            if (hs_go_slot(&s->heap, r->waiting[--r->n], &block))
                HS_TRY(look_into(r, &block, err));
        }
    }
    return HS_OK;
}

hs_status hs_go_reach(struct hs_go_session *s, struct hs_error *err)
{
    struct reach r = {.s = s};

    HS_TRY(hs_bitmap_init(&s->reached, s->heap.live.n_bits, err));
    HS_TRY(hs_bitmap_init(&s->records, s->heap.live.n_bits, err));
    find_records(s);
    hs_status status = reach_all(&r, err);
    hs_free(r.waiting);
    return status;
}
