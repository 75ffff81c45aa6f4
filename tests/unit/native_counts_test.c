/* links: hs_native */
#include "unit.h"

#include "fail_each.h"
#include "native/counts.h"
#include "native_world.h"
#include "rules/rules.h"
#include "snapshot/reader.h"

/* A container at WORLD_STATIC: the word that leads to its body, three numbers, and as many for the
 * second iterator of a deque. */
enum { POOL = 1, POOL_BYTES = 72, BODY_BYTES = 400, ELEMENT = 8, N_OTHERS = 3, SMALL = 8 };
#define AT(n) (WORLD_STATIC + UINT64_C(8) * (n))
#define NOTHING (UINT64_MAX - 1)

static struct hs_error err = HS_ERROR_INIT;
static struct world *w;
static hs_addr body, small;

static struct hs_cnumber word_at(unsigned word)
{
    return (struct hs_cnumber){.at = UINT64_C(8) * word, .n_bytes = 8};
}

static void begin(const struct hs_ccount *count)
{
    w = world_new();
    world_no_types();
    world_type(POOL, "struct pool", HS_CTYPE_RECORD, POOL_BYTES);
    world_types[POOL].count = *count;
    small = world_block(w, SMALL);
    body = world_block(w, BODY_BYTES);
    for (int i = 0; i < N_OTHERS; i++)
        (void)world_block(w, ELEMENT);
    w->native.counts.n_most = 16;
}

static hs_status find(const struct hs_native_count **ret)
{
    struct hs_flow flow = {0};
    struct hs_heap_block block;
    *ret = NULL;
    HS_TRY(hs_native_counts_hold(&w->native, WORLD_STATIC, POOL, &err));
    HS_TRY(hs_native_counts_find(&w->native, &flow, &err));
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, body, &block), HS_POINTER_START);
    *ret = hs_native_counts_of(&w->native.counts, block.rank);
    return HS_OK;
}

/* Expects a container that says so to be believed so; NOTHING: it is not. */
static void said(const struct hs_ccount *count, const uint64_t words[9], uint64_t entries,
                 uint64_t room)
{
    const struct hs_native_count *found;
    begin(count);
    for (unsigned i = 0; i < 9; i++)
        *world_word(w, AT(i)) = words[i];
    *world_word(w, AT(0)) = body + words[0];
    world_seal(w);
    assert_int_equal(find(&found), HS_OK);
    if (entries == NOTHING) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_int_equal(found->entries, entries);
        assert_int_equal(found->room, room);
    }
    world_free(w);
}
#define SAID(count, entries, room, ...) said(count, (const uint64_t[9]){__VA_ARGS__}, entries, room)

static const struct hs_ccount array = {.entries = {8, 4, 0, false},
                                       .room = {16, 8, 0, false},
                                       .element_bytes = ELEMENT,
                                       .by = HS_COUNT_NUMBER,
                                       .room_by = HS_ROOM_NUMBER};

static void numbers_that_fit_the_body_are_believed(void **state)
{
    SAID(&array, 50, 50, 0, 50, 50);
    SAID(&array, 0, 50, 0, 0, 50);
    SAID(&array, NOTHING, 0, 0, 51, 60);           /* more than are there */
    SAID(&array, NOTHING, 0, 8, 5, 6);             /* a body that is led into */
    SAID(&array, 7, HS_NO_ROOM, 0, 7, 6);          /* less room than elements */
    SAID(&array, 7, HS_NO_ROOM, 0, 7, 51);         /* more than the body has */
    SAID(&array, 7, HS_NO_ROOM, 0, 7, UINT64_MAX); /* what a snapshot has for "none" */
    SAID(&array, 7, 9, 0, UINT64_C(1) << 32 | 7, 9);
}

static void room_that_is_left_cannot_wrap(void **state)
{
    struct hs_ccount table = array;
    table.room_by = HS_ROOM_LEFT;
    table.by = HS_COUNT_BEHIND;
    table.element_bytes = 1;
    SAID(&table, 7, 10, 0, 7, 3);
    SAID(&table, 7, 10, 80, 7, 3);
    SAID(&table, 7, HS_NO_ROOM, 0, 7, UINT64_MAX - 6);
    SAID(&table, 7, HS_NO_ROOM, 0, 7, UINT64_MAX);
    SAID(&table, NOTHING, 0, 0, BODY_BYTES + 1, 3);
}

static void no_more_nodes_than_there_can_be(void **state)
{
    struct hs_ccount list = array, table = array;
    list.by = HS_COUNT_NODES;
    list.room_by = HS_ROOM_NONE;
    table.by = HS_COUNT_TABLE;
    SAID(&list, 3, HS_NO_ROOM, 0, 3);
    SAID(&list, NOTHING, 0, 0, 0); /* an empty one has no node */
    SAID(&list, NOTHING, 0, 0, UINT32_MAX);
    SAID(&table, 3, 5, 0, 3, 5);
    SAID(&table, 3, 5, 8, 3, 5); /* behind the number that `new T[n]` stores */
    SAID(&table, NOTHING, 0, 16, 3, 5);
    SAID(&table, NOTHING, 0, 0, UINT32_MAX, 5);
}

/* Takes the end less the beginning for the elements in use, as a list of Qt 5 has it. */
static void elements_are_taken_from_the_front(void **state)
{
    struct hs_ccount list = array;
    list.less = word_at(3);
    SAID(&list, 30, 50, 0, 40, 50, 10);
    SAID(&list, NOTHING, 0, 0, 40, 50, 41);
    SAID(&list, NOTHING, 0, 0, 40, 50, UINT64_MAX);
}

static void addresses_stay_in_the_body(void **state)
{
    struct hs_ccount vector = array;
    vector.by = HS_COUNT_END;
    vector.room_by = HS_ROOM_END;
    vector.entries = word_at(1);
    begin(&vector);
    const hs_addr at = body;
    world_free(w);
    SAID(&vector, 3, 50, 0, at + 24, at + BODY_BYTES);
    SAID(&vector, NOTHING, 0, 0, at + 25, at + BODY_BYTES); /* a part of an element */
    SAID(&vector, NOTHING, 0, 0, at - 8, at + BODY_BYTES);  /* before it */
    SAID(&vector, NOTHING, 0, 0, at + 24, at + 16);         /* the end behind the room's */
    SAID(&vector, NOTHING, 0, 0, at + 24, at + BODY_BYTES + 8);
    SAID(&vector, NOTHING, 0, 0, UINT64_MAX - 7, UINT64_MAX);
}

static void a_deque_of_lies(void **state)
{
    const struct hs_ccount deque = {.entries = {8, 8, 0, false},
                                    .room = {40, 8, 0, false},
                                    .element_bytes = ELEMENT,
                                    .by = HS_COUNT_DEQUE,
                                    .room_by = HS_ROOM_DEQUE};
    enum { A = 0x1000, B = 0x3000, BLOCK = 64 }; /* blocks of 8 elements */
    begin(&deque);
    const hs_addr map = body;
    world_free(w);
    SAID(&deque, 18, 24, 0, A + 16, A, A + BLOCK, map + 8, B - 32, B - 64, B, map + 24);
    SAID(&deque, NOTHING, 0, 0, A + 16, A, A + BLOCK, map + 8, B, B, B + 64, map); /* backwards */
    SAID(&deque, NOTHING, 0, 0, A - 8, A, A + BLOCK, map, B, B, B + 64, map);
    SAID(&deque, NOTHING, 0, 0, A, A, A, map, B, B, B + 64, map + 8); /* of no elements each */
    SAID(&deque, NOTHING, 0, 0, A, A, A + BLOCK, map + BODY_BYTES, B, B, B + 64, map + 500);
    SAID(&deque, NOTHING, 0, 0, 0, 0, UINT64_MAX, map, 0, 0, UINT64_MAX, UINT64_MAX);
}

/* A header before the elements, as of Qt 5; behind a body that ends too early nothing is read. */
static void numbers_in_the_body(void **state)
{
    struct hs_ccount headed = array;
    const struct hs_native_count *found;
    headed.element_bytes = 0;
    headed.entries = (struct hs_cnumber){.at = 4, .n_bytes = 4, .is_in_body = true};
    headed.room = (struct hs_cnumber){.at = 8, .n_bytes = 4, .n_bits = 31, .is_in_body = true};
    begin(&headed);
    *world_word(w, AT(0)) = body;
    *world_word(w, body) = UINT64_C(30) << 32;
    *world_word(w, body + 8) = UINT64_C(1) << 31 | 90;
    world_seal(w);
    assert_int_equal(find(&found), HS_OK);
    assert_int_equal(found->entries, 30);
    assert_int_equal(found->room, 90);
    world_free(w);

    headed.entries.at = BODY_BYTES - 2;
    begin(&headed);
    *world_word(w, AT(0)) = body;
    world_seal(w);
    assert_int_equal(find(&found), HS_OK);
    assert_null(found);
    world_free(w);
}

/* Whatever stands in a container, a count that is kept can be written: of a body that there is, no
 * less room than elements. */
static void any_numbers(void **state)
{
    static const uint8_t ways[][2] = {
        {HS_COUNT_NUMBER, HS_ROOM_NUMBER}, {HS_COUNT_NUMBER, HS_ROOM_NONE},
        {HS_COUNT_BEHIND, HS_ROOM_LEFT},   {HS_COUNT_TABLE, HS_ROOM_NUMBER},
        {HS_COUNT_NODES, HS_ROOM_NONE},    {HS_COUNT_END, HS_ROOM_END},
        {HS_COUNT_DEQUE, HS_ROOM_DEQUE}};
    uint64_t seed = 7;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (int round = 0; round < 400; round++) {
            struct hs_ccount count = array;
            struct hs_flow flow = {0};
            count.by = ways[way][0];
            count.room_by = ways[way][1];
            count.entries = word_at(1);
            count.less = round % 3 == 0 ? word_at(8) : (struct hs_cnumber){0};
            count.room = word_at(count.by == HS_COUNT_DEQUE ? 5 : 2);
            begin(&count);
            const uint64_t near[] = {body, body + BODY_BYTES, small, small + SMALL, 0, UINT64_MAX};
            for (unsigned i = 0; i < 9; i++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
                uint64_t pick = seed >> 33;
                *world_word(w, AT(i)) =
                    pick % 4 == 0 ? seed >> pick % 64 : near[pick % 6] + pick / 8 % 64 - 32;
            }
            *world_word(w, AT(0)) = round % 2 == 0 ? body : small;
            world_seal(w);
            assert_int_equal(hs_native_counts_hold(&w->native, WORLD_STATIC, POOL, &err), HS_OK);
            assert_int_equal(hs_native_counts_find(&w->native, &flow, &err), HS_OK);
            for (size_t i = 0; i < w->native.counts.n; i++) {
                const struct hs_native_count *kept = &w->native.counts.rows[i];
                assert_true(kept->rank < w->n_blocks);
                assert_true(kept->room >= kept->entries);
            }
            world_free(w);
        }
}

static void of_two_that_share_a_body_the_larger_is_right(void **state)
{
    const struct hs_native_count *found;
    begin(&array);
    *world_word(w, AT(0)) = *world_word(w, AT(16)) = body;
    *world_word(w, AT(1)) = 4;
    *world_word(w, AT(17)) = 40;
    world_seal(w);
    assert_int_equal(hs_native_counts_hold(&w->native, AT(16), POOL, &err), HS_OK);
    assert_int_equal(find(&found), HS_OK);
    assert_int_equal(w->native.counts.n, 1);
    assert_int_equal(found->entries, 40);
    world_free(w);
}

static void no_more_than_the_plan_has(void **state)
{
    const struct hs_native_count *found;
    begin(&array);
    *world_word(w, AT(0)) = body;
    w->native.counts.n_most = 0;
    world_seal(w);
    assert_int_equal(find(&found), HS_OK);
    assert_null(found);
    world_free(w);
}

/* Keeps the largest where there are more than the plan has room for, be they found last. */
static void the_largest_are_kept(void **state)
{
    enum { N = 6, MOST = 4, WORDS = 3 };
    const struct hs_native_count *found;
    struct hs_heap_block block;
    hs_addr bodies[N];
    begin(&array);
    for (uint64_t i = 0; i < N; i++) {
        bodies[i] = world_block(w, BODY_BYTES);
        *world_word(w, AT(WORDS * i)) = bodies[i];
        *world_word(w, AT(WORDS * i + 1)) = *world_word(w, AT(WORDS * i + 2)) = 3 + i;
    }
    w->native.counts.n_most = MOST;
    world_seal(w);
    for (uint64_t i = 1; i < N; i++)
        assert_int_equal(hs_native_counts_hold(&w->native, AT(WORDS * i), POOL, &err), HS_OK);
    assert_int_equal(find(&found), HS_OK);
    assert_in_range(w->native.counts.n, MOST / 2, MOST);
    assert_int_equal(w->native.counts.n + w->native.counts.n_left_out, N);
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, bodies[N - 1], &block),
                     HS_POINTER_START);
    found = hs_native_counts_of(&w->native.counts, block.rank);
    assert_non_null(found);
    assert_int_equal(found->entries, 3 + N - 1);
    assert_int_equal(w->dump.findings.n_notes, 1);
    world_free(w);
}

static void every_allocation_fails(void **state)
{
    FAIL_EACH (each, .at_least = 2) {
        const struct hs_native_count *found;
        begin(&array);
        *world_word(w, AT(0)) = body;
        *world_word(w, AT(1)) = 4;
        world_seal(w);
        (void)FAIL_EACH_TRY(each, find(&found));
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_fit_the_body_are_believed),
        cmocka_unit_test(room_that_is_left_cannot_wrap),
        cmocka_unit_test(no_more_nodes_than_there_can_be),
        cmocka_unit_test(elements_are_taken_from_the_front),
        cmocka_unit_test(addresses_stay_in_the_body),
        cmocka_unit_test(a_deque_of_lies),
        cmocka_unit_test(numbers_in_the_body),
        cmocka_unit_test(any_numbers),
        cmocka_unit_test(of_two_that_share_a_body_the_larger_is_right),
        cmocka_unit_test(no_more_than_the_plan_has),
        cmocka_unit_test(the_largest_are_kept),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
