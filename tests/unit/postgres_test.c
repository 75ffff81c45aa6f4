/* links: hs_report hs_heaps hs_process hs_symbols hs_base */
/* The reader of PostgreSQL's memory contexts on sound backends of all releases. */
#include "unit.h"

#include "check_postgres.h"
#include "fail_each.h"
#include "fake_malloc_allocator.h"
#include "hostile_text.h"

static struct hs_error err;

#define EACH_RELEASE(release) \
    for (unsigned release = 0; release < FAKE_POSTGRES_RELEASES; release++)

/* ---- sound backends */

static void reads_all_releases(void **state)
{
    const struct backend_expected e = {0};

    for (unsigned n_more = 0; n_more < 8; n_more++)
        EACH_RELEASE(release)
        {
            fake_postgres_make(&backend, release, n_more);
            backend_check(&e);
            fake_postgres_make(&backend, release, n_more);
            backend.has_no_malloc = true;
            backend_check(&e);
        }
}

/* The older ones first, behind those of contexts that are not read. */
static void children_are_in_order(void **state)
{
    static const uint32_t order[] = {FAKE_UNDER, FAKE_CACHE, FAKE_TUPLES, FAKE_SORT};
    struct hs_heap_block block;
    hs_addr begin, end;

    EACH_RELEASE(release)
    {
        uint64_t cursor = 0;
        fake_postgres_make(&backend, release, 0);
        assert_int_equal(fake_postgres_read(&backend, &backend_heaps, &err), HS_OK);
        assert_int_equal(
            hs_heap_map_resolve(&backend_heaps.map, backend.contexts[FAKE_TOP].at, &block),
            HS_POINTER_START);
        assert_true(hs_heaps_owned(&backend_heaps, &block, &cursor, &begin, &end)); /* its block */
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            assert_true(hs_heaps_owned(&backend_heaps, &block, &cursor, &begin, &end));
            assert_int_equal(begin, backend.contexts[order[i]].at);
        }
        assert_false(hs_heaps_owned(&backend_heaps, &block, &cursor, &begin, &end));
        hs_heaps_close(&backend_heaps);
        fake_postgres_close(&backend);
    }
}

/* Of 13 and 14: until something is in it, it has none. */
static void an_old_generation_without_a_block(void **state)
{
    for (unsigned release = 0; release < FAKE_POSTGRES_RELEASES; release += 3) {
        fake_postgres_make(&backend, release, 0);
        fake_postgres_context(&backend, FAKE_OLD_GENERATION, "more", FAKE_TOP, 0);
        backend_check(&(struct backend_expected){0});
    }
}

/* All free lists, the largest chunk, one that fills its block, and a dedicated one that was freed
 * and given back. */
static void reads_all_sizes_of_chunks(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        (void)fake_postgres_block(&backend, FAKE_UNDER, 3800);
        for (unsigned i = 0; i < 8; i++)
            (void)fake_postgres_chunk(&backend, FAKE_UNDER, UINT64_C(8) << i);
        for (unsigned i = 1; i < 8; i += 2)
            fake_postgres_free(&backend,
                               fake_postgres_chunk(&backend, FAKE_UNDER, UINT64_C(5) << i));
        backend_check(&(struct backend_expected){0});
    }
}

/* To find out how chunks begin takes a try with each release, and most of the process may be in the
 * first block. */
static void one_block_may_be_most_of_the_process(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_begin(&backend, release);
        (void)fake_postgres_context(&backend, FAKE_SET, "TopMemoryContext", FAKE_POSTGRES_NONE,
                                    10800);
        for (unsigned i = 0; i < 9; i++)
            (void)fake_postgres_chunk(&backend, FAKE_TOP, 1024);
        backend_check(&(struct backend_expected){0});
    }
}

/* ---- names */

enum { NAME = 56, IDENT = 64 }; /* of MemoryContextData */

/* Reads the backend, and leaves it open. */
static void is_called(uint32_t context, const char *name, const char *chunks_name)
{
    const struct fake_context *c = &backend.contexts[context];
    struct hs_heap_block block;
    struct hs_object_name said;

    assert_int_equal(fake_postgres_read(&backend, &backend_heaps, &err), HS_OK);
    assert_int_equal(hs_heap_map_resolve(&backend_heaps.map, c->at, &block), HS_POINTER_START);
    assert_true(hs_heaps_object_name(&backend_heaps, &block, &said));
    assert_string_equal(hs_strtab_get(&backend.strings, said.name), name);
    is_printed_harmlessly(hs_strtab_get(&backend.strings, said.name));
    for (size_t i = 0; i < backend.n_chunks; i++) {
        const struct fake_chunk *chunk = &backend.chunks[i];
        if (backend.blocks[chunk->block].context != context || chunk->is_free)
            continue;
        assert_int_not_equal(hs_heap_map_resolve(&backend_heaps.map, chunk->begin, &block),
                             HS_POINTER_NONE);
        assert_string_equal(
            hs_strtab_get(&backend.strings, hs_heaps_pool_name(&backend_heaps, block.span)),
            chunks_name);
    }
    hs_heaps_close(&backend_heaps);
    fake_postgres_close(&backend);
}

/* A binary may bring along what it likes, and a table be identified by anything: it is kept as it
 * stands, and printed so that nothing of it is taken for a terminal's. */
static void names_may_be_hostile(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        const hs_addr text = fake_postgres_text(&backend, HOSTILE_TEXT);
        *fake_postgres_word(&backend, backend.contexts[FAKE_CACHE].at + NAME) = text;
        *fake_postgres_word(&backend, backend.contexts[FAKE_TABLE].at + IDENT) = text;
        is_called(FAKE_CACHE, "MemoryContext " HOSTILE_TEXT, "chunk in " HOSTILE_TEXT);
        is_called(FAKE_TABLE, "MemoryContext " HOSTILE_TEXT, "chunk in " HOSTILE_TEXT);
    }
}

/* What a backend made up itself may be anybody's data, but for what identifies a table; what
 * identifies another context, as a plan, is its statement. */
static void names_are_constants(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 0);
        const struct fake_chunk *chunk = &backend.chunks[0];
        assert_true(chunk->n_bytes >= 16);
        memcpy(fake_postgres_word(&backend, chunk->begin), "secret", sizeof "secret");
        for (uint32_t i = FAKE_CACHE; i <= FAKE_TABLE; i++)
            *fake_postgres_word(&backend, backend.contexts[i].at + IDENT) = chunk->begin;
        is_called(FAKE_CACHE, "MemoryContext CacheMemoryContext", "chunk in CacheMemoryContext");
        is_called(FAKE_TABLE, "MemoryContext secret", "chunk in secret");
        for (uint32_t i = FAKE_CACHE; i <= FAKE_TABLE; i++)
            *fake_postgres_word(&backend, backend.contexts[i].at + NAME) = chunk->begin;
        is_called(FAKE_CACHE, "MemoryContext (unnamed)", "chunk in (unnamed)");
        is_called(FAKE_TABLE, "MemoryContext (unnamed)", "chunk in (unnamed)");
    }
}

static void survives_without_memory(void **state)
{
    EACH_RELEASE(release)
    {
        fake_postgres_make(&backend, release, 1);
        backend_check(
            &(struct backend_expected){0}); /* what a binary keeps of its symbols is read now */
        FAIL_EACH (f, .mode = FAIL_BOTH, .at_least = 20) {
            (void)FAIL_EACH_TRY(f, fake_postgres_read(&backend, &backend_heaps, &err));
            hs_heaps_close(&backend_heaps);
            fake_postgres_close(&backend);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_releases),
        cmocka_unit_test(children_are_in_order),
        cmocka_unit_test(an_old_generation_without_a_block),
        cmocka_unit_test(reads_all_sizes_of_chunks),
        cmocka_unit_test(one_block_may_be_most_of_the_process),
        cmocka_unit_test(names_may_be_hostile),
        cmocka_unit_test(names_are_constants),
        cmocka_unit_test(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
