/* links: hs_symbols hs_base */
#include "unit.h"

#include "elf_writer.h"
#include "fail_each.h"
#include "symbols/cfi.h"

extern const char __ehdr_start[];
static struct elf_writer w;
static struct hs_dwarf_box *box;

/* --- a real chain: this program's own frames --- */

struct captured {
    struct hs_registers r;
    uint64_t return_addresses[3];
    uint64_t rbx_of_middle;
    uint8_t stack[8192]; /* from rsp up, as it was */
};

/* The registers of this very place, as a stopped thread would have them. */
#define CAPTURE(registers)                       \
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t" \
                     "movq %%rax, 128(%0)\n\t"   \
                     "1: movq %%rbx, 24(%0)\n\t" \
                     "movq %%rbp, 48(%0)\n\t"    \
                     "movq %%rsp, 56(%0)\n\t"    \
                     "movq %%r12, 96(%0)\n\t"    \
                     "movq %%r13, 104(%0)\n\t"   \
                     "movq %%r14, 112(%0)\n\t"   \
                     "movq %%r15, 120(%0)\n\t"   \
                     :                           \
                     : "r"((registers)->value)   \
                     : "rax", "memory")

uint64_t cfi_test_inner(struct captured *c, uint64_t n);
uint64_t cfi_test_middle(struct captured *c, uint64_t n);
uint64_t cfi_test_outer(struct captured *c, uint64_t n);

/* Uses all callee-saved registers, so that it must save the caller's. */
__attribute__((noinline, no_sanitize("address"))) uint64_t cfi_test_inner(struct captured *c,
                                                                          uint64_t n)
{
    __asm__ volatile("movq $1, %%rbx\n\tmovq $2, %%r12\n\tmovq $3, %%r13\n\tmovq $4, %%r14"
                     :
                     :
                     : "rbx", "r12", "r13", "r14");
    c->return_addresses[0] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    CAPTURE(&c->r);
    const volatile uint8_t *top = (const volatile uint8_t *)(uintptr_t)c->r.value[HS_RSP];
    for (size_t i = 0; i < sizeof(c->stack); i++)
        c->stack[i] = top[i];
    return n * 3;
}

__attribute__((noinline, no_sanitize("address"))) uint64_t cfi_test_middle(struct captured *c,
                                                                           uint64_t n)
{
    volatile uint8_t room[200];
    room[n % 200] = 1;
    c->return_addresses[1] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    register uint64_t marked __asm__("rbx") = UINT64_C(0x1122334455667788) + n;
    __asm__ volatile("" : "+r"(marked));
    c->rbx_of_middle = marked;
    uint64_t value = cfi_test_inner(c, n + room[n % 200]);
    __asm__ volatile("" : "+r"(marked)); /* lives across the call */
    return value + marked;
}

__attribute__((noinline, no_sanitize("address"))) uint64_t cfi_test_outer(struct captured *c,
                                                                          uint64_t n)
{
    c->return_addresses[2] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    return cfi_test_middle(c, n * 2) + 1;
}

struct copied_stack {
    uint64_t low;
    const uint8_t *bytes;
    size_t n_bytes;
};

static bool read_copy(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    const struct copied_stack *copy = context;
    if (at < copy->low || at - copy->low > copy->n_bytes ||
        copy->n_bytes - (at - copy->low) < n_bytes)
        return false;
    memcpy(ret, copy->bytes + (at - copy->low), n_bytes);
    return true;
}

__attribute__((noinline, no_sanitize("address"))) static void capture(struct captured *c)
{
    volatile uint8_t room[sizeof(c->stack)]; /* so much stack there is above the chain */
    room[0] = 0;
    volatile uint64_t keep = cfi_test_outer(c, 5 + room[0]);
    (void)keep;
    c->r.known = UINT64_C(1) << HS_RBX | UINT64_C(1) << HS_RBP | UINT64_C(1) << HS_RSP |
                 UINT64_C(0xf) << HS_R12 | UINT64_C(1) << HS_RIP;
}

static void open_self(struct hs_elf **elf, struct hs_cfi **cfi, uint64_t *bias)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", elf, &err), HS_OK);
    assert_int_equal(hs_cfi_open(box, *elf, NULL, cfi, &err), HS_OK);
    *bias = hs_elf_is_dyn(*elf) ? (uint64_t)(uintptr_t)__ehdr_start : 0;
}

/* From a copy of the stack, after the functions have returned: nothing but bytes and tables. */
static void unwinds_a_known_chain(void **state)
{
    static struct captured c;
    static const char *const names[] = {"cfi_test_inner", "cfi_test_middle", "cfi_test_outer"};
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_cfi) *cfi = NULL;
    struct hs_error err = HS_ERROR_INIT;
    uint64_t bias;
    capture(&c);
    open_self(&elf, &cfi, &bias);
    assert_true(hs_cfi_n_functions(cfi) > 10);
    struct copied_stack copy = {c.r.value[HS_RSP], c.stack, sizeof(c.stack)};
    struct hs_memory_reader memory = {read_copy, &copy};
    struct hs_registers r = c.r;
    hs_addr last_cfa = r.value[HS_RSP];
    assert_true(r.value[HS_RBX] != c.rbx_of_middle); /* put away by then */
    for (size_t i = 0; i < 3; i++) {
        struct hs_frame frame;
        hs_addr begin, end, vaddr = r.value[HS_RIP] - bias - (i > 0);
        assert_string_equal(hs_elf_symbol_at(elf, vaddr, NULL)->name, names[i]);
        assert_true(hs_cfi_function_at(cfi, vaddr, &begin, &end));
        assert_true(begin == hs_elf_find(elf, names[i])->vaddr && vaddr < end);
        if (hs_cfi_step(cfi, bias, &r, i > 0, &memory, &frame, &err) != HS_OK)
            fail_msg("frame %zu: %s", i, err.message);
        assert_true(frame.caller.value[HS_RIP] == c.return_addresses[i]);
        assert_true(frame.cfa > last_cfa && frame.caller.value[HS_RSP] == frame.cfa);
        assert_false(frame.is_outermost || frame.is_signal_frame);
        assert_true(hs_register_known(&frame.caller, HS_RBX));
        assert_false(hs_register_known(&frame.caller, HS_RAX));
        hs_addr at = frame.saved_at[HS_RIP];
        assert_true(at == frame.cfa - 8);
        assert_true(frame.saved_at[HS_RSP] == 0); /* computed, not read */
        if (i == 0) {
            uint64_t saved;
            assert_true(frame.caller.value[HS_RBX] == c.rbx_of_middle);
            assert_true(read_copy(&copy, frame.saved_at[HS_RBX], &saved, sizeof(saved)));
            assert_true(saved == c.rbx_of_middle);
        }
        last_cfa = frame.cfa;
        r = frame.caller;
    }
}

static void fails_with_the_stack_cut(void **state)
{
    static struct captured c;
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_cfi) *cfi = NULL;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_frame frame = {.cfa = 77};
    uint64_t bias;
    capture(&c);
    open_self(&elf, &cfi, &bias);
    struct copied_stack copy = {c.r.value[HS_RSP], c.stack, 0};
    struct hs_memory_reader memory = {read_copy, &copy};
    assert_int_equal(hs_cfi_step(cfi, bias, &c.r, false, &memory, &frame, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "return address"));
    struct hs_registers r = c.r;
    r.known &= ~(UINT64_C(1) << HS_RIP);
    assert_int_equal(hs_cfi_step(cfi, bias, &r, false, &memory, &frame, &err), HS_FORMAT);
    r = c.r;
    r.value[HS_RIP] = 8;
    assert_int_equal(hs_cfi_step(cfi, bias, &r, false, &memory, &frame, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "0x8"));
    assert_true(frame.cfa == 77);
    hs_addr begin, end;
    assert_false(hs_cfi_function_at(cfi, 0, &begin, &end));
    assert_false(hs_cfi_function_at(cfi, UINT64_MAX, &begin, &end));
}

/* --- tables made by hand --- */

/* The CIE, and FDEs for [0x1010, 0x1050) by hand; .eh_frame lies at 0x2000, addresses are absolute
 * 4-byte numbers. */
static uint8_t table[256];

static size_t write_table(const char *letters, const uint8_t *program, size_t n_program)
{
    static const uint8_t head[] = {0, 0, 0, 0, 0, 0, 0, 0, 1};
    static const uint8_t tail[] = {1, 0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1};
    size_t n_letters = strlen(letters) + 1, n = sizeof(head);
    memset(table, 0, sizeof(table));
    memcpy(table, head, sizeof(head));
    memcpy(table + n, letters, n_letters);
    n += n_letters;
    memcpy(table + n, tail, sizeof(tail));
    n = (n + sizeof(tail) + 3) & ~(size_t)3;
    table[0] = (uint8_t)(n - 4);
    size_t fde = n;
    table[fde + 4] = (uint8_t)(fde + 4);
    table[fde + 8] = 0x10; /* begin 0x1010 */
    table[fde + 9] = 0x10;
    table[fde + 12] = 0x40; /* length */
    if (n_program > 0)
        memcpy(table + fde + 17, program, n_program);
    n = (fde + 17 + n_program + 3) & ~(size_t)3;
    table[fde] = (uint8_t)(n - fde - 4);
    return n + 4; /* the terminator */
}

static hs_status open_table(size_t n, struct hs_elf **elf, struct hs_cfi **cfi,
                            struct hs_error *err)
{
    elf_writer_init(&w);
    elf_writer_section(&w, ".eh_frame", SHT_PROGBITS, 0x2000, table, n);
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "table", elf, err), HS_OK);
    return hs_cfi_open(box, *elf, NULL, cfi, err);
}

/* Words that hold their own address plus 1. */
static bool read_pattern(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    (void)context;
    uint64_t word = at + 1;
    memcpy(ret, &word, n_bytes);
    return true;
}

static const struct hs_memory_reader pattern = {read_pattern, NULL};

static hs_status step(const char *letters, const uint8_t *program, size_t n_program, hs_addr rip,
                      struct hs_frame *ret)
{
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_cfi) *cfi = NULL;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_registers r = {.known = HS_ALL_REGISTERS};
    for (unsigned i = 0; i < HS_N_REGISTERS; i++)
        r.value[i] = 0x100 * (i + 1);
    r.value[HS_RSP] = 0x7000;
    r.value[HS_RIP] = rip + 0x500000;
    if (open_table(write_table(letters, program, n_program), &elf, &cfi, &err) != HS_OK)
        fail_msg("%s", err.message);
    hs_status first = hs_cfi_step(cfi, 0x500000, &r, false, &pattern, ret, &err);
    /* again, by the row that was kept */
    assert_int_equal(hs_cfi_step(cfi, 0x500000, &r, false, &pattern, ret, &err), first);
    return first;
}

static void follows_the_rows(void **state)
{
    static const uint8_t push_rbp[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
    struct hs_frame f;
    assert_int_equal(step("zR", push_rbp, sizeof(push_rbp), 0x1010, &f), HS_OK);
    assert_true(f.cfa == 0x7008 && f.caller.value[HS_RIP] == 0x7001);
    assert_true(f.caller.value[HS_RBP] == 0x700); /* not yet pushed */
    assert_int_equal(step("zR", push_rbp, sizeof(push_rbp), 0x1011, &f), HS_OK);
    assert_true(f.cfa == 0x7010 && f.caller.value[HS_RIP] == 0x7009);
    assert_true(f.caller.value[HS_RBP] == 0x7001);
    assert_int_equal(step("zR", push_rbp, sizeof(push_rbp), 0x104f, &f), HS_OK);
    assert_true(f.cfa == 0x700 + 16); /* from rbp now */
    assert_int_equal(step("zR", push_rbp, sizeof(push_rbp), 0x1050, &f), HS_FORMAT);
    assert_int_equal(step("zR", push_rbp, sizeof(push_rbp), 0x100f, &f), HS_FORMAT);
}

static void evaluates_every_kind_of_rule(void **state)
{
    static const uint8_t rules[] = {
        0x10, 3,  2,    0x77, 0x20, /* rbx at [rsp + 0x20] by expression */
        0x16, 12, 2,    0x77, 0x30, /* r12 is rsp + 0x30 */
        0x14, 13, 0x7f,             /* r13 is cfa - 8 * 127 */
        0x09, 14, 0,                /* r14 is in rax */
        0x07, 15,                   /* r15 is lost */
        0x08, 6,                    /* rbp is the same */
        0x2e, 16,                   /* outgoing arguments: no concern of ours */
        0x0f, 3,  0x77, 0xc0, 0x00, /* frame address rsp + 64 by expression */
    };
    struct hs_frame f;
    assert_int_equal(step("zR", rules, sizeof(rules), 0x1010, &f), HS_OK);
    assert_true(f.cfa == 0x7040);
    assert_true(f.caller.value[HS_RBX] == 0x7021);
    assert_true(f.caller.value[HS_R12] == 0x7030);
    assert_true(f.caller.value[HS_R13] == 0x7040 - 8 * 127);
    assert_true(f.caller.value[HS_R14] == 0x100);
    assert_false(hs_register_known(&f.caller, HS_R15));
    assert_true(f.caller.value[HS_RBP] == 0x700 && hs_register_known(&f.caller, HS_RBP));
    assert_false(hs_register_known(&f.caller, HS_RCX));
    assert_true(f.caller.value[HS_RSP] == 0x7040);
}

static void knows_signal_and_outermost_frames(void **state)
{
    static const uint8_t outermost[] = {0x07, 16};
    struct hs_frame f;
    assert_int_equal(step("zRS", NULL, 0, 0x1010, &f), HS_OK);
    assert_true(f.is_signal_frame && !f.is_outermost);
    assert_int_equal(step("zR", outermost, sizeof(outermost), 0x1010, &f), HS_OK);
    assert_true(f.is_outermost && f.caller.known == 0);
}

static void fails_where_no_address_comes_out(void **state)
{
    static const uint8_t unknown_register[] = {0x0c, 40, 8};
    static const uint8_t bad_expression[] = {0x0f, 1, 0x2f};
    static const uint8_t lost_return[] = {0x16, 16, 1, 0x22};
    struct hs_frame f;
    assert_int_equal(step("zR", unknown_register, 3, 0x1010, &f), HS_FORMAT);
    assert_int_equal(step("zR", bad_expression, 3, 0x1010, &f), HS_FORMAT);
    assert_int_equal(step("zR", lost_return, 4, 0x1010, &f), HS_TARGET);
}

static void refuses_files_without_good_tables(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_cfi *cfi = NULL;
    struct hs_elf *elf = NULL;
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err), HS_OK);
    assert_int_equal(hs_cfi_open(box, elf, NULL, &cfi, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "no frame tables"));
    hs_elf_close(elf);
    size_t n = write_table("zQ", NULL, 0);
    assert_int_equal(open_table(n, &elf, &cfi, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "'table'"));
    hs_elf_close(elf);
    n = write_table("zR", NULL, 0);
    assert_int_equal(open_table(28, &elf, &cfi, &err), HS_FORMAT); /* a header, no function */
    hs_elf_close(elf);
    FAIL_EACH (each, .at_least = 1) {
        assert_int_equal(open_table(n, &elf, &cfi, &err), HS_OK);
        hs_cfi_close(cfi);
        cfi = NULL;
        (void)FAIL_EACH_TRY(each, hs_cfi_open(box, elf, NULL, &cfi, &err));
        assert_true((cfi == NULL) == (each.status != HS_OK));
        hs_cfi_close(cfi);
        hs_elf_close(elf);
    }
    hs_cfi_close(NULL);
}

static int start(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    return hs_dwarf_box_new(NULL, &box, &err) == HS_OK ? 0 : -1;
}

/* Hostile or not, nothing here broke the box. */
static int end(void **state)
{
    size_t n_notes = hs_dwarf_box_n_notes(box);
    hs_dwarf_box_free(box);
    return n_notes == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwinds_a_known_chain),
        cmocka_unit_test(fails_with_the_stack_cut),
        cmocka_unit_test(follows_the_rows),
        cmocka_unit_test(evaluates_every_kind_of_rule),
        cmocka_unit_test(knows_signal_and_outermost_frames),
        cmocka_unit_test(fails_where_no_address_comes_out),
        cmocka_unit_test(refuses_files_without_good_tables),
    };
    return cmocka_run_group_tests(tests, start, end);
}
