/* links: hs_symbols hs_base */
#include "unit.h"

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
    {"__pyx_v_5cyreg__registry", "cyreg._registry"},
    {"__pyx_v_3pkg_3mod_cache", "pkg.mod.cache"},
    {"__pyx_f_5cyreg_4Tree_add", "cyreg.Tree.add"},
    {"__pyx_v_5cyreg", "__pyx_v_5cyreg"},
    {"__pyx_v_5cyreg_", "__pyx_v_5cyreg_"},
    {"__pyx_v_99cyreg_x", "__pyx_v_99cyreg_x"},
    {"__pyx_v_9999999999999999999_x", "__pyx_v_9999999999999999999_x"},
    {"__pyx_v_plain", "__pyx_v_plain"},
    {"_ZN2ns3Foo3barEi", "ns::Foo::bar"},
    {"_ZTV3Foo", "vtable for Foo"},
    {"_ZZ4mainE7counter", "main::counter"},
    {"_ZN12_GLOBAL__N_16hiddenE", "(anonymous namespace)::hidden"},
    {"_Z3addIiET_S0_S0_", "add<int>"},
    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int>::push_back"},
    {"_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeEv", "std::string::size"},
    {"_ZlsRSoRK3Foo", "operator<<"},
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.77", "core::fmt::Formatter::pad"},
    {"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
     "<alloc::string::String as core::fmt::Debug>::fmt"},
    {"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
    {"_Z", "_Z"},
    {"_R", "_R"},
    {"_ZN", "_ZN"},
    {"_Zzz", "_Zzz"},
    {"__Z3foov", "__Z3foov"},
};

static void makes_names_readable(void **state)
{
    char out[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n = hs_demangle(names[i].symbol, out, sizeof(out));
        assert_string_equal(out, names[i].readable);
        assert_int_equal(n, strlen(out));
    }
}

static void names_the_types_of_rtti(void **state)
{
    static const char *const types[][2] = {
        {"N2ns7DerivedE", "ns::Derived"},
        {"_ZTSN2ns7DerivedE", "ns::Derived"},
        {"*N12_GLOBAL__N_16HiddenE", "(anonymous namespace)::Hidden"},
        {"3Foo", "Foo"},
        {"i", "int"},
        {"P3Foo", "Foo*"},
        {"St6vectorIiSaIiEE", "std::vector<int, std::allocator<int> >"},
        {"", ""},
        {"_Z3foov", "_Z3foov"},
        {"99short", "99short"},
    };
    char out[128];
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_int_equal(hs_demangle_type(types[i][0], out, sizeof(out)), strlen(types[i][1]));
        assert_string_equal(out, types[i][1]);
    }
    assert_int_equal(hs_demangle_type("N2ns7DerivedE", out, 5), 4);
    assert_string_equal(out, "ns::");
}

static const char *const shortened[][2] = {
    {"std::map<int, Foo, std::less<int>, std::allocator<std::pair<int const, Foo> > >",
     "std::map<int, Foo>"},
    {"std::map<int, Foo, std::less<void>, std::allocator<std::pair<int const, Foo> > >",
     "std::map<int, Foo, std::less<void>>"},
    {"std::map<int, Foo, By, std::allocator<std::pair<int const, Foo> > >",
     "std::map<int, Foo, By>"},
    {"std::__cxx11::basic_ostringstream<char, std::char_traits<char>, std::allocator<char> >",
     "std::ostringstream"},
    {"std::map<int, std::__cxx11::basic_regex<char, std::__cxx11::regex_traits<char> > >",
     "std::map<int, std::regex>"},
    {"std::__future_base::_Task_state<Run, std::allocator<int>, long ()>",
     "std::__future_base::_Task_state<Run>"},
    {"std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
     "std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
     "> > >",
     "std::vector<std::string>"},
    {"std::unordered_map<K, V, std::hash<K>, std::equal_to<K>, std::allocator<std::pair<K const, "
     "V>>>",
     "std::unordered_map<K, V>"},
    {"std::unique_ptr<Foo [], std::default_delete<Foo []> >", "std::unique_ptr<Foo []>"},
    {"std::unique_ptr<Foo, std::default_delete<Bar> >",
     "std::unique_ptr<Foo, std::default_delete<Bar>>"},
    {"std::stack<int, std::deque<int, std::allocator<int> > >", "std::stack<int>"},
    {"std::priority_queue<int, std::vector<int, std::allocator<int> >, std::less<int> >",
     "std::priority_queue<int>"},
    {"std::__1::list<int, std::__1::allocator<int> > *", "std::list<int> *"},
    {"mine::map<int, std::allocator<int> >", "mine::map<int>"},
    {"mine::wrap<std::allocator<int> >", "mine::wrap<std::allocator<int>>"},
    {"std::vector<int, std::pmr::polymorphic_allocator<int> >", "std::vector<int>"},
    /* what containers allocate: libstdc++, libc++ */
    {"std::_Rb_tree_node<int>", "std::set<int>::node"},
    {"std::_Rb_tree_node<std::pair<int const, Foo<A, B> > > *", "std::map<int, Foo<A, B>>::node *"},
    {"std::_Rb_tree_node<std::pair<const std::pair<a, b>, std::vector<int, std::allocator<int> > > "
     ">",
     "std::map<std::pair<a, b>, std::vector<int>>::node"},
    {"std::__1::__tree_node<std::__1::__value_type<int, Foo>, void*>", "std::map<int, Foo>::node"},
    {"std::__detail::_Hash_node<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, "
     "std::allocator<char> > const, int>, true>",
     "std::unordered_map<std::string, int>::node"},
    {"std::__detail::_Hash_node<Foo *, false>", "std::unordered_set<Foo *>::node"},
    {"std::__1::__hash_node<std::__1::__hash_value_type<K, V>, void*>",
     "std::unordered_map<K, V>::node"},
    {"std::_List_node<std::shared_ptr<Foo> >", "std::list<std::shared_ptr<Foo>>::node"},
    {"std::__1::__list_node<Foo, void*>", "std::list<Foo>::node"},
    {"std::_Sp_counted_ptr_inplace<a::Foo, std::allocator<a::Foo>, (__gnu_cxx::_Lock_policy)2>",
     "std::make_shared<a::Foo>"},
    {"std::__1::__shared_ptr_emplace<Foo, std::__1::allocator<Foo>>", "std::make_shared<Foo>"},
    {"std::_Sp_counted_ptr<Foo*, (__gnu_cxx::_Lock_policy)2>", "std::shared_ptr<Foo>::count"},
    {"std::_Sp_counted_deleter<Foo *, By, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>",
     "std::shared_ptr<Foo>::count"},
    {"std::_Sp_counted_ptr<F>", "std::_Sp_counted_ptr<F>"}, /* no name may become longer */
    {"std::_Rb_tree_node<std::pair<int, Foo>", "std::_Rb_tree_node<std::pair<int, Foo>"},
    {"std::_Rb_tree_node<std::pair<int>>", "std::set<std::pair<int>>::node"},
    {"std::_Sp_counted_ptr_inplace<A, B, C>::_Impl",
     "std::_Sp_counted_ptr_inplace<A, B, C>::_Impl"},
    {"my::std::_Rb_tree_node<int>", "my::std::_Rb_tree_node<int>"},
    {"Wrap<std::_Rb_tree_node<int> >", "Wrap<std::_Rb_tree_node<int>>"},
    {"my_std::__cxx11::x", "my_std::__cxx11::x"},
    {"f[abi:cxx11]", "f"},
    {"alloc::vec::Vec<u8, alloc::alloc::Global>", "alloc::vec::Vec<u8>"},
    {"alloc::boxed::Box<fn(i32) -> i32, alloc::alloc::Global>",
     "alloc::boxed::Box<fn(i32) -> i32>"},
    {"Wrap<(Pair<1, 2>), f(a, b), int [3]>", "Wrap<(Pair<1, 2>), f(a, b), int [3]>"},
    {"a::operator<< <int, std::allocator<int> >", "a::operator<< <int>"},
    {"x::operator->", "x::operator->"},
    {"std::allocator<int>", "std::allocator<int>"},
    {"std::vector<int, std::allocator<int>", "std::vector<int, std::allocator<int>"}, /* open */
    {"int>", "int>"},
    {"", ""},
    {"<>", "<>"},
    {"unsigned long", "unsigned long"},
};

static void leaves_out_what_everybody_leaves_out(void **state)
{
    char out[256];
    for (size_t i = 0; i < sizeof(shortened) / sizeof(shortened[0]); i++) {
        size_t n = hs_shorten_type(shortened[i][0], out, sizeof(out));
        assert_string_equal(out, shortened[i][1]);
        assert_int_equal(n, strlen(out));
        for (size_t room = 1; room < n; room++) {
            out[room] = 0x5a;
            assert_int_equal(hs_shorten_type(shortened[i][0], out, room), room - 1);
            assert_memory_equal(out, shortened[i][1], room - 1);
            assert_int_equal(out[room], 0x5a);
        }
    }
}

/* Writes a thing made of a reference to an earlier one, twice: "S0_IS1_S1_E" and the like. The
 * number is written as one less, in the base of the digits; without any it is 0. */
static size_t double_name(char *out, const char *head, char letter, unsigned number,
                          const char *digits)
{
    unsigned base = (unsigned)strlen(digits), value = number - 1;
    char text[8] = {0};
    if (value >= base)
        snprintf(text, sizeof(text), "%c%c", digits[value / base], digits[value % base]);
    else
        snprintf(text, sizeof(text), "%c", digits[value]);
    int n = snprintf(out, 32, "%s%c%s_%c%s_E", head, letter, text, letter, text);
    return (size_t)n;
}

/* What the library would make gigabytes of, never end with, or recurse into: a bounded prefix or
 * the name itself, at once. */
static void bounds_the_library(void **state)
{
    static char name[200001], out[20001];
    /* t<p<i, i>, p<p<i, i>, p<i, i>>, ..>: each argument is made of the one before, twice. */
    size_t n = (size_t)snprintf(name, sizeof(name), "_Z1tI1pIiiE");
    for (unsigned i = 2; i < 80; i++)
        n += double_name(name + n, "S0_I", 'S', i, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    memcpy(name + n, "Evv", 4);
    assert_int_equal(hs_demangle(name, out, sizeof(out)), 8191);
    assert_memory_equal(out, "t<p<int, int>, p<p<int, int>, p<int, int> >, p<", 47);
    name[n + 1] = '\0';
    assert_int_equal(hs_demangle_type(name + 2, out, sizeof(out)), sizeof(out) - 1);

    n = (size_t)snprintf(name, sizeof(name), "_RINvC1a1fTuuE");
    for (unsigned i = 1, at = 8; i < 60; i++) { /* the same with tuples; counted in bytes */
        unsigned next = (unsigned)n - 2;
        n += double_name(name + n, "T", 'B', at,
                         "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        at = next;
    }
    memcpy(name + n, "E", 2);
    assert_int_equal(hs_demangle(name, out, sizeof(out)), 8191);
    assert_memory_equal(out, "a::f::<((), ()), (((), ()), ((), ())), (", 38);

    static const char *const endless[] = {
        "_RNvC1a1fNvXC1bFGzzzzzzzzzz_EuE1c1d", /* in the part that is not written */
        "_RINvC1a1fFGzzzzzzzzzz_EuE",
        "_RINvC1a1fDGzzzzzzzz_C1bEL_E",
        "_RNvB_1a",
        "_RMB_B_",
    };
    for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
        hs_demangle(endless[i], out, sizeof(out));
        assert_true(strlen(out) <= 8192);
    }
    static const char *const fills[] = {"_ZN", "_ZP",         "_ZI1a",      "_R",
                                        "_RY", "_RINvC1a1fR", "_RINvC1a1fT"};
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
        for (size_t length = 100; length < sizeof(name); length *= 3) {
            size_t n_head = strlen(fills[i]);
            memcpy(name, fills[i], n_head);
            for (size_t at = n_head; at < length; at++)
                name[at] = fills[i][n_head - 1 - at % 2 * (n_head > 2)];
            name[length] = '\0';
            n = hs_demangle(name, out, sizeof(out));
            assert_true(n > 0 && n < sizeof(out));
            n = hs_demangle_type(name + 2, out, sizeof(out));
            assert_true(n > 0 && n < sizeof(out));
        }
}

/* Every room from one byte on: terminated, a prefix of the whole, nothing written behind. */
static void cuts_at_the_room(void **state)
{
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
    assert_true(hs_is_ocaml_symbol("camlM"));
    assert_false(hs_is_ocaml_symbol("caml_main"));
    assert_false(hs_is_ocaml_symbol("cam"));
    assert_false(hs_is_ocaml_symbol("CamlM"));
}

/* Long and odd names take linear time and pass through. */
static void survives_any_bytes(void **state)
{
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
        cmocka_unit_test(names_the_types_of_rtti),
        cmocka_unit_test(leaves_out_what_everybody_leaves_out),
        cmocka_unit_test(bounds_the_library),
        cmocka_unit_test(cuts_at_the_room),
        cmocka_unit_test(tells_units_from_the_runtime),
        cmocka_unit_test(survives_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
