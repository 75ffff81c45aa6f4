/* links: hs_symbols hs_dep_dwarf hs_base */
/* Functions whose debug information is written by hand, and lies. Truthful ones are asked in
 * locals_live_test.c. */
#include "unit.h"

#include <dwarf.h>

#include "elf_writer.h"
#include "symbols/locals.h"

enum { CODE = 0x1000, CFA = 0x7000 };
#define BIAS UINT64_C(0x550000000000)
enum abbreviation {
    A_UNIT = 1,
    A_FUNCTION,
    A_BLOCK,
    A_TURNED,
    A_VARIABLE,
    A_INLINED,
    A_SELF,
    A_ORIGIN
};

static const uint8_t abbreviations[] = {A_UNIT,
                                        DW_TAG_compile_unit,
                                        1,
                                        DW_AT_low_pc,
                                        DW_FORM_addr,
                                        DW_AT_high_pc,
                                        DW_FORM_data4,
                                        DW_AT_addr_base,
                                        DW_FORM_sec_offset,
                                        0,
                                        0, //
                                        A_FUNCTION,
                                        DW_TAG_subprogram,
                                        1,
                                        DW_AT_name,
                                        DW_FORM_string,
                                        DW_AT_low_pc,
                                        DW_FORM_addrx1,
                                        DW_AT_high_pc,
                                        DW_FORM_data2,
                                        DW_AT_frame_base,
                                        DW_FORM_exprloc,
                                        0,
                                        0, //
                                        A_BLOCK,
                                        DW_TAG_lexical_block,
                                        1,
                                        DW_AT_low_pc,
                                        DW_FORM_addrx1,
                                        DW_AT_high_pc,
                                        DW_FORM_data1,
                                        0,
                                        0, //
                                        A_TURNED,
                                        DW_TAG_lexical_block,
                                        1,
                                        DW_AT_low_pc,
                                        DW_FORM_addr,
                                        DW_AT_high_pc,
                                        DW_FORM_addr,
                                        0,
                                        0, //
                                        A_VARIABLE,
                                        DW_TAG_variable,
                                        0,
                                        DW_AT_name,
                                        DW_FORM_string,
                                        DW_AT_location,
                                        DW_FORM_exprloc,
                                        0,
                                        0, //
                                        A_INLINED,
                                        DW_TAG_inlined_subroutine,
                                        1,
                                        DW_AT_abstract_origin,
                                        DW_FORM_ref4,
                                        DW_AT_low_pc,
                                        DW_FORM_addrx1,
                                        DW_AT_high_pc,
                                        DW_FORM_data1,
                                        DW_AT_call_line,
                                        DW_FORM_data1,
                                        0,
                                        0, //
                                        A_SELF,
                                        DW_TAG_subprogram,
                                        0,
                                        DW_AT_abstract_origin,
                                        DW_FORM_ref4,
                                        0,
                                        0, //
                                        A_ORIGIN,
                                        DW_TAG_formal_parameter,
                                        0,
                                        DW_AT_abstract_origin,
                                        DW_FORM_ref4,
                                        DW_AT_location,
                                        DW_FORM_exprloc,
                                        0,
                                        0,
                                        0};

static const uint8_t addresses[] = {20,   0,    0, 0, 5, 0, 8, 0,
                                    0,    0x10, 0, 0, 0, 0, 0, 0, /* [0]: CODE */
                                    0x10, 0x10, 0, 0, 0, 0, 0, 0 /* [1]: CODE + 16 */};

static uint8_t info[60000];
static size_t n_info;
static struct elf_writer w;
static struct hs_locals locals;

static void put(const void *bytes, size_t n_bytes)
{
    assert_true(n_info + n_bytes < sizeof(info));
    memcpy(info + n_info, bytes, n_bytes);
    n_info += n_bytes;
}
#define PUT(...) put((uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static void put_variable(const char *name, const void *expression, size_t n)
{
    PUT(A_VARIABLE);
    put(name, strlen(name) + 1);
    PUT((uint8_t)n);
    put(expression, n);
}
#define PUT_VARIABLE(name, ...) \
    put_variable(name, (uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* The unit and, open, the function "f" [CODE, CODE + 256). */
static void begin(void)
{
    n_info = 0;
    PUT(0, 0, 0, 0, 5, 0, DW_UT_compile, 8, 0, 0, 0, 0);
    PUT(A_UNIT, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 8, 0, 0, 0);
    PUT(A_FUNCTION, 'f', 0, 0, 0, 1, 1, DW_OP_call_frame_cfa);
}

static void put_inlined(uint32_t origin, uint8_t address, uint8_t n_bytes, uint8_t line)
{
    PUT(A_INLINED);
    put(&origin, 4);
    PUT(address, n_bytes, line);
}

static bool read_nothing(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    (void)context, (void)at, (void)ret, (void)n_bytes;
    return false;
}

/* Closes all entries and asks at CODE + offset. */
static void ask(uint64_t offset)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_ctypes) *types = NULL;
    struct hs_registers r = {.known = 1u << HS_RIP | 1u << HS_RBX};
    struct hs_memory_reader memory = {read_nothing, NULL};
    r.value[HS_RIP] = BIAS + CODE + offset;
    struct hs_frame_place place = {.bias = BIAS, .registers = &r, .cfa = CFA, .memory = &memory};
    PUT(0, 0, 0);
    uint32_t n = (uint32_t)n_info - 4;
    memcpy(info, &n, 4);
    elf_writer_init(&w);
    elf_writer_section(&w, ".debug_info", SHT_PROGBITS, 0, info, n_info);
    elf_writer_section(&w, ".debug_abbrev", SHT_PROGBITS, 0, abbreviations, sizeof(abbreviations));
    elf_writer_section(&w, ".debug_addr", SHT_PROGBITS, 0, addresses, sizeof(addresses));
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "made", &elf, &err), HS_OK);
    assert_int_equal(hs_ctypes_new(&types, &err), HS_OK);
    assert_int_equal(hs_ctypes_add(types, elf, &place.file, &err), HS_OK);
    assert_int_not_equal(place.file, 0);
    memset(&locals, 0x5a, sizeof(locals));
    assert_int_equal(hs_locals_at(types, &place, &locals, &err), HS_OK);
    for (size_t i = 0; i < locals.n_locals; i++) /* names go with the types */
        locals.locals[i].name = locals.locals[i].name[0] == '\0' ? "" : "named";
    for (size_t i = 0; locals.is_known && i + 1 < locals.n_chain; i++)
        locals.chain[i].function = "inlined";
    if (locals.is_known)
        assert_string_equal(locals.chain[locals.n_chain - 1].function, "f");
}

static void takes_what_is_in_scope(void **state)
{
    begin();
    PUT_VARIABLE("a", DW_OP_fbreg, 0x70);
    PUT(A_BLOCK, 1, 16);
    PUT_VARIABLE("b", DW_OP_fbreg, 0x68);
    PUT(0);
    ask(16);
    assert_true(locals.is_known && locals.is_complete);
    assert_int_equal(locals.n_chain, 1);
    assert_int_equal(locals.n_locals, 2);
    assert_int_equal(locals.locals[0].address, CFA - 16);
    assert_int_equal(locals.locals[1].address, CFA - 24);
    assert_int_equal(locals.locals[1].reg, HS_N_REGISTERS);
    assert_int_equal(locals.locals[1].type, 0);
    n_info -= 3;
    ask(32); /* behind the block */
    assert_int_equal(locals.n_locals, 1);
    n_info -= 3;
    ask(256); /* behind the function */
    assert_false(locals.is_known || locals.is_complete || locals.n_locals > 0 ||
                 locals.n_chain > 0);
}

static void gives_pieces_apart(void **state)
{
    begin();
    PUT_VARIABLE("p", DW_OP_reg3, DW_OP_piece, 8, DW_OP_fbreg, 0x70, DW_OP_piece, 16);
    ask(0);
    assert_true(locals.is_complete);
    assert_int_equal(locals.n_locals, 2);
    assert_int_equal(locals.locals[0].reg, HS_RBX);
    assert_true(locals.locals[0].n_bytes == 8 && locals.locals[0].offset_bytes == 0);
    assert_int_equal(locals.locals[1].address, CFA - 16);
    assert_true(locals.locals[1].n_bytes == 16 && locals.locals[1].offset_bytes == 8);
}

static void doubts_what_it_cannot_evaluate(void **state)
{
    static const uint8_t bad[][4] = {{DW_OP_skip, 0xfd, 0xff, DW_OP_nop}, /* for ever */
                                     {DW_OP_breg0, 0, DW_OP_nop, DW_OP_nop},
                                     {DW_OP_lit1, DW_OP_deref, DW_OP_nop, DW_OP_nop},
                                     {DW_OP_piece, 8, DW_OP_nop, DW_OP_drop},
                                     {0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin();
        put_variable("x", bad[i], 4);
        PUT_VARIABLE("y", DW_OP_fbreg, 0);
        ask(0);
        assert_true(locals.is_known);
        assert_false(locals.is_complete);
        assert_int_equal(locals.n_locals, 1);
    }
    begin();
    put_variable("gone", "", 0);
    ask(0);
    assert_false(locals.is_complete);
    assert_int_equal(locals.n_locals, 0);
}

/* Blocks that end before they begin, or wrap. */
static void passes_over_turned_blocks(void **state)
{
    static const uint64_t turned[][2] = {{CODE + 32, CODE}, {CODE, CODE}, {UINT64_MAX, CODE + 64}};
    begin();
    for (size_t i = 0; i < 3; i++) {
        PUT(A_TURNED);
        put(turned[i], 16);
        PUT_VARIABLE("never", DW_OP_fbreg, 0);
        PUT(0);
    }
    ask(8);
    assert_true(locals.is_known);
    assert_int_equal(locals.n_locals, 0);
}

static void bounds_names_that_refer_to_themselves(void **state)
{
    begin();
    uint32_t here = (uint32_t)n_info;
    PUT(A_SELF);
    put(&here, 4);
    put_inlined(here, 0, 64, 7);
    here = (uint32_t)n_info;
    PUT(A_ORIGIN);
    put(&here, 4);
    PUT(2, DW_OP_fbreg, 0);
    PUT(A_ORIGIN, 0xff, 0xff, 0xff, 0xff, 2, DW_OP_fbreg, 0);
    PUT(0);
    ask(8);
    assert_int_equal(locals.n_chain, 2);
    assert_int_equal(locals.chain[1].line, 7);
    assert_int_equal(locals.n_locals, 2);
    assert_string_equal(locals.locals[0].name, "");
    assert_true(locals.locals[0].is_argument);
}

static void bounds_the_chain_of_inlined_functions(void **state)
{
    for (unsigned n = 1; n <= 200; n = n * 3 + 1) {
        begin();
        for (unsigned i = 0; i < n; i++)
            put_inlined(12, 0, 64, (uint8_t)(i + 1));
        PUT_VARIABLE("deep", DW_OP_fbreg, 0);
        for (unsigned i = 0; i < n; i++)
            PUT(0);
        ask(8);
        bool fits = n < HS_INLINED_MAX;
        assert_int_equal(locals.n_chain, fits ? n + 1 : HS_INLINED_MAX);
        assert_int_equal(locals.is_complete, fits);
        assert_int_equal(locals.n_locals, fits ? 1 : 0);
        assert_int_equal(locals.chain[locals.n_chain - 1].line, 1);
    }
}

/* Side by side they cannot both be around one instruction. */
static void takes_one_of_two_inlined_functions(void **state)
{
    begin();
    for (uint8_t i = 0; i < 2; i++) {
        put_inlined(12, 0, 64, (uint8_t)(i + 1));
        PUT_VARIABLE("mine", DW_OP_fbreg, i);
        PUT(0);
    }
    ask(8);
    assert_int_equal(locals.n_chain, 2);
    assert_int_equal(locals.chain[1].line, 1);
    assert_int_equal(locals.n_locals, 1);
    assert_int_equal(locals.locals[0].address, CFA);
    assert_false(locals.is_complete);
}

static void bounds_depth_and_number(void **state)
{
    begin();
    for (int i = 0; i < 18000; i++)
        PUT(A_BLOCK, 0, 64);
    PUT_VARIABLE("deep", DW_OP_fbreg, 0);
    ask(8);
    assert_true(locals.is_known);
    assert_false(locals.is_complete);
    assert_int_equal(locals.n_locals, 0);

    begin();
    for (int i = 0; i < 6000; i++)
        PUT_VARIABLE("v", DW_OP_fbreg, 0);
    ask(8);
    assert_int_equal(locals.n_locals, HS_LOCALS_MAX);
    assert_false(locals.is_complete);
}

/* Cut anywhere, the unit says less, and never what it did not say. */
static void survives_being_cut(void **state)
{
    begin();
    PUT_VARIABLE("a", DW_OP_fbreg, 0x70);
    put_inlined(12, 0, 64, 7);
    PUT_VARIABLE("b", DW_OP_fbreg, 0x68);
    size_t n_whole = n_info;
    for (size_t n = 29; n < n_whole; n++) {
        n_info = n - 3; /* ask ends it with three zeros */
        uint8_t kept[3];
        memcpy(kept, info + n_info, 3);
        ask(8);
        assert_true(locals.n_locals <= 2);
        memcpy(info + n - 3, kept, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_in_scope),
        cmocka_unit_test(gives_pieces_apart),
        cmocka_unit_test(doubts_what_it_cannot_evaluate),
        cmocka_unit_test(passes_over_turned_blocks),
        cmocka_unit_test(bounds_names_that_refer_to_themselves),
        cmocka_unit_test(bounds_the_chain_of_inlined_functions),
        cmocka_unit_test(takes_one_of_two_inlined_functions),
        cmocka_unit_test(bounds_depth_and_number),
        cmocka_unit_test(survives_being_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
