/* links: hs_native hs_heaps hs_ocaml hs_process hs_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fail_each.h"
#include "native/mixed.h"
#include "native_world.h"

static struct hs_error err;

static uint32_t number(struct hs_mixed_types *types, unsigned source, uint32_t index)
{
    uint32_t ret = UINT32_MAX;
    assert_int_equal(hs_mixed_types_number(types, source, index, &ret, &err), HS_OK);
    return ret;
}

/* Each type of either source has one number, by first use, however far apart its indexes are. */
static void types_are_numbered_by_first_use(void **state)
{
    (void)state;
    struct hs_mixed_types types = {0};

    assert_int_equal(number(&types, HS_MIXED_OCAML, 7), 0);
    assert_int_equal(number(&types, HS_MIXED_NATIVE, 7), 1);
    assert_int_equal(number(&types, HS_MIXED_NATIVE, 0), 2);
    assert_int_equal(number(&types, HS_MIXED_OCAML, 100000), 3);
    assert_int_equal(number(&types, HS_MIXED_OCAML, 7), 0);
    assert_int_equal(number(&types, HS_MIXED_NATIVE, 7), 1);
    assert_int_equal(number(&types, HS_MIXED_OCAML, 99999), 4);
    assert_int_equal(types.n_types, 5);
    hs_mixed_types_fini(&types);
    hs_mixed_types_fini(&types);
}

/* What the table is made of: two records of C, of which the second comes first, and OCaml's. */
static hs_status make(struct world *w, struct hs_mixed_types *types,
                      struct hs_mixed_type_tables *ret)
{
    static const struct hs_type ocaml[2] = {{.tag = 11}, {.tag = 22}};
    struct hs_native_types native = {.strings = &w->native.strings, .ctypes = w->native.ctypes};
    hs_ntype first, second;
    uint32_t ignored;

    hs_status status = hs_native_types_of_ctype(&native, 1, false, &first, &err);
    if (status == HS_OK)
        status = hs_native_types_of_ctype(&native, 2, false, &second, &err);
    if (status == HS_OK)
        status = hs_mixed_types_number(types, HS_MIXED_OCAML, 1, &ignored, &err);
    if (status == HS_OK)
        status = hs_mixed_types_number(types, HS_MIXED_NATIVE, second - 1, &ignored, &err);
    if (status == HS_OK)
        status = hs_mixed_types_finish(types, &native, ocaml, ret, &err);
    hs_native_types_fini(&native);
    return status;
}

static void set_up_types(void)
{
    world_no_types();
    world_type(1, "first", HS_CTYPE_RECORD, 16);
    world_slot(1, "a", 0, 2);
    world_type(2, "second", HS_CTYPE_RECORD, 24);
    world_slot(2, "b", 8, 1);
    world_slot(2, "c", 16, 1);
}

static void members_follow_their_type(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct hs_mixed_types types = {0};
    struct hs_mixed_type_tables tables = {0};

    set_up_types();
    assert_int_equal(make(w, &types, &tables), HS_OK);
    assert_int_equal(tables.n_types, 2);
    assert_int_equal(tables.types[0].tag, 22);
    assert_string_equal(hs_strtab_get(&w->native.strings, tables.types[1].name), "second");
    for (size_t i = 0; i < tables.n_members; i++)
        assert_int_equal(tables.members[i].type, 1); /* those of the first are not used */
    hs_free(tables.types);
    hs_free(tables.members);
    hs_mixed_types_fini(&types);
    world_free(w);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    FAIL_EACH (each, .at_least = 4) {
        struct world *w = world_new();
        struct hs_mixed_types types = {0};
        struct hs_mixed_type_tables tables = {0};
        set_up_types();
        (void)FAIL_EACH_TRY(each, make(w, &types, &tables));
        hs_free(tables.types);
        hs_free(tables.members);
        hs_mixed_types_fini(&types);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_numbered_by_first_use),
        cmocka_unit_test(members_follow_their_type),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
