/* links: hs_heaps hs_process hs_symbols hs_base */
#include "fake_apr.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "elf_writer.h"
#include "symbols/elf.h"

enum {
    WORD = 8,
    ALLOCATORS = 0x400,
    ALLOCATOR_BYTES = 200,

    NEXT = 0, /* apr_memnode_t */
    REF = 8,
    INDEX = 16,
    FIRST_AVAIL = 24,
    END = 32,

    PARENT = 0, /* apr_pool_t */
    CHILD = 8,
    SIBLING = 16,
    POOL_REF = 24,
    ALLOCATOR = 48,
    TAG = 80,
    ACTIVE = 88,
    SELF = 96,
    SELF_FIRST = 104,

    FREE = 40, /* apr_allocator_t */
};

static uint8_t place[FAKE_APR_BYTES] __attribute__((aligned(4096)));

/* ---- words */

uint64_t *fake_apr_word(const struct fake_apr *f, hs_addr at)
{
    (void)f;
    assert(at % WORD == 0 && at >= FAKE_APR_BASE && at < FAKE_APR_END);
    return (uint64_t *)(void *)(place + (at - FAKE_APR_BASE));
}

static uint64_t get(const struct fake_apr *f, hs_addr at)
{
    return *fake_apr_word(f, at);
}

static void put(const struct fake_apr *f, hs_addr at, uint64_t word)
{
    *fake_apr_word(f, at) = word;
}

static hs_addr text(struct fake_apr *f, const char *tag)
{
    hs_addr at = f->texts;
    size_t n = strlen(tag) + 1;

    f->texts += n;
    assert(f->texts <= FAKE_APR_NODES);
    memcpy(place + (at - FAKE_APR_BASE), tag, n);
    return at;
}

/* ---- nodes */

static uint32_t take_node(struct fake_apr *f, uint32_t pool, unsigned n_pages)
{
    hs_addr at = f->heap, end = at + (hs_addr)n_pages * FAKE_APR_PAGE;
    uint32_t number = f->n_nodes++;

    assert(end + FAKE_MALLOC_SPARE <= FAKE_APR_END && number < FAKE_APR_MOST);
    /* Malloc's block has a little more than was asked for, and words of its own before the next. */
    f->heap = end + 2 * FAKE_MALLOC_SPARE;
    f->mallocs[number] =
        (struct fake_malloc_block){.begin = at, .end = end + FAKE_MALLOC_SPARE, .context = pool};
    f->nodes[number] = (struct fake_apr_node){.begin = at,
                                              .first = at + FAKE_APR_HEADER,
                                              .used = at + FAKE_APR_HEADER,
                                              .end = end,
                                              .pool = pool};
    put(f, at + INDEX, n_pages - 1);
    put(f, at + FIRST_AVAIL, at + FAKE_APR_HEADER);
    put(f, at + END, end);
    return number;
}

static void set_used(struct fake_apr *f, uint32_t number, hs_addr used)
{
    struct fake_apr_node *node = &f->nodes[number];

    assert(used <= node->end);
    node->used = used;
    put(f, node->begin + FIRST_AVAIL, used);
}

static uint32_t first_node(const struct fake_apr *f, uint32_t pool)
{
    for (uint32_t i = 0; i < f->n_nodes; i++)
        if (f->nodes[i].pool == pool)
            return i;
    abort();
}

uint32_t fake_apr_node(struct fake_apr *f, uint32_t pool, unsigned n_pages, unsigned n_given)
{
    hs_addr point = f->nodes[first_node(f, pool)].begin; /* before which it goes */
    uint32_t number = take_node(f, pool, n_pages);
    hs_addr at = f->nodes[number].begin, before = get(f, point + REF);

    put(f, at + REF, before);
    put(f, before + NEXT, at);
    put(f, at + NEXT, point);
    put(f, point + REF, at + NEXT);
    put(f, f->pools[pool].at + ACTIVE, at);
    set_used(f, number, f->nodes[number].first + n_given);
    return number;
}

void fake_apr_give(struct fake_apr *f, uint32_t pool, unsigned n_given)
{
    uint32_t number = first_node(f, pool);
    set_used(f, number, f->nodes[number].used + n_given);
}

uint32_t fake_apr_wait(struct fake_apr *f, hs_addr allocator, unsigned list, unsigned n_pages)
{
    uint32_t number = take_node(f, FAKE_APR_NONE, n_pages);
    hs_addr head = allocator + FREE + list * WORD;

    put(f, f->nodes[number].begin + NEXT, get(f, head));
    put(f, head, f->nodes[number].begin);
    return number;
}

/* ---- pools */

hs_addr fake_apr_allocator(struct fake_apr *f)
{
    hs_addr at = f->allocators;

    f->allocators += ALLOCATOR_BYTES + WORD;
    assert(f->allocators <= FAKE_APR_TEXTS);
    put(f, at + ALLOCATOR_BYTES, ALLOCATOR_BYTES + WORD + 1); /* malloc's, of what comes next */
    return at;
}

static void hang(const struct fake_apr *f, hs_addr at, hs_addr parent)
{
    hs_addr elder = get(f, parent + CHILD);

    put(f, at + PARENT, parent);
    put(f, at + SIBLING, elder);
    if (elder != 0)
        put(f, elder + POOL_REF, at + SIBLING);
    put(f, parent + CHILD, at);
    put(f, at + POOL_REF, parent + CHILD);
}

uint32_t fake_apr_pool(struct fake_apr *f, uint32_t parent, hs_addr allocator, const char *tag)
{
    uint32_t pool = f->n_pools++;
    uint32_t self = take_node(f, pool, 2);
    hs_addr node = f->nodes[self].begin, at = node + FAKE_APR_HEADER;

    assert(pool < FAKE_APR_MOST);
    f->pools[pool] = (struct fake_apr_pool){.at = at, .parent = parent, .tag = tag};
    f->nodes[self].first = at + f->object_bytes;
    put(f, node + NEXT, node);
    put(f, node + REF, node + NEXT);
    put(f, at + ALLOCATOR, allocator);
    put(f, at + TAG, tag == NULL ? 0 : text(f, tag));
    put(f, at + ACTIVE, node);
    put(f, at + SELF, node);
    put(f, at + SELF_FIRST, at + f->object_bytes);
    set_used(f, self, at + f->object_bytes);
    if (parent == FAKE_APR_NONE)
        put(f, FAKE_APR_VARIABLE, at);
    else
        hang(f, at, f->pools[parent].at);
    return pool;
}

void fake_apr_begin(struct fake_apr *f, unsigned object_bytes)
{
    memset(place, 0, sizeof place);
    *f = (struct fake_apr){.object_bytes = object_bytes,
                           .texts = FAKE_APR_TEXTS,
                           .allocators = FAKE_APR_BASE + ALLOCATORS,
                           .heap = FAKE_APR_NODES};
}

void fake_apr_make(struct fake_apr *f, unsigned object_bytes)
{
    fake_apr_begin(f, object_bytes);
    hs_addr shared = fake_apr_allocator(f), own = fake_apr_allocator(f);
    (void)fake_apr_pool(f, FAKE_APR_NONE, shared, "apr_global_pool");
    (void)fake_apr_pool(f, FAKE_APR_GLOBAL, shared, "pconf");
    (void)fake_apr_pool(f, FAKE_APR_CONF, shared, NULL);
    (void)fake_apr_pool(f, FAKE_APR_PLAIN, shared, NULL);
    (void)fake_apr_pool(f, FAKE_APR_GLOBAL, own, "ptrans");
    fake_apr_give(f, FAKE_APR_GLOBAL, 800);
    fake_apr_give(f, FAKE_APR_CONF, 2 * FAKE_APR_PAGE - FAKE_APR_HEADER - object_bytes); /* all */
    (void)fake_apr_node(f, FAKE_APR_CONF, 2, 4000);
    (void)fake_apr_node(f, FAKE_APR_CONF, 3, 3 * FAKE_APR_PAGE - FAKE_APR_HEADER);
    (void)fake_apr_node(f, FAKE_APR_CONF, 1, 0);
    (void)fake_apr_node(f, FAKE_APR_UNDER, 2, 8);
    (void)fake_apr_wait(f, shared, 1, 2);
    (void)fake_apr_wait(f, own, 1, 1);
    (void)fake_apr_wait(f, own, 0, 1);
    (void)fake_apr_wait(f, own, 1, 1);
    assert(f->n_pools == FAKE_APR_MADE);
}

/* ---- reading */

/* A binary with the library's symbol; made once. */
static struct hs_elf *made_elf(void)
{
    static const uint8_t data[FAKE_APR_BEFORE_BYTES];
    static struct elf_writer writer;
    static struct hs_elf *elf;
    struct hs_error err = HS_ERROR_INIT;

    if (elf != NULL)
        return elf;
    elf_writer_init(&writer);
    size_t section = elf_writer_section(&writer, ".data", SHT_PROGBITS, 0, data, sizeof data);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_W, 0, sizeof data, section);
    elf_writer_symbol(&writer, "apr_pool_create_ex", STT_FUNC, STB_GLOBAL, 0x800, WORD,
                      (uint16_t)section);
    elf_writer_finish(&writer);
    if (hs_elf_open_memory(writer.bytes, writer.n_bytes, "made", &elf, &err) != HS_OK)
        abort();
    return elf;
}

hs_status fake_apr_read(struct fake_apr *f, struct hs_heaps *heaps, struct hs_error *err)
{
    fake_apr_close(f);
    fake_malloc_blocks = f->mallocs;
    fake_malloc_n_blocks = f->is_from_malloc ? f->n_nodes : 0;
    f->mappings[0] = (struct hs_mapping){
        .begin = FAKE_APR_BASE, .end = FAKE_APR_TEXTS, .readable = true, .writable = true};
    f->mappings[1] =
        (struct hs_mapping){.begin = FAKE_APR_TEXTS, .end = FAKE_APR_NODES, .readable = true};
    f->mappings[2] = (struct hs_mapping){
        .begin = FAKE_APR_NODES, .end = FAKE_APR_END, .readable = true, .writable = true};
    f->target = (struct hs_target){.pid = 1,
                                   .core = (struct hs_core *)(void *)place,
                                   .mappings = f->mappings,
                                   .n_mappings = 3};
    f->object = (struct hs_object){.bias = FAKE_APR_BASE,
                                   .begin = FAKE_APR_BASE,
                                   .end = FAKE_APR_NODES,
                                   .name = (char *)"made",
                                   .path = (char *)"made",
                                   .elf = made_elf()};
    f->objects = (struct hs_objects){.objects = &f->object, .n = 1};
    f->findings = (struct hs_findings){.strings = &f->strings};
    f->process =
        (struct hs_process_copy){&f->target, &f->image, &f->objects, &f->findings, NULL, NULL};
    for (size_t i = 0; i < f->target.n_mappings; i++) {
        const struct hs_mapping *m = &f->mappings[i];
        HS_TRY(hs_image_add(&f->image, m->begin, place + (m->begin - FAKE_APR_BASE),
                            m->end - m->begin, err));
    }
    HS_TRY(hs_heaps_open(heaps, &f->process, err));
    return hs_heaps_mark(heaps, &f->process, err);
}

void fake_apr_close(struct fake_apr *f)
{
    hs_findings_fini(&f->findings);
    hs_strtab_fini(&f->strings);
    hs_image_fini(&f->image);
}
