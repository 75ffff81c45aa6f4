/* links: hs_native */
#include "unit.h"

#include "fail_each.h"
#include "native/reserve.h"
#include "symbols/ctypes.h"

enum { BLOCKS = 100, BYTES = 800, ELEMENT = 8 };

static struct hs_error err = HS_ERROR_INIT;

static void say(struct hs_native_reserves *reserves, uint64_t rank, uint64_t used)
{
    const struct hs_native_use use = {.end = used};
    assert_int_equal(hs_native_reserves_say(reserves, rank, BYTES, use, ELEMENT, &err), HS_OK);
}

static void say_middle(struct hs_native_reserves *reserves, uint64_t rank, uint64_t from,
                       uint64_t end)
{
    const struct hs_native_use use = {.from = from, .end = end};
    assert_int_equal(hs_native_reserves_say(reserves, rank, BYTES, use, ELEMENT, &err), HS_OK);
}

static uint64_t used(const struct hs_native_reserves *reserves, uint64_t rank)
{
    const struct hs_native_use use = hs_native_reserves_use(reserves, rank, BYTES);
    assert_int_equal(use.from, 0);
    return use.end;
}

static void assert_middle(const struct hs_native_reserves *reserves, uint64_t rank, uint64_t from,
                          uint64_t end)
{
    const struct hs_native_use use = hs_native_reserves_use(reserves, rank, BYTES);
    assert_int_equal(use.from, from);
    assert_int_equal(use.end, end);
}

/* A deque's blocks. */
static void the_middle_of_a_block(void **state)
{
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    say_middle(&reserves, 7, 80, 400);
    assert_middle(&reserves, 7, 80, 400);
    say_middle(&reserves, 7, 400, 80); /* no such */
    say_middle(&reserves, 7, 160, BYTES + 1);
    assert_middle(&reserves, 7, 80, 400);
    say_middle(&reserves, 7, 160, 480);
    assert_middle(&reserves, 7, 80, 480);
    say_middle(&reserves, 7, 8, BYTES);
    assert_middle(&reserves, 7, 8, BYTES);
    say(&reserves, 7, 0); /* nothing in use, from the beginning */
    assert_middle(&reserves, 7, 0, BYTES);
    say_middle(&reserves, 8, 240, 240);
    assert_middle(&reserves, 8, 240, 240);
    say_middle(&reserves, 9, 80, BYTES);
    assert_middle(&reserves, 9, 80, BYTES);
    hs_native_reserves_fini(&reserves);
}

/* A span of Qt 6: which of the entries have something. */
static void what_a_list_names(void **state)
{
    enum { LIST = 0x5000 };
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    struct hs_image image = {0};
    uint8_t numbers[HS_CLIST_BYTES];
    memset(numbers, HS_CLIST_NONE, sizeof numbers);
    numbers[3] = 0;
    numbers[77] = 200;
    assert_int_equal(hs_image_add(&image, LIST, numbers, sizeof numbers, &err), HS_OK);
    assert_int_equal(hs_native_reserves_say_list(&reserves, 4, LIST, &err), HS_OK);
    assert_int_equal(hs_native_reserves_say_list(&reserves, 5, LIST + 8, &err), HS_OK);
    struct hs_native_use use = hs_native_reserves_use(&reserves, 4, BYTES);
    assert_false(use.is_said); /* by a vector */
    struct hs_native_listed listed = hs_native_listed_of(&image, &use);
    for (uint64_t i = 0; i < 300; i++)
        assert_int_equal(hs_native_listed_has(&listed, i), i == 0 || i == 200);
    use = hs_native_reserves_use(&reserves, 5, BYTES); /* memory that is not there */
    listed = hs_native_listed_of(&image, &use);
    assert_true(hs_native_listed_has(&listed, 1));
    use = hs_native_reserves_use(&reserves, 6, BYTES);
    listed = hs_native_listed_of(&image, &use);
    assert_true(hs_native_listed_has(&listed, UINT64_MAX));
    hs_image_fini(&image);
    hs_native_reserves_fini(&reserves);
}

/* What is too large to be kept in one number is taken to be in use. */
static void hugest_blocks(void **state)
{
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    const uint64_t huge = UINT64_C(1) << 40;
    const struct hs_native_use late = {.from = UINT64_C(1) << 32, .end = UINT64_C(1) << 33};
    const struct hs_native_use large = {.from = 64, .end = huge - 4096};
    assert_int_equal(hs_native_reserves_say(&reserves, 1, huge, late, ELEMENT, &err), HS_OK);
    assert_int_equal(hs_native_reserves_use(&reserves, 1, huge).from, 0);
    assert_int_equal(hs_native_reserves_use(&reserves, 1, huge).end, UINT64_C(1) << 33);
    assert_int_equal(hs_native_reserves_say(&reserves, 2, huge, large, ELEMENT, &err), HS_OK);
    assert_int_equal(hs_native_reserves_use(&reserves, 2, huge).from, 64);
    assert_int_equal(hs_native_reserves_use(&reserves, 2, huge).end, huge);
    hs_native_reserves_fini(&reserves);
}

static void the_vector_that_says_most_is_right(void **state)
{
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    assert_int_equal(used(&reserves, 7), BYTES);
    say(&reserves, 7, 80);
    assert_int_equal(used(&reserves, 7), 80);
    assert_int_equal(used(&reserves, 8), BYTES);
    say(&reserves, 7, 0);
    assert_int_equal(used(&reserves, 7), 80);
    say(&reserves, 7, 400);
    assert_int_equal(used(&reserves, 7), 400);
    say(&reserves, 7, BYTES);
    assert_int_equal(used(&reserves, 7), BYTES);
    say(&reserves, 7, 400); /* moved from, before or after */
    assert_int_equal(used(&reserves, 7), BYTES);
    hs_native_reserves_fini(&reserves);
}

static void an_empty_vector_has_nothing_in_use(void **state)
{
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    say(&reserves, BLOCKS - 1, 0);
    assert_int_equal(used(&reserves, BLOCKS - 1), 0);
    hs_native_reserves_fini(&reserves);
}

static void what_an_allocator_adds_is_no_reserve(void **state)
{
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    say(&reserves, 1, BYTES - 16); /* and yet nothing is there */
    assert_int_equal(used(&reserves, 1), BYTES - 16);
    say(&reserves, 1, BYTES - 8);
    assert_int_equal(used(&reserves, 1), BYTES - 8);
    say(&reserves, 1, BYTES - 16);
    assert_int_equal(used(&reserves, 1), BYTES - 8);
    say(&reserves, 1, 80);
    assert_int_equal(used(&reserves, 1), BYTES - 8);
    say(&reserves, 1, BYTES - 3);
    assert_int_equal(used(&reserves, 1), BYTES);
    /* Less than an element is none either. */
    const struct hs_native_use use = {.end = BYTES - 32};
    assert_int_equal(hs_native_reserves_say(&reserves, 2, BYTES, use, 40, &err), HS_OK);
    assert_int_equal(used(&reserves, 2), BYTES);
    hs_native_reserves_fini(&reserves);
}

static void what_does_not_fit_is_not_believed(void **state)
{
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    say(&reserves, 3, 80);
    say(&reserves, 3, BYTES + 1);
    say(&reserves, 3, UINT64_MAX - 7); /* an end before the begin */
    assert_int_equal(used(&reserves, 3), 80);
    hs_native_reserves_fini(&reserves);
}

/* Of what is not kept all counts, and it is known that something was not. */
static void lists_have_as_much_room_as_there_is(void **state)
{
    const uint64_t most_bytes = hs_native_reserves_lists_bytes(BLOCKS);
    assert_int_equal(hs_native_reserves_without_room(BLOCKS, most_bytes), 0);
    assert_int_equal(hs_native_reserves_without_room(BLOCKS, most_bytes - 1), 1);
    struct hs_native_reserves reserves = {
        .n_blocks = BLOCKS,
        .n_without_room = hs_native_reserves_without_room(BLOCKS, most_bytes / 10)};
    say(&reserves, 1, 80);
    assert_false(reserves.was_full);
    for (uint64_t rank = 2; rank < BLOCKS; rank++)
        say(&reserves, rank, 80);
    assert_true(reserves.was_full);
    say(&reserves, 1, 160); /* what is kept stays, and changes */
    assert_int_equal(used(&reserves, 1), 160);
    assert_int_equal(used(&reserves, BLOCKS - 1), BYTES);
    say(&reserves, BLOCKS - 1, BYTES - 8); /* bits have room */
    assert_int_equal(used(&reserves, BLOCKS - 1), BYTES - 8);
    hs_native_reserves_fini(&reserves);
}

static hs_status say_many(struct hs_native_reserves *reserves)
{
    const struct hs_native_use use = {.end = 80};
    for (uint64_t rank = 0; rank < BLOCKS; rank++)
        HS_TRY(hs_native_reserves_say(reserves, rank, BYTES, use, ELEMENT, &err));
    return HS_OK;
}

static void every_allocation_fails(void **state)
{
    FAIL_EACH (each, .at_least = 2) {
        struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
        (void)FAIL_EACH_TRY(each, say_many(&reserves));
        hs_native_reserves_fini(&reserves);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_middle_of_a_block),
        cmocka_unit_test(what_a_list_names),
        cmocka_unit_test(hugest_blocks),
        cmocka_unit_test(lists_have_as_much_room_as_there_is),
        cmocka_unit_test(the_vector_that_says_most_is_right),
        cmocka_unit_test(an_empty_vector_has_nothing_in_use),
        cmocka_unit_test(what_an_allocator_adds_is_no_reserve),
        cmocka_unit_test(what_does_not_fit_is_not_believed),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
