/* links: hs_python hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
/* A made-up Python process, sound and then damaged: of an unknown or a lying version, in the middle
 * of what changes a structure, with objects that lie. What is told of it stays true, and all walks
 * end. */
#include "unit.h"

#include "fake_python.h"

static struct fake_python *fake;
static struct hs_error err;

static void of_version(unsigned minor)
{
    if (fake != NULL)
        fake_python_free(fake);
    fake = fake_python_new(minor);
}

static int set_up(void **state)
{
    of_version(11);
    return 0;
}

static int tear_down(void **state)
{
    fake_python_free(fake);
    fake = NULL;
    return 0;
}

static uint64_t *word(hs_addr at)
{
    return fake_python_word(fake, at);
}

static size_t n_roots(void)
{
    return hs_runtime_python.leaves(fake->state)->n_leaves;
}

static void walk(void)
{
    assert_int_equal(fake_python_walk(fake, &err), HS_OK);
}

static bool has_root(const char *name)
{
    return fake_python_root(fake, name) != NULL;
}

/* Nothing is believed, and a note says why. */
static void is_refused(const char *why)
{
    walk();
    assert_null(hs_runtime_python.objects(fake->state));
    assert_int_equal(n_roots(), 0);
    assert_true(fake_python_says(fake, why));
    assert_true(fake_python_says(fake, "read as memory of C"));
}

static void sound_ones_have_their_names(void **state)
{
    for (unsigned minor = 9; minor <= 14; minor++) {
        of_version(minor);
        walk();
        assert_non_null(hs_runtime_python.objects(fake->state));
        assert_true(has_root("__main__.App"));
        assert_true(has_root("__main__.App.entries"));
        assert_true(has_root("__main__.App.run"));
        assert_true(has_root("__main__.rows"));
        assert_true(has_root("sys.__dict__"));
        assert_true(fake_python_has_member(fake, "attributes of class __main__.App", "entries"));
        assert_true(fake_python_has_member(fake, "attributes of module __main__", "rows"));
        assert_true(fake_python_has_member(fake, "list", "(items)"));
        const struct hs_root_leaf *local = fake_python_root(fake, "run() local rows");
        assert_non_null(local);
        assert_int_equal(local->root.line, 11);
        assert_true(has_root("__main__.tls.mine"));
        assert_true(has_root("context variable request"));
        assert_true(has_root("codecs error handlers"));
        assert_true(minor == 9 || has_root("atexit[0] args"));
        assert_false(fake_python_says(fake, "more names"));
        if (minor < 11)
            continue;
        assert_true(minor >= 13 ||
                    fake_python_has_member(fake, "attributes of __main__.App", "left"));
        assert_true(minor < 13 || fake_python_has_member(fake, "__main__.App", "left"));
        assert_true(fake_python_has_member(fake, "generator run()", "rows"));
    }
}

static void versions_that_are_not_known_are_refused(void **state)
{
    (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.40");
    is_refused("python 3.40: a version whose objects are not known");
    (void)snprintf(fake->path, sizeof fake->path, "/bin/app");
    *word(fake->hexversion + 24) = 0x03280000;
    is_refused("does not say which, and none fits");
    (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.99999999999999999999");
    is_refused("not known");
}

/* The structures of each version under the name of each other. */
static void versions_that_lie_are_refused(void **state)
{
    for (unsigned is = 9; is <= 14; is++)
        for (unsigned says = 9; says <= 14; says++) {
            if (is == says)
                continue;
            of_version(is);
            (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.%u", says);
            walk();
            assert_null(hs_runtime_python.objects(fake->state));
            assert_true(fake_python_says(fake, "not built as that version is") ||
                        fake_python_says(fake, "no interpreter runs"));
        }
}

/* Where nothing says which version it is, each is tried; what its module sys says decides. */
static void versions_that_do_not_say_are_found(void **state)
{
    for (unsigned minor = 9; minor <= 14; minor++) {
        of_version(minor);
        (void)snprintf(fake->path, sizeof fake->path, "/bin/app");
        walk();
        assert_true(has_root("run() local rows"));
        *word(fake->hexversion + 24) = 0x03280000;
        (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.%u", minor);
        is_refused("its sys.hexversion is of another");
    }
}

/* Moves sys.modules in the interpreter's state, as a patch release may that says so; and back. What
 * the process does not say then has no names. */
static void move_modules(unsigned minor)
{
    const struct hs_python_layout *layout = fake->layout;
    hs_addr said = fake->runtime + (minor == 13 ? 11 : 12) * (hs_addr)PY_WORD;
    hs_addr at = *word(fake->runtime + layout->runtime_interpreters) + layout->interp_modules;
    uint64_t modules = *word(at), other = *word(at + 8);

    *word(at + 8) = modules;
    *word(at) = 0;
    is_refused("it has no modules");
    *word(said) += 8;
    walk();
    assert_true(has_root("run() local rows"));
    const struct py_state *read = fake->state;
    assert_true(read->interpreter.is_told);
    assert_int_equal(read->view.layout->interp_codecs, PY_NONE);
    assert_true(fake_python_says(fake, "is read as it says itself"));
    *word(at) = modules;
    *word(at + 8) = other;
    *word(said) -= 8;
}

/* What 3.13 and 3.14 tell debuggers: their version, and where things are; or that there is no lock.
 */
static void hear_debug_offsets(unsigned minor)
{
    of_version(minor);
    const struct hs_python_layout *layout = fake->layout;
    const uint64_t version = (UINT64_C(0x300) | minor) << 16 | 0xf0;
    const struct {
        unsigned in_13, in_14;
        uint64_t value;
    } all[] = {
        {1, 1, version},
        {5, 5, layout->runtime_interpreters},
        {7, 7, layout->interp_id},
        {8, 8, layout->interp_next},
        {9, 9, layout->interp_threads},
        {11, 12, layout->interp_modules},
        {21, 24, layout->thread_next},
        {22, 25, layout->thread_interp},
        {23, 26, layout->thread_frame},
        {25, 28, layout->thread_native_id},
        {29, 32, layout->frame_previous},
        {30, 33, layout->frame_code},
        {31, 34, layout->frame_instr},
        {32, 35, layout->frame_localsplus},
        {33, 36, layout->frame_owner},
        {0, 37, layout->frame_stacktop},
        {35, 40, layout->code_file},
        {37, 42, layout->code_qualname},
        {38, 43, layout->code_lines},
        {39, 44, layout->code_first_line},
        {41, 46, layout->code_local_names},
        {43, 48, layout->code_bytes},
        {0, 80, layout->str_ascii},
        {0, 85, layout->gen_frame},
        {0, 86, layout->gen_state},
    };
    unsigned places[sizeof all / sizeof *all], n = 0;

    memcpy(word(fake->runtime), "xdebugpy", 8);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned at = minor == 13 ? all[i].in_13 : all[i].in_14;
        if (at == 0)
            continue;
        *word(fake->runtime + at * (hs_addr)PY_WORD) = all[i].value;
        places[n++] = at;
    }
    (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.9"); /* which lies */
    walk();
    assert_true(has_root("run() local rows"));
    *word(fake->runtime + 16) = 1;
    is_refused("built without the lock");
    *word(fake->runtime + 16) = 0;
    move_modules(minor);
    for (unsigned i = 6; i < n; i++) { /* behind those of the interpreter's state */
        *word(fake->runtime + places[i] * (hs_addr)PY_WORD) += 8;
        is_refused("its debug offsets are others");
        *word(fake->runtime + places[i] * (hs_addr)PY_WORD) -= 8;
    }
    *word(fake->runtime + 8) = 0x03ff00f0;
    is_refused("python 3.255: a version whose objects are not known");
    *word(fake->runtime + 16) = 1;
    is_refused("python 3.255: built without the lock");
}

static void debug_offsets_are_heard(void **state)
{
    hear_debug_offsets(13);
    hear_debug_offsets(14);
}

/* 3.14: a word of a frame may be a number, or have a bit that is no part of the address; the end of
 * a stack may be anywhere. */
static void references_have_tags(void **state)
{
    of_version(14);
    hs_addr slot = fake->frame + fake->layout->frame_localsplus;
    hs_addr top = fake->frame + fake->layout->frame_stacktop;
    uint64_t rows = *word(slot);

    assert_int_equal(rows & 3, 1);
    walk();
    const struct hs_root_leaf *local = fake_python_root(fake, "run() local rows");
    assert_non_null(local);
    assert_int_equal(local->target, (rows & ~UINT64_C(3)) - 16);
    *word(slot) = rows & ~UINT64_C(3);
    walk();
    assert_true(has_root("run() local rows"));
    *word(slot) |= 3;
    walk();
    assert_false(has_root("run() local rows"));
    *word(slot) = 1;
    walk();
    assert_false(has_root("run() local rows"));
    *word(slot) = rows;
    for (unsigned shift = 0; shift < 64; shift++) {
        *word(top) = UINT64_C(1) << shift;
        walk();
        assert_true(has_root("run() local rows"));
    }
}

static void pypy_is_named(void **state)
{
    fake->object.path = "/usr/lib/libpypy3.9-c.so";
    is_refused("pypy: a Python whose heap is not known");
}

/* The newest interpreter stands first, and may not be whole; each has names of its own. */
static void interpreters_are_told_apart(void **state)
{
    for (unsigned minor = 9; minor <= 14; minor++) {
        of_version(minor);
        const struct hs_python_layout *layout = fake->layout;
        hs_addr head = fake->runtime + layout->runtime_interpreters, second = fake->second;
        *word(head) = second;
        *word(head + 8) = fake->interpreter;
        *word(second + layout->interp_next) = fake->interpreter;
        *word(second + layout->interp_id) = 7;
        walk();
        assert_true(has_root("__main__.rows"));
        assert_false(has_root("interpreter 7: __main__.__self__"));
        *word(second + layout->interp_modules) = fake->other_modules;
        walk();
        assert_true(has_root("__main__.rows"));
        assert_true(has_root("interpreter 7: other.kept"));
        *word(second + layout->interp_next) = second; /* in a circle */
        walk();
        assert_true(has_root("__main__.rows"));
    }
}

/* Before it has begun and after it has ended, there are pointers to nothing yet, or no more. */
static void beginnings_and_ends_have_no_names(void **state)
{
    const struct hs_python_layout *layout = fake->layout;

    *word(fake->runtime + layout->runtime_interpreters) = 0;
    is_refused("no interpreter runs");
    *word(fake->runtime + layout->runtime_interpreters) = fake->interpreter;
    *word(fake->interpreter + layout->interp_modules) = 0;
    is_refused("it has no modules");
    *word(fake->interpreter + layout->interp_modules) = fake->modules;
    *word(fake->modules + 32) = 0; /* its table was freed */
    is_refused("sys.modules is not where it should be");
}

/* A second library that does not run, first and second; one that runs. */
static void the_one_that_runs_is_read(void **state)
{
    struct fake_python *second = fake_python_new(11);
    struct hs_object both[2] = {second->object, fake->object};

    both[0].bias += 0x1000000000; /* where nothing is */
    fake->dump.objects = (struct hs_objects){.objects = both, .n = 2, .capacity = 2};
    walk();
    assert_true(has_root("__main__.rows"));
    assert_false(fake_python_says(fake, "more interpreters"));

    both[0] = fake->object;
    both[1].bias += 0x100000000;
    uint64_t *copy = fake->data;
    assert_int_equal(hs_image_add(&fake->dump.image, FAKE_PYTHON_DATA + 0x100000000, copy,
                                  sizeof fake->data, &err),
                     HS_OK);
    walk();
    assert_true(has_root("__main__.rows"));
    assert_true(fake_python_says(fake, "1 more interpreters in the process"));
    fake_python_free(second);
}

/* A frame that was before leads to one that comes after, the first and any other. */
static void circles_of_frames_end(void **state)
{
    const struct hs_python_layout *layout = fake->layout;

    walk();
    size_t n = n_roots();
    *word(fake->outer_frame + layout->frame_previous) = fake->frame;
    walk();
    assert_in_range(n_roots(), n, 3 * n);
    assert_false(fake_python_says(fake, "more names"));
    *word(fake->outer_frame + layout->frame_previous) = fake->outer_frame;
    walk();
    assert_in_range(n_roots(), n, 3 * n);
    *word(fake->thread + layout->thread_next) = fake->thread;
    *word(fake->interpreter + layout->interp_next) = fake->interpreter;
    walk();
    assert_in_range(n_roots(), n, 64 * 6 * n);
    assert_true(has_root("run() local rows"));
}

/* What waits for itself, for nothing that is there, or has a stack without an end. */
static void tasks_that_wait(void **state)
{
    enum { PLACES = 2 };

    for (unsigned minor = 9; minor <= 14; minor++) {
        of_version(minor);
        const struct hs_python_layout *layout = fake->layout;
        hs_addr places = layout->frame_localsplus;
        hs_addr top = fake->awaited_frame + places + PLACES * (hs_addr)PY_WORD;
        hs_addr height = fake->waiting_frame + (minor >= 11   ? layout->frame_stacktop
                                                : minor == 10 ? 80
                                                              : 72);
        walk();
        size_t n = n_roots();
        assert_true(has_root("task run() local rows"));
        assert_true(has_root("task run() await run() local rows"));
        *word(top) = fake->waiting;
        walk();
        assert_int_equal(n_roots(), n); /* its variables have their names */
        *word(fake->awaited_frame + places) = 1;
        walk();
        assert_int_equal(n_roots(), n - 1);
        assert_true(has_root("task run() local rows"));
        *word(height & ~UINT64_C(7)) = UINT64_C(0x7fffffff7fffffff);
        walk();
        assert_true(has_root("task run() local rows"));
        assert_false(has_root("task run() await run() local rows"));
        *word(fake->waiting_frame + layout->frame_code) = fake->instance;
        walk();
        assert_false(has_root("task run() local rows"));
        assert_true(has_root("__main__.rows"));
    }
}

static bool has_greenlet(bool *ret_has_inner)
{
    walk();
    *ret_has_inner = has_root("greenlet run() call run() local rows");
    assert_false(has_root("greenlet run() ... call run() local rows"));
    return has_root("greenlet run() local rows");
}

/* Stacks that are none, whose chunks are a circle, whose frames are of any size; one that runs. */
static void greenlets_that_wait(void **state)
{
    enum { OBJECT = 40, INNERMOST = 56, CHUNK = 64, TOP = 72, LIMIT = 80 };
    bool has_inner;

    for (unsigned minor = 11; minor <= 14; minor++) {
        of_version(minor);
        uint64_t *said = word(fake->greenlet_state);
        assert_true(has_greenlet(&has_inner) && has_inner);
        uint64_t top = said[TOP / PY_WORD], innermost = said[INNERMOST / PY_WORD];
        said[INNERMOST / PY_WORD] = fake->chunk + 32; /* of another frame than its object */
        assert_false(has_greenlet(&has_inner));
        *word(fake->top_frame + 24) = fake->chunk + 32; /* what is above it has returned */
        assert_true(has_greenlet(&has_inner) && !has_inner);
        said[INNERMOST / PY_WORD] = *word(fake->top_frame + 24) = innermost;
        said[OBJECT / PY_WORD] = 0; /* it runs */
        assert_false(has_greenlet(&has_inner));
        said[OBJECT / PY_WORD] = fake->top_frame;
        said[TOP / PY_WORD] = said[LIMIT / PY_WORD] + PY_WORD;
        assert_false(has_greenlet(&has_inner));
        said[TOP / PY_WORD] = fake->chunk + 40; /* in the middle of the first */
        assert_false(has_greenlet(&has_inner));
        said[TOP / PY_WORD] = top - PY_WORD; /* and of the second */
        assert_true(has_greenlet(&has_inner) && !has_inner);
        said[TOP / PY_WORD] = top;
        *word(fake->chunk) = fake->chunk;
        assert_false(has_greenlet(&has_inner));
        *word(fake->chunk) = fake->heap[0];
        (void)has_greenlet(&has_inner);
        *word(fake->chunk) = 0;
        hs_addr code =
            hs_python_untagged(fake->layout, *word(fake->chunk + 32 + fake->layout->frame_code));
        uint64_t *size = word((code + fake->layout->code_n_locals - 8) & ~UINT64_C(7));
        uint64_t sound = *size;
        *size |= UINT64_C(0x7fffffff7fffffff);
        assert_false(has_greenlet(&has_inner));
        *size = sound;
        assert_true(has_greenlet(&has_inner) && has_inner);
        *word(fake->chunk + 8) += PY_WORD;
        assert_false(has_greenlet(&has_inner));
    }
}

/* In the middle of a change of its table, a dictionary's has no entries yet, or no end; or the
 * table is the old one, which is freed. */
static void tables_in_the_middle_of_a_change(void **state)
{
    hs_addr table = *word(fake->main_dict + 32);

    *word(table + 24) = 0;
    walk();
    assert_true(has_root("__main__.__dict__"));
    assert_false(has_root("__main__.rows"));
    *word(table + 24) = 8; /* no keys in the last */
    walk();
    assert_true(has_root("__main__.rows"));
    *word(fake->main_dict + 32) = 0;
    walk();
    assert_true(has_root("__main__.__dict__"));
    *word(fake->main_dict + 32) = FAKE_PYTHON_HEAP + sizeof fake->heap - 8;
    walk();
    assert_false(has_root("__main__.rows"));
}

/* Keys that are no text, or no names. */
static void keys_that_are_no_names(void **state)
{
    hs_addr table = *word(fake->main_dict + 32), key = *word(table + 40);
    static const char *const bad[] = {"r\033ws", "r\nws", "\xe2\x80\xae", "r ws", ""};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy((char *)word(key + 48), bad[i], strlen(bad[i]) + 1);
        *word(key + 16) = strlen(bad[i]);
        walk();
        assert_true(has_root("__main__[...]"));
        assert_false(has_root("__main__.rows"));
    }
    *word(table + 40) = fake->rows; /* a list */
    walk();
    assert_true(has_root("__main__[...]"));
    *word(table + 40) = 1; /* no object */
    walk();
    assert_true(has_root("__main__[...]"));
}

static void texts_that_claim_more(void **state)
{
    hs_addr table = *word(fake->main_dict + 32), key = *word(table + 40);
    static const uint64_t claims[] = {UINT64_C(1) << 60, UINT64_MAX, INT64_MAX, 4096};

    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        *word(key + 16) = claims[i];
        walk();
        assert_true(has_root("__main__[...]"));
        assert_true(has_root("__main__.App"));
    }
}

/* sys.modules claims a million, and half as many as memory has bytes. */
static void tables_that_claim_more(void **state)
{
    hs_addr table = *word(fake->modules + 32);

    *word(table + 8) = 20 | 22 << 8 | 1 << 16;
    *word(table + 24) = 1000000;
    is_refused("sys.modules is not where it should be"); /* its entries are behind its indices */
    *word(table + 8) = 40 | 40 << 8 | 1 << 16;
    *word(table + 24) = UINT64_C(1) << 40;
    is_refused("sys.modules is not where it should be");
    *word(table + 8) = 20 | 3 << 8 | 1 << 16; /* indices of less than a byte */
    is_refused("sys.modules is not where it should be");
}

static void types_that_lie(void **state)
{
    enum { AT_BASIC = 32, AT_ITEM = 40, AT_KIND = 168, AT_PARENT = 256 };
    static const uint64_t sizes[] = {0, 8, 17, 1 << 20, UINT64_C(1) << 60, UINT64_MAX};

    for (unsigned minor = 9; minor <= 14; minor++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            of_version(minor);
            *word(fake->class + AT_BASIC) = sizes[i];
            *word(fake->class + AT_PARENT) = fake->class; /* derived from itself */
            walk();
            *word(fake->class + AT_ITEM) = sizes[i];
            *word(fake->class + AT_KIND) = UINT64_MAX;
            walk();
            *word(fake->class + AT_PARENT) = FAKE_PYTHON_DATA; /* from "type" */
            walk();
            *word(fake->class + 8) = fake->class; /* its own type */
            walk();
            assert_true(has_root("__main__.rows"));
        }
}

/* Does item `number` of the first block of the deque belong to it? */
static bool deque_has(unsigned number)
{
    struct hs_object_words words;
    struct hs_heap_block block;

    assert_int_equal(hs_heap_map_resolve(&fake->dump.heaps.map, *word(fake->queue + 24), &block),
                     HS_POINTER_START);
    return hs_runtime_python.objects(fake->state)->words(fake->state, &block, &words) &&
           words.is_part && hs_object_owns(&words, number + 1);
}

/* Before its first item stands what the memory was before: a bytes object, in all these versions.
 * It is none while the deque has as many items as it says. */
static void a_deque_knows_its_blocks(void **state)
{
    for (unsigned minor = 9; minor <= 14; minor++) {
        of_version(minor);
        walk();
        assert_true(!deque_has(30) && deque_has(31) && deque_has(32) && !deque_has(33));
        fake_python_forget(fake);
        *word(fake->queue + 16) = 3;
        walk();
        assert_false(deque_has(31));
    }
}

/* Lists, sets, deques and locals that claim more than there is. */
static void objects_that_claim_more(void **state)
{
    const struct hs_python_layout *layout = fake->layout;

    for (int shift = 3; shift < 64; shift += 10) {
        hs_addr code = *word(fake->frame + layout->frame_code);
        *word(fake->rows + 16) = UINT64_C(1) << shift;
        *word(fake->queue + 48) = UINT64_C(1) << shift;
        *word(code + 76) = UINT64_C(1) << (shift % 32); /* how many variables */
        *word(code + 16) = UINT64_C(1) << shift;
        *word(fake->frame + layout->frame_stacktop) |= 0x7fffffff;
        walk();
        assert_true(has_root("__main__.rows"));
    }
}

/* A map that leads into itself, more calls at the end than there are, locals of nobody. */
static void what_threads_keep_ends(void **state)
{
    const struct hs_python_layout *layout = fake->layout;

    *word(fake->context_node + 56) = fake->context_node;
    *word(fake->callbacks + 8) = UINT32_MAX;
    walk();
    assert_true(has_root("context variable request"));
    assert_false(has_root("atexit[0] args"));
    *word(fake->context_node + 16) = UINT64_C(1) << 60;
    *word(fake->callbacks) = FAKE_PYTHON_HEAP + sizeof fake->heap - 8;
    *word(fake->callbacks + 8) = 1 << 16;
    walk();
    assert_true(has_root("__main__.rows"));
    *word(fake->local + 16) = fake->rows;
    *word(fake->thread + layout->thread_dict) = fake->local;
    walk();
    assert_false(has_root("__main__.tls.mine"));
    of_version(14); /* a list of calls, which is none or lies */
    *word(*word(fake->callbacks) + 16) = UINT64_C(1) << 60;
    walk();
    assert_false(has_root("atexit[0] args"));
    *word(fake->callbacks) = fake->instance;
    walk();
    assert_false(has_root("atexit[0] args"));
    for (unsigned minor = 9; minor <= 10; minor++) {
        of_version(minor);
        hs_addr code = *word(fake->frame + fake->layout->frame_code);
        *word(*word(code + fake->layout->code_local_names) + 16) = UINT64_C(1) << 60;
        *word(fake->outer_frame + fake->layout->frame_previous) = fake->frame;
        walk();
        assert_true(has_root("run() local self"));
    }
}

/* A quarter of what is left is for names: where that is none there are no names, and a dump all the
 * same. */
static void names_have_their_share_of_memory(void **state)
{
    struct hs_budget budget = {.limit_bytes = 1000};

    fake->dump.plan.budget = &budget;
    walk();
    assert_int_equal(n_roots(), 0);
    assert_true(fake_python_says(fake, "memory for 0 names"));
    budget.limit_bytes = UINT64_C(1) << 30;
    walk();
    assert_true(has_root("__main__.rows"));
    assert_false(fake_python_says(fake, "memory for"));
    assert_true(fake_python_has_member(fake, "attributes of module __main__", "rows"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(sound_ones_have_their_names),
        TEST(versions_that_are_not_known_are_refused),
        TEST(versions_that_lie_are_refused),
        TEST(versions_that_do_not_say_are_found),
        TEST(debug_offsets_are_heard),
        TEST(references_have_tags),
        TEST(pypy_is_named),
        TEST(interpreters_are_told_apart),
        TEST(beginnings_and_ends_have_no_names),
        TEST(the_one_that_runs_is_read),
        TEST(circles_of_frames_end),
        TEST(tasks_that_wait),
        TEST(greenlets_that_wait),
        TEST(tables_in_the_middle_of_a_change),
        TEST(keys_that_are_no_names),
        TEST(texts_that_claim_more),
        TEST(tables_that_claim_more),
        TEST(types_that_lie),
        TEST(a_deque_knows_its_blocks),
        TEST(objects_that_claim_more),
        TEST(what_threads_keep_ends),
        TEST(names_have_their_share_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
