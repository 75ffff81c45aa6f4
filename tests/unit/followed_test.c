/* links: hs_arch hs_base */
#include "unit.h"

#include <link.h>
#include <stdlib.h>

#include "arch/followed.h"
#include "arch/processor.h"

enum { MOST = 8 };

struct taken {
    struct hs_mention of[MOST];
    size_t n;
};

static bool all_matters(const void *context, hs_addr address)
{
    return true;
}

static bool take(void *context, const struct hs_mention *mention)
{
    struct taken *taken = context;

    assert_true(taken->n < MOST);
    taken->of[taken->n++] = *mention;
    return true;
}

static struct taken follow(const uint8_t *code, size_t n_bytes, bool has_constants)
{
    struct taken taken = {.n = 0};
    const struct hs_mention_taker taker = {.matters = all_matters,
                                           .take = take,
                                           .context = &taken,
                                           .low = 0,
                                           .high = UINT64_MAX,
                                           .has_constants = has_constants};

    hs_code_follow(code, n_bytes, 0x1000, &taker);
    return taken;
}

static void mention_is(const struct hs_mention *mention, unsigned kind, hs_addr base, hs_addr at,
                       unsigned n_bytes)
{
    assert_int_equal(mention->kind, kind);
    assert_int_equal(mention->base, base);
    assert_int_equal(mention->at, at);
    assert_int_equal(mention->n_access_bytes, n_bytes);
}

static void is(const struct taken *taken, size_t i, unsigned kind, hs_addr base, hs_addr at,
               unsigned n_bytes)
{
    assert_true(i < taken->n);
    mention_is(&taken->of[i], kind, base, at, n_bytes);
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

static bool none_matters(const void *context, hs_addr address)
{
    return false;
}

/* ---- what does not matter is passed over without being decoded: nothing else changes */

struct image {
    hs_addr text, text_end, data, data_end;
};

struct told {
    const struct image *image;
    struct hs_mention *of;
    size_t n, capacity;
};

static bool is_data(const void *context, hs_addr address)
{
    const struct image *image = ((const struct told *)context)->image;

    return address >= image->data && address < image->data_end;
}

static bool tell(void *context, const struct hs_mention *mention)
{
    struct told *told = context;

    if (!is_data(told, mention->base))
        return false;
    if (told->n == told->capacity) {
        told->capacity = told->capacity * 2 + 64;
        told->of = realloc(told->of, told->capacity * sizeof *told->of);
        assert_non_null(told->of);
    }
    told->of[told->n++] = *mention;
    return true;
}

/* Finds the code and the written data of the program (the first object) and of libc. */
static int find_image(struct dl_phdr_info *info, size_t n_bytes, void *context)
{
    struct image *image = context;
    bool is_libc = strstr(info->dlpi_name, "libc.so") != NULL;

    if (info->dlpi_name[0] != '\0' && !is_libc)
        return 0;
    image += is_libc;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        hs_addr begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0)
            image->text = begin, image->text_end = begin + p->p_filesz;
        else if (p->p_type == PT_LOAD && (p->p_flags & PF_W) != 0)
            image->data = begin, image->data_end = begin + p->p_memsz;
    }
    return 0;
}

static void passes_over_what_does_not_matter(void **state)
{
    struct image images[2] = {0};

    if (!is_known())
        return;
    (void)dl_iterate_phdr(find_image, images);
    for (size_t i = 0; i < 4; i++) {
        const struct image *image = &images[i / 2];
        struct told told[2] = {{.image = image}, {.image = image}};
        for (size_t k = 0; k < 2; k++) {
            const struct hs_mention_taker taker = {.matters = k == 0 ? all_matters : is_data,
                                                   .take = tell,
                                                   .context = &told[k],
                                                   .low = k == 0 ? 0 : image->data,
                                                   .high = k == 0 ? UINT64_MAX : image->data_end,
                                                   .has_constants = i % 2 == 1};
            hs_code_follow((const uint8_t *)(uintptr_t)image->text, image->text_end - image->text,
                           image->text, &taker);
        }
        assert_int_equal(told[0].n, told[1].n);
        assert_true(i / 2 == 0 || told[0].n > 1000);
        for (size_t k = 0; k < told[0].n; k++) {
            const struct hs_mention *m = &told[1].of[k];
            mention_is(&told[0].of[k], m->kind, m->base, m->at, m->n_access_bytes);
        }
        free(told[0].of);
        free(told[1].of);
    }
}

/* Nothing is read behind the end, whatever the bytes. */
static void any_bytes(void **state)
{
    uint64_t random = 4711;

    for (unsigned i = 0; i < 2000; i++) {
        uint8_t code[24];
        struct taken taken = {.n = 0};
        const struct hs_mention_taker taker = {.matters = i % 3 == 0 ? all_matters : none_matters,
                                               .take = take,
                                               .context = &taken,
                                               .low = 0,
                                               .high = i % 5 == 0 ? 0 : UINT64_MAX,
                                               .has_constants = i % 2 == 0};
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
        cmocka_unit_test(constants_where_code_is_not_moved), cmocka_unit_test(any_bytes),
        cmocka_unit_test(passes_over_what_does_not_matter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
