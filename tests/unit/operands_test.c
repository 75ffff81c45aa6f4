/* links: hs_symbols hs_arch hs_base */
#include "unit.h"

#include <unistd.h>

#include "arch/operands.h"
#include "symbols/elf.h"

struct expected {
    const char *what;
    uint8_t code[12];
    size_t n_bytes;
    uint8_t kind;
    uint64_t target; /* with the code at 0x1000 */
    uint16_t n_access_bytes;
};

static const struct expected single[] = {
    {"lea rax, [rip+0x20]", {0x48, 0x8d, 0x05, 0x20, 0, 0, 0}, 7, HS_OPERAND_ADDRESS, 0x1027, 0},
    {"mov rax, [rip-7]", {0x48, 0x8b, 0x05, 0xf9, 0xff, 0xff, 0xff}, 7, HS_OPERAND_LOAD, 0x1000, 8},
    {"movzx eax, byte [rip]", {0x0f, 0xb6, 0x05, 0, 0, 0, 0}, 7, HS_OPERAND_LOAD, 0x1007, 1},
    {"mov [rip+1], ecx", {0x89, 0x0d, 1, 0, 0, 0}, 6, HS_OPERAND_STORE, 0x1007, 4},
    {"mov qword [rip], 1",
     {0x48, 0xc7, 0x05, 0, 0, 0, 0, 1, 0, 0, 0},
     11,
     HS_OPERAND_STORE,
     0x100b,
     8},
    {"cmp [rip], rax", {0x48, 0x39, 0x05, 0, 0, 0, 0}, 7, HS_OPERAND_READ, 0x1007, 8},
    {"add [rip], rax", {0x48, 0x01, 0x05, 0, 0, 0, 0}, 7, HS_OPERAND_MODIFY, 0x1007, 8},
    {"call +0x10", {0xe8, 0x10, 0, 0, 0}, 5, HS_OPERAND_CALL, 0x1015, 0},
    {"jmp -2", {0xeb, 0xfe}, 2, HS_OPERAND_JUMP, 0x1000, 0},
    {"jne +0x100", {0x0f, 0x85, 0, 1, 0, 0}, 6, HS_OPERAND_JUMP, 0x1106, 0},
    {"call [rip]", {0xff, 0x15, 0, 0, 0, 0}, 6, HS_OPERAND_CALL_THROUGH, 0x1006, 8},
    {"jmp [rip]", {0xff, 0x25, 0, 0, 0, 0}, 6, HS_OPERAND_CALL_THROUGH, 0x1006, 8},
    {"mov edi, 0x601040", {0xbf, 0x40, 0x10, 0x60, 0}, 5, HS_OPERAND_ADDRESS, 0x601040, 0},
    {"mov rax, [0x601040]",
     {0x48, 0x8b, 0x04, 0x25, 0x40, 0x10, 0x60, 0},
     8,
     HS_OPERAND_LOAD,
     0x601040,
     8},
    {"mov rax, [rcx*8+0x601040]",
     {0x48, 0x8b, 0x04, 0xcd, 0x40, 0x10, 0x60, 0},
     8,
     HS_OPERAND_LOAD,
     0x601040,
     8},
};

static void classifies_each_operand(void **state)
{
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        const struct expected *e = &single[i];
        struct hs_operand found[4];
        struct hs_harvest h = hs_operands_harvest(e->code, e->n_bytes, 0x1000, found, 4);
        if (h.n_operands != 1 || found[0].kind != e->kind)
            print_error("%s: %zu operands, kind %u\n", e->what, h.n_operands, found[0].kind);
        assert_int_equal(h.n_operands, 1);
        assert_int_equal(h.n_decoded_bytes, e->n_bytes);
        assert_int_equal(found[0].kind, e->kind);
        assert_true(found[0].target == e->target);
        assert_int_equal(found[0].n_access_bytes, e->n_access_bytes);
        assert_true(found[0].insn == 0x1000);
        assert_int_equal(found[0].n_insn_bytes, e->n_bytes);
        assert_int_equal(found[0].is_absolute, e->target == 0x601040);
    }
}

static bool hints(const struct expected *e, size_t n_bytes, hs_addr low, hs_addr high,
                  hs_addr *ret_first)
{
    size_t at = 0, again = 0;
    return hs_operands_hint(e->code, n_bytes, 0x1000, low, high, &at, ret_first) ||
           hs_operands_hint_absolute(e->code, n_bytes, low, high, &again, ret_first);
}

/* A hint for whatever a harvest finds, but jumps of one byte, which mention no data. */
static void hints_at_each_operand(void **state)
{
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        const struct expected *e = &single[i];
        hs_addr first = 0;
        if (e->n_bytes == 2)
            continue;
        bool has = hints(e, e->n_bytes, e->target, e->target + 1, &first);
        if (!has || e->target - first >= HS_OPERAND_HINT_BYTES)
            print_error("%s: %d, from 0x%lx\n", e->what, has, (unsigned long)first);
        assert_true(has && e->target - first < HS_OPERAND_HINT_BYTES);
        assert_false(hints(e, e->n_bytes, e->target + 0x100000, e->target + 0x100100, &first));
        assert_false(hints(e, 3, 0, 0x1000000, &first)); /* not all of it is there */
    }
}

static bool hints_far(const uint8_t *code, size_t n_bytes, hs_addr low, hs_addr target)
{
    hs_addr first = 0;
    for (size_t at = 0;
         hs_operands_hint(code, n_bytes, 0x90000000, low, low + 0xfffffff0, &at, &first);)
        if (target - first < HS_OPERAND_HINT_BYTES)
            return true;
    return false;
}

/* Far from the code in either direction, and in a range of nearly 4 GiB. */
static void hints_at_what_is_far(void **state)
{
    static const uint8_t forward[] = {0x48, 0x8d, 0x05, 0xf9, 0xff, 0xff, 0x7f};
    static const uint8_t back[] = {0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x80};
    assert_true(hints_far(forward, sizeof forward, 0x20000000, UINT64_C(0x110000000)));
    assert_true(hints_far(back, sizeof back, 0x10000000, 0x10000007));
    assert_false(hints_far(back, sizeof back, 0x10000000, UINT64_C(0x110000000)));
}

static void leaves_out_what_names_nothing(void **state)
{
    static const uint8_t code[] = {
        0xf3, 0x0f, 0x1e, 0xfa,                         /* endbr64 */
        0x66, 0x2e, 0x0f, 0x1f, 0x84, 0,    0, 0, 0, 0, /* nopw cs:[rax+rax] */
        0x48, 0x8b, 0x43, 0x08,                         /* mov rax, [rbx+8] */
        0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0,    /* mov rax, fs:0x28 */
        0xb8, 0x10, 0,    0,    0,                      /* mov eax, 16 */
        0x48, 0x81, 0xec, 0x00, 0x20, 0,    0,          /* sub rsp, 0x2000 */
        0x41, 0xff, 0xd4,                               /* call r12 */
        0xc3,
    };
    struct hs_operand found[4];
    struct hs_harvest h = hs_operands_harvest(code, sizeof(code), 0x1000, found, 4);
    assert_int_equal(h.n_operands, 0);
    assert_int_equal(h.n_decoded_bytes, sizeof(code));
}

static void stops_at_what_is_no_code(void **state)
{
    static const uint8_t code[] = {0x90, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x06, 0xe8, 0, 0, 0, 0};
    struct hs_operand found[4];
    struct hs_harvest h = hs_operands_harvest(code, sizeof(code), 0x1000, found, 4);
    assert_int_equal(h.n_operands, 1); /* 0x06 was "push es" once */
    assert_int_equal(h.n_decoded_bytes, 8);
    h = hs_operands_harvest(code, 5, 0x1000, found, 4); /* cut inside the lea */
    assert_int_equal(h.n_operands, 0);
    assert_int_equal(h.n_decoded_bytes, 1);
    h = hs_operands_harvest(code, 0, 0x1000, found, 4);
    assert_int_equal(h.n_decoded_bytes, 0);
}

static void stops_at_a_full_array(void **state)
{
    static const uint8_t code[] = {0xe8, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0};
    struct hs_operand found[3] = {{0}};
    struct hs_harvest h = hs_operands_harvest(code, sizeof(code), 0, found, 2);
    assert_int_equal(h.n_operands, 2);
    assert_int_equal(h.n_decoded_bytes, 10);
    assert_true(found[2].target == 0);
    h = hs_operands_harvest(code, sizeof(code), 0, found, 0);
    assert_int_equal(h.n_decoded_bytes, 0);
}

/* The real thing: a static variable found by an exported function's code. */
static long hidden_counter;
long operands_test_bump(long by);
__attribute__((noinline)) long operands_test_bump(long by)
{
    hidden_counter += by;
    return hidden_counter;
}

extern const char __ehdr_start[];

static void finds_a_static_variable(void **state)
{
    assert_int_equal(operands_test_bump(2), 2);
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    const struct hs_elf_symbol *f = hs_elf_find(elf, "operands_test_bump");
    assert_non_null(f);
    const uint8_t *code = hs_elf_bytes_at(elf, f->vaddr, (size_t)f->n_bytes);
    assert_non_null(code);
    struct hs_operand found[64];
    struct hs_harvest h = hs_operands_harvest(code, (size_t)f->n_bytes, f->vaddr, found, 64);
    assert_int_equal(h.n_decoded_bytes, f->n_bytes);
    uint64_t bias = (uint64_t)(uintptr_t)__ehdr_start,
             wanted = (uint64_t)(uintptr_t)&hidden_counter;
    bool seen = false;
    for (size_t i = 0; i < h.n_operands; i++)
        seen = seen || found[i].target + bias == wanted || found[i].target == wanted;
    assert_true(seen);
}

/* caml_final_do_roots of OCaml 4.13 and 4.14 takes the addresses of the two static tables, and then
 * loads the list of finalisers to be run: three variables of which a stripped binary has no name.
 */
static void finds_the_finalisers_of_a_stripped_runtime(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    if (access("/usr/bin/ocamlopt.opt", R_OK) != 0) {
        print_message("SKIPPED: no OCaml compiler is installed\n");
        skip();
    }
    assert_int_equal(hs_elf_open_path("/usr/bin/ocamlopt.opt", &elf, &err), HS_OK);
    const struct hs_elf_symbol *f = hs_elf_find(elf, "caml_final_do_roots");
    if (f == NULL || hs_elf_find(elf, "Caml_state") == NULL) {
        print_message("SKIPPED: the OCaml compiler is not one of 4.x\n");
        skip();
        return;
    }
    const uint8_t *code = hs_elf_bytes_at(elf, f->vaddr, (size_t)f->n_bytes);
    assert_non_null(code);
    struct hs_operand found[64];
    struct hs_harvest h = hs_operands_harvest(code, (size_t)f->n_bytes, f->vaddr, found, 64);
    assert_int_equal(h.n_decoded_bytes, f->n_bytes);
    size_t n_tables = 0, n_lists = 0;
    for (size_t i = 0; i < h.n_operands; i++) {
        const struct hs_elf_segment *s = hs_elf_segment_at(elf, found[i].target);
        if (s == NULL || !s->writable)
            continue;
        n_tables += found[i].kind == HS_OPERAND_ADDRESS;
        n_lists += found[i].kind == HS_OPERAND_LOAD && n_tables == 2;
    }
    assert_int_equal(n_tables, 2);
    assert_int_equal(n_lists, 1);
}

/* A deleting destructor: a member of 16 bytes is deleted when there is one, and the object of 64
 * by a jump, behind which the next function begins. */
static void constants_of_one_function(void **state)
{
    static const uint8_t code[] = {
        0x53,                            /* 00 push rbx */
        0x48, 0x89, 0xfb,                /* 01 mov rbx, rdi */
        0x48, 0x85, 0xff,                /* 04 test rdi, rdi */
        0x74, 0x0a,                      /* 07 je 0x13 */
        0xbe, 0x10, 0x00, 0x00, 0x00,    /* 09 mov esi, 16 */
        0xe8, 0xed, 0x0f, 0x00, 0x00,    /* 0e call 0x1000 */
        0xe8, 0xe8, 0x1f, 0x00, 0x00,    /* 13 call 0x2000: nothing is known of its argument */
        0x41, 0xbe, 0x07, 0,    0,    0, /* 18 mov r14d, 7 */
        0xbe, 0x40, 0x00, 0x00, 0x00,    /* 1e mov esi, 64 */
        0x48, 0x89, 0xdf,                /* 23 mov rdi, rbx */
        0x5b,                            /* 26 pop rbx */
        0xe9, 0xd4, 0x0f, 0x00, 0x00,    /* 27 jmp 0x1000 */
        0xbe, 0x60, 0x00, 0x00, 0x00,    /* 2c mov esi, 96 */
        0xe8, 0xca, 0x0f, 0x00, 0x00,    /* 31 call 0x1000, of the next function */
    };
    struct hs_constant_call calls[4];
    assert_int_equal(hs_operands_constant_calls(code, sizeof code, 0, calls, 4), 2);
    assert_int_equal(calls[0].second, 16);
    assert_int_equal(calls[0].to.target, 0x1000);
    assert_int_equal(calls[0].to.kind, HS_OPERAND_CALL);
    assert_int_equal(calls[1].second, 64);
    assert_int_equal(calls[1].to.target, 0x1000);
    assert_int_equal(calls[1].to.kind, HS_OPERAND_JUMP);
    assert_int_equal(hs_operands_constant_calls(code, sizeof code, 0, calls, 1), 1);
    assert_int_equal(hs_operands_constant_calls(code, 0x0d, 0, calls, 4), 0); /* cut */
}

/* A register has an address from a lea or a constant on, until it is written or a call is made. */
static void fields_through_registers(void **state)
{
    static const uint8_t code[] = {
        0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0, /* 00 lea rax, [rip + 0xff9]: 0x2000 */
        0x48, 0x8b, 0xb8, 0x08, 0x02, 0, 0, /* 07 mov rdi, [rax + 520] */
        0x48, 0x89, 0x78, 0x08,             /* 0e mov [rax + 8], rdi: is written */
        0x48, 0x8b, 0x40, 0x10,             /* 12 mov rax, [rax + 16] */
        0x48, 0x8b, 0x40, 0x18,             /* 16 mov rax, [rax + 24]: of another block */
        0x48, 0xc7, 0xc3, 0,    0x30, 0, 0, /* 1a mov rbx, 0x3000 */
        0x48, 0x83, 0x7b, 0x08, 0x01,       /* 21 cmp qword [rbx + 8], 1 */
        0x48, 0x8b, 0x0c, 0xc3,             /* 26 mov rcx, [rbx + 8 * rax] */
        0xe8, 0,    0,    0,    0,          /* 2a call */
        0x48, 0x8b, 0x43, 0x10,             /* 2f mov rax, [rbx + 16]: not known now */
    };
    static const struct {
        hs_addr target;
        uint8_t kind;
        bool is_absolute;
    } expected[] = {{0x2208, HS_OPERAND_LOAD, false},
                    {0x2010, HS_OPERAND_LOAD, false},
                    {0x3008, HS_OPERAND_READ, true}};
    enum { N = sizeof expected / sizeof *expected };
    struct hs_operand found[8];
    struct hs_harvest h = hs_operands_fields(code, sizeof code, 0x1000, found, 8);
    assert_int_equal(h.n_decoded_bytes, sizeof code);
    assert_int_equal(h.n_operands, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(found[i].target, expected[i].target);
        assert_int_equal(found[i].kind, expected[i].kind);
        assert_int_equal(found[i].is_absolute, expected[i].is_absolute);
    }
    h = hs_operands_fields(code, sizeof code, 0x1000, found, 1);
    assert_int_equal(h.n_operands, 1);
    assert_int_equal(h.n_decoded_bytes, 0x12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classifies_each_operand),
        cmocka_unit_test(hints_at_each_operand),
        cmocka_unit_test(hints_at_what_is_far),
        cmocka_unit_test(leaves_out_what_names_nothing),
        cmocka_unit_test(stops_at_what_is_no_code),
        cmocka_unit_test(stops_at_a_full_array),
        cmocka_unit_test(constants_of_one_function),
        cmocka_unit_test(fields_through_registers),
        cmocka_unit_test(finds_a_static_variable),
        cmocka_unit_test(finds_the_finalisers_of_a_stripped_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
