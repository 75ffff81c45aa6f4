/* links: hs_tools_lib */
/* parts: browse */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_view.h"
#include "tools/browse/model.h"

/* ---- lists by themselves */

static void add(struct hs_browse_level *level, const char *name, uint64_t words, uint64_t objects,
                uint64_t before, uint32_t group)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_browse_row row = {
        .words = words, .objects = objects, .before_words = before, .group = group};
    assert_int_equal(hs_browse_level_add(level, &row, name, &err), HS_OK);
}

static void expect_order(struct hs_browse_level *level, const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer found = {0};
    assert_int_equal(hs_browse_level_arrange(level, &err), HS_OK);
    assert_int_equal(hs_buffer_reserve(&found, level->n_order + 1, &err), HS_OK);
    for (size_t i = 0; i < level->n_order; i++)
        hs_buffer_put_bytes(&found, hs_browse_level_text(level, level->order[i]), 1);
    hs_buffer_put_u8(&found, 0);
    assert_string_equal((const char *)found.bytes, expected);
    hs_buffer_fini(&found);
}

static void sorts_and_filters(void **state)
{
    struct hs_browse_level level = {0};
    add(&level, "b", 30, 1, 40, 0);
    add(&level, "a", 10, 9, 0, 0);
    add(&level, "D", 20, 5, HS_BROWSE_UNKNOWN, 0);
    add(&level, "c", 99, 7, 98, 1);
    level.rows[3].is_more = true;
    level.rows[3].group = 0;
    expect_order(&level, "bDac");
    hs_browse_level_sort(&level, HS_BROWSE_BY_SIZE); /* asked for again: the other way round */
    expect_order(&level, "aDbc");
    hs_browse_level_sort(&level, HS_BROWSE_BY_COUNT);
    expect_order(&level, "aDbc");
    hs_browse_level_sort(&level, HS_BROWSE_BY_NAME);
    expect_order(&level, "Dabc");
    hs_browse_level_sort(&level, HS_BROWSE_BY_GROWTH); /* +10, nothing known, -10 */
    expect_order(&level, "aDbc");
    level.is_fixed = true;
    level.is_reversed = false;
    expect_order(&level, "baDc");
    level.is_fixed = false;
    level.rows[0].group = 1;
    level.sort = HS_BROWSE_BY_SIZE;
    expect_order(&level, "Dabc");
    level.filter[0] = 'd'; /* of either case; the row of those not read stays */
    expect_order(&level, "Dc");
    level.filter[0] = 'x';
    expect_order(&level, "c");
    hs_browse_level_fini(&level);
}

static void keeps_the_cursor_on_its_row(void **state)
{
    struct hs_browse_level level = {0};
    struct hs_error err = HS_ERROR_INIT;
    char name[16];
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "row %02u", i);
        add(&level, name, 1000 - i, i, HS_BROWSE_UNKNOWN, 0);
    }
    assert_null(hs_browse_level_row(&level)); /* not arranged yet */
    assert_int_equal(hs_browse_level_arrange(&level, &err), HS_OK);
    hs_browse_level_move(&level, 10);
    hs_browse_level_sort(&level, HS_BROWSE_BY_COUNT);
    assert_int_equal(hs_browse_level_arrange(&level, &err), HS_OK);
    assert_int_equal(level.cursor, 89);
    assert_int_equal(hs_browse_level_row(&level)->objects, 10);
    hs_browse_level_scroll(&level, 20);
    assert_int_equal(level.top, 70);
    hs_browse_level_scroll(&level, 200); /* a larger screen */
    assert_int_equal(level.top, 0);
    hs_browse_level_scroll(&level, 1);
    assert_int_equal(level.top, 89);
    hs_browse_level_scroll(&level, 0);
    assert_int_equal(level.top, 89);
    hs_browse_level_move(&level, INT64_MIN / 2);
    assert_int_equal(level.cursor, 0);
    hs_browse_level_move(&level, INT64_MAX / 2);
    assert_int_equal(level.cursor, 99);
    assert_true(hs_browse_level_find(&level, "ROW 7", /* from_here= */ false));
    assert_int_equal(hs_browse_level_row(&level)->objects, 79); /* from 0, behind the end */
    assert_true(hs_browse_level_find(&level, "row 7", /* from_here= */ false));
    assert_int_equal(hs_browse_level_row(&level)->objects, 78);
    assert_false(hs_browse_level_find(&level, "column", /* from_here= */ true));
    hs_browse_level_fini(&level);
    hs_browse_level_move(&level, 5);
    hs_browse_level_scroll(&level, 5);
    assert_int_equal(level.cursor, 0);
    assert_false(hs_browse_level_find(&level, "", /* from_here= */ true));
}

/* ---- a snapshot */

/* g_map -> list of 5 (7 words each), with a big(50) at its end; g_wide -> hub -> 3000 blocks;
 * two -> shared(20) <- three; lost(9) -> lost(4). */
enum { WIDE = 3000 };
struct heap {
    struct made_view made;
    struct hs_browse browse;
    uint32_t list, big, hub, shared, lost;
};

static void make(struct heap *heap)
{
    struct hs_graph_builder *b = &heap->made.builder;
    uint32_t node = hs_graph_builder_type(b, "struct node", 0, 0);
    uint32_t big = hs_graph_builder_type(b, "struct big", 0, 0);
    heap->list = hs_graph_builder_blocks(b, 5, 7);
    for (uint32_t i = 0; i < 5; i++)
        b->blocks[heap->list + i].type = node;
    for (uint32_t i = 0; i + 1 < 5; i++)
        hs_graph_builder_edge(b, heap->list + i, heap->list + i + 1, HS_EDGE_EXACT);
    heap->big = hs_graph_builder_block(b, 50, false);
    b->blocks[heap->big].type = big;
    hs_graph_builder_edge(b, heap->list + 4, heap->big, HS_EDGE_EXACT);
    heap->hub = hs_graph_builder_block(b, WIDE, false);
    for (uint32_t i = 0; i < WIDE; i++)
        hs_graph_builder_edge(b, heap->hub, hs_graph_builder_block(b, 1 + i % 7, false),
                              HS_EDGE_EXACT);
    heap->shared = hs_graph_builder_block(b, 20, false);
    b->blocks[heap->shared].type = big;
    heap->lost = hs_graph_builder_block(b, 9, false);
    b->blocks[heap->lost].type = node;
    hs_graph_builder_edge(b, heap->lost, hs_graph_builder_block(b, 4, false), HS_EDGE_EXACT);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "g_map", heap->list);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "g_wide", heap->hub);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "two", heap->shared);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "v", "three", heap->shared);
}

static void open_heap(struct heap *heap)
{
    struct hs_error err = HS_ERROR_INIT;
    make(heap);
    made_view_write(&heap->made);
    assert_int_equal(hs_browse_open(&heap->made.session, heap->made.path, &heap->browse, &err),
                     HS_OK);
}

static void remove_heap(struct made_view *made)
{
    char path[512];
    DIR *directory = opendir(made->directory);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", made->directory, entry->d_name);
        (void)unlink(path);
    }
    (void)closedir(directory);
    assert_int_equal(rmdir(made->directory), 0);
    hs_graph_builder_fini(&made->builder);
}

static void close_heap(struct heap *heap)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_browse_finish(&heap->browse, HS_OK, &err), HS_OK);
    remove_heap(&heap->made);
}

static struct hs_browse_level *ready(struct heap *heap)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_browse_ready(&heap->browse, 20, &err), HS_OK);
    return hs_browse_top(&heap->browse);
}

/* Puts the cursor on the row of this name. */
static const struct hs_browse_row *on(struct heap *heap, const char *name)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_browse_level *level = ready(heap);
    assert_int_equal(hs_browse_find(&heap->browse, name, /* from_here= */ true, &err), HS_OK);
    const struct hs_browse_row *row = hs_browse_level_row(level);
    assert_non_null(strstr(hs_browse_level_text(level, (size_t)(row - level->rows)), name));
    heap->browse.note[0] = 0;
    return row;
}

static hs_node node_of(const struct heap *heap, uint32_t block)
{
    return hs_graph_builder_node(&heap->made.builder, block);
}

static void must(hs_status status)
{
    assert_int_equal(status, HS_OK);
}

static uint64_t sum_of(const struct hs_browse_level *level)
{
    uint64_t words = 0;
    for (size_t i = 0; i < level->n; i++)
        words += level->rows[i].words;
    return words;
}

static void rows_add_up(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    open_heap(&heap);
    uint64_t all = heap.browse.view.totals->heap_words;
    struct hs_browse_level *level = ready(&heap);
    assert_int_equal(sum_of(level), all); /* owners */
    assert_int_equal(level->whole_words, all);
    assert_int_equal(on(&heap, "[unreached]")->words, 13);
    assert_int_equal(on(&heap, "g_map")->words, 85);
    must(hs_browse_enter(&heap.browse, &err));
    level = ready(&heap);
    assert_int_equal(sum_of(level), 85);
    assert_int_equal(on(&heap, "struct node")->words, 85);
    must(hs_browse_enter(&heap.browse, &err));
    assert_int_equal(sum_of(ready(&heap)), 85); /* struct big, and the nodes themselves */
    assert_int_equal(on(&heap, "struct big")->words, 50);
    assert_int_equal(on(&heap, "[its own blocks]")->words, 35);
    must(hs_browse_go(&heap.browse, HS_BROWSE_ROOTS, (struct hs_browse_what){HS_BROWSE_KEY, 0},
                      &err));
    assert_int_equal(sum_of(ready(&heap)), all);
    assert_int_equal(on(&heap, "set:1")->words, 20);
    must(hs_browse_go(&heap.browse, HS_BROWSE_DOMINATORS,
                      (struct hs_browse_what){HS_BROWSE_NODE, node_of(&heap, heap.list + 4)},
                      &err));
    assert_int_equal(sum_of(ready(&heap)), 57);
    assert_int_equal(on(&heap, "struct big")->words, 50);
    assert_int_equal(on(&heap, "[itself]")->words, 7);
    close_heap(&heap);
}

/* Of many children the largest are read, more when they are asked for, and names only when they
 * are seen. */
static void reads_what_is_seen(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    open_heap(&heap);
    must(hs_browse_go(&heap.browse, HS_BROWSE_DOMINATORS,
                      (struct hs_browse_what){HS_BROWSE_NODE, node_of(&heap, heap.hub)}, &err));
    struct hs_browse_level *level = ready(&heap);
    uint64_t whole = level->whole_words;
    size_t n_named = 0;
    assert_int_equal(level->n_all, WIDE);
    assert_int_equal(level->n, HS_BROWSE_ROWS + 2); /* itself, and the others */
    assert_int_equal(sum_of(level), whole);
    assert_true(level->rows[level->order[level->n_order - 1]].is_more);
    for (size_t i = 0; i < level->n; i++)
        n_named += level->rows[i].name != 0;
    assert_int_equal(n_named, 21); /* the lines of the screen, and the others' */
    for (size_t i = 1; i < HS_BROWSE_ROWS; i++)
        assert_true(level->rows[i].words <= level->rows[i - 1].words);
    hs_browse_level_move(level, INT64_MAX / 2);
    must(hs_browse_enter(&heap.browse, &err));
    level = ready(&heap);
    assert_int_equal(level->n, WIDE + 1);
    assert_int_equal(sum_of(level), whole);
    must(hs_browse_filter(&heap.browse, "no such name", &err));
    assert_int_equal(ready(&heap)->n_order, 0);
    assert_non_null(strstr(heap.browse.note, "no row"));
    must(hs_browse_enter(&heap.browse, &err));
    assert_int_equal(hs_browse_ask(&heap.browse, HS_BROWSE_PATHS, &err), HS_USAGE);
    must(hs_browse_filter(&heap.browse, "", &err));
    assert_int_equal(ready(&heap)->n_order, WIDE + 1);
    must(hs_browse_sort_by(&heap.browse, HS_BROWSE_BY_NAME, &err));
    close_heap(&heap);
}

/* Of lists that were gone through long ago the rows are read again, with the cursor where it was.
 */
static void forgets_lists_far_back(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    open_heap(&heap);
    (void)on(&heap, "g_map");
    size_t cursor = ready(&heap)->cursor;
    for (uint32_t i = 0; i < 40; i++)
        must(hs_browse_go(
            &heap.browse, HS_BROWSE_DOMINATORS,
            (struct hs_browse_what){HS_BROWSE_NODE, node_of(&heap, heap.list + i % 5)}, &err));
    size_t n_read = 0;
    for (size_t i = 0; i < heap.browse.n_levels; i++)
        n_read += heap.browse.levels[i].is_loaded;
    assert_int_equal(heap.browse.n_levels, 41);
    assert_int_equal(n_read, HS_BROWSE_LEVELS_READ);
    while (hs_browse_leave(&heap.browse))
        assert_true(ready(&heap)->n != 0);
    assert_int_equal(ready(&heap)->cursor, cursor);
    close_heap(&heap);
}

static void asks_who_holds(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    char text[HS_BROWSE_COMMAND_BYTES];
    open_heap(&heap);
    (void)on(&heap, "g_map");
    must(hs_browse_enter(&heap.browse, &err));
    (void)on(&heap, "struct node");
    must(hs_browse_enter(&heap.browse, &err));
    (void)on(&heap, "struct big");
    must(hs_browse_ask(&heap.browse, HS_BROWSE_HOLDERS, &err)); /* of the key: its largest block */
    struct hs_browse_level *level = ready(&heap);
    assert_int_equal(level->what.id, node_of(&heap, heap.big));
    assert_int_equal(level->n, 1);
    assert_int_equal(level->rows[0].what.id, node_of(&heap, heap.list + 4));
    must(hs_browse_enter(&heap.browse, &err)); /* who holds that */
    assert_int_equal(ready(&heap)->rows[0].what.id, node_of(&heap, heap.list + 3));
    hs_browse_command(&heap.browse, hs_browse_top(&heap.browse), text);
    assert_non_null(strstr(text, "heapsnap object "));
    assert_true(hs_browse_leave(&heap.browse));
    assert_true(hs_browse_leave(&heap.browse));
    (void)on(&heap, "struct big");
    must(hs_browse_ask(&heap.browse, HS_BROWSE_PATHS, &err));
    level = ready(&heap);
    assert_true(level->is_fixed);
    assert_non_null(strstr(hs_browse_level_text(level, level->order[0]), "global g_map"));
    assert_int_equal(level->rows[level->n - 1].what.id, node_of(&heap, heap.big));
    while (hs_browse_leave(&heap.browse))
        ;
    (void)on(&heap, "[unreached]");
    assert_int_equal(hs_browse_ask(&heap.browse, HS_BROWSE_HOLDERS, &err), HS_USAGE);
    (void)on(&heap, "g_map");
    assert_int_equal(hs_browse_ask(&heap.browse, HS_BROWSE_PATHS, &err), HS_USAGE);
    assert_int_equal(heap.browse.n_levels, 1); /* as it was */
    must(hs_browse_go(&heap.browse, HS_BROWSE_LEAKS, (struct hs_browse_what){HS_BROWSE_KEY, 0},
                      &err));
    assert_int_equal(sum_of(ready(&heap)), 13);
    must(hs_browse_go(&heap.browse, HS_BROWSE_HOLDERS, (struct hs_browse_what){HS_BROWSE_SET, 1},
                      &err));
    assert_int_equal(ready(&heap)->n, 2); /* its roots */
    close_heap(&heap);
}

static void counts_types(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    open_heap(&heap);
    (void)on(&heap, "g_map");
    must(hs_browse_ask(&heap.browse, HS_BROWSE_TYPES, &err)); /* from keys */
    assert_int_equal(on(&heap, "struct node")->words, 35);
    assert_int_equal(on(&heap, "struct big")->words, 50);
    assert_int_equal(hs_browse_top(&heap.browse)->n, 2);
    must(hs_browse_enter(&heap.browse, &err)); /* the largest blocks of that type */
    assert_int_equal(ready(&heap)->form, HS_BROWSE_INSTANCES);
    assert_int_equal(ready(&heap)->n, 2);
    assert_int_equal(ready(&heap)->rows[0].what.id, node_of(&heap, heap.big));
    must(hs_browse_go(&heap.browse, HS_BROWSE_TYPES,
                      (struct hs_browse_what){HS_BROWSE_NODE, node_of(&heap, heap.list + 3)},
                      &err));
    assert_int_equal(on(&heap, "struct node")->words, 14); /* from blocks */
    assert_int_equal(on(&heap, "struct big")->words, 50);
    assert_int_equal(ready(&heap)->whole_words, 64);
    must(hs_browse_go(&heap.browse, HS_BROWSE_TYPES, (struct hs_browse_what){HS_BROWSE_SET, 1},
                      &err));
    assert_int_equal(on(&heap, "struct big")->words, 20);
    close_heap(&heap);
}

static void changes_trees_and_policies(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    open_heap(&heap);
    (void)on(&heap, "g_map");
    must(hs_browse_enter(&heap.browse, &err));
    must(hs_browse_other_tree(&heap.browse, &err));
    assert_int_equal(hs_browse_top(&heap.browse)->form, HS_BROWSE_DOMINATORS);
    assert_int_equal(ready(&heap)->whole_words, 85);
    must(hs_browse_other_tree(&heap.browse, &err)); /* the same key: back to it */
    assert_int_equal(heap.browse.n_levels, 2);
    must(hs_browse_other_policy(&heap.browse, &err));
    assert_int_equal(hs_index_policy(heap.browse.view.index), HS_POLICY_CONSERVATIVE);
    assert_int_equal(ready(&heap)->whole_words, 85);
    assert_int_equal(heap.browse.n_levels, 2);
    char text[HS_BROWSE_COMMAND_BYTES];
    hs_browse_command(&heap.browse, hs_browse_top(&heap.browse), text);
    assert_non_null(strstr(text, " --policy conservative"));
    must(hs_browse_other_policy(&heap.browse, &err));
    assert_int_equal(hs_index_policy(heap.browse.view.index), HS_POLICY_FIRM);
    while (hs_browse_leave(&heap.browse))
        ;
    (void)on(&heap, "three"); /* which keeps nothing without two */
    must(hs_browse_enter(&heap.browse, &err));
    must(hs_browse_other_tree(&heap.browse, &err));
    assert_int_equal(hs_browse_top(&heap.browse)->form, HS_BROWSE_ROOTS);
    assert_non_null(strstr(heap.browse.note, "nothing alone"));
    /* A policy that cannot be had: the one before stays. */
    heap.browse.path = "/nowhere/heap.snap";
    assert_int_equal(hs_browse_other_policy(&heap.browse, &err), HS_IO);
    assert_null(heap.browse.view.snap);
    heap.browse.path = heap.made.path;
    assert_int_equal(hs_browse_finish(&heap.browse, HS_OK, &err), HS_OK);
    remove_heap(&heap.made);
}

static void compares_with_an_older_one(void **state)
{
    struct heap heap = {0}, old = {0};
    struct hs_error err = HS_ERROR_INIT;
    open_heap(&heap);
    make(&old);
    old.made.builder.blocks[old.big].words = 30;
    hs_graph_builder_leaf(&old.made.builder, HS_ROOT_GLOBAL, "m", "u", "gone", old.list);
    made_view_write(&old.made);
    must(hs_browse_compare(&heap.browse, old.made.path, &err));
    assert_int_equal(on(&heap, "g_map")->before_words, 65);
    assert_int_equal(on(&heap, "g_wide")->before_words, on(&heap, "g_wide")->words);
    must(hs_browse_enter(&heap.browse, &err)); /* g_wide: its types are compared, too */
    for (size_t i = 0; i < ready(&heap)->n; i++)
        assert_int_equal(ready(&heap)->rows[i].before_words, ready(&heap)->rows[i].words);
    must(hs_browse_sort_by(&heap.browse, HS_BROWSE_BY_GROWTH, &err));
    must(hs_browse_compare(&heap.browse, NULL, &err));
    assert_int_equal(ready(&heap)->rows[0].before_words, HS_BROWSE_UNKNOWN);
    assert_int_not_equal(hs_browse_compare(&heap.browse, "/nowhere/old.snap", &err), HS_OK);
    assert_null(heap.browse.older_path);
    remove_heap(&old.made);
    close_heap(&heap);
}

/* Whatever it is asked, in whatever order: no crash, and lists that can be drawn. */
static void stands_any_keys(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    uint64_t random = 7;
    open_heap(&heap);
    for (unsigned i = 0; i < 3000; i++) {
        struct hs_buffer lines = {0};
        char text[HS_BROWSE_COMMAND_BYTES];
        struct hs_browse_level *level = ready(&heap);
        hs_browse_level_move(level, (int64_t)hs_random_below(&random, 11) - 5);
        switch (hs_random_below(&random, 9)) {
        case 0:
        case 1:
            (void)hs_browse_enter(&heap.browse, &err);
            break;
        case 2:
            (void)hs_browse_leave(&heap.browse);
            break;
        case 3:
        case 4:
            (void)hs_browse_ask(
                &heap.browse,
                (enum hs_browse_form)(HS_BROWSE_HOLDERS + hs_random_below(&random, 3)), &err);
            break;
        case 5:
            (void)hs_browse_other_tree(&heap.browse, &err);
            break;
        case 6:
            (void)hs_browse_sort_by(&heap.browse, (enum hs_browse_sort)hs_random_below(&random, 4),
                                    &err);
            break;
        case 7:
            must(hs_browse_describe(&heap.browse, &lines, &err));
            break;
        default:
            hs_browse_command(&heap.browse, level, text);
            hs_browse_title(&heap.browse, level, text, sizeof text);
        }
        hs_buffer_fini(&lines);
    }
    close_heap(&heap);
}

/* What M says of the row of this name beside the one that is marked; "" of a mark alone. */
static void mark(struct heap *heap, const char *name, char *text, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer lines = {0};
    (void)on(heap, name);
    must(hs_browse_mark(&heap->browse, /* in_words= */ true, &lines, &err));
    (void)snprintf(text, n, "%.*s", (int)lines.n_bytes, (const char *)lines.bytes);
    hs_buffer_fini(&lines);
}

static void puts_two_side_by_side(void **state)
{
    struct heap heap = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer nothing = {0};
    char text[8192];
    open_heap(&heap);
    mark(&heap, "g_map", text, sizeof text); /* of the owner tree */
    assert_string_equal(text, "");
    struct hs_browse_level *level = ready(&heap);
    size_t row = level->order[level->cursor];
    assert_true(hs_browse_is_marked(&heap.browse, level, row));
    must(hs_browse_go(&heap.browse, HS_BROWSE_ROOTS, (struct hs_browse_what){HS_BROWSE_KEY, 0},
                      &err));
    mark(&heap, "set:1", text, sizeof text); /* from another list */
    assert_non_null(strstr(text, "marked: g_map\n"));
    assert_non_null(strstr(text, "          85           20          -65  with all below\n"));
    assert_non_null(strstr(text, "           6            1           -5  objects\n"));
    assert_non_null(strstr(text, "here:   all of its roots together\n"));
    assert_non_null(strstr(text, "          35            0          -35  struct node\n"));
    assert_non_null(strstr(text, "          50           20          -30  struct big\n"));
    (void)hs_browse_leave(&heap.browse);
    mark(&heap, "[unreached]", text, sizeof text); /* the mark stays */
    assert_non_null(strstr(text, "          35           13          -22  struct node\n"));
    mark(&heap, "g_map", text, sizeof text);
    assert_string_equal(text, "");
    assert_false(hs_browse_is_marked(&heap.browse, ready(&heap), row));
    must(hs_browse_go(&heap.browse, HS_BROWSE_DOMINATORS,
                      (struct hs_browse_what){HS_BROWSE_NODE, node_of(&heap, heap.list + 4)},
                      &err));
    mark(&heap, "struct big", text, sizeof text);
    mark(&heap, "[itself]", text, sizeof text); /* the block that the list is of */
    assert_non_null(strstr(text, "          50            7          -43  itself\n"));
    assert_non_null(strstr(text, "          50           57           +7  with all below\n"));
    assert_non_null(strstr(text, "kept by   marked: #"));
    must(hs_browse_go(&heap.browse, HS_BROWSE_TYPES,
                      (struct hs_browse_what){HS_BROWSE_NODE, node_of(&heap, heap.list)}, &err));
    mark(&heap, "struct node", text, sizeof text); /* a type: nothing hangs on all of its blocks */
    assert_non_null(strstr(text, "          50           35          -15  with all below\n"));
    assert_null(strstr(text, "types of"));
    must(hs_browse_other_policy(&heap.browse, &err)); /* which has other numbers */
    assert_null(heap.browse.mark.name);
    must(hs_browse_go(&heap.browse, HS_BROWSE_DOMINATORS,
                      (struct hs_browse_what){HS_BROWSE_NODE, node_of(&heap, heap.hub)}, &err));
    hs_browse_level_move(ready(&heap), INT64_MAX / 2);
    assert_int_equal(hs_browse_mark(&heap.browse, true, &nothing, &err), HS_USAGE); /* others */
    close_heap(&heap);
}

static hs_status mark_two(struct hs_browse *browse, struct hs_error *err)
{
    struct hs_buffer lines = {0};
    hs_status status = hs_browse_mark(browse, /* in_words= */ false, &lines, err);
    hs_browse_level_move(hs_browse_top(browse), 1);
    if (status == HS_OK)
        status = hs_browse_mark(browse, /* in_words= */ false, &lines, err);
    if (status == HS_OK)
        assert_true(lines.n_bytes != 0);
    hs_buffer_fini(&lines);
    return status;
}

static hs_status walk(struct hs_browse *browse, struct hs_error *err)
{
    static const enum hs_browse_form forms[] = {HS_BROWSE_DOMINATORS, HS_BROWSE_HOLDERS,
                                                HS_BROWSE_PATHS, HS_BROWSE_TYPES};
    const struct hs_browse_what all = {HS_BROWSE_KEY, 0},
                                block = {HS_BROWSE_NODE, browse->view.n_tree + 4};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        HS_TRY(hs_browse_go(browse, forms[i], block, err));
        HS_TRY(hs_browse_ready(browse, 5, err));
        if (forms[i] == HS_BROWSE_DOMINATORS)
            HS_TRY(mark_two(browse, err));
    }
    HS_TRY(hs_browse_go(browse, HS_BROWSE_ROOTS, all, err));
    HS_TRY(hs_browse_ready(browse, 5, err));
    HS_TRY(hs_browse_go(browse, HS_BROWSE_LEAKS, all, err));
    return hs_browse_ready(browse, 5, err);
}

static void runs_out_of_memory(void **state)
{
    struct made_view made = {0};
    made_list(&made.builder, 20);
    (void)hs_graph_builder_block(&made.builder, 3, false);
    made_view_write(&made);
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 30, .may_do_without = true) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_browse browse = {0};
        fail_each_begin(&each);
        hs_status status = hs_browse_open(&made.session, made.path, &browse, &err);
        bool is_open = status == HS_OK;
        if (is_open)
            status = walk(&browse, &err);
        status = fail_each_end(&each, status);
        if (is_open)
            assert_int_equal(hs_browse_finish(&browse, status, &err), status);
    }
    remove_heap(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_and_filters),
        cmocka_unit_test(keeps_the_cursor_on_its_row),
        cmocka_unit_test(rows_add_up),
        cmocka_unit_test(reads_what_is_seen),
        cmocka_unit_test(forgets_lists_far_back),
        cmocka_unit_test(asks_who_holds),
        cmocka_unit_test(counts_types),
        cmocka_unit_test(changes_trees_and_policies),
        cmocka_unit_test(compares_with_an_older_one),
        cmocka_unit_test(puts_two_side_by_side),
        cmocka_unit_test(stands_any_keys),
        cmocka_unit_test(runs_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
