/* links: hs_format */
#include "format/edge_sort.h"

#include "unit.h"

enum { MOST = 5000 };

static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(((*state >> 32) * n) >> 32);
}

static int compare(const void *a, const void *b)
{
    const struct hs_edge *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->offset_words != y->offset_words)
        return x->offset_words < y->offset_words ? -1 : 1;
    return (x->edge_class > y->edge_class) - (x->edge_class < y->edge_class);
}

static void check(struct hs_edge *edges, size_t n)
{
    static struct hs_edge expected[MOST];
    memcpy(expected, edges, n * sizeof *edges);
    qsort(expected, n, sizeof *edges, compare);
    hs_edges_sort(edges, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(compare(&edges[i], &expected[i]), 0);
}

/* Keys that differ in few bytes and in all, at each place; sorted, turned round, all the same. */
static void test_against_qsort(void **state)
{
    static struct hs_edge edges[MOST];
    uint64_t random = 5;
    for (unsigned round = 0; round < 600; round++) {
        size_t n = random_below(&random, round % 50 == 0 ? MOST : 200);
        unsigned shift = round % 57, spread = 1 + random_below(&random, 2000);
        for (size_t i = 0; i < n; i++) {
            uint64_t value = (uint64_t)random_below(&random, spread) << shift;
            if (round % 3 == 1)
                value = i;
            if (round % 3 == 2 && round % 2 == 0)
                value = n - i;
            edges[i].target = round % 4 == 3 ? 7 : value;
            edges[i].offset_words =
                round % 5 == 4 ? 9 : (uint64_t)random_below(&random, spread) << (56 - shift);
            edges[i].edge_class = (uint8_t)random_below(&random, 3);
        }
        check(edges, n);
        check(edges, n);
    }
}

static void test_few(void **state)
{
    struct hs_edge edges[2] = {{.target = 2}, {.target = 1}};
    hs_edges_sort(NULL, 0);
    hs_edges_sort(edges, 1);
    assert_int_equal(edges[0].target, 2);
    check(edges, 2);
    assert_int_equal(edges[0].target, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_against_qsort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
