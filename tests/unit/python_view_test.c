/* links: hs_python */
/* Python's structures in made-up memory: tables, texts, types and lines as they are, and hostile.
 */
#include "unit.h"

#include "python/python.h"

#define BASE UINT64_C(0x7f0000000000)
enum { WORDS = 1024, TYPE_TYPE = 0, FIRST = 256, SECOND = 320, TEXT = 512, TABLE = 600 };
enum { AT_TYPE = 1, AT_NAME = 3, AT_BASIC_SIZE = 4, AT_TYPE_FLAGS = 21, AT_BASE_TYPE = 32 };

static uint64_t *words; /* WORDS of them, at BASE */
static struct hs_dump *dump;
static struct py_view view;
static struct py_classes classes;
static struct hs_error err;

static hs_addr at(size_t word)
{
    return BASE + word * 8;
}

static void put_text(size_t word, const char *text)
{
    memcpy(&words[word], text, strlen(text) + 1);
}

/* A type called `name`, whose text stands at `name_at`. */
static void put_type(size_t word, size_t name_at, const char *name, hs_addr base)
{
    put_text(name_at, name);
    words[word + AT_TYPE] = at(TYPE_TYPE);
    words[word + AT_NAME] = at(name_at);
    words[word + AT_BASIC_SIZE] = 48;
    words[word + AT_TYPE_FLAGS] = 1 << 9;
    words[word + AT_BASE_TYPE] = base;
}

/* An ASCII text of 3.11. */
static void put_str(size_t word, const char *text, uint64_t length)
{
    words[word + 2] = length;
    words[word + 4] = 0x64;
    put_text(word + 6, text);
}

static int set_up(void **state)
{
    words = calloc(WORDS, sizeof *words);
    dump = calloc(1, sizeof *dump);
    assert_non_null(words);
    assert_non_null(dump);
    view =
        (struct py_view){.dump = dump, .layout = hs_python_layout(11), .type_type = at(TYPE_TYPE)};
    assert_int_equal(hs_image_add(&dump->image, BASE, words, WORDS * sizeof *words, &err), HS_OK);
    put_type(TYPE_TYPE, 200, "type", 0);
    return 0;
}

static int tear_down(void **state)
{
    hs_python_classes_fini(&classes);
    hs_image_fini(&dump->image);
    free(dump);
    free(words);
    return 0;
}

static void versions_are_known_or_not(void **state)
{
    for (unsigned minor = 9; minor <= 14; minor++)
        assert_int_equal(hs_python_layout(minor)->minor, minor);
    assert_null(hs_python_layout(8));
    assert_null(hs_python_layout(15));
    assert_null(hs_python_layout(0));
}

static void tables_say_no_more_than_there_is(void **state)
{
    struct py_keys keys;
    struct py_entries it;

    words[TABLE] = 1;
    words[TABLE + 1] = 3 | 3 << 8 | 1 << 16; /* eight indices, text */
    words[TABLE + 3] = 2;
    put_str(TEXT, "name", 4);
    words[TABLE + 5] = at(TEXT);
    words[TABLE + 6] = at(FIRST);
    assert_true(hs_python_keys(&view, at(TABLE), &keys));
    assert_int_equal(keys.entries, at(TABLE + 5));
    assert_int_equal(keys.n_entries, 2);
    words[FIRST + 4] = at(TABLE);
    hs_python_entries(&view, at(FIRST), &it);
    assert_true(hs_python_next_entry(&view, &it));
    assert_int_equal(it.value, at(FIRST));
    assert_false(hs_python_next_entry(&view, &it)); /* the second was deleted */
    assert_int_equal(hs_python_dict_value(&view, at(FIRST), "name"), at(FIRST));
    assert_int_equal(hs_python_dict_value(&view, at(FIRST), "other"), 0);

    words[TABLE + 3] = 9; /* more entries than indices */
    assert_false(hs_python_keys(&view, at(TABLE), &keys));
    words[TABLE + 1] = 40 | 40 << 8 | 1 << 16; /* a table larger than memory */
    words[TABLE + 3] = UINT64_C(1) << 40;
    hs_python_entries(&view, at(FIRST), &it);
    assert_false(hs_python_next_entry(&view, &it));
    words[TABLE + 1] = 200;
    assert_false(hs_python_keys(&view, at(TABLE), &keys));
    assert_false(hs_python_keys(&view, UINT64_MAX - 8, &keys));
}

static void only_identifiers_are_names(void **state)
{
    char text[PY_NAME_BYTES];

    put_str(TEXT, "Session.table", 13);
    assert_true(hs_python_identifier(&view, at(TEXT), true, text, sizeof text));
    assert_string_equal(text, "Session.table");
    assert_false(hs_python_identifier(&view, at(TEXT), false, text, sizeof text));
    assert_string_equal(text, "");
    put_str(TEXT, "a secret", 8);
    assert_false(hs_python_identifier(&view, at(TEXT), true, text, sizeof text));
    put_str(TEXT, "esc\033[2J", 7);
    assert_false(hs_python_identifier(&view, at(TEXT), true, text, sizeof text));
    put_str(TEXT, "claims", UINT64_C(1) << 60);
    assert_false(hs_python_ascii(&view, at(TEXT), text, sizeof text));
    put_str(TEXT, "longer", 3); /* no end where it says */
    assert_false(hs_python_ascii(&view, at(TEXT), text, sizeof text));
    words[TEXT + 4] = 0x24; /* not ASCII */
    assert_false(hs_python_ascii(&view, at(TEXT), text, sizeof text));
    assert_false(hs_python_ascii(&view, at(WORDS - 2), text, sizeof text));
    assert_false(hs_python_ascii(&view, 1, text, sizeof text));
}

static void types_that_lie_are_none(void **state)
{
    uint32_t number;

    put_type(FIRST, 210, "Own", at(SECOND)); /* its base derives from it */
    put_type(SECOND, 220, "Other", at(FIRST));
    assert_int_equal(hs_python_class(&view, &classes, at(FIRST), &number, &err), HS_OK);
    assert_true(number != HS_NO_NUMBER);
    assert_int_equal(classes.all[number].kind, PY_OTHER);
    assert_string_equal(classes.all[number].name, "Own");
    assert_int_equal(hs_python_class(&view, &classes, at(TEXT), &number, &err), HS_OK);
    assert_int_equal(number, HS_NO_NUMBER);

    hs_python_classes_fini(&classes);
    words[FIRST + AT_BASIC_SIZE] = UINT64_C(1) << 60;
    assert_int_equal(hs_python_class(&view, &classes, at(FIRST), &number, &err), HS_OK);
    assert_int_equal(number, HS_NO_NUMBER);
    words[SECOND + AT_TYPE] = at(FIRST); /* types of types in a circle */
    words[FIRST + AT_TYPE] = at(SECOND);
    assert_int_equal(hs_python_class(&view, &classes, at(SECOND), &number, &err), HS_OK);
    assert_int_equal(number, HS_NO_NUMBER);
}

/* The flags of a type are no address, even where they look like one: what it keeps are its base,
 * its dictionary and the like. */
static void numbers_of_types_are_none(void **state)
{
    enum { FLAGS = 168 / 8, VERSION = 384 / 8, BASE_OF_IT = 256 / 8, DICT_OF_IT = 264 / 8 };
    uint32_t number;

    words[TYPE_TYPE + AT_TYPE_FLAGS] = 0;
    words[TYPE_TYPE + AT_BASIC_SIZE] = 920;
    assert_int_equal(hs_python_class(&view, &classes, at(TYPE_TYPE), &number, &err), HS_OK);
    assert_true(number != HS_NO_NUMBER);
    const struct py_class *class = &classes.all[number];
    unsigned object = class->object_at / 8;
    assert_int_equal(class->kind, PY_TYPE);
    assert_false(class->owning >> (object + FLAGS) & 1);
    assert_false(class->owning >> (object + VERSION) & 1);
    assert_true(class->owning >> (object + BASE_OF_IT) & 1);
    assert_true(class->owning >> (object + DICT_OF_IT) & 1);
}

/* Items that are shorter than an address are numbers, as is how many there are. */
static void short_items_are_numbers(void **state)
{
    enum { AT_ITEM = AT_BASIC_SIZE + 1, BYTES = 96 };
    uint32_t number;

    for (uint64_t n_bytes = 4; n_bytes <= 8; n_bytes += 4) {
        hs_python_classes_fini(&classes);
        put_type(FIRST, 210, "re.Pattern", 0);
        words[FIRST + AT_TYPE_FLAGS] = 0;
        words[FIRST + AT_BASIC_SIZE] = BYTES;
        words[FIRST + AT_ITEM] = n_bytes;
        assert_int_equal(hs_python_class(&view, &classes, at(FIRST), &number, &err), HS_OK);
        const struct py_class *class = &classes.all[number];
        bool is_short = n_bytes < 8;
        assert_int_equal(class->kind, PY_OTHER);
        assert_int_equal(class->item_bytes, n_bytes);
        assert_int_equal(hs_python_items_lead(class), !is_short);
        assert_false(class->owning >> 2 & 1);
        assert_true(class->owning >> 4 & 1);
        assert_int_equal(class->owning >> (BYTES / 8 - 1) & 1, !is_short);
    }
}

/* The set of bits, or the hash, of a node of a context's map is a number, even where what was left
 * beside it makes it look like an address; its items lead to what the map has. */
static void bits_of_map_nodes_are_numbers(void **state)
{
    enum { AT_ITEM = AT_BASIC_SIZE + 1, AT_BITS = 3, FIRST_ITEM = 4 };
    const char *const names[] = {"hamt_bitmap_node", "hamt_collision_node", "hamt_other"};
    uint32_t number;

    for (unsigned i = 0; i < 3; i++) {
        hs_python_classes_fini(&classes);
        put_type(FIRST, 210, names[i], 0);
        words[FIRST + AT_TYPE_FLAGS] = 0;
        words[FIRST + AT_BASIC_SIZE] = FIRST_ITEM * sizeof words[0];
        words[FIRST + AT_ITEM] = sizeof words[0];
        assert_int_equal(hs_python_class(&view, &classes, at(FIRST), &number, &err), HS_OK);
        const struct py_class *class = &classes.all[number];
        assert_string_equal(class->name, names[i]);
        assert_int_equal(class->owning >> AT_BITS & 1, i == 2);
        assert_true(hs_python_items_lead(class));
    }
}

/* A class that says it is a list and is shorter than one is none: its items are not looked for. */
static void short_objects_are_of_no_kind(void **state)
{
    uint32_t number;

    put_type(SECOND, 220, "list", 0);
    words[SECOND + AT_TYPE_FLAGS] = 0;
    words[SECOND + AT_BASIC_SIZE] = 40;
    put_type(FIRST, 210, "Own", at(SECOND));
    words[FIRST + AT_BASIC_SIZE] = 16;
    assert_int_equal(hs_python_class(&view, &classes, at(FIRST), &number, &err), HS_OK);
    assert_int_equal(classes.all[number].kind, PY_OTHER);
    assert_int_equal(hs_python_class(&view, &classes, at(SECOND), &number, &err), HS_OK);
    assert_int_equal(classes.all[number].kind, PY_LIST);
    assert_int_equal(classes.all[number].owning, 1 << 1 | 1 << 3);
}

static void lines_end_with_their_table(void **state)
{
    const uint8_t table[] = {0x80 | 11 << 3 | 1, 0,    0, /* a line on, two units */
                             0x80 | 15 << 3,              /* none */
                             0x80 | 13 << 3,     0x45, 0x7f /* a number that does not end */};

    words[TEXT + 17] = at(TABLE); /* co_linetable */
    words[TEXT + 9] = 10;         /* co_firstlineno */
    words[TABLE + 2] = sizeof table;
    memcpy(&words[TABLE + 4], table, sizeof table);
    assert_int_equal(hs_python_line(&view, at(TEXT), 0), 11);
    assert_int_equal(hs_python_line(&view, at(TEXT), 3), 11);
    assert_int_equal(hs_python_line(&view, at(TEXT), 4), 0);
    (void)hs_python_line(&view, at(TEXT), 6);
    assert_int_equal(hs_python_line(&view, at(TEXT), UINT64_MAX), 0);
    words[TABLE + 2] = UINT64_C(1) << 60;
    assert_int_equal(hs_python_line(&view, at(TEXT), 0), 0);
}

/* Pairs of 3.9, whose lines come after their bytes, and of 3.10, some of which have none. */
static void lines_of_older_versions(void **state)
{
    const uint8_t of_9[] = {4, 1, 0, 5, 6, 0xfe, 3}, of_10[] = {4, 1, 2, 0x80, 6, 0xfe, 3};

    words[TEXT + 15] = at(TABLE);
    words[TEXT + 5] = 10; /* co_firstlineno */
    words[TABLE + 2] = sizeof of_9;
    memcpy(&words[TABLE + 4], of_9, sizeof of_9);
    view.layout = hs_python_layout(9);
    assert_int_equal(hs_python_line(&view, at(TEXT), 3), 10);
    assert_int_equal(hs_python_line(&view, at(TEXT), 4), 16);
    assert_int_equal(hs_python_line(&view, at(TEXT), 10), 14);
    memcpy(&words[TABLE + 4], of_10, sizeof of_10);
    view.layout = hs_python_layout(10);
    assert_int_equal(hs_python_line(&view, at(TEXT), 3), 11);
    assert_int_equal(hs_python_line(&view, at(TEXT), 4), 0);
    assert_int_equal(hs_python_line(&view, at(TEXT), 6), 9);
}

/* A table of deleted entries, gone through again and again: each is a look, and then there are
 * none. */
static void walks_end_when_too_much_is_asked(void **state)
{
    struct py_entries it;
    uint64_t looks = 12;
    uint32_t number;

    words[TABLE + 1] = 3 | 3 << 8 | 1 << 16;
    words[TABLE + 3] = 8;
    words[FIRST + 4] = at(TABLE);
    view.looks_left = &looks;
    for (int i = 0; i < 3; i++) {
        hs_python_entries(&view, at(FIRST), &it);
        assert_false(hs_python_next_entry(&view, &it));
    }
    assert_int_equal(looks, 0);
    assert_int_equal(hs_python_dict_value(&view, at(FIRST), "name"), 0);
    put_type(SECOND, 220, "list", 0); /* its bases would be walked */
    put_type(FIRST, 210, "Own", at(SECOND));
    assert_int_equal(hs_python_class(&view, &classes, at(FIRST), &number, &err), HS_OK);
    assert_int_equal(classes.all[number].kind, PY_OTHER);
}

/* What is no type takes no memory, and a table of lines that lies no look. */
static void what_lies_costs_nothing(void **state)
{
    uint64_t looks = 100;
    uint32_t number;

    view.looks_left = &looks;
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(hs_python_class(&view, &classes, at(i), &number, &err), HS_OK);
    assert_int_equal(classes.n, 1); /* "type" */
    looks = 100;
    words[TEXT + 17] = at(TABLE); /* co_linetable */
    words[TABLE + 2] = UINT64_C(1) << 60;
    assert_int_equal(hs_python_line(&view, at(TEXT), 0), 0);
    assert_int_equal(looks, 100);
    words[TABLE + 2] = 4096; /* as long as that, and it says nothing */
    assert_int_equal(hs_python_line(&view, at(TEXT), 0), 0);
    assert_int_equal(looks, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(versions_are_known_or_not),        TEST(tables_say_no_more_than_there_is),
        TEST(only_identifiers_are_names),       TEST(types_that_lie_are_none),
        TEST(numbers_of_types_are_none),        TEST(short_objects_are_of_no_kind),
        TEST(bits_of_map_nodes_are_numbers),    TEST(short_items_are_numbers),
        TEST(lines_end_with_their_table),       TEST(lines_of_older_versions),
        TEST(walks_end_when_too_much_is_asked), TEST(what_lies_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
