/* links: hs_analysis */
/* Which frame of a backtrace is shown, and how. */
#include "analysis/site.h"

#include "unit.h"

static struct hs_frame frame(const char *function)
{
    return (struct hs_frame){.function = function, .file = "", .module = ""};
}

static size_t place_of(const char *const *names, size_t n)
{
    struct hs_frame frames[8];
    for (size_t i = 0; i < n; i++)
        frames[i] = frame(names[i]);
    return hs_site_frame_at(frames, n);
}
#define PLACE_OF(...)                            \
    place_of((const char *const[]){__VA_ARGS__}, \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void places(void **state)
{
    assert_int_equal(PLACE_OF("Cache.add", "Main.run"), 0);
    assert_int_equal(PLACE_OF("malloc", "xmalloc", "main"), 2);
    assert_int_equal(PLACE_OF("mallopt", "main"), 0);
    assert_int_equal(PLACE_OF("je_malloc", "zmalloc_usable", "xcalloc", "sdsnew", "main"), 3);
    assert_int_equal(PLACE_OF("Pool::malloc(int)", "main"), 0); /* a method of its own */
    assert_int_equal(PLACE_OF("malloc", "zmalloc"), 1);
    assert_int_equal(PLACE_OF("je_prof_backtrace", "operator new(unsigned long)",
                              "std::vector<int>::push_back(int&&)", "Log::push(int)", "main"),
                     3);
    assert_int_equal(PLACE_OF("Stdlib__Bytes.make", "Stdlib__String.make", "Cache.add"), 2);
    assert_int_equal(PLACE_OF("alloc::raw_vec::finish_grow", "<alloc::vec::Vec<T>>::push", "app"),
                     2);
    assert_int_equal(PLACE_OF("malloc", "Stdlib__List.map"), 1); /* nobody else has a name */
    assert_int_equal(PLACE_OF("malloc", "", "Stdlib__List.map"), 1);
    assert_int_equal(PLACE_OF("malloc", "calloc"), 0);
    assert_int_equal(PLACE_OF("malloc", "+0x1234", "main"), 2); /* an address is no name */
    assert_int_equal(PLACE_OF("malloc", "+0x1234"), 1);
    assert_int_equal(PLACE_OF(""), 0);
}

static size_t place_in(const char *const *names, const char *const *files, size_t n)
{
    struct hs_frame frames[8];
    for (size_t i = 0; i < n; i++)
        frames[i] =
            (struct hs_frame){.function = names[i], .file = files[i], .module = "", .line = 1};
    return hs_site_frame_at(frames, n);
}

static void places_of_scripts(void **state)
{
    static const char *const names[] = {"PyList_New", "array", "decode", "main", "run", "Py_Main"};
    assert_int_equal(
        place_in(names,
                 (const char *const[]){"", "a.c", "/usr/lib/python3.11/json/decoder.py",
                                       "/srv/app.py", "<string>", ""},
                 6),
        3);
    assert_int_equal(place_in(names,
                              (const char *const[]){"", "a.c", "<frozen importlib._bootstrap>",
                                                    "/v/lib/python3.13/site-packages/flask/app.py",
                                                    "/srv/app.py", ""},
                              6),
                     3);
    assert_int_equal(
        place_in(names,
                 (const char *const[]){"", "a.c", "/usr/lib/python3.11/json/decoder.py",
                                       "<frozen runpy>", "", ""},
                 6),
        2);
    assert_int_equal(
        place_in(names,
                 (const char *const[]){"", "a.c", "<stdin>", "<artificial>", "<built-in>", ""}, 6),
        2);
    assert_int_equal(
        place_in(names, (const char *const[]){"", "<artificial>", "a.py.c", ".py", "", ""}, 6), 0);
    assert_int_equal(place_in(names, (const char *const[]){"parser.ml", "<standard.mly>"}, 2), 0);
}

static void check_text(struct hs_frame f, const char *expected)
{
    char text[HS_FRAME_BYTES];
    hs_frame_text(&f, text, sizeof text);
    assert_string_equal(text, expected);
}

static void texts(void **state)
{
    struct hs_frame f = {.function = "Stm.observe", .file = "stm/stm.ml", .module = "", .line = 3};
    check_text(f, "Stm.observe stm/stm.ml:3");
    f.line = 0;
    check_text(f, "Stm.observe stm/stm.ml");
    f.function = "";
    check_text(f, "stm/stm.ml");
    f = (struct hs_frame){
        .function = "", .file = "", .module = "/usr/lib/libc.so.6", .offset = 0x1f2a0};
    check_text(f, "libc.so.6+0x1f2a0");
    f.function = "malloc";
    check_text(f, "malloc");
    f = frame("");
    f.offset = 0x1234;
    check_text(f, "0x1234");
    f.is_damaged = true;
    check_text(f, "?");
    check_text(frame(""), "?");
    char long_name[2000];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    f = (struct hs_frame){
        .function = long_name, .file = long_name, .module = long_name, .line = UINT32_MAX};
    char text[HS_FRAME_BYTES];
    hs_frame_text(&f, text, sizeof text); /* cut, never beyond its room */
    assert_true(strlen(text) < sizeof text && strlen(text) > 200);
}

static void containing(void **state)
{
    struct hs_frame f = {.function = "Stm.observe", .file = "stm/stm.ml", .module = "m", .line = 3};
    assert_true(hs_frame_contains(&f, "observe"));
    assert_true(hs_frame_contains(&f, "stm.ml:3"));
    assert_true(hs_frame_contains(&f, "stm/stm"));
    assert_false(hs_frame_contains(&f, "stm.ml:4"));
    assert_false(hs_frame_contains(&f, "Observe"));
    f.line = 0;
    assert_true(hs_frame_contains(&f, "stm.ml"));
    assert_false(hs_frame_contains(&f, "stm.ml:0"));
    struct hs_frame nothing = frame("");
    assert_false(hs_frame_contains(&nothing, "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(places_of_scripts),
        cmocka_unit_test(texts),
        cmocka_unit_test(containing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
