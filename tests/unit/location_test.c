/* links: hs_symbols hs_dep_dwarf hs_base */
#include "unit.h"

#include <dwarf.h>

#include "symbols/dwarf/location.h"

/* Memory where each 8-byte word holds its own address plus 1; nothing below 0x1000. */
static bool read_pattern(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    uint64_t word = at + 1;
    if (at < 0x1000)
        return false;
    memcpy(ret, &word, n_bytes);
    return true;
}

static const struct hs_memory_reader memory = {read_pattern, NULL};
static struct hs_registers registers, caller;

static struct location_frame frame_make(void)
{
    registers = (struct hs_registers){.known = 1u << HS_RSP | 1u << HS_RBX | 1u << HS_RBP};
    registers.value[HS_RSP] = 0x7000;
    registers.value[HS_RBX] = 0x3000;
    registers.value[HS_RBP] = 0x7800;
    caller = (struct hs_registers){.known = 1u << HS_RBX | 1u << HS_R12 | 1u << HS_RAX};
    caller.value[HS_RBX] = 0x5000;
    caller.value[HS_R12] = 0x6000;
    return (struct location_frame){
        .registers = &registers,
        .caller = &caller,
        .memory = &memory,
        .bias = 0x100000,
        .frame_base = 0x7100,
        .cfa = 0x7200,
        .has_frame_base = true,
        .n_operations_left = 100000,
    };
}

static void evaluate(const uint8_t *bytes, size_t n_bytes, struct location *ret)
{
    struct location_frame frame = frame_make();
    memset(ret, 0x5a, sizeof(*ret));
    hs_location_evaluate_(&frame, bytes, n_bytes, ret);
    assert_int_equal(ret->is_known, ret->n_pieces > 0);
}

struct expected {
    uint8_t bytes[16];
    size_t n;
    uint8_t kind, reg;
    uint64_t address;
};

static const struct expected whole[] = {
    {{0}, 0, LOCATION_NOWHERE, HS_N_REGISTERS, 0}, /* optimised out */
    {{DW_OP_fbreg, 0x70}, 2, LOCATION_MEMORY, HS_N_REGISTERS, 0x70f0},
    {{DW_OP_fbreg, 0xf0, 0x7e}, 3, LOCATION_MEMORY, HS_N_REGISTERS, 0x7070},
    {{DW_OP_call_frame_cfa}, 1, LOCATION_MEMORY, HS_N_REGISTERS, 0x7200},
    {{DW_OP_breg7, 8}, 2, LOCATION_MEMORY, HS_N_REGISTERS, 0x7008},
    {{DW_OP_breg3, 0, DW_OP_deref}, 3, LOCATION_MEMORY, HS_N_REGISTERS, 0x3001},
    {{DW_OP_addr, 0x10, 0x20, 0, 0, 0, 0, 0, 0}, 9, LOCATION_MEMORY, HS_N_REGISTERS, 0x102010},
    {{DW_OP_reg3}, 1, LOCATION_REGISTER, HS_RBX, 0},
    {{DW_OP_regx, 6}, 2, LOCATION_REGISTER, HS_RBP, 0},
    {{DW_OP_reg0}, 1, LOCATION_NOWHERE, HS_N_REGISTERS, 0}, /* nobody saved rax */
    {{DW_OP_reg17}, 1, LOCATION_VALUE, HS_N_REGISTERS, 0},  /* xmm0 */
    {{DW_OP_regx, 0xff, 0x7f}, 3, LOCATION_VALUE, HS_N_REGISTERS, 0},
    {{DW_OP_lit1, DW_OP_stack_value}, 2, LOCATION_VALUE, HS_N_REGISTERS, 0},
    {{DW_OP_breg0, 0, DW_OP_stack_value}, 3, LOCATION_VALUE, HS_N_REGISTERS, 0},
    {{DW_OP_implicit_value, 2, 1, 2}, 4, LOCATION_VALUE, HS_N_REGISTERS, 0},
    {{DW_OP_implicit_pointer, 1, 0, 0, 0, 4}, 6, LOCATION_VALUE, HS_N_REGISTERS, 0},
    {{DW_OP_entry_value, 1, DW_OP_reg5, DW_OP_stack_value}, 4, LOCATION_ENTRY, HS_N_REGISTERS, 0},
    {{DW_OP_GNU_entry_value, 1, DW_OP_reg5, DW_OP_stack_value},
     4,
     LOCATION_ENTRY,
     HS_N_REGISTERS,
     0},
    {{DW_OP_entry_value, 1, DW_OP_reg7}, 3, LOCATION_MEMORY, HS_N_REGISTERS, 0x71f8},
    {{DW_OP_entry_value, 1, DW_OP_reg3, DW_OP_deref}, 4, LOCATION_MEMORY, HS_N_REGISTERS, 0x5001},
    {{DW_OP_entry_value, 2, DW_OP_regx, 12}, 4, LOCATION_MEMORY, HS_N_REGISTERS, 0x6000},
    {{DW_OP_const1u, 0, DW_OP_GNU_push_tls_address}, 3, LOCATION_VALUE, HS_N_REGISTERS, 0},
    {{DW_OP_regval_type, 17, 9, DW_OP_convert, 9, DW_OP_stack_value},
     6,
     LOCATION_VALUE,
     HS_N_REGISTERS,
     0},
    {{DW_OP_const_type, 9, 2, 1, 2, DW_OP_deref_type, 8, 9, DW_OP_stack_value},
     9,
     LOCATION_VALUE,
     HS_N_REGISTERS,
     0},
    {{DW_OP_fbreg, 0, DW_OP_GNU_uninit}, 3, LOCATION_MEMORY, HS_N_REGISTERS, 0x7100},
    {{DW_OP_breg3, 0, DW_OP_lit4, DW_OP_div}, 4, LOCATION_MEMORY, HS_N_REGISTERS, 0xc00},
    {{DW_OP_breg3, 1, DW_OP_lit4, DW_OP_mod}, 4, LOCATION_MEMORY, HS_N_REGISTERS, 1},
    {{DW_OP_const1s, 0xf8, DW_OP_lit1, DW_OP_shra, DW_OP_abs},
     5,
     LOCATION_MEMORY,
     HS_N_REGISTERS,
     4},
    {{DW_OP_lit8, DW_OP_lit0, DW_OP_shra}, 3, LOCATION_MEMORY, HS_N_REGISTERS, 8},
    {{DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_pick, 2}, 5, LOCATION_MEMORY, HS_N_REGISTERS, 1},
    {{DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot}, 4, LOCATION_MEMORY, HS_N_REGISTERS, 2},
    {{DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop},
     5,
     LOCATION_MEMORY,
     HS_N_REGISTERS,
     1},
    {{DW_OP_lit9, DW_OP_skip, 1, 0, DW_OP_drop}, 5, LOCATION_MEMORY, HS_N_REGISTERS, 9},
    {{DW_OP_lit9, DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_drop}, 6, LOCATION_MEMORY, HS_N_REGISTERS, 9},
    {{DW_OP_lit9, DW_OP_lit8, DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_drop},
     7,
     LOCATION_MEMORY,
     HS_N_REGISTERS,
     9},
    /* 5 to 0 in a loop that ends */
    {{DW_OP_lit5, DW_OP_lit1, DW_OP_minus, DW_OP_dup, DW_OP_bra, 0xfa, 0xff},
     7,
     LOCATION_MEMORY,
     HS_N_REGISTERS,
     0},
};

static void evaluates_whole_variables(void **state)
{
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        struct location location;
        evaluate(whole[i].bytes, whole[i].n, &location);
        if (!location.is_known || location.n_pieces != 1 ||
            location.pieces[0].kind != whole[i].kind || location.pieces[0].reg != whole[i].reg ||
            location.pieces[0].address != whole[i].address || location.pieces[0].n_bytes != 0 ||
            location.pieces[0].offset_bytes != 0)
            fail_msg("location %zu is of kind %d in %d at %#llx", i, location.pieces[0].kind,
                     location.pieces[0].reg, (unsigned long long)location.pieces[0].address);
    }
}

static void evaluates_pieces(void **state)
{
    /* rbx, 8 bytes nowhere, the stack, half a vector register, 4 bits of rbp */
    static const uint8_t bytes[] = {DW_OP_reg3, DW_OP_piece,     8,           DW_OP_piece,
                                    8,          DW_OP_fbreg,     8,           DW_OP_piece,
                                    16,         DW_OP_reg17,     DW_OP_piece, 8,
                                    DW_OP_reg6, DW_OP_bit_piece, 4,           3};
    static const struct location_piece pieces[] = {
        {0, 8, 0, LOCATION_REGISTER, HS_RBX},
        {8, 8, 0, LOCATION_NOWHERE, HS_N_REGISTERS},
        {16, 16, 0x7108, LOCATION_MEMORY, HS_N_REGISTERS},
        {32, 8, 0, LOCATION_VALUE, HS_N_REGISTERS},
        {40, 0, 0, LOCATION_VALUE, HS_RBP},
    };
    struct location location;
    evaluate(bytes, sizeof(bytes), &location);
    assert_int_equal(location.n_pieces, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct location_piece *piece = &location.pieces[i];
        assert_int_equal(piece->offset_bytes, pieces[i].offset_bytes);
        assert_int_equal(piece->n_bytes, pieces[i].n_bytes);
        assert_int_equal(piece->address, pieces[i].address);
        assert_int_equal(piece->kind, pieces[i].kind);
        assert_int_equal(piece->reg, pieces[i].reg);
    }
}

static void does_not_know(void **state)
{
    static const struct {
        uint8_t bytes[12];
        size_t n;
    } bad[] = {
        {{DW_OP_breg0, 0}, 2},                    /* rax: memory at a lost address */
        {{DW_OP_lit0, DW_OP_deref}, 2},           /* unreadable */
        {{DW_OP_entry_value, 1, DW_OP_reg5}, 3},  /* rdi at entry: anybody's guess */
        {{DW_OP_entry_value, 1, DW_OP_reg13}, 3}, /* the caller's is not known */
        {{DW_OP_entry_value, 2, DW_OP_breg7, 0, DW_OP_deref}, 5}, /* not a register */
        {{DW_OP_entry_value, 9, DW_OP_reg7}, 3},                  /* longer than the expression */
        {{DW_OP_entry_value, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 11},
        {{DW_OP_implicit_value, 9, 1}, 3},
        {{DW_OP_implicit_pointer, 1, 0}, 3},
        {{DW_OP_addrx, 0}, 2},         /* no table */
        {{DW_OP_reg3, DW_OP_lit1}, 2}, /* a description and more */
        {{DW_OP_reg3, DW_OP_reg3}, 2},
        {{DW_OP_stack_value}, 1},
        {{DW_OP_lit1, DW_OP_lit0, DW_OP_div}, 3},
        {{DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80, DW_OP_const1s, 0xff, DW_OP_div}, 12},
        {{DW_OP_lit1, DW_OP_pick, 1}, 3},
        {{DW_OP_lit1, DW_OP_lit1, DW_OP_rot}, 3},
        {{DW_OP_skip, 0xfd, 0xff}, 3}, /* for ever */
        {{DW_OP_skip, 0xfc, 0xff}, 3}, /* before the beginning */
        {{DW_OP_skip, 1, 0}, 3},       /* behind the end */
        {{DW_OP_skip, 0}, 2},
        {{DW_OP_lit1, DW_OP_bra, 0xfc, 0xff}, 4}, /* for ever */
        {{DW_OP_bra, 0, 0}, 3},
        {{DW_OP_breg0, 0, DW_OP_bra, 0, 0, DW_OP_lit1}, 6}, /* which way? */
        {{DW_OP_fbreg}, 1},
        {{DW_OP_fbreg, 0x80, 0x80}, 3},
        {{DW_OP_addr, 1, 2}, 3},
        {{DW_OP_reg3, DW_OP_piece}, 2},
        {{DW_OP_reg3, DW_OP_piece, 0}, 3},
        {{DW_OP_call4, 1, 0, 0, 0}, 5},
        {{DW_OP_push_object_address}, 1},
        {{0x00}, 1},
        {{0xff}, 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct location location;
        evaluate(bad[i].bytes, bad[i].n, &location);
        if (location.is_known)
            fail_msg("location %zu is said to be known", i);
    }
}

/* Operations of one expression, of one frame, stack entries, pieces, sizes of pieces. */
static void bounds_everything(void **state)
{
    static uint8_t bytes[3000];
    struct location location;
    memset(bytes, DW_OP_nop, sizeof(bytes));
    evaluate(bytes, 1024, &location);
    assert_true(location.is_known);
    evaluate(bytes, 1025, &location);
    assert_false(location.is_known);
    memset(bytes, DW_OP_lit1, sizeof(bytes));
    evaluate(bytes, 32, &location);
    assert_true(location.is_known);
    evaluate(bytes, 33, &location);
    assert_false(location.is_known);
    for (size_t i = 0; i < 100; i++)
        memcpy(bytes + 3 * i, (uint8_t[]){DW_OP_reg3, DW_OP_piece, 8}, 3);
    evaluate(bytes, 3 * 16, &location);
    assert_int_equal(location.n_pieces, 16);
    evaluate(bytes, 3 * 17, &location);
    assert_false(location.is_known);
    for (size_t i = 0; i < 2; i++) {
        bytes[12 * i] = DW_OP_reg3;
        bytes[12 * i + 1] = DW_OP_piece;
        memset(bytes + 12 * i + 2, 0xff, 9);
        bytes[12 * i + 11] = 1;
    }
    evaluate(bytes, 12, &location);
    assert_true(location.is_known);
    evaluate(bytes, 24, &location);
    assert_false(location.is_known);

    struct location_frame frame = frame_make();
    frame.n_operations_left = 3;
    hs_location_evaluate_(&frame, (uint8_t[]){DW_OP_lit1, DW_OP_lit1}, 2, &location);
    assert_true(location.is_known);
    hs_location_evaluate_(&frame, (uint8_t[]){DW_OP_lit1, DW_OP_lit1}, 2, &location);
    assert_false(location.is_known);
    frame = frame_make();
    frame.has_frame_base = false;
    hs_location_evaluate_(&frame, (uint8_t[]){DW_OP_fbreg, 0}, 2, &location);
    assert_false(location.is_known);
    frame = frame_make();
    frame.caller = NULL;
    hs_location_evaluate_(&frame, (uint8_t[]){DW_OP_entry_value, 1, DW_OP_reg3}, 3, &location);
    assert_false(location.is_known);
}

static void finds_the_frame_base(void **state)
{
    uint64_t base = 0;
    struct location_frame frame = frame_make();
    frame.has_frame_base = false;
    assert_true(hs_location_frame_base_(&frame, (uint8_t[]){DW_OP_call_frame_cfa}, 1, &base));
    assert_int_equal(base, 0x7200);
    assert_true(hs_location_frame_base_(&frame, (uint8_t[]){DW_OP_reg6}, 1, &base));
    assert_int_equal(base, 0x7800);
    assert_true(hs_location_frame_base_(&frame, (uint8_t[]){DW_OP_breg6, 16}, 2, &base));
    assert_int_equal(base, 0x7810);
    base = 1;
    assert_false(hs_location_frame_base_(&frame, (uint8_t[]){DW_OP_reg0}, 1, &base));
    assert_false(hs_location_frame_base_(&frame, (uint8_t[]){DW_OP_fbreg, 0}, 2, &base));
    assert_false(
        hs_location_frame_base_(&frame, (uint8_t[]){DW_OP_lit1, DW_OP_stack_value}, 2, &base));
    assert_false(hs_location_frame_base_(&frame, (uint8_t[]){0}, 0, &base));
    assert_int_equal(base, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluates_whole_variables),
        cmocka_unit_test(evaluates_pieces),
        cmocka_unit_test(does_not_know),
        cmocka_unit_test(bounds_everything),
        cmocka_unit_test(finds_the_frame_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
