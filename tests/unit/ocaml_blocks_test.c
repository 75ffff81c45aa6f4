/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* The block map over made-up heaps: every kind of block, every kind of damage. */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_heap.h"
#include "ocaml/map.h"

static struct hs_block_map sealed_map(struct fake_heap *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_block_map map;

    fake_heap_seal(fake);
    assert_int_equal(hs_block_map_build(&map, &fake->rt, &err), HS_OK);
    return map;
}

static bool is_start(const struct hs_block_map *map, hs_addr address)
{
    const struct hs_span *span = hs_map_span(map, address);
    return span != NULL && hs_bitmap_get(&map->starts, hs_map_bit(span, address));
}

static uint64_t random_state = 7;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void lists_blocks_of_every_colour(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr white = fake_block(fake, 0, 3, NULL);
    hs_addr free_block = fake_raw(fake, fake_header(40, HS_BLUE, 0), 40);
    hs_addr fragment = fake_raw(fake, 0, 0);
    hs_addr black = fake_raw(fake, fake_header(2, HS_BLACK, HS_TAG_STRING), 2);
    hs_addr truncated = fake_raw(fake, fake_header(0, HS_BLACK, HS_TAG_ABSTRACT), 0);
    hs_addr gray = fake_raw(fake, fake_header(1, HS_GRAY, HS_TAG_DOUBLE), 1);
    hs_addr young = fake_young(fake, 5, 2, NULL);
    struct hs_block_map map = sealed_map(fake);

    assert_true(is_start(&map, white) && is_start(&map, black) && is_start(&map, gray));
    assert_true(is_start(&map, young));
    assert_false(is_start(&map, free_block) || is_start(&map, truncated));
    assert_true(fragment == black - HS_WORD); /* a fragment's "value" is the next header */
    assert_int_equal(map.n_live_words, 4 + 3 + 2 + 3);
    assert_int_equal(map.n_free_words, 41);
    assert_int_equal(map.n_fragment_words, 2);
    assert_int_equal(map.n_damaged_words, 0);
    assert_true(fake_proofs_hold(fake));
    assert_null(fake_note(fake, ""));
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_block_map_index(&map, &err), HS_OK);
    assert_int_equal(map.n_blocks, 4);
    assert_int_equal(hs_block_map_rank(&map, young), 0); /* the lowest address */
    assert_int_equal(hs_block_map_rank(&map, white), 1);
    assert_int_equal(hs_block_map_rank(&map, gray), 3);
    assert_true(hs_block_map_rank(&map, free_block) == HS_NO_NODE);
    assert_true(hs_block_map_rank(&map, 3) == HS_NO_NODE);
    hs_block_map_fini(&map);
    fake_heap_free(fake);
}

static void resolves_values(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    /* let rec f .. and g ..: two code slots, an infix header between them, one captured value */
    const uint64_t closure[] = {
        FAKE_CODE_F, UINT64_C(1) << 56 | 5 << 1 | 1, fake_header(3, 0, HS_TAG_INFIX),
        FAKE_CODE_G, UINT64_C(1) << 56 | 2 << 1 | 1, 1};
    hs_addr block = fake_block(fake, HS_TAG_CLOSURE, 6, closure);
    hs_addr other = fake_block(fake, 0, 6, closure); /* an infix header in no closure */
    hs_addr free_block = fake_raw(fake, fake_header(4, HS_BLUE, 0), 4);
    hs_addr constant = fake_static(fake, 0, 2, NULL);
    struct hs_block_map map = sealed_map(fake);
    hs_addr found = 0;

    assert_true(hs_block_of_value(&map, block, &found) && found == block);
    assert_true(hs_block_of_value(&map, block + 3 * HS_WORD, &found) && found == block);
    assert_false(hs_block_of_value(&map, other + 3 * HS_WORD, &found));
    assert_false(hs_block_of_value(&map, block + HS_WORD, &found)); /* inside */
    assert_false(hs_block_of_value(&map, block | 1, &found));       /* an integer */
    assert_false(hs_block_of_value(&map, block + 4, &found));       /* not a word's address */
    assert_false(hs_block_of_value(&map, free_block, &found));
    assert_false(hs_block_of_value(&map, FAKE_HEAP_AT, &found)); /* no room for a header */
    assert_false(hs_block_of_value(&map, 0, &found));
    assert_false(hs_block_of_value(&map, UINT64_MAX & -(uint64_t)8, &found));
    assert_true(hs_block_of_value(&map, constant, &found) && found == constant);
    assert_false(is_start(&map, constant)); /* counts, but is not known yet */
    assert_true(hs_block_of_value(&map, FAKE_ATOM_AT + HS_WORD, &found));
    assert_true(hs_block_of_value(&map, FAKE_ATOM_AT + 256 * HS_WORD, &found));
    assert_false(hs_block_of_value(&map, FAKE_ATOM_AT, &found));
    assert_int_equal(hs_block_header(&map, block), fake_header(6, 0, HS_TAG_CLOSURE));
    assert_int_equal(hs_block_header(&map, 64), 0);
    assert_int_equal(hs_ocaml_area(&fake->rt, block), HS_AREA_HEAP);
    assert_int_equal(hs_ocaml_area(&fake->rt, FAKE_YOUNG_AT + 8), HS_AREA_YOUNG);
    assert_int_equal(hs_ocaml_area(&fake->rt, constant), HS_AREA_STATIC);
    assert_int_equal(hs_ocaml_area(&fake->rt, FAKE_ATOM_AT + 8), HS_AREA_ATOM);
    assert_int_equal(hs_ocaml_area(&fake->rt, 4096), HS_AREA_NONE);
    hs_block_map_fini(&map);
    fake_heap_free(fake);
}

/* One damaged header in the middle: all blocks but a few around it are still found. */
static void resynchronises_after_damage(void **state)
{
    const uint64_t damages[] = {
        UINT64_MAX,           fake_header(1000000, 0, 0),        fake_header(3, 0, HS_TAG_INFIX),
        fake_header(0, 0, 7), fake_header(1, 0, HS_TAG_CLOSURE), FAKE_HEAP_AT};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct fake_heap *fake = fake_heap_new();
        hs_addr blocks[100];
        for (unsigned j = 0; j < 100; j++) {
            const uint64_t fields[] = {j == 0 ? 1 : blocks[j - 1], 3, 5};
            blocks[j] = fake_block(fake, 0, 3, fields);
        }
        *fake_word(fake, blocks[50] - HS_WORD) = damages[i];
        struct hs_block_map map = sealed_map(fake);
        for (unsigned j = 0; j < 100; j++)
            assert_int_equal(is_start(&map, blocks[j]), j != 50);
        assert_int_equal(map.n_damaged_words, 4);
        assert_int_equal(map.n_resyncs, 1);
        assert_int_equal(map.n_live_words, 99 * 4);
        assert_false(fake_proofs_hold(fake));
        assert_non_null(fake_note(fake, "1 damaged block header:"));
        assert_true(fake->rt.findings.notes[0].is_gap);
        hs_block_map_fini(&map);
        fake_heap_free(fake);
    }
}

static void survives_damage_at_the_ends(void **state)
{
    for (unsigned which = 0; which < 3; which++) {
        struct fake_heap *fake = fake_heap_new();
        hs_addr first = fake_block(fake, 0, 3, NULL);
        hs_addr last = fake_block(fake, 0, 3, NULL);
        if (which != 1)
            *fake_word(fake, first - HS_WORD) = UINT64_MAX;
        if (which != 0)
            *fake_word(fake, last - HS_WORD) = UINT64_MAX;
        struct hs_block_map map = sealed_map(fake);
        assert_int_equal(is_start(&map, first), which == 1);
        assert_int_equal(is_start(&map, last), which == 0);
        assert_int_equal(map.n_live_words + map.n_damaged_words, 8);
        hs_block_map_fini(&map);
        fake_heap_free(fake);
    }
}

/* Any bytes at all: every word is accounted for and every block lies inside. */
static void accounts_for_any_bytes(void **state)
{
    for (unsigned round = 0; round < 200; round++) {
        struct fake_heap *fake = fake_heap_new();
        while (fake->n_heap < 3000)
            fake_block(fake, (unsigned)(next_random() >> 30) % 256,
                       2 + (size_t)(next_random() >> 40) % 9, NULL);
        while (fake->n_young < 1000)
            fake_young(fake, 0, 1 + (size_t)(next_random() >> 40) % 5, NULL);
        for (unsigned i = 0; i < round; i++) {
            uint64_t junk = next_random() >> (next_random() >> 58);
            fake->heap[(next_random() >> 20) % fake->n_heap] = junk;
            fake->young[FAKE_YOUNG_WORDS - 1 - (next_random() >> 20) % fake->n_young] = junk;
        }
        struct hs_block_map map = sealed_map(fake);
        assert_int_equal(map.n_live_words + map.n_free_words + map.n_fragment_words +
                             map.n_damaged_words + map.n_unborn_words,
                         fake->n_heap + fake->n_young);
        for (size_t i = 0; i < map.spans.n; i++) {
            const struct hs_span *span = &map.spans.spans[i];
            uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD;
            for (uint64_t bit = hs_bitmap_next(&map.starts, span->first_bit); bit < end;
                 bit = hs_bitmap_next(&map.starts, bit + 1)) {
                hs_addr block = span->begin + (bit - span->first_bit) * HS_WORD;
                uint64_t header = hs_block_header(&map, block);
                assert_true(HS_HEADER_WOSIZE(header) <= (span->end - block) / HS_WORD);
            }
        }
        hs_block_map_fini(&map);
        fake_heap_free(fake);
    }
}

static void skips_what_is_not_initialised_yet(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr blocks[60];
    for (unsigned i = 0; i < 60; i++)
        blocks[i] = fake_young(fake, 0, 2, NULL);
    hs_addr unborn = fake_young(fake, 0, 10, NULL);
    for (unsigned i = 0; i < 11; i++) /* what an earlier cycle left behind */
        *fake_word(fake, unborn - HS_WORD + i * HS_WORD) = FAKE_HEAP_AT + 8 * i;
    fake_block(fake, 0, 3, NULL);
    struct hs_block_map map = sealed_map(fake);

    for (unsigned i = 0; i < 60; i++)
        assert_true(is_start(&map, blocks[i]));
    assert_int_equal(map.n_unborn_words, 11);
    assert_int_equal(map.n_damaged_words, 0);
    assert_true(fake_proofs_hold(fake));
    assert_non_null(fake_note(fake, "not yet initialised"));
    assert_false(fake->rt.findings.notes[0].is_gap);
    hs_block_map_fini(&map);
    fake_heap_free(fake);
}

static void follows_moved_young_blocks(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr copy = fake_block(fake, 0, 3, NULL);
    hs_addr older = fake_young(fake, 0, 2, NULL);
    hs_addr moved = fake_young(fake, 0, 3, NULL);
    hs_addr newer = fake_young(fake, 0, 2, NULL);
    *fake_word(fake, moved - HS_WORD) = 0;
    *fake_word(fake, moved) = copy;
    struct hs_block_map map = sealed_map(fake);
    hs_addr found = 0;

    assert_int_equal(map.n_forwarded, 1);
    assert_true(is_start(&map, older) && is_start(&map, newer) && !is_start(&map, moved));
    assert_true(hs_block_of_value(&map, moved, &found) && found == copy);
    hs_block_map_fini(&map);
    fake_heap_free(fake);
}

static void says_what_could_not_be_read(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct fake_heap *fake = fake_heap_new();
    hs_addr blocks[300];
    struct hs_block_map map;
    for (unsigned i = 0; i < 300; i++)
        blocks[i] = fake_block(fake, 0, 3, NULL);
    fake_heap_seal(fake);
    hs_image_fini(&fake->image); /* words [600, 700) are a gap */
    assert_int_equal(hs_image_add(&fake->image, FAKE_HEAP_AT, fake->heap, 600 * HS_WORD, &err),
                     HS_OK);
    assert_int_equal(hs_image_add(&fake->image, FAKE_HEAP_AT + 700 * HS_WORD, fake->heap + 700,
                                  500 * HS_WORD, &err),
                     HS_OK);
    assert_int_equal(hs_block_map_build(&map, &fake->rt, &err), HS_OK);
    assert_true(is_start(&map, blocks[0]) && is_start(&map, blocks[149]));
    assert_true(is_start(&map, blocks[176]) && is_start(&map, blocks[299]));
    assert_false(is_start(&map, blocks[160]));
    assert_non_null(fake_note(fake, "could not be read"));
    assert_false(fake_proofs_hold(fake));
    hs_block_map_fini(&map);
    fake_heap_free(fake);
}

static void refuses_areas_that_overlap(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct fake_heap *fake = fake_heap_new();
    struct hs_block_map map;

    fake_block(fake, 0, 3, NULL);
    fake_heap_seal(fake);
    assert_int_equal(hs_range_set_add(&fake->rt.statics, FAKE_HEAP_AT, FAKE_HEAP_AT + 16, &err),
                     HS_OK);
    assert_int_equal(hs_block_map_build(&map, &fake->rt, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "overlap"));
    hs_block_map_fini(&map);
    fake_heap_free(fake);
}

static void takes_an_empty_heap(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_image image = {0};
    struct hs_strtab strings = {0};
    struct hs_ocaml rt = {.image = &image, .strings = &strings, .findings.strings = &strings};
    struct hs_block_map map;
    hs_addr found = 0;

    assert_int_equal(hs_block_map_build(&map, &rt, &err), HS_OK);
    assert_false(hs_block_of_value(&map, 4096, &found));
    assert_int_equal(hs_block_map_index(&map, &err), HS_OK);
    assert_int_equal(map.n_blocks, 0);
    hs_block_map_fini(&map);
    hs_ocaml_fini(&rt);
    hs_strtab_fini(&strings);
}

static void fails_cleanly_without_memory(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 3) {
        struct hs_error err = HS_ERROR_INIT;
        struct fake_heap *fake = fake_heap_new();
        struct hs_block_map map;
        hs_addr block = fake_block(fake, 0, 3, NULL);
        *fake_word(fake, block - HS_WORD) = UINT64_MAX; /* a note needs memory too */
        fake_young(fake, 0, 3, NULL);
        fake_heap_seal(fake);
        (void)FAIL_EACH_TRY(each, hs_block_map_build(&map, &fake->rt, &err));
        hs_block_map_fini(&map);
        fake_heap_free(fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_blocks_of_every_colour),
        cmocka_unit_test(resolves_values),
        cmocka_unit_test(resynchronises_after_damage),
        cmocka_unit_test(survives_damage_at_the_ends),
        cmocka_unit_test(accounts_for_any_bytes),
        cmocka_unit_test(skips_what_is_not_initialised_yet),
        cmocka_unit_test(follows_moved_young_blocks),
        cmocka_unit_test(says_what_could_not_be_read),
        cmocka_unit_test(refuses_areas_that_overlap),
        cmocka_unit_test(takes_an_empty_heap),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
