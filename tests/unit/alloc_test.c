/* links: hs_base */
#include "unit.h"

#include <pthread.h>

#include "base/alloc.h"

struct thing {
    int freed;
};

static int n_freed;

static void thing_free(struct thing *thing)
{
    if (thing != NULL)
        n_freed++;
}

HS_DEFINE_AUTO(thing, free)

static void gives_zeroed_memory(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto_free void *memory = NULL;
    assert_int_equal(hs_alloc(100, 7, &memory, &err), HS_OK);
    for (size_t i = 0; i < 700; i++)
        assert_int_equal(((unsigned char *)memory)[i], 0);
    void *empty = NULL;
    assert_int_equal(hs_alloc(0, 8, &empty, &err), HS_OK);
    assert_non_null(empty);
    hs_free(empty);
    hs_free(NULL);
}

static void refuses_too_much(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    void *memory = &err;
    const size_t half = (size_t)PTRDIFF_MAX / 2 + 1;

    assert_int_equal(hs_alloc(SIZE_MAX, 2, &memory, &err), HS_LIMIT); /* overflows */
    assert_int_equal(hs_alloc(half, 2, &memory, &err), HS_LIMIT);     /* PTRDIFF_MAX + 1 */
    assert_int_equal(hs_pages_alloc(SIZE_MAX / 4, 8, &memory, &err), HS_LIMIT);
    assert_int_equal(hs_pages_alloc(PTRDIFF_MAX, 1, &memory, &err), HS_LIMIT);
    assert_ptr_equal(memory, &err); /* untouched */
    assert_true(strlen(err.message) > 0);
}

static void grows_zeroed_and_at_least_doubles(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    void *array = NULL;
    size_t capacity = 0;
    uint64_t before = hs_alloc_count();

    for (size_t n = 1; n <= 100000; n++) {
        assert_int_equal(hs_grow(&array, &capacity, n, sizeof(int), &err), HS_OK);
        assert_true(capacity >= n);
        assert_int_equal(((int *)array)[n - 1], 0);
        ((int *)array)[n - 1] = (int)n;
    }
    for (size_t n = 1; n <= 100000; n++)
        assert_int_equal(((int *)array)[n - 1], (int)n);
    assert_true(hs_alloc_count() - before < 20);
    hs_free(array);
}

static void failed_growth_changes_nothing(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    void *array = NULL;
    size_t capacity = 0;

    assert_int_equal(hs_grow(&array, &capacity, 5, 8, &err), HS_OK);
    void *kept = array;
    size_t kept_capacity = capacity;
    assert_int_equal(hs_grow(&array, &capacity, SIZE_MAX / 4, 8, &err), HS_LIMIT);
    assert_int_equal(hs_grow(&array, &capacity, (size_t)PTRDIFF_MAX / 8 + 1, 8, &err), HS_LIMIT);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_grow(&array, &capacity, 1000, 8, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_ptr_equal(array, kept);
    assert_int_equal(capacity, kept_capacity);
    hs_free(array);
}

static void pages_are_lazy_and_zeroed(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    void *pages = NULL;
#ifdef __SANITIZE_THREAD__
    const size_t n = (size_t)1 << 30; /* its shadow memory leaves no room for more */
#else
    const size_t n = (size_t)1 << 37; /* 1 TiB of words: only the touched ones are paid */
#endif

    assert_int_equal(hs_pages_alloc(n, 8, &pages, &err), HS_OK);
    uint64_t *words = pages;
    assert_int_equal(words[0], 0);
    words[n - 1] = 3;
    assert_int_equal(words[n - 1], 3);
    hs_pages_free(pages, n, 8);
    assert_int_equal(hs_pages_alloc(0, 8, &pages, &err), HS_OK);
    assert_non_null(pages);
    hs_pages_free(pages, 0, 8);
    hs_pages_free(NULL, 5, 5);
}

/* Six allocations in turn; the status of the first that failed. */
static hs_status allocate_each_way(struct hs_error *err)
{
    hs_auto_free void *a = NULL;
    hs_auto_free void *b = NULL;
    hs_auto_free char *c = NULL;
    void *pages = NULL;
    size_t capacity = 0;

    HS_TRY(hs_alloc(3, 4, &a, err));
    HS_TRY(hs_grow(&b, &capacity, 10, 1, err));
    HS_TRY(hs_grow(&b, &capacity, 100, 1, err));
    HS_TRY(hs_strdup("text", &c, err));
    HS_TRY(hs_pages_alloc(10, 10, &pages, err));
    hs_pages_free(pages, 10, 10);
    return HS_OK;
}

static void each_allocation_can_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t before = hs_alloc_count();
    assert_int_equal(allocate_each_way(&err), HS_OK);
    uint64_t n = hs_alloc_count() - before;
    assert_int_equal(n, 5);
    for (uint64_t nth = 1; nth <= n; nth++) {
        hs_alloc_fail_at(nth, false);
        assert_int_equal(allocate_each_way(&err), HS_LIMIT);
        assert_non_null(strstr(err.message, "out of memory"));
        assert_int_equal(allocate_each_way(&err), HS_OK); /* not sticky */
        hs_alloc_fail_at(nth, true);
        assert_int_equal(allocate_each_way(&err), HS_LIMIT);
        assert_int_equal(allocate_each_way(&err), HS_LIMIT); /* sticky */
        hs_alloc_fail_at(0, false);
    }
    hs_alloc_fail_at(n + 1, false);
    assert_int_equal(allocate_each_way(&err), HS_OK);
    hs_alloc_fail_at(0, true);
    assert_int_equal(allocate_each_way(&err), HS_OK);
}

static void *count_many(void *unused)
{
    struct hs_error err = HS_ERROR_INIT;
    for (int i = 0; i < 10000; i++) {
        void *memory = NULL;
        if (hs_alloc(1, 8, &memory, &err) != HS_OK)
            return "failed";
        hs_free(memory);
    }
    return NULL;
}

static void counts_in_all_threads(void **state)
{
    pthread_t threads[4];
    uint64_t before = hs_alloc_count();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *failure = "none";
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
    assert_int_equal(hs_alloc_count() - before, 40000);
}

static struct thing *thing_pass(struct thing *given)
{
    hs_auto(thing) *scoped = given;
    return HS_STEAL(scoped);
}

static void scopes_free_once(void **state)
{
    struct thing one = {0};
    n_freed = 0;
    assert_ptr_equal(thing_pass(&one), &one);
    assert_int_equal(n_freed, 0);
    {
        hs_auto(thing) *scoped = &one;
        (void)scoped;
    }
    assert_int_equal(n_freed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_zeroed_memory),
        cmocka_unit_test(refuses_too_much),
        cmocka_unit_test(grows_zeroed_and_at_least_doubles),
        cmocka_unit_test(failed_growth_changes_nothing),
        cmocka_unit_test(pages_are_lazy_and_zeroed),
        cmocka_unit_test(each_allocation_can_fail),
        cmocka_unit_test(counts_in_all_threads),
        cmocka_unit_test(scopes_free_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
