/* links: hs_heaps hs_process hs_symbols hs_base */
#include "unit.h"

#include "elf_writer.h"
#include "fail_each.h"
#include "heaps/allocator.h"
#include "symbols/elf.h"

/* Blocks of 32 bytes from BASE on, then one of elements. */
#define BASE UINT64_C(0x10000000)
enum { N_SMALL = 4096, SMALL_BYTES = 32, MOST_ELTS = 1 << 16, ELT_BYTES = 16 };
enum { ELTS = N_SMALL * SMALL_BYTES, N_BYTES = ELTS + MOST_ELTS * ELT_BYTES };

static uint8_t *memory;
static struct elf_writer writer;
static struct world {
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_heap_map map;
    void *state;
} world;

static void put(size_t at, uint64_t word)
{
    memcpy(memory + at, &word, sizeof word);
}

static void put_pattern(size_t at, uint32_t n, uint32_t size)
{
    put(at, n | (uint64_t)size << 32);
    put(at + 8, (uint64_t)ELTS - at);
    put(at + 16, 1);
}

static void put_elts(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put(ELTS + i * ELT_BYTES, i + 1);
}

static hs_status look(uint64_t elts_bytes, struct hs_error *err)
{
    const struct hs_process_copy process = {
        .image = &world.image, .objects = &world.objects, .findings = &world.findings};
    struct hs_heap_span span = {.begin = BASE,
                                .end = BASE + ELTS,
                                .unit_bytes = SMALL_BYTES,
                                .form = HS_SPAN_UNIFORM,
                                .owner = HS_OWNER_registered};
    uint64_t n_refused;

    hs_heap_map_init(&world.map, &world.image);
    HS_TRY(hs_heap_map_add(&world.map, &span, err));
    span.begin = BASE + ELTS;
    span.end = span.begin + elts_bytes;
    span.form = HS_SPAN_SINGLE;
    HS_TRY(hs_heap_map_add(&world.map, &span, err));
    HS_TRY(hs_heap_map_seal(&world.map, &n_refused, err));
    for (size_t i = 0; i < N_SMALL; i++)
        assert_true(hs_heap_map_set(&world.map, BASE + i * SMALL_BYTES));
    assert_true(hs_heap_map_set(&world.map, BASE + ELTS));
    HS_TRY(hs_heap_map_index(&world.map, err));
    HS_TRY(hs_allocator_fontconfig.open(&process, &world.state, err));
    assert_non_null(world.state);
    return hs_allocator_fontconfig.look(world.state, &world.map, err);
}

static void look_end(void)
{
    hs_allocator_fontconfig.close(world.state);
    hs_heap_map_fini(&world.map);
    world.state = NULL;
}

/* Blocks that have words which are distances. */
static size_t n_heads(void)
{
    struct hs_heap_iterator it = {.map = &world.map};
    struct hs_heap_block block;
    size_t n = 0;

    while (hs_heap_map_next(&it, &block))
        n += hs_allocator_fontconfig.distances(world.state, &block).n_words != 0;
    return n;
}

static int set_up(void **state)
{
    static const uint8_t code[16];
    struct hs_error err = HS_ERROR_INIT;

    world = (struct world){.findings = {.strings = &world.strings}};
    assert_int_equal(HS_PAGES_ALLOC(&memory, N_BYTES, &err), HS_OK);
    assert_int_equal(hs_image_add(&world.image, BASE, memory, N_BYTES, &err), HS_OK);
    elf_writer_init(&writer);
    size_t section = elf_writer_section(&writer, ".text", SHT_PROGBITS, 0, code, sizeof code);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, 0, sizeof code, section);
    elf_writer_symbol(&writer, "FcPatternCreate", STT_FUNC, STB_GLOBAL, 0, 8, (uint16_t)section);
    elf_writer_finish(&writer);
    assert_int_equal(
        hs_elf_open_memory(writer.bytes, writer.n_bytes, "made", &world.object.elf, &err), HS_OK);
    world.objects = (struct hs_objects){.objects = &world.object, .n = 1};
    return 0;
}

static int tear_down(void **state)
{
    hs_elf_close(world.object.elf);
    hs_image_fini(&world.image);
    hs_findings_fini(&world.findings);
    hs_strtab_fini(&world.strings);
    hs_pages_free(memory, N_BYTES, 1);
    return 0;
}

static void check(uint32_t n, uint32_t size, uint64_t elts_bytes, size_t wanted)
{
    struct hs_error err = HS_ERROR_INIT;

    put_pattern(64, n, size);
    assert_int_equal(look(elts_bytes, &err), HS_OK);
    if (n_heads() != wanted)
        print_error("%u of %u in %lu bytes: %zu\n", n, size, (unsigned long)elts_bytes, n_heads());
    assert_int_equal(n_heads(), wanted);
    look_end();
}

static void tells_patterns_by_all_their_numbers(void **state)
{
    put_elts(16);
    check(16, 16, 256, 1);
    check(3, 16, 264, 1);
    check(17, 16, 256, 0);  /* more than there is room for */
    check(15, 15, 256, 0);  /* room is made for 16 */
    check(16, 32, 256, 0);  /* more than the block has */
    check(16, 16, 1024, 0); /* much less than that */
    check(0, 16, 256, 0);   /* none, but there are some */
    put(ELTS + 5 * ELT_BYTES, 1025 + 5);
    check(16, 16, 256, 1); /* extended: the same order */
    put(ELTS + 5 * ELT_BYTES, 3);
    check(16, 16, 256, 0); /* not in order */
    check(5, 16, 256, 1);  /* which is not looked at */
    put(ELTS + 8, BASE + 4);
    check(5, 16, 256, 0); /* no list is there */
    memset(memory + ELTS, 0, 256);
    check(0, 16, 256, 1); /* it has lost all */
    put(64 + 16, 0);
    put_elts(16);
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(look(256, &err), HS_OK);
    assert_int_equal(n_heads(), 0); /* no reference */
    look_end();
}

/* Thousands of heads whose elements are sound up to the last: what is looked at is bounded, and it
 * is said that not all was. */
static void looks_are_bounded(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    for (size_t i = 0; i < N_SMALL; i++)
        put_pattern(i * SMALL_BYTES, MOST_ELTS, MOST_ELTS);
    put_elts(MOST_ELTS);
    put(ELTS + (MOST_ELTS - 1) * ELT_BYTES, 1);
    assert_int_equal(look((uint64_t)MOST_ELTS * ELT_BYTES, &err), HS_OK);
    assert_int_equal(n_heads(), 0);
    assert_int_equal(world.findings.n_notes, 1);
    look_end();
}

/* One owner for one block of elements, the first. */
static void elements_are_of_one_pattern(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    put_elts(16);
    put_pattern(64, 16, 16);
    put_pattern(128, 16, 16);
    assert_int_equal(look(256, &err), HS_OK);
    assert_int_equal(n_heads(), 1);
    look_end();
}

static void survives_without_memory(void **state)
{
    put_elts(16);
    put_pattern(64, 16, 16);
    FAIL_EACH (f, .at_least = 4, .keeps = true) {
        struct hs_error err = HS_ERROR_INIT;
        (void)FAIL_EACH_TRY(f, look(256, &err));
        look_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tells_patterns_by_all_their_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(elements_are_of_one_pattern, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_without_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
