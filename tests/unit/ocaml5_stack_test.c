/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Stacks of OCaml 5: frames, chunks, fibers and parents, C locals, suspended stacks, and damage. */
#include "unit.h"

#include "fake_roots.h"
#include "ocaml/v5/ocaml5.h"

#define DEEP_RETURN (FAKE_TEXT_AT + 0x4) /* in camlM__deep_7 */
#define TOP_RETURN (FAKE_TEXT_AT + 0x14) /* in camlM__top_8 */
#define LINK_RETURN (FAKE_TEXT_AT + 0x24)

enum {
    TABLE = FAKE_FREE,
    STACK = 0,        /* words of `memory`: the stack_info of the thread's stack */
    END = 100,        /* its handler record */
    PARENT = 200,     /* another stack */
    PARENT_END = 300, /* and its handler record */
    FIRST = 60,       /* the first frame's sp */
};

struct world {
    struct fake_roots *fake;
    struct hs_ocaml5 five;
    struct hs_ocaml5_domain domain;
    hs_addr block;
};

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
    put_u16(t, 16, 32);
    put_u16(t, 18, 2);
    put_u16(t, 20, 8);
    put_u16(t, 22, 1 << 1 | 1);
    t[3] = TOP_RETURN;
    put_u16(t, 32, 16);
    put_u16(t, 34, 1);
    put_u16(t, 36, 0);
    t[5] = LINK_RETURN;
    put_u16(t, 48, HS_FRAME_LINK);
    put_u16(t, 50, 0);
}

static void put_stack(struct world *w, size_t at, size_t end, size_t sp)
{
    uint64_t *m = w->fake->memory;
    m[at] = fake_memory_at(sp);
    m[at + 2] = fake_memory_at(end);
    m[end] = m[end + 1] = m[end + 2] = 1; /* unit: a thread's first stack */
    m[end + 3] = 0;
}

/* deep, top, and the link at the end of the stack: sp, sp + 4, sp + 6 words. */
static void put_frames(struct world *w, size_t sp)
{
    uint64_t *m = w->fake->memory;
    m[sp - 1] = DEEP_RETURN;
    m[sp + 1] = w->block;
    m[sp + 3] = TOP_RETURN;
    m[sp + 4] = w->block;
    m[sp + 5] = LINK_RETURN;
}

static void world_init(struct world *w)
{
    *w = (struct world){.fake = fake_roots_new()};
    w->five.domains = &w->domain;
    w->five.n_domains = 1;
    w->five.orphans = fake_data_at(FAKE_FREE + 40); /* two words of 0 */
    w->block = fake_block(w->fake->heap, 0, 2, NULL);
    put_table(w->fake);
    put_stack(w, STACK, END, FIRST - 1);
    put_frames(w, FIRST);
    put_frames(w, END - 10);
    w->fake->memory[FIRST + 10] = DEEP_RETURN; /* the second chunk, after a link's 4 words */
    struct hs_ocaml_thread *t = fake_thread(w->fake);
    t->stack = fake_memory_at(STACK);
    t->sp = fake_memory_at(FIRST);
    t->pc = DEEP_RETURN;
    t->gc_regs = fake_stack_at(1000);
    w->fake->stack[1001] = w->block; /* rbx */
}

/* One chunk only: the frames end where the stack does. */
static void world_short(struct world *w)
{
    world_init(w);
    struct hs_ocaml_thread *t = fake_thread(w->fake);
    t->sp = fake_memory_at(END - 10);
    w->fake->memory[STACK] = fake_memory_at(END - 11);
    w->fake->memory[END - 11] = DEEP_RETURN;
}

static void collect(struct world *w)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_roots_seal(w->fake);
    w->fake->heap->rt.five = &w->five;
    assert_int_equal(
        hs_ocaml_collect_roots(&w->fake->heap->rt, &w->fake->map, &w->fake->roots, &err), HS_OK);
}

static void world_fini(struct world *w)
{
    w->fake->heap->rt.five = NULL;
    fake_roots_free(w->fake);
}

static const char *name_of(const struct world *w, enum hs_root_kind kind, size_t n)
{
    const struct hs_root_leaf *leaf = fake_leaf(w->fake, kind, n);
    return leaf == NULL ? "" : fake_text(w->fake, leaf->root.name);
}

static void walks_a_stack_to_its_end(void **state)
{
    struct world w;
    world_short(&w);
    collect(&w);
    assert_int_equal(fake_n_leaves(w.fake, HS_ROOT_STACK), 3);
    assert_string_equal(name_of(&w, HS_ROOT_STACK, 0), "M.deep slot sp+8");
    assert_string_equal(name_of(&w, HS_ROOT_STACK, 1), "M.deep register rbx");
    assert_string_equal(name_of(&w, HS_ROOT_STACK, 2), "M.top slot sp+0");
    assert_null(fake_note(w.fake->heap, "is cut"));
    world_fini(&w);
}

/* A callback: the link's gc_regs serve the next chunk, C locals lie below the link's place. */
static void walks_chunks_with_their_registers_and_locals(void **state)
{
    struct world w;
    world_init(&w);
    uint64_t *m = w.fake->memory;
    size_t link = FIRST + 6; /* words: handler, handler, C stack, gc_regs */
    m[link + 2] = fake_stack_at(500);
    m[link + 3] = fake_stack_at(2000);
    m[link + 4] = DEEP_RETURN;
    memmove(&m[link + 5], &m[FIRST], 6 * sizeof *m);
    put_stack(&w, STACK, link + 5 + 6 + 4, FIRST - 1);
    m[link + 5 + 6 + 2] = fake_stack_at(900);
    w.fake->stack[2001] = w.block;
    /* C locals: below 500 of the first chunk, below 900 of the second. */
    struct hs_ocaml_thread *t = fake_thread(w.fake);
    t->local_roots = fake_stack_at(400);
    uint64_t *s = w.fake->stack;
    const uint64_t first[] = {fake_stack_at(800), 1, 1, fake_stack_at(410)};
    const uint64_t second[] = {0, 1, 1, fake_stack_at(810)};
    memcpy(&s[400], first, sizeof first);
    memcpy(&s[800], second, sizeof second);
    s[410] = s[810] = w.block;
    collect(&w);
    assert_int_equal(fake_n_leaves(w.fake, HS_ROOT_STACK), 6);
    assert_true(fake_leaf(w.fake, HS_ROOT_STACK, 1)->root.address == fake_stack_at(1001));
    assert_true(fake_leaf(w.fake, HS_ROOT_STACK, 4)->root.address == fake_stack_at(2001));
    assert_int_equal(fake_n_leaves(w.fake, HS_ROOT_LOCAL), 2);
    assert_int_equal(fake_leaf(w.fake, HS_ROOT_LOCAL, 0)->root.frame, 1);
    assert_int_equal(fake_leaf(w.fake, HS_ROOT_LOCAL, 1)->root.frame, 3);
    assert_null(fake_note(w.fake->heap, "is cut"));
    world_fini(&w);
}

static void walks_parents_and_handlers(void **state)
{
    struct world w;
    world_short(&w);
    uint64_t *m = w.fake->memory;
    m[END] = m[END + 1] = m[END + 2] = w.block;
    m[END + 3] = fake_memory_at(PARENT);
    put_stack(&w, PARENT, PARENT_END, PARENT_END - 11);
    put_frames(&w, PARENT_END - 10);
    collect(&w);
    assert_int_equal(fake_n_leaves(w.fake, HS_ROOT_STACK), 3 + 3 + 3);
    assert_string_equal(name_of(&w, HS_ROOT_STACK, 3), "handler's value function");
    assert_string_equal(name_of(&w, HS_ROOT_STACK, 5), "handler's effect function");
    assert_int_equal(fake_leaf(w.fake, HS_ROOT_STACK, 6)->root.frame, 3);
    world_fini(&w);
}

static void a_stack_without_frames_has_none(void **state)
{
    struct world w;
    world_short(&w);
    fake_thread(w.fake)->sp = 0;
    collect(&w);
    assert_int_equal(fake_n_leaves(w.fake, HS_ROOT_STACK), 0);
    assert_null(fake_note(w.fake->heap, "is cut"));
    world_fini(&w);
}

static void damage_ends_the_walk_and_is_said(void **state)
{
    for (unsigned damage = 0; damage < 8; damage++) {
        struct world w;
        world_short(&w);
        uint64_t *m = w.fake->memory;
        struct hs_ocaml_thread *t = fake_thread(w.fake);
        const char *note = "is cut";
        switch (damage) {
        case 0:
            m[STACK + 2] = 3;
            break; /* its end */
        case 1:
            m[STACK + 2] = fake_memory_at(STACK);
            break; /* before its begin */
        case 2:
            t->stack = 0x1000;
            break; /* not readable */
        case 3:
            t->sp = fake_stack_at(5);
            break; /* of another stack */
        case 4:
            m[END - 7] = 0x77;
            break; /* no return address */
        case 5:
            m[END - 7] = LINK_RETURN;
            break; /* a link before the end */
        case 6:
            put_u16(w.fake->data + TABLE, 16, 0x7FF0);
            break; /* a frame beyond the end */
        default:
            m[END + 3] = fake_memory_at(STACK); /* its own parent */
            note = "are damaged";
            break;
        }
        collect(&w);
        assert_non_null(fake_note(w.fake->heap, note));
        assert_true(fake_n_leaves(w.fake, HS_ROOT_STACK) <= 12);
        world_fini(&w);
    }
}

struct seen {
    uint64_t values[16];
    hs_addr places[16];
    size_t n;
};

static void see(void *context, uint64_t value, hs_addr pc)
{
    struct seen *seen = context;
    if (seen->n < sizeof seen->values / sizeof *seen->values) {
        seen->values[seen->n] = value;
        seen->places[seen->n] = pc;
    }
    seen->n++;
}

static void tells_the_slots_of_a_suspended_stack(void **state)
{
    struct world w;
    struct seen seen = {0};
    world_short(&w);
    put_u16(&w.fake->data[TABLE], 18, 1); /* no register: nothing was saved */
    w.fake->memory[END + 2] = w.block;
    collect(&w);
    assert_true(hs_ocaml5_stack_slots(&w.fake->heap->rt, w.fake->roots.frames,
                                      fake_memory_at(STACK), see, &seen));
    const uint64_t expected[] = {w.block, w.block, 1, 1, w.block};
    assert_int_equal(seen.n, 5);
    assert_memory_equal(seen.values, expected, sizeof expected);
    for (size_t i = 0; i < 5; i++) /* the handler's values are of no frame */
        assert_int_equal(seen.places[i] != 0, i < 2);
    assert_non_null(hs_frame_table_find(w.fake->roots.frames, seen.places[0]));
    world_fini(&w);
}

static void a_damaged_suspended_stack_is_no_harm(void **state)
{
    for (unsigned damage = 0; damage < 6; damage++) {
        struct world w;
        struct seen seen = {0};
        world_short(&w);
        uint64_t *m = w.fake->memory;
        hs_addr stack = fake_memory_at(STACK);
        switch (damage) {
        case 0:
            m[STACK] = fake_memory_at(END + 1);
            break;
        case 1:
            m[STACK] |= 4;
            break;
        case 2:
            m[STACK + 2] = UINT64_MAX - 7;
            break;
        case 3:
            m[END - 7] = 0x77;
            break;
        case 4:
            stack = 0x1000;
            break;
        default:
            break; /* a register's slot */
        }
        collect(&w);
        assert_false(
            hs_ocaml5_stack_slots(&w.fake->heap->rt, w.fake->roots.frames, stack, see, &seen));
        assert_true(seen.n <= 8);
        world_fini(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_a_stack_to_its_end),
        cmocka_unit_test(walks_chunks_with_their_registers_and_locals),
        cmocka_unit_test(walks_parents_and_handlers),
        cmocka_unit_test(a_stack_without_frames_has_none),
        cmocka_unit_test(damage_ends_the_walk_and_is_said),
        cmocka_unit_test(tells_the_slots_of_a_suspended_stack),
        cmocka_unit_test(a_damaged_suspended_stack_is_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
