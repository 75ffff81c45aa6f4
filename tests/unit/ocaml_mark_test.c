/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* Precise marking over made-up heaps, against what each shape must give. */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_heap.h"
#include "ocaml/marker.h"

struct marked {
    struct fake_heap *fake;
    struct hs_block_map map;
    struct hs_ocaml_marks marks;
};

/* Every test is run with all that waits on the stack, and region by region. */
static bool is_large;

static struct marked mark(struct fake_heap *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    struct marked m = {.fake = fake};

    fake_heap_seal(fake);
    assert_int_equal(hs_block_map_build(&m.map, &fake->rt, &err), HS_OK);
    m.map.is_large = is_large;
    assert_int_equal(hs_ocaml_mark(&fake->rt, &m.map, &fake->roots, &m.marks, &err), HS_OK);
    return m;
}

static void release(struct marked *m)
{
    hs_ocaml_marks_fini(&m->marks);
    hs_block_map_fini(&m->map);
    fake_heap_free(m->fake);
}

static bool reached(const struct marked *m, hs_addr block)
{
    const struct hs_span *span = hs_map_span(&m->map, block);
    return span != NULL && hs_bitmap_get(&m->marks.reached, hs_map_bit(span, block));
}

static bool known(const struct marked *m, hs_addr block)
{
    const struct hs_span *span = hs_map_span(&m->map, block);
    return span != NULL && hs_bitmap_get(&m->map.starts, hs_map_bit(span, block));
}

static hs_addr block1(struct fake_heap *fake, unsigned tag, uint64_t field)
{
    return fake_block(fake, tag, 1, &field);
}

static void follows_lists_cycles_and_sharing(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr list = 1;
    for (unsigned i = 0; i < 20000; i++) { /* longer than any call stack would like */
        const uint64_t cell[] = {2 * i + 1, list};
        list = fake_block(fake, 0, 2, cell);
    }
    const uint64_t pair[] = {list, 1};
    hs_addr first = fake_block(fake, 3, 2, pair);
    *fake_word(fake, first + HS_WORD) = first; /* itself */
    hs_addr garbage = block1(fake, 0, list);
    fake_root(fake, first, false);
    fake_root(fake, list, false);
    struct marked m = mark(fake);

    assert_int_equal(m.marks.n_reached_blocks, 20001);
    assert_int_equal(m.marks.n_reached_words, 20001 * 3);
    assert_true(reached(&m, list) && reached(&m, first));
    assert_true(known(&m, garbage) && !reached(&m, garbage));
    assert_true(fake_proofs_hold(fake));
    release(&m);
}

static void reads_only_what_holds_values(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr alone[8];
    for (unsigned i = 0; i < 8; i++)
        alone[i] = block1(fake, 0, 1);
    const unsigned opaque[] = {HS_TAG_ABSTRACT, HS_TAG_STRING, HS_TAG_DOUBLE, HS_TAG_DOUBLE_ARRAY,
                               HS_TAG_CUSTOM};
    for (unsigned i = 0; i < 5; i++)
        fake_root(fake, block1(fake, opaque[i], alone[i]), false);
    /* a closure: what looks like a block before start_env is code; field 5 is its environment */
    const uint64_t closure[] = {
        alone[5], UINT64_C(1) << 56 | 5 << 1 | 1, fake_header(3, 0, HS_TAG_INFIX), alone[5], 3,
        alone[6]};
    hs_addr function = fake_block(fake, HS_TAG_CLOSURE, 6, closure);
    fake_root(fake, function + 3 * HS_WORD, false); /* through the infix pointer */
    const unsigned plain[] = {HS_TAG_LAZY, HS_TAG_OBJECT, HS_TAG_FORWARD, 245, 0};
    hs_addr chain = alone[7];
    for (unsigned i = 0; i < 5; i++) {
        const uint64_t fields[] = {chain, 1};
        chain = fake_block(fake, plain[i], 2, fields);
    }
    fake_root(fake, chain, false);
    struct marked m = mark(fake);

    for (unsigned i = 0; i < 6; i++)
        assert_false(reached(&m, alone[i]));
    assert_true(reached(&m, function) && reached(&m, alone[6]) && reached(&m, alone[7]));
    release(&m);
}

static void takes_hostile_closures(void **state)
{
    const uint64_t infos[] = {0, 1, UINT64_MAX, UINT64_C(1) << 55 | 1, 7, 200};
    for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++) {
        struct fake_heap *fake = fake_heap_new();
        const uint64_t fields[] = {FAKE_CODE_F, infos[i], 1, 1};
        fake_root(fake, fake_block(fake, HS_TAG_CLOSURE, 4, fields), false);
        struct marked m = mark(fake);
        assert_int_equal(m.marks.n_reached_blocks, 1);
        release(&m);
    }
}

static void finds_static_blocks(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr live = block1(fake, 0, 1);
    uint64_t inner_fields[] = {1, 3};
    hs_addr inner = fake_static(fake, 0, 2, inner_fields);
    uint64_t outer_fields[] = {inner};
    hs_addr outer = fake_static(fake, 0, 1, outer_fields);
    hs_addr of_garbage = fake_static(fake, HS_TAG_STRING, 1, NULL);
    hs_addr of_weak = fake_static(fake, 0, 1, NULL);
    hs_addr unused = fake_static(fake, 0, 1, NULL);
    uint64_t module_fields[] = {live, outer};
    hs_addr module = fake_static(fake, 0, 2, module_fields);
    fake->roots.module_blocks = NULL;
    struct hs_error err = HS_ERROR_INIT;
    void *blocks;
    assert_int_equal(hs_alloc(1, sizeof(hs_addr), &blocks, &err), HS_OK);
    fake->roots.module_blocks = blocks;
    fake->roots.module_blocks[0] = module;
    fake->roots.n_module_blocks = 1;
    const uint64_t to_module[] = {module, FAKE_ATOM_AT + HS_WORD};
    hs_addr holder = fake_block(fake, 0, 2, to_module);
    fake_root(fake, holder, false);
    fake_root(fake, outer, false);
    fake_root(fake, of_weak, true);
    hs_addr garbage = block1(fake, 0, of_garbage);
    struct marked m = mark(fake);

    assert_true(reached(&m, outer) && reached(&m, inner) && reached(&m, module));
    assert_true(reached(&m, FAKE_ATOM_AT + HS_WORD));
    assert_false(reached(&m, live)); /* a module's fields are roots, not edges of it */
    assert_true(known(&m, of_garbage) && !reached(&m, of_garbage) && !reached(&m, garbage));
    assert_true(known(&m, of_weak) && !reached(&m, of_weak));
    assert_false(known(&m, unused));
    assert_int_equal(m.marks.n_reached_words, 3); /* static words are not heap words */
    release(&m);
}

/* Words that look like a block inside another one, as a conservative root may find. */
static void drops_static_blocks_inside_others(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    uint64_t fields[] = {1, fake_header(2, HS_BLACK, 0), 3, 5};
    hs_addr outer = fake_static(fake, 0, 4, fields);
    hs_addr after = fake_static(fake, HS_TAG_STRING, 1, NULL);
    hs_addr inner = outer + 2 * HS_WORD;
    hs_addr holder = block1(fake, 0, inner);
    fake_root(fake, inner, false);
    fake_root(fake, outer, false);
    fake_root(fake, after, false);
    fake_root(fake, holder, false);
    struct marked m = mark(fake);

    assert_true(known(&m, outer));
    assert_true(known(&m, after));
    assert_true(known(&m, holder));
    assert_false(known(&m, inner));
    assert_non_null(fake_note(fake, "1 values lead to static data that overlaps a block"));
    release(&m);
}

/* Static data full of headers, each of a block up to the end: the work is not its square. */
static void bounds_static_blocks_laid_over_each_other(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr first = fake_static(fake, 0, 900, NULL);
    uint64_t n_words = 0;
    for (unsigned i = 0; i < 900; i += 2) {
        *fake_word(fake, first + i * HS_WORD) = fake_header(898 - i, HS_BLACK, 0);
        *fake_word(fake, first + (i + 1) * HS_WORD) = first + (899 - i) * HS_WORD;
        fake_root(fake, first + (i + 1) * HS_WORD, false);
    }
    fake_root(fake, block1(fake, 0, 1), false);
    struct marked m = mark(fake);

    hs_addr free = 0;
    for (unsigned i = 0; i < 900; i++) {
        hs_addr block = first + i * HS_WORD;
        if (!known(&m, block))
            continue;
        assert_true(block - HS_WORD >= free);
        free = block + HS_HEADER_WOSIZE(hs_block_header(&m.map, block)) * HS_WORD;
        n_words += HS_HEADER_WOSIZE(hs_block_header(&m.map, block)) + 1;
    }
    assert_true(n_words > 0 && n_words <= FAKE_STATIC_WORDS);
    assert_non_null(fake_note(fake, "static data that overlaps a block"));
    release(&m);
}

static hs_addr ephemeron(struct fake_heap *fake, uint64_t data, size_t n, const uint64_t *keys)
{
    uint64_t fields[8] = {1, data};

    memcpy(fields + 2, keys, n * sizeof *keys);
    hs_addr block = fake_block(fake, HS_TAG_ABSTRACT, n + 2, fields);
    fake_ephemeron(fake, block);
    return block;
}

static const struct hs_ocaml_ephemeron *find_ephemeron(const struct marked *m, hs_addr block)
{
    for (size_t i = 0; i < m->marks.n_ephemerons; i++) {
        if (m->marks.ephemerons[i].block == block)
            return &m->marks.ephemerons[i];
    }
    return NULL;
}

static void runs_each_kind_of_ephemeron(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr live = block1(fake, 0, 1), dead = block1(fake, 0, 1);
    hs_addr behind = block1(fake, 7, 1);
    hs_addr forward =
        block1(fake, HS_TAG_FORWARD, live); /* looked through, as the collector does */
    hs_addr forward_dead = block1(fake, HS_TAG_FORWARD, dead);
    hs_addr number = block1(fake, HS_TAG_DOUBLE, 1);
    hs_addr forward_float = block1(fake, HS_TAG_FORWARD, number); /* not looked through */
    hs_addr constant = fake_static(fake, 0, 1, NULL);
    const struct {
        uint64_t keys[3];
        size_t n;
        bool active;
    } cases[] = {
        {{live}, 1, true},
        {{dead}, 1, false},
        {{live, dead}, 2, false},
        {{dead, live}, 2, false},
        {{live, FAKE_NONE}, 2, true},
        {{3, live}, 2, true},
        {{constant, live}, 2, true},
        {{forward}, 1, true},
        {{forward_dead}, 1, false},
        {{forward_float}, 1, false},
        {{0}, 0, true},
        {{live, live, live}, 3, true},
    };
    enum { N = sizeof cases / sizeof cases[0] };
    hs_addr blocks[N], data[N];
    for (size_t i = 0; i < N; i++) {
        data[i] = block1(fake, 0, behind);
        blocks[i] = ephemeron(fake, data[i], cases[i].n, cases[i].keys);
        fake_root(fake, blocks[i], false);
    }
    hs_addr data_of_dead = block1(fake, 0, 1);
    hs_addr dead_table = ephemeron(fake, data_of_dead, 1, &live);
    const uint64_t weak_keys[] = {live, dead};
    hs_addr weak = ephemeron(fake, FAKE_NONE, 2, weak_keys);
    fake_root(fake, weak, false);
    fake_root(fake, live, false);
    fake_root(fake, number, true);
    struct marked m = mark(fake);

    assert_int_equal(m.marks.n_ephemerons, N + 2);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(find_ephemeron(&m, blocks[i])->is_active, cases[i].active);
        assert_true(find_ephemeron(&m, blocks[i])->is_reached);
        assert_int_equal(reached(&m, data[i]), cases[i].active);
    }
    assert_true(reached(&m, behind));
    assert_false(reached(&m, dead) || reached(&m, data_of_dead));
    assert_false(find_ephemeron(&m, dead_table)->is_reached);
    assert_false(find_ephemeron(&m, dead_table)->is_active);
    assert_true(find_ephemeron(&m, weak)->is_reached);
    assert_true(fake_proofs_hold(fake));
    release(&m);
}

/* The data of each is the key of the next, listed in the order that a naive loop likes least. */
static void runs_chains_of_ephemerons(void **state)
{
    for (unsigned backwards = 0; backwards < 2; backwards++) {
        enum { LENGTH = 4000 };
        struct fake_heap *fake = fake_heap_new();
        static hs_addr nodes[LENGTH + 1];
        for (unsigned i = 0; i <= LENGTH; i++)
            nodes[i] = block1(fake, 0, 1);
        for (unsigned i = 0; i < LENGTH; i++) {
            unsigned at = backwards ? LENGTH - 1 - i : i;
            fake_root(fake, ephemeron(fake, nodes[at + 1], 1, &nodes[at]), false);
        }
        fake_root(fake, nodes[0], false);
        struct marked m = mark(fake);
        for (unsigned i = 0; i <= LENGTH; i++)
            assert_true(reached(&m, nodes[i]));
        release(&m);
    }
}

/* An ephemeron that is reached only as the data of another; keys that keep each other. */
static void runs_ephemerons_of_ephemerons(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr live = block1(fake, 0, 1), treasure = block1(fake, 0, 1);
    hs_addr inner = ephemeron(fake, treasure, 1, &live);
    hs_addr outer = ephemeron(fake, inner, 1, &live);
    hs_addr x = block1(fake, 0, 1), y = block1(fake, 0, 1);
    fake_root(fake, ephemeron(fake, x, 1, &y), false); /* x if y, y if x: neither */
    fake_root(fake, ephemeron(fake, y, 1, &x), false);
    fake_root(fake, outer, false);
    fake_root(fake, live, false);
    struct marked m = mark(fake);

    assert_true(reached(&m, inner) && reached(&m, treasure));
    assert_false(reached(&m, x) || reached(&m, y));
    release(&m);
}

static void bounds_a_hostile_list_of_ephemerons(void **state)
{
    for (unsigned which = 0; which < 5; which++) {
        struct fake_heap *fake = fake_heap_new();
        hs_addr live = block1(fake, 0, 1);
        hs_addr blocks[5];
        for (unsigned i = 0; i < 5; i++) {
            blocks[i] = ephemeron(fake, FAKE_NONE, 1, &live);
            fake_root(fake, blocks[i], false);
        }
        hs_addr plain = block1(fake, 0, 1);
        hs_addr ends[] = {blocks[4], blocks[0], plain, UINT64_C(0x1234567890), blocks[2] + HS_WORD};
        *fake_word(fake, blocks[0]) = ends[which]; /* the list's last link */
        struct marked m = mark(fake);
        assert_int_equal(m.marks.n_ephemerons, 5);
        assert_non_null(fake_note(fake, "list of ephemerons is damaged"));
        release(&m);
    }
}

static void counts_pointers_to_nothing(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr free_block = fake_raw(fake, fake_header(20, HS_BLUE, 0), 20);
    hs_addr string = fake_block(fake, HS_TAG_STRING, 4, NULL);
    const uint64_t fields[] = {free_block, string + HS_WORD, 4096, FAKE_YOUNG_AT + 64, 1, 6};
    fake_root(fake, fake_block(fake, 0, 6, fields), false);
    fake_block(fake, 0, 6, fields); /* garbage may point anywhere */
    struct marked m = mark(fake);

    assert_int_equal(m.marks.n_free_reached, 1);
    assert_int_equal(m.marks.n_dangling, 3); /* free, inside, unused part of the minor heap */
    assert_true(m.marks.n_dangling_garbage >= 2);
    assert_false(fake_proofs_hold(fake));
    assert_non_null(fake_note(fake, "3 fields of live blocks lead into the heap but to no block"));
    release(&m);
}

static void counts_remnants_as_free(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr remnant = fake_block(fake, HS_TAG_ABSTRACT, 5, NULL);
    hs_addr held = fake_block(fake, HS_TAG_ABSTRACT, 5, NULL);
    hs_addr large = fake_block(fake, HS_TAG_ABSTRACT, 17, NULL);
    uint64_t none = FAKE_NONE;
    hs_addr table = ephemeron(fake, FAKE_NONE, 1, &none);
    hs_addr young = fake_young(fake, HS_TAG_ABSTRACT, 5, NULL);
    fake_root(fake, held, false);
    struct marked m = mark(fake);

    assert_false(known(&m, remnant));
    assert_true(known(&m, held) && known(&m, large) && known(&m, table) && known(&m, young));
    assert_int_equal(m.map.n_free_words, 6);
    assert_int_equal(m.map.n_live_words, 6 + 18 + 4 + 6);
    release(&m);
}

static void reaches_young_blocks(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr old = block1(fake, 0, 1);
    hs_addr young = fake_young(fake, 0, 1, &old);
    hs_addr other = block1(fake, 0, young);
    fake_root(fake, other, false);
    struct marked m = mark(fake);

    assert_true(reached(&m, young) && reached(&m, old));
    assert_int_equal(m.marks.n_reached_words, 6);
    release(&m);
}

static void fails_cleanly_without_memory(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 5) {
        struct hs_error err = HS_ERROR_INIT;
        struct fake_heap *fake = fake_heap_new();
        struct marked m = {.fake = fake};
        hs_addr keys[200];
        for (unsigned i = 0; i < 200; i++) {
            keys[i] = block1(fake, 0, 4096);
            fake_root(fake, ephemeron(fake, FAKE_NONE, 1, &keys[i]), false);
        }
        const uint64_t nowhere[] = {keys[0] + 1000 * HS_WORD - HS_WORD};
        fake_root(fake, fake_block(fake, 0, 1, nowhere), false);
        fake_heap_seal(fake);
        assert_int_equal(hs_block_map_build(&m.map, &fake->rt, &err), HS_OK);
        m.map.is_large = is_large;
        (void)FAIL_EACH_TRY(each, hs_ocaml_mark(&fake->rt, &m.map, &fake->roots, &m.marks, &err));
        release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_lists_cycles_and_sharing),
        cmocka_unit_test(reads_only_what_holds_values),
        cmocka_unit_test(takes_hostile_closures),
        cmocka_unit_test(finds_static_blocks),
        cmocka_unit_test(drops_static_blocks_inside_others),
        cmocka_unit_test(bounds_static_blocks_laid_over_each_other),
        cmocka_unit_test(runs_each_kind_of_ephemeron),
        cmocka_unit_test(runs_chains_of_ephemerons),
        cmocka_unit_test(runs_ephemerons_of_ephemerons),
        cmocka_unit_test(bounds_a_hostile_list_of_ephemerons),
        cmocka_unit_test(counts_pointers_to_nothing),
        cmocka_unit_test(counts_remnants_as_free),
        cmocka_unit_test(reaches_young_blocks),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    int n_failed = cmocka_run_group_tests_name("by stack", tests, NULL, NULL);
    is_large = true;
    return n_failed + cmocka_run_group_tests_name("by region", tests, NULL, NULL);
}
