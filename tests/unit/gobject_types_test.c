/* links: hs_heaps hs_process hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "gobject/types.h"

#define BASE UINT64_C(0x10000000)
enum { N_ENTRIES = 1 << 19, HASHES = 4096, MOST_LOOKED_AT = 1 << 24 };

static uint8_t *memory;
static struct hs_image image;
static struct hs_strtab strings;
static struct hs_findings findings = {.strings = &strings};
static struct hs_objects objects;

static void put(size_t at, uint64_t word)
{
    memcpy(memory + at, &word, sizeof word);
}

/* Data may lead to what looks like a table from each of its words, and the table may be large: the
 * entries that are looked at are bounded all the same, and nothing of it is believed. */
static void tables_are_bounded(void **state)
{
    const size_t n_bytes = HASHES + (size_t)N_ENTRIES * 8;
    const struct hs_process_copy process = {
        .image = &image, .objects = &objects, .findings = &findings};
    struct gobject_types types = {.process = &process};
    struct hs_error err = HS_ERROR_INIT;
    bool is_one = true;

    assert_int_equal(HS_PAGES_ALLOC(&memory, n_bytes, &err), HS_OK);
    put(0, N_ENTRIES);
    put(8, (uint64_t)(N_ENTRIES - 1) << 32);
    put(16, 100 | UINT64_C(100) << 32);
    for (size_t at = 32; at <= 48; at += 8)
        put(at, BASE + HASHES);
    assert_int_equal(hs_image_add(&image, BASE, memory, n_bytes, &err), HS_OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(hs_gobject_read_table(&types, BASE, &is_one, &err), HS_OK);
        assert_false(is_one);
    }
    assert_true(types.n_entries >= N_ENTRIES);
    assert_true(types.n_entries <= MOST_LOOKED_AT);
    assert_int_equal(types.n, 0);
    hs_gobject_types_fini(&types);
    hs_image_fini(&image);
    hs_pages_free(memory, n_bytes, 1);
    hs_strtab_fini(&strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
