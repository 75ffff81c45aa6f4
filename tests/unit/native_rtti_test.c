/* links: hs_native */
#include "unit.h"

#include "elf_writer.h"
#include "native/flow.h"
#include "native_world.h"
#include "symbols/elf.h"

/* An object with names at 0x2000 (constant) and tables at 0x3000 (relocated, in the copy).
 *
 *   words 0.. of the data:  offset to top | type_info * | table of Foo | ...
 */
#define OBJECT UINT64_C(0x550000000000)
#define NAMES (OBJECT + 0x2000)
#define DATA (OBJECT + 0x3000)

enum { DERIVED = 1, DATA_WORDS = 64, ABI = 40 };

static const char names[64] = "N2ns7DerivedE\0*3Foo\0\0bad name\0"
                              "4Bare";
static struct world *w;
static struct hs_flow flow;
static struct elf_writer writer;
static struct hs_object object;
static struct hs_native_object of_object;
static uint64_t data[DATA_WORDS];

/* A table at word `at` of the data; the type_info behind it. Returns what an object holds. */
static uint64_t table(size_t at, uint64_t top, uint64_t name)
{
    data[at] = top;
    data[at + 1] = DATA + (at + 4) * 8;
    data[at + 4] = DATA + ABI * 8;
    data[at + 5] = name;
    return DATA + (at + 2) * 8;
}

static void make_object(uint16_t type)
{
    memset(&object, 0, sizeof object);
    memset(data, 0, sizeof data);
    elf_writer_init(&writer);
    writer.type = type;
    size_t text = elf_writer_section(&writer, ".rodata", SHT_PROGBITS, 0x2000, names, sizeof names);
    size_t there = elf_writer_section(&writer, ".data", SHT_PROGBITS, 0x3000, data, sizeof data);
    elf_writer_segment(&writer, PT_LOAD, PF_R, 0x2000, sizeof names, text);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_W, 0x3000, sizeof data, there);
    elf_writer_symbol(&writer, "__gxx_personality_v0", STT_FUNC, STB_GLOBAL, 0x2000, 8,
                      (uint16_t)text);
    elf_writer_finish(&writer);
    WORLD_OK(hs_elf_open_memory(writer.bytes, writer.n_bytes, "fake", &object.elf, &world_err));
    object.bias = OBJECT;
    object.begin = OBJECT;
    object.end = OBJECT + 0x4000;
    object.name = (char *)(uintptr_t) "fake";
    object.is_executable = true;
    w->dump.objects = (struct hs_objects){.objects = &object, .n = 1};
    w->native.of_object = &of_object;
}

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    make_object(ET_DYN);
    return 0;
}

static int tear_down(void **state)
{
    hs_flow_fini(&flow);
    hs_elf_close(object.elf);
    world_free(w);
    return 0;
}

static void run(void)
{
    WORLD_OK(hs_image_add(&w->dump.image, DATA, data, sizeof data, &world_err));
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
}

static void is(hs_addr block, const char *name)
{
    assert_string_equal(world_type_of(w, &flow, block), name);
}

static void names_without_debug_information(void **state)
{
    hs_addr derived = world_block(w, 48), again = world_block(w, 100), foo = world_block(w, 16);
    hs_addr plain = world_block(w, 16);
    *world_word(w, derived) = *world_word(w, again) = table(0, 0, NAMES);
    *world_word(w, foo) = table(10, 0, NAMES + 14);
    *world_word(w, plain) = 7;
    run();
    is(derived, "ns::Derived");
    is(again, "ns::Derived");
    is(foo, "Foo");
    is(plain, "");
    assert_int_equal(flow.n_by_rtti, 3);
    assert_int_equal(flow.types.n_types, 2);
}

static void what_is_no_table(void **state)
{
    hs_addr blocks[9];
    for (size_t i = 0; i < 9; i++)
        blocks[i] = world_block(w, 24);
    *world_word(w, blocks[0]) = table(0, 8, NAMES);            /* of a base further inside */
    *world_word(w, blocks[1]) = table(10, 0, NAMES + 20);      /* no text */
    *world_word(w, blocks[2]) = table(20, 0, NAMES + 21);      /* not the name of a type */
    *world_word(w, blocks[3]) = table(30, 0, OBJECT + 0x9000); /* nowhere */
    *world_word(w, blocks[4]) = DATA;                          /* no room for what stands before */
    *world_word(w, blocks[5]) = DATA + DATA_WORDS * 8;         /* at the end */
    *world_word(w, blocks[6]) = NAMES;                         /* constant, not relocated */
    *world_word(w, blocks[7]) = DATA + 4;
    *world_word(w, blocks[8]) = 8;
    run();
    for (size_t i = 0; i < 9; i++)
        is(blocks[i], "");
    assert_int_equal(flow.n_by_rtti, 0);
}

/* The record of debug information says more: size, pointers, and types flow on from it. */
static void with_debug_information(void **state)
{
    world_type(DERIVED, "ns::Derived", HS_CTYPE_RECORD, 24);
    world_slot(DERIVED, "next", 8, DERIVED);
    hs_addr one = world_block(w, 24), next = world_block(w, 32), many = world_block(w, 72);
    hs_addr small = world_block(w, 16);
    uint64_t of_derived = table(0, 0, NAMES);
    *world_word(w, one) = *world_word(w, small) = of_derived;
    *world_word(w, one + 8) = next; /* whose own first word says nothing */
    for (unsigned i = 0; i < 3; i++)
        *world_word(w, many + i * 24) = of_derived;
    run();
    is(one, "ns::Derived");
    is(next, "ns::Derived");
    is(many, "ns::Derived[]");
    is(small, "");
    assert_int_equal(flow.n_by_rtti, 2);
}

/* Writes the header of an exception before its object: libstdc++'s or libc++abi's class. */
static hs_addr thrown(uint64_t n_bytes, uint64_t info, uint64_t class)
{
    hs_addr block = world_block(w, n_bytes);
    *world_word(w, block) = 1;
    *world_word(w, block + 16) = info;
    *world_word(w, block + 96) = class;
    return block;
}

static void what_was_thrown(void **state)
{
    world_type(DERIVED, "ns::Derived", HS_CTYPE_RECORD, 24);
    world_slot(DERIVED, "next", 8, DERIVED);
    const uint64_t gnu = UINT64_C(0x474e5543432b2b00), clang = UINT64_C(0x434c4e47432b2b00);
    (void)table(0, 0, NAMES);
    (void)table(10, 0, NAMES + 14);
    (void)table(20, 0, NAMES + 21); /* not the name of a type */
    hs_addr one = thrown(152, DATA + 32, gnu), next = world_block(w, 24);
    *world_word(w, one + 128 + 8) = next;
    hs_addr again = thrown(160, DATA + 32, clang), foo = thrown(152, DATA + 14 * 8, gnu);
    hs_addr none[] = {thrown(152, DATA + 24 * 8, gnu),
                      thrown(152, DATA + 32, gnu + 1),
                      thrown(152, NAMES, gnu),
                      thrown(152, DATA + 36, gnu),
                      thrown(152, 0, gnu),
                      thrown(128, DATA + 32, gnu)};
    run();
    is(one, "ns::Derived (thrown)");
    is(again, "ns::Derived (thrown)");
    is(next, "ns::Derived"); /* types flow on from the object */
    is(foo, "Foo (thrown)");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        is(none[i], "");
}

/* A program that is not moved has its tables in constant data, which is not in the copy. */
static void at_a_fixed_address(void **state)
{
    hs_elf_close(object.elf);
    make_object(ET_EXEC);
    hs_addr foo = world_block(w, 16), none = world_block(w, 16);
    *world_word(w, foo) = table(10, 0, NAMES + 14);
    *world_word(w, none) = NAMES + 16;
    run();
    is(foo, "Foo");
    is(none, "");
}

static void many_tables(void **state)
{
    struct hs_rtti rtti;
    struct hs_native_types types = {.strings = &w->dump.strings};
    hs_ntype first = 0, type;
    uint64_t good = table(0, 0, NAMES);
    WORLD_OK(hs_image_add(&w->dump.image, DATA, data, sizeof data, &world_err));
    assert_int_equal(hs_rtti_open(&rtti, &w->native, &world_err), HS_OK);
    assert_true(rtti.is_possible);
    for (int round = 0; round < 3; round++)
        for (uint64_t at = 0; at < sizeof data; at += 8) {
            assert_int_equal(hs_rtti_find(&rtti, &types, DATA + at, &type, &world_err), HS_OK);
            assert_int_equal(type != 0, DATA + at == good);
            if (type != 0)
                assert_true(first == 0 || type == first);
            first = type != 0 ? type : first;
        }
    assert_int_equal(rtti.tables.n, DATA_WORDS);
    hs_rtti_close(&rtti);
    hs_rtti_close(&rtti);
    hs_native_types_fini(&types);
}

/* Without anything of C++ no first word is looked at. */
static void no_cplusplus(void **state)
{
    hs_elf_close(object.elf);
    make_object(ET_DYN);
    struct hs_elf *with = object.elf;
    struct elf_writer other;
    elf_writer_sample(&other);
    elf_writer_finish(&other);
    WORLD_OK(hs_elf_open_memory(other.bytes, other.n_bytes, "sample", &object.elf, &world_err));
    struct hs_rtti rtti;
    assert_int_equal(hs_rtti_open(&rtti, &w->native, &world_err), HS_OK);
    /* a program without interpreter and symbol table could be anything */
    assert_int_equal(rtti.is_possible,
                     !hs_elf_has_interpreter(object.elf) && !hs_elf_has_symtab(object.elf));
    hs_rtti_close(&rtti);
    hs_elf_close(with);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(names_without_debug_information),
        TEST(what_is_no_table),
        TEST(with_debug_information),
        TEST(what_was_thrown),
        TEST(at_a_fixed_address),
        TEST(many_tables),
        TEST(no_cplusplus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
