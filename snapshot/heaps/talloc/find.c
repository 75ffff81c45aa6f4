#include "base/alloc.h"
#include "carve.h"
#include "process/dump_plan.h"
#include "talloc/chunks.h"

enum {
    NAME_BYTES = 96,
    MOST_NAMES = 1 << 16, /* a program has some hundred */
    SLACK_BYTES = 40,     /* what malloc gives beyond what it is asked for */
    SLACK_SHARE = 4,      /* jemalloc: up to a quarter of a block */
    ROOM_SHARE = 2,       /* of the memory that is left, the most that chunks get */
};
#define BITS_BYTES(n_bits) ((n_bits) / 8 + (n_bits) / 64 + 16) /* of an indexed bitmap */

/* ---- headers */

/* Is there room in n bytes for a header and what it says was asked for? There may be much more:
 * what is made less than 1 KiB smaller stays where it is, again and again. */
static bool has_room(uint64_t n_bytes, uint64_t n_asked)
{
    return n_bytes >= TALLOC_HEADER_BYTES && n_asked <= n_bytes - TALLOC_HEADER_BYTES;
}

/* And not much more? */
static bool is_tight(uint64_t n_bytes, uint64_t n_asked)
{
    return n_bytes - TALLOC_HEADER_BYTES - n_asked <= SLACK_BYTES + n_bytes / SLACK_SHARE;
}

/* A chunk that is in use, whatever its number. */
static bool is_plain(const uint8_t *bytes, uint64_t n_bytes)
{
    const uint32_t others = TALLOC_FLAG_FREE | TALLOC_FLAG_POOL | TALLOC_FLAG_POOLMEM;

    return n_bytes >= TALLOC_HEADER_BYTES && (hs_load_u32(bytes) & others) == 0 &&
           has_room(n_bytes, hs_load_u64(bytes + TALLOC_AT_SIZE));
}

/* One that was freed stays as long as something lies in it. */
static bool is_pool(uint32_t magic, const uint8_t *bytes, uint64_t n_bytes)
{
    if (n_bytes < TALLOC_POOL_BYTES + TALLOC_HEADER_BYTES)
        return false;
    uint32_t flags = hs_load_u32(bytes + TALLOC_POOL_BYTES);
    return (flags & TALLOC_FLAG_POOL) != 0 &&
           (hs_talloc_is_free(flags) ? hs_load_u32(bytes + TALLOC_AT_POOL_COUNT) != 0
                                     : hs_talloc_magic(flags) == magic) &&
           has_room(n_bytes - TALLOC_POOL_BYTES, hs_load_u64(bytes + TALLOC_AT_POOL_SIZE));
}

hs_addr hs_talloc_header(const struct talloc *talloc, const struct hs_heap_block *block,
                         const uint8_t **ret)
{
    const uint8_t *bytes = block->bytes;

    if (bytes == NULL)
        return 0;
    if (is_plain(bytes, block->n_bytes) && hs_talloc_magic(hs_load_u32(bytes)) == talloc->magic) {
        *ret = bytes;
        return block->begin;
    }
    if (is_pool(talloc->magic, bytes, block->n_bytes)) {
        *ret = bytes + TALLOC_POOL_BYTES;
        return block->begin + TALLOC_POOL_BYTES;
    }
    return 0;
}

uint32_t hs_talloc_number(const struct talloc *talloc, const struct hs_heap_block *block)
{
    return talloc->n_chunks != 0 && hs_bitmap_get(&talloc->is_chunk, block->rank)
               ? (uint32_t)hs_bitmap_rank(&talloc->is_chunk, block->rank)
               : TALLOC_NONE;
}

/* ---- the number that all chunks have */

/* Does one of its links lead to a chunk that leads back? Nothing else looks like that. */
static bool is_linked(const struct talloc *talloc, const uint8_t *header, hs_addr at)
{
    static const struct {
        uint8_t there, back;
    } links[] = {{TALLOC_AT_NEXT, TALLOC_AT_PREV},
                 {TALLOC_AT_PREV, TALLOC_AT_NEXT},
                 {TALLOC_AT_CHILD, TALLOC_AT_PARENT},
                 {TALLOC_AT_PARENT, TALLOC_AT_CHILD}};

    const uint32_t magic = hs_talloc_magic(hs_load_u32(header));

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        uint64_t to = hs_load_u64(header + links[i].there), back;
        uint32_t flags;
        if (to != 0 && to % TALLOC_ALIGN == 0 && hs_image_u32(talloc->process->image, to, &flags) &&
            hs_talloc_magic(flags) == magic &&
            hs_image_u64(talloc->process->image, to + links[i].back, &back) && back == at)
            return true;
    }
    return false;
}

/* Does the block look like a chunk, whatever its number? */
static bool is_likely(const struct talloc *talloc, const struct hs_heap_block *block)
{
    return block->bytes != NULL && is_plain(block->bytes, block->n_bytes) &&
           is_tight(block->n_bytes, hs_load_u64(block->bytes + TALLOC_AT_SIZE)) &&
           hs_load_u64(block->bytes + TALLOC_AT_NAME) != 0 &&
           is_linked(talloc, block->bytes, block->begin);
}

/* The one that most of such blocks have, if most have one (Boyer and Moore's vote). False: there
 * are no such blocks. */
static bool find_magic(struct talloc *talloc)
{
    struct hs_heap_iterator it = {.map = talloc->map};
    struct hs_heap_block block;
    uint64_t votes = 0;

    while (hs_heap_map_next(&it, &block)) {
        if (!is_likely(talloc, &block))
            continue;
        uint32_t magic = hs_talloc_magic(hs_load_u32(block.bytes));
        if (votes == 0)
            talloc->magic = magic;
        votes = magic == talloc->magic ? votes + 1 : votes - 1;
    }
    return votes != 0;
}

/* ---- what they are called */

/* A text that the program brought along: what it made may be anybody's data. */
static hs_status constant_name(struct talloc *talloc, hs_addr at, hs_str *ret, struct hs_error *err)
{
    char text[NAME_BYTES];

    *ret = talloc->unnamed;
    if (talloc->names.n >= MOST_NAMES ||
        !hs_carve_constant_text(talloc->process, at, text, sizeof text))
        return HS_OK;
    return hs_strtab_add(talloc->process->findings->strings, text, ret, err);
}

static hs_status name_of(struct talloc *talloc, const uint8_t *header, hs_addr at, hs_str *ret,
                         struct hs_error *err)
{
    uint64_t name = hs_load_u64(header + TALLOC_AT_NAME);

    if (name == 0) {
        *ret = hs_load_u32(header) & TALLOC_FLAG_POOL ? talloc->pool : talloc->unnamed;
        return HS_OK;
    }
    if (name == TALLOC_REFERENCE || name == at + TALLOC_HEADER_BYTES) {
        *ret = name == TALLOC_REFERENCE ? talloc->reference : talloc->text;
        return HS_OK;
    }
    const uint64_t *known = hs_dict_find(&talloc->names, name);
    if (known != NULL) {
        *ret = (hs_str)*known;
        return HS_OK;
    }
    HS_TRY(constant_name(talloc, name, ret, err));
    return talloc->names.n >= MOST_NAMES ? HS_OK : hs_dict_put(&talloc->names, name, *ret, err);
}

/* ---- all of them */

/* *ret: has the plan room for that, and as much again for what all blocks need? */
static hs_status reserve(struct talloc *talloc, uint64_t n_bytes, bool *ret, struct hs_error *err)
{
    struct hs_dump_plan *plan = talloc->process->plan;

    *ret = plan == NULL || hs_dump_plan_room(plan) / ROOM_SHARE >= n_bytes;
    if (!*ret)
        return hs_findings_note(talloc->process->findings, true, err,
                                "talloc: no memory for whose its chunks are: allow more with "
                                "--memory");
    if (plan == NULL)
        return HS_OK;
    HS_TRY(hs_dump_plan_reserve(plan, n_bytes, "what talloc's chunks are", err));
    talloc->reserved_bytes += n_bytes;
    return HS_OK;
}

static hs_status mark_chunks(struct talloc *talloc, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = talloc->map};
    struct hs_heap_block block;
    const uint8_t *header;
    uint64_t n;
    bool has_room;

    HS_TRY(reserve(talloc, BITS_BYTES(talloc->map->n_blocks), &has_room, err));
    if (!has_room)
        return HS_OK;
    HS_TRY(hs_bitmap_init(&talloc->is_chunk, talloc->map->n_blocks, err));
    while (hs_heap_map_next(&it, &block))
        if (hs_talloc_header(talloc, &block, &header) != 0)
            hs_bitmap_set(&talloc->is_chunk, block.rank);
    HS_TRY(hs_bitmap_index(&talloc->is_chunk, &n, err));
    if (n >= TALLOC_NONE)
        return hs_fail(err, HS_LIMIT, "more than 4 billion chunks of talloc");
    HS_TRY(reserve(talloc, n * sizeof *talloc->chunks, &has_room, err));
    if (!has_room)
        return HS_OK;
    HS_TRY(HS_ALLOC(&talloc->chunks, n, err));
    talloc->n_chunks = (uint32_t)n;
    return HS_OK;
}

hs_status hs_talloc_find(struct talloc *talloc, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = talloc->map};
    struct hs_heap_block block;
    const uint8_t *header;
    uint32_t number;

    if (!find_magic(talloc))
        return HS_OK;
    HS_TRY(mark_chunks(talloc, err));
    while (hs_heap_map_next(&it, &block)) {
        if ((number = hs_talloc_number(talloc, &block)) == TALLOC_NONE)
            continue;
        hs_addr at = hs_talloc_header(talloc, &block, &header);
        struct talloc_chunk *chunk = &talloc->chunks[number];
        *chunk = (struct talloc_chunk){block.begin, TALLOC_NONE, TALLOC_NONE, TALLOC_NONE,
                                       talloc->unnamed};
        if (at != 0)
            HS_TRY(name_of(talloc, header, at, &chunk->name, err));
    }
    return HS_OK;
}
