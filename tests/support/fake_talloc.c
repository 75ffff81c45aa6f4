/* links: hs_symbols */
#include "fake_talloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "elf_writer.h"
#include "symbols/elf.h"

enum {
    FREE = 1,
    POOL = 4,
    IN_POOL = 8,
    NEXT = 8,
    PREV = 16,
    PARENT = 24,
    CHILD = 32,
    NAME = 56,
    SIZE = 64,
    LIMIT = 72,
    OF_POOL = 80,
    POOL_HEADER = 32,
    COUNT = 8,
    POOL_SIZE = 16,
    REFERRED = FAKE_TALLOC_HEADER + 16,
    ALIGN = 16,
    SPARE = 8, /* a block of malloc's has a little more than was asked for */
};
#define FREED_MAGIC 0xea18ec70U /* of 2.4 */

static _Alignas(16) uint8_t place[FAKE_TALLOC_BYTES];

/* Which blocks the fake's malloc has. */
static struct {
    hs_addr begin;
    uint64_t n_bytes;
} blocks[2 * FAKE_TALLOC_MOST];
static size_t n_blocks;

uint64_t *fake_talloc_word(const struct fake_talloc *f, hs_addr at)
{
    (void)f;
    assert(at >= FAKE_TALLOC_BASE && at % 8 == 0 && at + 8 <= FAKE_TALLOC_END);
    return (uint64_t *)(void *)(place + (at - FAKE_TALLOC_BASE));
}

static void put(struct fake_talloc *f, hs_addr at, uint64_t word)
{
    *fake_talloc_word(f, at) = word;
}

static uint64_t aligned(uint64_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

void fake_talloc_begin(struct fake_talloc *f)
{
    memset(place, 0, sizeof place);
    n_blocks = 0;
    *f = (struct fake_talloc){.texts = FAKE_TALLOC_BASE + 8, .heap = FAKE_TALLOC_HEAP};
}

hs_addr fake_talloc_text(struct fake_talloc *f, const char *text)
{
    hs_addr at = f->texts;
    size_t n_bytes = strlen(text) + 1;
    f->texts += n_bytes;
    assert(f->texts <= FAKE_TALLOC_HEAP);
    memcpy(place + (at - FAKE_TALLOC_BASE), text, n_bytes);
    return at;
}

hs_addr fake_talloc_other(struct fake_talloc *f, uint64_t size)
{
    hs_addr at = f->heap;
    f->heap += aligned(size + SPARE);
    assert(f->heap <= FAKE_TALLOC_END && n_blocks < sizeof blocks / sizeof *blocks);
    blocks[n_blocks].begin = at;
    blocks[n_blocks++].n_bytes = f->heap - at - SPARE;
    return at;
}

/* As the first child of its parent. */
static void hang(struct fake_talloc *f, hs_addr header, uint32_t parent)
{
    if (parent == FAKE_TALLOC_NONE)
        return;
    hs_addr above = f->chunks[parent].header, elder = *fake_talloc_word(f, above + CHILD);
    put(f, header + PARENT, above);
    put(f, above + CHILD, header);
    put(f, header + NEXT, elder);
    if (elder == 0)
        return;
    put(f, elder + PREV, header);
    put(f, elder + PARENT, 0);
}

static uint32_t add(struct fake_talloc *f, const struct fake_talloc_chunk *chunk, unsigned flags,
                    hs_addr name)
{
    assert(f->n_chunks < FAKE_TALLOC_MOST);
    f->chunks[f->n_chunks] = *chunk;
    put(f, chunk->header, FAKE_TALLOC_MAGIC | flags);
    put(f, chunk->header + NAME, name);
    put(f, chunk->header + SIZE, chunk->size);
    hang(f, chunk->header, chunk->parent);
    return f->n_chunks++;
}

uint32_t fake_talloc_chunk(struct fake_talloc *f, uint32_t parent, hs_addr name, uint64_t size)
{
    hs_addr at = fake_talloc_other(f, FAKE_TALLOC_HEADER + size);
    const struct fake_talloc_chunk chunk = {.block = at,
                                            .header = at,
                                            .block_bytes = blocks[n_blocks - 1].n_bytes,
                                            .size = size,
                                            .parent = parent};
    return add(f, &chunk, 0, name);
}

uint32_t fake_talloc_pool(struct fake_talloc *f, uint32_t parent, uint64_t size)
{
    hs_addr at = fake_talloc_other(f, POOL_HEADER + FAKE_TALLOC_HEADER + size);
    const struct fake_talloc_chunk chunk = {.block = at,
                                            .header = at + POOL_HEADER,
                                            .block_bytes = blocks[n_blocks - 1].n_bytes,
                                            .parent = parent};
    put(f, at, at + POOL_HEADER + FAKE_TALLOC_HEADER);
    put(f, at + COUNT, 1);
    put(f, at + POOL_SIZE, size);
    return add(f, &chunk, POOL, 0);
}

uint32_t fake_talloc_member(struct fake_talloc *f, uint32_t pool, uint32_t parent, hs_addr name,
                            uint64_t size)
{
    hs_addr block = f->chunks[pool].block, at = *fake_talloc_word(f, block);
    const struct fake_talloc_chunk chunk = {
        .block = block, .header = at, .size = size, .parent = parent};
    put(f, block, at + aligned(FAKE_TALLOC_HEADER + size));
    put(f, block + COUNT, *fake_talloc_word(f, block + COUNT) + 1);
    uint32_t number = add(f, &chunk, IN_POOL, name);
    put(f, at + OF_POOL, block);
    return number;
}

uint32_t fake_talloc_reference(struct fake_talloc *f, uint32_t parent, uint32_t to)
{
    uint32_t number = fake_talloc_chunk(f, parent, 1, 32);
    put(f, f->chunks[number].header + REFERRED, f->chunks[to].header + FAKE_TALLOC_HEADER);
    return number;
}

/* Out of its parent's list; what is free keeps old links. */
void fake_talloc_free(struct fake_talloc *f, uint32_t number)
{
    struct fake_talloc_chunk *chunk = &f->chunks[number];
    hs_addr next = *fake_talloc_word(f, chunk->header + NEXT);
    hs_addr prev = *fake_talloc_word(f, chunk->header + PREV);
    unsigned flags = *fake_talloc_word(f, chunk->header) & 15;

    if (next != 0)
        put(f, next + PREV, prev);
    if (prev != 0)
        put(f, prev + NEXT, next);
    if (prev == 0 && chunk->parent != FAKE_TALLOC_NONE) {
        put(f, f->chunks[chunk->parent].header + CHILD, next);
        if (next != 0)
            put(f, next + PARENT, f->chunks[chunk->parent].header);
    }
    put(f, chunk->header, FREED_MAGIC | flags | FREE);
    put(f, chunk->block + COUNT, *fake_talloc_word(f, chunk->block + COUNT) - 1);
    chunk->is_free = true;
}

void fake_talloc_make(struct fake_talloc *f)
{
    fake_talloc_begin(f);
    hs_addr session = fake_talloc_text(f, "struct session"), room = fake_talloc_text(f, "char");
    (void)fake_talloc_chunk(f, FAKE_TALLOC_NONE, fake_talloc_text(f, "null_context"), 0);
    (void)fake_talloc_chunk(f, FAKE_NULL, fake_talloc_text(f, "struct server"), 72);
    (void)fake_talloc_chunk(f, FAKE_SERVER, session, 40);
    uint32_t user = fake_talloc_chunk(f, FAKE_SESSION, 1, 20);
    put(f, f->chunks[user].header + NAME, f->chunks[user].header + FAKE_TALLOC_HEADER);
    (void)fake_talloc_chunk(f, FAKE_NULL, fake_talloc_other(f, 24), 0);
    (void)fake_talloc_reference(f, FAKE_OTHER, FAKE_SESSION);
    (void)fake_talloc_pool(f, FAKE_SERVER, 600);
    (void)fake_talloc_member(f, FAKE_POOL, FAKE_SESSION, room, 30);
    (void)fake_talloc_member(f, FAKE_POOL, FAKE_SERVER, room, 50);
    fake_talloc_free(f, FAKE_GONE);
    (void)fake_talloc_member(f, FAKE_POOL, FAKE_SERVER, session, 40);
    (void)fake_talloc_chunk(f, FAKE_BEHIND, room, 100);
    (void)fake_talloc_pool(f, FAKE_TALLOC_NONE, 300);
    (void)fake_talloc_member(f, FAKE_OLD, FAKE_SERVER, room, 64);
    fake_talloc_free(f, FAKE_OLD);
    (void)fake_talloc_chunk(f, FAKE_KEEPER, room, 8);
    (void)fake_talloc_chunk(f, FAKE_TALLOC_NONE, session, 40);
    assert(f->n_chunks == FAKE_TALLOC_MADE);
}

/* ---- reading */

/* A binary with talloc's symbol; made once. */
static struct hs_elf *made_elf(void)
{
    static const uint8_t code[64];
    static struct elf_writer writer;
    static struct hs_elf *elf;
    struct hs_error err = HS_ERROR_INIT;

    if (elf != NULL)
        return elf;
    elf_writer_init(&writer);
    size_t section = elf_writer_section(&writer, ".text", SHT_PROGBITS, 0, code, sizeof code);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, 0, sizeof code, section);
    elf_writer_symbol(&writer, "_talloc_free", STT_FUNC, STB_GLOBAL, 0, 8, (uint16_t)section);
    elf_writer_finish(&writer);
    if (hs_elf_open_memory(writer.bytes, writer.n_bytes, "made", &elf, &err) != HS_OK)
        abort();
    return elf;
}

static hs_status list_blocks(struct hs_heap_map *map, struct hs_error *err)
{
    uint64_t n_refused;

    for (size_t i = 0; i < n_blocks; i++) {
        const struct hs_heap_span span = {.begin = blocks[i].begin,
                                          .end = blocks[i].begin + blocks[i].n_bytes,
                                          .form = HS_SPAN_SINGLE,
                                          .owner = HS_OWNER_registered};
        HS_TRY(hs_heap_map_add(map, &span, err));
    }
    HS_TRY(hs_heap_map_seal(map, &n_refused, err));
    for (size_t i = 0; i < n_blocks; i++)
        if (!hs_heap_map_set(map, blocks[i].begin))
            abort();
    return hs_heap_map_index(map, err);
}

hs_status fake_talloc_read(struct fake_talloc *f, struct hs_heaps *heaps, struct hs_error *err)
{
    const unsigned which = f->rules == NULL ? HS_OWNER_talloc : HS_OWNER_owners;
    const struct hs_allocator *reader = hs_allocators[which];

    fake_talloc_close(f);
    f->mappings[0] =
        (struct hs_mapping){.begin = FAKE_TALLOC_BASE, .end = FAKE_TALLOC_HEAP, .readable = true};
    f->mappings[1] = (struct hs_mapping){
        .begin = FAKE_TALLOC_HEAP, .end = FAKE_TALLOC_END, .readable = true, .writable = true};
    f->target = (struct hs_target){.pid = 1,
                                   .core = (struct hs_core *)(void *)place,
                                   .mappings = f->mappings,
                                   .n_mappings = 2};
    f->object = (struct hs_object){.bias = FAKE_TALLOC_BASE,
                                   .begin = FAKE_TALLOC_BASE,
                                   .end = FAKE_TALLOC_HEAP,
                                   .name = (char *)"made",
                                   .elf = made_elf()};
    f->objects = (struct hs_objects){.objects = &f->object, .n = 1};
    f->findings = (struct hs_findings){.strings = &f->strings};
    f->process = (struct hs_process_copy){&f->target,   &f->image, &f->objects,
                                          &f->findings, f->plan,   f->rules};
    *heaps = (struct hs_heaps){0};
    HS_TRY(hs_image_add(&f->image, FAKE_TALLOC_BASE, place, sizeof place, err));
    hs_heap_map_init(&heaps->map, &f->image);
    hs_ledger_init(&heaps->ledger, &f->strings, &f->image);
    HS_TRY(list_blocks(&heaps->map, err));
    HS_TRY(reader->open(&f->process, &heaps->states[which], err));
    return heaps->states[which] == NULL ? HS_OK
                                        : reader->look(heaps->states[which], &heaps->map, err);
}

void fake_talloc_close(struct fake_talloc *f)
{
    hs_findings_fini(&f->findings);
    hs_strtab_fini(&f->strings);
    hs_image_fini(&f->image);
}
