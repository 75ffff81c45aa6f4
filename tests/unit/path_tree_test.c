/* links: hs_analysis */
/* Shortest paths to all blocks against a plain search of random heaps, and how they merge. */
#include "analysis/path_tree.h"

#include "unit.h"

#include "analysis/neighbours.h"
#include "analysis/shortest.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_view.h"

enum { MAX_NODES = 400 };

static bool takes_part(struct hs_view *view, hs_node from, const struct hs_link *link)
{
    unsigned tier = hs_edge_tier(link->edge_class), own = hs_index_tier(view->index, from);
    return link->edge_class <= HS_EDGE_EPHEMERON && own != HS_TIER_NONE &&
           (tier > own ? tier : own) <= hs_index_tier(view->index, link->other);
}

/* Fewest blocks on a path from a leaf, the end included; UINT64_MAX for what is not reached. */
static void plain_distances(struct hs_view *view, uint64_t *distance)
{
    struct hs_error err = HS_ERROR_INIT;
    for (hs_node node = 0; node < view->n_nodes; node++)
        distance[node] = node < view->n_tree ? 0 : UINT64_MAX;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (hs_node node = 0; node < view->n_nodes; node++) {
            struct hs_links links;
            assert_int_equal(hs_links_out(view, node, &links, &err), HS_OK);
            for (size_t i = 0; i < links.n && distance[node] != UINT64_MAX; i++) {
                hs_node other = links.links[i].other;
                if (!takes_part(view, node, &links.links[i]) ||
                    distance[other] <= distance[node] + 1)
                    continue;
                distance[other] = distance[node] + 1;
                has_changed = true;
            }
            hs_links_fini(&links);
        }
    }
}

static bool leads_to(struct hs_view *view, hs_node from, hs_node to)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_links links;
    bool found = false;
    assert_int_equal(hs_links_out(view, from, &links, &err), HS_OK);
    for (size_t i = 0; i < links.n; i++)
        found |= links.links[i].other == to && takes_part(view, from, &links.links[i]);
    hs_links_fini(&links);
    return found;
}

static void make_random(struct hs_graph_builder *b, uint64_t seed)
{
    uint64_t random = seed * 7654321;
    uint32_t n = 2 + hs_random_below(&random, 200);
    hs_graph_builder_blocks(b, n, 40);
    for (uint32_t i = 0; i < n + hs_random_below(&random, 2 * n); i++) {
        static const unsigned classes[] = {HS_EDGE_WEAK, HS_EDGE_GUESSED, HS_EDGE_PAST_END,
                                           HS_EDGE_GUESSED};
        uint32_t other = hs_random_below(&random, 9);
        hs_graph_builder_edge(b, hs_random_below(&random, n), hs_random_below(&random, n),
                              other < 1 + 3 * (seed % 2) ? classes[other] : HS_EDGE_EXACT);
    }
    for (uint32_t i = 0; i < 1 + hs_random_below(&random, 6) + 8 * (seed % 2); i++) {
        uint32_t leaf = hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", "u", i % 2 == 0 ? NULL : "v",
                                              "l", hs_random_below(&random, n));
        if (seed % 2 != 0)
            b->leaves[leaf].tier = (uint8_t)hs_random_below(&random, HS_N_TIERS);
    }
}

static void random_heaps(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static uint64_t distance[MAX_NODES];
        struct made_view made = {0};
        struct shortest paths;
        struct hs_error err = HS_ERROR_INIT;
        make_random(&made.builder, seed);
        made_view_open(&made);
        struct hs_view *view = &made.view;
        assert_true(view->n_nodes <= MAX_NODES);
        plain_distances(view, distance);
        shortest_init(view, &paths);
        uint64_t n_blocks = view->n_nodes - view->n_tree;
        for (uint64_t i = 0; i < n_blocks; i++) {
            hs_node node = view->n_tree + i * 7919 % n_blocks; /* in some order */
            uint32_t at;
            if (distance[node] == UINT64_MAX)
                continue;
            assert_int_equal(shortest_find(&paths, node, &at, &err), HS_OK);
            assert_true(paths.entries[at].node == node);
        }
        for (size_t i = 0; i < paths.n; i++) {
            const struct shortest_entry *entry = &paths.entries[i];
            assert_int_equal(entry->distance, distance[entry->node]);
            if (entry->parent == HS_NO_NUMBER) {
                assert_true(entry->node < view->n_tree);
                continue;
            }
            assert_true(entry->parent < i);
            assert_true(leads_to(view, paths.entries[entry->parent].node, entry->node));
        }
        shortest_fini(&paths);
        made_view_close(&made);
    }
}

/* A list, a tree of blocks of one type, and an array, each below a root of its own. */
struct shapes {
    struct made_view made;
    struct hs_path_tree_target targets[64];
    size_t n;
    uint32_t text;
};

static void add_text(struct shapes *s, uint32_t holder)
{
    struct hs_graph_builder *b = &s->made.builder;
    uint32_t block = hs_graph_builder_block(b, 2, false);
    b->blocks[block].type = s->text;
    hs_graph_builder_edge_at(b, holder, block, HS_EDGE_EXACT, 0);
    s->targets[s->n++] = (struct hs_path_tree_target){block, 2, 1, s->text};
}

static void make_shapes(struct shapes *s)
{
    struct hs_graph_builder *b = &s->made.builder;
    s->text = hs_graph_builder_type(b, "text", 0, HS_FORM_SCALAR);
    uint32_t cell = hs_graph_builder_type(b, "cell", 0, HS_FORM_RECORD);
    uint32_t knot = hs_graph_builder_type(b, "knot", 0, HS_FORM_RECORD);
    uint32_t list[8], tree[15];
    for (uint32_t i = 0; i < 8; i++) {
        list[i] = hs_graph_builder_block(b, 3, false);
        b->blocks[list[i]].type = cell;
        if (i > 0)
            hs_graph_builder_edge_at(b, list[i - 1], list[i], HS_EDGE_EXACT, 1);
    }
    for (uint32_t i = 0; i < 15; i++) {
        tree[i] = hs_graph_builder_block(b, 4, false);
        b->blocks[tree[i]].type = knot;
        if (i > 0)
            hs_graph_builder_edge_at(b, tree[(i - 1) / 2], tree[i], HS_EDGE_EXACT, 1 + i % 2);
    }
    uint32_t array = hs_graph_builder_block(b, 100, false);
    b->blocks[array].type = hs_graph_builder_type(b, "block", 0, HS_FORM_BLOCK);
    for (uint32_t i = 0; i < 8; i++)
        add_text(s, list[i]);
    for (uint32_t i = 7; i < 15; i++)
        add_text(s, tree[i]);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t block = hs_graph_builder_block(b, 2, false);
        b->blocks[block].type = s->text;
        hs_graph_builder_edge_at(b, array, block, HS_EDGE_EXACT, 50 + i);
        s->targets[s->n++] = (struct hs_path_tree_target){block, 2, 1, s->text};
    }
    uint32_t lost = hs_graph_builder_block(b, 2, false);
    s->targets[s->n++] = (struct hs_path_tree_target){lost, 2, 1, s->text};
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "list", list[0]);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "tree", tree[0]);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "array", array);
    for (size_t i = 0; i < s->n; i++)
        s->targets[i].node = hs_graph_builder_node(b, (uint32_t)s->targets[i].node);
    made_view_open(&s->made);
}

/* The way to a target, the root first: "list > cell+1*2 > text". */
static void text_of(const struct shapes *s, const struct hs_path_tree *tree, uint32_t at,
                    char *text, size_t n_bytes)
{
    const struct hs_view *view = &s->made.view;
    const struct hs_path_tree_node *node = &tree->nodes[at];
    if (node->parent != HS_PATH_TREE_NONE)
        text_of(s, tree, node->parent, text, n_bytes);
    size_t n = strlen(text);
    if (node->root != HS_NO_NODE) {
        (void)snprintf(text, n_bytes, "%s",
                       hs_view_string(view, hs_snap_root(view->snap, node->root)->name));
        return;
    }
    char offset[32] = "";
    if (node->offset_words == HS_PATH_TREE_ANY)
        (void)snprintf(offset, sizeof offset, "[*]");
    else if (node->offset_words != HS_NO_OFFSET)
        (void)snprintf(offset, sizeof offset, "+%lu", (unsigned long)node->offset_words);
    (void)snprintf(text + n, n_bytes - n, " > %s%s%s",
                   hs_view_string(view, hs_snap_type(view->snap, node->type)->name), offset,
                   node->is_run ? "*" : "");
}

static void alike_steps_are_one(void **state)
{
    static struct shapes s;
    s = (struct shapes){0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_path_tree tree;
    uint32_t n_list = 0, n_tree = 0, n_array = 0;
    make_shapes(&s);
    assert_int_equal(hs_path_tree_make(&s.made.view, s.targets, s.n, &tree, &err), HS_OK);
    for (size_t i = 0; i + 1 < s.n; i++) {
        char text[512] = "";
        text_of(&s, &tree, tree.of_target[i], text, sizeof text);
        n_list += strcmp(text, "list > cell[*]* > text") == 0 ||
                  strcmp(text, "list > cell+0 > text") == 0;
        n_tree += strcmp(text, "tree > knot[*]* > text") == 0;
        n_array += strcmp(text, "array > block[*] > text") == 0;
    }
    assert_int_equal(n_list, 8);
    assert_int_equal(n_tree, 8);
    assert_int_equal(n_array, 10);
    assert_int_equal(tree.of_target[s.n - 1], HS_PATH_TREE_NONE); /* lost */
    hs_path_tree_fini(&tree);

    FAIL_EACH (each, .at_least = 5) {
        struct hs_error error = HS_ERROR_INIT;
        struct hs_path_tree again = {0};
        (void)FAIL_EACH_TRY(each, hs_path_tree_make(&s.made.view, s.targets, s.n, &again, &error));
        hs_path_tree_fini(&again);
    }
    made_view_close(&s.made);
}

/* A list of a million cells in little memory; only its end is asked for, and then all of it. */
static void a_long_list(void **state)
{
    enum { N = 300000 };
    struct made_view made = {0};
    struct hs_error err = HS_ERROR_INIT;
    uint32_t first = hs_graph_builder_blocks(&made.builder, N, 3);
    for (uint32_t i = 0; i + 1 < N; i++)
        hs_graph_builder_edge(&made.builder, first + i, first + i + 1, HS_EDGE_EXACT);
    hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    made_view_open(&made);
    struct hs_instances all;
    struct hs_path_tree tree;
    struct hs_path_tree_lines lines;
    assert_int_equal(hs_instances_of(&made.view, (struct hs_type_family){0}, &all, &err), HS_OK);
    assert_int_equal(all.n, N);
    assert_int_equal(hs_path_tree_make(&made.view, all.targets, all.n, &tree, &err), HS_OK);
    assert_true(tree.n <= 8);
    struct hs_path_tree_sums sums[8] = {0};
    for (size_t i = 0; i < tree.n; i++)
        sums[i].objects = tree.nodes[i].root != HS_NO_NODE ? N : 1;
    assert_int_equal(hs_path_tree_show(&tree, sums, 1, 0, false, &lines, &err), HS_OK);
    assert_int_equal(lines.n, 1);
    assert_true(lines.lines[0].n_hidden > 0);
    hs_path_tree_lines_fini(&lines);
    hs_path_tree_fini(&tree);
    hs_instances_fini(&all);
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_heaps),
        cmocka_unit_test(alike_steps_are_one),
        cmocka_unit_test(a_long_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
