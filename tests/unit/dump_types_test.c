/* links: hs_dump hs_runtimes hs_heaps hs_process hs_base */
/* parts: ocaml python */
#include "unit.h"

#include "base/alloc.h"
#include "dump/parts.h"
#include "fail_each.h"

enum { FIRST, SECOND };

static struct hs_error err;

static uint32_t number(struct hs_type_numbers *numbers, unsigned source, uint32_t index)
{
    uint32_t ret = UINT32_MAX;
    assert_int_equal(hs_type_numbers_get(numbers, source, index, &ret, &err), HS_OK);
    return ret;
}

/* Each type of either source has one number, by first use, however far apart its indexes are. */
static void types_are_numbered_by_first_use(void **state)
{
    struct hs_type_numbers numbers = {0};

    assert_int_equal(number(&numbers, FIRST, 7), 0);
    assert_int_equal(number(&numbers, SECOND, 7), 1);
    assert_int_equal(number(&numbers, SECOND, 0), 2);
    assert_int_equal(number(&numbers, FIRST, 100000), 3);
    assert_int_equal(number(&numbers, FIRST, 7), 0);
    assert_int_equal(number(&numbers, SECOND, 7), 1);
    assert_int_equal(number(&numbers, FIRST, 99999), 4);
    assert_int_equal(numbers.n_types, 5);
    hs_type_numbers_fini(&numbers);
    hs_type_numbers_fini(&numbers);
}

static hs_status fill(struct hs_type_tables *ret, size_t n_members)
{
    static const struct hs_type types[2] = {{.tag = 11}, {.tag = 22}};
    static const struct hs_member members[3] = {{.type = 0, .offset_bytes = 1},
                                                {.type = 1, .offset_bytes = 2},
                                                {.type = 1, .offset_bytes = 3}};

    HS_TRY(HS_ALLOC(&ret->types, 2, &err));
    HS_TRY(HS_ALLOC(&ret->members, n_members, &err));
    memcpy(ret->types, types, sizeof types);
    memcpy(ret->members, members, n_members * sizeof *members);
    ret->n_types = 2;
    ret->n_members = n_members;
    return HS_OK;
}

static hs_status number_and_fill(struct hs_type_numbers *numbers, struct hs_type_tables *sources)
{
    uint32_t ignored;

    HS_TRY(fill(&sources[FIRST], 0));
    HS_TRY(fill(&sources[SECOND], 3));
    HS_TRY(hs_type_numbers_get(numbers, SECOND, 1, &ignored, &err));
    return hs_type_numbers_get(numbers, FIRST, 0, &ignored, &err);
}

/* The second source has two types with members, of which the second alone is used. */
static hs_status make(struct hs_type_numbers *numbers, struct hs_type_tables *ret)
{
    struct hs_type_tables sources[2] = {{0}};
    hs_status status = number_and_fill(numbers, sources);

    if (status == HS_OK)
        return hs_type_numbers_merge(numbers, sources, 2, ret, &err);
    hs_type_tables_fini(&sources[0]);
    hs_type_tables_fini(&sources[1]);
    return status;
}

static void members_follow_their_type(void **state)
{
    struct hs_type_numbers numbers = {0};
    struct hs_type_tables tables = {0};

    assert_int_equal(make(&numbers, &tables), HS_OK);
    assert_int_equal(tables.n_types, 2);
    assert_int_equal(tables.types[0].tag, 22);
    assert_int_equal(tables.types[1].tag, 11);
    assert_int_equal(tables.n_members, 2); /* those of the type that no block has are left out */
    for (size_t i = 0; i < tables.n_members; i++) {
        assert_int_equal(tables.members[i].type, 0);
        assert_int_equal(tables.members[i].offset_bytes, i + 2);
    }
    hs_type_tables_fini(&tables);
    hs_type_numbers_fini(&numbers);
}

static void one_source_is_taken_as_it_is(void **state)
{
    struct hs_type_numbers numbers = {0};
    struct hs_type_tables source = {0}, ret;

    assert_int_equal(fill(&source, 3), HS_OK);
    struct hs_type *types = source.types;
    assert_int_equal(hs_type_numbers_merge(&numbers, &source, 1, &ret, &err), HS_OK);
    assert_ptr_equal(ret.types, types);
    hs_type_tables_fini(&ret);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 8) {
        struct hs_type_numbers numbers = {0};
        struct hs_type_tables tables = {0};
        (void)FAIL_EACH_TRY(each, make(&numbers, &tables));
        hs_type_tables_fini(&tables);
        hs_type_numbers_fini(&numbers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_numbered_by_first_use),
        cmocka_unit_test(members_follow_their_type),
        cmocka_unit_test(one_source_is_taken_as_it_is),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
