/* links: hs_python hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
/* A made-up Python process, sound and then damaged: of an unknown or a lying version, in the middle
 * of what changes a structure, with objects that lie. What is told of it stays true, and all walks
 * end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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
    (void)state;
    of_version(11);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
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
    (void)state;
    for (unsigned minor = 9; minor <= 13; minor++) {
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
        if (minor < 11)
            continue;
        const struct hs_root_leaf *local = fake_python_root(fake, "run() local rows");
        assert_true(minor >= 13 ||
                    fake_python_has_member(fake, "attributes of __main__.App", "left"));
        assert_true(minor < 13 || fake_python_has_member(fake, "__main__.App", "left"));
        assert_true(fake_python_has_member(fake, "generator run()", "rows"));
        assert_non_null(local);
        assert_int_equal(local->root.line, 11);
        assert_false(fake_python_says(fake, "more names"));
    }
}

static void versions_that_are_not_known_are_refused(void **state)
{
    (void)state;
    (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.40");
    is_refused("python 3.40: a version whose objects are not known");
    (void)snprintf(fake->path, sizeof fake->path, "/bin/app");
    is_refused("does not say which");
    (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.99999999999999999999");
    is_refused("not known");
}

/* The structures of each version under the name of each other. */
static void versions_that_lie_are_refused(void **state)
{
    (void)state;
    for (unsigned is = 9; is <= 13; is++)
        for (unsigned says = 9; says <= 13; says++) {
            if (is == says || (is < 11 && says < 11)) /* these two begin alike */
                continue;
            of_version(is);
            (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.%u", says);
            walk();
            assert_null(hs_runtime_python.objects(fake->state));
            assert_true(fake_python_says(fake, "not built as that version is") ||
                        fake_python_says(fake, "no interpreter runs"));
        }
}

/* Before it has begun and after it has ended, there are pointers to nothing yet, or no more. */
static void beginnings_and_ends_have_no_names(void **state)
{
    (void)state;
    const struct py_layout *layout = fake->layout;

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
    (void)state;
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
    (void)state;
    const struct py_layout *layout = fake->layout;

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

/* In the middle of a change of its table, a dictionary's has no entries yet, or no end; or the
 * table is the old one, which is freed. */
static void tables_in_the_middle_of_a_change(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
    enum { AT_BASIC = 32, AT_ITEM = 40, AT_KIND = 168, AT_PARENT = 256 };
    static const uint64_t sizes[] = {0, 8, 17, 1 << 20, UINT64_C(1) << 60, UINT64_MAX};

    for (unsigned minor = 9; minor <= 13; minor++)
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

/* Lists, sets, deques and locals that claim more than there is. */
static void objects_that_claim_more(void **state)
{
    (void)state;
    const struct py_layout *layout = fake->layout;

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(sound_ones_have_their_names),
        TEST(versions_that_are_not_known_are_refused),
        TEST(versions_that_lie_are_refused),
        TEST(beginnings_and_ends_have_no_names),
        TEST(the_one_that_runs_is_read),
        TEST(circles_of_frames_end),
        TEST(tables_in_the_middle_of_a_change),
        TEST(keys_that_are_no_names),
        TEST(texts_that_claim_more),
        TEST(tables_that_claim_more),
        TEST(types_that_lie),
        TEST(objects_that_claim_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
