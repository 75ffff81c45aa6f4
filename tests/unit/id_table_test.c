/* links: hs_import hs_format */
#include "unit.h"

#include "base/alloc.h"
#include "import/id_table.h"

static uint64_t random_state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* The first place at which an id was put, by looking at all. */
static uint64_t first_place(const uint64_t *ids, size_t n, uint64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return i;
    return UINT64_MAX;
}

static void check_table(const uint64_t *ids, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_import_options options = {0};
    struct maker maker;
    struct id_table table = {0};
    maker_init(&options, NULL, &maker);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(hs_id_put(&maker, &table, ids[i], i, "test", &err), HS_OK);
    assert_int_equal(hs_id_sort(&maker, &table, &err), HS_OK);
    assert_int_equal(table.n + table.n_double, n);
    for (size_t i = 1; i < table.n; i++)
        assert_true(table.places[i - 1].id < table.places[i].id);
    for (size_t i = 0; i < n; i++) {
        uint64_t at = hs_id_find(&table, ids[i]);
        assert_true(at < table.n && table.places[at].id == ids[i]);
        assert_int_equal(table.places[at].at, first_place(ids, n, ids[i]));
        uint64_t other = ids[i] + 1;
        if (first_place(ids, n, other) == UINT64_MAX)
            assert_true(hs_id_find(&table, other) == UINT64_MAX);
    }
    assert_true(hs_id_find(&table, next_random() | 1) == UINT64_MAX || n != 0);
    hs_id_fini(&maker, &table);
    maker_fini(&maker);
}

static void finds_what_was_put(void **state)
{
    enum { MOST = 300 };
    uint64_t ids[MOST];
    for (unsigned round = 0; round < 60; round++) {
        size_t n = round == 0 ? 0 : 1 + next_random() % MOST;
        uint64_t range = UINT64_MAX >> (round % 64);
        for (size_t i = 0; i < n; i++)
            ids[i] = next_random() & range;
        if (n > 2) {
            ids[1] = 0;
            ids[2] = UINT64_MAX;
        }
        check_table(ids, n);
    }
}

static void keeps_what_is_sorted(void **state)
{
    const uint64_t ids[] = {8, 16, 24, 4096, 4104, (uint64_t)1 << 40};
    check_table(ids, sizeof ids / sizeof *ids);
    check_table((const uint64_t[]){5, 5, 5}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_put),
        cmocka_unit_test(keeps_what_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
