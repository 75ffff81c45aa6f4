/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Marshalled values, and the table of symbols at the end of a bytecode program. */
#include "unit.h"

#include "base/alloc.h"
#include "ocaml/bytecode/bytecode.h"
#include "ocaml/bytecode/marshal.h"

enum { HEAD_BYTES = 20 };

/* {2; Node (Empty, Global "Store", 1, Node (Empty, Predef {"Not_found"; 3}, 0, Empty, 1), 2)} */
static const uint8_t table[] = {
    0x84, 0x95, 0xA6, 0xBE, 0,    0,    0,   0,    0,   0,   0,   0,    0,    0,    0,    0,
    0,    0,    0,    0,    0xA0, 0x42,            /* a block of two fields: 2, */
    0xD0, 0x40,                                    /* a node of five */
    0x92, 0x25, 'S',  't',  'o',  'r',  'e', 0x41, /* tag 2 */
    0xD0, 0x40,                                    /* a node */
    0xA3, 0x29, 'N',  'o',  't',  '_',  'f', 'o',  'u', 'n', 'd', 0x43, 0x40, 0x40, 0x41, /* tag 3
                                                                                           */
    0x42};

static struct hs_marshal read_well(const uint8_t *bytes, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_marshal value;
    assert_int_equal(hs_marshal_read(&value, bytes, n, &err), HS_OK);
    return value;
}

static hs_status read_codes(const uint8_t *codes, size_t n)
{
    static const uint8_t magic[] = {0x84, 0x95, 0xA6, 0xBE};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_marshal value;
    uint8_t bytes[64] = {0};
    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + HEAD_BYTES, codes, n);
    hs_status status = hs_marshal_read(&value, bytes, HEAD_BYTES + n, &err);
    if (status == HS_OK)
        hs_marshal_fini(&value);
    return status;
}

static void blocks_texts_and_numbers_are_read(void **state)
{
    struct hs_marshal v = read_well(table, sizeof table);
    assert_int_equal(v.n_objects, 7);
    assert_int_equal(v.objects[0].n, 2);
    assert_int_equal(v.fields[v.objects[0].first], 5); /* 2 */
    const struct hs_marshal_object *node = hs_marshal_at(&v, v.fields[v.objects[0].first + 1]);
    assert_int_equal(node->n, 5);
    const struct hs_marshal_object *global = hs_marshal_at(&v, v.fields[node->first + 1]);
    assert_int_equal(global->tag, 2);
    const struct hs_marshal_object *text = hs_marshal_at(&v, v.fields[global->first]);
    assert_int_equal(text->tag, HS_MARSHAL_TEXT);
    assert_memory_equal(v.bytes + text->first, "Store", 5);
    hs_marshal_fini(&v);
}

static void what_was_before_is_shared(void **state)
{
    static const uint8_t codes[] = {0xA0, 0x21, 'a', 0x04, 0x01};
    uint8_t bytes[HEAD_BYTES + sizeof codes] = {0x84, 0x95, 0xA6, 0xBE};
    memcpy(bytes + HEAD_BYTES, codes, sizeof codes);
    struct hs_marshal v = read_well(bytes, sizeof bytes);
    assert_int_equal(v.n_objects, 2);
    assert_int_equal(v.fields[0], v.fields[1]);
    hs_marshal_fini(&v);
}

static void what_lies_is_refused(void **state)
{
    static const uint8_t early[] = {0xA0, 0x41}, large[] = {0x08, 0xFF, 0xFF, 0xFF, 0x00, 0x40},
                         text[] = {0x0A, 0xFF, 0xFF, 0xFF, 0xFF}, back[] = {0xA0, 0x04, 0x07, 0x40},
                         zero[] = {0xA0, 0x04, 0x00, 0x40}, custom[] = {0x12, '_', 0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_marshal value;

    assert_int_equal(read_codes(early, sizeof early), HS_FORMAT);
    assert_int_equal(read_codes(large, sizeof large), HS_FORMAT);
    assert_int_equal(read_codes(text, sizeof text), HS_FORMAT);
    assert_int_equal(read_codes(back, sizeof back), HS_FORMAT);
    assert_int_equal(read_codes(zero, sizeof zero), HS_FORMAT);
    assert_int_equal(read_codes(custom, sizeof custom), HS_FORMAT);
    assert_int_equal(hs_marshal_read(&value, "no magic", 8, &err), HS_FORMAT);
    for (size_t n = 0; n < sizeof table; n++)
        assert_int_equal(hs_marshal_read(&value, table, n, &err), HS_FORMAT);
}

/* Makes a file of a section and its table. */
static size_t make_file(uint8_t *file, const char *name, uint8_t n_said)
{
    uint8_t tail[] = {'S', 'Y', 'M', 'B', 0,   0,   0,   n_said, 0,   0,   0,   1,
                      'C', 'a', 'm', 'l', '1', '9', '9', '9',    'X', '0', '3', '0'};
    memcpy(tail, name, 4);
    memset(file, 7, 5);
    memcpy(file + 5, table, sizeof table);
    memcpy(file + 5 + sizeof table, tail, sizeof tail);
    return 5 + sizeof table + sizeof tail;
}

static hs_status names_of(const char *section, uint8_t n_said, size_t *ret_n, char *first,
                          char *second)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_bytecode_names names = {0};
    struct hs_strtab strings = {0};
    uint8_t file[256];
    size_t n = make_file(file, section, n_said);
    hs_status status = hs_bytecode_names_of(file, n, &strings, &names, &err);
    *ret_n = names.n;
    if (names.n == 2) {
        snprintf(first, 32, "%s", hs_strtab_get(&strings, names.names[0]));
        snprintf(second, 32, "%s", hs_strtab_get(&strings, names.names[1]));
    }
    hs_free(names.names);
    hs_strtab_fini(&strings);
    return status;
}

static void globals_have_the_names_of_the_file(void **state)
{
    char first[32], second[32];
    size_t n;

    assert_int_equal(names_of("SYMB", sizeof table, &n, first, second), HS_OK);
    assert_int_equal(n, 2);
    assert_string_equal(first, "Not_found");
    assert_string_equal(second, "Store");
}

static void a_file_without_the_table_has_none(void **state)
{
    char first[32], second[32];
    size_t n;

    assert_int_equal(names_of("CODE", sizeof table, &n, first, second), HS_FORMAT);
    assert_int_equal(names_of("SYMB", 255, &n, first, second), HS_FORMAT);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_texts_and_numbers_are_read),
        cmocka_unit_test(what_was_before_is_shared),
        cmocka_unit_test(what_lies_is_refused),
        cmocka_unit_test(globals_have_the_names_of_the_file),
        cmocka_unit_test(a_file_without_the_table_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
