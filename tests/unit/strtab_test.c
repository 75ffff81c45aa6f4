/* links: hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "base/strtab.h"
#include "fail_each.h"

static hs_str add(struct hs_strtab *table, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_str id = 0;
    assert_int_equal(hs_strtab_add(table, text, &id, &err), HS_OK);
    return id;
}

static void numbers_distinct_texts_from_one(void **state)
{
    struct hs_strtab table = {0};
    assert_string_equal(hs_strtab_get(&table, 0), "");
    assert_string_equal(hs_strtab_get(&table, 1), "");
    assert_int_equal(add(&table, "a"), 1);
    assert_int_equal(add(&table, "b"), 2);
    assert_int_equal(add(&table, "a"), 1);
    assert_int_equal(add(&table, ""), 0);
    assert_int_equal(add(&table, NULL), 0);
    assert_string_equal(hs_strtab_get(&table, 2), "b");
    assert_string_equal(hs_strtab_get(&table, 3), "");
    assert_string_equal(hs_strtab_get(&table, UINT32_MAX), "");
    hs_strtab_fini(&table);
    assert_int_equal(table.n_strings, 0);
    hs_strtab_fini(&table);
    hs_strtab_fini(NULL);
}

static void holds_many(void **state)
{
    struct hs_strtab table = {0};
    char text[64];
    uint64_t before = hs_alloc_count();
    for (unsigned i = 0; i < 200000; i++) {
        (void)snprintf(text, sizeof text, "%s name %u", i % 3 == 0 ? "camlStm__code" : "x", i);
        assert_int_equal(add(&table, text), i + 1);
    }
    assert_true(hs_alloc_count() - before < 70); /* none per string */
    for (unsigned i = 0; i < 200000; i++) {
        (void)snprintf(text, sizeof text, "%s name %u", i % 3 == 0 ? "camlStm__code" : "x", i);
        assert_int_equal(add(&table, text), i + 1);
        assert_string_equal(hs_strtab_get(&table, i + 1), text);
    }
    assert_int_equal(table.n_strings, 200000);
    hs_strtab_fini(&table);
}

static void keeps_hostile_bytes_as_they_are(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_strtab table = {0};
    char text[4] = {0};
    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) {
            text[0] = (char)a;
            text[1] = (char)b;
            assert_int_equal(add(&table, text), (a - 1) * 255 + b);
        }
    for (int a = 1; a < 256; a++) {
        text[0] = (char)a;
        text[1] = '\0';
        assert_int_equal(add(&table, text), 255 * 255 + a);
        assert_string_equal(hs_strtab_get(&table, (hs_str)(255 * 255 + a)), text);
    }
    /* A NUL ends a text, for it could not be got back. */
    hs_str with_nul = 0;
    assert_int_equal(hs_strtab_add_n(&table, "q\0r", 3, &with_nul, &err), HS_OK);
    assert_int_equal(with_nul, add(&table, "q"));
    assert_int_equal(hs_strtab_add_n(&table, "\0r", 2, &with_nul, &err), HS_OK);
    assert_int_equal(with_nul, 0);
    /* Only n bytes are read. */
    const char unterminated[2] = {'z', 'z'};
    hs_str id = 0;
    assert_int_equal(hs_strtab_add_n(&table, unterminated, 2, &id, &err), HS_OK);
    assert_string_equal(hs_strtab_get(&table, id), "zz");
    hs_strtab_fini(&table);
}

static void takes_parts_of_its_own_text(void **state)
{
    struct hs_strtab table = {0};
    static char text[5001];
    memset(text, 'a', sizeof text - 1);
    hs_str whole = add(&table, text);
    /* Each suffix is new and makes the text move now and then. */
    for (size_t at = 1; at < 5000; at++) {
        hs_str id = add(&table, hs_strtab_get(&table, whole) + at);
        assert_int_equal(strlen(hs_strtab_get(&table, id)), 5000 - at);
    }
    assert_int_equal(table.n_strings, 5000);
    hs_strtab_fini(&table);
}

/* Adds 2000 texts; the table is whole whatever happened. */
static hs_status fill(struct hs_strtab *table, struct hs_error *err)
{
    char text[16];
    hs_str id;
    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        HS_TRY(hs_strtab_add(table, text, &id, err));
    }
    return HS_OK;
}

static void survives_each_failing_allocation(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_strtab table = {0};
    FAIL_EACH (each, .at_least = 10) {
        (void)FAIL_EACH_TRY(each, fill(&table, &err));
        size_t kept = table.n_strings;
        assert_int_equal(fill(&table, &err), HS_OK); /* goes on where it stopped */
        assert_int_equal(table.n_strings, 2000);
        assert_true((kept < 2000) == (each.status != HS_OK));
        assert_string_equal(hs_strtab_get(&table, 2000), "1999");
        hs_strtab_fini(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_distinct_texts_from_one),
        cmocka_unit_test(holds_many),
        cmocka_unit_test(keeps_hostile_bytes_as_they_are),
        cmocka_unit_test(takes_parts_of_its_own_text),
        cmocka_unit_test(survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
