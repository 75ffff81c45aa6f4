/* links: hs_symbols hs_base */
#include "unit.h"

#include "arch/processor.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "symbols/elf_users.h"

/* Three variables that only this program's own functions use. */
static long counted, shared, alone;
long elf_users_test_count(long by);
long elf_users_test_both(long by);
long elf_users_test_none(long by);

__attribute__((noinline)) long elf_users_test_count(long by)
{
    counted += by;
    *(volatile long *)&shared = by;
    return counted * by;
}

__attribute__((noinline)) long elf_users_test_both(long by)
{
    volatile long *two = &shared;
    *(volatile long *)&shared = by;
    *(volatile long *)&shared = *(volatile long *)&shared + by;
    *(volatile long *)&alone = by;
    return *two;
}

__attribute__((noinline)) long elf_users_test_none(long by)
{
    return by * by;
}

extern const char __ehdr_start[];

static hs_addr vaddr_of(const void *at)
{
    return (hs_addr)(uintptr_t)at - (hs_addr)(uintptr_t)__ehdr_start;
}

static const char *name_of(const struct hs_elf_user *user)
{
    return user->function == NULL ? "" : user->function->name;
}

static size_t at_of(const hs_addr *places, size_t n, hs_addr place)
{
    size_t i = 0;
    while (i < n && places[i] != place)
        i++;
    assert_true(i < n);
    return i;
}

static int order(const void *a, const void *b)
{
    const hs_addr *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void tells_who_uses_what_most(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    assert_int_equal(elf_users_test_count(2), 4);
    assert_int_equal(elf_users_test_both(2), 4);
    assert_int_equal(elf_users_test_none(2), 4);
    if (HS_ARCH_ELF_MACHINE != EM_X86_64) {
        print_message("SKIPPED: no code of this processor is decoded\n");
        skip();
    }
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    hs_addr places[] = {vaddr_of(&counted), vaddr_of(&shared), vaddr_of(&alone),
                        vaddr_of(__ehdr_start) + 1};
    enum { N = sizeof places / sizeof *places };
    qsort(places, N, sizeof *places, order);
    struct hs_elf_user users[N];
    assert_int_equal(hs_elf_users(elf, elf, places, N, users, &err), HS_OK);
    assert_string_equal(name_of(&users[at_of(places, N, vaddr_of(&counted))]),
                        "elf_users_test_count");
    assert_string_equal(name_of(&users[at_of(places, N, vaddr_of(&shared))]),
                        "elf_users_test_both");
    assert_true(users[at_of(places, N, vaddr_of(&shared))].n_mentions >= 3);
    assert_string_equal(name_of(&users[at_of(places, N, vaddr_of(&alone))]), "elf_users_test_both");
    assert_string_equal(name_of(&users[0]), ""); /* inside of the header */
}

/* ---- a made binary: two functions, of which one only moves a constant that looks like an address
 */

#define CODE UINT64_C(0x1000)
#define DATA UINT64_C(0x4018)
static const uint8_t made_code[] = {
    0xb8, 0x18, 0x40, 0,    0,                   /* mov eax, 0x4018 */
    0xb8, 0x18, 0x40, 0,    0,    0xc3,          /* mov eax, 0x4018; ret */
    0x48, 0x8b, 0x05, 0x06, 0x30, 0,    0, 0xc3, /* mov rax, [rip + 0x3006], to 0x4018; ret */
};
enum { CONSTANT_BYTES = 11, REAL_BYTES = 8 };

static struct hs_elf *make_elf(uint16_t type, struct elf_writer *writer)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;

    elf_writer_init(writer);
    writer->type = type;
    size_t section =
        elf_writer_section(writer, ".text", SHT_PROGBITS, CODE, made_code, sizeof made_code);
    elf_writer_segment(writer, PT_LOAD, PF_R | PF_X, CODE, sizeof made_code, section);
    elf_writer_symbol(writer, "constant", STT_FUNC, STB_GLOBAL, CODE, CONSTANT_BYTES,
                      (uint16_t)section);
    elf_writer_symbol(writer, "real", STT_FUNC, STB_GLOBAL, CODE + CONSTANT_BYTES, REAL_BYTES,
                      (uint16_t)section);
    elf_writer_finish(writer);
    assert_int_equal(hs_elf_open_memory(writer->bytes, writer->n_bytes, "made", &elf, &err), HS_OK);
    return elf;
}

static struct elf_writer writer;

static void constants_are_addresses_where_nothing_moves(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    const hs_addr place = DATA;
    struct hs_elf_user user;
    if (HS_ARCH_ELF_MACHINE != EM_X86_64) {
        print_message("SKIPPED: no code of this processor is decoded\n");
        skip();
    }
    struct hs_elf *moved = make_elf(ET_DYN, &writer);
    assert_int_equal(hs_elf_users(moved, moved, &place, 1, &user, &err), HS_OK);
    assert_string_equal(name_of(&user), "real");
    hs_elf_close(moved);
    struct hs_elf *fixed = make_elf(ET_EXEC, &writer);
    assert_int_equal(hs_elf_users(fixed, fixed, &place, 1, &user, &err), HS_OK);
    assert_string_equal(name_of(&user), "constant");
    assert_int_equal(user.n_mentions, 2);
    /* Far more to look at, in which the constant is near to what the displacement might be. */
    const hs_addr both[] = {DATA, DATA + 8, DATA + CODE};
    struct hs_elf_user users[3];
    assert_int_equal(hs_elf_users(fixed, fixed, both, 3, users, &err), HS_OK);
    assert_string_equal(name_of(&users[0]), "constant");
    hs_elf_close(fixed);
}

/* Three functions: two read word 2 of the block at DATA, of which the second does twice and calls
 * the first, and the third, which does not count, four times. */
static const uint8_t field_code[] = {
    0x48, 0x8d, 0x05, 0x11, 0x30, 0,    0,          /* 00 lea rax, [rip + 0x3011]: DATA */
    0x48, 0x8b, 0x40, 0x10, 0xc3,                   /* 07 mov rax, [rax + 16]; ret */
    0x48, 0x8d, 0x1d, 0x05, 0x30, 0,    0,          /* 0c lea rbx, [rip + 0x3005]: DATA */
    0x48, 0x8b, 0x43, 0x10,                         /* 13 mov rax, [rbx + 16] */
    0x48, 0x8b, 0x4b, 0x10,                         /* 17 mov rcx, [rbx + 16] */
    0xe8, 0xe0, 0xff, 0xff, 0xff, 0xc3,             /* 1b call 0x1000; ret */
    0x48, 0x8d, 0x05, 0xf0, 0x2f, 0,    0,          /* 21 lea rax, [rip + 0x2ff0]: DATA */
    0x48, 0x8b, 0x48, 0x10, 0x48, 0x8b, 0x48, 0x10, /* 28 mov rcx, [rax + 16]: four times */
    0x48, 0x8b, 0x48, 0x10, 0x48, 0x8b, 0x48, 0x10, 0xc3,
};

static bool is_no_third(const char *function)
{
    return strcmp(function, "third") != 0;
}

static void fields_have_users_too(void **state)
{
    enum { SECOND = 0x0c, THIRD = 0x21 };
    struct hs_error err = HS_ERROR_INIT;
    const hs_addr base = DATA, places[] = {DATA, DATA + 16};
    struct hs_elf_field_query query = {
        .bases = &base, .places = places, .n_bases = 1, .n_places = 2, .may_use = is_no_third};
    const struct hs_elf_symbol *callers[2];
    struct hs_elf_user users[2];
    struct hs_elf *elf = NULL;
    size_t n;
    if (HS_ARCH_ELF_MACHINE != EM_X86_64) {
        print_message("SKIPPED: no code of this processor is decoded\n");
        skip();
    }
    elf_writer_init(&writer);
    size_t section =
        elf_writer_section(&writer, ".text", SHT_PROGBITS, CODE, field_code, sizeof field_code);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, CODE, sizeof field_code, section);
    elf_writer_symbol(&writer, "first", STT_FUNC, STB_GLOBAL, CODE, SECOND, (uint16_t)section);
    elf_writer_symbol(&writer, "second", STT_FUNC, STB_GLOBAL, CODE + SECOND, THIRD - SECOND,
                      (uint16_t)section);
    elf_writer_symbol(&writer, "third", STT_FUNC, STB_GLOBAL, CODE + THIRD,
                      sizeof field_code - THIRD, (uint16_t)section);
    elf_writer_finish(&writer);
    assert_int_equal(hs_elf_open_memory(writer.bytes, writer.n_bytes, "made", &elf, &err), HS_OK);
    assert_int_equal(hs_elf_field_users(elf, elf, &query, users, &err), HS_OK);
    assert_string_equal(name_of(&users[0]), "");
    assert_string_equal(name_of(&users[1]), "second");
    assert_int_equal(users[1].n_mentions, 2);
    assert_int_equal(users[1].n_functions, 2);
    query.may_use = NULL;
    assert_int_equal(hs_elf_field_users(elf, elf, &query, users, &err), HS_OK);
    assert_string_equal(name_of(&users[1]), "third");
    assert_int_equal(hs_elf_callers(elf, elf, CODE, callers, 2, &n, &err), HS_OK);
    assert_int_equal(n, 1);
    assert_string_equal(callers[0]->name, "second");
    assert_int_equal(hs_elf_callers(elf, elf, CODE + SECOND, callers, 2, &n, &err), HS_OK);
    assert_int_equal(n, 0);
    hs_elf_close(elf);
}

/* A function of 8,000 instructions, each of which mentions the place, looked at 400 times: what may
 * be asked of the file is left to those who read the rest. */
static void takes_nothing_from_others(void **state)
{
    enum { N_INSTRUCTIONS = 8000, EACH = 7, TIMES = 400 };
    static uint8_t code[N_INSTRUCTIONS * EACH];
    const hs_addr place = UINT64_C(0x20000);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf_user user = {0};
    struct hs_elf *elf = NULL;

    for (size_t i = 0; i < N_INSTRUCTIONS; i++) { /* mov rax, [rip + ...] */
        uint32_t distance = (uint32_t)(place - CODE - (i + 1) * EACH);
        memcpy(code + i * EACH, (const uint8_t[]){0x48, 0x8b, 0x05}, 3);
        memcpy(code + i * EACH + 3, &distance, sizeof distance);
    }
    elf_writer_init(&writer);
    size_t section = elf_writer_section(&writer, ".text", SHT_PROGBITS, CODE, code, sizeof code);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, CODE, sizeof code, section);
    elf_writer_symbol(&writer, "many", STT_FUNC, STB_GLOBAL, CODE, sizeof code, (uint16_t)section);
    elf_writer_finish(&writer);
    assert_int_equal(hs_elf_open_memory(writer.bytes, writer.n_bytes, "made", &elf, &err), HS_OK);
    for (int i = 0; i < TIMES; i++)
        assert_int_equal(hs_elf_users(elf, elf, &place, 1, &user, &err), HS_OK);
    if (HS_ARCH_ELF_MACHINE == EM_X86_64)
        assert_int_equal(user.n_mentions, N_INSTRUCTIONS);
    assert_false(hs_elf_asked_too_much(elf));
    hs_elf_close(elf);
}

static void survives_without_memory(void **state)
{
    const hs_addr place = DATA;
    struct hs_elf *elf = make_elf(ET_DYN, &writer);
    FAIL_EACH (f, .at_least = 2) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_elf_user user;
        (void)FAIL_EACH_TRY(f, hs_elf_users(elf, elf, &place, 1, &user, &err));
    }
    hs_elf_close(elf);
}

static void asks_nothing_for_nothing(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    assert_int_equal(hs_elf_users(elf, elf, NULL, 0, NULL, &err), HS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_who_uses_what_most),
        cmocka_unit_test(fields_have_users_too),
        cmocka_unit_test(constants_are_addresses_where_nothing_moves),
        cmocka_unit_test(takes_nothing_from_others),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(asks_nothing_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
