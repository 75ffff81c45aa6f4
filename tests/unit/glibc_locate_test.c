/* links: hs_heaps */
#include "unit.h"

#include "elf_writer.h"
#include "fake_glibc.h"
#include "symbols/elf.h"

static struct hs_error err;

static hs_addr with_block(struct fake_glibc *fake)
{
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
    hs_addr a = fake_used(&pen, 64);
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
    return a;
}

static hs_addr head(const struct fake_glibc *fake, unsigned bin)
{
    return FAKE_ARENA_AT + fake->layout->bins + 16 * bin - 16;
}

/* A thread may be in the middle of a list: up to three of the 127 may disagree, wherever. */
static void test_torn_bins(void **state)
{
    static const unsigned which[] = {0, 1, 2, 63, 124, 125, 126};
    for (size_t i = 0; i + 2 < sizeof which / sizeof which[0]; i++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        hs_addr a = with_block(fake);
        for (size_t k = i; k < i + 3; k++)
            *fake_glibc_word(fake, head(fake, which[k]) + 16) = FAKE_BREAK_AT;
        assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
        assert_non_null(fake->state);
        assert_int_equal(fake_live(fake, a), 56);
        assert_true(fake->findings.n_torn > 0);
        fake_glibc_free(fake);
    }
}

/* A copy of malloc that nobody calls: no word about it. */
static void test_unused(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0); /* set up, nothing given out */
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    assert_null(fake->state);
    fake_glibc_forget(fake);
    memset(fake->data, 0, sizeof fake->data); /* not even set up */
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    assert_null(fake->state);
    assert_int_equal(fake->findings.n_torn + fake->findings.n_notes, 0);
    fake_glibc_free(fake);
}

/* Only mapped blocks were given out so far. */
static void test_only_mapped(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    *fake_glibc_word(fake, FAKE_MAP_AT + 8) = 0x3000 | GLIBC_IS_MMAPPED;
    fake_params(fake, 1, 0x3000);
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    assert_non_null(fake->state);
    assert_int_equal(fake_live(fake, FAKE_MAP_AT + 16), 0x3000 - 16);
    assert_true(fake_glibc_proofs_hold(fake));
    fake_glibc_free(fake);
}

/* Rings that lead away, or run in a circle that leaves out the main arena. */
static void test_ring(void **state)
{
    for (unsigned i = 0; i < 5; i++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        hs_addr a = with_block(fake), next = FAKE_ARENA_AT + fake->layout->bins + GLIBC_NEXT;
        hs_addr other = FAKE_MAP_AT + 0x800, third = FAKE_MAP_AT + 0x2800;
        hs_addr to[] = {0, 0x1234, FAKE_MAP_AT + 4, other, other};
        *fake_glibc_word(fake, next) = to[i];
        *fake_glibc_word(fake, other + fake->layout->bins + GLIBC_NEXT) = i == 3 ? other : third;
        *fake_glibc_word(fake, third + fake->layout->bins + GLIBC_NEXT) = other;
        assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
        assert_non_null(fake->state);
        assert_int_equal(fake_live(fake, a), 56);
        assert_true(fake->findings.n_torn > 0);
        fake_glibc_free(fake);
    }
}

/* Two copies of malloc in one process: both are read. */
static void test_two(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    hs_addr a = with_block(fake), second = FAKE_HEAP_AT + 0x1000;
    fake->mappings[2].inode = 8; /* the data of another module */
    fake->mappings[2].path_at = 1;
    memcpy(fake_glibc_word(fake, second), fake_glibc_word(fake, FAKE_ARENA_AT), 0xa00);
    memcpy(fake_glibc_word(fake, FAKE_HEAP_AT), fake_glibc_word(fake, FAKE_PARAMS_AT), 160);
    *fake_glibc_word(fake, FAKE_HEAP_AT + 96) = FAKE_MAP_AT;
    hs_addr bins = second + fake->layout->bins;
    for (unsigned i = 0; i < GLIBC_N_BINS; i++)
        for (unsigned k = 0; k < 2; k++)
            *fake_glibc_word(fake, bins + 16 * i + 8 * k) = bins + 16 * i - 16;
    *fake_glibc_word(fake, bins + GLIBC_NEXT) = second;
    *fake_glibc_word(fake, second + fake->layout->top) = FAKE_MAP_AT + 64;
    *fake_glibc_word(fake, second) = (uint64_t)GLIBC_NONCONTIGUOUS << 32;
    *fake_glibc_word(fake, FAKE_MAP_AT + 8) = 64 | GLIBC_PREV_INUSE;
    *fake_glibc_word(fake, FAKE_MAP_AT + 64 + 8) = (FAKE_MAP_BYTES - 64) | GLIBC_PREV_INUSE;
    *fake_glibc_word(fake, bins + GLIBC_SYSTEM_MEM) = FAKE_MAP_BYTES;
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    assert_int_equal(((const struct glibc_state *)fake->state)->n_instances, 2);
    assert_int_equal(fake_live(fake, a), 56);
    assert_int_equal(fake_live(fake, FAKE_MAP_AT + 16), 56);
    assert_true(fake_glibc_proofs_hold(fake));
    fake_glibc_free(fake);
}

/* Data full of what looks like list heads: the search stays linear, and ends. */
static void test_hostile_data(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    for (size_t k = 0; k < FAKE_DATA_BYTES / 8; k++)
        fake->data[k] = FAKE_DATA_AT + 8 * k / 16 * 16 - 16;
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    fake_glibc_forget(fake);
    for (size_t k = 0; k < FAKE_DATA_BYTES / 8; k++)
        fake->data[k] = FAKE_DATA_AT + 64;
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    fake_glibc_free(fake);
}

/* Where symbols say that the main arena is, more of its lists may be damaged. The version is read
 * from the banner. */
static void test_symbols(void **state)
{
    static const char banner[] = "GNU C Library (made) stable release version 2.36.\n";
    static struct elf_writer w;
    struct fake_glibc *fake = fake_glibc_new(0);
    struct hs_object object = {.bias = FAKE_DATA_AT - 0x10000,
                               .begin = FAKE_DATA_AT - 0x10000,
                               .end = FAKE_DATA_AT + FAKE_DATA_BYTES};
    elf_writer_init(&w);
    size_t rodata = elf_writer_section(&w, ".rodata", SHT_PROGBITS, 0, banner, sizeof banner);
    size_t data = elf_writer_section(&w, ".data", SHT_NOBITS, 0x10000, NULL, FAKE_DATA_BYTES);
    elf_writer_segment(&w, PT_LOAD, PF_R, 0, sizeof banner, rodata);
    elf_writer_segment(&w, PT_LOAD, PF_R | PF_W, 0x10000, FAKE_DATA_BYTES, data);
    elf_writer_symbol(&w, "main_arena", STT_OBJECT, STB_LOCAL, 0x11000, 2200, (uint16_t)data);
    elf_writer_symbol(&w, "mp_", STT_OBJECT, STB_LOCAL, 0x12000, 136, (uint16_t)data);
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "libc.so.6", &object.elf, &err), HS_OK);
    fake->objects = (struct hs_objects){.objects = &object, .n = 1};
    hs_addr a = with_block(fake);
    for (unsigned i = 0; i < 20; i++)
        *fake_glibc_word(fake, head(fake, 5 * i) + 16) = 0;
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    assert_non_null(fake->state);
    assert_int_equal(fake_live(fake, a), 56);
    assert_string_equal(hs_allocator_glibc.version(fake->state), "2.36");
    fake->objects = (struct hs_objects){0};
    hs_elf_close(object.elf);
    fake_glibc_free(fake);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torn_bins),   cmocka_unit_test(test_unused),
        cmocka_unit_test(test_only_mapped), cmocka_unit_test(test_ring),
        cmocka_unit_test(test_two),         cmocka_unit_test(test_hostile_data),
        cmocka_unit_test(test_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
