#include "talloc/chunks.h"

/* The header of a chunk, in a pool or not; NULL: there is none. */
static const uint8_t *header_at(const struct talloc *talloc, hs_addr at)
{
    const uint8_t *header = at % TALLOC_ALIGN == 0
                                ? hs_image_bytes(talloc->process->image, at, TALLOC_HEADER_BYTES)
                                : NULL;

    return header != NULL && hs_talloc_magic(hs_load_u32(header)) == talloc->magic ? header : NULL;
}

/* The chunk whose header is there; TALLOC_NONE: it lies in a pool, or is none. */
static uint32_t chunk_at(const struct talloc *talloc, const uint8_t *header, hs_addr at)
{
    unsigned before = hs_load_u32(header) & TALLOC_FLAG_POOL ? TALLOC_POOL_BYTES : 0;
    struct hs_heap_block block;

    return hs_heap_map_resolve(talloc->map, at - before, &block) == HS_POINTER_START
               ? hs_talloc_number(talloc, &block)
               : TALLOC_NONE;
}

static void join(struct talloc *talloc, uint32_t child, uint32_t parent)
{
    struct talloc_chunk *chunk = &talloc->chunks[child];

    if (chunk->parent != TALLOC_NONE)
        return;
    chunk->parent = parent;
    chunk->next = talloc->chunks[parent].first_child;
    talloc->chunks[parent].first_child = child;
}

/* Those below the chunk whose header is at `at`, which is `parent` or lies in it. Each leads back
 * to the one before, and the first to `at`: so no chunk is met twice, and no list is endless. */
static void add_children(struct talloc *talloc, const uint8_t *header, hs_addr at, uint32_t parent)
{
    hs_addr child = hs_load_u64(header + TALLOC_AT_CHILD), elder = 0;

    while (child != 0) {
        const uint8_t *found = header_at(talloc, child);
        if (found == NULL || hs_load_u64(found + TALLOC_AT_PREV) != elder ||
            (elder == 0 && hs_load_u64(found + TALLOC_AT_PARENT) != at)) {
            talloc->n_damaged++;
            return;
        }
        uint32_t number = chunk_at(talloc, found, child);
        if (number != TALLOC_NONE && number != parent)
            join(talloc, number, parent);
        elder = child;
        child = hs_load_u64(found + TALLOC_AT_NEXT);
    }
}

static uint64_t aligned(uint64_t n_bytes)
{
    return (n_bytes + TALLOC_ALIGN - 1) & ~(uint64_t)(TALLOC_ALIGN - 1);
}

/* Adds what hangs below the chunks in a pool, which lie one behind the other up to where it says
 * that nothing does, to the pool itself. */
static void add_members(struct talloc *talloc, const struct hs_heap_block *block,
                        const uint8_t *header, uint32_t pool)
{
    const hs_addr first = block->begin + TALLOC_POOL_BYTES + TALLOC_HEADER_BYTES;
    hs_addr end = hs_load_u64(block->bytes), block_end = block->begin + block->n_bytes;
    uint64_t size = hs_load_u64(header + TALLOC_AT_SIZE); /* of its own object */

    if (end > block_end)
        end = block_end;
    for (hs_addr at = first; at <= end && size <= end - at;) {
        at += aligned(size);
        if (at > end || end - at < TALLOC_HEADER_BYTES)
            return;
        header = block->bytes + (at - block->begin);
        uint32_t flags = hs_load_u32(header);
        if (hs_talloc_magic(flags) == talloc->magic)
            add_children(talloc, header, at, pool);
        else if (!hs_talloc_is_free(flags))
            return;
        size = hs_load_u64(header + TALLOC_AT_SIZE);
        at += TALLOC_HEADER_BYTES;
    }
}

void hs_talloc_read_tree(struct talloc *talloc)
{
    struct hs_heap_iterator it = {.map = talloc->map};
    struct hs_heap_block block;
    const uint8_t *header;
    uint32_t number;

    while (hs_heap_map_next(&it, &block)) {
        if ((number = hs_talloc_number(talloc, &block)) == TALLOC_NONE)
            continue;
        hs_addr at = hs_talloc_header(talloc, &block, &header);
        if (at == 0)
            continue;
        if (!hs_talloc_is_free(hs_load_u32(header)))
            add_children(talloc, header, at, number);
        if (at != block.begin)
            add_members(talloc, &block, header, number);
    }
}
