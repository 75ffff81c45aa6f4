/* Finds which of talloc's chunks owns which, and their names. The blocks are malloc's. */
#include "base/alloc.h"
#include "process/dump_plan.h"
#include "talloc/chunks.h"

static void talloc_close(void *state)
{
    struct talloc *talloc = state;

    if (talloc == NULL)
        return;
    hs_bitmap_fini(&talloc->is_chunk);
    hs_dict_fini(&talloc->names);
    hs_free(talloc->chunks);
    if (talloc->process->plan != NULL)
        hs_dump_plan_release(talloc->process->plan, talloc->reserved_bytes);
    hs_free(talloc);
}

static hs_status talloc_open(const struct hs_process_copy *process, void **ret_state,
                             struct hs_error *err)
{
    struct hs_live_symbol symbol;
    struct talloc *talloc;

    if (process->objects == NULL || !hs_objects_find(process->objects, "_talloc_free", &symbol))
        return HS_OK;
    HS_TRY(HS_ALLOC(&talloc, 1, err));
    *talloc = (struct talloc){.process = process};
    *ret_state = talloc;
    return HS_OK;
}

/* ---- looking */

/* Chunks that hang where they say, or say that they hang nowhere. */
static uint32_t count_sound(const struct talloc *talloc)
{
    struct hs_heap_iterator it = {.map = talloc->map};
    struct hs_heap_block block;
    const uint8_t *header;
    uint32_t number, n = 0;

    while (hs_heap_map_next(&it, &block)) {
        if ((number = hs_talloc_number(talloc, &block)) == TALLOC_NONE)
            continue;
        if (hs_talloc_header(talloc, &block, &header) == 0)
            continue;
        n += talloc->chunks[number].parent != TALLOC_NONE ||
             hs_talloc_is_free(hs_load_u32(header)) ||
             (hs_load_u64(header + TALLOC_AT_PARENT) == 0 &&
              hs_load_u64(header + TALLOC_AT_PREV) == 0);
    }
    return n;
}

static hs_status talloc_report(const struct talloc *talloc, struct hs_error *err)
{
    struct hs_findings *findings = talloc->process->findings;

    HS_TRY(hs_findings_proof(findings, "talloc: chunks that hang where they say", talloc->n_chunks,
                             count_sound(talloc), err));
    if (talloc->n_damaged == 0)
        return HS_OK;
    return hs_findings_note(findings, true, err,
                            "talloc: %llu lists of chunks were caught in a change, or are damaged",
                            (unsigned long long)talloc->n_damaged);
}

static hs_status talloc_look(void *state, const struct hs_heap_map *map, struct hs_error *err)
{
    struct talloc *talloc = state;
    struct hs_strtab *strings = talloc->process->findings->strings;

    talloc->map = map;
    HS_TRY(hs_strtab_add(strings, "talloc chunk", &talloc->unnamed, err));
    HS_TRY(hs_strtab_add(strings, "talloc pool", &talloc->pool, err));
    HS_TRY(hs_strtab_add(strings, "talloc text", &talloc->text, err));
    HS_TRY(hs_strtab_add(strings, "talloc reference", &talloc->reference, err));
    HS_TRY(hs_strtab_add(strings, "null_context", &talloc->null_context, err));
    HS_TRY(hs_talloc_find(talloc, err));
    if (talloc->n_chunks == 0)
        return HS_OK;
    hs_talloc_read_tree(talloc);
    return talloc_report(talloc, err);
}

/* ---- who owns what */

/* Tells whether a chunk owns those below it. The one named null_context does not: below it a
 * program that keeps account of them has the chunks that hang nowhere. */
static bool owns(const struct talloc *talloc, uint32_t number)
{
    return number != TALLOC_NONE && talloc->chunks[number].name != talloc->null_context;
}

static hs_addr talloc_owner(const void *state, const struct hs_heap_block *block)
{
    const struct talloc *talloc = state;
    uint32_t number = hs_talloc_number(talloc, block);

    if (number == TALLOC_NONE || !owns(talloc, talloc->chunks[number].parent))
        return 0;
    return talloc->chunks[talloc->chunks[number].parent].begin;
}

/* The cursor is one more than the number of the chunk before. */
static bool talloc_owned(const void *state, const struct hs_heap_block *owner, uint64_t *cursor,
                         hs_addr *ret_begin, hs_addr *ret_end)
{
    const struct talloc *talloc = state;
    uint32_t number = hs_talloc_number(talloc, owner);

    if (!owns(talloc, number))
        return false;
    number = *cursor == 0 ? talloc->chunks[number].first_child : talloc->chunks[*cursor - 1].next;
    if (number == TALLOC_NONE)
        return false;
    *cursor = (uint64_t)number + 1;
    *ret_begin = talloc->chunks[number].begin;
    *ret_end = *ret_begin + 1;
    return true;
}

/* Returns the words of the header that are links between chunks: all but the one of what limits its
 * size, which is a block of malloc's, too. */
static uint64_t talloc_links(const void *state, const struct hs_heap_block *block)
{
    const struct talloc *talloc = state;
    const uint64_t links = ((UINT64_C(1) << TALLOC_AT_LIMIT / HS_WORD_BYTES) - 1) |
                           UINT64_C(1) << TALLOC_AT_POOL / HS_WORD_BYTES;
    const uint8_t *header;

    if (hs_talloc_number(talloc, block) == TALLOC_NONE)
        return 0;
    return hs_talloc_header(talloc, block, &header) == block->begin
               ? links
               : links << TALLOC_POOL_BYTES / HS_WORD_BYTES;
}

static bool talloc_shares(const void *state, const struct hs_heap_block *from,
                          const struct hs_heap_block *to)
{
    const struct talloc *talloc = state;
    uint32_t number = hs_talloc_number(talloc, from);

    return number != TALLOC_NONE && talloc->chunks[number].name == talloc->reference &&
           from->bytes != NULL && from->n_bytes >= TALLOC_AT_REFERRED + HS_WORD_BYTES &&
           hs_load_u64(from->bytes + TALLOC_AT_REFERRED) - to->begin < to->n_bytes;
}

static const struct hs_ownership talloc_ownership = {
    .owner = talloc_owner,
    .owned = talloc_owned,
    .links = talloc_links,
    .shares = talloc_shares,
};

/* ---- what it is */

static bool talloc_object_name(const void *state, const struct hs_heap_block *block,
                               struct hs_object_name *ret)
{
    const struct talloc *talloc = state;
    uint32_t number = hs_talloc_number(talloc, block);
    const uint8_t *header;

    if (number == TALLOC_NONE)
        return false;
    hs_addr at = hs_talloc_header(talloc, block, &header);
    if (at == 0)
        return false;
    *ret = (struct hs_object_name){.name = talloc->chunks[number].name,
                                   .offset_bytes = at - block->begin + TALLOC_HEADER_BYTES};
    if (at == block->begin)
        ret->n_bytes = hs_load_u64(header + TALLOC_AT_SIZE);
    return true;
}

const struct hs_allocator hs_allocator_talloc = {
    .name = "talloc",
    .open = talloc_open,
    .close = talloc_close,
    .has_no_blocks = true,
    .look = talloc_look,
    .ownership = &talloc_ownership,
    .object_name = talloc_object_name,
};
