/* links: hs_arch hs_base */
#include "unit.h"

#include <stdlib.h>

#include "arch/moves.h"

enum { AT = 0x1000, MOST_BYTES = 16 };

static struct hs_move read_move(const uint8_t *code, size_t n)
{
    struct hs_move move;

    assert_true(hs_code_move(code, n, AT, &move));
    assert_int_equal(move.n_bytes, n);
    return move;
}
#define READ(...) read_move((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void test_moves_of_words(void **state)
{
    struct hs_move move = READ(0x48, 0x8d, 0x05, 0x10, 0, 0, 0); /* lea rax, [rip + 16] */
    assert_int_equal(move.kind, HS_MOVE_ADDRESS);
    assert_int_equal(move.reg, 0);
    assert_int_equal(move.base, HS_MOVE_NONE);
    assert_int_equal(move.target, AT + 7 + 16);

    move = READ(0x48, 0x89, 0x44, 0x24, 0x60); /* mov [rsp + 96], rax */
    assert_int_equal(move.kind, HS_MOVE_STORE);
    assert_int_equal(move.base, HS_MOVE_SP);
    assert_int_equal(move.displacement, 96);

    move = READ(0x48, 0x8b, 0x9a, 0xf8, 0xff, 0xff, 0xff); /* mov rbx, [rdx - 8] */
    assert_int_equal(move.kind, HS_MOVE_LOAD);
    assert_int_equal(move.reg, 3);
    assert_int_equal(move.base, 2);
    assert_int_equal(move.displacement, -8);

    move = READ(0x4c, 0x8b, 0x05, 0xf9, 0xff, 0xff, 0xff); /* mov r8, [rip - 7] */
    assert_int_equal(move.reg, 8);
    assert_int_equal(move.target, AT);

    move = READ(0x49, 0x89, 0xd0); /* mov r8, rdx */
    assert_int_equal(move.kind, HS_MOVE_COPY);
    assert_int_equal(move.reg, 8);
    assert_int_equal(move.base, 2);
}

static void test_what_may_change(void **state)
{
    /* An index makes it a place that is not told; half a word is no pointer. */
    assert_int_equal(READ(0x48, 0x8b, 0x04, 0xcb).changed, 1 << 0); /* mov rax, [rbx + rcx * 8] */
    assert_int_equal(READ(0x8b, 0x43, 0x08).changed, 1 << 0);       /* mov eax, [rbx + 8] */
    assert_int_equal(READ(0x48, 0x83, 0xec, 0x18).changed, 1 << HS_MOVE_SP); /* sub rsp, 24 */
    assert_int_equal(READ(0x83, 0x3d, 0, 0, 0, 0, 0).changed, 0);   /* cmp dword [rip], 0 */
    assert_int_equal(READ(0x48, 0x85, 0xc0).changed, 0);            /* test rax, rax */
    assert_int_equal(READ(0x41, 0xb8, 1, 0, 0, 0).changed, 1 << 8); /* mov r8d, 1 */
    assert_int_equal(READ(0x48, 0xf7, 0xf1).changed & 5, 5);        /* div rcx: rax and rdx */
    assert_int_equal(READ(0x0f, 0x1f, 0x00).changed, 0);            /* a nop */
    /* The bits in the place of a register are part of the opcode. */
    assert_int_equal(READ(0x48, 0xff, 0x00).changed, 0);      /* inc qword [rax] */
    assert_int_equal(READ(0x48, 0xff, 0xc9).changed, 1 << 1); /* dec rcx */
    assert_int_equal(READ(0xfe, 0x02).changed, 0);            /* inc byte [rdx] */
    assert_int_equal(READ(0x48, 0xd3, 0xe3).changed, 1 << 3); /* shl rbx, cl */
}

static void test_jumps(void **state)
{
    struct hs_move move = READ(0xe8, 0xfb, 0xff, 0xff, 0xff); /* call itself */
    assert_int_equal(move.kind, HS_MOVE_CALL);
    assert_int_equal(move.target, AT);
    assert_int_equal(READ(0xff, 0xd1).kind, HS_MOVE_CALL); /* call rcx */
    assert_int_equal(READ(0xff, 0xd1).target, 0);
    assert_int_equal(READ(0xff, 0x25, 0, 0, 0, 0).kind, HS_MOVE_LEAVE); /* jmp [rip] */
    assert_int_equal(READ(0xeb, 0xfe).target, AT);
    assert_int_equal(READ(0xc3).kind, HS_MOVE_LEAVE);
    assert_int_equal(READ(0xc3).target, 0);
    move = READ(0x75, 0x09); /* jne */
    assert_int_equal(move.kind, HS_MOVE_BRANCH);
    assert_int_equal(move.target, AT + 2 + 9);
    move = READ(0x0f, 0x86, 0, 1, 0, 0); /* jbe */
    assert_int_equal(move.kind, HS_MOVE_BRANCH);
    assert_int_equal(move.target, AT + 6 + 256);
}

/* Any bytes, cut anywhere: nothing is read behind them. */
static void test_any_bytes(void **state)
{
    uint64_t seed = 1;

    for (unsigned round = 0; round < 200000; round++) {
        size_t n = round % MOST_BYTES;
        uint8_t *code = malloc(n + 1);
        struct hs_move move;
        assert_non_null(code);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            code[i] = (uint8_t)(seed >> 56);
        }
        code = realloc(code, n == 0 ? 1 : n);
        if (hs_code_move(code, n, AT, &move)) {
            assert_in_range(move.n_bytes, 1, n);
            assert_in_range(move.reg, 0, HS_MOVE_N_REGISTERS - 1);
        }
        free(code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_of_words),
        cmocka_unit_test(test_what_may_change),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
