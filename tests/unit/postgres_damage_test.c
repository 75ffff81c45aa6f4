/* links: hs_heaps hs_process hs_symbols hs_base */
/* The same on backends in which something cannot be: what is damaged is told and left out, all else
 * is read as it is. */
#include "unit.h"

#include "check_postgres.h"
#include "fake_malloc_allocator.h"

static struct hs_error err;

/* ---- blocks that cannot be */

static const struct fake_context *context(uint32_t number)
{
    return &backend.contexts[number];
}

/* The block of a context that it lists at this place. */
static const struct fake_block *block_of(uint32_t number, size_t place)
{
    assert_true(place < context(number)->n_blocks);
    return &backend.blocks[context(number)->blocks[place]];
}

/* A word is overwritten, and so one context is not read. */
static void check_unread(uint32_t number, hs_addr at, uint64_t word)
{
    *fake_postgres_word(&backend, at) = word;
    backend_check(&(struct backend_expected){.unread = BACKEND_BIT(number)});
}

enum { ALLOCATED = 8, SET_PREV = 8, SET_NEXT = 16, NODE_PREV = 0, NODE_NEXT = 8 };

static void a_list_of_blocks_that_is_a_circle_is_none(void **state)
{
    EACH_RELEASE(release)
    {
        for (size_t to = 0; to < 3; to++) {
            fake_postgres_make(&backend, release, 0);
            assert_int_equal(context(FAKE_CACHE)->n_blocks, 3);
            check_unread(FAKE_CACHE, block_of(FAKE_CACHE, 2)->begin + SET_NEXT,
                         block_of(FAKE_CACHE, to)->begin);
        }
        fake_postgres_make(&backend, release, 0);
        size_t last = context(FAKE_TUPLES)->n_blocks - 1;
        check_unread(FAKE_TUPLES, block_of(FAKE_TUPLES, last)->begin + NODE_NEXT,
                     block_of(FAKE_TUPLES, 1)->begin);
    }
}

static void a_list_of_blocks_must_lead_back(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_CACHE, block_of(FAKE_CACHE, 1)->begin + SET_PREV, 0);
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_CACHE, block_of(FAKE_CACHE, 0)->begin + SET_PREV,
                     block_of(FAKE_CACHE, 1)->begin);
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_TUPLES, block_of(FAKE_TUPLES, 0)->begin + NODE_PREV, 0);
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_TUPLES, block_of(FAKE_TUPLES, 2)->begin + NODE_PREV,
                     block_of(FAKE_TUPLES, 0)->begin);
    }
}

static void a_list_of_blocks_must_not_lead_elsewhere(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_CACHE, block_of(FAKE_CACHE, 2)->begin + SET_NEXT, FAKE_POSTGRES_NOWHERE);
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_CACHE, block_of(FAKE_CACHE, 0)->begin + SET_NEXT, 0); /* two are lost */
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_CACHE, context(FAKE_CACHE)->at + context(FAKE_CACHE)->layout.head, 0);
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_CACHE, context(FAKE_CACHE)->at + context(FAKE_CACHE)->layout.head,
                     block_of(FAKE_UNDER, 0)->begin);
    }
}

static void a_block_must_be_its_context_s(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_CACHE, block_of(FAKE_CACHE, 1)->begin, context(FAKE_UNDER)->at);
        fake_postgres_make(&backend, release, 0);
        if (context(FAKE_TUPLES)->layout.owner == 0)
            continue;
        check_unread(FAKE_TUPLES,
                     block_of(FAKE_TUPLES, 1)->begin + context(FAKE_TUPLES)->layout.owner,
                     context(FAKE_UNDER)->at);
    }
}

static void free_and_end_must_be_in_order(void **state)
{
    static const uint32_t of[] = {FAKE_CACHE, FAKE_TUPLES, FAKE_SORT};

    EACH_RELEASE(release)
    {
        for (unsigned i = 0; i < 3 * 6; i++) {
            fake_postgres_make(&backend, release, 0);
            const struct fake_block *block = block_of(of[i % 3], 0);
            hs_addr used = block->begin + context(of[i % 3])->layout.used;
            hs_addr end = block->begin + context(of[i % 3])->layout.end;
            switch (i / 3) {
            case 0:
                check_unread(of[i % 3], used, block->end + 8);
                break;
            case 1:
                check_unread(of[i % 3], used, block->first - 8);
                break;
            case 2:
                check_unread(of[i % 3], used, block->used + 4);
                break;
            case 3: /* as it was counted */
                *fake_postgres_word(&backend, context(of[i % 3])->at + ALLOCATED) -= 4;
                check_unread(of[i % 3], end, block->end - 4);
                break;
            case 4:
                check_unread(of[i % 3], end, block->end + 8); /* more than was counted */
                break;
            default:
                check_unread(of[i % 3], end, UINT64_MAX - 7);
            }
        }
    }
}

static void counts_of_chunks_must_be_right(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        const struct fake_block *block = block_of(FAKE_TUPLES, 0);
        hs_addr counts = block->begin + context(FAKE_TUPLES)->layout.counts;
        check_unread(FAKE_TUPLES, counts, block->n_chunks | (uint64_t)(block->n_chunks + 1) << 32);
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_TUPLES, counts, block->n_chunks + 1); /* as many as there are */
    }
}

static void mem_allocated_is_the_sum_of_blocks(void **state)
{
    EACH_RELEASE(release)
    for (uint32_t i = FAKE_CACHE; i < FAKE_MADE; i++) {
        fake_postgres_make(&backend, release, 0);
        hs_addr at = context(i)->at + ALLOCATED;
        if (context(i)->kind == FAKE_SLAB)
            continue;
        check_unread(i, at, *fake_postgres_word(&backend, at) + 8);
        fake_postgres_make(&backend, release, 0);
        check_unread(i, at, *fake_postgres_word(&backend, at) - 8);
    }
}

/* ---- chunks that cannot be */

/* The header's word that says how large a chunk is, of a release with such words. */
static hs_addr size_word(const struct fake_chunk *chunk)
{
    return fake_postgres_is_masked(&backend) ? chunk->begin - 8 : chunk->header;
}

static const struct fake_chunk *chunk_of(uint32_t number)
{
    size_t i = 0;

    while (backend.blocks[backend.chunks[i].block].context != number)
        assert_true(++i < backend.n_chunks);
    return &backend.chunks[i];
}

static void sizes_of_chunks_must_lead_to_the_end(void **state)
{
    static const uint64_t sizes[] = {0,          4,      28, 31, 40, 64, 4096, UINT64_MAX - 7,
                                     UINT64_MAX, 1 << 30};

    EACH_RELEASE(release)
    {
        if (release % 3 != 0) /* they have sizes in bits */
            continue;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            fake_postgres_make(&backend, release, 0);
            assert_int_equal(chunk_of(FAKE_CACHE)->n_bytes, 32);
            check_unread(FAKE_CACHE, size_word(chunk_of(FAKE_CACHE)), sizes[i]);
            fake_postgres_make(&backend, release, 0);
            if (sizes[i] == 31 || sizes[i] == 28) /* sizes are as they were asked for */
                continue;
            assert_int_equal(chunk_of(FAKE_TUPLES)->n_bytes, 24);
            check_unread(FAKE_TUPLES, size_word(chunk_of(FAKE_TUPLES)), sizes[i]);
        }
    }
}

/* The mask of a chunk is overwritten, but for the bits that are kept. */
static void check_mask(uint32_t number, const struct fake_chunk *chunk, uint64_t kept,
                       uint64_t mask)
{
    hs_addr at = chunk->begin - 8;

    check_unread(number, at, (*fake_postgres_word(&backend, at) & kept) | mask);
}

static unsigned mask_shift(void)
{
    return strcmp(fake_postgres_version(&backend), "17") == 0 ? 5 : 4;
}

#define MASK_OFFSET (UINT64_MAX << 34) /* where in its block the chunk is */

static void masks_of_chunks_must_lead_to_the_end(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        if (!fake_postgres_is_masked(&backend))
            continue;
        const unsigned shift = mask_shift();
        const uint64_t masks[] = {0,
                                  3,                /* 8 bytes */
                                  5 | 2U << shift,  /* a slab's */
                                  3 | 3U << shift,  /* the next size */
                                  3 | 11U << shift, /* no free list */
                                  3 | UINT64_C(0x1fffffff) << shift,
                                  4 | 2U << shift, /* a Generation's */
                                  4 | UINT64_C(0x1ffffff8) << shift};
        for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
            fake_postgres_make(&backend, release, 0);
            check_mask(FAKE_CACHE, chunk_of(FAKE_CACHE), MASK_OFFSET, masks[i]);
            fake_postgres_make(&backend, release, 0);
            check_mask(FAKE_TUPLES, chunk_of(FAKE_TUPLES), MASK_OFFSET, masks[i]);
        }
    }
}

/* The right size is not enough: a mask says where its chunk is. */
static void masks_of_chunks_must_say_where_they_are(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        if (!fake_postgres_is_masked(&backend))
            continue;
        check_mask(FAKE_CACHE, chunk_of(FAKE_CACHE), ~MASK_OFFSET, 0);
        fake_postgres_make(&backend, release, 0);
        check_mask(FAKE_TUPLES, chunk_of(FAKE_TUPLES), ~MASK_OFFSET, UINT64_C(48) << 34);
    }
}

/* One that has its block for itself has a number instead, and is the first one there. */
static void external_chunks_are_alone(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        if (!fake_postgres_is_masked(&backend))
            continue;
        uint32_t last = fake_postgres_chunk(&backend, FAKE_UNDER, 32);
        uint32_t external = fake_postgres_external(&backend, FAKE_UNDER, 240);
        const uint64_t mask = *fake_postgres_word(&backend, backend.chunks[external].begin - 8);
        check_mask(FAKE_UNDER, &backend.chunks[last], 0, mask);
        fake_postgres_make(&backend, release, 0);
        external = fake_postgres_external(&backend, FAKE_UNDER, 240);
        check_mask(FAKE_UNDER, &backend.chunks[external], (UINT64_C(1) << mask_shift()) - 1, 0);
    }
}

/* Without a mask there is a context, or the next free chunk; of a Generation's the block, too. */
static void plain_chunks_must_say_whose_they_are(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        if (fake_postgres_is_masked(&backend))
            continue;
        check_unread(FAKE_CACHE, chunk_of(FAKE_CACHE)->begin - 8, 3);
        fake_postgres_make(&backend, release, 0);
        check_unread(FAKE_TUPLES, chunk_of(FAKE_TUPLES)->begin - 16,
                     block_of(FAKE_TUPLES, 0)->begin);
    }
}

/* ---- trees that cannot be */

enum { PARENT = 24, FIRST_CHILD = 32, PREV_CHILD = 40, NEXT_CHILD = 48 };

/* A word is overwritten, and so some contexts are not met. */
static void check_unmet(unsigned unmet, uint32_t number, unsigned field, uint64_t word)
{
    *fake_postgres_word(&backend, context(number)->at + field) = word;
    backend_check(&(struct backend_expected){.unmet = unmet, .n_torn = 1});
}

static void a_list_of_children_must_lead_back(void **state)
{
    const unsigned below_cache =
        BACKEND_BIT(FAKE_CACHE) | BACKEND_BIT(FAKE_TABLE) | BACKEND_BIT(FAKE_UNNAMED);

    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        check_unmet(below_cache, FAKE_CACHE, PARENT, context(FAKE_SORT)->at);
        fake_postgres_make(&backend, release, 0);
        check_unmet(below_cache, FAKE_CACHE, PREV_CHILD, context(FAKE_SORT)->at);
        fake_postgres_make(&backend, release, 0);
        check_unmet(BACKEND_BIT(FAKE_TABLE), FAKE_UNNAMED, NEXT_CHILD, FAKE_POSTGRES_NOWHERE);
        fake_postgres_make(&backend, release, 0);
        check_unmet(BACKEND_BIT(FAKE_TABLE), FAKE_UNNAMED, NEXT_CHILD, context(FAKE_TABLE)->at + 4);
        fake_postgres_make(&backend, release, 0);
        check_unmet(BACKEND_BIT(FAKE_UNDER), FAKE_SLABS, FIRST_CHILD, FAKE_POSTGRES_NOWHERE);
    }
}

static void a_list_of_children_that_is_a_circle_ends(void **state)
{
    EACH_RELEASE(release)
    for (uint32_t i = FAKE_TOP; i < FAKE_MADE; i++) {
        fake_postgres_make(&backend, release, 0);
        check_unmet(0, FAKE_TABLE, FIRST_CHILD, context(i)->at);
        fake_postgres_make(&backend, release, 0);
        check_unmet(0, FAKE_CACHE, NEXT_CHILD, context(i)->at);
    }
}

/* A child of two parents is his whom it says it is. */
static void a_child_of_two_is_met_once(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        check_unmet(0, FAKE_TUPLES, FIRST_CHILD, context(FAKE_UNDER)->at);
    }
}

static void without_a_first_context_there_is_no_backend(void **state)
{
    EACH_RELEASE(release)
    {
        const hs_addr words[] = {0,
                                 8,
                                 FAKE_POSTGRES_NOWHERE,
                                 UINT64_MAX,
                                 UINT64_MAX - 7,
                                 FAKE_POSTGRES_END - 8,
                                 FAKE_POSTGRES_BASE,
                                 FAKE_POSTGRES_VARIABLE + 0x80};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            fake_postgres_make(&backend, release, 0);
            *fake_postgres_word(&backend, FAKE_POSTGRES_VARIABLE) = words[i];
            backend_check_none(words[i] != 0);
        }
        for (unsigned field = 8; field <= 80; field += field == 8 ? PARENT - 8 : 16) {
            if (field == FIRST_CHILD || (field > PREV_CHILD && field < 80))
                continue; /* the number of bytes, the parent, the elder, the first block */
            fake_postgres_make(&backend, release, 0);
            *fake_postgres_word(&backend, context(FAKE_TOP)->at + field) += 8;
            backend_check_none(true);
        }
    }
}

/* ---- free lists that cannot be */

enum { FREE_LISTS = 88 };

/* Of the chunks of 32 bytes that are freed in the cache, the one that is behind the other, and the
 * list has whatever `word` is behind it. */
static void check_free_list(uint64_t word)
{
    hs_addr first = *fake_postgres_word(&backend, context(FAKE_CACHE)->at + FREE_LISTS + 2 * 8);
    bool is_masked = fake_postgres_is_masked(&backend);

    assert_int_equal(first, backend.chunks[4].header);
    *fake_postgres_word(&backend, backend.chunks[2].begin - (is_masked ? 0 : 8)) = word;
    backend_check(&(struct backend_expected){.n_torn = is_masked});
}

static void a_free_list_that_is_a_circle_ends(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        check_free_list(backend.chunks[4].header);
        fake_postgres_make(&backend, release, 0);
        check_free_list(backend.chunks[2].header);
    }
}

static void a_free_list_must_lead_to_chunks_of_its_context(void **state)
{
    static const hs_addr words[] = {8, UINT64_MAX - 7, FAKE_POSTGRES_NOWHERE, FAKE_POSTGRES_BASE};

    EACH_RELEASE(release)
    {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            fake_postgres_make(&backend, release, 0);
            check_free_list(words[i]);
        }
        fake_postgres_make(&backend, release, 0);
        check_free_list(chunk_of(FAKE_UNDER)->header); /* in use */
        fake_postgres_make(&backend, release, 0);
        assert_int_equal(backend.chunks[1].n_bytes, 32);
        check_free_list(backend.chunks[1].header); /* the same, and of this size */
        fake_postgres_make(&backend, release, 0);
        check_free_list(context(FAKE_TABLE)->at -
                        (backend.chunks[4].begin - backend.chunks[4].header));
        fake_postgres_make(&backend, release, 0);
        check_free_list(backend.chunks[3].header + 8); /* the middle of one */
    }
}

/* A freed chunk of another size is in this list by mistake. */
static void a_free_list_must_lead_to_chunks_of_its_size(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        check_free_list(backend.chunks[5].header); /* of 128 bytes, and in use */
    }
}

/* ---- blocks that overlap */

/* A context whose second block lies in the chunks of another one's. */
static void put_block_over(uint32_t number, hs_addr at, hs_addr end)
{
    const struct fake_block *own = block_of(number, 0);

    assert_int_equal(context(number)->kind, FAKE_SET);
    *fake_postgres_word(&backend, own->begin + SET_NEXT) = at;
    *fake_postgres_word(&backend, at) = context(number)->at;
    *fake_postgres_word(&backend, at + SET_PREV) = own->begin;
    *fake_postgres_word(&backend, at + SET_NEXT) = 0;
    *fake_postgres_word(&backend, at + context(number)->layout.used) =
        at + context(number)->layout.block;
    *fake_postgres_word(&backend, at + context(number)->layout.end) = end;
    *fake_postgres_word(&backend, context(number)->at + ALLOCATED) += end - at;
}

static void read_disjoint(void)
{
    struct hs_heap_iterator it = {.map = &backend_heaps.map};
    struct hs_heap_block block;
    hs_addr before = FAKE_POSTGRES_BASE;

    assert_int_equal(fake_postgres_read(&backend, &backend_heaps, &err), HS_OK);
    while (hs_heap_map_next(&it, &block)) {
        assert_true(block.begin >= before && block.n_bytes != 0);
        before = block.begin + block.n_bytes;
    }
}

/* Then nothing is believed. */
static void check_disbelieved(void)
{
    bool is_gap = false;

    read_disjoint();
    assert_null(backend_heaps.states[HS_OWNER_postgres]);
    assert_string_not_equal(backend_note("are damaged, or of a release", &is_gap), "");
    assert_true(is_gap);
    hs_heaps_close(&backend_heaps);
    fake_postgres_close(&backend);
}

static void a_block_inside_of_another_s_chunk_is_told(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        uint32_t large = fake_postgres_external(&backend, FAKE_CACHE, 400);
        hs_addr at = backend.chunks[large].begin + 64;
        const struct fake_chunk *model = chunk_of(FAKE_TABLE);
        put_block_over(FAKE_TABLE, at, at + 128);
        hs_addr first = at + context(FAKE_TABLE)->layout.block;
        memcpy(fake_postgres_word(&backend, first), fake_postgres_word(&backend, model->header),
               model->begin - model->header);
        *fake_postgres_word(&backend, at + context(FAKE_TABLE)->layout.used) =
            first + (model->begin - model->header) + model->n_bytes;
        check_disbelieved();
    }
}

/* A context and its block at an address in a chunk of another one: malloc was wrong. */
static uint32_t put_context(hs_addr at)
{
    hs_addr heap = backend.heap;

    backend.heap = (at + 15) / 16 * 16;
    uint32_t number = fake_postgres_context(&backend, FAKE_SET, "inner", FAKE_TOP, 128);
    assert_true(backend.heap < heap);
    backend.heap = heap;
    (void)fake_postgres_chunk(&backend, number, 8);
    return number;
}

static void a_context_inside_of_another_s_chunk_is_told(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        (void)fake_postgres_block(&backend, FAKE_CACHE, 1200);
        const hs_addr at = backend.chunks[fake_postgres_chunk(&backend, FAKE_CACHE, 1024)].begin;
        (void)fake_postgres_chunk(&backend, FAKE_CACHE, 8);
        (void)put_context(at + 64);
        backend.n_mallocs--; /* which knows one block there */
        check_disbelieved();
    }
}

/* A span of malloc's that is just that of a context stays, and its block malloc's. */
static void a_context_that_another_has_stays_his(void **state)
{
    for (unsigned release = 0; release < FAKE_POSTGRES_RELEASES; release += 3) {
        struct hs_heap_block block = {0};
        fake_postgres_make(&backend, release, 0);
        assert_int_equal(context(FAKE_SORT)->kind, FAKE_OLD_GENERATION);
        for (size_t i = 0; i < backend.n_mallocs; i++)
            if (backend.mallocs[i].begin == context(FAKE_SORT)->at)
                backend.mallocs[i].end -= FAKE_MALLOC_SPARE;
        read_disjoint();
        backend_check_notes(1, 0, 1);
        assert_int_equal(hs_heap_map_resolve(&backend_heaps.map, context(FAKE_SORT)->at, &block),
                         HS_POINTER_START);
        assert_int_equal(block.span->owner, HS_OWNER_glibc);
        assert_int_equal(block.n_bytes, context(FAKE_SORT)->layout.object);
        hs_heaps_close(&backend_heaps);
        fake_postgres_close(&backend);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_blocks_that_is_a_circle_is_none),
        cmocka_unit_test(a_list_of_blocks_must_lead_back),
        cmocka_unit_test(a_list_of_blocks_must_not_lead_elsewhere),
        cmocka_unit_test(a_block_must_be_its_context_s),
        cmocka_unit_test(free_and_end_must_be_in_order),
        cmocka_unit_test(counts_of_chunks_must_be_right),
        cmocka_unit_test(mem_allocated_is_the_sum_of_blocks),
        cmocka_unit_test(sizes_of_chunks_must_lead_to_the_end),
        cmocka_unit_test(masks_of_chunks_must_lead_to_the_end),
        cmocka_unit_test(masks_of_chunks_must_say_where_they_are),
        cmocka_unit_test(external_chunks_are_alone),
        cmocka_unit_test(plain_chunks_must_say_whose_they_are),
        cmocka_unit_test(a_list_of_children_must_lead_back),
        cmocka_unit_test(a_list_of_children_that_is_a_circle_ends),
        cmocka_unit_test(a_child_of_two_is_met_once),
        cmocka_unit_test(without_a_first_context_there_is_no_backend),
        cmocka_unit_test(a_free_list_that_is_a_circle_ends),
        cmocka_unit_test(a_free_list_must_lead_to_chunks_of_its_context),
        cmocka_unit_test(a_free_list_must_lead_to_chunks_of_its_size),
        cmocka_unit_test(a_block_inside_of_another_s_chunk_is_told),
        cmocka_unit_test(a_context_inside_of_another_s_chunk_is_told),
        cmocka_unit_test(a_context_that_another_has_stays_his),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
