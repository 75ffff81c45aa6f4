/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_ctypes.h"
#include "fake_native.h"

#include "native/roots.h"

static struct hs_error err;

static void add_word(struct fake_native *f, uint64_t word, uint8_t edge_class, hs_ctype pointee)
{
    struct hs_root_leaf leaf = {.root = {.certainty = HS_CONSERVATIVE, .edge_class = edge_class}};
    assert_int_equal(hs_native_add_word(&f->native, word, &leaf, pointee, &err), HS_OK);
}

static void a_word_becomes_a_leaf_by_where_it_leads(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_seal(f);
    add_word(f, fake_native_block(3), 0, 0);
    add_word(f, fake_native_block(3) + 9, 0, FAKE_NODE);
    add_word(f, fake_native_block(4), HS_EDGE_GUESSED, 0);
    add_word(f, fake_native_block(FAKE_N_BLOCKS), 0, FAKE_NODE); /* behind the last block */
    add_word(f, 0, 0, 0);
    add_word(f, UINT64_MAX, 0, 0);
    const struct hs_root_leaf *leaves = f->native.roots.leaves;
    assert_int_equal(f->native.roots.n_leaves, 3);
    assert_true(leaves[0].target == fake_native_block(3));
    assert_int_equal(leaves[0].root.edge_class, HS_EDGE_EXACT);
    assert_int_equal(leaves[0].root.certainty, HS_CONSERVATIVE);
    assert_true(leaves[1].target == fake_native_block(3));
    assert_int_equal(leaves[1].root.edge_class, HS_EDGE_INTERIOR);
    assert_int_equal(leaves[1].root.certainty, HS_EXACT); /* its type is known */
    assert_int_equal(leaves[2].root.edge_class, HS_EDGE_GUESSED);
    assert_int_equal(f->native.n_seeds, 1);
    assert_true(f->native.seeds[0].block == fake_native_block(3) &&
                f->native.seeds[0].word == fake_native_block(3) + 9 &&
                f->native.seeds[0].pointee == FAKE_NODE);
    fake_native_free(f);
}

static void a_mask_is_tried_when_the_word_leads_nowhere(void **state)
{
    struct fake_native *f = fake_native_new();
    struct hs_heap_block block;
    enum hs_pointer how;
    fake_native_seal(f);
    uint64_t tagged = fake_native_block(5) | UINT64_C(1) << 63;
    assert_false(hs_native_resolve(&f->native, tagged, &how, &block));
    f->options.pointer_mask = UINT64_C(1) << 63 | 7;
    assert_true(hs_native_resolve(&f->native, tagged | 3, &how, &block));
    assert_true(how == HS_POINTER_START && block.begin == fake_native_block(5));
    /* As it is first: a pointer into the middle stays one. */
    assert_true(hs_native_resolve(&f->native, fake_native_block(5) | 3, &how, &block));
    assert_int_equal(how, HS_POINTER_INTERIOR);
    fake_native_free(f);
}

static void types_tell_what_a_slot_is(void **state)
{
    hs_ctype pointee = 99;
    static const struct {
        hs_ctype type;
        uint64_t offset;
        enum hs_slot_form form;
        hs_ctype pointee;
    } expected[] = {{FAKE_NODE_P, 0, HS_SLOT_POINTER, FAKE_NODE},
                    {FAKE_NODE_P, 8, HS_SLOT_UNKNOWN, 0},
                    {FAKE_NODE, 0, HS_SLOT_POINTER, FAKE_NODE},
                    {FAKE_NODE, 8, HS_SLOT_NONE, 0},
                    {FAKE_NODE, 16, HS_SLOT_MAYBE, 0},
                    {FAKE_NODE, 24, HS_SLOT_UNKNOWN, 0},
                    {FAKE_NODES, 48, HS_SLOT_POINTER, FAKE_NODE},
                    {FAKE_NODES, 56, HS_SLOT_NONE, 0},
                    {FAKE_CHARS, 8, HS_SLOT_NONE, 0},
                    {FAKE_VOID_P, 0, HS_SLOT_POINTER, 0},
                    {0, 0, HS_SLOT_UNKNOWN, 0},
                    {77, 0, HS_SLOT_UNKNOWN, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(hs_native_slot_form(fake_ctypes(), expected[i].type, expected[i].offset,
                                             &pointee, NULL),
                         expected[i].form);
        assert_int_equal(pointee, expected[i].pointee);
    }
    assert_int_equal(hs_native_slot_form(NULL, FAKE_NODE, 0, &pointee, NULL), HS_SLOT_UNKNOWN);
}

static struct hs_native_variable nodes_variable(struct fake_native *f)
{
    struct hs_native_variable v = {.begin = 0x1000,
                                   .n_bytes = 96,
                                   .type = FAKE_NODES,
                                   .is_whole = true,
                                   .leaf = {.root = {.certainty = HS_CONSERVATIVE}}};
    assert_int_equal(hs_native_name(&f->native, &v.name, &err, "%s", "nodes"), HS_OK);
    hs_native_variable_text(&f->native, &v);
    return v;
}

static void slots_are_named_by_their_place(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_seal(f);
    f->native.ctypes = fake_ctypes();
    struct hs_native_variable v = nodes_variable(f);
    for (uint64_t offset = 24; offset < 48; offset += 8)
        assert_int_equal(
            hs_native_add_slot(&f->native, &v, offset, 0x1000 + offset, fake_native_block(1), &err),
            HS_OK);
    assert_int_equal(hs_native_add_slot(&f->native, &v, 0, 0x1000, 12345, &err), HS_OK);
    assert_int_equal(f->native.roots.n_leaves, 3);
    const struct hs_root_leaf *next = fake_native_leaf(f, "nodes[1].next");
    const struct hs_root_leaf *tag = fake_native_leaf(f, "nodes[1].tag");
    const struct hs_root_leaf *maybe = fake_native_leaf(f, "nodes[1].maybe");
    assert_true(next != NULL && tag != NULL && maybe != NULL);
    assert_int_equal(next->root.certainty, HS_EXACT);
    assert_int_equal(next->root.edge_class, HS_EDGE_EXACT);
    assert_true(next->root.address == 0x1018 && next->root.offset == 24);
    assert_true(next->group_variable == v.name && next->root.field == HS_NO_FIELD);
    assert_int_equal(tag->root.certainty, HS_CONSERVATIVE);
    assert_int_equal(tag->root.edge_class, HS_EDGE_GUESSED); /* the type has a number there */
    assert_int_equal(maybe->root.certainty, HS_CONSERVATIVE);
    assert_int_equal(maybe->root.edge_class, HS_EDGE_EXACT);
    /* Without debug information: by offset. */
    f->native.ctypes = NULL;
    assert_int_equal(hs_native_add_slot(&f->native, &v, 24, 0x1018, fake_native_block(1), &err),
                     HS_OK);
    assert_non_null(fake_native_leaf(f, "nodes+0x18"));
    fake_native_free(f);
}

static void slots_of_a_huge_variable_share_a_name(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_seal(f);
    struct hs_native_variable v = nodes_variable(f);
    uint64_t n = HS_VARIABLE_NAMED_SLOTS + 1000;
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(hs_native_add_slot(&f->native, &v, i * 8, 0x1000 + i * 8,
                                            fake_native_block(i % 9), &err),
                         HS_OK);
    assert_int_equal(f->native.roots.n_leaves, n);
    assert_true(f->dump.strings.n_strings < HS_VARIABLE_NAMED_SLOTS + 10);
    const struct hs_root_leaf *last = &f->native.roots.leaves[n - 1];
    assert_string_equal(fake_native_text(f, last->root.name), "nodes[...]");
    assert_true(last->root.offset == (n - 1) * 8);
    fake_native_free(f);
}

static size_t count_words(struct fake_native *f, hs_addr begin, hs_addr end, hs_addr *ret_last)
{
    struct hs_word_scan scan = hs_native_scan(begin, end);
    size_t n = 0;
    uint64_t word;
    while (hs_native_next_word(&f->native, &scan, ret_last, &word))
        n++;
    return n;
}

static void scans_what_is_in_the_copy(void **state)
{
    struct fake_native *f = fake_native_new();
    static uint64_t far_words[512];
    hs_addr far_at = FAKE_N_DATA_AT + (UINT64_C(1) << 40), last = 0;
    fake_native_map(f, far_at, far_words, sizeof far_words, "rw-p", "");
    fake_native_seal(f);
    f->data[0] = f->data[1] = f->data[FAKE_N_DATA_WORDS - 1] = fake_native_block(2);
    f->data[7] = 1; /* leads nowhere */
    far_words[511] = fake_native_block(7) + 5;
    hs_addr end = FAKE_N_DATA_AT + sizeof f->data;
    assert_int_equal(count_words(f, FAKE_N_DATA_AT, end, &last), 3);
    assert_true(last == end - 8);
    assert_int_equal(count_words(f, FAKE_N_DATA_AT + 1, end, &last), 2); /* from the next word */
    assert_int_equal(count_words(f, FAKE_N_DATA_AT, end - 1, &last), 2);
    assert_int_equal(count_words(f, FAKE_N_DATA_AT, FAKE_N_DATA_AT, &last), 0);
    assert_int_equal(count_words(f, end, FAKE_N_DATA_AT, &last), 0);
    /* A claim of all addresses costs nothing: only the copy is gone through. */
    assert_int_equal(count_words(f, 0, UINT64_MAX, &last), 4);
    assert_true(last == far_at + 511 * 8);
    assert_int_equal(count_words(f, UINT64_MAX - 3, UINT64_MAX, &last), 0);
    fake_native_free(f);
}

static void a_block_of_thread_local_variables_is_root_memory(void **state)
{
    struct fake_native *f = fake_native_new();
    struct hs_heap_block block;
    fake_native_seal(f);
    assert_int_equal(hs_heap_map_resolve(&f->dump.heaps.map, fake_native_block(5), &block),
                     HS_POINTER_START);
    assert_false(hs_native_is_root_memory(&f->native, &block));
    assert_int_equal(
        hs_range_set_add(&f->native.root_ranges, block.begin + 16, block.begin + 40, &err), HS_OK);
    assert_true(hs_native_is_root_memory(&f->native, &block));
    block.begin += 64;
    assert_false(hs_native_is_root_memory(&f->native, &block));
    fake_native_free(f);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 3) {
        struct fake_native *f = fake_native_new();
        fake_native_seal(f);
        f->native.ctypes = fake_ctypes();
        struct hs_native_variable v = nodes_variable(f);
        hs_status status = HS_OK;
        fail_each_begin(&each);
        for (uint64_t i = 0; i < 500 && status == HS_OK; i++)
            status = hs_native_add_slot(&f->native, &v, i * 24, 0x1000, fake_native_block(1), &err);
        (void)fail_each_end(&each, status);
        fake_native_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_becomes_a_leaf_by_where_it_leads),
        cmocka_unit_test(a_mask_is_tried_when_the_word_leads_nowhere),
        cmocka_unit_test(types_tell_what_a_slot_is),
        cmocka_unit_test(slots_are_named_by_their_place),
        cmocka_unit_test(slots_of_a_huge_variable_share_a_name),
        cmocka_unit_test(scans_what_is_in_the_copy),
        cmocka_unit_test(a_block_of_thread_local_variables_is_root_memory),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
