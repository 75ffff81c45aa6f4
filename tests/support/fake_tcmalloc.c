/* links: hs_heaps hs_process hs_base */
#include "fake_tcmalloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const uint32_t fake_tcmalloc_sizes[FAKE_TC_CLASSES] = {0,  8,   16,   32,   48,    64,
                                                       80, 128, 1024, 8192, 32768, 262144};

enum { WORD = 8, FIRST_DATA_BYTES = 0x5000, SYSTEM_PAGE = 4096, CLASS_48 = 4, CLASS_1024 = 8 };
enum { CONTENT = 0x55 }; /* of blocks: what may be a leaf is passed over as long as it is zero */

/* What is there of the process. */
static uint8_t first_data[FIRST_DATA_BYTES] __attribute__((aligned(8)));
static uint8_t root_part[2 * SYSTEM_PAGE] __attribute__((aligned(8)));
static uint8_t last_data[SYSTEM_PAGE] __attribute__((aligned(8)));
static uint8_t leaf_ends[2][SYSTEM_PAGE] __attribute__((aligned(8)));
static uint8_t own[0x4000] __attribute__((aligned(8)));
static uint8_t heap[FAKE_TC_PAGES * FAKE_TC_PAGE] __attribute__((aligned(8)));

static const struct area {
    hs_addr begin;
    uint8_t *bytes;
    size_t n_bytes;
} areas[FAKE_TC_AREAS] = {
    {FAKE_TC_DATA, first_data, sizeof first_data},
    {FAKE_TC_ROOT_PART, root_part, sizeof root_part},
    {FAKE_TC_DATA_END - SYSTEM_PAGE, last_data, sizeof last_data},
    {FAKE_TC_LEAF + FAKE_TC_LEAF_BYTES - SYSTEM_PAGE, leaf_ends[0], SYSTEM_PAGE},
    {FAKE_TC_LEAF + FAKE_TC_LEAF_BYTES, leaf_ends[1], SYSTEM_PAGE},
    {FAKE_TC_OWN, own, sizeof own},
    {FAKE_TC_HEAP, heap, sizeof heap},
};

/* ---- words */

static uint8_t *byte_at(hs_addr at, size_t n_bytes)
{
    for (size_t i = 0; i < FAKE_TC_AREAS; i++)
        if (at >= areas[i].begin && at - areas[i].begin <= areas[i].n_bytes - n_bytes)
            return areas[i].bytes + (at - areas[i].begin);
    abort();
}

uint64_t *fake_tcmalloc_word(hs_addr at)
{
    assert(at % WORD == 0);
    return (uint64_t *)(void *)byte_at(at, WORD);
}

static void put(hs_addr at, uint64_t word)
{
    *fake_tcmalloc_word(at) = word;
}

static void put_32(hs_addr at, uint32_t number)
{
    memcpy(byte_at(at, sizeof number), &number, sizeof number);
}

hs_addr fake_tcmalloc_entry(unsigned page)
{
    return FAKE_TC_LEAF + FAKE_TC_LEAF_BYTES +
           ((hs_addr)page - (FAKE_TC_BOUNDARY - FAKE_TC_HEAP) / FAKE_TC_PAGE) * WORD;
}

hs_addr fake_tcmalloc_central(unsigned class_number, unsigned offset)
{
    return FAKE_TC_CENTRAL + (class_number - 1) * (hs_addr)FAKE_TC_CENTRAL_BYTES + offset;
}

hs_addr fake_tcmalloc_cache(unsigned cache, unsigned class_number, unsigned offset)
{
    return FAKE_TC_CACHE + cache * (hs_addr)FAKE_TC_CACHE_STRIDE +
           class_number * FAKE_TC_LIST_BYTES + offset;
}

/* ---- what there is */

static void make_data(bool is_late)
{
    for (unsigned i = 0; i < FAKE_TC_CLASSES; i++)
        put_32(FAKE_TC_SIZES + i * 4, fake_tcmalloc_sizes[i]);
    put(FAKE_TC_NUMBER + (is_late ? WORD : 0), FAKE_TC_CLASSES);
    put(FAKE_TC_VARIABLE, FAKE_TC_CACHE);
    for (unsigned i = 1; i < FAKE_TC_CLASSES; i++)
        put(fake_tcmalloc_central(i, 0), i);
    put(FAKE_TC_ROOT_WORD, FAKE_TC_LEAF);
    put(FAKE_TC_ROOT_WORD + WORD, FAKE_TC_LEAF + FAKE_TC_LEAF_BYTES);
    for (unsigned cache = 0; cache < 2; cache++)
        for (unsigned i = 0; i < FAKE_TC_CLASSES; i++)
            put_32(fake_tcmalloc_cache(cache, i, 24), fake_tcmalloc_sizes[i]);
    put(fake_tcmalloc_cache(0, 0, FAKE_TC_CACHE_NEXT), fake_tcmalloc_cache(1, 0, 0));
    put(fake_tcmalloc_cache(1, 0, FAKE_TC_CACHE_NEXT + WORD), fake_tcmalloc_cache(0, 0, 0));
}

/* Where a span is: 0 in use. Only the ends of one of no class are in the map. */
static void make_span(struct fake_tcmalloc *f, unsigned number, unsigned page, unsigned n_pages,
                      unsigned class_number, unsigned location)
{
    struct fake_tcmalloc_span *span = &f->spans[number];

    *span = (struct fake_tcmalloc_span){
        .address = FAKE_TC_OWN + 0x100 + (hs_addr)number * FAKE_TC_SPAN_BYTES,
        .begin = FAKE_TC_HEAP + (hs_addr)page * FAKE_TC_PAGE,
        .end = FAKE_TC_HEAP + (hs_addr)(page + n_pages) * FAKE_TC_PAGE,
        .block_bytes = fake_tcmalloc_sizes[class_number],
        .is_in_use = location == 0};
    uint64_t n = class_number == 0 ? 0 : n_pages * FAKE_TC_PAGE / span->block_bytes;
    put(span->address + FAKE_TC_SPAN_FIRST, span->begin / FAKE_TC_PAGE);
    put(span->address + FAKE_TC_SPAN_N_PAGES, n_pages);
    put(span->address + FAKE_TC_SPAN_BITS, n | class_number << 16 | location << 24);
    for (unsigned i = 0; i < n_pages; i++)
        if (class_number != 0 || i == 0 || i + 1 == n_pages)
            put(fake_tcmalloc_entry(page + i), span->address);
}

static hs_addr block_of(const struct fake_tcmalloc *f, unsigned span, unsigned block)
{
    return f->spans[span].begin + (hs_addr)block * f->spans[span].block_bytes;
}

/* Links blocks of a span; the first. */
static hs_addr make_list(const struct fake_tcmalloc *f, unsigned span, const unsigned *blocks,
                         unsigned n, hs_addr *account, size_t *n_account)
{
    for (unsigned i = 0; i < n; i++) {
        hs_addr at = block_of(f, span, blocks[i]);
        put(at, i + 1 == n ? 0 : block_of(f, span, blocks[i + 1]));
        account[(*n_account)++] = at;
        assert(*n_account <= FAKE_TC_MOST);
    }
    return block_of(f, span, blocks[0]);
}

static void make_free(struct fake_tcmalloc *f, unsigned span, unsigned class_number,
                      const unsigned *blocks, unsigned n)
{
    put(f->spans[span].address + FAKE_TC_SPAN_OBJECTS,
        make_list(f, span, blocks, n, f->free, &f->n_free));
    *fake_tcmalloc_word(f->spans[span].address + FAKE_TC_SPAN_BITS) -= n;
    *fake_tcmalloc_word(fake_tcmalloc_central(class_number, FAKE_TC_CENTRAL_FREE)) += n;
}

/* In the next slot of the central list. */
static void make_slot(struct fake_tcmalloc *f, unsigned span, unsigned class_number,
                      const unsigned *blocks, unsigned n)
{
    uint64_t *n_used =
        fake_tcmalloc_word(fake_tcmalloc_central(class_number, FAKE_TC_CENTRAL_USED));
    unsigned slot = FAKE_TC_CENTRAL_SLOTS + 16 * (unsigned)*n_used;

    put(fake_tcmalloc_central(class_number, slot),
        make_list(f, span, blocks, n, f->cached, &f->n_cached));
    put(fake_tcmalloc_central(class_number, slot + WORD), block_of(f, span, blocks[n - 1]));
    ++*n_used;
}

static void make_cached(struct fake_tcmalloc *f, unsigned cache, unsigned span,
                        unsigned class_number, const unsigned *blocks, unsigned n)
{
    put(fake_tcmalloc_cache(cache, class_number, 0),
        make_list(f, span, blocks, n, f->cached, &f->n_cached));
    put_32(fake_tcmalloc_cache(cache, class_number, 8), n);
}

#define BLOCKS(...) \
    ((const unsigned[]){__VA_ARGS__}), sizeof(unsigned[]){__VA_ARGS__} / sizeof(unsigned)

static void make_heap(struct fake_tcmalloc *f)
{
    make_span(f, FAKE_TC_SMALL, 0, 1, CLASS_48, 0);
    make_span(f, FAKE_TC_MIDDLE, 1, 2, CLASS_1024, 0);
    make_span(f, FAKE_TC_LARGE, 3, 3, 0, 0);
    make_span(f, FAKE_TC_UNUSED, 6, 2, 0, 1);
    make_span(f, FAKE_TC_RETURNED, 8, 1, 0, 2);
    make_span(f, FAKE_TC_CROSSING, 9, 6, 0, 0);
    make_span(f, FAKE_TC_FULL, 15, 1, CLASS_48, 0);
    make_free(f, FAKE_TC_SMALL, CLASS_48, BLOCKS(5, 2, 169));
    make_free(f, FAKE_TC_MIDDLE, CLASS_1024, BLOCKS(15));
    make_slot(f, FAKE_TC_SMALL, CLASS_48, BLOCKS(20, 21));
    make_slot(f, FAKE_TC_SMALL, CLASS_48, BLOCKS(30));
    make_slot(f, FAKE_TC_MIDDLE, CLASS_1024, BLOCKS(7));
    make_cached(f, 0, FAKE_TC_SMALL, CLASS_48, BLOCKS(10, 11));
    make_cached(f, 0, FAKE_TC_MIDDLE, CLASS_1024, BLOCKS(3));
    make_cached(f, 1, FAKE_TC_FULL, CLASS_48, BLOCKS(0));
}

/* Words that are left in the map: a description that is free, whose first word leads to the next
 * such, and one that has other pages. */
static void make_stale(const struct fake_tcmalloc *f)
{
    const hs_addr freed = FAKE_TC_OWN + 0x100 + FAKE_TC_SPANS * (hs_addr)FAKE_TC_SPAN_BYTES;

    put(freed + FAKE_TC_SPAN_FIRST, freed + FAKE_TC_SPAN_BYTES);
    put(freed + FAKE_TC_SPAN_N_PAGES, 1);
    put(fake_tcmalloc_entry(18), freed);
    put(fake_tcmalloc_entry(19), f->spans[FAKE_TC_LARGE].address);
    put(fake_tcmalloc_entry(4), f->spans[FAKE_TC_FULL].address);
    put(fake_tcmalloc_entry(20), freed + 1);
}

void fake_tcmalloc_make(struct fake_tcmalloc *f, bool is_late)
{
    for (size_t i = 0; i < FAKE_TC_AREAS; i++)
        memset(areas[i].bytes, areas[i].bytes == heap ? CONTENT : 0, areas[i].n_bytes);
    *f = (struct fake_tcmalloc){.is_late = is_late};
    make_data(is_late);
    make_heap(f);
    make_stale(f);
}

/* ---- reading */

static void describe(struct fake_tcmalloc *f)
{
    const hs_addr extents[FAKE_TC_MAPPINGS][2] = {
        {FAKE_TC_DATA, FAKE_TC_DATA_END},
        {FAKE_TC_HEAP, FAKE_TC_HEAP_END},
        {FAKE_TC_LEAF, FAKE_TC_LEAF + 2 * FAKE_TC_LEAF_BYTES},
        {FAKE_TC_OWN, FAKE_TC_OWN + sizeof own},
        {FAKE_TC_MORE, FAKE_TC_MORE + f->n_more_bytes}};

    for (size_t i = 0; i < FAKE_TC_MAPPINGS; i++)
        f->mappings[i] = (struct hs_mapping){
            .begin = extents[i][0], .end = extents[i][1], .readable = true, .writable = true};
    f->target = (struct hs_target){
        .pid = 1, .mappings = f->mappings, .n_mappings = FAKE_TC_MAPPINGS - (f->more == NULL)};
    f->object = (struct hs_object){.begin = FAKE_TC_DATA,
                                   .end = FAKE_TC_DATA_END,
                                   .name = (char *)"libtcmalloc.so.4",
                                   .path = (char *)"libtcmalloc.so.4"};
    f->objects = (struct hs_objects){.objects = &f->object, .n = 1};
    f->findings = (struct hs_findings){.strings = &f->strings};
    f->process =
        (struct hs_process_copy){&f->target, &f->image, &f->objects, &f->findings, NULL, NULL};
}

hs_status fake_tcmalloc_read(struct fake_tcmalloc *f, struct hs_heaps *heaps, struct hs_error *err)
{
    void **state = &heaps->states[HS_OWNER_tcmalloc];
    uint64_t n_refused;

    fake_tcmalloc_close(f);
    describe(f);
    for (size_t i = 0; i < FAKE_TC_AREAS; i++)
        HS_TRY(hs_image_add(&f->image, areas[i].begin, areas[i].bytes, areas[i].n_bytes, err));
    if (f->more != NULL)
        HS_TRY(hs_image_add(&f->image, FAKE_TC_MORE, f->more, f->n_more_bytes, err));
    hs_heap_map_init(&heaps->map, &f->image);
    hs_ledger_init(&heaps->ledger, &f->strings, &f->image);
    if (f->other.end != 0)
        HS_TRY(hs_heap_map_add(&heaps->map, &f->other, err));
    HS_TRY(hs_allocator_tcmalloc.open(&f->process, state, err));
    if (*state != NULL)
        HS_TRY(hs_allocator_tcmalloc.add_spans(*state, &heaps->map, &heaps->ledger, err));
    hs_ledger_seal(&heaps->ledger);
    HS_TRY(hs_heap_map_seal(&heaps->map, &n_refused, err));
    if (*state != NULL)
        HS_TRY(hs_allocator_tcmalloc.mark(*state, &heaps->map, &heaps->ledger, err));
    return hs_heap_map_index(&heaps->map, err);
}

void fake_tcmalloc_close(struct fake_tcmalloc *f)
{
    hs_findings_fini(&f->findings);
    hs_strtab_fini(&f->strings);
    hs_image_fini(&f->image);
}
