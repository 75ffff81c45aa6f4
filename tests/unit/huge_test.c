/* links: hs_base */
#include "unit.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/huge.h"

#define MIB ((size_t)1 << 20)

/* Tells whether the mapping of an address is marked for huge pages ("hg" in smaps). */
static bool is_marked(const void *memory)
{
    uint64_t begin, end, at = (uintptr_t)memory;
    bool is_here = false, is_marked = false;
    char line[4352], extra[2];
    FILE *maps = fopen("/proc/self/smaps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %1s", &begin, &end, extra) == 3)
            is_here = begin <= at && at < end;
        else if (is_here && strncmp(line, "VmFlags:", 8) == 0)
            is_marked = strstr(line, " hg") != NULL;
    }
    (void)fclose(maps); /* was only read */
    return is_marked;
}

static void marks_what_holds_a_huge_page(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    void *large, *small;
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
        skip();
    assert_int_equal(hs_pages_alloc(8 * MIB, 1, &large, &err), HS_OK);
    assert_int_equal(hs_pages_alloc(MIB, 1, &small, &err), HS_OK);
    hs_pages_prefer_huge(small, MIB);
    assert_false(is_marked(small));
    assert_false(is_marked(large));
    hs_pages_prefer_huge(large, 8 * MIB);
    assert_true(is_marked(large));
    hs_pages_free(large, 8 * MIB, 1);
    hs_pages_free(small, MIB, 1);
}

static void leaves_what_is_beside_and_within(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    uint8_t *memory = NULL;
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
        skip();
    assert_int_equal(HS_PAGES_ALLOC(&memory, 16 * MIB, &err), HS_OK);
    memory[5 * MIB] = 7;
    hs_pages_prefer_huge(memory + 4 * MIB, 8 * MIB);
    assert_false(is_marked(memory));
    assert_true(is_marked(memory + 8 * MIB));
    assert_false(is_marked(memory + 13 * MIB));
    assert_int_equal(memory[5 * MIB], 7);
    assert_int_equal(memory[6 * MIB], 0);
    hs_pages_free(memory, 16 * MIB, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_what_holds_a_huge_page),
        cmocka_unit_test(leaves_what_is_beside_and_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
