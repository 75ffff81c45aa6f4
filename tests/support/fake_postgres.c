/* links: hs_heaps hs_process hs_symbols hs_base */
#include "fake_postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "elf_writer.h"
#include "symbols/elf.h"

enum {
    DATA_BYTES = 0x400,
    TEXTS = 0x40,
    TEXTS_END = TEXTS + FAKE_POSTGRES_TEXT_BYTES,
    WORD = 8,
    MALLOC_HEADER = 16,

    CONTEXT_ALLOCATED = 8, /* MemoryContextData */
    CONTEXT_PARENT = 24,
    CONTEXT_FIRST_CHILD = 32,
    CONTEXT_PREV_CHILD = 40,
    CONTEXT_NEXT_CHILD = 48,
    CONTEXT_NAME = 56,
    CONTEXT_IDENT = 64,
    SET_FREE_LISTS = 88,
    FIRST_TAG = 480, /* NodeTag of an AllocSet */
    OFFSET_BIT = 34, /* of hdrmask: where the chunk is in its block */
};
#define MAGIC UINT64_C(0xb1a8db858eb6efba)

static const struct release {
    const char *version;
    bool is_masked, is_checking;
    unsigned header, shift; /* of a set's chunk; of the value in hdrmask */
} releases[FAKE_POSTGRES_RELEASES] = {
    {"13-15", false, false, 16, 0}, {"17-18", true, false, 8, 5}, {"16", true, false, 8, 4},
    {"13-15", false, true, 24, 0},  {"17-18", true, true, 16, 5}, {"16", true, true, 16, 4},
};

static uint8_t place[FAKE_POSTGRES_BYTES] __attribute__((aligned(4096)));

/* ---- words */

uint64_t *fake_postgres_word(const struct fake_postgres *f, hs_addr at)
{
    assert(at % WORD == 0 && at >= FAKE_POSTGRES_BASE && at < FAKE_POSTGRES_END);
    return (uint64_t *)(void *)(f->bytes + (at - FAKE_POSTGRES_BASE));
}

static uint64_t get(const struct fake_postgres *f, hs_addr at)
{
    return *fake_postgres_word(f, at);
}

static void put(const struct fake_postgres *f, hs_addr at, uint64_t word)
{
    *fake_postgres_word(f, at) = word;
}

hs_addr fake_postgres_text(struct fake_postgres *f, const char *text)
{
    hs_addr at = f->texts;
    size_t n = strlen(text) + 1;

    f->texts += n;
    assert(f->texts <= FAKE_POSTGRES_BASE + TEXTS_END);
    memcpy(f->bytes + (at - FAKE_POSTGRES_BASE), text, n);
    return at;
}

/* ---- contexts */

static const struct release *release_of(const struct fake_postgres *f)
{
    return &releases[f->release];
}

const char *fake_postgres_version(const struct fake_postgres *f)
{
    return release_of(f)->version;
}

bool fake_postgres_is_masked(const struct fake_postgres *f)
{
    return release_of(f)->is_masked;
}

bool fake_postgres_is_checking(const struct fake_postgres *f)
{
    return release_of(f)->is_checking;
}

static struct fake_layout layout_of(const struct fake_postgres *f, enum fake_kind kind)
{
    bool is_17 = strcmp(fake_postgres_version(f), "17-18") == 0;

    switch (kind) {
    case FAKE_SET:
        return (struct fake_layout){is_17 ? 200 : 224, 80, 40, 0, 0, 24, 32};
    case FAKE_GENERATION:
        if (!release_of(f)->is_masked)
            return (struct fake_layout){152, 136, 48, 0, 24, 32, 40};
        return (struct fake_layout){is_17 ? 128 : 152, is_17 ? 112 : 136, 56, 16, 32, 40, 48};
    case FAKE_OLD_GENERATION:
        return (struct fake_layout){112, 96, 48, 0, 24, 32, 40};
    case FAKE_BUMP:
        return (struct fake_layout){112, 96, 32, 0, 0, 16, 24};
    default:
        return (struct fake_layout){.object = 144, .head = 136};
    }
}

static hs_addr take(struct fake_postgres *f, uint32_t context, uint64_t n_bytes)
{
    hs_addr at = f->heap + MALLOC_HEADER;

    f->heap = (at + n_bytes + FAKE_MALLOC_SPARE + 15) / 16 * 16;
    assert(f->heap <= FAKE_POSTGRES_END && f->n_mallocs < FAKE_POSTGRES_MOST);
    f->mallocs[f->n_mallocs++] =
        (struct fake_malloc_block){at, at + n_bytes + FAKE_MALLOC_SPARE, context};
    return at;
}

/* In front of its parent's other children. */
static void hang(struct fake_postgres *f, const struct fake_context *context)
{
    hs_addr from = FAKE_POSTGRES_VARIABLE, elder = 0, parent = 0;

    if (context->parent != FAKE_POSTGRES_NONE) {
        parent = f->contexts[context->parent].at;
        from = parent + CONTEXT_FIRST_CHILD;
        elder = get(f, from);
    }
    put(f, from, context->at);
    put(f, context->at + CONTEXT_PARENT, parent);
    put(f, context->at + CONTEXT_NEXT_CHILD, elder);
    if (elder != 0)
        put(f, elder + CONTEXT_PREV_CHILD, context->at);
}

static bool is_ring(enum fake_kind kind)
{
    return kind != FAKE_SET;
}

/* Links a block in front of the others, or behind the first one. */
static void link_block(struct fake_postgres *f, struct fake_context *context, uint32_t number,
                       bool is_behind)
{
    const struct fake_block *block = &f->blocks[number];
    const unsigned to_next = is_ring(context->kind) ? 8 : 16,
                   to_prev = is_ring(context->kind) ? 0 : 8;
    hs_addr head = context->at + context->layout.head;
    size_t place_at = is_behind && context->n_blocks != 0 ? 1 : 0;
    hs_addr before = place_at != 0 ? f->blocks[context->blocks[0]].begin : 0;
    hs_addr from = before != 0 ? before + to_next : head + (is_ring(context->kind) ? 8 : 0);
    hs_addr next = get(f, from);

    put(f, block->begin + to_prev, before == 0 && is_ring(context->kind) ? head : before);
    put(f, block->begin + to_next, next);
    put(f, from, block->begin);
    if (next != 0)
        put(f, next + to_prev, block->begin);
    assert(context->n_blocks < sizeof context->blocks / sizeof *context->blocks);
    memmove(context->blocks + place_at + 1, context->blocks + place_at,
            (context->n_blocks++ - place_at) * sizeof *context->blocks);
    context->blocks[place_at] = number;
}

static uint32_t begin_block(struct fake_postgres *f, uint32_t number, hs_addr begin, hs_addr end,
                            bool is_behind)
{
    struct fake_context *context = &f->contexts[number];
    const struct fake_layout *layout = &context->layout;
    hs_addr first = begin + layout->block;

    assert(first <= end && f->n_blocks < FAKE_POSTGRES_MOST);
    f->blocks[f->n_blocks] = (struct fake_block){
        .begin = begin, .first = first, .used = first, .end = end, .context = number};
    if (context->kind == FAKE_SET)
        put(f, begin, context->at);
    if (context->kind == FAKE_GENERATION || context->kind == FAKE_OLD_GENERATION)
        put(f, begin + 16, end - begin);
    if (context->kind == FAKE_GENERATION && release_of(f)->is_masked) {
        put(f, begin + layout->owner, context->at);
        put(f, begin + layout->owner + WORD, end - begin);
    }
    put(f, begin + layout->used, first);
    put(f, begin + layout->end, end);
    link_block(f, context, (uint32_t)f->n_blocks, is_behind);
    *fake_postgres_word(f, context->at + CONTEXT_ALLOCATED) += end - begin;
    return (uint32_t)f->n_blocks++;
}

uint32_t fake_postgres_context(struct fake_postgres *f, enum fake_kind kind, const char *name,
                               uint32_t parent, uint64_t n_bytes)
{
    const uint32_t number = (uint32_t)f->n_contexts++;
    struct fake_context *context = &f->contexts[number];

    assert(number < FAKE_POSTGRES_MOST);
    *context = (struct fake_context){.kind = kind, .layout = layout_of(f, kind), .parent = parent};
    const unsigned n_object = context->layout.object;
    bool has_block = kind != FAKE_SLAB && kind != FAKE_OLD_GENERATION;
    context->at = take(f, number, n_object + (has_block ? n_bytes : 0));
    put(f, context->at, FIRST_TAG + (kind == FAKE_OLD_GENERATION ? FAKE_GENERATION : kind));
    put(f, context->at + CONTEXT_NAME,
        name == NULL ? FAKE_POSTGRES_NOWHERE : fake_postgres_text(f, name));
    hang(f, context);
    if (is_ring(kind)) {
        put(f, context->at + context->layout.head, context->at + context->layout.head);
        if (kind != FAKE_SLAB)
            put(f, context->at + context->layout.head + WORD, context->at + context->layout.head);
    }
    if (has_block)
        (void)begin_block(f, number, context->at + n_object, context->at + n_object + n_bytes,
                          false);
    if (kind == FAKE_SET || kind == FAKE_BUMP) /* these count themselves */
        *fake_postgres_word(f, context->at + CONTEXT_ALLOCATED) += n_object;
    return number;
}

uint32_t fake_postgres_block(struct fake_postgres *f, uint32_t context, uint64_t n_bytes)
{
    hs_addr at = take(f, context, n_bytes);
    return begin_block(f, context, at, at + n_bytes, false);
}

/* ---- chunks */

static unsigned header_of(const struct fake_postgres *f, enum fake_kind kind)
{
    bool has_block = kind != FAKE_SET && !release_of(f)->is_masked;
    return kind == FAKE_BUMP ? 0 : release_of(f)->header + (has_block ? WORD : 0);
}

static unsigned free_list_of(uint64_t n_bytes)
{
    unsigned list = 0;
    while ((UINT64_C(8) << list) < n_bytes)
        list++;
    return list;
}

static void put_header(struct fake_postgres *f, const struct fake_block *block, uint64_t n_asked,
                       uint64_t n_bytes, bool is_external)
{
    const struct release *release = release_of(f);
    const struct fake_context *context = &f->contexts[block->context];
    hs_addr last = block->used + header_of(f, context->kind) - WORD;
    uint64_t id = context->kind == FAKE_SET ? 3 : 4;
    uint64_t value = context->kind == FAKE_SET ? free_list_of(n_bytes) : n_bytes;

    if (release->is_checking)
        put(f, block->used + (release->is_masked ? 0 : WORD), n_asked);
    if (!release->is_masked) {
        put(f, block->used, context->kind == FAKE_SET ? n_bytes : n_asked);
        put(f, last, context->at);
        if (context->kind != FAKE_SET)
            put(f, last - WORD, block->begin);
    } else if (is_external) {
        put(f, last,
            MAGIC >> release->shift << release->shift | UINT64_C(1) << (release->shift - 1) | id);
    } else {
        put(f, last, (block->used - block->begin) << OFFSET_BIT | value << release->shift | id);
    }
}

static void put_state(const struct fake_postgres *f, const struct fake_block *block)
{
    const struct fake_layout *layout = &f->contexts[block->context].layout;

    put(f, block->begin + layout->used, block->used);
    if (layout->counts != 0)
        put(f, block->begin + layout->counts, block->n_chunks | (uint64_t)block->n_free << 32);
}

static uint32_t cut_chunk(struct fake_postgres *f, uint32_t number, uint64_t n_asked,
                          uint64_t n_bytes, bool is_external)
{
    struct fake_block *block = &f->blocks[number];
    const enum fake_kind kind = f->contexts[block->context].kind;
    const unsigned n_header = header_of(f, kind);
    struct fake_chunk *last = f->n_chunks != 0 ? &f->chunks[f->n_chunks - 1] : NULL;

    assert(block->used + n_header + n_bytes <= block->end && f->n_chunks < FAKE_POSTGRES_MOST);
    if (kind == FAKE_BUMP && last != NULL && last->block == number) {
        last->n_bytes += n_bytes;
    } else {
        f->chunks[f->n_chunks++] = (struct fake_chunk){.header = block->used,
                                                       .begin = block->used + n_header,
                                                       .n_bytes = n_bytes,
                                                       .block = number};
    }
    if (kind != FAKE_BUMP)
        put_header(f, block, n_asked, n_bytes, is_external);
    block->used += n_header + n_bytes;
    block->n_chunks++;
    put_state(f, block);
    return (uint32_t)f->n_chunks - 1;
}

uint32_t fake_postgres_chunk(struct fake_postgres *f, uint32_t context, uint64_t n_bytes)
{
    const struct fake_context *c = &f->contexts[context];
    uint64_t n_rounded =
        c->kind == FAKE_SET ? UINT64_C(8) << free_list_of(n_bytes) : (n_bytes + 7) / 8 * 8;

    assert(c->n_blocks != 0);
    return cut_chunk(f, c->blocks[0], n_bytes, n_rounded, false);
}

uint32_t fake_postgres_external(struct fake_postgres *f, uint32_t context, uint64_t n_bytes)
{
    const struct fake_context *c = &f->contexts[context];
    uint64_t n_rounded = (n_bytes + 7) / 8 * 8;
    uint64_t n_block = c->layout.block + header_of(f, c->kind) + n_rounded;
    hs_addr at = take(f, context, n_block);

    return cut_chunk(f, begin_block(f, context, at, at + n_block, true), n_bytes, n_rounded, true);
}

void fake_postgres_free(struct fake_postgres *f, uint32_t chunk)
{
    struct fake_chunk *c = &f->chunks[chunk];
    struct fake_block *block = &f->blocks[c->block];
    const struct fake_context *context = &f->contexts[block->context];

    assert(!c->is_free && context->kind != FAKE_BUMP);
    c->is_free = true;
    if (context->kind == FAKE_SET) {
        hs_addr list = context->at + SET_FREE_LISTS + WORD * free_list_of(c->n_bytes);
        put(f, release_of(f)->is_masked ? c->begin : c->begin - WORD, get(f, list));
        put(f, list, c->header);
        return;
    }
    if (!release_of(f)->is_masked)
        put(f, c->begin - WORD, 0);
    block->n_free++;
    put_state(f, block);
}

/* ---- a backend */

void fake_postgres_begin(struct fake_postgres *f, unsigned release)
{
    memset(place, 0, sizeof place);
    *f = (struct fake_postgres){.bytes = place,
                                .release = release,
                                .texts = FAKE_POSTGRES_BASE + TEXTS,
                                .heap = FAKE_POSTGRES_BASE + DATA_BYTES};
}

static void make_sort(struct fake_postgres *f)
{
    bool has_bump = f->release == 1;
    enum fake_kind kind = has_bump                   ? FAKE_BUMP
                          : release_of(f)->is_masked ? FAKE_SET
                                                     : FAKE_OLD_GENERATION;

    (void)fake_postgres_context(f, kind, "sort", FAKE_TOP, 256);
    (void)fake_postgres_block(f, FAKE_SORT, 256);
    (void)fake_postgres_chunk(f, FAKE_SORT, 24);
    (void)fake_postgres_chunk(f, FAKE_SORT, 40);
}

static void make_tuples(struct fake_postgres *f)
{
    uint32_t chunk;

    (void)fake_postgres_context(f, FAKE_GENERATION, "tuples", FAKE_TOP, 256); /* remains empty */
    (void)fake_postgres_block(f, FAKE_TUPLES, 256);
    (void)fake_postgres_chunk(f, FAKE_TUPLES, 20);
    chunk = fake_postgres_chunk(f, FAKE_TUPLES, 33);
    fake_postgres_free(f, chunk);
    (void)fake_postgres_chunk(f, FAKE_TUPLES, 8);
    (void)fake_postgres_block(f, FAKE_TUPLES, 256); /* all free */
    fake_postgres_free(f, fake_postgres_chunk(f, FAKE_TUPLES, 48));
    (void)fake_postgres_external(f, FAKE_TUPLES, 200);
    (void)fake_postgres_block(f, FAKE_TUPLES, 256);
    (void)fake_postgres_chunk(f, FAKE_TUPLES, 56);
    (void)fake_postgres_chunk(f, FAKE_TUPLES, 16);
}

static void make_cache(struct fake_postgres *f, unsigned n_more)
{
    uint32_t freed[3];

    (void)fake_postgres_context(f, FAKE_SET, "CacheMemoryContext", FAKE_TOP, 512);
    for (unsigned i = 0; i < 3; i++)
        freed[i] = fake_postgres_chunk(f, FAKE_CACHE, 17 + i);
    (void)fake_postgres_chunk(f, FAKE_CACHE, 100);
    (void)fake_postgres_external(f, FAKE_CACHE, 300);
    (void)fake_postgres_block(f, FAKE_CACHE, 512);
    (void)fake_postgres_chunk(f, FAKE_CACHE, 1);
    fake_postgres_free(f, freed[0]);
    fake_postgres_free(f, freed[2]);
    fake_postgres_free(f, fake_postgres_chunk(f, FAKE_CACHE, 60));
    for (unsigned i = 0; i < n_more; i++)
        (void)fake_postgres_chunk(f, FAKE_CACHE, 8);
}

void fake_postgres_make(struct fake_postgres *f, unsigned release, unsigned n_more)
{
    fake_postgres_begin(f, release);
    (void)fake_postgres_context(f, FAKE_SET, "TopMemoryContext", FAKE_POSTGRES_NONE, 512);
    (void)fake_postgres_chunk(f, FAKE_TOP, 64);
    (void)fake_postgres_chunk(f, FAKE_TOP, 32);
    make_cache(f, n_more);
    (void)fake_postgres_context(f, FAKE_SET, "dynahash", FAKE_CACHE, 128);
    put(f, f->contexts[FAKE_TABLE].at + CONTEXT_IDENT, fake_postgres_text(f, "Type cache"));
    (void)fake_postgres_chunk(f, FAKE_TABLE, 8);
    (void)fake_postgres_context(f, FAKE_SET, NULL, FAKE_CACHE, 128); /* nothing in it */
    (void)fake_postgres_context(f, FAKE_SLAB, "changes", FAKE_TOP, 0);
    (void)fake_postgres_context(f, FAKE_SET, "under changes", FAKE_SLABS, 256);
    (void)fake_postgres_chunk(f, FAKE_UNDER, 16);
    (void)fake_postgres_external(f, FAKE_UNDER, 120);
    make_tuples(f);
    make_sort(f);
    for (unsigned i = 0; i < n_more; i++) {
        uint32_t more =
            fake_postgres_context(f, FAKE_SET, "more", i % 2 == 0 ? FAKE_TOP : FAKE_TABLE, 128);
        (void)fake_postgres_chunk(f, more, 16);
    }
}

/* ---- reading */

/* A binary that has the variable; made once. */
static struct hs_elf *made_elf(void)
{
    static const uint8_t data[DATA_BYTES];
    static struct elf_writer writer;
    static struct hs_elf *elf;
    struct hs_error err = HS_ERROR_INIT;

    if (elf != NULL)
        return elf;
    elf_writer_init(&writer);
    size_t section = elf_writer_section(&writer, ".data", SHT_PROGBITS, 0, data, sizeof data);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_W, 0, sizeof data, section);
    elf_writer_symbol(&writer, "TopMemoryContext", STT_OBJECT, STB_GLOBAL,
                      FAKE_POSTGRES_VARIABLE - FAKE_POSTGRES_BASE, WORD, (uint16_t)section);
    elf_writer_finish(&writer);
    if (hs_elf_open_memory(writer.bytes, writer.n_bytes, "made", &elf, &err) != HS_OK)
        abort();
    return elf;
}

hs_status fake_postgres_read(struct fake_postgres *f, struct hs_heaps *heaps, struct hs_error *err)
{
    fake_malloc_blocks = f->mallocs;
    fake_malloc_n_blocks = f->has_no_malloc ? 0 : f->n_mallocs;
    fake_postgres_close(f);
    f->mappings[0] = (struct hs_mapping){.begin = FAKE_POSTGRES_BASE,
                                         .end = FAKE_POSTGRES_BASE + TEXTS,
                                         .readable = true,
                                         .writable = true};
    f->mappings[1] = (struct hs_mapping){
        .begin = f->mappings[0].end, .end = FAKE_POSTGRES_BASE + TEXTS_END, .readable = true};
    f->mappings[2] = (struct hs_mapping){
        .begin = f->mappings[1].end, .end = FAKE_POSTGRES_END, .readable = true, .writable = true};
    f->target = (struct hs_target){.pid = 1,
                                   .core = (struct hs_core *)(void *)place,
                                   .mappings = f->mappings,
                                   .n_mappings = 3};
    f->object = (struct hs_object){.bias = FAKE_POSTGRES_BASE,
                                   .begin = FAKE_POSTGRES_BASE,
                                   .end = FAKE_POSTGRES_BASE + DATA_BYTES,
                                   .name = (char *)"made",
                                   .path = (char *)"made",
                                   .elf = made_elf()};
    f->objects = (struct hs_objects){.objects = &f->object, .n = 1};
    f->findings = (struct hs_findings){.strings = &f->strings};
    f->process =
        (struct hs_process_copy){&f->target, &f->image, &f->objects, &f->findings, NULL, NULL};
    HS_TRY(hs_image_add(&f->image, FAKE_POSTGRES_BASE, place, sizeof place, err));
    HS_TRY(hs_heaps_open(heaps, &f->process, err));
    return hs_heaps_mark(heaps, &f->process, err);
}

void fake_postgres_close(struct fake_postgres *f)
{
    hs_findings_fini(&f->findings);
    hs_strtab_fini(&f->strings);
    hs_image_fini(&f->image);
}
