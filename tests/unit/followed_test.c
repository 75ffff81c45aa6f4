/* links: hs_arch hs_base */
#include "unit.h"

#include "arch/followed.h"
#include "arch/processor.h"

enum { MOST = 8 };

struct taken {
    struct hs_mention of[MOST];
    size_t n;
};

static void take(void *context, const struct hs_mention *mention)
{
    struct taken *taken = context;

    assert_true(taken->n < MOST);
    taken->of[taken->n++] = *mention;
}

static struct taken follow(const uint8_t *code, size_t n_bytes, bool has_constants)
{
    struct taken taken = {.n = 0};
    const struct hs_mention_taker taker = {take, &taken, has_constants};

    hs_code_follow(code, n_bytes, 0x1000, &taker);
    return taken;
}

static void is(const struct taken *taken, size_t i, unsigned kind, hs_addr base, hs_addr at,
               unsigned n_bytes)
{
    assert_true(i < taken->n);
    assert_int_equal(taken->of[i].kind, kind);
    assert_int_equal(taken->of[i].base, base);
    assert_int_equal(taken->of[i].at, at);
    assert_int_equal(taken->of[i].n_access_bytes, n_bytes);
}

static bool is_known(void)
{
    assert_int_equal(hs_code_is_followed(), HS_ARCH_ELF_MACHINE == EM_X86_64);
    return hs_code_is_followed();
}

/* lea rdi,[rip+0xff9]; mov rsi,rdi; mov rax,[rsi+0x18]; lea rcx,[rdi+0x40]; mov [rdi+rax*8],rdx;
 * xor edi,edi; mov rax,[rdi+8] */
static void follows_an_address(void **state)
{
    static const uint8_t code[] = {0x48, 0x8d, 0x3d, 0xf9, 0x0f, 0,    0,    0x48, 0x89, 0xfe,
                                   0x48, 0x8b, 0x46, 0x18, 0x48, 0x8d, 0x4f, 0x40, 0x48, 0x89,
                                   0x14, 0xc7, 0x31, 0xff, 0x48, 0x8b, 0x47, 0x08};
    if (!is_known())
        return;
    struct taken taken = follow(code, sizeof code, false);
    assert_int_equal(taken.n, 4);
    is(&taken, 0, HS_MENTION_TAKEN, 0x2000, 0x2000, 0);
    is(&taken, 1, HS_MENTION_MEMBER, 0x2000, 0x2018, 8);
    is(&taken, 2, HS_MENTION_MEMBER_TAKEN, 0x2000, 0x2040, 0);
    is(&taken, 3, HS_MENTION_INDEXED, 0x2000, 0x2000, 8);
}

/* A call may change rdi and not rbx; a jump and bytes that are no instruction forget all:
 * lea rdi,[rip]; lea rbx,[rip]; call +0; mov eax,[rdi]; mov eax,[rbx+4]; jmp +0; mov eax,[rbx+4] */
static void forgets(void **state)
{
    static const uint8_t code[] = {0x48, 0x8d, 0x3d, 0,    0x10, 0,    0,    0x48, 0x8d, 0x1d,
                                   0,    0x10, 0,    0,    0xe8, 0,    0,    0,    0,    0x8b,
                                   0x07, 0x8b, 0x43, 0x04, 0xeb, 0x00, 0x8b, 0x43, 0x04};
    static const uint8_t bad[] = {0x48, 0x8d, 0x1d, 0, 0x10, 0, 0, 0x06, 0x8b, 0x43, 0x04};
    if (!is_known())
        return;
    struct taken taken = follow(code, sizeof code, false);
    assert_int_equal(taken.n, 3);
    is(&taken, 2, HS_MENTION_MEMBER, 0x200e, 0x2012, 4);
    taken = follow(bad, sizeof bad, false);
    assert_int_equal(taken.n, 1);
}

/* mov edi,0x601040; mov rax,[rcx*8+0x602000]; mov rax,[0x603000]; mov rax,fs:[0x28] */
static void constants_where_code_is_not_moved(void **state)
{
    static const uint8_t code[] = {0xbf, 0x40, 0x10, 0x60, 0,    0x48, 0x8b, 0x04, 0xcd, 0,
                                   0x20, 0x60, 0,    0x48, 0x8b, 0x04, 0x25, 0,    0x30, 0x60,
                                   0,    0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0,    0,    0};
    if (!is_known())
        return;
    struct taken taken = follow(code, sizeof code, true);
    assert_int_equal(taken.n, 3);
    is(&taken, 0, HS_MENTION_TAKEN, 0x601040, 0x601040, 0);
    is(&taken, 1, HS_MENTION_INDEXED, 0x602000, 0x602000, 8);
    is(&taken, 2, HS_MENTION_DIRECT, 0x603000, 0x603000, 8);
    assert_int_equal(follow(code, sizeof code, false).n, 0);
}

/* Nothing is read behind the end, whatever the bytes. */
static void any_bytes(void **state)
{
    uint64_t random = 4711;

    for (unsigned i = 0; i < 2000; i++) {
        uint8_t code[24];
        struct taken taken = {.n = 0};
        const struct hs_mention_taker taker = {take, &taken, i % 2 == 0};
        size_t n = i % sizeof code;
        for (size_t k = 0; k < n; k++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            code[k] = (uint8_t)(random >> 56);
        }
        hs_code_follow(code, n, UINT64_MAX - 8, &taker);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_an_address), cmocka_unit_test(forgets),
        cmocka_unit_test(constants_where_code_is_not_moved), cmocka_unit_test(any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
