/* The accounts of the memory: the arenas with their objects and stacks, and the runtime's own
 * tables, which it maps beside. No root of C, no unclaimed mapping and no block of malloc is there.
 */
#include "process/ranges.h"
#include "session.h"

#define OWNER "go"

static hs_status claim_range(struct hs_dump *dump, hs_addr begin, hs_addr end,
                             enum hs_memory_state state, struct hs_error *err)
{
    const struct hs_heap_span span = {
        .begin = begin, .end = end, .form = HS_SPAN_SINGLE, .owner = HS_OWNER_RUNTIME};

    HS_TRY(hs_ledger_claim(&dump->heaps.ledger, OWNER, state, begin, end, 0, err));
    return state == HS_MEMORY_FREE ? hs_heap_map_add(&dump->heaps.map, &span, err) : HS_OK;
}

/* Claims the parts of arenas that are mapped; what is only reserved stays that. */
static hs_status claim_arenas(struct hs_go_session *s, struct hs_error *err)
{
    const struct hs_target *target = &s->dump->target;
    size_t m = 0;

    for (size_t i = 0; i < s->heap.n_arenas; i++) {
        hs_addr begin = s->heap.arenas[i].begin, end = begin + HS_GO_ARENA_BYTES;
        while (m < target->n_mappings && target->mappings[m].end <= begin)
            m++;
        for (size_t k = m; k < target->n_mappings && target->mappings[k].begin < end; k++) {
            const struct hs_mapping *mapping = &target->mappings[k];
            hs_addr from = mapping->begin > begin ? mapping->begin : begin;
            hs_addr to = mapping->end < end ? mapping->end : end;
            if (mapping->inode == 0 && mapping->readable && from < to)
                HS_TRY(claim_range(s->dump, from, to, HS_MEMORY_FREE, err));
        }
    }
    return HS_OK;
}

/* Moves the objects of a span to what is in use: neighbours together. */
static hs_status move_objects(struct hs_go_session *s, const struct hs_go_span *span,
                              struct hs_error *err)
{
    const struct hs_bitmap *live = &s->heap.live;
    uint64_t end = span->first_slot + span->n_elems;
    enum hs_memory_state from = span->is_stack ? HS_MEMORY_INTERNAL : HS_MEMORY_FREE;

    for (uint64_t i = hs_bitmap_next(live, span->first_slot); i < end;
         i = hs_bitmap_next(live, i)) {
        uint64_t first = i;
        while (i < end && hs_bitmap_get(live, i))
            i++;
        HS_TRY(hs_ledger_move(&s->dump->heaps.ledger, OWNER, from, HS_MEMORY_LIVE,
                              span->begin + (first - span->first_slot) * span->elem_bytes,
                              span->begin + (i - span->first_slot) * span->elem_bytes, i - first,
                              err));
    }
    return HS_OK;
}

/* ---- the runtime's own tables */

/* Tells whether a mapping may be the runtime's own: anonymous, and no thread's stack or static
 * storage is in it. */
static const struct hs_mapping *own_mapping(const struct hs_go_session *s, hs_addr address)
{
    const struct hs_target *target = &s->dump->target;
    const struct hs_mapping *mapping = hs_target_mapping_at(target, address);

    if (mapping == NULL || mapping->inode != 0 || mapping->shared || !mapping->writable ||
        hs_mapping_path(target, mapping)[0] == '[' ||
        hs_objects_object_at(&s->dump->objects, mapping->begin) != NULL)
        return NULL;
    for (size_t i = 0; i < target->n_threads; i++) {
        hs_addr sp = hs_regs_sp(&target->threads[i].regs);
        hs_addr tp = hs_regs_thread_pointer(&target->threads[i].regs);
        if ((sp >= mapping->begin && sp < mapping->end) ||
            (tp >= mapping->begin && tp < mapping->end))
            return NULL;
    }
    return mapping;
}

static hs_status add_own(struct hs_go_session *s, hs_addr address, struct hs_range_set *set,
                         struct hs_error *err)
{
    if (set->n != 0 && address >= set->ranges[set->n - 1].begin &&
        address < set->ranges[set->n - 1].end)
        return HS_OK;
    const struct hs_mapping *mapping = address == 0 ? NULL : own_mapping(s, address);
    return mapping == NULL ? HS_OK : hs_range_set_add(set, mapping->begin, mapping->end, err);
}

/* Gathers the mappings that the records of the heap lead to. */
static hs_status gather_own(struct hs_go_session *s, struct hs_range_set *set, struct hs_error *err)
{
    const struct hs_go_heap *heap = &s->heap;

    HS_TRY(add_own(s, heap->arena_map, set, err));
    for (size_t i = 0; i < heap->n_arenas; i++)
        HS_TRY(add_own(s, heap->arenas[i].metadata, set, err));
    for (size_t i = 0; i < heap->n_spans; i++)
        if (!heap->spans[i].is_stack)
            HS_TRY(add_own(s, heap->spans[i].record, set, err));
    for (size_t i = 0; i < s->goroutines.n_ps; i++)
        HS_TRY(add_own(s, hs_go_member(heap, s->goroutines.ps[i], s->layout->p_mcache), set, err));
    for (int32_t at = 0; at < s->layout->mheap_size; at += HS_WORD_BYTES)
        HS_TRY(add_own(s, hs_go_member(heap, heap->mheap, at), set, err));
    hs_range_set_merge(set);
    return HS_OK;
}

static hs_status claim_own(struct hs_go_session *s, struct hs_error *err)
{
    struct hs_range_set set = {0};
    hs_status status = gather_own(s, &set, err);

    for (size_t i = 0; status == HS_OK && i < set.n; i++)
        status =
            claim_range(s->dump, set.ranges[i].begin, set.ranges[i].end, HS_MEMORY_INTERNAL, err);
    hs_range_set_fini(&set);
    return status;
}

hs_status hs_go_claim(struct hs_go_session *s, struct hs_error *err)
{
    HS_TRY(claim_arenas(s, err));
    HS_TRY(claim_own(s, err));
    for (size_t i = 0; i < s->heap.n_manual; i++)
        HS_TRY(hs_ledger_move(&s->dump->heaps.ledger, OWNER, HS_MEMORY_FREE, HS_MEMORY_INTERNAL,
                              s->heap.manual[i].begin, s->heap.manual[i].end, 0, err));
    for (size_t i = 0; i < s->heap.n_spans; i++)
        HS_TRY(move_objects(s, &s->heap.spans[i], err));
    hs_ledger_seal(&s->dump->heaps.ledger);
    return HS_OK;
}
