/* links: hs_native */
#include "unit.h"

#include "base/load.h"
#include "native/unaligned.h"

static uint64_t seed = 1;

static uint64_t random_word(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed ^ seed >> 29;
}

static struct hs_heap_map map_of(struct hs_heap_span *spans, size_t n)
{
    return (struct hs_heap_map){.spans = spans, .n_spans = n};
}

/* Counts which of the seven unaligned words in two aligned ones lead into a span unseen. */
static size_t count_missed(const struct hs_heap_map *map, uint64_t mask, const uint8_t bytes[16])
{
    const struct hs_unaligned of = hs_unaligned_of(map, mask);
    uint64_t found = hs_unaligned_in(&of, hs_load_u64(bytes), hs_load_u64(bytes + 8));
    size_t n_missed = 0;

    assert_int_equal(found & ~HS_UNALIGNED_ALL, 0);
    for (unsigned at = 1; at < 8; at++) {
        uint64_t word = hs_load_u64(bytes + at) & ~mask;
        bool leads = false;
        for (size_t i = 0; i < map->n_spans; i++)
            leads |= word >= map->spans[i].begin && word < map->spans[i].end;
        n_missed += leads && (found >> (8 * (at - 1) + 7) & 1) == 0;
    }
    return n_missed;
}

static void try_map(struct hs_heap_span *spans, size_t n, uint64_t mask)
{
    const struct hs_heap_map map = map_of(spans, n);

    for (unsigned round = 0; round < 2000; round++) {
        const struct hs_heap_span *span = &spans[round % n];
        uint64_t word = span->begin + random_word() % (span->end - span->begin);
        uint8_t bytes[16] = {0};
        if (round % 3 != 0)
            for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)(random_word() % (round % 3 == 1 ? 256 : 2));
        word |= random_word() & mask;
        memcpy(bytes + 1 + round % 7, &word, sizeof word);
        assert_int_equal(count_missed(&map, mask, bytes), 0);
    }
}

static void all_addresses_are_found(void **state)
{
    struct hs_heap_span usual[] = {
        {.begin = UINT64_C(0x555555559000), .end = UINT64_C(0x55555557a000)},
        {.begin = UINT64_C(0x7ffff0000000), .end = UINT64_C(0x7ffff7a00000)}};
    struct hs_heap_span low[] = {{.begin = UINT64_C(0x1c61000), .end = UINT64_C(0x1c82000)}};
    struct hs_heap_span wide[] = {
        {.begin = UINT64_C(0x100000000000), .end = UINT64_C(0x7f0000000000)}};
    struct hs_heap_span across[] = {
        {.begin = UINT64_C(0x20fffffff000), .end = UINT64_C(0x210000001000)}};
    (void)state;
    try_map(usual, 2, 0);
    try_map(usual, 2, UINT64_C(0xffff) << 48);
    try_map(usual, 2, UINT64_C(0xff) << 40);
    try_map(low, 1, 0);
    try_map(wide, 1, 0);
    try_map(across, 1, 0);
}

static void few_others_are(void **state)
{
    struct hs_heap_span span = {.begin = UINT64_C(0x7ffff0000000), .end = UINT64_C(0x7ffff0100000)};
    const struct hs_heap_map map = map_of(&span, 1);
    const struct hs_unaligned of = hs_unaligned_of(&map, 0);
    (void)state;
    assert_int_equal(of.n_tops, 1);
    assert_false(of.is_any);
    assert_int_equal(hs_unaligned_in(&of, 0, 0), 0);
    assert_int_equal(hs_unaligned_in(&of, span.begin, span.begin), 0); /* aligned ones */
    assert_int_equal(hs_unaligned_in(&of, 12345, UINT64_MAX), 0);
    assert_int_equal(hs_unaligned_in(&of, UINT64_C(0x7f) << 48, 0), UINT64_C(0x80)); /* at 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_addresses_are_found),
                                       cmocka_unit_test(few_others_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
