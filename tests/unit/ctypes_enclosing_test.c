/* links: hs_symbols hs_base */
#include "base/alloc.h"
#include "ctypes_fixture.h"

static void build(struct fixture *f, const char *compiler, const char *level, const char *version)
{
    const char *const command[] = {compiler, level, version, FIXTURE_DIRECTORY "ctypes_members.c"};
    fixture_build(f, command, sizeof(command) / sizeof(command[0]));
    fixture_open(f);
}

/* The names of those that have a struct link at `offset` and a size in [least, most], by ", ". */
static void asked(struct fixture *f, uint64_t offset, uint64_t least, uint64_t most,
                  const char *expected)
{
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    char text[256] = "";
    hs_ctype link = hs_ctypes_find(f->types, f->file, "link");
    size_t n = hs_ctypes_enclosing(f->types, link, offset, least, most, found);
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", i > 0 ? ", " : "",
                 fixture_type_name(f, found[i]));
        assert_true(i == 0 || found[i - 1] < found[i]);
    }
    assert_string_equal(text, expected);
}

/* Is this name among the records of a size? */
static bool has_size(struct fixture *f, uint64_t n_bytes, const char *name)
{
    hs_ctype found[HS_CTYPE_MAX_OF_SIZE];
    size_t n = hs_ctypes_of_size(f->types, f->file, n_bytes, n_bytes, found), n_same = 0;
    for (size_t i = 0; i < n; i++)
        n_same += strcmp(fixture_type_name(f, found[i]), name) == 0;
    assert_true(n_same <= 1);
    return n_same == 1;
}

static void compare(const char *compiler, const char *level, const char *version)
{
    static struct fixture f;
    build(&f, compiler, level, version);
    asked(&f, 8, 56, 56, "struct user");
    asked(&f, 8, 41, 56, "struct user");
    asked(&f, 8, 25, 40, "struct guest, struct visitor");
    asked(&f, 8, 24, 24, "untagged");
    asked(&f, 8, 57, 64, "struct derived");
    asked(&f, 32, 0, 56, "struct user");
    asked(&f, 0, 24, 24, "struct inner");
    asked(&f, 0, 48, 48, "");
    asked(&f, 16, 0, UINT64_MAX, "");
    asked(&f, 8, 41, 55, "");
    assert_true(has_size(&f, 56, "struct user"));
    assert_true(has_size(&f, 24, "untagged")); /* a typedef names it */
    assert_false(has_size(&f, 48, "struct user"));
    assert_int_equal(hs_ctypes_of_size(f.types, f.file + 1, 1, 64, (hs_ctype[32]){0}), 0);
    fixture_close(&f);
    fixture_remove(&f);
}

static void records_that_have_a_member(void **state)
{
    (void)state;
    compare("gcc", "-O0", "-gdwarf-5");
    compare("gcc", "-O2", "-gdwarf-4");
    compare("gcc", "-O0", "-gdwarf-2");
    compare("clang", "-O1", "-gdwarf-5");
    compare("clang", "-O1", "-gdwarf-4");
}

static void records_with_the_same_header(void **state)
{
    (void)state;
    static struct fixture f;
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    build(&f, "gcc", "-O0", "-gdwarf-5");
    hs_ctype header = hs_ctypes_find(f.types, f.file, "header"),
             closure = hs_ctypes_find(f.types, f.file, "closure"),
             other = hs_ctypes_find(f.types, f.file, "other"),
             link = hs_ctypes_find(f.types, f.file, "link");
    assert_int_equal(hs_ctypes_enclosing(f.types, header, 0, 9, 24, found), 2);
    assert_int_equal(hs_ctypes_enclosing(f.types, header, 0, 17, 24, found), 1);
    assert_int_equal(found[0], closure);
    assert_int_equal(hs_ctypes_open_heirs(f.types, header, UINT64_MAX, found), 1);
    assert_int_equal(found[0], hs_ctypes_find(f.types, f.file, "text"));
    assert_int_equal(hs_ctypes_open_heirs(f.types, header, 15, found), 0);
    assert_int_equal(hs_ctypes_open_heirs(f.types, link, UINT64_MAX, found), 0);
    assert_int_equal(hs_ctypes_open_heirs(f.types, 0, UINT64_MAX, found), 0);
    assert_true(hs_ctypes_is_header(f.types, header));
    assert_false(hs_ctypes_is_header(f.types, closure)); /* leads to others, and is none's header */
    assert_false(hs_ctypes_is_header(f.types, link));    /* of which all have a fixed size */
    assert_false(hs_ctypes_is_header(f.types, 0));
    assert_int_equal(hs_ctypes_enclosing(f.types, header, 8, 0, 100, found), 0);
    assert_int_equal(hs_ctypes_largest_heir(f.types, header), 24);
    assert_int_equal(hs_ctypes_largest_heir(f.types, closure), 0);
    assert_int_equal(hs_ctypes_largest_heir(f.types, link), 24); /* struct inner */
    assert_int_equal(hs_ctypes_largest_heir(f.types, 0), 0);
    assert_true(hs_ctypes_begins_with(f.types, closure, header));
    assert_false(hs_ctypes_begins_with(f.types, header, closure));
    assert_false(hs_ctypes_begins_with(f.types, other, header));
    fixture_close(&f);
    fixture_remove(&f);
}

static void what_a_record_begins_with(void **state)
{
    (void)state;
    static struct fixture f;
    build(&f, "gcc", "-O0", "-gdwarf-5");
    hs_ctype user = hs_ctypes_find(f.types, f.file, "user"),
             derived = hs_ctypes_find(f.types, f.file, "derived"),
             link = hs_ctypes_find(f.types, f.file, "link"),
             inner = hs_ctypes_find(f.types, f.file, "user::inner");
    assert_true(hs_ctypes_begins_with(f.types, derived, user));
    assert_false(hs_ctypes_begins_with(f.types, user, derived));
    assert_false(hs_ctypes_begins_with(f.types, user, link));
    assert_false(hs_ctypes_begins_with(f.types, user, user));
    assert_false(hs_ctypes_begins_with(f.types, 0, user));
    assert_false(hs_ctypes_begins_with(f.types, user, UINT32_MAX));
    assert_true(inner == 0 || hs_ctypes_begins_with(f.types, inner, link));
    assert_true(hs_ctypes_depth(f.types, derived) > hs_ctypes_depth(f.types, user));
    assert_int_equal(hs_ctypes_depth(f.types, 0), 0);
    assert_false(hs_ctypes_is_node(f.types, user) || hs_ctypes_is_node(f.types, UINT32_MAX));
    fixture_close(&f);
    fixture_remove(&f);
}

/* No virtual table's pointer stands where a number or another pointer does. */
static void what_stands_first(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum hs_cfirst first;
    } known[] = {
        {"Foo", HS_CFIRST_NUMBER},
        {"FooHolder", HS_CFIRST_POINTER},
        {"ns::Derived::Inner", HS_CFIRST_POINTER},
        {"ns::Base", HS_CFIRST_UNKNOWN}, /* its table */
        {"ns::Derived", HS_CFIRST_UNKNOWN},
        {"ns::Virtual", HS_CFIRST_UNKNOWN},
        {"nothing", HS_CFIRST_UNKNOWN},
    };
    static const char *const compilers[] = {"g++", "clang++"};
    static struct fixture f;

    for (size_t c = 0; c < sizeof compilers / sizeof *compilers; c++) {
        const char *const command[] = {compilers[c],           "-gdwarf-5",
                                       "-std=c++17",           "-fno-access-control",
                                       "-I" FIXTURE_DIRECTORY, FIXTURE_DIRECTORY "ctypes_cpp.cc"};
        fixture_build(&f, command, sizeof(command) / sizeof(command[0]));
        fixture_open(&f);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            assert_int_equal(
                hs_ctypes_first(f.types, hs_ctypes_find(f.types, f.file, known[i].name)),
                known[i].first);
        fixture_close(&f);
        fixture_remove(&f);
    }
}

/* The names of those of C++ of which `part` is a base at `offset`, and a size of about n_bytes. */
static void asked_heirs(struct fixture *f, const char *part, uint64_t offset, uint64_t n_bytes,
                        const char *expected)
{
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    char text[256] = "";
    hs_ctype base = hs_ctypes_find(f->types, f->file, part);
    assert_int_not_equal(base, 0);
    size_t n = hs_ctypes_heirs(f->types, base, offset, n_bytes - 15, n_bytes, found);
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", i > 0 ? ", " : "",
                 fixture_type_name(f, found[i]));
    }
    assert_string_equal(text, expected);
    if (offset == 0)
        assert_true(hs_ctypes_has_heir(f->types, base, n_bytes - 15, n_bytes) == (n != 0));
}

/* Of C++ what an allocator would round up to is listed by its size, and nothing in a wider range;
 * and nothing of what is no record. */
static void classes_by_their_size(void **state)
{
    (void)state;
    static struct fixture f;
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    const char *const command[] = {"g++", "-x", "c++", "-g", FIXTURE_DIRECTORY "ctypes_members.c"};
    fixture_build(&f, command, sizeof(command) / sizeof(command[0]));
    fixture_open(&f);
    asked(&f, 8, 0, UINT64_MAX, "");
    asked(&f, 8, 41, 56, "user");
    asked(&f, 8, 25, 40, "guest, visitor");
    asked_heirs(&f, "user", 0, 64, "heir");
    asked_heirs(&f, "user", 0, 80, "late_heir");
    asked_heirs(&f, "heir", 0, 80, "late_heir");
    asked_heirs(&f, "late_heir", 0, 80, "");
    asked_heirs(&f, "user", 0, 56, ""); /* itself */
    asked_heirs(&f, "link", 8, 64, ""); /* a member of it */
    asked_heirs(&f, "nothing", 0, 64, "heir");
    uint64_t link_at = sizeof(void *); /* behind `other`, which is the first base */
    hs_ctype second = hs_ctypes_find(f.types, f.file, "second");
    struct hs_ctype_facts facts;
    hs_ctype_facts(f.types, second, &facts);
    link_at = facts.n_bytes - 20 * sizeof(long) - 2 * sizeof(void *);
    asked_heirs(&f, "link", link_at, facts.n_bytes, "second");
    assert_int_equal(hs_ctypes_heirs(f.types, second, 0, 0, UINT64_MAX, found), 0);
    assert_int_equal(hs_ctypes_heirs(f.types, 0, 0, 1, 16, found), 0);
    assert_false(hs_ctypes_has_heir(f.types, UINT32_MAX, 1, 16));
    assert_int_equal(hs_ctypes_enclosing(f.types, 0, 0, 0, UINT64_MAX, found), 0);
    assert_int_equal(hs_ctypes_enclosing(f.types, UINT32_MAX, 0, 0, UINT64_MAX, found), 0);
    hs_ctypes_bound(f.types, 4096, 1);
    asked(&f, 8, 57, 64, "");
    assert_true(hs_ctypes_was_full(f.types));
    fixture_close(&f);
    fixture_remove(&f);
}

/* What is listed may be bounded, and pieces of sections are given back on the way. */
static void stays_within_its_bound(void **state)
{
    (void)state;
    static struct fixture f;
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    build(&f, "gcc", "-O0", "-gdwarf-5");
    hs_ctype link = hs_ctypes_find(f.types, f.file, "link");
    hs_ctypes_bound(f.types, 4096, 1);
    assert_int_equal(hs_ctypes_enclosing(f.types, link, 8, 25, 40, found), 0);
    assert_true(hs_ctypes_was_full(f.types));
    fixture_close(&f);
    fixture_open(&f);
    link = hs_ctypes_find(f.types, f.file, "link");
    hs_ctypes_bound(f.types, 4096, 1 << 30);
    assert_int_equal(hs_ctypes_enclosing(f.types, link, 8, 25, 40, found), 2);
    assert_false(hs_ctypes_was_full(f.types));
    fixture_close(&f);
    fixture_remove(&f);
}

static size_t ask_once(struct fixture *f)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_ctypes) *types = NULL;
    hs_type_file file = 0;
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    if (hs_ctypes_new(&types, &err) != HS_OK || hs_ctypes_add(types, f->elf, &file, &err) != HS_OK)
        return 0;
    return hs_ctypes_enclosing(types, hs_ctypes_find(types, file, "link"), 8, 25, 40, found);
}

static void survives_running_out_of_memory(void **state)
{
    (void)state;
    static struct fixture f;
    build(&f, "gcc", "-O0", "-gdwarf-5");
    uint64_t before = hs_alloc_count();
    assert_int_equal(ask_once(&f), 2);
    uint64_t n = hs_alloc_count() - before, n_wrong = 0;
    assert_true(n > 10 && n < 1000);
    for (uint64_t nth = 1; nth <= n; nth++) {
        hs_alloc_fail_at(nth, true);
        n_wrong += ask_once(&f) != 2;
        hs_alloc_fail_at(0, false);
    }
    assert_true(n_wrong >= n / 2);
    assert_int_equal(ask_once(&f), 2);
    fixture_close(&f);
    fixture_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_that_have_a_member),
        cmocka_unit_test(records_with_the_same_header),
        cmocka_unit_test(what_a_record_begins_with),
        cmocka_unit_test(what_stands_first),
        cmocka_unit_test(classes_by_their_size),
        cmocka_unit_test(stays_within_its_bound),
        cmocka_unit_test(survives_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
