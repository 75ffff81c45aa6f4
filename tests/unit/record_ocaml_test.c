/* links: hs_recorder */
/* Frames of OCaml's backtraces: descriptors and places in memory as compilers lay them out, in both
 * packings, sound ones and ones whose every byte may be anything. */
#include "unit.h"

#include "recorder/record_draw.h"
#include "recorder/record_ocaml.h"

/* Places in the made-up memory, in bytes. */
enum {
    DESCRIPTOR = 64,
    PLAIN = 160, /* a descriptor without places */
    PLACES = 256,
    NAMES = 512,
    FILES = 1024,
    WORLD_BYTES = 4096,
};

static _Alignas(4096) uint8_t world[WORLD_BYTES];
static struct hs_record_anchor anchor;
static struct hs_record_table table;
static uint64_t frames[HS_RECORD_FRAMES_MAX];

static uint64_t at(unsigned offset)
{
    return (uint64_t)(uintptr_t)(world + offset);
}

static void put(unsigned offset, uint64_t value, unsigned n_bytes)
{
    memcpy(world + offset, &value, n_bytes);
}

static void put_text(unsigned offset, const char *text)
{
    memcpy(world + offset, text, strlen(text) + 1);
}

/* Makes a place whose name record lies at `name`; `packing`: 0 up to 5.1, 1 since 5.2 in full, 2
 * since 5.2 in part. */
static void put_place(unsigned place, unsigned name, unsigned packing, uint32_t line, bool has_next)
{
    static const unsigned shifts[] = {12, 19, 12};
    put(place, (name - place) | has_next, 4);
    put(place + 4, line << shifts[packing] | (packing == 2 ? UINT32_C(1) << 31 : 0), 4);
    put(name, FILES - name, 4);
}

/* An allocation in g that was inlined into Main.f, called from a place that has none. */
static void make_world(unsigned packing)
{
    unsigned text = packing == 2 ? 12 : 4;
    memset(world, 0, sizeof world);
    put_text(FILES, "lib/a.ml");
    put_text(NAMES + text, "Lib__Deep.g");
    put_text(NAMES + 64 + text, "Lib__Main.__f_a__1");
    put_place(PLACES, NAMES, packing, 17, true);
    put_place(PLACES + 8, NAMES + 64, packing, 23, false);
    put(DESCRIPTOR, 0x5500001234, 8);
    put(DESCRIPTOR + 8, 32 | 1 | 2, 2); /* has places, and is an allocation */
    put(DESCRIPTOR + 10, 3, 2);
    put(DESCRIPTOR + 18, 2, 1); /* of two blocks; 2 lengths, then aligned */
    put(DESCRIPTOR + 24, 0, 4);
    put(DESCRIPTOR + 28, PLACES - (DESCRIPTOR + 28), 4);
    put(PLAIN, 0x5500005678, 8);
    put(PLAIN + 8, 16, 2);
    hs_record_ocaml_is_new(packing != 0);
    hs_record_ocaml_forget();
}

static unsigned read_frames(const uint64_t *words, unsigned n)
{
    const struct hs_record_ocaml_sample sample = {.frames = words, .n_frames = n};
    return hs_record_ocaml_frames(&table, &sample, frames);
}

static void check_place(uint64_t frame, const char *function, const char *file, uint32_t line)
{
    assert_true((frame & HS_RECORD_SCRIPT) != 0);
    const struct hs_record_stack *kept =
        (const void *)(uintptr_t)(anchor.stacks + 8 * (frame ^ HS_RECORD_SCRIPT));
    size_t n_file = kept->frames[0] >> 32 & UINT16_MAX, n_function = kept->frames[0] >> 48;
    const char *text = (const char *)&kept->frames[1];
    assert_int_equal(n_file, strlen(file));
    assert_int_equal(n_function, strlen(function));
    assert_memory_equal(text, file, n_file);
    assert_memory_equal(text + n_file, function, n_function);
    assert_int_equal((uint32_t)kept->frames[0], line);
}

static void places_have_function_file_and_line(void **state)
{
    assert_true(hs_record_table_init(&table, &anchor));
    for (unsigned packing = 0; packing < 3; packing++) {
        make_world(packing);
        const uint64_t words[] = {at(PLACES) | 3, at(DESCRIPTOR) | 1, at(PLAIN) | 1,
                                  at(PLACES + 8) | 3};
        for (unsigned round = 0; round < 2; round++) { /* the second from what is known */
            assert_int_equal(read_frames(words, 4), 6);
            check_place(frames[0], "Lib.Deep.g", "lib/a.ml", 17);
            check_place(frames[1], "Lib.Main.__f_a__1", "lib/a.ml", 23);
            assert_true(frames[2] == frames[0] && frames[3] == frames[1]);
            assert_int_equal(frames[4], 0x5500005678);
            assert_true(frames[5] == frames[1]);
        }
    }
    hs_record_table_fini(&table);
}

/* A chain of places that never ends, frames beyond what there is room for, words that lead nowhere.
 */
static void what_is_too_much_or_nowhere_ends(void **state)
{
    uint64_t words[HS_RECORD_OCAML_FRAMES];
    assert_true(hs_record_table_init(&table, &anchor));
    make_world(0);
    for (unsigned i = 0; i < 20; i++)
        put_place(PLACES + 8 * i, NAMES, 0, 17, true);
    for (unsigned i = 0; i < HS_RECORD_OCAML_FRAMES; i++)
        words[i] = at(PLACES) | 3;
    assert_int_equal(read_frames(words, HS_RECORD_OCAML_FRAMES), HS_RECORD_FRAMES_MAX);
    const uint64_t nowhere[] = {1, 3, 0x1001, UINT64_MAX, 0x500000001001, 0x500000001003};
    assert_int_equal(read_frames(nowhere, 6), 0);
    put_text(NAMES + 4, "");
    put_text(NAMES + 68, "+\x01\x7f");
    put_place(PLACES, NAMES, 0, 17, true);
    put_place(PLACES + 8, NAMES + 64, 0, 17, false);
    hs_record_ocaml_forget();
    assert_int_equal(read_frames(words, 1), 1);
    check_place(frames[0], "???", "lib/a.ml", 17);
    hs_record_table_fini(&table);
}

/* The end of the memory is a page that cannot be read in a build with sanitizers, too. */
static void damaged_memory_is_survived(void **state)
{
    uint64_t random = hs_record_seed(11);
    assert_true(hs_record_table_init(&table, &anchor));
    for (unsigned round = 0; round < 3000; round++) {
        make_world(round % 3);
        for (unsigned i = 0; i < 1 + round % 9; i++) {
            random = hs_record_seed(random);
            world[DESCRIPTOR + random % (FILES + 16 - DESCRIPTOR)] = (uint8_t)(random >> 40);
        }
        const uint64_t words[] = {at(PLACES) | 3, at(DESCRIPTOR) | 1, at(PLAIN) | 1,
                                  at(WORLD_BYTES - 4) | 3};
        unsigned n = read_frames(words, 4);
        assert_true(n <= HS_RECORD_FRAMES_MAX);
        for (unsigned i = 0; i < n; i++)
            assert_true((frames[i] & HS_RECORD_SCRIPT) != 0 ||
                        (frames[i] >= 4096 && frames[i] < HS_RECORD_SCRIPT));
    }
    hs_record_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_have_function_file_and_line),
        cmocka_unit_test(what_is_too_much_or_nowhere_ends),
        cmocka_unit_test(damaged_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
