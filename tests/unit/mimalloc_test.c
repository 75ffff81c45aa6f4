/* links: hs_heaps hs_process hs_base */
/* The reader of mimalloc 2, on sound processes of every layout and on damaged ones. */
#include "unit.h"

#include "fail_each.h"
#include "fake_mimalloc.h"

enum { WORD = 8, NEWEST = 4, NEWEST_WITH_KEYS = 5, SECOND_SEGMENT = 1, LAST_SEGMENT = 3 };

static struct fake_mimalloc fake;
static struct hs_heaps heaps;
static struct hs_error err = HS_ERROR_INIT;

static void forget(void)
{
    hs_heaps_close(&heaps);
    fake_mimalloc_close(&fake);
}

static int set_up(void **state)
{
    fake_mimalloc_make(&fake, NEWEST);
    return 0;
}

static int tear_down(void **state)
{
    forget();
    return 0;
}

/* Another one, in the place of one that may have been read. */
static void make_again(unsigned layout)
{
    forget();
    fake_mimalloc_make(&fake, layout);
}

static void begin_again(unsigned layout)
{
    forget();
    fake_mimalloc_begin(&fake, layout);
}

static void read_fake(void)
{
    hs_heaps_close(&heaps);
    assert_int_equal(fake_mimalloc_read(&fake, &heaps, &err), HS_OK);
}

/* ---- what is found */

static uint64_t booked(enum hs_memory_state state, bool blocks)
{
    for (size_t i = 0; i < heaps.ledger.n_rows; i++)
        if (heaps.ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&fake.strings, heaps.ledger.rows[i].owner), "mimalloc") == 0)
            return blocks ? heaps.ledger.rows[i].n_blocks : heaps.ledger.rows[i].n_bytes;
    return 0;
}

static bool lives(unsigned page, unsigned number)
{
    struct hs_heap_block block;
    const hs_addr at = fake_mimalloc_block(&fake, page, number);

    if (hs_heap_map_resolve(&heaps.map, at, &block) != HS_POINTER_START)
        return false;
    assert_int_equal(block.span->owner, HS_OWNER_mimalloc);
    assert_int_equal(block.n_bytes, fake.pages[page].block_bytes);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, at + block.n_bytes - 1, &block),
                     HS_POINTER_INTERIOR);
    return true;
}

/* How many blocks of a page live, of those that the fake knows. */
static unsigned n_alive(unsigned page)
{
    unsigned n = 0;

    for (unsigned i = 0; i < fake.pages[page].capacity; i++)
        n += lives(page, i);
    return n;
}

static void is_page_read(unsigned page)
{
    for (unsigned i = 0; i < fake.pages[page].capacity; i++)
        assert_int_equal(lives(page, i), !fake.pages[page].is_free[i]);
}

struct sums {
    uint64_t n_live, n_free, live_bytes, bytes;
};

static struct sums sum_of(const struct fake_mimalloc *f)
{
    struct sums sums = {0};

    for (unsigned i = 0; i < f->n_pages; i++)
        for (unsigned k = 0; k < f->pages[i].capacity; k++) {
            sums.n_free += f->pages[i].is_free[k];
            sums.n_live += !f->pages[i].is_free[k];
            sums.live_bytes += f->pages[i].is_free[k] ? 0 : f->pages[i].block_bytes;
        }
    for (unsigned i = 0; i < f->n_segments; i++)
        sums.bytes += f->segments[i].n_slices * FAKE_MI_SLICE;
    return sums;
}

static void is_accounted_for(void)
{
    const struct sums sums = sum_of(&fake);
    uint64_t n_resident;

    assert_int_equal(heaps.map.n_blocks, sums.n_live);
    assert_int_equal(hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err), HS_OK);
    assert_int_equal(booked(HS_MEMORY_LIVE, true), sums.n_live);
    assert_int_equal(booked(HS_MEMORY_FREE, true), sums.n_free);
    assert_int_equal(booked(HS_MEMORY_LIVE, false), sums.live_bytes);
    assert_int_equal(booked(HS_MEMORY_INTERNAL, false), fake.n_segments * FAKE_MI_SLICE);
    assert_int_equal(booked(HS_MEMORY_FREE, false),
                     sums.bytes - sums.live_bytes - fake.n_segments * FAKE_MI_SLICE);
}

static void are_proofs(bool of_segments, bool of_pages)
{
    assert_int_equal(fake.findings.n_proofs, 2);
    assert_int_equal(fake.findings.proofs[0].holds, of_segments);
    assert_int_equal(fake.findings.proofs[1].holds, of_pages);
}

static const char *version(void)
{
    return hs_allocator_mimalloc.version(heaps.states[HS_OWNER_mimalloc]);
}

static void all_is_read(void)
{
    read_fake();
    assert_non_null(heaps.states[HS_OWNER_mimalloc]);
    assert_string_equal(version(), fake.shape.version);
    for (unsigned i = 0; i < fake.n_pages; i++)
        is_page_read(i);
    are_proofs(true, true);
    assert_int_equal(fake.findings.n_torn, 0);
    assert_int_equal(fake.findings.n_notes, 0);
    is_accounted_for();
}

static void reads_every_layout(void **state)
{
    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout++) {
        make_again(layout);
        all_is_read();
        assert_int_equal(heaps.map.n_blocks, 34 + 64 + 2 + 1 + 18 + 8 + 1);
    }
}

/* Where the first block begins depends on their size; other layouts may fit some of these pages. */
static void pages_of_all_sizes(void **state)
{
    static const uint64_t sizes[] = {2048, 16, 64, 72, 320, 512, 520, 1024, 1032, 8192, 57344};

    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout++) {
        begin_again(layout);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            unsigned segment = i < 2 ? fake_mimalloc_segment(&fake, 0) : 1;
            unsigned page = fake_mimalloc_page(&fake, segment, 1, sizes[i], 1);
            if (i % 2 != 0)
                fake_mimalloc_free(&fake, page, 0, FAKE_MI_FREE);
        }
        all_is_read();
    }
}

/* 2.1.4 and 2.1.7 have entries as 2.2, and headers as 2.1. */
static void words_in_a_header_come_and_go(void **state)
{
    for (unsigned layout = NEWEST; layout <= NEWEST_WITH_KEYS; layout++) {
        begin_again(layout);
        fake.shape.words_between = 0;
        fake_mimalloc_fill(&fake);
        all_is_read();
    }
}

static void padding_has_keys_and_hides_nothing(void **state)
{
    for (unsigned layout = 1; layout < FAKE_MI_LAYOUTS; layout += 2) {
        begin_again(layout);
        fake.is_padded = true;
        fake_mimalloc_fill(&fake);
        all_is_read();
    }
}

static void a_secure_build_guards_a_slice(void **state)
{
    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout++) {
        begin_again(layout);
        fake.is_secure = true;
        fake_mimalloc_fill(&fake);
        (void)fake_mimalloc_huge(&fake, 300); /* it has fewer entries, and one less than slices */
        all_is_read();
    }
}

static void huge_blocks_of_all_sizes(void **state)
{
    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout++) {
        make_again(layout);
        (void)fake_mimalloc_huge(&fake, 300);
        (void)fake_mimalloc_huge(&fake, (2U << 14) + 1);  /* just 2 GiB */
        (void)fake_mimalloc_huge(&fake, (2U << 14) + 13); /* more: an old entry does not say it */
        (void)fake_mimalloc_huge(&fake, 100000);
        all_is_read();
    }
}

/* Pages up to the end of a segment, so that no slice is left over; and none at all. */
static void full_and_empty_segments(void **state)
{
    (void)fake_mimalloc_page(&fake, SECOND_SEGMENT, FAKE_MI_SLICES - 2, 16 << 20, 1);
    unsigned empty = fake_mimalloc_segment(&fake, 0);
    assert_int_equal(fake.segments[SECOND_SEGMENT].next, FAKE_MI_SLICES);
    all_is_read();
    assert_int_equal(hs_ledger_owner_at(&heaps.ledger, fake.segments[empty].begin + (1 << 20)),
                     hs_ledger_owner_at(&heaps.ledger, fake.segments[0].begin));
}

/* Each is read as it fits; the version is told of the first. */
static void one_segment_of_another_layout(void **state)
{
    fake_mimalloc_become(&fake, 2);
    unsigned other = fake_mimalloc_page(&fake, fake_mimalloc_segment(&fake, 0), 1, 32, 30);
    fake_mimalloc_free(&fake, other, 11, FAKE_MI_FREE);
    fake_mimalloc_become(&fake, NEWEST);
    all_is_read();
}

static void a_heap_that_ends_with_its_memory(void **state)
{
    const hs_addr delayed = fake_mimalloc_heap(1) + fake.shape.delayed_word * WORD;

    fake_mimalloc_put(&fake, delayed + WORD, WORD, 77); /* no word names the thread */
    read_fake();
    assert_int_equal(n_alive(FAKE_MI_SECOND), 9); /* the one that was given back is not known */
    is_page_read(FAKE_MI_FULL);
    make_again(NEWEST);
    hs_addr heap = fake_mimalloc_heap(FAKE_MI_THREADS) - 3 * WORD; /* its keys would be outside */
    fake_mimalloc_put(&fake, heap + 2 * WORD, WORD, fake_mimalloc_get(&fake, delayed + WORD, WORD));
    fake_mimalloc_put(&fake, fake.pages[FAKE_MI_SECOND].entry + fake.shape.at_heap, WORD, heap);
    read_fake();
    assert_int_equal(n_alive(FAKE_MI_SECOND), 9);
    assert_int_equal(fake.findings.n_torn, 0);
}

static void a_list_of_a_heap_that_is_a_circle(void **state)
{
    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout += 2) {
        make_again(layout);
        hs_addr last = fake_mimalloc_block(&fake, FAKE_MI_FULL, 19);
        fake_mimalloc_put(&fake, last, WORD, fake_mimalloc_block(&fake, FAKE_MI_FULL, 4));
        all_is_read();
        make_again(layout);
        last = fake_mimalloc_block(&fake, FAKE_MI_FULL, 19);
        fake_mimalloc_put(&fake, last, WORD, last + WORD); /* into a block */
        all_is_read();
        make_again(layout);
        fake_mimalloc_put(&fake, fake_mimalloc_heap(0) + fake.shape.delayed_word * WORD, WORD, 12);
        read_fake();
        assert_int_equal(n_alive(FAKE_MI_FULL), 20);
    }
}

/* ---- damage to pages */

static hs_addr entry(unsigned page)
{
    return fake.pages[page].entry;
}

/* The small page does not agree with its lists; all others are read. */
static void is_torn_page(unsigned n_blocks)
{
    read_fake();
    are_proofs(true, false);
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(fake.findings.n_notes, 0);
    assert_int_equal(n_alive(FAKE_MI_SMALL), n_blocks);
    for (unsigned i = FAKE_MI_SMALL + 1; i < fake.n_pages; i++)
        is_page_read(i);
}

static void lists_that_are_damaged(void **state)
{
    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout++) {
        make_again(layout);
        const hs_addr begin = fake.pages[FAKE_MI_SMALL].begin;
        const hs_addr last = begin + 3 * 48;                         /* of the free ones: 5, 7, 3 */
        const hs_addr words[] = {begin + 5 * 48,     begin + 3 * 48, /* circles */
                                 begin + 0 * 48,     /* it is on another list, too */
                                 begin + 40 * 48,    /* none has been given out yet */
                                 begin + 6 * 48 + 8, /* into a block */
                                 begin - 48,         FAKE_MI_HEAPS,  1};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            make_again(layout);
            fake_mimalloc_put(&fake, last, WORD,
                              fake_mimalloc_link(&fake, FAKE_MI_SMALL, words[i]));
            is_torn_page(words[i] == begin ? 40 - 5 : 40 - 3);
        }
    }
}

/* A free block says where the next one is, and its memory was not copied. */
static void a_list_that_leads_to_what_is_not_there(void **state)
{
    fake_mimalloc_put(&fake, fake_mimalloc_block(&fake, FAKE_MI_MEDIUM, 1), WORD,
                      fake_mimalloc_block(&fake, FAKE_MI_MEDIUM, 2));
    read_fake();
    are_proofs(true, false);
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(n_alive(FAKE_MI_MEDIUM), 2);
}

static void counts_that_are_wrong(void **state)
{
    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout++) {
        make_again(layout);
        const hs_addr used = entry(FAKE_MI_SMALL) + fake.shape.at_used;
        fake_mimalloc_put(&fake, used, 2, 34);
        is_torn_page(34);
        make_again(layout);
        const hs_addr pages = fake_mimalloc_used(&fake, 0);
        fake_mimalloc_put(&fake, pages, WORD, 7);
        read_fake(); /* its pages are read all the same */
        are_proofs(false, true);
        assert_int_equal(fake.findings.n_torn, 1);
        for (unsigned i = 0; i < fake.n_pages; i++)
            is_page_read(i);
    }
}

/* ---- damage to segments */

/* One that cannot be is left out, and told; all others are read. */
static void is_left_out(unsigned segment)
{
    read_fake();
    are_proofs(false, true);
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(fake.findings.n_notes, 1);
    for (unsigned i = 0; i < fake.n_pages; i++)
        if (fake.pages[i].segment == segment)
            assert_int_equal(n_alive(i), 0);
        else
            is_page_read(i);
}

static void runs_that_do_not_meet(void **state)
{
    static const uint64_t counts[] = {0, 2, 8, 512, 600, 0xffffffff, 0x100000001};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        make_again(NEWEST);
        fake_mimalloc_put(&fake, entry(FAKE_MI_TINY) + FAKE_MI_COUNT, WORD, counts[i]);
        is_left_out(0);
    }
    make_again(NEWEST);
    const struct fake_mi_segment *first = &fake.segments[0]; /* its last run is too short */
    const hs_addr rest = fake_mimalloc_entry(&fake, 0, first->next);
    fake_mimalloc_put(&fake, rest, 4, first->n_entries - first->next - 2);
    fake_mimalloc_put(&fake, fake_mimalloc_entry(&fake, 0, first->n_entries - 2), WORD, 0);
    is_left_out(0);
}

struct field {
    unsigned at, n_bytes;
    uint64_t value;
};

static void pages_that_cannot_be(void **state)
{
    for (unsigned layout = 0; layout < FAKE_MI_LAYOUTS; layout++) {
        make_again(layout);
        const struct fake_mi_shape s = fake.shape;
        const hs_addr begin = fake.pages[FAKE_MI_SMALL].begin;
        const struct field fields[] = {
            {FAKE_MI_CAPACITY, 2, 65535},
            {FAKE_MI_RESERVED, 2, 0},
            {FAKE_MI_RESERVED, 2, 39},
            {FAKE_MI_RESERVED, 2, 65535},
            {s.at_used, s.used_bytes, 41},
            {s.at_used, s.used_bytes, 0xffff},
            {s.at_block_bytes, s.size_bytes, 1},
            {s.at_block_bytes, s.size_bytes, 47},
            {s.at_block_bytes, s.size_bytes, 1 << 20},
            {s.at_block_bytes, s.size_bytes, UINT64_C(0xfffffffffffffff8)},
            {s.at_block_bytes, s.size_bytes, UINT64_C(0x8000000080000000)},
            {FAKE_MI_FREE_LIST, 8, begin - 48},
            {FAKE_MI_FREE_LIST, 8, begin + 8},
            {s.at_local_free, 8, begin + 40 * 48},
            {s.at_thread_free, 8, UINT64_MAX},
        };
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            make_again(layout);
            fake_mimalloc_put(&fake, entry(FAKE_MI_SMALL) + fields[i].at, fields[i].n_bytes,
                              fields[i].value);
            is_left_out(0);
        }
    }
}

/* Entries of 2.0 with keys are as long as those of 2.2: where they do not see that there is a page
 * they would take all slices for free. */
static void another_layout_finds_no_page(void **state)
{
    fake_mimalloc_put(&fake, entry(FAKE_MI_SECOND) + FAKE_MI_CAPACITY, 2, 65535);
    is_left_out(SECOND_SEGMENT);
    begin_again(NEWEST);
    fake.shape.words_between = 0;
    fake_mimalloc_fill(&fake);
    fake_mimalloc_put(&fake, entry(FAKE_MI_SECOND) + FAKE_MI_CAPACITY, 2, 65535);
    is_left_out(SECOND_SEGMENT);
}

/* All blocks of all pages that there may be, at sizes whose product is more than a word. */
static void as_many_blocks_as_can_be_said(void **state)
{
    const uint64_t sizes[] = {UINT64_C(1) << 47, UINT64_C(1) << 48, UINT64_C(1) << 63,
                              UINT64_C(0x10001) << 32};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_again(NEWEST);
        fake_mimalloc_put(&fake, entry(FAKE_MI_LARGE) + FAKE_MI_CAPACITY, 2, 65535);
        fake_mimalloc_put(&fake, entry(FAKE_MI_LARGE) + FAKE_MI_RESERVED, 2, 65535);
        fake_mimalloc_put(&fake, entry(FAKE_MI_LARGE) + fake.shape.at_block_bytes, 8, sizes[i]);
        is_left_out(0);
    }
}

static void first_blocks_that_cannot_be(void **state)
{
    const hs_addr page = fake.segments[0].begin + FAKE_MI_SLICE;
    const hs_addr begins[] = {0, page - 8, page + FAKE_MI_SLICE, UINT64_MAX, UINT64_MAX - 7};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        make_again(NEWEST);
        fake_mimalloc_put(&fake, entry(FAKE_MI_SMALL) + fake.shape.at_start, WORD, begins[i]);
        is_left_out(0);
    }
    make_again(NEWEST); /* at no word */
    fake_mimalloc_put(&fake, entry(FAKE_MI_TINY) + fake.shape.at_start, WORD,
                      fake.pages[FAKE_MI_TINY].begin - 7);
    is_left_out(0);
}

/* Then it is no segment at all, and nobody can tell that it was one. */
static void is_no_segment(unsigned segment)
{
    read_fake();
    are_proofs(true, true);
    assert_int_equal(fake.findings.n_torn, 0);
    assert_int_equal(fake.findings.n_notes, 0);
    for (unsigned i = 0; i < fake.n_pages; i++)
        if (fake.pages[i].segment == segment)
            assert_int_equal(n_alive(i), 0);
        else
            is_page_read(i);
}

static void headers_that_are_none(void **state)
{
    static const struct field words[] = {
        {FAKE_MI_N_SLICES, 8, 511},        {FAKE_MI_N_SLICES, 8, 513},    {FAKE_MI_N_SLICES, 8, 0},
        {FAKE_MI_N_SLICES, 8, UINT64_MAX}, {FAKE_MI_N_HEADER, 8, 0},      {FAKE_MI_N_HEADER, 8, 2},
        {FAKE_MI_N_HEADER, 8, 17},         {FAKE_MI_KIND, 4, 2},          {FAKE_MI_ENTRIES, 8, 510},
        {FAKE_MI_ENTRIES, 8, 513},         {FAKE_MI_ENTRIES, 8, 0x10200},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        make_again(NEWEST);
        fake_mimalloc_put(&fake, fake_mimalloc_header(&fake, 0, words[i].at), words[i].n_bytes,
                          words[i].value);
        is_no_segment(0);
    }
    make_again(NEWEST); /* the first entry agrees, and the last page is where this one ends */
    fake_mimalloc_put(&fake, fake_mimalloc_header(&fake, 0, FAKE_MI_N_HEADER), WORD, 17);
    fake_mimalloc_put(&fake, fake_mimalloc_entry(&fake, 0, 0), 4, 17);
    is_no_segment(0);
    make_again(NEWEST); /* so many that their bytes are no number */
    fake_mimalloc_put(&fake, fake_mimalloc_header(&fake, 2, FAKE_MI_N_SLICES) + 6, 2, 1);
    is_no_segment(2);
}

/* It would hold all that is behind it, up to the end of all addresses and beyond. */
static void a_header_that_claims_all(void **state)
{
    static const uint64_t slices[] = {514, 1024, 4096, HS_USER_END / FAKE_MI_SLICE,
                                      HS_USER_END / FAKE_MI_SLICE + 1};

    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        make_again(NEWEST);
        fake_mimalloc_put(&fake, fake_mimalloc_header(&fake, 0, FAKE_MI_KIND), 4, 1);
        fake_mimalloc_put(&fake, fake_mimalloc_header(&fake, 0, FAKE_MI_N_SLICES), WORD, slices[i]);
        read_fake();
        assert_int_equal(n_alive(FAKE_MI_SMALL), 0);
        for (unsigned k = FAKE_MI_SECOND; k < fake.n_pages; k++)
            is_page_read(k);
    }
}

/* No more than there are addresses, whatever its slices say. */
static void a_segment_beyond_the_last_address(void **state)
{
    fake.end = HS_USER_END - FAKE_MI_SEGMENT;
    (void)fake_mimalloc_huge(&fake, 1024);
    fake.end = HS_USER_END;
    is_no_segment(FAKE_MI_MADE_SEGMENTS);
    make_again(NEWEST);
    fake.end = HS_USER_END - FAKE_MI_SEGMENT;
    (void)fake_mimalloc_huge(&fake, FAKE_MI_SLICES - 1);
    all_is_read();
}

/* A block of a huge segment holds what looks like a segment, a sound one: it is the block's. */
static void what_a_huge_block_holds_is_its_own(void **state)
{
    begin_again(NEWEST);
    unsigned huge = fake_mimalloc_huge(&fake, 1024);
    const hs_addr end = fake.end;
    fake.end = fake.segments[0].begin + FAKE_MI_SEGMENT;
    unsigned held = fake_mimalloc_page(&fake, fake_mimalloc_segment(&fake, 0), 1, 64, 10);
    fake.end = end;
    read_fake();
    is_page_read(huge);
    assert_int_equal(n_alive(held), 0);
    assert_int_equal(heaps.map.n_blocks, 1);
    are_proofs(true, true);
}

/* A huge segment that was given back, whose header nobody has written over since. */
static void a_segment_behind_a_stale_header(void **state)
{
    begin_again(NEWEST);
    unsigned stale = fake_mimalloc_huge(&fake, 1024);
    fake_mimalloc_put(&fake, fake_mimalloc_used(&fake, 0), WORD, 0);
    fake_mimalloc_put(&fake, entry(stale) + fake.shape.at_block_bytes, WORD, 0);
    const hs_addr end = fake.end;
    fake.end = fake.segments[0].begin + FAKE_MI_SEGMENT;
    unsigned page = fake_mimalloc_page(&fake, fake_mimalloc_segment(&fake, 0), 1, 64, 10);
    fake.end = end;
    read_fake();
    assert_int_equal(n_alive(stale), 0);
    is_page_read(page);
    are_proofs(true, true);
    uint64_t n_resident;
    assert_int_equal(hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err), HS_OK);
    assert_int_equal(booked(HS_MEMORY_INTERNAL, false), 2 * FAKE_MI_SLICE);
    assert_int_equal(booked(HS_MEMORY_FREE, false) + booked(HS_MEMORY_LIVE, false),
                     2 * (FAKE_MI_SEGMENT - FAKE_MI_SLICE));
}

/* ---- memory that is not there */

/* The last segment's memory ends after so many bytes. */
static void end_after(size_t n_bytes)
{
    make_again(NEWEST);
    for (unsigned i = 0; i < fake.n_pieces; i++)
        if (fake.pieces[i].begin == fake.segments[LAST_SEGMENT].begin)
            fake.pieces[i].n_bytes = n_bytes;
}

static void headers_at_the_end_of_what_is_there(void **state)
{
    static const size_t none[] = {8, 264, 304, 320, 1016};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        end_after(none[i]);
        is_no_segment(LAST_SEGMENT);
    }
    end_after(1024); /* a header, and most of its entries are missing */
    is_left_out(LAST_SEGMENT);
    const hs_addr begin = fake.segments[LAST_SEGMENT].begin;
    end_after(fake_mimalloc_entry(&fake, LAST_SEGMENT, FAKE_MI_SLICES) - begin);
    all_is_read(); /* just all of them */
}

/* Only private memory that can be written has segments. */
static void memory_of_other_kinds(void **state)
{
    static const struct hs_mapping kinds[] = {
        {.shared = true, .writable = true}, {.inode = 9, .writable = true}, {.writable = false}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        void *found = NULL;
        read_fake();
        fake.mappings[1].shared = kinds[i].shared;
        fake.mappings[1].inode = kinds[i].inode;
        fake.mappings[1].writable = kinds[i].writable;
        assert_int_equal(hs_allocator_mimalloc.open(&fake.process, &found, &err), HS_OK);
        assert_null(found);
    }
}

/* ---- no mimalloc */

static void is_none(void)
{
    read_fake();
    assert_null(heaps.states[HS_OWNER_mimalloc]);
    assert_int_equal(heaps.map.n_blocks, 0);
    assert_int_equal(fake.findings.n_torn, 0);
    assert_int_equal(fake.findings.n_notes, 0);
    assert_int_equal(fake.findings.n_proofs, 0);
}

/* What only resembles segments is believed nothing, and nothing is said of it. */
static void nothing_that_is_sound(void **state)
{
    for (unsigned i = 0; i < FAKE_MI_MADE_SEGMENTS; i++)
        fake_mimalloc_put(&fake, fake_mimalloc_used(&fake, i), WORD, 99);
    is_none();
    make_again(NEWEST);
    for (unsigned i = 0; i < FAKE_MI_MADE_SEGMENTS; i++)
        fake_mimalloc_put(&fake, fake_mimalloc_entry(&fake, i, 1), WORD, 0);
    is_none();
}

static void other_programs(void **state)
{
    struct hs_process_copy bare = {.image = &fake.image};
    void *found = NULL;

    begin_again(NEWEST);
    fake.end += FAKE_MI_SEGMENT;
    fake_mimalloc_back(&fake, FAKE_MI_BASE, FAKE_MI_PIECE);
    is_none();
    assert_int_equal(hs_allocator_mimalloc.open(&bare, &found, &err), HS_OK);
    assert_null(found);
}

/* ---- with others */

/* Opens and marks it alone, with spans of another one's pools in its blocks. */
static void read_with(const struct hs_heap_span *pools, size_t n)
{
    uint64_t n_refused;
    void **state = &heaps.states[HS_OWNER_mimalloc];

    read_fake(); /* makes the copy */
    hs_heaps_close(&heaps);
    hs_findings_fini(&fake.findings);
    fake.findings = (struct hs_findings){.strings = &fake.strings};
    hs_heap_map_init(&heaps.map, &fake.image);
    hs_ledger_init(&heaps.ledger, &fake.strings, &fake.image);
    assert_int_equal(hs_allocator_mimalloc.open(&fake.process, state, &err), HS_OK);
    assert_int_equal(hs_allocator_mimalloc.add_spans(*state, &heaps.map, &heaps.ledger, &err),
                     HS_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(hs_heap_map_add(&heaps.map, &pools[i], &err), HS_OK);
    hs_ledger_seal(&heaps.ledger);
    assert_int_equal(hs_heap_map_seal(&heaps.map, &n_refused, &err), HS_OK);
    assert_int_equal(n_refused, 0);
    assert_int_equal(hs_allocator_mimalloc.mark(*state, &heaps.map, &heaps.ledger, &err), HS_OK);
    assert_int_equal(hs_heap_map_index(&heaps.map, &err), HS_OK);
}

/* A pool that a program carves out of its blocks takes nothing from the others of their page. */
static void another_pool_inside_of_blocks(void **state)
{
    struct hs_heap_block block;
    uint64_t n_resident;

    const hs_addr large = fake_mimalloc_block(&fake, FAKE_MI_LARGE, 0);
    const hs_addr medium = fake_mimalloc_block(&fake, FAKE_MI_MEDIUM, 0);
    const hs_addr second = fake_mimalloc_block(&fake, FAKE_MI_SECOND, 9);
    const struct hs_heap_span pools[] = {
        {large + 4096, large + 8192, NULL, 0, 64, 0, HS_SPAN_UNIFORM, HS_OWNER_registered, 0},
        {medium + 512, medium + 1024, NULL, 0, 64, 0, HS_SPAN_UNIFORM, HS_OWNER_registered, 0},
        {second, second + 1024, NULL, 0, 64, 0, HS_SPAN_UNIFORM, HS_OWNER_registered, 0},
    };
    read_with(pools, sizeof pools / sizeof *pools);
    are_proofs(true, true);
    assert_int_equal(fake.findings.n_torn, 0);
    assert_int_equal(fake.findings.n_notes, 0);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, large, &block), HS_POINTER_START);
    assert_int_equal(block.n_bytes, 4096);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, medium, &block), HS_POINTER_START);
    assert_int_equal(block.n_bytes, 512);
    assert_false(lives(FAKE_MI_MEDIUM, 1));
    assert_true(lives(FAKE_MI_MEDIUM, 2));
    assert_int_equal(n_alive(FAKE_MI_SECOND), 7); /* without the one that is all pool */
    is_page_read(FAKE_MI_SMALL);
    assert_int_equal(hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err), HS_OK);
    assert_int_equal(booked(HS_MEMORY_LIVE, false), sum_of(&fake).live_bytes);
}

static void survives_without_memory(void **state)
{
    make_again(NEWEST_WITH_KEYS);
    FAIL_EACH (f, .mode = FAIL_BOTH, .at_least = 10) {
        (void)FAIL_EACH_TRY(f, fake_mimalloc_read(&fake, &heaps, &err));
        forget();
    }
}

static void says_what_it_rounds(void **state)
{
    const struct hs_heap_block block = {.n_bytes = 640};

    assert_true(hs_allocator_mimalloc.may_round(&block, 512));
    assert_false(hs_allocator_mimalloc.may_round(&block, 511));
}

#define MIMALLOC_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIMALLOC_TEST(reads_every_layout),
        MIMALLOC_TEST(pages_of_all_sizes),
        MIMALLOC_TEST(words_in_a_header_come_and_go),
        MIMALLOC_TEST(padding_has_keys_and_hides_nothing),
        MIMALLOC_TEST(a_secure_build_guards_a_slice),
        MIMALLOC_TEST(huge_blocks_of_all_sizes),
        MIMALLOC_TEST(full_and_empty_segments),
        MIMALLOC_TEST(one_segment_of_another_layout),
        MIMALLOC_TEST(a_heap_that_ends_with_its_memory),
        MIMALLOC_TEST(a_list_of_a_heap_that_is_a_circle),
        MIMALLOC_TEST(lists_that_are_damaged),
        MIMALLOC_TEST(a_list_that_leads_to_what_is_not_there),
        MIMALLOC_TEST(counts_that_are_wrong),
        MIMALLOC_TEST(runs_that_do_not_meet),
        MIMALLOC_TEST(pages_that_cannot_be),
        MIMALLOC_TEST(another_layout_finds_no_page),
        MIMALLOC_TEST(as_many_blocks_as_can_be_said),
        MIMALLOC_TEST(first_blocks_that_cannot_be),
        MIMALLOC_TEST(headers_that_are_none),
        MIMALLOC_TEST(a_header_that_claims_all),
        MIMALLOC_TEST(a_segment_beyond_the_last_address),
        MIMALLOC_TEST(what_a_huge_block_holds_is_its_own),
        MIMALLOC_TEST(a_segment_behind_a_stale_header),
        MIMALLOC_TEST(headers_at_the_end_of_what_is_there),
        MIMALLOC_TEST(memory_of_other_kinds),
        MIMALLOC_TEST(nothing_that_is_sound),
        MIMALLOC_TEST(other_programs),
        MIMALLOC_TEST(another_pool_inside_of_blocks),
        MIMALLOC_TEST(survives_without_memory),
        MIMALLOC_TEST(says_what_it_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
