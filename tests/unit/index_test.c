/* links: hs_index hs_dominator hs_graph hs_format */
#include "fail_each.h"
#include "index/index.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "made_directory.h"
#include "seeds.h"

static struct hs_error err;
static char directory[MADE_DIRECTORY_BYTES];
static char snap_path[MADE_DIRECTORY_BYTES + 16], index_path[MADE_DIRECTORY_BYTES + 32];
static char cache_dir[MADE_DIRECTORY_BYTES + 32];

/* Blocks 0 .. n - 1 with random edges, weak ones and ephemerons among them. */
static void fill(struct hs_graph_builder *b, uint64_t seed, uint32_t n, bool with_ephemerons)
{
    uint64_t random = seed * 2 + 1;
    for (uint32_t i = 0; i < n; i++)
        (void)hs_graph_builder_block(b, 2 + hs_random_below(&random, 9),
                                     hs_random_below(&random, 5) == 0);
    for (uint32_t i = 0; i < n + n / 3; i++) {
        uint32_t kind = hs_random_below(&random, 12);
        unsigned edge_class = kind == 0                      ? HS_EDGE_WEAK
                              : kind == 1 && with_ephemerons ? HS_EDGE_EPHEMERON
                                                             : HS_EDGE_EXACT;
        hs_graph_builder_edge(b, hs_random_below(&random, n), hs_random_below(&random, n),
                              edge_class);
    }
    for (uint32_t i = 0; i < 3 + n / 10; i++) {
        char module[16], unit[16], name[32];
        (void)snprintf(module, sizeof module, "m%u", i % 2);
        (void)snprintf(unit, sizeof unit, "U%u", i % 5);
        (void)snprintf(name, sizeof name, "U%u.v%u", i % 5, i);
        unsigned kind = i % 7 == 0 ? HS_ROOT_STACK : HS_ROOT_GLOBAL;
        uint32_t target = hs_random_below(&random, n);
        uint32_t leaf =
            hs_graph_builder_slot(b, kind, module, unit, i % 4 == 1 ? "a" : NULL, name, target);
        b->leaves[leaf].weak = i % 11 == 3;
    }
}

static bool sizes_equal(struct hs_sizes a, struct hs_sizes b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* What node 0 reaches without `removed`, or what `root` does; weights of it. */
struct walk {
    struct hs_graph graph;
    struct hs_weights weights;
    bool seen[4096];
    uint32_t stack[4096];
};

static struct hs_sizes walk_from(struct walk *walk, uint32_t root, uint32_t removed)
{
    struct hs_sizes sum = {0};
    uint32_t n = 0;
    memset(walk->seen, 0, sizeof walk->seen);
    if (root == removed)
        return sum;
    walk->seen[root] = true;
    walk->stack[n++] = root;
    while (n != 0) {
        uint32_t node = walk->stack[--n], degree;
        const uint32_t *row = hs_graph_row(&walk->graph, node, &degree);
        struct hs_sizes sizes = hs_weights_of(&walk->weights, node);
        hs_sizes_add(&sum, &sizes);
        for (uint32_t i = 0; i < degree; i++)
            if (!walk->seen[row[i]] && row[i] != removed) {
                walk->seen[row[i]] = true;
                walk->stack[n++] = row[i];
            }
    }
    return sum;
}

static struct hs_sizes minus(struct hs_sizes a, struct hs_sizes b)
{
    return (struct hs_sizes){a.words - b.words, a.objects - b.objects,
                             a.static_words - b.static_words, a.static_objects - b.static_objects};
}

static void check_retained(const struct hs_snap *snap, struct hs_index *index)
{
    static struct walk walk;
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_RETAINING, NULL, &walk.graph, &err), HS_OK);
    assert_int_equal(hs_weights_load(snap, NULL, &walk.weights, &err), HS_OK);
    struct hs_sizes all = walk_from(&walk, 0, HS_NONE);
    static bool reached[4096];
    memcpy(reached, walk.seen, sizeof reached);
    assert_true(sizes_equal(all, hs_index_reached_total(index)));
    for (uint32_t v = 0; v < walk.graph.n_nodes; v++) {
        assert_int_equal(hs_index_is_reached(index, v), reached[v]);
        struct hs_sizes expected = {0};
        if (reached[v])
            expected = minus(all, walk_from(&walk, 0, v));
        assert_true(sizes_equal(hs_index_retained(index, v), expected));
    }
    hs_graph_fini(&walk.graph);
    hs_weights_fini(&walk.weights);
}

static void check_reachable(const struct hs_snap *snap, struct hs_index *index)
{
    static struct walk walk;
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_STRONG, NULL, &walk.graph, &err), HS_OK);
    assert_int_equal(hs_weights_load(snap, NULL, &walk.weights, &err), HS_OK);
    for (uint32_t t = 0; t < walk.graph.n_tree; t++)
        assert_true(sizes_equal(hs_index_reachable(index, t), walk_from(&walk, t, HS_NONE)));
    hs_graph_fini(&walk.graph);
    hs_weights_fini(&walk.weights);
}

/* All values of a row: at most 4096. */
static uint32_t row_values(struct hs_row row, uint32_t *values)
{
    uint32_t n = 0;
    for (hs_node value; hs_row_next(&row, &value); n++) {
        assert_true(n < 4096);
        values[n] = (uint32_t)value;
    }
    assert_int_equal(hs_row_check(&row, &err), HS_OK);
    assert_int_equal(n, row.n);
    return n;
}

/* Against the graph, the node itself left out. */
static void check_predecessors(const struct hs_graph *reverse, struct hs_index *index, uint32_t v)
{
    static uint32_t row[4096], expected[4096];
    uint32_t n_expected = 0, n_all;
    const uint32_t *all = hs_graph_row(reverse, v, &n_all);
    for (uint32_t i = 0; i < n_all; i++)
        if (all[i] != v)
            expected[n_expected++] = all[i];
    assert_int_equal(row_values(hs_index_predecessors(index, v), row), n_expected);
    assert_memory_equal(row, expected, n_expected * sizeof *row);
}

static void check_largest(struct hs_index *index, uint32_t v, const uint32_t *row, uint32_t n,
                          uint64_t most)
{
    struct hs_child *child;
    uint64_t n_child;
    assert_int_equal(hs_index_largest(index, v, most, &child, &n_child, &err), HS_OK);
    assert_int_equal(n_child, n < most ? n : most);
    for (uint32_t i = 0; i < n_child; i++) {
        uint32_t n_before = 0; /* of all children, those that belong before it */
        for (uint32_t k = 0; k < n; k++) {
            uint64_t words = hs_index_retained(index, row[k]).words;
            n_before +=
                words > child[i].words || (words == child[i].words && row[k] < child[i].node);
        }
        assert_int_equal(n_before, i);
        assert_int_equal(hs_index_retained(index, child[i].node).words, child[i].words);
        assert_int_equal(hs_index_idom(index, child[i].node), v);
    }
    hs_free(child);
}

static void check_dominated(struct hs_index *index, uint32_t v)
{
    static uint32_t row[4096];
    uint32_t n = row_values(hs_index_dominated(index, v), row);
    struct hs_sizes rest = hs_index_retained(index, v);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(hs_index_idom(index, row[i]), v);
        assert_true(i == 0 || row[i] > row[i - 1]);
        rest = minus(rest, hs_index_retained(index, row[i]));
    }
    assert_true(rest.objects + rest.static_objects <= 1); /* the block itself is left */
    check_largest(index, v, row, n, 0);
    check_largest(index, v, row, n, 2);
    check_largest(index, v, row, n, UINT64_MAX);
}

/* Rows of both directions against the graph and against idom; sums of sizes to the word. */
static void check_rows(const struct hs_snap *snap, struct hs_index *index)
{
    struct hs_graph graph, reverse;
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_RETAINING, NULL, &graph, &err), HS_OK);
    assert_int_equal(hs_graph_reverse(&graph, &reverse, &err), HS_OK);
    assert_int_equal(hs_index_n_nodes(index), graph.n_nodes);
    for (uint32_t v = 0; v < graph.n_nodes; v++) {
        check_predecessors(&reverse, index, v);
        check_dominated(index, v);
    }
    hs_graph_fini(&graph);
    hs_graph_fini(&reverse);
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    struct hs_sizes in = hs_index_reached_total(index), out = hs_index_unreached_total(index);
    assert_int_equal(in.words + out.words, totals->heap_words);
    assert_int_equal(in.static_words + out.static_words, totals->static_words);
    assert_int_equal(in.objects + out.objects + in.static_objects + out.static_objects,
                     totals->n_blocks);
    assert_int_equal(hs_index_check(index, &err), HS_OK);
    assert_int_equal(hs_index_check_all(index, NULL, &err), HS_OK);
}

/* ---- who owns what ---- */

enum { MOST_ROOTS = 256 };

struct owners {
    uint32_t roots[MOST_ROOTS], n_roots;
    uint64_t reached_by[4096][MOST_ROOTS / 64]; /* bits of roots */
};

static bool is_root(const struct hs_snap *snap, uint32_t node)
{
    const struct hs_root *root = hs_snap_root(snap, node);
    return root->level == HS_LEVEL_VARIABLE ||
           (root->level == HS_LEVEL_LEAF &&
            hs_snap_root(snap, root->parent)->level != HS_LEVEL_VARIABLE);
}

/* One walk for each root, over what retains. */
static void owners_find(const struct hs_snap *snap, struct owners *owners)
{
    static struct walk walk;
    memset(owners, 0, sizeof *owners);
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_RETAINING, NULL, &walk.graph, &err), HS_OK);
    assert_int_equal(hs_weights_load(snap, NULL, &walk.weights, &err), HS_OK);
    for (uint32_t node = 0; node < walk.graph.n_tree; node++) {
        uint32_t root = owners->n_roots;
        if (!is_root(snap, node))
            continue;
        assert_true(root < MOST_ROOTS);
        owners->roots[owners->n_roots++] = node;
        (void)walk_from(&walk, node, HS_NONE);
        for (uint32_t v = 0; v < walk.graph.n_nodes; v++)
            owners->reached_by[v][root / 64] |= (uint64_t)walk.seen[v] << root % 64;
    }
    hs_graph_fini(&walk.graph);
    hs_weights_fini(&walk.weights);
}

/* The roots of a top unit's set are those that reach it. */
static void check_set_roots(struct hs_index *index, const struct owners *owners, uint32_t set,
                            uint32_t top)
{
    static uint32_t row[4096];
    uint32_t n = row_values(hs_index_set_roots(index, set), row), at = 0;
    for (uint32_t i = 0; i < owners->n_roots; i++)
        if (owners->reached_by[top][i / 64] >> i % 64 & 1)
            assert_true(at < n && row[at++] == owners->roots[i]);
    assert_true(at == n && n >= 2);
    assert_int_equal(hs_index_set(index, set).n_roots, n);
}

/* Each block's set by climbing; what roots and sets keep and the unreached are the heap. */
static void check_owners(const struct hs_snap *snap, struct hs_index *index)
{
    static struct owners owners;
    struct hs_sizes sum = hs_index_unreached_total(index);
    uint64_t n_others, n_sets = hs_index_n_sets(index);
    struct hs_sizes others = hs_index_other_sets(index, &n_others);
    owners_find(snap, &owners);
    for (uint32_t i = 0; i < owners.n_roots; i++) {
        struct hs_sizes retained = hs_index_retained(index, owners.roots[i]);
        hs_sizes_add(&sum, &retained);
    }
    for (uint32_t set = 1; set <= n_sets; set++) {
        struct hs_owner_set found = hs_index_set(index, set);
        assert_int_equal(hs_index_set_of(index, found.first_top), set);
        hs_sizes_add(&sum, &found.retained);
    }
    assert_int_equal(n_others + others.objects, 0);
    assert_int_equal(sum.words, hs_snap_totals(snap)->heap_words);
    assert_int_equal(sum.objects + sum.static_objects, hs_snap_totals(snap)->n_blocks);
    for (uint32_t v = 0; v < hs_index_n_nodes(index); v++) {
        hs_node idom = hs_index_idom(index, v);
        bool is_top = v >= hs_snap_totals(snap)->n_tree && idom < hs_snap_totals(snap)->n_tree &&
                      hs_snap_root(snap, idom)->level < HS_LEVEL_VARIABLE;
        assert_int_equal(hs_index_tier(index, v) != HS_TIER_NONE, hs_index_is_reached(index, v));
        assert_int_equal(hs_index_set_of(index, v) != 0, is_top);
        if (is_top)
            check_set_roots(index, &owners, hs_index_set_of(index, v), v);
    }
}

static void check_all(const struct hs_snap *snap, struct hs_index *index)
{
    check_owners(snap, index);
    check_retained(snap, index);
    check_reachable(snap, index);
    check_rows(snap, index);
}

static struct hs_index *open_index(const struct hs_snap *snap, bool no_write)
{
    struct hs_index_options options = {
        .snap_path = snap_path, .cache_dir = cache_dir, .no_write = no_write};
    struct hs_index *index = NULL;
    assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_OK);
    return index;
}

static void test_equals_brute_force(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(240); seed++) {
        struct hs_graph_builder b = {0};
        fill(&b, seed, 3 + (uint32_t)seed * 3, seed % 3 != 0);
        struct hs_snap *snap = hs_graph_builder_open(&b);
        struct hs_index_options options = {0};
        struct hs_index *index;
        assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_OK);
        assert_null(hs_index_path(index));
        assert_true(hs_index_was_built(index));
        check_all(snap, index);
        hs_index_close(index);
        hs_snap_close(snap);
        hs_graph_builder_fini(&b);
    }
}

static void test_second_open_is_the_same(void **state)
{
    for (int with = 0; with < 2; with++) {
        struct hs_graph_builder b = {0};
        fill(&b, 77, 700, with);
        struct hs_snap *snap = hs_graph_builder_open(&b);
        (void)unlink(index_path);
        const struct hs_index_options only_kept = {.snap_path = snap_path, .only_kept = true};
        struct hs_index *kept = NULL;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(hs_index_open(snap, &only_kept, &kept, &err), HS_OK);
            assert_int_equal(kept != NULL, i == 1);
            hs_index_close(kept);
            struct hs_index *index = open_index(snap, false);
            assert_string_equal(hs_index_path(index), index_path);
            assert_int_equal(hs_index_was_built(index), i == 0);
            check_all(snap, index);
            hs_index_close(index);
        }
        hs_snap_close(snap);
        hs_graph_builder_fini(&b);
    }
}

static void *slurp(size_t *ret_n)
{
    FILE *f = fopen(index_path, "rb");
    assert_non_null(f);
    static uint8_t bytes[1 << 20];
    *ret_n = fread(bytes, 1, sizeof bytes, f);
    assert_true(*ret_n < sizeof bytes);
    (void)fclose(f);
    return bytes;
}

static void spill(const void *bytes, size_t n)
{
    FILE *f = fopen(index_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* One flipped bit anywhere that means something, a cut anywhere: rebuilt, and equal again. */
static void test_damage_is_rebuilt(void **state)
{
    struct hs_graph_builder b = {0};
    fill(&b, 5, 300, true);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    hs_index_close(open_index(snap, false));
    size_t n, n_rebuilt = 0, n_tried = 0;
    uint8_t *bytes = slurp(&n), *good;
    void *memory;
    assert_int_equal(hs_alloc(n, 1, &memory, &err), HS_OK);
    good = memory;
    memcpy(good, bytes, n);
    for (size_t at = 0; at < n; at += 97 * HS_EVERY(3)) {
        memcpy(bytes, good, n);
        bytes[at] ^= (uint8_t)(1U << at % 8);
        spill(bytes, n);
        struct hs_index *index = open_index(snap, false);
        n_rebuilt += hs_index_was_built(index);
        n_tried++;
        check_rows(snap, index);
        hs_index_close(index);
    }
    assert_true(n_rebuilt * 8 > n_tried); /* the rest hit padding */
    for (size_t cut = 0; cut < n; cut += 1021 * HS_EVERY(3)) {
        spill(good, cut);
        struct hs_index *index = open_index(snap, false);
        assert_true(hs_index_was_built(index));
        hs_index_close(index);
    }
    hs_free(memory);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void test_of_another_snapshot(void **state)
{
    for (uint64_t seed = 1; seed < 3; seed++) {
        struct hs_graph_builder b = {0};
        fill(&b, seed, 100, false);
        struct hs_snap *snap = hs_graph_builder_open(&b);
        struct hs_index *index = open_index(snap, false);
        assert_true(hs_index_was_built(index));
        check_all(snap, index);
        hs_index_close(index);
        hs_snap_close(snap);
        hs_graph_builder_fini(&b);
    }
}

static void test_not_a_file(void **state)
{
    struct hs_graph_builder b = {0};
    fill(&b, 4, 50, false);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    (void)unlink(index_path);
    assert_int_equal(mkdir(index_path, 0700), 0);
    struct hs_index *index = open_index(snap, false);
    assert_string_not_equal(hs_index_path(index), index_path); /* in the cache */
    hs_index_close(index);
    index = open_index(snap, false);
    assert_false(hs_index_was_built(index));
    hs_index_close(index);
    assert_int_equal(rmdir(index_path), 0);
    assert_int_equal(mkfifo(index_path, 0600), 0);
    index = open_index(snap, true); /* does not hang */
    hs_index_close(index);
    assert_int_equal(unlink(index_path), 0);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* Nowhere to write: in memory, and right. */
static void test_nowhere(void **state)
{
    struct hs_graph_builder b = {0};
    fill(&b, 6, 200, true);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    struct hs_index_options options = {.snap_path = "/proc/no/such/heap.snap",
                                       .cache_dir = "/proc/nor/this"};
    struct hs_index *index;
    assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_OK);
    assert_null(hs_index_path(index));
    check_all(snap, index);
    hs_index_close(index);
    options = (struct hs_index_options){.snap_path = snap_path, .no_write = true, .rebuild = true};
    assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_OK);
    assert_null(hs_index_path(index));
    assert_true(hs_index_was_built(index));
    hs_index_close(index);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* Several at once: each gets a whole index. */
static void test_at_the_same_time(void **state)
{
    enum { PROCESSES = 6 };
    struct hs_graph_builder b = {0};
    fill(&b, 9, 400, true);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    (void)unlink(index_path);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() != 0)
            continue;
        struct hs_index_options options = {.snap_path = snap_path};
        struct hs_index *index;
        for (int k = 0; k < 20; k++) {
            options.rebuild = k % 3 == 0;
            if (hs_index_open(snap, &options, &index, &err) != HS_OK)
                _exit(1);
            if (hs_index_path(index) == NULL)
                _exit(2);
            hs_index_close(index);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    struct hs_index *index = open_index(snap, false);
    assert_false(hs_index_was_built(index));
    check_all(snap, index);
    hs_index_close(index);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_graph_builder b = {0};
    fill(&b, 13, 150, true);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    struct hs_index_options options = {.snap_path = snap_path, .rebuild = true};
    struct hs_index *index = NULL;
    for (int rebuild = 1; rebuild >= 0; rebuild--) {
        options.rebuild = rebuild;
        FAIL_EACH (each, .mode = FAIL_REST) {
            index = NULL;
            (void)FAIL_EACH_TRY(each, hs_index_open(snap, &options, &index, &err));
            assert_true((index == NULL) == (each.status != HS_OK));
            hs_index_close(index);
        }
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void test_no_blocks(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_snap *snap = hs_graph_builder_open(&b);
    (void)unlink(index_path);
    for (int i = 0; i < 2; i++) {
        struct hs_index *index = open_index(snap, false);
        assert_int_equal(hs_index_was_built(index), i == 0);
        check_all(snap, index);
        hs_index_close(index);
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static int group_setup(void **state)
{
    made_directory(directory);
    (void)snprintf(snap_path, sizeof snap_path, "%s/heap.snap", directory);
    (void)snprintf(index_path, sizeof index_path, "%s.idx", snap_path);
    (void)snprintf(cache_dir, sizeof cache_dir, "%s/cache/heapsnap", directory);
    return 0;
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
    (void)about, (void)type, (void)ftw;
    return remove(path);
}

static int group_teardown(void **state)
{
    return nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_blocks),
        cmocka_unit_test(test_equals_brute_force),
        cmocka_unit_test(test_second_open_is_the_same),
        cmocka_unit_test(test_damage_is_rebuilt),
        cmocka_unit_test(test_of_another_snapshot),
        cmocka_unit_test(test_not_a_file),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_at_the_same_time),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
