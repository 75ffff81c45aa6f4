/* links: hs_heaps hs_process hs_symbols hs_base */
/* Contexts of PostgreSQL's that wait to be used again, and what only looks like them. */
#include "unit.h"

#include "check_postgres.h"
#include "fake_malloc_allocator.h"

enum {
    ALLOCATED = 8,
    METHODS = 16,
    PARENT = 24,
    FIRST_CHILD = 32,
    PREV_CHILD = 40,
    NEXT_CHILD = 48
};
enum { SET_BLOCKS = 80, BLOCK_PREV = 8, BLOCK_NEXT = 16, BLOCK_USED = 24, BLOCK_END = 32 };
enum { N_IDLE = 3, IDLE_BYTES = 128 };

static hs_addr idle[N_IDLE];
static struct hs_error err;

static uint64_t *word(hs_addr at)
{
    return fake_postgres_word(&backend, at);
}

/* A child of the first context that was deleted and kept: its siblings no longer lead there. */
static hs_addr make_idle(hs_addr next)
{
    uint32_t number = fake_postgres_context(&backend, FAKE_SET, "idle", FAKE_TOP, IDLE_BYTES);
    hs_addr at = backend.contexts[number].at;
    hs_addr elder = *word(at + PREV_CHILD), younger = *word(at + NEXT_CHILD);

    *word(elder != 0 ? elder + NEXT_CHILD : backend.contexts[FAKE_TOP].at + FIRST_CHILD) = younger;
    if (younger != 0)
        *word(younger + PREV_CHILD) = elder;
    *word(at + PARENT) = *word(at + PREV_CHILD) = 0;
    *word(at + NEXT_CHILD) = next;
    return at;
}

static void make(unsigned release)
{
    hs_addr next = 0;

    fake_postgres_make(&backend, release, 0);
    for (size_t i = 0; i < N_IDLE; i++)
        next = idle[i] = make_idle(next);
    *word(FAKE_POSTGRES_LIST) = N_IDLE;
    *word(FAKE_POSTGRES_LIST + 8) = next;
}

/* Reads it; all of them are cached, or none is, and then they are malloc's. */
static void check(bool is_list)
{
    const uint64_t n_bytes = backend.contexts[FAKE_TOP].layout.object + IDLE_BYTES;
    uint64_t n_resident;
    struct hs_heap_block block;

    assert_int_equal(fake_postgres_read(&backend, &backend_heaps, &err), HS_OK);
    for (size_t i = 0; i < N_IDLE; i++) {
        enum hs_pointer how = hs_heap_map_resolve(&backend_heaps.map, idle[i], &block);
        assert_int_equal(how, is_list ? HS_POINTER_NONE : HS_POINTER_START);
        assert_true(is_list || block.span->owner == HS_OWNER_glibc);
    }
    assert_int_equal(
        hs_ledger_close(&backend_heaps.ledger, &backend.process, NULL, &n_resident, &err), HS_OK);
    struct hs_memory_row row = backend_row("postgres", HS_MEMORY_CACHED);
    assert_int_equal(row.n_blocks, is_list ? N_IDLE : 0);
    assert_int_equal(row.n_bytes, is_list ? N_IDLE * n_bytes : 0);
    assert_int_equal(n_resident, FAKE_POSTGRES_BYTES);
    assert_int_equal(backend.findings.n_torn, 0);
    hs_heaps_close(&backend_heaps);
    fake_postgres_close(&backend);
}

static void a_list_as_long_as_it_says_is_cached(void **state)
{
    EACH_RELEASE(release)
    {
        make(release);
        check(true);
    }
}

static void another_length_is_no_list(void **state)
{
    const uint64_t lengths[] = {0, 1, N_IDLE - 1, N_IDLE + 1, 101, UINT64_MAX};

    EACH_RELEASE(release)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        make(release);
        *word(FAKE_POSTGRES_LIST) = lengths[i];
        check(false);
    }
}

/* Each word by which one is known. */
static void one_that_is_not_idle_makes_it_none(void **state)
{
    const unsigned of_context[] = {ALLOCATED, METHODS, PARENT, FIRST_CHILD, SET_BLOCKS, NEXT_CHILD};
    const unsigned of_block[] = {0, BLOCK_PREV, BLOCK_NEXT, BLOCK_USED, BLOCK_END};

    EACH_RELEASE(release)
    {
        const size_t n_context = sizeof of_context / sizeof *of_context;
        for (size_t i = 0; i < n_context + sizeof of_block / sizeof *of_block; i++) {
            make(release);
            hs_addr block = idle[1] + backend.contexts[FAKE_TOP].layout.object;
            *word(i < n_context ? idle[1] + of_context[i] : block + of_block[i - n_context]) += 8;
            check(false);
        }
    }
}

/* Its end is far away, and what it says it has agrees. */
static void ends_elsewhere(void **state)
{
    EACH_RELEASE(release)
    {
        make(release);
        const hs_addr block = idle[1] + backend.contexts[FAKE_TOP].layout.object;
        *word(idle[1] + ALLOCATED) += FAKE_POSTGRES_BYTES;
        *word(block + BLOCK_END) += FAKE_POSTGRES_BYTES;
        check(false);
    }
}

/* Twice in the data: it is cached once. */
static void a_list_is_taken_once(void **state)
{
    EACH_RELEASE(release)
    {
        make(release);
        *word(FAKE_POSTGRES_LIST + 16) = N_IDLE;
        *word(FAKE_POSTGRES_LIST + 24) = *word(FAKE_POSTGRES_LIST + 8);
        check(true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_as_long_as_it_says_is_cached),
        cmocka_unit_test(another_length_is_no_list),
        cmocka_unit_test(one_that_is_not_idle_makes_it_none),
        cmocka_unit_test(ends_elsewhere),
        cmocka_unit_test(a_list_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
