/* links: hs_symbols hs_base hs_dep_dwarf */
/* Types that no compiler describes: they hang together in circles, or are larger than anything. */
#include "unit.h"

#include <dwarf.h>

#include "elf_writer.h"
#include "symbols/types/pool.h"

/* Abbreviations: references are DW_FORM_ref4, names inline strings. */
enum {
    UNIT = 1,  /* no attributes */
    TYPEDEF,   /* name, type */
    STRUCT,    /* name, size 8; children */
    MEMBER,    /* name, type, location 1 */
    POINTER,   /* type */
    ARRAY,     /* type; children */
    RANGE,     /* count 8 */
    VARIABLE,  /* name, type, location */
    COMPLETES, /* specification, location: a variable */
    BASE,      /* type, location 1: a base class */
    DECLARED,  /* name, declaration */
    CHAR,      /* name, size 1 */
    NESTED,    /* a block with children */
    ALIAS,     /* name: a typedef of void */
    N_CODES
};

static const uint8_t abbreviations[] = {
    UNIT,
    DW_TAG_compile_unit,
    1,
    0,
    0,
    TYPEDEF,
    DW_TAG_typedef,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_type,
    DW_FORM_ref4,
    0,
    0,
    STRUCT,
    DW_TAG_structure_type,
    1,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_byte_size,
    DW_FORM_data8,
    0,
    0,
    MEMBER,
    DW_TAG_member,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_type,
    DW_FORM_ref4,
    DW_AT_data_member_location,
    DW_FORM_data1,
    0,
    0,
    POINTER,
    DW_TAG_pointer_type,
    0,
    DW_AT_type,
    DW_FORM_ref4,
    0,
    0,
    ARRAY,
    DW_TAG_array_type,
    1,
    DW_AT_type,
    DW_FORM_ref4,
    0,
    0,
    RANGE,
    DW_TAG_subrange_type,
    0,
    DW_AT_count,
    DW_FORM_data8,
    0,
    0,
    VARIABLE,
    DW_TAG_variable,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_type,
    DW_FORM_ref4,
    DW_AT_location,
    DW_FORM_exprloc,
    0,
    0,
    COMPLETES,
    DW_TAG_variable,
    0,
    DW_AT_specification,
    DW_FORM_ref4,
    DW_AT_location,
    DW_FORM_exprloc,
    0,
    0,
    BASE,
    DW_TAG_inheritance,
    0,
    DW_AT_type,
    DW_FORM_ref4,
    DW_AT_data_member_location,
    DW_FORM_data1,
    0,
    0,
    DECLARED,
    DW_TAG_structure_type,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_declaration,
    DW_FORM_flag_present,
    0,
    0,
    CHAR,
    DW_TAG_base_type,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_byte_size,
    DW_FORM_data1,
    0,
    0,
    NESTED,
    DW_TAG_lexical_block,
    1,
    0,
    0,
    ALIAS,
    DW_TAG_typedef,
    0,
    DW_AT_name,
    DW_FORM_string,
    0,
    0,
    0,
};

static uint8_t info[1 << 15];
static size_t n_info;
static struct elf_writer w;

static void put(const void *bytes, size_t n)
{
    assert_true(n_info + n <= sizeof(info));
    memcpy(info + n_info, bytes, n);
    n_info += n;
}

static void put_number(uint64_t value, size_t n)
{
    put(&value, n);
}

static void put_text(const char *text)
{
    put(text, strlen(text) + 1);
}

static void begin(void)
{
    n_info = 0;
    put_number(0, 4);
    put_number(4, 2);
    put_number(0, 4);
    put_number(8, 1);
    put_number(UNIT, 1);
}

/* Each gives the offset of its entry. */
static uint32_t entry(uint8_t code)
{
    put_number(code, 1);
    return (uint32_t)n_info - 1;
}

static uint32_t put_typedef(const char *name, uint32_t type)
{
    uint32_t at = entry(TYPEDEF);
    put_text(name);
    put_number(type, 4);
    return at;
}

static uint32_t put_struct(const char *name, uint64_t n_bytes)
{
    uint32_t at = entry(STRUCT);
    put_text(name);
    put_number(n_bytes, 8);
    return at;
}

static void put_member(const char *name, uint32_t type, uint8_t offset)
{
    entry(MEMBER);
    put_text(name);
    put_number(type, 4);
    put_number(offset, 1);
}

static uint32_t put_pointer(uint32_t type)
{
    uint32_t at = entry(POINTER);
    put_number(type, 4);
    return at;
}

static uint32_t put_array(uint32_t type, uint64_t n)
{
    uint32_t at = entry(ARRAY);
    put_number(type, 4);
    entry(RANGE);
    put_number(n, 8);
    put_number(0, 1);
    return at;
}

static void put_place(uint64_t vaddr)
{
    put_number(9, 1);
    put_number(DW_OP_addr, 1);
    put_number(vaddr, 8);
}

static uint32_t put_variable(const char *name, uint32_t type, uint64_t vaddr)
{
    uint32_t at = entry(VARIABLE);
    put_text(name);
    put_number(type, 4);
    put_place(vaddr);
    return at;
}

struct opened {
    struct hs_elf *elf;
    struct hs_ctypes *types;
    hs_type_file file;
};

static struct opened open_bytes(const uint8_t *abbrev, size_t n_abbrev)
{
    struct hs_error err = HS_ERROR_INIT;
    struct opened o = {NULL, NULL, 0};
    elf_writer_init(&w);
    elf_writer_section(&w, ".debug_info", SHT_PROGBITS, 0, info, n_info);
    elf_writer_section(&w, ".debug_abbrev", SHT_PROGBITS, 0, abbrev, n_abbrev);
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "forged", &o.elf, &err), HS_OK);
    assert_int_equal(hs_ctypes_new(&o.types, &err), HS_OK);
    assert_int_equal(hs_ctypes_add(o.types, o.elf, &o.file, &err), HS_OK);
    return o;
}

static struct opened finish(void)
{
    put_number(0, 1);
    uint32_t n = (uint32_t)n_info - 4;
    memcpy(info, &n, 4);
    return open_bytes(abbreviations, sizeof(abbreviations));
}

static void done(struct opened *o)
{
    hs_ctypes_free(o->types);
    hs_elf_close(o->elf);
}

/* The type at an entry; its slots. */
static size_t slots_of(struct opened *o, uint32_t die, bool *ret_is_cut)
{
    size_t n = 0;
    hs_ctype type = hs_ctypes_resolve_(o->types, o->file, die);
    struct hs_ctype_facts facts;
    hs_ctype_facts(o->types, type, &facts);
    assert_non_null(facts.name);
    hs_ctypes_slots(o->types, type, &n, ret_is_cut);
    return n;
}

static void ends_circles_of_typedefs(void **state)
{
    begin();
    uint32_t a = put_typedef("a", 0), b = put_typedef("b", a);
    memcpy(info + a + 3, &b, 4);
    put_variable("v", b, 0x1000);
    struct opened o = finish();
    struct hs_cvariable v;
    assert_int_equal(hs_ctypes_resolve_(o.types, o.file, b), 0);
    assert_false(hs_ctypes_variable_at(o.types, o.file, 0x1000, &v)); /* of no size */
    assert_true(hs_ctypes_n_damaged(o.types) > 0);
    done(&o);
}

static void ends_values_in_themselves(void **state)
{
    bool is_cut;
    begin();
    uint32_t s = put_struct("s", 16);
    put_member("self", s, 8);
    uint32_t p = 0;
    put_member("next", s, 0);
    put_number(0, 1);
    p = put_pointer(s);
    uint32_t d = put_struct("d", 16);
    entry(BASE);
    put_number(d, 4);
    put_number(0, 1);
    put_member("p", p, 8);
    put_number(0, 1);
    uint32_t v = put_variable("v", d, 0x1000);
    (void)v;
    struct opened o = finish();
    char text[64];
    assert_int_equal(slots_of(&o, s, &is_cut), 0);
    assert_int_equal(slots_of(&o, d, &is_cut), 1);
    hs_ctype type = hs_ctypes_resolve_(o.types, o.file, s);
    assert_true(hs_ctypes_place(o.types, type, 3, text, sizeof(text), NULL) < sizeof(text));
    assert_true(hs_ctypes_n_damaged(o.types) > 0);
    done(&o);
}

static void ends_pointers_to_themselves(void **state)
{
    begin();
    uint32_t p = put_pointer((uint32_t)n_info);
    put_variable("p", p, 0x1000);
    struct opened o = finish();
    struct hs_cvariable v;
    struct hs_ctype_facts facts;
    assert_true(hs_ctypes_variable_at(o.types, o.file, 0x1007, &v));
    hs_ctype_facts(o.types, v.type, &facts);
    assert_int_equal(facts.of, v.type);
    assert_true(strlen(facts.name) < 64);
    done(&o);
}

static void ends_circles_of_specifications(void **state)
{
    begin();
    uint32_t at = entry(COMPLETES);
    put_number(at, 4);
    put_place(0x1000);
    struct opened o = finish();
    struct hs_cvariable v;
    assert_false(hs_ctypes_variable_at(o.types, o.file, 0x1000, &v));
    done(&o);
}

static void cuts_arrays_of_any_size(void **state)
{
    enum { PAIRS = CTYPES_MAX_NESTED + 80 };
    bool is_cut = false;
    begin();
    uint32_t p = put_pointer(0), c = entry(CHAR);
    put_text("char");
    put_number(1, 1);
    uint32_t huge = put_array(p, UINT64_C(1) << 60), wraps = put_array(p, UINT64_C(1) << 62);
    uint32_t chars = put_array(c, UINT64_C(1) << 60), nested = p, pairs[PAIRS];
    for (int i = 0; i < 2; i++)
        nested = put_array(nested, 1 << 20);
    for (uint32_t i = 0; i < PAIRS; i++) {
        uint32_t of = i == 0 ? p : pairs[i - 1]; /* values in values, deeper than is looked */
        pairs[i] = put_struct("pair", UINT64_C(16) << (i < 50 ? i : 50));
        put_member("a", of, 0);
        put_member("b", of, 8);
        put_number(0, 1);
    }
    put_variable("v", huge, 0x1000);
    struct opened o = finish();
    struct hs_cvariable v;
    assert_int_equal(slots_of(&o, huge, &is_cut), HS_CTYPE_MAX_SLOTS);
    assert_true(is_cut);
    assert_int_equal(slots_of(&o, chars, &is_cut), 0);
    assert_false(is_cut);
    assert_int_equal(slots_of(&o, nested, &is_cut), HS_CTYPE_MAX_SLOTS);
    assert_true(is_cut);
    slots_of(&o, wraps, &is_cut);
    assert_true(slots_of(&o, pairs[PAIRS - 1], &is_cut) <= HS_CTYPE_MAX_SLOTS);
    assert_true(is_cut);
    assert_true(hs_ctypes_variable_at(o.types, o.file, 0x1000 + (UINT64_C(1) << 62), &v));
    done(&o);
}

static void takes_a_declaration_for_what_it_is(void **state)
{
    begin();
    uint32_t lost = entry(DECLARED);
    put_text("lost");
    uint32_t found = entry(DECLARED);
    put_text("found");
    uint32_t p = put_pointer(found), s = put_struct("found", 8);
    put_member("p", p, 0);
    put_number(0, 1);
    (void)s;
    struct opened o = finish();
    struct hs_ctype_facts facts;
    bool is_cut;
    hs_ctype_facts(o.types, hs_ctypes_resolve_(o.types, o.file, lost), &facts);
    assert_true(facts.is_declaration && facts.n_bytes == 0);
    assert_string_equal(facts.name, "lost");
    hs_ctype_facts(o.types, hs_ctypes_resolve_(o.types, o.file, found), &facts);
    assert_true(!facts.is_declaration && facts.n_bytes == 8);
    assert_int_equal(slots_of(&o, found, &is_cut), 1);
    done(&o);
}

static void takes_a_name_of_void_for_a_declaration(void **state)
{
    begin();
    uint32_t handle = entry(ALIAS);
    put_text("CURL");
    uint32_t plain = entry(ALIAS);
    put_text("GLvoid");
    uint32_t alias = entry(TYPEDEF);
    put_text("session");
    put_number(handle, 4);
    uint32_t p = put_pointer(alias);
    struct opened o = finish();
    struct hs_ctype_facts facts;
    hs_ctype_facts(o.types, hs_ctypes_resolve_(o.types, o.file, p), &facts);
    assert_int_equal(facts.kind, HS_CTYPE_POINTER);
    assert_true(hs_ctypes_is_opaque(o.types, facts.of));
    hs_ctype_facts(o.types, facts.of, &facts);
    assert_true(facts.is_declaration && facts.n_bytes == 0);
    assert_int_equal(hs_ctypes_resolve_(o.types, o.file, plain), 0);
    assert_false(hs_ctypes_is_opaque(o.types, 0));
    done(&o);
}

static void passes_over_what_is_too_deep(void **state)
{
    begin();
    for (int i = 0; i < 1000; i++)
        entry(NESTED);
    put_variable("deep", 0, 0x1000);
    for (int i = 0; i < 1000; i++)
        put_number(0, 1);
    put_variable("flat", 0, 0x2000);
    struct opened o = finish();
    struct hs_cvariable v;
    assert_false(hs_ctypes_variable_at(o.types, o.file, 0x1000, &v));
    assert_true(hs_ctypes_n_damaged(o.types) > 0);
    done(&o);
}

/* Any byte of the unit or of the abbreviations may be anything: no crash, no hang. */
static void survives_each_damaged_byte(void **state)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    begin();
    uint32_t s = put_struct("s", 16), p = 0;
    put_member("a", s + 40, 0);
    put_number(0, 1);
    p = put_pointer(s);
    put_variable("v", put_array(p, 3), 0x1000);
    struct opened o = finish();
    done(&o);
    for (size_t i = 0; i < n_info + sizeof(abbreviations); i++)
        for (size_t j = 0; j < sizeof(values); j++) {
            static uint8_t kept[sizeof(info)], bad[sizeof(abbreviations)];
            memcpy(kept, info, n_info);
            memcpy(bad, abbreviations, sizeof(bad));
            if (i < n_info)
                info[i] = values[j];
            else
                bad[i - n_info] = values[j];
            o = open_bytes(bad, sizeof(bad));
            struct hs_cvariable v;
            size_t n = 0;
            bool is_cut;
            if (o.file != 0 && hs_ctypes_variable_at(o.types, o.file, 0x1000, &v))
                hs_ctypes_slots(o.types, v.type, &n, &is_cut);
            assert_true(n <= HS_CTYPE_MAX_SLOTS);
            done(&o);
            memcpy(info, kept, n_info);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_circles_of_typedefs),
        cmocka_unit_test(ends_values_in_themselves),
        cmocka_unit_test(ends_pointers_to_themselves),
        cmocka_unit_test(ends_circles_of_specifications),
        cmocka_unit_test(cuts_arrays_of_any_size),
        cmocka_unit_test(takes_a_declaration_for_what_it_is),
        cmocka_unit_test(takes_a_name_of_void_for_a_declaration),
        cmocka_unit_test(passes_over_what_is_too_deep),
        cmocka_unit_test(survives_each_damaged_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
