/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* Containers that are told by their shape in a made-up heap, and what only looks like one. */
#include "unit.h"

#include "fail_each.h"
#include "ocaml/source_types/shapes.h"
#include "process/dump_plan.h"
#include "typed_heap.h"

#define INT(n) ((uint64_t)(n) << 1 | 1)
#define NIL INT(0)

enum { MAP_FIELDS = 5, SET_FIELDS = 4, BUCKETS = 16 };

static struct hs_error err;

/* Marks, and looks for shapes beside what the lines of the table say. */
static hs_status shapes_push(struct world *w, unsigned region_bits)
{
    w->push.tables = &w->tables;
    w->push.region_bits = region_bits;
    HS_TRY(hs_sshapes_add(&w->push, &err));
    return world_push(w, &err);
}

static void shapes_make(struct world *w, struct fake_heap *fake, const char *lines)
{
    world_open(w, fake, TYPES_HEAD, lines);
    assert_int_equal(shapes_push(w, 0), HS_OK);
}

/* A balanced tree of 2^height - 1 nodes, the root of which says `told`. */
static hs_addr put_tree(struct fake_heap *fake, size_t n_fields, unsigned height, unsigned told)
{
    hs_addr level[64];
    size_t n = (size_t)1 << (height - 1);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        level[i] = NIL;
    for (unsigned h = 1; h <= height; h++, n /= 2) {
        for (size_t i = 0; i < n; i++) {
            uint64_t fields[MAP_FIELDS] = {h == 1 ? NIL : level[2 * i], INT(i), INT(i)};
            fields[n_fields - 2] = h == 1 ? NIL : level[2 * i + 1];
            fields[n_fields - 1] = INT(h == height ? told : h);
            level[i] = fake_block(fake, 0, n_fields, fields);
        }
    }
    return level[0];
}

/* A hash table with a chain of `n` entries in its last bucket. */
static hs_addr put_table(struct fake_heap *fake, size_t n_buckets, uint64_t n, uint64_t told,
                         uint64_t initial)
{
    uint64_t buckets[2 * BUCKETS];
    hs_addr chain = NIL;
    for (uint64_t i = 0; i < n; i++)
        chain = fake_block(fake, 0, 3, (const uint64_t[]){INT(i), INT(i), chain});
    for (size_t i = 0; i < n_buckets; i++)
        buckets[i] = i + 1 == n_buckets ? chain : NIL;
    hs_addr data = fake_block(fake, 0, n_buckets, buckets);
    return fake_block(fake, 0, 4, (const uint64_t[]){INT(told), data, INT(0), initial});
}

static uint64_t field_of(const struct world *w, hs_addr block, size_t i)
{
    return *fake_word(w->fake, block + i * HS_WORD);
}

static void lists(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    const hs_addr four = put_list(fake, 4, INT(1)), three = put_list(fake, 3, INT(1)),
                  many = put_list(fake, 5000, INT(1));
    hs_addr odd = fake_block(fake, 0, 2, (const uint64_t[]){INT(1), INT(7)});
    for (unsigned i = 0; i < 9; i++)
        odd = fake_block(fake, 0, 2, (const uint64_t[]){INT(1), odd});
    put_unit(fake, (const uint64_t[]){four, three, many, odd}, 4);
    shapes_make(&w, fake, "");
    for (hs_addr at = four; at != NIL; at = field_of(&w, at, 1))
        assert_string_equal(type_at(&w, at), "list-cell");
    for (hs_addr at = many; at != NIL; at = field_of(&w, at, 1))
        assert_string_equal(type_at(&w, at), "list-cell");
    assert_string_equal(type_at(&w, three), "");
    assert_string_equal(type_at(&w, odd), "");
    assert_int_equal(w.push.counts.n_shaped_blocks, 5004);
    assert_int_equal(w.push.counts.n_shaped_words, 3 * 5004);
    assert_int_equal(w.push.counts.n_typed_blocks + w.push.counts.n_fits, 0);
    assert_false(w.push.counts.shapes_stopped);
    world_close(&w);
}

/* Its heights must agree all the way down to a leaf; one node says too little. */
static void trees(void **state)
{
    static const struct {
        size_t n_fields;
        const char *name;
    } kinds[] = {{MAP_FIELDS, "map-node"}, {SET_FIELDS, "set-node"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        const size_t n = kinds[i].n_fields;
        const hs_addr good = put_tree(fake, n, 6, 6), wrong = put_tree(fake, n, 3, 4),
                      single = put_tree(fake, n, 1, 1), low = put_tree(fake, n, 2, 2);
        uint64_t fields[MAP_FIELDS] = {good, INT(1), INT(1)};
        fields[n - 2] = NIL; /* nothing beside a tree of six */
        fields[n - 1] = INT(7);
        const hs_addr leaning = fake_block(fake, 0, n, fields);
        put_unit(fake, (const uint64_t[]){wrong, single, low, leaning}, 4);
        shapes_make(&w, fake, "");
        assert_string_equal(type_at(&w, good), kinds[i].name);
        assert_string_equal(type_at(&w, low), kinds[i].name);
        assert_string_equal(type_at(&w, field_of(&w, field_of(&w, good, 0), n - 2)), kinds[i].name);
        assert_string_equal(type_at(&w, wrong), "");
        assert_string_equal(type_at(&w, field_of(&w, wrong, 0)), kinds[i].name);
        assert_string_equal(type_at(&w, single), "");
        assert_string_equal(type_at(&w, leaning), "");
        assert_int_equal(w.push.counts.n_shaped_blocks, 63 + 3 + 2 * 3);
        world_close(&w);
    }
}

static void hash_tables(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    const hs_addr good = put_table(fake, BUCKETS, 5, 5, INT(16)),
                  traversed = put_table(fake, 2 * BUCKETS, 2, 2, INT(-16)),
                  empty = put_table(fake, BUCKETS, 0, 0, INT(16)),
                  odd_size = put_table(fake, BUCKETS - 1, 1, 1, INT(16)),
                  small = put_table(fake, BUCKETS / 2, 1, 1, INT(16)),
                  uneven = put_table(fake, BUCKETS, 1, 1, INT(17)),
                  fewer = put_table(fake, BUCKETS, 1, 0, INT(16)), pair = put_list(fake, 1, NIL);
    const hs_addr strange = put_table(fake, BUCKETS, 1, 1, INT(16));
    *fake_word(fake, *fake_word(fake, strange + HS_WORD)) = pair;
    put_unit(fake,
             (const uint64_t[]){good, traversed, empty, odd_size, small, uneven, fewer, strange},
             8);
    shapes_make(&w, fake, "");
    const hs_addr data = field_of(&w, good, 1), entry = field_of(&w, data, BUCKETS - 1);
    assert_string_equal(type_at(&w, good), "hash-table");
    assert_string_equal(type_at(&w, traversed), "hash-table");
    assert_string_equal(type_at(&w, data), "hash-table-buckets");
    assert_string_equal(type_at(&w, entry), "hash-table-entry");
    assert_string_equal(type_at(&w, field_of(&w, entry, 2)), "hash-table-entry");
    const hs_addr others[] = {empty, odd_size, small, uneven, fewer, strange};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_string_equal(type_at(&w, others[i]), "");
    assert_int_equal(w.push.counts.n_shaped_blocks, 7 + 4);
    world_close(&w);
}

static hs_addr put_queue(struct fake_heap *fake, size_t n, uint64_t told, bool has_end)
{
    const hs_addr last = put_list(fake, 1, INT(9));
    hs_addr first = last;
    for (size_t i = 1; i < n; i++)
        first = fake_block(fake, 0, 2, (const uint64_t[]){INT(i), first});
    return fake_block(fake, 0, 3, (const uint64_t[]){INT(told), first, has_end ? last : first});
}

/* The same, but the queue is made first. */
static hs_addr put_early_queue(struct fake_heap *fake, size_t n)
{
    const hs_addr queue = fake_block(fake, 0, 3, (const uint64_t[]){INT(n), NIL, NIL});
    const hs_addr made = put_queue(fake, n, n, true);
    for (size_t i = 1; i < 3; i++)
        *fake_word(fake, queue + i * HS_WORD) = *fake_word(fake, made + i * HS_WORD);
    *fake_word(fake, made) = NIL;
    return queue;
}

/* A number beside a list says that it is a queue's or a stack's when it is its length. */
static void queues_and_stacks(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    const hs_addr queue = put_queue(fake, 3, 3, true), wrong = put_queue(fake, 3, 2, true),
                  endless = put_queue(fake, 3, 3, false),
                  long_one = put_queue(fake, 300, 300, true), list = put_list(fake, 6, INT(1)),
                  stack = fake_block(fake, 0, 2, (const uint64_t[]){list, INT(6)}),
                  pair = fake_block(fake, 0, 2, (const uint64_t[]){list, INT(5)}),
                  early = put_early_queue(fake, 3);
    put_unit(fake, (const uint64_t[]){queue, wrong, endless, long_one, stack, pair, early}, 7);
    shapes_make(&w, fake, "");
    assert_string_equal(type_at(&w, early), "queue");
    for (hs_addr at = field_of(&w, early, 1); at != NIL; at = field_of(&w, at, 1))
        assert_string_equal(type_at(&w, at), "list-cell");
    assert_string_equal(type_at(&w, queue), "queue");
    assert_string_equal(type_at(&w, long_one), "queue");
    assert_string_equal(type_at(&w, field_of(&w, queue, 1)), "list-cell");
    assert_string_equal(type_at(&w, field_of(&w, queue, 2)), "list-cell");
    assert_string_equal(type_at(&w, wrong), "");
    assert_string_equal(type_at(&w, endless), "");
    assert_string_equal(type_at(&w, stack), "stack");
    assert_string_equal(type_at(&w, pair), "");
    assert_string_equal(type_at(&w, list), "list-cell");
    world_close(&w);
}

static const char chains[] = "type\tblock\tM.chain\tM.chain\n"
                             "row\t0\t0\t2\tfields\t-\nchild\t-\t0\nchild\t0\t1\n"
                             "root\tM\t0\t0\n";

/* What the source tells stays as it is, and what hangs on it is looked at. */
static void the_source_comes_first(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    const hs_addr inner = put_list(fake, 5, INT(1)), chain = put_list(fake, 6, inner);
    put_unit(fake, (const uint64_t[]){chain}, 1);
    shapes_make(&w, fake, chains);
    assert_string_equal(type_at(&w, chain), "M.chain");
    assert_string_equal(type_at(&w, field_of(&w, chain, 1)), "M.chain");
    assert_string_equal(type_at(&w, inner), "list-cell");
    assert_int_equal(w.push.counts.n_typed_blocks, 6);
    assert_int_equal(w.push.counts.n_shaped_blocks, 5);
    assert_int_equal(w.push.counts.n_conflicts + w.push.counts.n_misfits, 0);
    world_close(&w);
}

/* Lists, tables and trees without end, and in circles: each block is looked at, and it ends. */
static void circles_end(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    const hs_addr list = put_list(fake, 1, INT(1));
    *fake_word(fake, list + HS_WORD) = list;
    const hs_addr tree = put_tree(fake, MAP_FIELDS, 2, 2),
                  table = put_table(fake, BUCKETS, 1, 1, INT(16));
    *fake_word(fake, tree) = tree;
    hs_addr data = *fake_word(fake, table + HS_WORD);
    hs_addr entry = *fake_word(fake, data + (BUCKETS - 1) * HS_WORD);
    *fake_word(fake, entry + 2 * HS_WORD) = entry;
    put_unit(fake, (const uint64_t[]){list, tree, table}, 3);
    shapes_make(&w, fake, "");
    assert_string_equal(type_at(&w, list), "list-cell");
    assert_string_equal(type_at(&w, tree), "");
    assert_string_equal(type_at(&w, table), "hash-table");
    world_close(&w);
}

/* Many that lead to one array cost no more than so much for each block. */
static void what_would_cost_too_much_stops(void **state)
{
    enum { N = 2000, LARGE = 256 };
    struct fake_heap *fake = unit_heap();
    struct world w;
    uint64_t buckets[LARGE], all[N];
    for (size_t i = 0; i < LARGE; i++)
        buckets[i] = fake_block(fake, 0, 3, (const uint64_t[]){INT(i), INT(i), NIL});
    hs_addr data = fake_block(fake, 0, LARGE, buckets);
    for (size_t i = 0; i < N; i++) /* one entry too few */
        all[i] = fake_block(fake, 0, 4, (const uint64_t[]){INT(LARGE - 1), data, INT(0), INT(16)});
    put_unit(fake, (const uint64_t[]){fake_block(fake, 0, N, all)}, 1);
    shapes_make(&w, fake, "");
    assert_true(w.push.counts.shapes_stopped);
    assert_int_equal(w.push.counts.n_shaped_blocks, 0);
    world_close(&w);
}

/* Whatever is followed together: the same blocks. */
static void regions_change_nothing(void **state)
{
    uint64_t first = 0;
    for (unsigned bits = 6; bits < 30; bits += 6) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        const hs_addr head = put_list(fake, 300, put_tree(fake, SET_FIELDS, 5, 5)),
                      table = put_table(fake, BUCKETS, 100, 100, INT(16));
        put_unit(fake, (const uint64_t[]){head, table, put_queue(fake, 90, 90, true)}, 3);
        world_open(&w, fake, TYPES_HEAD, "");
        assert_int_equal(shapes_push(&w, bits), HS_OK);
        first = first == 0 ? w.push.counts.n_shaped_blocks : first;
        assert_int_equal(first, 300 + 31 + 102 + 91);
        assert_int_equal(w.push.counts.n_shaped_blocks, first);
        world_close(&w);
    }
}

/* Where there is no room for both, the source is what counts. */
static void the_source_has_the_room(void **state)
{
    for (int n_lacking = 0; n_lacking < 2; n_lacking++) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        struct hs_budget budget;
        const hs_addr inner = put_list(fake, 5, INT(1)), chain = put_list(fake, 600, inner);
        put_unit(fake, (const uint64_t[]){chain}, 1);
        world_open(&w, fake, TYPES_HEAD, chains);
        w.push.tables = &w.tables;
        assert_int_equal(hs_sshapes_add(&w.push, &err), HS_OK);
        const uint64_t n = w.map.n_blocks, n_bytes = w.map.starts.n_bits / 8 + n / 8 + 3 * n;
        hs_budget_init(UINT64_C(1) << 30, NULL, 1, &budget);
        const uint64_t n_taken = hs_budget_left_bytes(&budget) - n_bytes + (uint64_t)n_lacking;
        assert_int_equal(hs_budget_reserve(&budget, n_taken, "a test", &err), HS_OK);
        struct hs_dump_plan plan = {.budget = &budget, .image = &fake->image};
        assert_int_equal(
            hs_spush_run(&w.push, &fake->rt, &w.map, &fake->roots, &w.marks, &plan, &err), HS_OK);
        assert_string_equal(type_at(&w, chain), "M.chain");
        assert_string_equal(type_at(&w, inner), n_lacking == 0 ? "list-cell" : "");
        assert_int_equal(w.push.counts.shapes_stopped, n_lacking != 0);
        world_close(&w);
    }
}

static void failed_allocations(void **state)
{
    FAIL_EACH (f, .at_least = 8) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        put_unit(fake, (const uint64_t[]){put_list(fake, 9, put_tree(fake, MAP_FIELDS, 3, 3))}, 1);
        world_open(&w, fake, TYPES_HEAD, "");
        (void)FAIL_EACH_TRY(f, shapes_push(&w, 0));
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(trees),
        cmocka_unit_test(hash_tables),
        cmocka_unit_test(queues_and_stacks),
        cmocka_unit_test(the_source_comes_first),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(what_would_cost_too_much_stops),
        cmocka_unit_test(regions_change_nothing),
        cmocka_unit_test(the_source_has_the_room),
        cmocka_unit_test(failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
