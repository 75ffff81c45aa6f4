/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Stacks: precise frames, callback links, interrupted frames, C locals, damage, and great depth. */
#include "unit.h"

#include "fake_roots.h"

#define DEEP_RETURN (FAKE_TEXT_AT + 0x4) /* in camlM__deep_7 */
#define TOP_RETURN (FAKE_TEXT_AT + 0x14) /* in camlM__top_8 */
#define LINK_RETURN (FAKE_TEXT_AT + 0x24)

enum { TABLE = FAKE_FREE, DEEP_WORDS = 4, TOP_WORDS = 2 };

static void put_u16(uint64_t *words, size_t at, uint16_t value)
{
    memcpy((uint8_t *)words + at, &value, sizeof value);
}

/* deep: 32 bytes, live slots at 8 and in rbx; top: 16 bytes, slot at 0; and the link. */
static void put_table(struct fake_roots *fake)
{
    uint64_t *t = &fake->data[TABLE];
    fake->data[FAKE_FRAMETABLE] = fake_data_at(TABLE);
    t[0] = 3;
    t[1] = DEEP_RETURN;
    put_u16(t, 16, DEEP_WORDS * HS_WORD);
    put_u16(t, 18, 2);
    put_u16(t, 20, 8);
    put_u16(t, 22, 1 << 1 | 1);
    t[3] = TOP_RETURN;
    put_u16(t, 32, TOP_WORDS * HS_WORD);
    put_u16(t, 34, 1);
    put_u16(t, 36, 0);
    t[5] = LINK_RETURN;
    put_u16(t, 48, HS_FRAME_LINK);
    put_u16(t, 50, 0);
}

static void collect(struct fake_roots *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_roots_seal(fake);
    assert_int_equal(fake_roots_collect(fake, &err), HS_OK);
}

/* deep, top, link to no further chunk, from stack[0]. */
static struct fake_roots *small_stack(hs_addr *ret_block)
{
    struct fake_roots *fake = fake_roots_new();
    hs_addr block = fake_block(fake->heap, 0, 2, NULL);
    put_table(fake);
    struct hs_ocaml_thread *t = fake_thread(fake);
    t->sp = fake_stack_at(0);
    t->pc = DEEP_RETURN;
    t->gc_regs = fake_stack_at(1000);
    fake->stack[1] = block;      /* the slot at 8 */
    fake->stack[1001] = block;   /* rbx */
    fake->stack[3] = TOP_RETURN; /* return address of deep */
    fake->stack[4] = block;      /* top's slot */
    fake->stack[5] = LINK_RETURN;
    *ret_block = block;
    return fake;
}

static void walks_frames_slots_and_registers(void **state)
{
    hs_addr block;
    struct fake_roots *fake = small_stack(&block);
    collect(fake);
    static const char *const names[] = {"M.deep slot sp+8", "M.deep register rbx",
                                        "M.top slot sp+0"};
    static const char *const groups[] = {"#1 M.deep", "#1 M.deep", "#2 M.top"};
    const hs_addr addresses[] = {fake_stack_at(1), fake_stack_at(1001), fake_stack_at(4)};
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_STACK), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct hs_root_leaf *leaf = fake_leaf(fake, HS_ROOT_STACK, i);
        assert_string_equal(fake_text(fake, leaf->root.name), names[i]);
        assert_string_equal(fake_text(fake, leaf->group_unit), groups[i]);
        assert_string_equal(fake_text(fake, leaf->group_module), "thread 7");
        assert_int_equal(leaf->root.thread, 7);
        assert_int_equal(leaf->root.frame, i < 2 ? 1 : 2);
        assert_int_equal(leaf->root.certainty, HS_EXACT);
        assert_true(leaf->root.address == addresses[i] && leaf->target == block);
    }
    assert_null(fake_note(fake->heap, "stack of thread"));
    fake_roots_free(fake);
}

static void follows_callback_links_upwards_only(void **state)
{
    hs_addr block;
    struct fake_roots *fake = small_stack(&block);
    /* The link frame begins at stack[6]; its context 16 bytes on. */
    fake->stack[8] = fake_stack_at(100);
    fake->stack[9] = TOP_RETURN;
    fake->stack[10] = fake_stack_at(1000);
    fake->stack[100] = block;
    fake->stack[101] = LINK_RETURN;
    fake->stack[104] = fake_stack_at(50); /* down: damaged */
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_STACK), 4);
    assert_int_equal(fake_leaf(fake, HS_ROOT_STACK, 3)->root.frame, 3);
    assert_non_null(fake_note(fake->heap, "its callback link leads down"));
    fake_roots_free(fake);
}

static void a_missing_descriptor_cuts_the_stack_and_is_said(void **state)
{
    hs_addr block;
    struct fake_roots *fake = small_stack(&block);
    fake->stack[3] = FAKE_TEXT_AT + 8;
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_STACK), 2);
    assert_non_null(fake_note(fake->heap, "cut at frame 2"));
    fake_roots_free(fake);
}

static void an_interrupted_frame_is_conservative(void **state)
{
    hs_addr block;
    struct fake_roots *fake = small_stack(&block);
    struct hs_thread kernel = {.tid = 7};
    kernel.regs.rbx = block;
    kernel.regs.rax = block + 4; /* no block's start */
    fake->target.threads = &kernel;
    fake->target.n_threads = 1;
    struct hs_ocaml_thread *t = fake_thread(fake);
    t->sp = fake_stack_at(4);
    t->pc = TOP_RETURN;
    t->words_begin = fake_stack_at(0);
    t->words_end = fake_stack_at(4);
    t->registers = true;
    t->interrupted = FAKE_TEXT_AT + 7;
    collect(fake);
    const struct hs_root_leaf *word = fake_leaf(fake, HS_ROOT_STACK, 0);
    assert_string_equal(fake_text(fake, word->root.name), "M.deep word sp+8");
    assert_string_equal(fake_text(fake, word->group_unit), "#1 M.deep");
    assert_int_equal(word->root.certainty, HS_CONSERVATIVE);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_REGISTER), 1);
    const struct hs_root_leaf *reg = fake_leaf(fake, HS_ROOT_REGISTER, 0);
    assert_string_equal(fake_text(fake, reg->root.name), "M.deep register rbx");
    assert_int_equal(reg->root.certainty, HS_CONSERVATIVE);
    assert_int_equal(reg->root.address, 0);
    const struct hs_root_leaf *top = fake_leaf(fake, HS_ROOT_STACK, 1);
    assert_int_equal(top->root.frame, 2);
    assert_int_equal(top->root.certainty, HS_EXACT);
    fake->target.threads = NULL;
    fake_roots_free(fake);
}

static void c_locals_name_the_frame_that_called(void **state)
{
    hs_addr block;
    struct fake_roots *fake = small_stack(&block);
    struct hs_ocaml_thread *t = fake_thread(fake);
    uint64_t *cell = &fake->stack[30];
    memmove(&fake->stack[40], &fake->stack[0], 11 * HS_WORD); /* frames above the cells */
    memset(&fake->stack[0], 0, 11 * HS_WORD);
    t->sp = fake_stack_at(40);
    t->local_roots = fake_stack_at(30);
    cell[0] = fake_stack_at(20);
    cell[1] = 1;
    cell[2] = 2;
    cell[3] = fake_stack_at(10);
    fake->stack[10] = block;
    fake->stack[11] = 1;
    fake->stack[20] = fake_stack_at(30); /* a cycle */
    fake->stack[21] = UINT64_MAX;        /* five tables of rubbish length */
    fake->stack[22] = UINT64_MAX;
    collect(fake);
    assert_true(fake_n_leaves(fake, HS_ROOT_LOCAL) >= 1);
    const struct hs_root_leaf *leaf = fake_leaf(fake, HS_ROOT_LOCAL, 0);
    assert_string_equal(fake_text(fake, leaf->root.name), "C local below M.deep");
    assert_string_equal(fake_text(fake, leaf->group_unit), "C called from #1 M.deep");
    assert_int_equal(leaf->root.address, fake_stack_at(10));
    assert_non_null(fake_note(fake->heap, "could not be read"));
    fake_roots_free(fake);
}

/* A million frames of two functions: linear, and few names. */
static void great_depth_is_linear_and_has_few_names(void **state)
{
    enum { DEPTH = 1000000 };
    static uint64_t deep[DEPTH * DEEP_WORDS + 16];
    struct hs_error err = HS_ERROR_INIT;
    struct fake_roots *fake = fake_roots_new();
    hs_addr block = fake_block(fake->heap, 0, 2, NULL);
    const hs_addr at = UINT64_C(0x7ffe00000000);
    put_table(fake);
    for (size_t i = 0; i < DEPTH; i++) {
        deep[i * DEEP_WORDS + 1] = block;
        deep[i * DEEP_WORDS + 3] = i + 1 == DEPTH ? LINK_RETURN : DEEP_RETURN;
    }
    memset(&deep[DEPTH * DEEP_WORDS], 0, 16 * HS_WORD);
    struct hs_ocaml_thread *t = fake_thread(fake);
    t->sp = at;
    t->pc = DEEP_RETURN;
    t->gc_regs = fake_stack_at(1000);
    assert_int_equal(hs_image_add(&fake->heap->image, at, deep, sizeof deep, &err), HS_OK);
    collect(fake);
    assert_null(fake_note(fake->heap, "stack of thread"));
    assert_int_equal(fake->roots.roots.n_leaves, DEPTH);
    assert_int_equal(fake->roots.roots.leaves[DEPTH - 1].root.frame, DEPTH);
    assert_true(fake->heap->strings.n_strings < 10100);
    assert_string_equal(fake_text(fake, fake->roots.roots.leaves[DEPTH - 1].group_unit),
                        "#10001 and deeper M.deep");
    fake_roots_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_frames_slots_and_registers),
        cmocka_unit_test(follows_callback_links_upwards_only),
        cmocka_unit_test(a_missing_descriptor_cuts_the_stack_and_is_said),
        cmocka_unit_test(an_interrupted_frame_is_conservative),
        cmocka_unit_test(c_locals_name_the_frame_that_called),
        cmocka_unit_test(great_depth_is_linear_and_has_few_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
