/* links: hs_symbols hs_dep_dwarf hs_base */
#include "unit.h"

#include <dwarf.h>

#include "symbols/dwarf/cfi_expression.h"

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

static bool evaluate(const uint8_t *bytes, size_t n, uint64_t *ret)
{
    struct hs_registers r = {.known = 1u << HS_RSP | 1u << HS_RIP};
    r.value[HS_RSP] = 0x7000;
    r.value[HS_RIP] = 0x401b;
    return hs_cfi_evaluate_(bytes, n, &r, &memory, true, 0x100, ret);
}

static void evaluates(void **state)
{
    static const struct {
        uint8_t bytes[12];
        size_t n;
        uint64_t value;
    } good[] = {
        {{DW_OP_nop}, 1, 0x100},
        {{DW_OP_lit31}, 1, 31},
        {{DW_OP_breg7, 0x08}, 2, 0x7008},
        {{DW_OP_breg7, 0x78}, 2, 0x6ff8},
        {{DW_OP_bregx, 7, 8}, 3, 0x7008},
        {{DW_OP_const1s, 0xff}, 2, UINT64_MAX},
        {{DW_OP_const2u, 0x34, 0x12}, 3, 0x1234},
        {{DW_OP_const2s, 0xfe, 0xff}, 3, UINT64_MAX - 1},
        {{DW_OP_const4u, 1, 2, 3, 4}, 5, 0x04030201},
        {{DW_OP_const4s, 0xff, 0xff, 0xff, 0xff}, 5, UINT64_MAX},
        {{DW_OP_const8u, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 0x0807060504030201},
        {{DW_OP_constu, 0x80, 1}, 3, 128},
        {{DW_OP_consts, 0x7f}, 2, UINT64_MAX},
        {{DW_OP_consts, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
         11,
         UINT64_MAX},
        {{DW_OP_plus_uconst, 5}, 2, 0x105},
        {{DW_OP_lit5, DW_OP_minus}, 2, 0xfb},
        {{DW_OP_lit2, DW_OP_lit3, DW_OP_mul}, 3, 6},
        {{DW_OP_lit6, DW_OP_lit3, DW_OP_and}, 3, 2},
        {{DW_OP_lit6, DW_OP_lit3, DW_OP_or}, 3, 7},
        {{DW_OP_lit6, DW_OP_lit3, DW_OP_xor}, 3, 5},
        {{DW_OP_lit1, DW_OP_lit4, DW_OP_shl}, 3, 16},
        {{DW_OP_lit1, DW_OP_const1u, 64, DW_OP_shl}, 4, 0},
        {{DW_OP_lit16, DW_OP_lit2, DW_OP_shr}, 3, 4},
        {{DW_OP_lit1, DW_OP_neg}, 2, UINT64_MAX},
        {{DW_OP_lit0, DW_OP_not}, 2, UINT64_MAX},
        {{DW_OP_lit1, DW_OP_neg, DW_OP_lit0, DW_OP_lt}, 4, 1}, /* compared as signed */
        {{DW_OP_lit1, DW_OP_lit1, DW_OP_ge}, 3, 1},
        {{DW_OP_lit1, DW_OP_lit1, DW_OP_gt}, 3, 0},
        {{DW_OP_lit1, DW_OP_lit1, DW_OP_le}, 3, 1},
        {{DW_OP_lit1, DW_OP_lit2, DW_OP_eq}, 3, 0},
        {{DW_OP_lit1, DW_OP_lit2, DW_OP_ne}, 3, 1},
        {{DW_OP_lit1, DW_OP_lit2, DW_OP_swap, DW_OP_minus}, 4, 1},
        {{DW_OP_lit1, DW_OP_lit2, DW_OP_over}, 3, 1},
        {{DW_OP_lit4, DW_OP_dup, DW_OP_plus}, 3, 8},
        {{DW_OP_lit4, DW_OP_drop}, 2, 0x100},
        {{DW_OP_breg7, 0, DW_OP_deref}, 3, 0x7001},
        {{DW_OP_breg7, 0, DW_OP_deref_size, 1}, 4, 0x01},
        /* What binutils writes for the PLT: rsp + 8 + ((rip & 15) >= 11 ? 8 : 0). */
        {{DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge,
          DW_OP_lit3, DW_OP_shl, DW_OP_plus},
         11,
         0x7010},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint64_t value = 0x5a5a;
        if (!evaluate(good[i].bytes, good[i].n, &value) || value != good[i].value)
            fail_msg("expression %zu gives %#llx", i, (unsigned long long)value);
    }
}

static void refuses(void **state)
{
    static const struct {
        uint8_t bytes[4];
        size_t n;
    } bad[] = {
        {{DW_OP_drop}, 1},             /* leaves nothing */
        {{DW_OP_drop, DW_OP_drop}, 2}, /* takes from nothing */
        {{DW_OP_plus}, 1},             /* one operand of two */
        {{DW_OP_over}, 1},
        {{DW_OP_breg0, 0}, 2},  /* rax is not known */
        {{DW_OP_breg31, 0}, 2}, /* no such register */
        {{DW_OP_bregx, 0xff, 0x7f, 0}, 4},
        {{DW_OP_breg7}, 1}, /* cut */
        {{DW_OP_const4u, 1, 2}, 3},
        {{DW_OP_lit0, DW_OP_deref}, 2}, /* unreadable */
        {{DW_OP_breg7, 0, DW_OP_deref_size, 9}, 4},
        {{DW_OP_breg7, 0, DW_OP_deref_size, 0}, 4},
        {{DW_OP_skip, 0xfd, 0xff}, 3}, /* branches are not ours */
        {{DW_OP_call_frame_cfa}, 1},
        {{0x00}, 1},
        {{0xff}, 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t value = 0x5a5a;
        if (evaluate(bad[i].bytes, bad[i].n, &value))
            fail_msg("expression %zu gives %#llx", i, (unsigned long long)value);
        assert_true(value == 0x5a5a);
    }
}

static void bounds_stack_and_length(void **state)
{
    static uint8_t bytes[600];
    uint64_t value;
    memset(bytes, DW_OP_lit1, sizeof(bytes));
    assert_true(evaluate(bytes, 31, &value)); /* with the first: 32 entries */
    assert_false(evaluate(bytes, 32, &value));
    memset(bytes, DW_OP_nop, sizeof(bytes));
    assert_true(evaluate(bytes, 256, &value));
    assert_false(evaluate(bytes, 257, &value));
    struct hs_registers r = {0};
    assert_false(hs_cfi_evaluate_(bytes, 0, &r, &memory, false, 0, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluates),
        cmocka_unit_test(refuses),
        cmocka_unit_test(bounds_stack_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
