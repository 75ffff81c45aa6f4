/* PostgreSQL's memory contexts: chunks inside of malloc's blocks, owned by their context. */
#include "base/alloc.h"
#include "carve.h"
#include "postgres/contexts.h"

#define LEAST_EFFORT ((uint64_t)1 << 24)

static void postgres_close(void *state)
{
    struct postgres *p = state;

    if (p == NULL)
        return;
    hs_free(p->contexts);
    hs_free(p->blocks);
    hs_free(p);
}

static hs_status postgres_open(const struct hs_process_copy *process, void **ret_state,
                               struct hs_error *err)
{
    struct hs_live_symbol symbol;
    struct postgres *p;

    if (process->objects == NULL || !hs_objects_find(process->objects, "TopMemoryContext", &symbol))
        return HS_OK;
    HS_TRY(HS_ALLOC(&p, 1, err));
    /* Nearly all is walked over once, and no chunk is smaller than two words. What is swapped out
     * is not resident. */
    *p = (struct postgres){.process = process,
                           .variable = symbol.address,
                           .effort = LEAST_EFFORT +
                                     hs_image_resident_bytes(process->image, 0, UINT64_MAX) /
                                         (HS_WORD_BYTES / 2)};
    hs_status status = hs_postgres_read_tree(p, err);
    if (status == HS_OK && p->is_strange)
        status =
            hs_findings_note(process->findings, true, err,
                             "postgres: the contexts below TopMemoryContext are damaged, or of "
                             "a release that is not known; their blocks are malloc's");
    if (status == HS_OK && p->n_contexts != 0) {
        hs_postgres_find_idle(p, symbol.object);
        *ret_state = p;
    } else {
        postgres_close(p);
    }
    return status;
}

static const char *postgres_version(const void *state)
{
    return ((const struct postgres *)state)->chunks->version;
}

/* ---- spans */

static struct hs_heap_span object_span(const struct postgres *p, uint32_t number)
{
    const struct postgres_context *context = &p->contexts[number];

    return (struct hs_heap_span){.begin = context->address,
                                 .end = context->address + context->form->object_bytes,
                                 .form = HS_SPAN_SINGLE,
                                 .tag = hs_postgres_tag(number, true),
                                 .owner = HS_OWNER_postgres};
}

/* A block in which nothing is in use has none: false. */
static bool span_of(const struct postgres *p, const struct postgres_block *block,
                    struct hs_heap_span *ret)
{
    *ret = (struct hs_heap_span){.begin = block->first + hs_postgres_header_bytes(p, block),
                                 .end = block->used,
                                 .form = block->is_single ? HS_SPAN_SINGLE : HS_SPAN_MARKED,
                                 .tag = hs_postgres_tag(block->context, false),
                                 .owner = HS_OWNER_postgres,
                                 .states = block->is_unsure ? HS_BLOCK_UNSURE : 0};
    return !block->is_empty && ret->begin < ret->end;
}

static hs_status postgres_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                    struct hs_error *err)
{
    const struct postgres *p = state;
    struct hs_heap_span span;

    for (size_t i = 0; i < p->n_contexts; i++) {
        if (p->contexts[i].form == NULL)
            continue;
        span = object_span(p, (uint32_t)i);
        HS_TRY(hs_heap_map_add(map, &span, err));
        HS_TRY(hs_ledger_claim(ledger, POSTGRES_OWNER, HS_MEMORY_INTERNAL, span.begin, span.end, 0,
                               err));
    }
    for (size_t i = 0; i < p->n_blocks; i++) { /* what is malloc's stays claimed by that */
        const struct postgres_block *block = &p->blocks[i];
        if (span_of(p, block, &span))
            HS_TRY(hs_heap_map_add(map, &span, err));
        HS_TRY(hs_ledger_claim(ledger, POSTGRES_OWNER, HS_MEMORY_INTERNAL, block->begin, block->end,
                               0, err));
    }
    for (size_t i = 0; i < p->n_idle; i++)
        HS_TRY(hs_ledger_claim(ledger, POSTGRES_OWNER, HS_MEMORY_INTERNAL, p->idle[i].begin,
                               p->idle[i].end, 0, err));
    return HS_OK;
}

/* ---- marking */

struct marking {
    struct postgres *p;
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    uint64_t n_free, n_refused;
};

static hs_status take_over(struct marking *m, hs_addr begin, hs_addr end, struct hs_error *err)
{
    return hs_carve_take_over(m->map, m->ledger, m->p->process->findings->strings,
                              HS_OWNER_postgres, begin, end, err);
}

static hs_status move(struct marking *m, enum hs_memory_state from, enum hs_memory_state to,
                      hs_addr begin, hs_addr end, struct hs_error *err)
{
    return hs_ledger_move(m->ledger, POSTGRES_OWNER, from, to, begin, end, 0, err);
}

/* Books memory that waits to be used again as cached: it has no block, and is not malloc's. */
static hs_status mark_idle(struct marking *m, const struct postgres_idle *idle,
                           struct hs_error *err)
{
    HS_TRY(take_over(m, idle->begin, idle->end, err));
    return move(m, HS_MEMORY_INTERNAL, HS_MEMORY_CACHED, idle->begin, idle->end, err);
}

static hs_status mark_object(struct marking *m, uint32_t number, struct hs_error *err)
{
    const struct hs_heap_span span = object_span(m->p, number);

    if (!hs_carve_is_placed(m->map, &span)) {
        m->n_refused++;
        return HS_OK;
    }
    HS_TRY(take_over(m, span.begin, span.end, err));
    (void)hs_heap_map_set(m->map, span.begin);
    return move(m, HS_MEMORY_INTERNAL, HS_MEMORY_LIVE, span.begin, span.end, err);
}

static hs_status mark_chunks(struct marking *m, const struct postgres_block *block,
                             const struct hs_heap_span *span, struct hs_error *err)
{
    struct postgres_chunk chunk;

    for (hs_addr at = block->first; hs_postgres_next_chunk(m->p, block, &at, &chunk);) {
        m->n_free += chunk.is_free;
        HS_TRY(move(m, HS_MEMORY_INTERNAL, chunk.is_free ? HS_MEMORY_FREE : HS_MEMORY_LIVE,
                    chunk.begin, chunk.end, err));
        if (chunk.is_free)
            continue;
        if (span->form == HS_SPAN_SINGLE)
            (void)hs_heap_map_set(m->map, chunk.begin);
        else
            (void)hs_heap_map_set_marked(m->map, chunk.begin, chunk.end);
    }
    return HS_OK;
}

static hs_status mark_block(struct marking *m, const struct postgres_block *block,
                            struct hs_error *err)
{
    struct hs_heap_span span;
    bool has_span = span_of(m->p, block, &span);

    if (has_span && !hs_carve_is_placed(m->map, &span)) {
        m->n_refused++;
        return HS_OK;
    }
    HS_TRY(take_over(m, block->begin, block->end, err));
    HS_TRY(move(m, HS_MEMORY_INTERNAL, HS_MEMORY_FREE, block->used, block->end, err));
    return has_span ? mark_chunks(m, block, &span, err)
                    : move(m, HS_MEMORY_INTERNAL, HS_MEMORY_FREE, block->first, block->used, err);
}

/* Takes free chunks out of the map by the context's free lists, where chunks do not say that they
 * are free. One that was met has no bit any more, so no list is endless. */
static hs_status unmark_free(struct marking *m, uint32_t number, struct hs_error *err)
{
    const struct postgres_context *context = &m->p->contexts[number];

    for (unsigned i = 0; i < POSTGRES_FREE_LISTS; i++) {
        hs_addr at = hs_postgres_free_list(m->p, context, i);
        while (at != 0) {
            hs_addr begin = at + m->p->chunks->header_bytes;
            const struct hs_heap_span *span = hs_heap_map_span_at(m->map, begin);
            uint64_t n_bytes;
            if (span == NULL || span->owner != HS_OWNER_postgres ||
                span->tag != hs_postgres_tag(number, false) ||
                !hs_postgres_is_listed(m->p, at, i) || !hs_heap_map_take(m->map, begin, &n_bytes)) {
                m->p->n_damaged++;
                break;
            }
            m->n_free++;
            HS_TRY(move(m, HS_MEMORY_LIVE, HS_MEMORY_FREE, begin, begin + n_bytes, err));
            at = hs_postgres_next_free(m->p, at);
        }
    }
    return HS_OK;
}

static hs_status postgres_report(const struct marking *m, struct hs_error *err)
{
    const struct postgres *p = m->p;
    struct hs_findings *findings = p->process->findings;
    uint64_t n_known = p->n_contexts - p->n_others, n_read = 0;

    for (size_t i = 0; i < p->n_contexts; i++)
        n_read += p->contexts[i].form != NULL;
    findings->n_torn += p->n_damaged;
    HS_TRY(hs_findings_proof(findings, "postgres: contexts whose blocks add up to what they say",
                             n_known, n_read, err));
    if (p->n_others != 0)
        HS_TRY(hs_findings_note(findings, false, err,
                                "postgres: %llu contexts are slabs or of a kind that is not known; "
                                "their blocks are malloc's",
                                (unsigned long long)p->n_others));
    if (p->n_damaged != 0 || m->n_refused != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "postgres: %llu contexts or free lists were caught in a change, "
                                "%llu blocks overlap others",
                                (unsigned long long)p->n_damaged,
                                (unsigned long long)m->n_refused));
    return HS_OK;
}

static hs_status postgres_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    struct marking m = {.p = state, .map = map, .ledger = ledger};

    for (size_t i = 0; i < m.p->n_contexts; i++)
        if (m.p->contexts[i].form != NULL)
            HS_TRY(mark_object(&m, (uint32_t)i, err));
    for (size_t i = 0; i < m.p->n_blocks; i++)
        HS_TRY(mark_block(&m, &m.p->blocks[i], err));
    for (size_t i = 0; m.p->chunks->is_masked && i < m.p->n_contexts; i++)
        if (m.p->contexts[i].form != NULL && m.p->contexts[i].form->kind == POSTGRES_ALLOC_SET)
            HS_TRY(unmark_free(&m, (uint32_t)i, err));
    for (size_t i = 0; i < m.p->n_idle; i++)
        HS_TRY(mark_idle(&m, &m.p->idle[i], err));
    HS_TRY(hs_ledger_set_blocks(ledger, POSTGRES_OWNER, HS_MEMORY_FREE, m.n_free, err));
    HS_TRY(hs_ledger_set_blocks(ledger, POSTGRES_OWNER, HS_MEMORY_CACHED, m.p->n_idle, err));
    return postgres_report(&m, err);
}

/* ---- who owns what */

static const struct postgres_context *context_of(const struct postgres *p,
                                                 const struct hs_heap_block *block)
{
    return &p->contexts[block->span->tag / 2];
}

static bool is_ours(const struct hs_heap_block *block)
{
    return block->span->owner == HS_OWNER_postgres;
}

static bool is_object(const struct hs_heap_block *block)
{
    return block->span->tag % 2 != 0;
}

static hs_addr postgres_owner(const void *state, const struct hs_heap_block *block)
{
    const struct postgres *p = state;

    if (!is_ours(block))
        return 0;
    const struct postgres_context *context = context_of(p, block);
    if (!is_object(block))
        return context->address;
    return context->parent == POSTGRES_NONE ? p->variable : p->contexts[context->parent].address;
}

/* The blocks of the context, then the contexts below it: those by one more than their number. */
static bool postgres_owned(const void *state, const struct hs_heap_block *owner, uint64_t *cursor,
                           hs_addr *ret_begin, hs_addr *ret_end)
{
    const struct postgres *p = state;

    if (!is_ours(owner) || !is_object(owner))
        return false;
    const struct postgres_context *context = context_of(p, owner);
    if (*cursor < context->n_blocks) {
        const struct postgres_block *block = &p->blocks[context->first_block + (*cursor)++];
        *ret_begin = block->first;
        *ret_end = block->used;
        return true;
    }
    uint64_t before = *cursor - context->n_blocks;
    uint32_t child = before == 0 ? context->first_child : p->contexts[before - 1].next_child;
    if (child == POSTGRES_NONE)
        return false;
    *cursor = context->n_blocks + child + 1;
    *ret_begin = p->contexts[child].address;
    *ret_end = *ret_begin + p->contexts[child].form->object_bytes;
    return true;
}

/* Chunks of one context. */
static bool postgres_end_together(const struct hs_heap_block *a, const struct hs_heap_block *b)
{
    return is_ours(a) && is_ours(b) && a->span->tag == b->span->tag;
}

static const struct hs_ownership postgres_ownership = {
    .owner = postgres_owner,
    .owned = postgres_owned,
    .end_together = postgres_end_together,
};

/* ---- what it is */

static bool postgres_object_name(const void *state, const struct hs_heap_block *block,
                                 struct hs_object_name *ret)
{
    if (!is_ours(block) || !is_object(block))
        return false;
    *ret = (struct hs_object_name){.name = context_of(state, block)->object_name};
    return true;
}

static hs_str postgres_pool_name(const void *state, uint32_t tag)
{
    const struct postgres *p = state;
    return tag % 2 != 0 ? p->contexts[tag / 2].object_name : p->contexts[tag / 2].chunk_name;
}

/* An AllocSet's chunks are powers of two. (The others round to words.) */
static bool postgres_may_round(const struct hs_heap_block *block, uint64_t n_bytes)
{
    return (block->n_bytes & (block->n_bytes - 1)) == 0 && n_bytes > block->n_bytes / 2;
}

const struct hs_allocator hs_allocator_postgres = {
    .name = POSTGRES_OWNER,
    .open = postgres_open,
    .close = postgres_close,
    .version = postgres_version,
    .add_spans = postgres_add_spans,
    .mark = postgres_mark,
    .ownership = &postgres_ownership,
    .object_name = postgres_object_name,
    .pool_name = postgres_pool_name,
    .may_round = postgres_may_round,
    .known_as = "PostgreSQL's memory contexts",
    .symbols = {"TopMemoryContext"},
};
