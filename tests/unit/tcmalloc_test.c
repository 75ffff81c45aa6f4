/* links: hs_heaps hs_process hs_base */
/* The reader of gperftools' tcmalloc, on sound processes and on damaged ones. */
#include "unit.h"

#include <time.h>

#include "fail_each.h"
#include "fake_tcmalloc.h"

enum { CLASS_8 = 1, CLASS_48 = 4, CLASS_64 = 5, CLASS_1024 = 8, CLASS_8192 = 9, CLASS_32768 = 10 };

static struct fake_tcmalloc fake;
static struct hs_heaps heaps;
static struct hs_error err = HS_ERROR_INIT;

static int set_up(void **state)
{
    fake_tcmalloc_make(&fake, false);
    return 0;
}

static int tear_down(void **state)
{
    hs_heaps_close(&heaps);
    fake_tcmalloc_close(&fake);
    return 0;
}

/* Another one, in the place of one that may have been read. */
static void make_again(bool is_late)
{
    hs_heaps_close(&heaps);
    fake_tcmalloc_close(&fake);
    fake_tcmalloc_make(&fake, is_late);
}

static void read_fake(void)
{
    hs_heaps_close(&heaps);
    assert_int_equal(fake_tcmalloc_read(&fake, &heaps, &err), HS_OK);
}

static void put(hs_addr at, uint64_t word)
{
    *fake_tcmalloc_word(at) = word;
}

static uint64_t get(hs_addr at)
{
    return *fake_tcmalloc_word(at);
}

/* ---- what is found */

static bool is_among(const hs_addr *addresses, size_t n, hs_addr address)
{
    for (size_t i = 0; i < n; i++)
        if (addresses[i] == address)
            return true;
    return false;
}

static uint64_t booked(enum hs_memory_state state, bool blocks)
{
    for (size_t i = 0; i < heaps.ledger.n_rows; i++)
        if (heaps.ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&fake.strings, heaps.ledger.rows[i].owner), "tcmalloc") == 0)
            return blocks ? heaps.ledger.rows[i].n_blocks : heaps.ledger.rows[i].n_bytes;
    return 0;
}

/* Each block of the span, by the account of the fake; how many live. */
static uint64_t blocks_are_read(const struct fake_tcmalloc_span *span)
{
    const uint64_t bytes = span->block_bytes == 0 ? span->end - span->begin : span->block_bytes;
    struct hs_heap_block block;
    uint64_t n = 0;

    for (hs_addr at = span->begin; at + bytes <= span->end; at += bytes) {
        bool is_live = span->is_in_use && !is_among(fake.free, fake.n_free, at) &&
                       !is_among(fake.cached, fake.n_cached, at);
        assert_int_equal(hs_heap_map_is_set(&heaps.map, at), is_live);
        if (!is_live)
            continue;
        assert_int_equal(hs_heap_map_resolve(&heaps.map, at, &block), HS_POINTER_START);
        assert_int_equal(block.n_bytes, bytes);
        assert_int_equal(block.span->owner, HS_OWNER_tcmalloc);
        n++;
    }
    return n;
}

static uint64_t bytes_of(const hs_addr *blocks, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < FAKE_TC_SPANS; k++)
            if (blocks[i] >= fake.spans[k].begin && blocks[i] < fake.spans[k].end)
                sum += fake.spans[k].block_bytes;
    return sum;
}

static void is_accounted_for(uint64_t n_live_bytes)
{
    const uint64_t n_cached_bytes = bytes_of(fake.cached, fake.n_cached);
    uint64_t n_resident, n_all = 0;

    for (size_t i = 0; i < FAKE_TC_SPANS; i++)
        n_all += fake.spans[i].end - fake.spans[i].begin;
    assert_int_equal(hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err), HS_OK);
    assert_int_equal(booked(HS_MEMORY_LIVE, false), n_live_bytes);
    assert_int_equal(booked(HS_MEMORY_CACHED, false), n_cached_bytes);
    assert_int_equal(booked(HS_MEMORY_CACHED, true), fake.n_cached);
    assert_int_equal(booked(HS_MEMORY_FREE, false), n_all - n_live_bytes - n_cached_bytes);
    assert_int_equal(booked(HS_MEMORY_FREE, true), fake.n_free);
    assert_int_equal(booked(HS_MEMORY_INTERNAL, false), FAKE_TC_SPANS * FAKE_TC_SPAN_BYTES +
                                                            2 * FAKE_TC_LEAF_BYTES +
                                                            2 * FAKE_TC_CACHE_BYTES);
}

static bool holds(const char *what)
{
    for (size_t i = 0; i < fake.findings.n_proofs; i++) {
        const struct hs_proof *proof = &fake.findings.proofs[i];
        if (strstr(hs_strtab_get(&fake.strings, proof->what), what) != NULL)
            return proof->holds;
    }
    fail_msg("no proof of %s", what);
    return false;
}

static bool is_told(const char *what)
{
    for (size_t i = 0; i < fake.findings.n_notes; i++)
        if (strstr(hs_strtab_get(&fake.strings, fake.findings.notes[i].text), what) != NULL)
            return fake.findings.notes[i].is_gap;
    return false;
}

#define SPANS "tcmalloc: spans with as many"
#define LISTS "tcmalloc: lists of cached"
#define CLASSES "tcmalloc: classes with as many"

static void all_is_read(void)
{
    uint64_t n = 0, n_bytes = 0;

    read_fake();
    assert_non_null(heaps.states[HS_OWNER_tcmalloc]);
    for (size_t i = 0; i < FAKE_TC_SPANS; i++) {
        const struct fake_tcmalloc_span *span = &fake.spans[i];
        uint64_t n_here = blocks_are_read(span);
        n += n_here;
        n_bytes += n_here * (span->block_bytes == 0 ? span->end - span->begin : span->block_bytes);
    }
    assert_int_equal(heaps.map.n_blocks, n);
    assert_int_equal(fake.findings.n_proofs, 3);
    assert_true(holds(SPANS) && holds(LISTS) && holds(CLASSES));
    assert_int_equal(fake.findings.n_torn, 0);
    assert_int_equal(fake.findings.n_notes, 0);
    is_accounted_for(n_bytes);
}

static void reads_both_forms_of_the_table(void **state)
{
    for (unsigned is_late = 0; is_late < 2; is_late++) {
        make_again(is_late != 0);
        all_is_read();
        assert_string_equal(hs_allocator_tcmalloc.version(heaps.states[HS_OWNER_tcmalloc]), "2");
    }
}

/* ---- what is not there */

/* Nothing is read, and nothing told. */
static void is_none(void)
{
    read_fake();
    assert_null(heaps.states[HS_OWNER_tcmalloc]);
    assert_int_equal(heaps.map.n_spans, 0);
    assert_int_equal(fake.findings.n_notes, 0);
    assert_int_equal(fake.findings.n_proofs, 0);
    assert_int_equal(fake.findings.n_torn, 0);
}

static void tables_that_are_none(void **state)
{
    static const struct {
        hs_addr at;
        uint64_t word;
    } damage[] = {
        {FAKE_TC_SIZES + 4, 8},                                /* 8, 0: it does not ascend */
        {FAKE_TC_SIZES + 12, UINT64_C(33) << 32 | 48},         /* not what each has */
        {FAKE_TC_SIZES + 20, UINT64_C(64) << 32 | 96},         /* nor this */
        {FAKE_TC_SIZES + 28, UINT64_C(64) << 32 | 1024},       /* one that is no larger */
        {FAKE_TC_SIZES + 28, UINT64_C(1025) << 32 | 1024},     /* no words */
        {FAKE_TC_SIZES + 44, 0},                               /* it does not reach the largest */
        {FAKE_TC_NUMBER, FAKE_TC_CLASSES - 1},                 /* another number behind it */
        {FAKE_TC_NUMBER, 0},                                   /* none */
        {FAKE_TC_SIZES + 4, UINT64_C(0x0000001000000008) + 1}, /* its second is no 8 */
    };

    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        make_again(false);
        put(damage[i].at, damage[i].word);
        is_none();
    }
}

static void a_table_without_a_page_map(void **state)
{
    put(FAKE_TC_ROOT_WORD, 0);
    put(FAKE_TC_ROOT_WORD + 8, 0);
    is_none();
    make_again(false); /* there is one, and nothing in it */
    for (unsigned i = 0; i < FAKE_TC_PAGES; i++)
        put(fake_tcmalloc_entry(i), 0);
    is_none();
}

/* A word that leads to a leaf, so near to the beginning that the root would lie before the object:
 * another variable that leads there. */
static void a_root_before_its_object(void **state)
{
    put(FAKE_TC_SPARE, FAKE_TC_LEAF);
    all_is_read();
    make_again(false);
    put(FAKE_TC_SPARE, FAKE_TC_LEAF);
    put(FAKE_TC_ROOT_WORD, 0);
    put(FAKE_TC_ROOT_WORD + 8, 0);
    is_none();
}

/* A leaf by which its word would be beyond the root. */
static void a_leaf_of_no_user_address(void **state)
{
    for (unsigned i = 0; i < FAKE_TC_SPANS; i++)
        put(fake.spans[i].address, HS_USER_END / FAKE_TC_PAGE);
    is_none();
    make_again(false);
    for (unsigned i = 0; i < FAKE_TC_SPANS; i++)
        put(fake.spans[i].address, UINT64_MAX);
    is_none();
}

static void a_leaf_at_the_end_of_the_address_space(void **state)
{
    static const uint64_t leaves[] = {
        HS_USER_END - 8, HS_USER_END - FAKE_TC_LEAF_BYTES, UINT64_MAX - 7, HS_USER_END, 1,
        FAKE_TC_PAGE};

    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        make_again(false);
        put(FAKE_TC_ROOT_WORD - 8, leaves[i]);
        put(FAKE_TC_ROOT_WORD + 16, leaves[(i + 1) % (sizeof leaves / sizeof *leaves)]);
        read_fake();
        for (size_t k = 0; k < FAKE_TC_SPANS; k++)
            (void)blocks_are_read(&fake.spans[k]);
        assert_int_equal(fake.findings.n_torn, 0);
    }
}

/* Each is read once, however often the root leads to it. */
static void leaves_that_overlap(void **state)
{
    const hs_addr damage[] = {FAKE_TC_LEAF, FAKE_TC_LEAF + 8,
                              FAKE_TC_LEAF + 2 * FAKE_TC_LEAF_BYTES - 8};

    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        make_again(false);
        put(FAKE_TC_ROOT_WORD + 16, damage[i]);
        read_fake();
        assert_true(is_told("1 spans or leaves are damaged"));
        assert_int_equal(fake.findings.n_torn, 1);
        for (size_t k = 0; k < FAKE_TC_SPANS; k++)
            (void)blocks_are_read(&fake.spans[k]);
    }
}

static void without_central_lists(void **state)
{
    put(fake_tcmalloc_central(CLASS_64, 0), 6); /* so they are none */
    read_fake();
    assert_true(is_told("central lists were not found"));
    assert_int_equal(fake.findings.n_proofs, 2);
    assert_true(holds(SPANS) && holds(LISTS));
    assert_int_equal(fake.findings.n_torn, 0);
    /* What the slots hold counts as live, what caches hold does not. */
    assert_true(hs_heap_map_is_set(&heaps.map, fake.cached[0]));
    assert_false(hs_heap_map_is_set(&heaps.map, fake.cached[fake.n_cached - 1]));
}

static void without_caches(void **state)
{
    put(FAKE_TC_VARIABLE, 0);
    read_fake();
    assert_true(is_told("caches of threads were not found"));
    assert_false(hs_heap_map_is_set(&heaps.map, fake.cached[0]));
    assert_true(hs_heap_map_is_set(&heaps.map, fake.cached[fake.n_cached - 1]));
    make_again(false);
    put(fake_tcmalloc_cache(0, CLASS_64, 24), 65); /* it is no cache, nor leads to one */
    read_fake();
    assert_true(is_told("caches of threads were not found"));
}

/* ---- spans */

static hs_addr of_span(unsigned span, unsigned offset)
{
    return fake.spans[span].address + offset;
}

/* How many blocks of the span live. */
static uint64_t n_live(unsigned span)
{
    const struct fake_tcmalloc_span *s = &fake.spans[span];
    const uint64_t bytes = s->block_bytes == 0 ? s->end - s->begin : s->block_bytes;
    uint64_t n = 0;

    for (hs_addr at = s->begin; at + bytes <= s->end; at += bytes)
        n += hs_heap_map_is_set(&heaps.map, at);
    return n;
}

/* The free list leads to `word` from its second block on: two are free, for whatever is said. */
static void free_lists_that_are_none(void **state)
{
    const struct fake_tcmalloc_span small = fake.spans[FAKE_TC_SMALL];
    const hs_addr words[] = {
        fake.free[0],                          /* a circle */
        fake.free[1],                          /* to itself */
        small.end,                             /* behind the span */
        small.begin - small.block_bytes,       /* before it */
        small.begin + 170 * small.block_bytes, /* the rest behind its last block */
        small.begin + 24,                      /* into the middle of a block */
        UINT64_MAX,
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        make_again(false);
        put(fake.free[1], words[i]);
        read_fake();
        assert_int_equal(n_live(FAKE_TC_SMALL), 170 - 2 - 5);
        assert_false(holds(SPANS) || holds(CLASSES));
        assert_true(holds(LISTS));
        assert_int_equal(fake.findings.n_torn, 2); /* a span, and its class */
        assert_int_equal(fake.findings.n_notes, 0);
        assert_int_equal(n_live(FAKE_TC_MIDDLE), 16 - 1 - 2);
    }
}

static void counts_that_are_wrong(void **state)
{
    put(of_span(FAKE_TC_SMALL, FAKE_TC_SPAN_BITS),
        get(of_span(FAKE_TC_SMALL, FAKE_TC_SPAN_BITS)) + 1);
    read_fake();
    assert_false(holds(SPANS));
    assert_true(holds(LISTS) && holds(CLASSES));
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(n_live(FAKE_TC_SMALL), 170 - 3 - 5); /* the list is believed */

    make_again(false);
    put(fake_tcmalloc_central(CLASS_64, FAKE_TC_CENTRAL_FREE), 1);
    read_fake();
    assert_false(holds(CLASSES));
    assert_true(holds(SPANS) && holds(LISTS));
    assert_int_equal(fake.findings.n_torn, 1);
}

/* It is left out and counted; all others are read. */
static void is_damaged(unsigned span, uint64_t n_torn)
{
    read_fake();
    assert_int_equal(n_live(span), 0);
    assert_int_equal(fake.findings.n_torn, n_torn);
    assert_true(is_told("1 spans or leaves are damaged"));
    for (unsigned i = 0; i < FAKE_TC_SPANS; i++)
        if (i != span)
            (void)blocks_are_read(&fake.spans[i]);
}

static void a_class_too_large_for_its_span(void **state)
{
    put(of_span(FAKE_TC_FULL, FAKE_TC_SPAN_BITS), CLASS_32768 << 16 | 1);
    is_damaged(FAKE_TC_FULL, 1 + 1); /* and the list of the cache that holds one of it */
    make_again(false);
    put(of_span(FAKE_TC_FULL, FAKE_TC_SPAN_BITS), CLASS_8192 << 16 | 1); /* just large enough */
    read_fake();
    assert_int_equal(n_live(FAKE_TC_FULL), 1);
}

/* It counts its blocks in 16 bits: there is no room for the bits of any number of them. */
static void a_span_of_too_many_blocks(void **state)
{
    const unsigned first = 15, most = 65535 * 48 / FAKE_TC_PAGE;

    put(of_span(FAKE_TC_FULL, FAKE_TC_SPAN_N_PAGES), most);
    put(fake_tcmalloc_entry(first + most - 1), fake.spans[FAKE_TC_FULL].address);
    read_fake();
    assert_int_equal(fake.findings.n_torn, 1); /* it has not as many in use as it has room for */
    assert_false(is_told("damaged"));
    make_again(false);
    put(of_span(FAKE_TC_FULL, FAKE_TC_SPAN_N_PAGES), most + 1);
    put(fake_tcmalloc_entry(first + most), fake.spans[FAKE_TC_FULL].address);
    is_damaged(FAKE_TC_FULL, 1 + 1);
}

static void spans_that_overlap(void **state)
{
    put(of_span(FAKE_TC_LARGE, FAKE_TC_SPAN_N_PAGES), 6);
    put(fake_tcmalloc_entry(3 + 6 - 1), fake.spans[FAKE_TC_LARGE].address);
    read_fake();
    assert_true(is_told("1 spans or leaves are damaged")); /* the unused one, in the midst of it */
    assert_int_equal(fake.findings.n_torn, 1);
    const struct hs_heap_span *span =
        hs_heap_map_span_at(&heaps.map, fake.spans[FAKE_TC_UNUSED].begin);
    assert_non_null(span);
    assert_int_equal(span->begin, fake.spans[FAKE_TC_LARGE].begin);
    (void)blocks_are_read(&fake.spans[FAKE_TC_MIDDLE]);
    (void)blocks_are_read(&fake.spans[FAKE_TC_CROSSING]);
}

/* The map does not lead to it by what would be its last page. */
static void spans_of_another_length(void **state)
{
    const uint64_t n_pages[] = {5, 7, 1000,
                                (HS_USER_END - fake.spans[FAKE_TC_CROSSING].begin) / FAKE_TC_PAGE};

    for (size_t i = 0; i < sizeof n_pages / sizeof *n_pages; i++) {
        make_again(false);
        put(of_span(FAKE_TC_CROSSING, FAKE_TC_SPAN_N_PAGES), n_pages[i]);
        is_damaged(FAKE_TC_CROSSING, 1);
    }
}

/* Another allocator was there first. */
static void memory_of_somebody_else(void **state)
{
    const hs_addr ends[][2] = {
        {fake.spans[FAKE_TC_CROSSING].begin - 8, fake.spans[FAKE_TC_CROSSING].begin + 8},
        {fake.spans[FAKE_TC_FULL].end - 48, fake.spans[FAKE_TC_FULL].end + 8}};

    for (size_t i = 0; i < 2; i++) {
        make_again(false);
        fake.other = (struct hs_heap_span){.begin = ends[i][0],
                                           .end = ends[i][1],
                                           .form = HS_SPAN_SINGLE,
                                           .owner = HS_OWNER_glibc};
        read_fake();
        assert_int_equal(n_live(i == 0 ? FAKE_TC_CROSSING : FAKE_TC_FULL), 0);
        assert_true(is_told("overlap others"));
        (void)blocks_are_read(&fake.spans[FAKE_TC_SMALL]);
    }
}

/* A pool that somebody has carved out of a block cuts its span in two: the block ends where the
 * pool begins, or is none when that fills it, and all others are as they were. */
static void a_pool_in_a_block(void **state)
{
    const struct fake_tcmalloc_span small = fake.spans[FAKE_TC_SMALL];
    const hs_addr first = small.begin + 100 * small.block_bytes;
    const uint64_t offsets[] = {0, 16};
    uint64_t n_whole;

    make_again(false);
    read_fake();
    n_whole = n_live(FAKE_TC_SMALL);
    assert_true(hs_heap_map_is_set(&heaps.map, first));
    for (size_t i = 0; i < 2; i++) {
        make_again(false);
        fake.other = (struct hs_heap_span){.begin = first + offsets[i],
                                           .end = first + small.block_bytes,
                                           .form = HS_SPAN_SINGLE,
                                           .owner = HS_OWNER_talloc};
        read_fake();
        assert_int_equal(n_live(FAKE_TC_SMALL), n_whole - (offsets[i] == 0));
        assert_false(is_told("overlap others"));
        assert_true(holds(SPANS) && holds(LISTS) && holds(CLASSES));
    }
}

/* As if the map did not lead to them. */
static void spans_that_can_be_none(void **state)
{
    const struct {
        unsigned offset;
        uint64_t word;
    } damage[] = {
        {FAKE_TC_SPAN_N_PAGES, 0},
        {FAKE_TC_SPAN_N_PAGES, UINT64_MAX},
        {FAKE_TC_SPAN_N_PAGES,
         (HS_USER_END - fake.spans[FAKE_TC_CROSSING].begin) / FAKE_TC_PAGE + 1},
        {FAKE_TC_SPAN_FIRST, 0},
        {FAKE_TC_SPAN_FIRST, HS_USER_END / FAKE_TC_PAGE},
        {FAKE_TC_SPAN_FIRST, UINT64_MAX},
        {FAKE_TC_SPAN_FIRST, fake.spans[FAKE_TC_CROSSING].begin / FAKE_TC_PAGE + 1},
        {FAKE_TC_SPAN_BITS, FAKE_TC_CLASSES << 16}, /* a class beyond the table */
        {FAKE_TC_SPAN_BITS, 255 << 16},
    };

    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        make_again(false);
        put(of_span(FAKE_TC_CROSSING, damage[i].offset), damage[i].word);
        read_fake();
        assert_int_equal(n_live(FAKE_TC_CROSSING), 0);
        assert_int_equal(fake.findings.n_torn, 0);
        for (unsigned k = 0; k < FAKE_TC_SPANS; k++)
            if (k != FAKE_TC_CROSSING)
                (void)blocks_are_read(&fake.spans[k]);
    }
}

/* ---- caches */

static void lists_of_caches(void **state)
{
    /* Of 10 -> 11 of the small span: what the second one leads to. */
    const struct fake_tcmalloc_span small = fake.spans[FAKE_TC_SMALL];
    const hs_addr second = small.begin + 11 * 48;
    const hs_addr words[] = {
        second,                           /* a circle */
        second - 48,                      /* another */
        small.begin + 12 * 48 + 8,        /* into the middle of a block */
        fake.free[0],                     /* one that is free in its span */
        fake.cached[0],                   /* one that a slot has */
        fake.spans[FAKE_TC_MIDDLE].begin, /* of another class */
        fake.spans[FAKE_TC_LARGE].begin,  /* of none */
        fake.spans[FAKE_TC_UNUSED].begin, /* of no span in use */
        FAKE_TC_OWN,                      /* of nobody */
        UINT64_MAX,
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        make_again(false);
        put(second, words[i]);
        all_is_read(); /* as many as it says are there: what follows is nobody's */
    }
    make_again(false);
    put(second, small.begin + 12 * 48); /* one more than it says */
    read_fake();
    assert_false(holds(LISTS));
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(n_live(FAKE_TC_SMALL), 170 - 3 - 6);
}

static void a_list_that_is_not_as_long_as_it_says(void **state)
{
    *fake_tcmalloc_word(fake_tcmalloc_cache(0, CLASS_48, 8)) += 1;
    read_fake();
    assert_false(holds(LISTS));
    assert_true(holds(SPANS) && holds(CLASSES));
    assert_int_equal(fake.findings.n_torn, 1);

    make_again(false); /* its first is foreign: it has none */
    put(fake_tcmalloc_cache(0, CLASS_48, 0), fake.spans[FAKE_TC_LARGE].begin);
    read_fake();
    assert_false(holds(LISTS));
    assert_int_equal(n_live(FAKE_TC_SMALL), 170 - 3 - 3);
    assert_int_equal(n_live(FAKE_TC_LARGE), 1);
}

/* They are met once, however they are linked. */
static void caches_in_a_circle(void **state)
{
    put(fake_tcmalloc_cache(1, 0, FAKE_TC_CACHE_NEXT), fake_tcmalloc_cache(0, 0, 0));
    put(FAKE_TC_SPARE, fake_tcmalloc_cache(1, 0, 0));
    put(fake_tcmalloc_cache(0, 0, FAKE_TC_CACHE_NEXT + 16), UINT64_MAX - 7);
    put(fake_tcmalloc_cache(0, 0, FAKE_TC_CACHE_NEXT + 24), fake_tcmalloc_cache(0, 0, 0) + 8);
    all_is_read();
}

/* Caches in a row, each of which leads to the next one sixteen times. */
static uint8_t *many_caches(size_t n)
{
    uint64_t *words = test_calloc(n, FAKE_TC_CACHE_BYTES);
    const size_t n_words = FAKE_TC_CACHE_BYTES / 8, list = FAKE_TC_LIST_BYTES / 8;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < FAKE_TC_CLASSES; k++)
            words[i * n_words + k * list + 3] = fake_tcmalloc_sizes[k];
        for (size_t k = 0; k < 8; k++) { /* as heads of lists, and what nobody reads */
            words[i * n_words + k * list] = FAKE_TC_MORE + i * FAKE_TC_CACHE_BYTES;
            words[i * n_words + k * list + 2] = FAKE_TC_MORE + i * FAKE_TC_CACHE_BYTES;
        }
    }
    return (uint8_t *)words;
}

/* Processor seconds of reading so many, the least of three times. */
static double seconds_of_caches(size_t n)
{
    double least = 0;

    make_again(false);
    uint8_t *bytes = many_caches(n);
    put(FAKE_TC_SPARE, FAKE_TC_MORE);
    fake.more = bytes;
    fake.n_more_bytes = n * FAKE_TC_CACHE_BYTES;
    for (unsigned i = 0; i < 3; i++) {
        clock_t began = clock();
        read_fake();
        double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
        least = i == 0 || seconds < least ? seconds : least;
    }
    uint64_t n_resident;
    assert_int_equal(hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err), HS_OK);
    assert_true(booked(HS_MEMORY_INTERNAL, false) > n * FAKE_TC_CACHE_BYTES);
    make_again(false);
    test_free(bytes);
    return least;
}

/* A process may have any number of threads: eight times as many caches take about eight times as
 * long. They took fifty times as long when each was looked for among all. */
static void many_caches_take_their_time(void **state)
{
    assert_true(seconds_of_caches(8000) < 24 * seconds_of_caches(1000));
}

static void slots_that_are_too_many(void **state)
{
    put(fake_tcmalloc_central(CLASS_48, FAKE_TC_CENTRAL_USED), 65);
    read_fake();
    assert_int_equal(n_live(FAKE_TC_SMALL), 170 - 3 - 2); /* its slots are not believed */
    assert_int_equal(n_live(FAKE_TC_MIDDLE), 16 - 1 - 2);
    assert_false(holds(LISTS));
    assert_int_equal(fake.findings.n_torn, 1);
    make_again(false);
    put(fake_tcmalloc_central(CLASS_48, FAKE_TC_CENTRAL_USED), 64); /* the others are empty */
    read_fake();
    assert_int_equal(n_live(FAKE_TC_SMALL), 170 - 3 - 5);
    assert_int_equal(fake.findings.n_torn, 62);
}

/* The first is one of two blocks. What it has up to the damage is taken. */
static void slots_that_do_not_end_as_they_say(void **state)
{
    const hs_addr slot = fake_tcmalloc_central(CLASS_48, FAKE_TC_CENTRAL_SLOTS);
    const hs_addr first = fake.cached[0], second = fake.cached[1];
    const struct {
        hs_addr at;
        uint64_t word;
        unsigned n_taken;
    } damage[] = {
        {first, 0, 1},                               /* it ends too early */
        {first, fake.spans[FAKE_TC_LARGE].begin, 1}, /* it leads elsewhere */
        {second, first, 2},                          /* it is a circle */
        {second, second + 48, 3},                    /* it goes on */
        {slot, 0, 0},                                /* there is none */
        {slot + 8, first, 2},                        /* another end */
    };

    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        make_again(false);
        put(damage[i].at, damage[i].word);
        read_fake();
        assert_int_equal(n_live(FAKE_TC_SMALL), 170 - 3 - 3 - damage[i].n_taken);
        assert_false(holds(LISTS));
        assert_int_equal(fake.findings.n_torn, 1);
    }
}

/* ---- shortage */

static void survives_without_memory(void **state)
{
    FAIL_EACH (f, .mode = FAIL_BOTH, .at_least = 10) {
        (void)FAIL_EACH_TRY(f, fake_tcmalloc_read(&fake, &heaps, &err));
        hs_heaps_close(&heaps);
        fake_tcmalloc_close(&fake);
    }
}

#define TCMALLOC_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TCMALLOC_TEST(reads_both_forms_of_the_table),
        TCMALLOC_TEST(tables_that_are_none),
        TCMALLOC_TEST(a_table_without_a_page_map),
        TCMALLOC_TEST(a_root_before_its_object),
        TCMALLOC_TEST(a_leaf_of_no_user_address),
        TCMALLOC_TEST(a_leaf_at_the_end_of_the_address_space),
        TCMALLOC_TEST(leaves_that_overlap),
        TCMALLOC_TEST(without_central_lists),
        TCMALLOC_TEST(without_caches),
        TCMALLOC_TEST(free_lists_that_are_none),
        TCMALLOC_TEST(counts_that_are_wrong),
        TCMALLOC_TEST(a_class_too_large_for_its_span),
        TCMALLOC_TEST(a_span_of_too_many_blocks),
        TCMALLOC_TEST(spans_that_overlap),
        TCMALLOC_TEST(spans_of_another_length),
        TCMALLOC_TEST(memory_of_somebody_else),
        TCMALLOC_TEST(a_pool_in_a_block),
        TCMALLOC_TEST(spans_that_can_be_none),
        TCMALLOC_TEST(lists_of_caches),
        TCMALLOC_TEST(a_list_that_is_not_as_long_as_it_says),
        TCMALLOC_TEST(caches_in_a_circle),
        TCMALLOC_TEST(many_caches_take_their_time),
        TCMALLOC_TEST(slots_that_are_too_many),
        TCMALLOC_TEST(slots_that_do_not_end_as_they_say),
        TCMALLOC_TEST(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
