/* The objects that the roots reach. */
#include "base/alloc.h"
#include "pointers.h"
#include "session.h"

struct reach {
    struct hs_go_session *s;
    hs_addr *waiting; /* owned: blocks that are marked and not looked into yet */
    size_t n, capacity;
    struct hs_bitmap later; /* by slot: records that are looked into when it is known who leaks */
    bool is_late;           /* it is known */
    enum hs_go_rank rank;   /* of the roots that are marked from */
};

bool hs_go_is_record(const struct hs_go_session *s, const struct hs_go_block *block)
{
    return hs_bitmap_get(&s->records, block->slot);
}

bool hs_go_is_cut(const struct hs_go_session *s, const struct hs_go_block *from,
                  uint64_t offset_words, const struct hs_go_block *to)
{
    const struct hs_go_goroutines *gs = &s->goroutines;

    if (!hs_go_is_record(s, to))
        return false;
    if (!hs_go_is_record(s, from))
        return from->begin != gs->all_gs && from->begin != gs->all_ps;
    return offset_words * HS_WORD_BYTES != (uint64_t)s->layout->m_alllink ||
           hs_dict_find(&gs->by_g, from->begin) != NULL;
}

static hs_status mark(struct reach *r, const struct hs_go_block *block, struct hs_error *err)
{
    if (hs_bitmap_get(&r->s->reached, block->slot))
        return HS_OK;
    if (r->rank == HS_GO_RANK_MAIN && hs_bitmap_get(&r->s->owners.named, block->slot))
        return HS_OK;
    hs_bitmap_set(&r->s->reached, block->slot);
    if (r->rank != HS_GO_N_RANKS)
        hs_bitmap_set(&r->s->owners.of_rank[r->rank], block->slot);
    if (!r->is_late)
        HS_TRY(hs_go_wake(r->s, block->slot, err));
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

    return hs_go_resolve(&r->s->heap, word, &block) && !hs_go_is_record(r->s, &block)
               ? mark(r, &block, err)
               : HS_OK;
}

static hs_status look_into_object(struct reach *r, const struct hs_go_block *block,
                                  struct hs_error *err)
{
    const struct hs_go_heap *heap = &r->s->heap;
    struct hs_go_block target;
    uint64_t word, offset;
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

static hs_status look_into(struct reach *r, const struct hs_go_block *block, struct hs_error *err)
{
    struct hs_go_session *s = r->s;
    struct hs_go_block record;

    if (!block->span->is_stack) {
        if (r->is_late || !hs_go_is_asleep(s, block->slot))
            return look_into_object(r, block, err);
        hs_bitmap_set(&r->later, block->slot);
        return HS_OK;
    }
    const uint64_t *g = hs_dict_find(&s->goroutines.by_g, block->span->record);
    bool has_record = hs_go_resolve(&s->heap, block->span->record, &record);
    if (has_record)
        HS_TRY(mark(r, &record, err));
    if (!r->is_late && has_record &&
        hs_bitmap_get(&r->later, record.slot)) { /* it was asleep when another led to it */
        hs_bitmap_clear(&r->later, record.slot);
        HS_TRY(look_into_object(r, &record, err));
    }
    return g == NULL
               ? HS_OK
               : hs_go_walk_stack(&s->goroutines, &s->goroutines.goroutines[*g], mark_word, r, err);
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

/* Marks what those that wait to be looked into lead to, and the stacks of goroutines that this
 * wakes. */
static hs_status drain(struct reach *r, struct hs_error *err)
{
    struct hs_go_session *s = r->s;
    struct hs_go_waits *waits = &s->waits;
    struct hs_go_block block;

    /* Those that main or a variable wakes are goroutines like others, whose turn comes later. */
    while (r->n != 0 || (waits->n_woken != 0 && r->rank >= HS_GO_RANK_GOROUTINES)) {
        if (r->n != 0) {
            if (hs_go_slot(&s->heap, r->waiting[--r->n], &block))
                HS_TRY(look_into(r, &block, err));
            continue;
        }
        size_t woken = waits->woken[--waits->n_woken];
        if (hs_go_slot(&s->heap, s->goroutines.goroutines[woken].stack_begin, &block))
            HS_TRY(mark(r, &block, err));
    }
    return HS_OK;
}

/* Marks from the roots of a rank; before it is known who leaks, without the stacks of those that
 * may. */
static hs_status mark_roots(struct reach *r, struct hs_error *err)
{
    struct hs_go_session *s = r->s;
    struct hs_go_block block;

    for (size_t i = 0; i < s->roots.n_leaves; i++) {
        const struct hs_root_leaf *leaf = &s->roots.leaves[i];
        const uint64_t *g = leaf->root.kind == HS_ROOT_STACK
                                ? hs_dict_find(&s->goroutines.by_g, leaf->root.address)
                                : NULL;
        bool is_asleep = g != NULL && s->goroutines.goroutines[*g].is_leaked && !r->is_late;
        bool is_of_rank = r->is_late || hs_go_rank_of(s, leaf) == r->rank;
        if (is_asleep || !is_of_rank || !hs_go_slot(&s->heap, leaf->target, &block))
            continue;
        HS_TRY(mark(r, &block, err));
        HS_TRY(drain(r, err));
    }
    return HS_OK;
}

static hs_status look_into_later(struct reach *r, struct hs_error *err)
{
    struct hs_go_session *s = r->s;

    for (size_t i = 0; i < s->heap.n_spans; i++) {
        const struct hs_go_span *span = &s->heap.spans[i];
        uint64_t end = span->first_slot + span->n_elems;
        for (uint64_t k = hs_bitmap_next(&r->later, span->first_slot); k < end;
             k = hs_bitmap_next(&r->later, k + 1)) {
            struct hs_go_block block = {.span = span,
                                        .begin =
                                            span->begin + (k - span->first_slot) * span->elem_bytes,
                                        .slot = k};
            HS_TRY(look_into_object(r, &block, err));
        }
    }
    return drain(r, err);
}

static hs_status reach_all(struct reach *r, struct hs_error *err)
{
    for (unsigned rank = 0; rank <= HS_GO_N_RANKS; rank++) {
        r->rank = (enum hs_go_rank)rank;
        HS_TRY(mark_roots(r, err));
    }
    hs_go_lower_roots(r->s);
    r->is_late = true;
    HS_TRY(look_into_later(r, err));
    return mark_roots(r, err);
}

hs_status hs_go_reach(struct hs_go_session *s, struct hs_error *err)
{
    struct reach r = {.s = s};

    HS_TRY(hs_bitmap_init(&s->reached, s->heap.live.n_bits, err));
    HS_TRY(hs_bitmap_init(&s->records, s->heap.live.n_bits, err));
    find_records(s);
    HS_TRY(hs_go_find_owners(s, err));
    hs_status status = hs_bitmap_init(&r.later, s->heap.live.n_bits, err);
    if (status == HS_OK)
        status = reach_all(&r, err);
    hs_bitmap_fini(&r.later);
    hs_free(r.waiting);
    return status;
}
