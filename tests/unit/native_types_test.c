/* links: hs_native hs_heaps hs_runtimes hs_process hs_base */
#include "unit.h"

#include "native_world.h"

static struct hs_error err;

/* A pool may have the name of a type that debug information describes: that is one more type, not
 * one for each of its blocks. */
static void a_name_is_one_type(void **state)
{
    struct world *w = world_new();
    struct hs_native_types types = {.strings = &w->dump.strings, .ctypes = w->native.ctypes};
    hs_ntype described, first, again;
    world_no_types();
    world_type(1, "cells", HS_CTYPE_RECORD, 24);
    assert_int_equal(hs_native_types_of_ctype(&types, 1, false, &described, &err), HS_OK);
    assert_int_equal(hs_native_types_of_name(&types, "cells", HS_FORM_RECORD, &first, &err), HS_OK);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(hs_native_types_of_name(&types, "cells", HS_FORM_RECORD, &again, &err),
                         HS_OK);
        assert_int_equal(again, first);
    }
    assert_int_not_equal(first, described);
    assert_int_equal(types.n_types, 2);
    hs_native_types_fini(&types);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_name_is_one_type)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
