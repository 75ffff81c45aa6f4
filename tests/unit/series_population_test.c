/* links: hs_analysis */
#include "unit.h"

#include "analysis/series.h"
#include "edge_list.h"
#include "made_keys.h"
#include "seeds.h"
#include "type_rank.h"

enum { MOST_KEYS = 64 };

/* A heap of a runner that has failed n times, each time with the dicts of 20 frames. */
static uint32_t failed(struct hs_snap_keys *table, uint64_t n, bool tells)
{
    static const struct {
        const char *name;
        enum hs_type_rank rank;
        uint64_t each, words;
    } steps[] = {{"list", HS_RANK_BUILTIN, 0, 0},       {"ValueError", HS_RANK_ERROR, 1, 10},
                 {"traceback", HS_RANK_BUILTIN, 20, 8}, {"frame", HS_RANK_BUILTIN, 20, 60},
                 {"dict", HS_RANK_BUILTIN, 20, 8},      {"dict keys", HS_RANK_NOTHING, 200, 1600}};
    made_keys_begin(table, 1000);
    uint32_t at = made_keys_add(table, 0, "runner.failed", HS_KEY_ROOT, 0, 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t blocks = i == 0 ? 1 : n * steps[i].each;
        at = made_keys_add(table, at, steps[i].name, HS_KEY_TYPE, blocks, blocks * steps[i].words);
        if (tells)
            table->lists[HS_KEY_LIST_KEYS].rows[at].tells = steps[i].rank;
    }
    made_keys_end(table);
    return at;
}

static void compare(struct hs_snap_keys *tables, struct hs_series *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_snap_keys *const both[] = {&tables[0], &tables[1]};
    assert_int_equal(hs_series_find(both, 2, NULL, ret, &err), HS_OK);
}

static void finish(struct hs_snap_keys *tables, struct hs_series *series)
{
    hs_series_fini(series);
    hs_snap_keys_fini(&tables[0]);
    hs_snap_keys_fini(&tables[1]);
}

static const char *name_of(const struct hs_series *series, uint32_t row)
{
    return hs_strtab_get(&series->names, series->rows[row].name);
}

static void a_class_before_what_it_is_made_of(void **state)
{
    for (int tells = 1; tells >= 0; tells--) {
        struct hs_snap_keys tables[2] = {0};
        struct hs_series series;
        (void)failed(&tables[0], 1000, tells != 0);
        (void)failed(&tables[1], 1420, tells != 0);
        compare(tables, &series);
        assert_string_equal(name_of(&series, series.found[0]), "dict keys");
        if (tells == 0) { /* without: "from 200000 to 284000 dict keys" is all there is to say */
            assert_int_equal(series.population, HS_NO_KEY);
        } else {
            assert_string_equal(name_of(&series, series.population), "ValueError");
            assert_int_equal(hs_series_own_objects(&series, series.population, 0), 1000);
            assert_int_equal(hs_series_own_objects(&series, series.population, 1), 1420);
        }
        finish(tables, &series);
    }
}

static void put_leak(struct hs_snap_keys *table, const char *name, uint64_t n, uint64_t held)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_key_row row = {
        .parent = HS_NO_KEY, .objects = n, .words = n * 8, .detail = 8, .tells = held};
    made_keys_must(hs_snap_keys_add(table, HS_KEY_LIST_LEAKS, name, &row, &err));
}

/* Documents of one hundred nodes each: what one would have to free are the documents. */
static void of_what_is_lost_that_on_which_it_hangs(void **state)
{
    struct hs_snap_keys tables[2] = {0};
    struct hs_series series;
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t n = 10 + 10 * i;
        made_keys_begin(&tables[i], 1000);
        uint32_t lost = made_keys_add(&tables[i], 0, "[unreached]", HS_KEY_UNREACHED, 0, 0);
        (void)made_keys_add(&tables[i], lost, "struct node", HS_KEY_TYPE, 100 * n, 800 * n);
        (void)made_keys_add(&tables[i], lost, "struct doc", HS_KEY_TYPE, n, 8 * n);
        made_keys_end(&tables[i]);
        put_leak(&tables[i], "struct node", 100 * n, 0);
        put_leak(&tables[i], "struct doc", n, 808 * n);
    }
    compare(tables, &series);
    assert_string_equal(name_of(&series, series.population), "struct doc");
    assert_int_equal(hs_series_own_objects(&series, series.population, 1), 20);
    finish(tables, &series);
}

/* ---- any tree, against the definition ---- */

struct tree {
    size_t n;
    uint32_t parent[MOST_KEYS];
    uint64_t blocks[2][MOST_KEYS], words[2][MOST_KEYS];
    unsigned rank[MOST_KEYS];
};

static void make_tree(struct tree *tree, uint64_t *seed)
{
    tree->n = 3 + hs_random_below(seed, MOST_KEYS - 3);
    tree->parent[1] = 0;
    for (size_t i = 2; i < tree->n; i++) {
        tree->parent[i] = 1 + hs_random_below(seed, (uint32_t)i - 1);
        tree->blocks[0][i] = 1 + hs_random_below(seed, 4);
        tree->blocks[1][i] = tree->blocks[0][i] + (1u << hs_random_below(seed, 10)) - 1;
        for (size_t t = 0; t < 2; t++)
            tree->words[t][i] = tree->blocks[t][i] * (1 + i % 5);
        tree->rank[i] = hs_random_below(seed, HS_RANK_MAIN + 1);
    }
}

static void fill_tables(const struct tree *tree, struct hs_snap_keys *tables)
{
    char name[16];
    for (size_t t = 0; t < 2; t++) {
        made_keys_begin(&tables[t], 1000);
        for (size_t i = 1; i < tree->n; i++) {
            (void)snprintf(name, sizeof name, "k%zu", i);
            uint32_t key =
                made_keys_add(&tables[t], tree->parent[i], name, i == 1 ? HS_KEY_ROOT : HS_KEY_TYPE,
                              i == 1 ? 0 : tree->blocks[t][i], i == 1 ? 0 : tree->words[t][i]);
            tables[t].lists[HS_KEY_LIST_KEYS].rows[key].tells = i == 1 ? 0 : tree->rank[i];
        }
        made_keys_end(&tables[t]);
    }
}

static bool is_at_or_below(const struct tree *tree, size_t key, size_t top)
{
    while (key > top)
        key = tree->parent[key];
    return key == top;
}

static unsigned steps_of(const struct tree *tree, size_t key)
{
    return key <= 1 ? 0 : 1 + steps_of(tree, tree->parent[key]);
}

static int64_t came(const struct tree *tree, size_t key)
{
    return key <= 1 ? 0 : (int64_t)(tree->blocks[1][key] - tree->blocks[0][key]);
}

static uint64_t grew(const struct tree *tree, size_t top)
{
    uint64_t sum = 0;
    for (size_t i = top; i < tree->n; i++)
        sum += i > 1 && is_at_or_below(tree, i, top) ? tree->words[1][i] - tree->words[0][i] : 0;
    return sum;
}

/* Whether key i may stand for the growth at a step that n blocks came at. */
static bool may_stand(const struct tree *tree, size_t i, size_t step, int64_t n, uint32_t found)
{
    return is_at_or_below(tree, i, step) && came(tree, i) > 0 && came(tree, i) >= n / 3 &&
           came(tree, i) / 3 <= n && steps_of(tree, i) < HS_KEY_STEPS &&
           (double)grew(tree, i) >= (double)grew(tree, found) / 4;
}

/* The definition: over all steps of the way and all keys below each. */
static uint32_t by_definition(const struct tree *tree, uint32_t found)
{
    uint32_t best = HS_NO_KEY;
    double best_ratio = 0;
    for (size_t step = 2; step <= found; step++) {
        int64_t n = came(tree, step), above = came(tree, tree->parent[step]);
        double ratio = (double)n / (double)(above > 0 ? above : 1);
        uint32_t at = HS_NO_KEY;
        if (!is_at_or_below(tree, found, step) || ratio < 4)
            continue;
        for (uint32_t i = (uint32_t)step; i < tree->n; i++)
            if (may_stand(tree, i, step, n, found) &&
                (at == HS_NO_KEY || tree->rank[i] > tree->rank[at]))
                at = i;
        if (at != HS_NO_KEY && (best == HS_NO_KEY || tree->rank[at] > tree->rank[best] ||
                                (tree->rank[at] == tree->rank[best] && ratio > best_ratio))) {
            best = at;
            best_ratio = ratio;
        }
    }
    return best != HS_NO_KEY && tree->rank[best] != HS_RANK_NOTHING ? best : HS_NO_KEY;
}

static void any_tree_as_defined(void **state)
{
    uint64_t seed = 20261129, n_classes = 0;
    for (unsigned round = 0; round < HS_SEEDS(2000); round++) {
        struct tree tree = {0};
        struct hs_snap_keys tables[2] = {0};
        struct hs_series series;
        make_tree(&tree, &seed);
        fill_tables(&tree, tables);
        compare(tables, &series);
        uint32_t expected = series.n_found == 0 ? HS_NO_KEY : by_definition(&tree, series.found[0]);
        assert_int_equal(series.population, expected);
        n_classes += expected != HS_NO_KEY && expected != series.found[0];
        finish(tables, &series);
    }
    assert_true(n_classes > HS_SEEDS(500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_before_what_it_is_made_of),
        cmocka_unit_test(of_what_is_lost_that_on_which_it_hangs),
        cmocka_unit_test(any_tree_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
