/* links: hs_recorder */
/* A function of made-up code that another stands before: what it begins with, what is refused. */
#include "unit.h"

#include <sys/mman.h>

#include "recorder/record_hook.h"

enum { PAGE_BYTES = 4096 };

static int n_calls;
static void *rest;

static void count_call(void)
{
    n_calls++;
}

/* Counts, then does what the function did: its argument is kept. */
void record_hook_test_before(void);
void record_hook_test_count(void);
void record_hook_test_count(void)
{
    count_call();
}
extern void *record_hook_test_rest;
void *record_hook_test_rest;
__asm__(".text\n.globl record_hook_test_before\n"
        "record_hook_test_before:\n pushq %rdi\n call record_hook_test_count\n popq %rdi\n"
        " jmp *record_hook_test_rest(%rip)\n");

static uint8_t *page;

static uint8_t *put_code(const uint8_t *bytes, size_t n)
{
    page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page + 64, bytes, n);
    return page + 64;
}

static uint64_t call(const void *code, uint64_t argument)
{
    uint64_t (*function)(uint64_t);
    memcpy(&function, &code, sizeof code);
    return function(argument);
}

/* push rbp; push rbx; mov rdi, rbx; lea 1(rbx), rax; pop rbx; pop rbp; ret, as runtimes begin. */
static void a_function_does_what_it_did(void **state)
{
    static const uint8_t plain[] = {0x55, 0x53, 0x48, 0x89, 0xfb, 0x48,
                                    0x8d, 0x43, 0x01, 0x5b, 0x5d, 0xc3};
    static const uint8_t padded[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57, 0x41, 0x56, 0x53, 0x48,
                                     0x8d, 0x47, 0x01, 0x5b, 0x41, 0x5e, 0x41, 0x5f, 0xc3};
    const struct {
        const uint8_t *bytes;
        size_t n;
    } cases[] = {{plain, sizeof plain}, {padded, sizeof padded}};
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *code = put_code(cases[i].bytes, cases[i].n);
        n_calls = 0;
        assert_true(hs_record_hook(code, record_hook_test_before, &record_hook_test_rest));
        assert_int_equal(call(code, 41), 42);
        assert_int_equal(call(code, 7), 8);
        assert_int_equal(n_calls, 2);
        rest = record_hook_test_rest;
        assert_int_equal(call(rest, 1), 2); /* not through us */
        assert_int_equal(n_calls, 2);
        assert_int_equal(munmap(page, PAGE_BYTES), 0);
    }
}

/* sub 8, rsp; mov variable, eax; add 8, rsp; ret: the variable stays where it was. */
static void a_variable_stays_where_it_is(void **state)
{
    static const uint8_t code_bytes[] = {0x48, 0x83, 0xec, 0x08, 0x8b, 0x05, 0,   0,
                                         0,    0,    0x48, 0x83, 0xc4, 0x08, 0xc3};
    uint8_t *code = put_code(code_bytes, sizeof code_bytes);
    int32_t distance = 512;
    uint32_t value = 1234567;
    memcpy(code + 6, &distance, sizeof distance);
    memcpy(code + 10 + distance, &value, sizeof value);
    n_calls = 0;
    assert_true(hs_record_hook(code, record_hook_test_before, &record_hook_test_rest));
    assert_int_equal(call(code, 0), value);
    assert_int_equal(n_calls, 1);
    assert_int_equal(munmap(page, PAGE_BYTES), 0);
}

static void other_beginnings_are_left_alone(void **state)
{
    static const uint8_t others[][24] = {
        {0xe9, 0, 0, 0, 0},                         /* a jump */
        {0xe8, 0, 0, 0, 0},                         /* a call */
        {0x55, 0x53, 0x74, 0x05},                   /* a branch */
        {0x55, 0xc3},                               /* it ends too early */
        {0x48, 0x89, 0x3d, 0, 0, 0, 0},             /* rdi to a variable is moved, and then: */
        {0x8b, 0x05, 0, 0, 0, 0, 0},                /* and a variable alone */
        {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0}, /* a thread's own */
    };
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        struct hs_record_beginning begin;
        bool is_known = hs_record_hook_read(others[i], sizeof others[i], &begin);
        assert_int_equal(is_known, i == 4 || i == 5);
        assert_true(!is_known || (begin.distance != 0 && begin.n >= HS_RECORD_HOOK_BYTES));
        for (unsigned n = 0; n < HS_RECORD_HOOK_BYTES; n++) /* reads no further than it may */
            assert_false(hs_record_hook_read(others[i], n, &begin));
    }
    uint8_t *code = put_code(others[0], sizeof others[0]);
    void *untouched = &n_calls;
    assert_false(hs_record_hook(code, record_hook_test_before, &untouched));
    assert_memory_equal(code, others[0], sizeof others[0]);
    assert_ptr_equal(untouched, &n_calls);
    assert_int_equal(munmap(page, PAGE_BYTES), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_does_what_it_did),
        cmocka_unit_test(a_variable_stays_where_it_is),
        cmocka_unit_test(other_beginnings_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
