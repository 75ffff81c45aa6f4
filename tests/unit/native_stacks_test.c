/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_ctypes.h"
#include "fake_native.h"
#include "native/unplaced.h"
#include "process/unwind.h"

/* A real chain of calls, of which the stack and the registers are kept: unwound by this program's
 * own frame tables after the functions have returned. */

extern const char __ehdr_start[];
static struct hs_error err;

/* Finds no variable by what a word leads to: there are no types here. */
bool hs_native_unplaced(const struct hs_native *native, struct hs_locals *locals, uint64_t word,
                        struct hs_local *ret, uint64_t *ret_offset)
{
    (void)native;
    (void)locals;
    (void)word;
    (void)ret;
    (void)ret_offset;
    return false;
}

enum { STACK_BYTES = 8192, BELOW = 256 };

struct captured {
    uint64_t value[HS_N_REGISTERS];
    uint8_t stack[STACK_BYTES]; /* from rsp - BELOW up */
};
static struct captured captured;

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
                     : "r"(registers)            \
                     : "rax", "memory")

#define FRAME __attribute__((noinline, no_sanitize("address")))

uint64_t stacks_test_inner(uint64_t n);
uint64_t stacks_test_middle(uint64_t n);
uint64_t stacks_test_outer(uint64_t n);

/* Has block 9 in r12 and saves its caller's registers. */
FRAME uint64_t stacks_test_inner(uint64_t n)
{
    register uint64_t own __asm__("r12") = fake_native_block(9);
    __asm__ volatile("movq $1, %%rbx\n\tmovq $3, %%r13\n\tmovq $4, %%r14"
                     : "+r"(own)
                     :
                     : "rbx", "r13", "r14");
    CAPTURE(captured.value);
    __asm__ volatile("" : "+r"(own));
    const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)captured.value[HS_RSP];
    for (size_t i = 0; i < STACK_BYTES; i++)
        captured.stack[i] = from[(ptrdiff_t)i - BELOW];
    return n * 3;
}

/* Has block 5 in rbx across the call. */
FRAME uint64_t stacks_test_middle(uint64_t n)
{
    register uint64_t marked __asm__("rbx") = fake_native_block(5) + n;
    __asm__ volatile("" : "+r"(marked));
    uint64_t value = stacks_test_inner(n);
    __asm__ volatile("" : "+r"(marked));
    return value + marked;
}

/* Has block 6 and 7 in memory. */
FRAME uint64_t stacks_test_outer(uint64_t n)
{
    volatile uint64_t kept[64];
    for (size_t i = 0; i < 64; i++)
        kept[i] = n;
    kept[30] = fake_native_block(6);
    kept[40] = fake_native_block(7);
    uint64_t value = stacks_test_middle(n);
    return value + kept[30] + kept[40];
}

/* The copy as a stack of thread 42, and this program as the object. */
static struct fake_native *with_chain(void)
{
    struct fake_native *f = fake_native_new();
    volatile uint8_t room[2 * STACK_BYTES]; /* so much stack there is above */
    room[0] = 0;
    volatile uint64_t keep = stacks_test_outer(room[0]);
    (void)keep;
    hs_addr rsp = captured.value[HS_RSP];
    fake_native_map(f, rsp - BELOW, captured.stack, STACK_BYTES, "rw-p", "");
    fake_native_seal(f);
    struct hs_object *o = &f->object;
    hs_elf_close(o->elf);
    o->elf = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &o->elf, &err), HS_OK);
    o->bias = hs_elf_is_dyn(o->elf) ? (uint64_t)(uintptr_t)__ehdr_start : 0;
    assert_true(hs_elf_extent(o->elf, &o->begin, &o->end));
    o->begin += o->bias;
    o->end += o->bias;
    fake_native_map(f, o->begin & ~(hs_addr)4095, NULL, o->end - o->begin, "r-xp", "/self");
    struct hs_thread *t = fake_native_thread(f, 42);
    t->regs.rip = captured.value[HS_RIP];
    t->regs.rsp = rsp;
    t->regs.rbp = captured.value[HS_RBP];
    t->regs.rbx = captured.value[HS_RBX];
    t->regs.r12 = captured.value[HS_R12];
    t->regs.r13 = captured.value[HS_R13];
    t->regs.r14 = captured.value[HS_R14];
    t->regs.r15 = captured.value[HS_R15];
    return f;
}

static void collect(struct fake_native *f)
{
    assert_int_equal(hs_native_collect_stacks(&f->native, &err), HS_OK);
}

/* The only leaf of a block. */
static const struct hs_root_leaf *leaf_of(const struct fake_native *f, size_t block)
{
    const struct hs_root_leaf *found = NULL;
    for (size_t i = 0; i < f->native.roots.n_leaves; i++) {
        const struct hs_root_leaf *leaf = &f->native.roots.leaves[i];
        if (leaf->target != fake_native_block(block))
            continue;
        if (found != NULL && found->root.address != leaf->root.address)
            continue; /* what was spilled on the way shows too */
        found = leaf;
    }
    if (found == NULL)
        fail_msg("no leaf leads to block %zu", block);
    return found;
}

static void assert_named(const struct fake_native *f, const struct hs_root_leaf *leaf,
                         const char *unit, const char *name)
{
    assert_string_equal(fake_native_text(f, leaf->group_module), "thread 42");
    /* A variable that may own is firm, a pointer of an inner call borrows; a register or slot of no
     * variable may be dead. */
    assert_int_equal(leaf->root.tier, strstr(name, " marked") != NULL      ? HS_TIER_RUNTIME
                                      : strstr(name, " argument ") != NULL ? HS_TIER_FIRM
                                                                           : HS_TIER_DOUBTFUL);
    assert_string_equal(fake_native_text(f, leaf->group_unit), unit);
    const char *found = fake_native_text(f, leaf->root.name);
    if (strncmp(found, name, strlen(name)) != 0)
        fail_msg("'%s' does not begin with '%s'", found, name);
    assert_int_equal(leaf->root.thread, 42);
}

static void frames_and_registers_by_symbol(void **state)
{
    struct fake_native *f = with_chain();
    collect(f);
    const struct hs_root_leaf *leaf = leaf_of(f, 9);
    assert_int_equal(leaf->root.kind, HS_ROOT_REGISTER);
    assert_named(f, leaf, "registers", "register r12");
    assert_true(leaf->root.address == 0);
    leaf = leaf_of(f, 5);
    assert_int_equal(leaf->root.kind, HS_ROOT_STACK);
    assert_named(f, leaf, "#1 stacks_test_inner", "stacks_test_inner saved rbx");
    assert_true(leaf->root.address > captured.value[HS_RSP]);
    leaf = leaf_of(f, 6);
    assert_named(f, leaf, "#3 stacks_test_outer", "stacks_test_outer slot sp+");
    assert_int_equal(leaf->root.frame, 3);
    assert_int_equal(leaf->root.certainty, HS_CONSERVATIVE);
    assert_int_equal(leaf->root.edge_class, HS_EDGE_EXACT);
    assert_true(leaf_of(f, 7)->root.address == leaf->root.address + 80);
    fake_native_free(f);
}

static hs_addr kept_at;
static bool are_complete;
static struct hs_elf *self; /* names borrowed by locals */

/* Debug information of the three functions: rbx in the middle, kept[] outside. */
static void locals_of_chain(const struct hs_frame_place *frame, struct hs_locals *ret)
{
    if (self == NULL)
        assert_int_equal(hs_elf_open_path("/proc/self/exe", &self, &err), HS_OK);
    hs_addr vaddr = frame->registers->value[HS_RIP] - frame->bias - frame->is_return_address;
    const struct hs_elf_symbol *symbol = hs_elf_symbol_at(self, vaddr, NULL);
    if (symbol == NULL || strncmp(symbol->name, "stacks_test_", 12) != 0)
        return;
    ret->is_known = true;
    ret->is_complete = are_complete;
    ret->chain[0] = (struct hs_inlined){"helper", "/src/inline.h", 3};
    ret->chain[1] = (struct hs_inlined){symbol->name, "/src/main.c", 40};
    ret->n_chain = 2;
    if (strcmp(symbol->name, "stacks_test_middle") == 0)
        ret->locals[ret->n_locals++] = (struct hs_local){.name = "marked",
                                                         .function = "helper",
                                                         .type = FAKE_NODE_P,
                                                         .n_bytes = 8,
                                                         .reg = HS_RBX};
    if (strcmp(symbol->name, "stacks_test_outer") == 0)
        ret->locals[ret->n_locals++] = (struct hs_local){.name = "node",
                                                         .function = "",
                                                         .type = FAKE_NODE,
                                                         .n_bytes = 24,
                                                         .address = kept_at,
                                                         .is_argument = true,
                                                         .reg = HS_N_REGISTERS};
}

static void a_saved_register_belongs_to_the_variable_in_it(void **state)
{
    struct fake_native *f = with_chain();
    static const char unit[] = "#2 stacks_test_middle (main.c:40), inlined helper (inline.h:3)";
    collect(f);
    kept_at = leaf_of(f, 6)->root.address;
    f->native.roots.n_leaves = 0;
    f->native.ctypes = fake_ctypes();
    f->of_object.types = 1;
    fake_locals = locals_of_chain;
    are_complete = false;
    collect(f);
    const struct hs_root_leaf *leaf = leaf_of(f, 5);
    assert_named(f, leaf, unit, "helper local marked");
    assert_int_equal(leaf->root.frame, 2);
    assert_int_equal(leaf->root.line, 40);
    assert_int_equal(leaf->root.certainty, HS_EXACT);
    leaf = leaf_of(f, 6);
    assert_named(f, leaf, "#3 stacks_test_outer (main.c:40), inlined helper (inline.h:3)",
                 "stacks_test_outer argument node.next");
    assert_string_equal(fake_native_text(f, leaf->group_variable),
                        "stacks_test_outer argument node");
    assert_int_equal(f->native.n_seeds, 2);
    leaf = leaf_of(f, 7);
    assert_int_equal(leaf->root.edge_class, HS_EDGE_EXACT);
    fake_native_free(f);
    fake_locals = NULL;
}

/* It may be a temporary or memory of alloca: it keeps what it leads to, but says what it is. */
static void a_slot_of_no_variable_says_so(void **state)
{
    struct fake_native *f = with_chain();
    f->native.ctypes = fake_ctypes();
    f->of_object.types = 1;
    fake_locals = locals_of_chain;
    are_complete = true;
    kept_at = 0;
    collect(f);
    const struct hs_root_leaf *leaf = leaf_of(f, 7);
    assert_int_equal(leaf->root.edge_class, HS_EDGE_EXACT);
    assert_int_equal(leaf->root.certainty, HS_CONSERVATIVE);
    const char *name = fake_native_text(f, leaf->root.name);
    assert_non_null(strstr(name, "stacks_test_outer slot without a variable sp+"));
    assert_int_equal(leaf->root.tier, HS_TIER_DOUBTFUL);
    fake_native_free(f);
    fake_locals = NULL;
}

static void a_stack_pointer_into_a_block_keeps_it(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_seal(f);
    struct hs_thread *t = fake_native_thread(f, 42);
    t->regs.rsp = fake_native_block(3) + 24;
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 1);
    assert_named(f, leaf_of(f, 3), "registers", "register rsp");
    fake_native_free(f);
}

/* 1,365 frames of three words: the middle is one group. */
static void deep_stacks_are_folded(void **state)
{
    enum { WORDS = 3, N = (FAKE_N_STACK_WORDS - 8) / WORDS };
    struct fake_native *f = fake_native_new();
    size_t n_folded = 0;
    f->text[0x100 - 5] = 0xe8;
    fake_native_seal(f);
    struct hs_thread *t = fake_native_thread(f, FAKE_N_PID);
    t->regs.rip = FAKE_N_TEXT_AT + 0x50;
    t->regs.rsp = FAKE_N_STACK_AT;
    t->regs.rbp = FAKE_N_STACK_AT + 8;
    for (size_t i = 0; i < N; i++) {
        uint64_t *frame = &f->stack[i * WORDS];
        frame[0] = fake_native_block(i % FAKE_N_BLOCKS);
        frame[1] = i + 1 < N ? FAKE_N_STACK_AT + ((i + 1) * WORDS + 1) * 8 : 0;
        frame[2] = FAKE_N_TEXT_AT + 0x100;
    }
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, N);
    char folded[64];
    snprintf(folded, sizeof folded, "... %d frames (#1001 to #%d)", N - 1100, N - 100);
    for (size_t i = 0; i < N; i++) {
        const struct hs_root_leaf *leaf = &f->native.roots.leaves[i];
        bool is_folded = strcmp(fake_native_text(f, leaf->group_unit), folded) == 0;
        n_folded += is_folded;
        assert_int_equal(is_folded, i >= 1000 && i < N - 100);
        assert_int_equal(leaf->root.frame, i + 1);
    }
    assert_int_equal(n_folded, N - 1100);
    fake_native_free(f);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .may_do_without = true) {
        struct fake_native *f = with_chain();
        if (FAIL_EACH_TRY(each, hs_native_collect_stacks(&f->native, &err)) == HS_OK &&
            each.is_over)
            assert_true(f->native.roots.n_leaves >= 4);
        fake_native_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_and_registers_by_symbol),
        cmocka_unit_test(a_saved_register_belongs_to_the_variable_in_it),
        cmocka_unit_test(a_slot_of_no_variable_says_so),
        cmocka_unit_test(a_stack_pointer_into_a_block_keeps_it),
        cmocka_unit_test(deep_stacks_are_folded),
        cmocka_unit_test(every_allocation_may_fail),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    hs_elf_close(self);
    return n_failed;
}
