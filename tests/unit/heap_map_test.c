/* links: hs_heaps */
#include "unit.h"

#include "base/alloc.h"
#include "base/load.h"
#include "fail_each.h"
#include "heaps/heap_map.h"
#include "heaps/heap_map_pages.h"

/* A small world at the address BASE, whose every byte has one owner by the naive rules. */
#define BASE ((hs_addr)0x7f0000000000)
#define WORLD ((size_t)1 << 16)

static struct hs_error err;
static uint8_t memory[WORLD];
static struct hs_image image;
static struct hs_heap_map map;
static uint64_t random_state = 12345;

static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

static int set_up(void **state)
{
    memset(memory, 0, sizeof memory);
    assert_int_equal(hs_image_add(&image, BASE, memory, sizeof memory, &err), HS_OK);
    hs_heap_map_init(&map, &image);
    return 0;
}

static int tear_down(void **state)
{
    hs_heap_map_fini(&map);
    hs_heap_map_fini(&map);
    hs_heap_map_fini(NULL);
    hs_image_fini(&image);
    return 0;
}

static void add(uint8_t form, hs_addr begin, hs_addr end, uint64_t unit_bytes, uint32_t tag)
{
    struct hs_heap_span span = {.begin = begin,
                                .end = end,
                                .unit_bytes = unit_bytes,
                                .tag = tag,
                                .form = form,
                                .owner = HS_OWNER_glibc};
    assert_int_equal(hs_heap_map_add(&map, &span, &err), HS_OK);
}

static uint64_t seal(void)
{
    uint64_t n_refused = UINT64_MAX;
    assert_int_equal(hs_heap_map_seal(&map, &n_refused, &err), HS_OK);
    for (size_t i = 1; i < map.n_spans; i++)
        assert_true(map.spans[i - 1].end <= map.spans[i].begin);
    return n_refused;
}

static void put_size(hs_addr block, uint64_t word)
{
    memcpy(memory + (block - 8 - BASE), &word, sizeof word);
}

static void expect(uint64_t word, enum hs_pointer how, hs_addr begin, uint64_t n_bytes,
                   uint64_t rank)
{
    struct hs_heap_block block = {0};
    assert_int_equal(hs_heap_map_resolve(&map, word, &block), how);
    if (how == HS_POINTER_NONE) {
        assert_null(block.span);
        return;
    }
    assert_true(block.begin == begin);
    assert_int_equal(block.n_bytes, n_bytes);
    assert_int_equal(block.rank, rank);
    if (begin - BASE < WORLD)
        assert_ptr_equal(block.bytes, memory + (begin - BASE));
}

/* ---- forms */

/* Once indexed, small chunks are known without their headers: the copy may be far from memory. */
static void small_chunks_need_no_header(void **state)
{
    add(HS_SPAN_HEADERS, BASE + 16, BASE + 60000, 0, 0);
    assert_int_equal(seal(), 0);
    put_size(BASE + 16, 48 | 1);          /* a live one follows */
    put_size(BASE + 64, 64 | 1);          /* a free one */
    put_size(BASE + 1024, 16384 - 16);    /* nothing near: still found by its end */
    put_size(BASE + 20000, 36000);        /* far: by its header */
    put_size(BASE + 20000 + 36000, 8192); /* the last one: up to the end of the span */
    const hs_addr at[] = {16, 64, 1024, 20000, 56000};
    for (size_t i = 0; i < 5; i++)
        assert_true(hs_heap_map_set(&map, BASE + at[i]));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    for (size_t i = 0; i < 3; i++)
        put_size(BASE + at[i], UINT64_MAX);
    expect(BASE + 16, HS_POINTER_START, BASE + 16, 40, 0);
    expect(BASE + 55, HS_POINTER_INTERIOR, BASE + 16, 40, 0);
    expect(BASE + 64 + 56, HS_POINTER_PAST_END, BASE + 64, 56, 1);
    expect(BASE + 64 + 57, HS_POINTER_NONE, 0, 0, 0);
    expect(BASE + 9000, HS_POINTER_INTERIOR, BASE + 1024, 16384 - 24, 2);
    expect(BASE + 30000, HS_POINTER_INTERIOR, BASE + 20000, 36000 - 8, 3);
    expect(BASE + 59000, HS_POINTER_INTERIOR, BASE + 56000, 4000, 4);
    struct hs_heap_iterator it = {.map = &map};
    struct hs_heap_block block;
    for (uint64_t rank = 5; rank-- > 0;) {
        hs_heap_map_seek(&it, rank);
        assert_true(hs_heap_map_next(&it, &block));
        assert_true(block.rank == rank && block.begin == BASE + at[rank]);
    }
}

static void chunks_have_the_size_of_their_header(void **state)
{
    add(HS_SPAN_HEADERS, BASE + 16, BASE + 4096, 0, 0);
    assert_int_equal(seal(), 0);
    put_size(BASE + 16, 48 | 1);
    put_size(BASE + 64, 32 | 5);
    put_size(BASE + 1024, 8192 | 2); /* says more than the span holds */
    assert_true(hs_heap_map_set(&map, BASE + 16));
    assert_true(hs_heap_map_set(&map, BASE + 64));
    assert_true(hs_heap_map_set(&map, BASE + 1024));
    assert_false(hs_heap_map_set(&map, BASE + 24));
    assert_false(hs_heap_map_set(&map, BASE));
    assert_false(hs_heap_map_set(&map, BASE + 4096));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    assert_int_equal(map.n_blocks, 3);
    expect(BASE + 15, HS_POINTER_NONE, 0, 0, 0);
    expect(BASE + 16, HS_POINTER_START, BASE + 16, 40, 0);
    expect(BASE + 17, HS_POINTER_INTERIOR, BASE + 16, 40, 0);
    expect(BASE + 55, HS_POINTER_INTERIOR, BASE + 16, 40, 0);
    expect(BASE + 56, HS_POINTER_PAST_END, BASE + 16, 40, 0);
    expect(BASE + 57, HS_POINTER_NONE, 0, 0, 0);
    expect(BASE + 64, HS_POINTER_START, BASE + 64, 24, 1);
    expect(BASE + 88, HS_POINTER_PAST_END, BASE + 64, 24, 1);
    expect(BASE + 900, HS_POINTER_NONE, 0, 0, 0);
    expect(BASE + 4095, HS_POINTER_INTERIOR, BASE + 1024, 3072, 2);
    expect(BASE + 4096, HS_POINTER_PAST_END, BASE + 1024, 3072, 2);
    expect(BASE + 4097, HS_POINTER_NONE, 0, 0, 0);
}

static void hostile_headers_make_no_blocks(void **state)
{
    static const uint64_t words[] = {0, 7, 8, 16, 31};
    add(HS_SPAN_HEADERS, BASE + 16, BASE + 4096, 0, 0);
    seal();
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        put_size(BASE + 32, words[i]);
        assert_false(hs_heap_map_set(&map, BASE + 32));
    }
    put_size(BASE + 32, UINT64_MAX);
    assert_true(hs_heap_map_set(&map, BASE + 32));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    expect(BASE + 32, HS_POINTER_START, BASE + 32, 4096 - 32, 0);
    /* Changed behind our back: a block is never empty. */
    put_size(BASE + 32, 0);
    expect(BASE + 32, HS_POINTER_START, BASE + 32, 16, 0);
}

static void slabs_have_regions_of_one_size(void **state)
{
    add(HS_SPAN_UNIFORM, BASE + 8, BASE + 8 + 100, 24, 9); /* four regions, four bytes too many */
    add(HS_SPAN_SINGLE, BASE + 104, BASE + 1000, 0, 8);
    assert_int_equal(seal(), 0);
    assert_true(hs_heap_map_set(&map, BASE + 8));
    assert_true(hs_heap_map_set(&map, BASE + 8 + 72));
    assert_false(hs_heap_map_set(&map, BASE + 16));
    assert_true(hs_heap_map_set(&map, BASE + 104));
    assert_false(hs_heap_map_set(&map, BASE + 105));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    expect(BASE + 8, HS_POINTER_START, BASE + 8, 24, 0);
    expect(BASE + 31, HS_POINTER_INTERIOR, BASE + 8, 24, 0);
    expect(BASE + 32, HS_POINTER_NONE, 0, 0, 0); /* the next region begins there, and is free */
    expect(BASE + 103, HS_POINTER_INTERIOR, BASE + 80, 24, 1);
    expect(BASE + 104, HS_POINTER_START, BASE + 104, 896, 2);
    expect(BASE + 999, HS_POINTER_INTERIOR, BASE + 104, 896, 2);
    expect(BASE + 1000, HS_POINTER_NONE, 0, 0, 0);
    hs_heap_map_clear(&map, BASE + 8);
    hs_heap_map_clear(&map, BASE + 9); /* no place: nothing happens */
    assert_false(hs_heap_map_is_set(&map, BASE + 8));
    assert_true(hs_heap_map_is_set(&map, BASE + 80));
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 80)->tag, 9);
    uint64_t n_bytes = 0;
    assert_false(hs_heap_map_take(&map, BASE + 8, &n_bytes));
    assert_false(hs_heap_map_take(&map, BASE + 81, &n_bytes));
    assert_true(hs_heap_map_take(&map, BASE + 80, &n_bytes));
    assert_int_equal(n_bytes, 24);
    assert_false(hs_heap_map_is_set(&map, BASE + 80));
    assert_true(hs_heap_map_take(&map, BASE + 104, &n_bytes));
    assert_int_equal(n_bytes, 896);
    assert_null(hs_heap_map_span_at(&map, UINT64_MAX));
}

/* Far more than the words of the bitmap that are gone through one by one. */
static void large_marked_blocks(void **state)
{
    enum { LARGE = 30000 };
    add(HS_SPAN_MARKED, BASE + 8, BASE + 8 + 2 * LARGE, 0, 0);
    seal();
    assert_true(hs_heap_map_set_marked(&map, BASE + 8, BASE + 16));
    assert_true(hs_heap_map_set_marked(&map, BASE + 32, BASE + 32 + LARGE));
    assert_true(hs_heap_map_set_marked(&map, BASE + 40 + LARGE, BASE + 8 + 2 * LARGE));
    assert_false(hs_heap_map_set_marked(&map, BASE + 24, BASE + 16 + 2 * LARGE));
    assert_false(hs_heap_map_set_marked(&map, BASE + 24, BASE + 24));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    expect(BASE + 8, HS_POINTER_START, BASE + 8, 8, 0);
    expect(BASE + 24, HS_POINTER_NONE, 0, 0, 0);
    expect(BASE + 31 + LARGE, HS_POINTER_INTERIOR, BASE + 32, LARGE, 1);
    expect(BASE + 32 + LARGE, HS_POINTER_PAST_END, BASE + 32, LARGE, 1);
    expect(BASE + 7 + 2 * LARGE, HS_POINTER_INTERIOR, BASE + 40 + LARGE, LARGE - 32, 2);
    expect(BASE + 8 + 2 * LARGE, HS_POINTER_PAST_END, BASE + 40 + LARGE, LARGE - 32, 2);
}

static void what_can_be_no_span_is_refused(void **state)
{
    hs_addr end = (hs_addr)1 << 47;
    add(HS_SPAN_SINGLE, BASE, BASE, 0, 0);
    add(HS_SPAN_SINGLE, BASE + 8, BASE, 0, 0);
    add(HS_SPAN_SINGLE, 0, 4096, 0, 0);
    add(HS_SPAN_SINGLE, end - 4096, end + 1, 0, 0);
    add(HS_SPAN_SINGLE, UINT64_MAX - 4096, UINT64_MAX, 0, 0);
    add(HS_SPAN_HEADERS, BASE + 8, BASE + 4096, 0, 0);
    add(HS_SPAN_UNIFORM, BASE, BASE + 4096, 0, 0);
    add(HS_SPAN_UNIFORM, BASE, BASE + 4096, 7, 0);
    add(HS_SPAN_UNIFORM, BASE, BASE + 4096, 4097, 0);
    add(HS_SPAN_MARKED, BASE + 4, BASE + 4096, 0, 0);
    add(HS_SPAN_MARKED + 1, BASE, BASE + 4096, 8, 0);
    assert_int_equal(seal(), 11);
    assert_int_equal(map.n_spans, 0);
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    expect(BASE, HS_POINTER_NONE, 0, 0, 0);
    struct hs_heap_iterator it = {.map = &map};
    struct hs_heap_block block;
    assert_false(hs_heap_map_next(&it, &block));
}

static void the_borders_of_the_address_space(void **state)
{
    hs_addr end = (hs_addr)1 << 47;
    add(HS_SPAN_SINGLE, 1, 2, 0, 0);
    add(HS_SPAN_SINGLE, end - 8, end, 0, 0);
    assert_int_equal(seal(), 0);
    assert_true(hs_heap_map_set(&map, 1));
    assert_true(hs_heap_map_set(&map, end - 8));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    expect(0, HS_POINTER_NONE, 0, 0, 0);
    expect(1, HS_POINTER_START, 1, 1, 0);
    expect(2, HS_POINTER_NONE, 0, 0, 0);
    expect(end - 1, HS_POINTER_INTERIOR, end - 8, 8, 1);
    expect(end, HS_POINTER_NONE, 0, 0, 0);
    expect(UINT64_MAX, HS_POINTER_NONE, 0, 0, 0);
}

/* A gap in the copy inside a span: blocks around it still have their bytes. */
static void a_span_in_pieces_of_the_copy(void **state)
{
    struct hs_image holed = {0};
    assert_int_equal(hs_image_add(&holed, BASE, memory, 4096, &err), HS_OK);
    assert_int_equal(hs_image_add(&holed, BASE + 8192, memory + 8192, 4096, &err), HS_OK);
    map.image = &holed;
    add(HS_SPAN_HEADERS, BASE + 16, BASE + 12288, 0, 0);
    seal();
    assert_null(map.spans[0].bytes);
    put_size(BASE + 32, 64 | 1);
    put_size(BASE + 4080, 64 | 1);
    put_size(BASE + 8208, 64 | 1);
    assert_true(hs_heap_map_set(&map, BASE + 32));
    assert_true(hs_heap_map_set(&map, BASE + 4080));
    assert_false(hs_heap_map_set(&map, BASE + 5008));
    assert_true(hs_heap_map_set(&map, BASE + 8208));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    expect(BASE + 40, HS_POINTER_INTERIOR, BASE + 32, 56, 0);
    expect(BASE + 8208, HS_POINTER_START, BASE + 8208, 56, 2);
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&map, BASE + 4080, &block), HS_POINTER_START);
    assert_null(block.bytes); /* its second half was not copied */
    hs_image_fini(&holed);
    map.image = NULL;
}

/* ---- nesting and overlaps */

static void an_inner_span_cuts_the_outer_block(void **state)
{
    add(HS_SPAN_HEADERS, BASE + 16, BASE + 8192, 0, 1);
    add(HS_SPAN_UNIFORM, BASE + 1064, BASE + 1064 + 96, 32, 2);
    add(HS_SPAN_SINGLE, BASE + 2064, BASE + 2100, 0, 3); /* where an outer block begins */
    assert_int_equal(seal(), 0);
    put_size(BASE + 1024, 512 | 1);
    put_size(BASE + 2064, 64 | 1);
    put_size(BASE + 3072, 64 | 1);
    assert_true(hs_heap_map_set(&map, BASE + 1024));
    assert_true(hs_heap_map_set(&map, BASE + 1064 + 32));
    assert_true(hs_heap_map_set(&map, BASE + 2064)); /* it is the inner one's */
    assert_true(hs_heap_map_set(&map, BASE + 3072));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    assert_int_equal(map.n_blocks, 4);
    expect(BASE + 1063, HS_POINTER_INTERIOR, BASE + 1024, 40, 0);
    expect(BASE + 1064, HS_POINTER_NONE, 0, 0, 0);
    expect(BASE + 1096, HS_POINTER_START, BASE + 1096, 32, 1);
    expect(BASE + 1160, HS_POINTER_NONE, 0, 0, 0); /* behind the pool, in the same chunk */
    expect(BASE + 2064, HS_POINTER_START, BASE + 2064, 36, 2);
    expect(BASE + 3080, HS_POINTER_INTERIOR, BASE + 3072, 56, 3);
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 3072)->tag, 1);
}

static void of_two_overlapping_spans_the_first_added_stays(void **state)
{
    add(HS_SPAN_SINGLE, BASE + 100, BASE + 200, 0, 1);
    add(HS_SPAN_SINGLE, BASE + 50, BASE + 150, 0, 2);  /* begins before, goes */
    add(HS_SPAN_SINGLE, BASE + 150, BASE + 250, 0, 3); /* goes */
    add(HS_SPAN_SINGLE, BASE + 100, BASE + 200, 0, 4); /* the same again, goes */
    add(HS_SPAN_SINGLE, BASE + 110, BASE + 150, 0, 5); /* inside, stays */
    add(HS_SPAN_SINGLE, BASE + 120, BASE + 130, 0, 6); /* deeper, goes */
    add(HS_SPAN_SINGLE, BASE + 300, BASE + 400, 0, 7);
    assert_int_equal(seal(), 4);
    assert_int_equal(map.n_spans, 3);
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 105)->tag, 1);
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 125)->tag, 5);
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 300)->tag, 7);
    assert_null(hs_heap_map_span_at(&map, BASE + 50));
    assert_null(hs_heap_map_span_at(&map, BASE + 150)); /* the rest of 1: no block begins there */
}

/* An outer span that has to go leaves those inside of it. */
static void a_refused_outer_span_leaves_its_inner_ones(void **state)
{
    add(HS_SPAN_SINGLE, BASE + 180, BASE + 300, 0, 1);
    add(HS_SPAN_SINGLE, BASE + 110, BASE + 120, 0, 2);
    add(HS_SPAN_SINGLE, BASE + 130, BASE + 140, 0, 3);
    add(HS_SPAN_SINGLE, BASE + 100, BASE + 200, 0, 4);
    assert_int_equal(seal(), 1);
    assert_int_equal(map.n_spans, 3);
    assert_null(hs_heap_map_span_at(&map, BASE + 105));
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 115)->tag, 2);
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 135)->tag, 3);
    assert_int_equal(hs_heap_map_span_at(&map, BASE + 185)->tag, 1);
}

/* ---- everything against a table with an entry per byte */

struct naive_block {
    hs_addr begin, end;
    uint8_t form; /* of its span */
};
static struct naive_block naive[WORLD];
static size_t n_naive;
static uint32_t holder[WORLD]; /* number of the block that holds the byte, or n_naive */

/* Chunks in [begin, end) one after another, some alive. Number of bytes used. */
static void make_chunks(hs_addr begin, hs_addr end)
{
    for (hs_addr at = begin; at + 64 < end;) {
        uint64_t size = 32 + 16 * next_random(next_random(8) == 0 ? 600 : 8);
        put_size(at, size | next_random(8));
        at += size;
    }
}

static void set_chunks(hs_addr begin, hs_addr end)
{
    for (hs_addr at = begin; at + 64 < end;) {
        uint64_t size = hs_load_u64(memory + (at - 8 - BASE));
        size &= ~UINT64_C(7);
        const struct hs_heap_span *span = hs_heap_map_span_at(&map, at);
        if (next_random(3) != 0 && span != NULL && span->form == HS_SPAN_HEADERS) {
            assert_true(hs_heap_map_set(&map, at));
            hs_addr stop = at + size - 8 < span->end ? at + size - 8 : span->end;
            naive[n_naive++] = (struct naive_block){at, stop, HS_SPAN_HEADERS};
        }
        at += size;
    }
}

static void set_regions(const struct hs_heap_span *span)
{
    for (hs_addr at = span->begin; at < span->end; at += span->unit_bytes)
        if (next_random(2) != 0) {
            assert_true(hs_heap_map_set(&map, at));
            hs_addr stop = at + span->unit_bytes < span->end ? at + span->unit_bytes : span->end;
            naive[n_naive++] = (struct naive_block){at, stop, span->form};
        }
}

/* Blocks of any size with gaps, some of them adjacent. */
static void set_marked(const struct hs_heap_span *span)
{
    for (hs_addr at = span->begin; at < span->end;) {
        uint64_t n_bytes = 8 + 8 * next_random(next_random(8) == 0 ? 2000 : 6);
        hs_addr stop = at + n_bytes < span->end ? at + n_bytes : span->end & ~UINT64_C(7);
        if (stop <= at)
            return;
        if (next_random(3) != 0) {
            assert_true(hs_heap_map_set_marked(&map, at, stop));
            naive[n_naive++] = (struct naive_block){at, stop, HS_SPAN_MARKED};
        }
        at = stop + 8 * next_random(3);
    }
}

static int by_begin(const void *left, const void *right)
{
    const struct naive_block *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Behind the last block of a form, at an address that no block holds. */
static bool may_be_past_end(uint8_t form, hs_addr at)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(&map, at);

    return (form == HS_SPAN_HEADERS || form == HS_SPAN_MARKED) &&
           (span == NULL || span->form == form);
}

static void compare_with_naive(void)
{
    struct hs_heap_iterator it = {.map = &map};
    struct hs_heap_block block;

    qsort(naive, n_naive, sizeof naive[0], by_begin);
    for (size_t i = 0; i < WORLD; i++)
        holder[i] = (uint32_t)n_naive;
    for (size_t i = 0; i < n_naive; i++)
        for (hs_addr at = naive[i].begin; at < naive[i].end; at++)
            holder[at - BASE] = (uint32_t)i;
    assert_int_equal(map.n_blocks, n_naive);
    for (size_t i = 0; i < n_naive; i++) {
        assert_true(hs_heap_map_next(&it, &block));
        assert_true(block.begin == naive[i].begin && block.rank == i);
        assert_int_equal(block.n_bytes, naive[i].end - naive[i].begin);
    }
    assert_false(hs_heap_map_next(&it, &block));
    for (size_t i = 1; i < WORLD; i++) {
        hs_addr at = BASE + i;
        uint32_t by = holder[i], before = holder[i - 1];
        if (by != n_naive)
            expect(at, at == naive[by].begin ? HS_POINTER_START : HS_POINTER_INTERIOR,
                   naive[by].begin, naive[by].end - naive[by].begin, by);
        else if (before != n_naive && may_be_past_end(naive[before].form, at))
            expect(at, HS_POINTER_PAST_END, naive[before].begin,
                   naive[before].end - naive[before].begin, before);
        else
            expect(at, HS_POINTER_NONE, 0, 0, 0);
    }
}

/* What begins below each address, by counting. */
static void count_below(void)
{
    uint64_t n_below = 0;
    size_t next = 0;

    for (hs_addr at = BASE; at <= BASE + WORLD; at++) {
        while (next < n_naive && naive[next].begin < at)
            next++, n_below++;
        assert_int_equal(hs_heap_map_below(&map, at), n_below);
    }
    assert_int_equal(hs_heap_map_below(&map, 0), 0);
    assert_int_equal(hs_heap_map_below(&map, UINT64_MAX), n_naive);
}

/* A pool of any form inside of chunks. */
static void add_inner(hs_addr at)
{
    static const uint8_t forms[] = {HS_SPAN_UNIFORM, HS_SPAN_SINGLE, HS_SPAN_MARKED};
    uint8_t form = forms[next_random(3)];
    hs_addr begin = form == HS_SPAN_MARKED ? (at + 7) & ~UINT64_C(7) : at;

    add(form, begin, begin + 100 + next_random(400), 8 + next_random(70), 1);
}

/* Runs of chunks with pools inside of them, slabs between. */
static void agrees_with_a_table_of_bytes(void **state)
{
    size_t n_chunks = 0;

    for (unsigned round = 0; round < 60; round++) {
        hs_addr begins[8], ends[8];
        hs_addr at = BASE + 16;
        size_t n = 1 + next_random(6);
        n_naive = 0;
        for (size_t i = 0; i < n; i++) {
            hs_addr end = at + 512 + 16 * next_random(400);
            make_chunks(at, end);
            add(HS_SPAN_HEADERS, at, end, 0, 0);
            for (hs_addr in = at + next_random(2000); in + 600 < end; in += 700 + next_random(900))
                add_inner(in);
            begins[i] = at;
            ends[i] = end;
            at = (end + 8 * next_random(4) + 15) & ~UINT64_C(15);
            add(HS_SPAN_UNIFORM, at, at + 900, 8 + next_random(100), 1);
            at = (at + 900 + next_random(50) + 31) & ~UINT64_C(15);
        }
        assert_int_equal(seal(), 0);
        for (size_t i = 0; i < n; i++)
            set_chunks(begins[i], ends[i]);
        n_chunks += n_naive;
        for (size_t s = 0; s < map.n_spans; s++)
            if (map.spans[s].form == HS_SPAN_MARKED)
                set_marked(&map.spans[s]);
            else if (map.spans[s].form != HS_SPAN_HEADERS)
                set_regions(&map.spans[s]);
        assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
        compare_with_naive();
        count_below();
        tear_down(state);
        set_up(state);
    }
    assert_true(n_chunks > 1000);
}

/* Any spans at all: what stays is disjoint, and every byte has the span that a scan finds. */
static void random_spans_never_overlap(void **state)
{
    for (unsigned round = 0; round < 300; round++) {
        unsigned n = 1 + (unsigned)next_random(60);
        for (unsigned i = 0; i < n; i++) {
            hs_addr begin = BASE + next_random(4000);
            add((uint8_t)next_random(4), begin, begin + next_random(600), next_random(80), i);
        }
        seal();
        for (hs_addr at = BASE; at < BASE + 6000; at++) {
            const struct hs_heap_span *found = NULL;
            for (size_t i = 0; i < map.n_spans; i++)
                if (map.spans[i].begin <= at && at < map.spans[i].end)
                    found = &map.spans[i];
            assert_ptr_equal(hs_heap_map_span_at(&map, at), found);
            hs_heap_map_set(&map, at);
        }
        assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
        tear_down(state);
        set_up(state);
    }
}

/* ---- size */

static void spans_all_over_the_address_space(void **state)
{
    enum { N = 3000 };
    static hs_addr begins[N];
    for (unsigned i = 0; i < N; i++) {
        begins[i] = 4096 + i * (((hs_addr)1 << 47) / N - 8192);
        begins[i] &= ~UINT64_C(15);
        add(HS_SPAN_SINGLE, begins[i], begins[i] + 4096 * (1 + i % 3), 0, i);
    }
    assert_int_equal(seal(), 0);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(hs_heap_map_span_at(&map, begins[i] + 100)->tag, i);
        assert_null(hs_heap_map_span_at(&map, begins[i] - 1));
        assert_null(hs_heap_map_span_at(&map, begins[i] + 4096 * (1 + i % 3)));
    }
}

static void huge_spans_cost_no_tables(void **state)
{
    hs_addr tera = (hs_addr)1 << 40;
    add(HS_SPAN_UNIFORM, tera, 90 * tera, 1 << 20, 1);
    add(HS_SPAN_UNIFORM, 91 * tera, 120 * tera, tera, 2);
    assert_int_equal(seal(), 0);
    assert_int_equal(map.pages->n_leaves, 2);
    assert_true(hs_heap_map_set(&map, 50 * tera));
    assert_true(hs_heap_map_set(&map, 100 * tera));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    expect(50 * tera + 5, HS_POINTER_INTERIOR, 50 * tera, 1 << 20, 0);
    expect(101 * tera - 1, HS_POINTER_INTERIOR, 100 * tera, tera, 1);
    expect(90 * tera + 5, HS_POINTER_NONE, 0, 0, 0);
}

static void too_many_places_are_a_limit(void **state)
{
    uint64_t n_refused;
    add(HS_SPAN_HEADERS, 4096, (hs_addr)1 << 46, 0, 0);
    assert_int_equal(hs_heap_map_seal(&map, &n_refused, &err), HS_LIMIT);
    assert_false(map.is_sealed);
}

static hs_status build(void)
{
    static const struct hs_heap_span spans[] = {
        {.begin = BASE + 16, .end = BASE + 4096, .form = HS_SPAN_HEADERS},
        {.begin = BASE + 128, .end = BASE + 256, .unit_bytes = 16, .form = HS_SPAN_UNIFORM},
        {.begin = BASE + 8192, .end = BASE + 9000, .form = HS_SPAN_SINGLE},
    };
    uint64_t n_refused;

    for (size_t i = 0; i < 3; i++)
        HS_TRY(hs_heap_map_add(&map, &spans[i], &err));
    HS_TRY(hs_heap_map_seal(&map, &n_refused, &err));
    return hs_heap_map_index(&map, &err);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 6) {
        (void)FAIL_EACH_TRY(each, build());
        hs_heap_map_fini(&map);
        hs_heap_map_init(&map, &image);
    }
}

static void owners_have_names(void **state)
{
    for (unsigned owner = 0; owner < HS_N_OWNERS; owner++)
        assert_non_null(hs_heap_owner_name(owner));
    assert_null(hs_heap_owner_name(HS_N_OWNERS));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(small_chunks_need_no_header),
        TEST(chunks_have_the_size_of_their_header),
        TEST(hostile_headers_make_no_blocks),
        TEST(slabs_have_regions_of_one_size),
        TEST(large_marked_blocks),
        TEST(what_can_be_no_span_is_refused),
        TEST(the_borders_of_the_address_space),
        TEST(a_span_in_pieces_of_the_copy),
        TEST(an_inner_span_cuts_the_outer_block),
        TEST(of_two_overlapping_spans_the_first_added_stays),
        TEST(a_refused_outer_span_leaves_its_inner_ones),
        TEST(agrees_with_a_table_of_bytes),
        TEST(random_spans_never_overlap),
        TEST(spans_all_over_the_address_space),
        TEST(huge_spans_cost_no_tables),
        TEST(too_many_places_are_a_limit),
        TEST(every_allocation_may_fail),
        TEST(owners_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
