/* links: hs_symbols hs_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "symbols/demangle.h"

static const struct {
    const char *symbol, *readable;
} names[] = {
    {"camlStm__observe_6961", "Stm.observe"},
    {"camlStdlib__Hashtbl__add_1234", "Stdlib.Hashtbl.add"},
    {"camlStdlib__Hashtbl.add_1234", "Stdlib.Hashtbl.add"},
    {"camlStdlib__Hashtbl$add_1234", "Stdlib.Hashtbl.add"},
    {"camlStdlib__Hashtbl$find_1234", "Stdlib.Hashtbl.find"},
    {"camlM__fun_123", "M.(fun)"},
    {"camlM__fun", "M.fun"},
    {"camlM.fun_9", "M.(fun)"},
    {"camlM__funny_123", "M.funny"},
    {"camlM.anon_fn[m.ml:12,3--20]_77", "M.(fun)"},
    {"camlM__anon_fn$5bm$2eml$3a12$5d_77", "M.(fun)"},
    {"camlM", "M"},
    {"camlLtac_plugin__Tacenv", "Ltac_plugin.Tacenv"},
    {"camlLtac_plugin__", "Ltac_plugin__"},
    {"camlM__my__name_12", "M.my__name"},
    {"camlM__$2b$2b_7", "M.++"},
    {"camlM__f$27_8", "M.f'"},
    {"camlM__x$1b_8", "M.x$1b"},
    {"camlM__x$41_8", "M.x$41"},
    {"camlM__12", "M.12"},
    {"camlM___under_12", "M_.under"},
    {"camlStm__gc_roots", "Stm.gc_roots"},
    {"camlM__data_begin", "M.data_begin"},
    {"caml_startup", "caml_startup"},
    {"caml_startup__code_begin", "caml_startup__code_begin"},
    {"caml_curry2", "caml_curry2"},
    {"caml", "caml"},
    {"camlization", "camlization"},
    {"main", "main"},
    {"", ""},
};

static void makes_names_readable(void **state)
{
    (void)state;
    char out[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n = hs_demangle(names[i].symbol, out, sizeof(out));
        assert_string_equal(out, names[i].readable);
        assert_int_equal(n, strlen(out));
    }
}

/* Every room from one byte on: terminated, a prefix of the whole, nothing written behind. */
static void cuts_at_the_room(void **state)
{
    (void)state;
    char whole[128], out[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hs_demangle(names[i].symbol, whole, sizeof(whole));
        for (size_t room = 1; room < 40; room++) {
            memset(out, 0x5a, sizeof(out));
            size_t n = hs_demangle(names[i].symbol, out, room);
            assert_true(n < room);
            assert_int_equal(out[n], '\0');
            assert_memory_equal(out, whole, n);
            assert_int_equal(out[room], 0x5a);
        }
    }
}

static void tells_units_from_the_runtime(void **state)
{
    (void)state;
    assert_true(hs_is_ocaml_symbol("camlM"));
    assert_false(hs_is_ocaml_symbol("caml_main"));
    assert_false(hs_is_ocaml_symbol("cam"));
    assert_false(hs_is_ocaml_symbol("CamlM"));
}

/* Long and odd names take linear time and pass through. */
static void survives_any_bytes(void **state)
{
    (void)state;
    static char name[100001], out[100001];
    const char *const fills = "_.$A\x80\x1b";
    for (const char *fill = fills; *fill != '\0'; fill++) {
        memset(name, *fill, sizeof(name) - 1);
        memcpy(name, "camlA", 5);
        size_t n = hs_demangle(name, out, sizeof(out));
        assert_true(n > 0 && n < sizeof(name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_names_readable),
        cmocka_unit_test(cuts_at_the_room),
        cmocka_unit_test(tells_units_from_the_runtime),
        cmocka_unit_test(survives_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
