/* links: hs_symbols hs_dep_dwarf hs_base */
#include "unit.h"

#include "symbols/types/pool.h"

static void writes_names_as_people_do(void **state)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"", ""},
        {"dict", "dict"},
        {"long unsigned int", "unsigned long"},
        {"long long int", "long long"},
        {"along int", "along int"},
        {"std::vector<int, std::allocator<int> >", "std::vector<int>"},
        {"std::map<int, Foo, std::less<int>, std::allocator<std::pair<int const, Foo> > >",
         "std::map<int, Foo>"},
        {"std::vector<long unsigned int, mine<long unsigned int> >",
         "std::vector<unsigned long, mine<unsigned long>>"},
        {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
         "std::string"},
        {"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >",
         "std::wstring"},
        {"std::__cxx11::list<A, std::allocator<A> >::_Node", "std::list<A>::_Node"},
        {"std::_Rb_tree_node<std::pair<long unsigned int const, short int> >",
         "std::map<unsigned long, short>::node"},
        {"mystd::__cxx11::x", "mystd::__cxx11::x"},
        {"alloc::vec::Vec<u8, alloc::alloc::Global>", "alloc::vec::Vec<u8>"},
        {"x<, std::less<", "x<, std::less<"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256], few[6];
        assert_int_equal(hs_ctypes_pretty_(cases[i].from, text, sizeof(text)), strlen(cases[i].to));
        assert_string_equal(text, cases[i].to);
        assert_true(hs_ctypes_pretty_(cases[i].from, few, sizeof(few)) < sizeof(few));
        assert_memory_equal(few, cases[i].to, strlen(few));
    }
}

static uint64_t hash(const char *text)
{
    return hs_ctypes_hash_(CTYPES_HASH_SEED, text, strlen(text));
}

static void has_one_key_for_all_spellings(void **state)
{
    static const char *const same[][2] = {
        {"a<b<c> >", "a<b<c>>"},
        {"a<long unsigned int>", "a<unsigned long>"},
        {"a<short int>", "a<short>"},
        {"a<char const*>", "a<const char *>"},
        {"std::array<int, 3ul>", "std::array<int, 3>"},
        {"a<unsigned int, 4u>", "a<unsigned, 4>"},
    };
    static const char *const other[][2] = {
        {"a<int>", "a<long>"},
        {"a<char>", "a<signed char>"},
        {"a<unsigned char>", "a<char>"},
        {"a<double>", "a<long double>"},
        {"ab", "a b"},
        {"a::b", "ab"},
        {"a<b, c>", "a<bc>"},
        {"a<long>", "a<long long>"},
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        assert_int_equal(hash(same[i][0]), hash(same[i][1]));
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        assert_int_not_equal(hash(other[i][0]), hash(other[i][1]));
    uint64_t parts = hs_ctypes_hash_(hs_ctypes_hash_(hash("ns"), "::", 2), "A", 1);
    assert_int_equal(parts, hash("ns::A"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_names_as_people_do),
        cmocka_unit_test(has_one_key_for_all_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
