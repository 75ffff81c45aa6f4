/* links: hs_symbols hs_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "arch/processor.h"
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
    (void)state;
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

static void asks_nothing_for_nothing(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    assert_int_equal(hs_elf_users(elf, elf, NULL, 0, NULL, &err), HS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_who_uses_what_most),
        cmocka_unit_test(asks_nothing_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
