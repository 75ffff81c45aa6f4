/* links: hs_graph hs_base */
/* The trail of a search against plain arrays. */
#include "fail_each.h"
#include "graph/trail.h"

#include "unit.h"

#include "base/alloc.h"

enum { MOST = 5000 };

static uint64_t seed = 99;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

struct plain {
    hs_node node[MOST];
    uint64_t from[MOST];
    uint64_t n, at;
};

static void check(const struct trail *trail, const struct plain *plain)
{
    assert_int_equal(trail->n, plain->n);
    for (uint64_t i = 0; i < plain->n; i++) {
        assert_true(trail_node(trail, i) == plain->node[i]);
        assert_true(trail_is_marked(trail, plain->node[i]));
        if (i > 0)
            assert_int_equal(trail_from(trail, i), plain->from[i]);
    }
}

/* Looks at all entries in turn; `most` new ones are met from each. */
static void fill(struct trail *trail, struct plain *plain, hs_node first, uint32_t most)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_node node;
    plain->n = plain->at = 0;
    assert_int_equal(trail_put(trail, plain->node[plain->n++] = first, &err), HS_OK);
    while (trail_next(trail, &node)) {
        assert_true(node == plain->node[plain->at++]);
        uint32_t n = random_below(4) == 0 ? random_below(most) : 0;
        if (plain->at == plain->n && plain->n < MOST / 2)
            n++;
        for (; n > 0 && plain->n < MOST; n--) {
            plain->from[plain->n] = plain->at - 1;
            plain->node[plain->n] = first - plain->n * 3;
            assert_int_equal(trail_put(trail, plain->node[plain->n++], &err), HS_OK);
        }
    }
}

static void walks_back(void **state)
{
    static struct plain plain;
    static const hs_node sizes[] = {MOST * 3, ((hs_node)1 << 32) + 3 * MOST};
    for (unsigned i = 0; i < 2; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_budget budget = {.limit_bytes = UINT64_MAX};
        struct trail trail;
        assert_int_equal(trail_init(sizes[i], &budget, &trail, &err), HS_OK);
        for (uint32_t most = 2; most < 2000; most *= 3) {
            fill(&trail, &plain, sizes[i] - 1, most);
            check(&trail, &plain);
            trail_clear(&trail);
            for (uint64_t at = 0; at < plain.n; at++)
                assert_false(trail_is_marked(&trail, plain.node[at]));
        }
        assert_true(budget.used_bytes > 0 && budget.used_bytes < 1 << 20);
        trail_fini(&trail);
        assert_int_equal(budget.used_bytes, 0);
    }
}

/* Marks that are no entry's stay when the entries go. */
static void marks_stay(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct trail trail;
    assert_int_equal(trail_init(100000, NULL, &trail, &err), HS_OK);
    assert_int_equal(trail_mark(&trail, 77777, &err), HS_OK);
    assert_int_equal(trail_put(&trail, 5, &err), HS_OK);
    trail_clear(&trail);
    assert_true(trail_is_marked(&trail, 77777));
    assert_false(trail_is_marked(&trail, 5));
    trail_fini(&trail);
}

static void over_the_budget(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct trail trail;
    struct hs_budget budget = {.limit_bytes = 400000};
    assert_int_equal(trail_init(10000000, &budget, &trail, &err), HS_OK);
    uint64_t n = 0;
    while (trail_put(&trail, n, &err) == HS_OK)
        n++;
    assert_int_equal(err.status, HS_LIMIT);
    assert_int_equal(n, trail.n);
    assert_true(n >= 65536); /* what was paid for at once */
    assert_true(budget.used_bytes <= budget.limit_bytes);
    trail_fini(&trail);
    assert_int_equal(budget.used_bytes, 0);
}

static void out_of_memory(void **state)
{
    FAIL_EACH (each, .at_least = 4) {
        struct hs_error err = HS_ERROR_INIT;
        struct trail trail = {.n = 77};
        bool done = FAIL_EACH_TRY(each, trail_init(1000, NULL, &trail, &err)) == HS_OK;
        assert_true(done || trail.n == 77);
        if (done)
            trail_fini(&trail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_back),
        cmocka_unit_test(marks_stay),
        cmocka_unit_test(over_the_budget),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
