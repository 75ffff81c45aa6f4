/* links: hs_heaps hs_process hs_base */
#include "fake_mimalloc.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    WORD = 8,
    PLACE_BYTES = 1 << 20,
    MOST_SMALL = 1024,
    MOST_OFFSETS = 8, /* entries of a run that are filled in */
};
#define HUGE_BLOCK ((uint64_t)1 << 31) /* what an old entry says of every block that has more */

/* mi_page_t: what stands before the keys, and behind them. */
struct old_head { /* until 2.1.2 */
    uint32_t slice_count, slice_offset;
    uint8_t bits;
    uint16_t capacity, reserved;
    uint8_t flags, retire_expire;
    uint64_t free;
    uint32_t used, xblock_size;
    uint64_t local_free;
};
struct new_head {
    uint32_t slice_count, slice_offset;
    uint8_t bits;
    uint16_t capacity, reserved;
    uint8_t flags, retire_expire;
    uint64_t free, local_free;
    uint16_t used;
    uint8_t block_size_shift, heap_tag;
    uint64_t block_size, page_start;
};
struct tail {
    uint64_t xthread_free, xheap, next, prev, padding;
};

_Static_assert(offsetof(struct old_head, capacity) == FAKE_MI_CAPACITY, "of all versions");
_Static_assert(offsetof(struct new_head, reserved) == FAKE_MI_RESERVED, "of all versions");
_Static_assert(offsetof(struct new_head, free) == FAKE_MI_FREE_LIST, "of all versions");

#define SHAPE_TAIL(before)                                            \
    .entry_bytes = (before) + sizeof(struct tail),                    \
    .at_thread_free = (before) + offsetof(struct tail, xthread_free), \
    .at_heap = (before) + offsetof(struct tail, xheap)
/* The header's masks have two times eight words; a heap has 129 pages for small sizes first, then
 * 75 queues of three words. */
#define SHAPE_OLD(keys)                                                        \
    .at_used = offsetof(struct old_head, used), .used_bytes = 4,               \
    .at_block_bytes = offsetof(struct old_head, xblock_size), .size_bytes = 4, \
    .at_local_free = offsetof(struct old_head, local_free),                    \
    .at_keys = (keys) != 0 ? sizeof(struct old_head) : 0, .used_word = 26,     \
    .delayed_word = 1 + 129 + 75 * 3, SHAPE_TAIL(sizeof(struct old_head) + (keys))
#define SHAPE_NEW(keys)                                                                        \
    .at_used = offsetof(struct new_head, used), .used_bytes = 2,                               \
    .at_block_bytes = offsetof(struct new_head, block_size), .size_bytes = 8,                  \
    .at_local_free = offsetof(struct new_head, local_free),                                    \
    .at_start = offsetof(struct new_head, page_start),                                         \
    .at_keys = (keys) != 0 ? sizeof(struct new_head) : 0, .used_word = 27, .words_between = 2, \
    .delayed_word = 1, SHAPE_TAIL(sizeof(struct new_head) + (keys))

static const struct fake_mi_shape shapes[FAKE_MI_LAYOUTS] = {
    {.version = "2.0", SHAPE_OLD(0)}, {.version = "2.0 with keys", SHAPE_OLD(16)},
    {.version = "2.1", SHAPE_OLD(0)}, {.version = "2.1 with keys", SHAPE_OLD(16)},
    {.version = "2.2", SHAPE_NEW(0)}, {.version = "2.2 with keys", SHAPE_NEW(16)},
};

static const uint64_t threads[FAKE_MI_THREADS + 1] = {0x7f1200004740, 0x7f12000096c0, 0};

static uint8_t place[PLACE_BYTES] __attribute__((aligned(4096)));
static size_t place_used;

/* ---- bytes */

static uint8_t *bytes_at(const struct fake_mimalloc *f, hs_addr at, unsigned n_bytes)
{
    for (unsigned i = 0; i < f->n_pieces; i++) {
        const struct fake_mi_piece *piece = &f->pieces[i];
        if (at - piece->begin < piece->n_bytes && at - piece->begin + n_bytes <= piece->n_bytes)
            return piece->bytes + (at - piece->begin);
    }
    return NULL;
}

void fake_mimalloc_back(struct fake_mimalloc *f, hs_addr begin, size_t n_bytes)
{
    assert(f->n_pieces < FAKE_MI_MOST && place_used + n_bytes <= PLACE_BYTES);
    f->pieces[f->n_pieces++] = (struct fake_mi_piece){begin, n_bytes, place + place_used};
    place_used += n_bytes;
}

bool fake_mimalloc_has(const struct fake_mimalloc *f, hs_addr at)
{
    return bytes_at(f, at, WORD) != NULL;
}

/* The page of memory around it is there. */
static void touch(struct fake_mimalloc *f, hs_addr at)
{
    if (!fake_mimalloc_has(f, at))
        fake_mimalloc_back(f, at & ~(hs_addr)(FAKE_MI_PIECE - 1), FAKE_MI_PIECE);
}

uint64_t fake_mimalloc_get(const struct fake_mimalloc *f, hs_addr at, unsigned n_bytes)
{
    uint64_t value = 0;
    const uint8_t *bytes = bytes_at(f, at, n_bytes);

    assert(bytes != NULL);
    memcpy(&value, bytes, n_bytes);
    return value;
}

void fake_mimalloc_put(struct fake_mimalloc *f, hs_addr at, unsigned n_bytes, uint64_t value)
{
    uint8_t *bytes = bytes_at(f, at, n_bytes);

    assert(bytes != NULL);
    memcpy(bytes, &value, n_bytes);
}

uint64_t *fake_mimalloc_word(const struct fake_mimalloc *f, hs_addr at)
{
    uint8_t *bytes = bytes_at(f, at, WORD);

    assert(bytes != NULL && at % WORD == 0);
    return (uint64_t *)(void *)bytes;
}

/* ---- where things are */

hs_addr fake_mimalloc_heap(unsigned thread)
{
    return FAKE_MI_HEAPS + thread * (hs_addr)FAKE_MI_PIECE;
}

hs_addr fake_mimalloc_used(const struct fake_mimalloc *f, unsigned segment)
{
    return f->segments[segment].begin + f->shape.used_word * WORD;
}

hs_addr fake_mimalloc_header(const struct fake_mimalloc *f, unsigned segment,
                             enum fake_mi_word word)
{
    return fake_mimalloc_used(f, segment) + (2 + f->shape.words_between + word) * WORD;
}

hs_addr fake_mimalloc_entry(const struct fake_mimalloc *f, unsigned segment, unsigned slice)
{
    return fake_mimalloc_header(f, segment, FAKE_MI_N_WORDS) + slice * f->shape.entry_bytes;
}

hs_addr fake_mimalloc_block(const struct fake_mimalloc *f, unsigned page, unsigned block)
{
    return f->pages[page].begin + block * f->pages[page].block_bytes;
}

/* ---- segments */

static void put_slice(struct fake_mimalloc *f, unsigned segment, unsigned slice, unsigned count,
                      unsigned offset)
{
    hs_addr entry = fake_mimalloc_entry(f, segment, slice);

    if (slice >= f->segments[segment].n_entries)
        return;
    fake_mimalloc_put(f, entry, 4, count);
    fake_mimalloc_put(f, entry + 4, 4, offset * f->shape.entry_bytes);
}

/* A run of slices: the first says how long it is, the next ones and the last how far away that is.
 */
static void put_run(struct fake_mimalloc *f, unsigned segment, unsigned slice, unsigned n)
{
    for (unsigned i = 1; i < n && i < MOST_OFFSETS; i++)
        put_slice(f, segment, slice + i, 0, i);
    if (n > 1)
        put_slice(f, segment, slice + n - 1, 0, n - 1);
    if (n != 0)
        put_slice(f, segment, slice, n, 0);
}

static unsigned make_segment(struct fake_mimalloc *f, unsigned thread, unsigned n_slices)
{
    unsigned number = f->n_segments++;
    unsigned n_most = n_slices < FAKE_MI_SLICES ? n_slices : FAKE_MI_SLICES;
    struct fake_mi_segment segment = {.begin = f->end,
                                      .n_slices = n_slices,
                                      .thread = thread,
                                      .n_entries = n_most - (f->is_secure && n_most == n_slices),
                                      .next = 1};

    assert(number < FAKE_MI_MOST);
    f->segments[number] = segment;
    fake_mimalloc_back(f, f->end, FAKE_MI_SLICE);
    f->end += (n_slices * FAKE_MI_SLICE + FAKE_MI_SEGMENT - 1) & ~(FAKE_MI_SEGMENT - 1);
    const uint64_t words[] = {n_slices, 1, n_slices != FAKE_MI_SLICES, segment.n_entries,
                              threads[thread]};
    for (unsigned i = 0; i < FAKE_MI_N_WORDS; i++)
        fake_mimalloc_put(f, fake_mimalloc_header(f, number, i), WORD, words[i]);
    fake_mimalloc_put(f, segment.begin, WORD, number + 1); /* memid */
    fake_mimalloc_put(f, fake_mimalloc_used(f, number) + WORD, WORD,
                      segment.begin ^ 0x5bd1e995c7f3a1); /* its cookie */
    put_run(f, number, 0, 1);
    fake_mimalloc_put(f, fake_mimalloc_entry(f, number, 0) + f->shape.at_block_bytes,
                      f->shape.size_bytes, 1); /* the header is nobody's page */
    return number;
}

unsigned fake_mimalloc_segment(struct fake_mimalloc *f, unsigned thread)
{
    unsigned number = make_segment(f, thread, FAKE_MI_SLICES);

    put_run(f, number, 1, f->segments[number].n_entries - 1);
    return number;
}

/* ---- pages */

/* segment.c: _mi_segment_page_start_from_slice */
static hs_addr first_block(const struct fake_mimalloc *f, hs_addr begin, uint64_t block_bytes)
{
    const uint64_t before = block_bytes <= 64    ? 3 * block_bytes
                            : block_bytes <= 512 ? block_bytes
                                                 : 0;

    if (f->layout < 2)
        return begin + (block_bytes <= MOST_SMALL ? 3 * 128 : 0);
    if (f->layout < 4)
        return begin + before;
    const uint64_t adjust =
        block_bytes <= 128 ? (block_bytes - begin % block_bytes) % block_bytes : 0;
    return (begin + adjust + before + 15) & ~(hs_addr)15;
}

static void put_keys(struct fake_mimalloc *f, hs_addr at, uint64_t keys[2])
{
    keys[0] = at * UINT64_C(0x9e3779b97f4a7c15);
    keys[1] = at * UINT64_C(0xc2b2ae3d27d4eb4f);
    fake_mimalloc_put(f, at, WORD, keys[0]);
    fake_mimalloc_put(f, at + WORD, WORD, keys[1]);
}

static void put_page(struct fake_mimalloc *f, struct fake_mi_page *page, uint64_t n_reserved)
{
    const struct fake_mi_shape *s = &f->shape;
    const bool is_huge = s->size_bytes == 4 && page->block_bytes > HUGE_BLOCK;

    fake_mimalloc_put(f, page->entry + FAKE_MI_CAPACITY, 2, page->capacity);
    fake_mimalloc_put(f, page->entry + FAKE_MI_RESERVED, 2, n_reserved);
    fake_mimalloc_put(f, page->entry + s->at_used, s->used_bytes, page->capacity);
    fake_mimalloc_put(f, page->entry + s->at_block_bytes, s->size_bytes,
                      is_huge ? HUGE_BLOCK : page->block_bytes);
    if (s->at_start != 0)
        fake_mimalloc_put(f, page->entry + s->at_start, WORD, page->begin);
    if (s->at_keys != 0)
        put_keys(f, page->entry + s->at_keys, page->keys);
}

static unsigned make_page(struct fake_mimalloc *f, unsigned segment, unsigned n_slices,
                          uint64_t block_bytes, unsigned capacity)
{
    struct fake_mi_segment *of = &f->segments[segment];
    unsigned number = f->n_pages++;
    const hs_addr begin = of->begin + of->next * FAKE_MI_SLICE;
    const hs_addr end = begin + n_slices * FAKE_MI_SLICE;
    struct fake_mi_page *page = &f->pages[number];

    assert(number < FAKE_MI_MOST && capacity <= FAKE_MI_MOST_BLOCKS);
    *page = (struct fake_mi_page){.segment = segment,
                                  .entry = fake_mimalloc_entry(f, segment, of->next),
                                  .begin = first_block(f, begin, block_bytes),
                                  .block_bytes = block_bytes,
                                  .capacity = capacity};
    put_run(f, segment, of->next, n_slices);
    of->next += n_slices;
    put_page(f, page, (end - page->begin) / block_bytes);
    if (of->thread != FAKE_MI_NOBODY)
        fake_mimalloc_put(f, page->entry + f->shape.at_heap, WORD, fake_mimalloc_heap(of->thread));
    const hs_addr used = fake_mimalloc_used(f, segment);
    fake_mimalloc_put(f, used, WORD, fake_mimalloc_get(f, used, WORD) + 1);
    return number;
}

unsigned fake_mimalloc_page(struct fake_mimalloc *f, unsigned segment, unsigned n_slices,
                            uint64_t block_bytes, unsigned capacity)
{
    unsigned number = make_page(f, segment, n_slices, block_bytes, capacity);
    const struct fake_mi_segment *of = &f->segments[segment];

    assert(of->next <= of->n_entries);
    put_run(f, segment, of->next, of->n_entries - of->next);
    return number;
}

unsigned fake_mimalloc_huge(struct fake_mimalloc *f, unsigned n_slices)
{
    unsigned segment = make_segment(f, FAKE_MI_NOBODY, n_slices);
    unsigned n = n_slices - 1 - f->is_secure;

    return make_page(f, segment, n, n * FAKE_MI_SLICE, 1);
}

/* ---- lists */

/* internal.h: mi_ptr_encode */
static uint64_t hide(hs_addr next, hs_addr null, const uint64_t keys[2])
{
    uint64_t word = (next == 0 ? null : next) ^ keys[1];
    unsigned shift = keys[0] & 63;

    return (shift == 0 ? word : word << shift | word >> (64 - shift)) + keys[0];
}

static bool is_hidden(const struct fake_mimalloc *f)
{
    return f->shape.at_keys != 0 && !f->is_padded;
}

uint64_t fake_mimalloc_link(const struct fake_mimalloc *f, unsigned page, hs_addr next)
{
    return is_hidden(f) ? hide(next, f->pages[page].entry, f->pages[page].keys) : next;
}

static void give_to_heap(struct fake_mimalloc *f, hs_addr block, unsigned thread)
{
    const hs_addr heap = fake_mimalloc_heap(thread), head = heap + f->shape.delayed_word * WORD;
    hs_addr next = fake_mimalloc_get(f, head, WORD);
    uint64_t keys[2];

    for (unsigned i = 0; i < 2; i++)
        keys[i] = fake_mimalloc_get(f, head + (4 + i) * WORD, WORD);
    fake_mimalloc_put(f, block, WORD, is_hidden(f) ? hide(next, heap, keys) : next);
    fake_mimalloc_put(f, head, WORD, block);
}

void fake_mimalloc_free(struct fake_mimalloc *f, unsigned number, unsigned block,
                        enum fake_mi_list list)
{
    struct fake_mi_page *page = &f->pages[number];
    const struct fake_mi_shape *s = &f->shape;
    const hs_addr at = fake_mimalloc_block(f, number, block), used = page->entry + s->at_used;
    const hs_addr heads[] = {FAKE_MI_FREE_LIST, s->at_local_free, s->at_thread_free};

    assert(block < page->capacity && !page->is_free[block]);
    page->is_free[block] = true;
    touch(f, at);
    if (list == FAKE_MI_DELAYED) {
        give_to_heap(f, at, f->segments[page->segment].thread);
        return;
    }
    const hs_addr head = page->entry + heads[list];
    uint64_t word = fake_mimalloc_get(f, head, WORD), bits = word & 3;
    fake_mimalloc_put(f, at, WORD, fake_mimalloc_link(f, number, word - bits));
    /* two bits beside the list of others say whether who frees has to tell the heap */
    fake_mimalloc_put(f, head, WORD, at | (list == FAKE_MI_OTHERS ? 2 : 0));
    if (list != FAKE_MI_OTHERS)
        fake_mimalloc_put(f, used, s->used_bytes, fake_mimalloc_get(f, used, s->used_bytes) - 1);
}

/* ---- all of it */

void fake_mimalloc_become(struct fake_mimalloc *f, unsigned layout)
{
    f->layout = layout;
    f->shape = shapes[layout];
}

void fake_mimalloc_begin(struct fake_mimalloc *f, unsigned layout)
{
    memset(place, 0, place_used);
    place_used = 0;
    *f = (struct fake_mimalloc){.layout = layout, .shape = shapes[layout], .end = FAKE_MI_BASE};
    for (unsigned i = 0; i < FAKE_MI_THREADS; i++) {
        hs_addr delayed = fake_mimalloc_heap(i) + f->shape.delayed_word * WORD;
        uint64_t keys[2];
        fake_mimalloc_back(f, fake_mimalloc_heap(i), FAKE_MI_PIECE);
        fake_mimalloc_put(f, fake_mimalloc_heap(i), WORD, fake_mimalloc_heap(i) + 0x800); /* tld */
        fake_mimalloc_put(f, delayed + WORD, WORD, threads[i]);
        put_keys(f, delayed + 4 * WORD, keys);
    }
}

void fake_mimalloc_fill(struct fake_mimalloc *f)
{
    static const uint8_t frees[][3] = {
        {FAKE_MI_SMALL, 3, FAKE_MI_FREE},     {FAKE_MI_SMALL, 7, FAKE_MI_FREE},
        {FAKE_MI_SMALL, 5, FAKE_MI_FREE},     {FAKE_MI_SMALL, 39, FAKE_MI_LOCAL},
        {FAKE_MI_SMALL, 0, FAKE_MI_LOCAL},    {FAKE_MI_SMALL, 9, FAKE_MI_OTHERS},
        {FAKE_MI_MEDIUM, 1, FAKE_MI_FREE},    {FAKE_MI_FULL, 19, FAKE_MI_DELAYED},
        {FAKE_MI_FULL, 4, FAKE_MI_DELAYED},   {FAKE_MI_SECOND, 2, FAKE_MI_OTHERS},
        {FAKE_MI_SECOND, 6, FAKE_MI_DELAYED}, {FAKE_MI_OLD, 1, FAKE_MI_FREE},
        {FAKE_MI_OLD, 0, FAKE_MI_OTHERS},
    };
    unsigned first = fake_mimalloc_segment(f, 0);

    (void)fake_mimalloc_page(f, first, 1, 48, 40);
    (void)fake_mimalloc_page(f, first, 1, 8, FAKE_MI_MOST_BLOCKS);
    (void)fake_mimalloc_page(f, first, 8, 20480, 3);
    (void)fake_mimalloc_page(f, first, 5, 5 * FAKE_MI_SLICE, 1);
    (void)fake_mimalloc_page(f, first, 1, 64, 20);
    (void)fake_mimalloc_page(f, first, 1, 128, 0);
    (void)fake_mimalloc_page(f, fake_mimalloc_segment(f, 1), 1, 1024, 10);
    (void)fake_mimalloc_huge(f, 720);
    (void)fake_mimalloc_page(f, fake_mimalloc_segment(f, FAKE_MI_NOBODY), 1, 2048, 2);
    for (size_t i = 0; i < sizeof frees / sizeof *frees; i++)
        fake_mimalloc_free(f, frees[i][0], frees[i][1], frees[i][2]);
    assert(f->n_pages == FAKE_MI_PAGES && f->n_segments == FAKE_MI_MADE_SEGMENTS);
}

void fake_mimalloc_make(struct fake_mimalloc *f, unsigned layout)
{
    fake_mimalloc_begin(f, layout);
    fake_mimalloc_fill(f);
}

/* ---- reading */

hs_status fake_mimalloc_read(struct fake_mimalloc *f, struct hs_heaps *heaps, struct hs_error *err)
{
    fake_mimalloc_close(f);
    f->mappings[0] = (struct hs_mapping){.begin = FAKE_MI_HEAPS,
                                         .end = fake_mimalloc_heap(FAKE_MI_THREADS),
                                         .readable = true,
                                         .writable = true};
    f->mappings[1] = (struct hs_mapping){
        .begin = FAKE_MI_BASE, .end = f->end, .readable = true, .writable = true};
    f->target = (struct hs_target){.pid = 1,
                                   .core = (struct hs_core *)(void *)place,
                                   .mappings = f->mappings,
                                   .n_mappings = 2};
    f->findings = (struct hs_findings){.strings = &f->strings};
    f->process =
        (struct hs_process_copy){&f->target, &f->image, &f->objects, &f->findings, NULL, NULL};
    for (unsigned i = 0; i < f->n_pieces; i++)
        HS_TRY(hs_image_add(&f->image, f->pieces[i].begin, f->pieces[i].bytes, f->pieces[i].n_bytes,
                            err));
    HS_TRY(hs_heaps_open(heaps, &f->process, err));
    return hs_heaps_mark(heaps, &f->process, err);
}

void fake_mimalloc_close(struct fake_mimalloc *f)
{
    hs_findings_fini(&f->findings);
    hs_strtab_fini(&f->strings);
    hs_image_fini(&f->image);
}
