/* links: hs_heaps */
/* Runs of regions: into any place of the map's bits, and to the ledger as one move per run. */
#include "unit.h"

#include "heaps/region_bits.h"

enum { N = 512 };

static struct hs_error err;

static uint64_t next_random(void)
{
    static uint64_t seed = 99;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Random words, some of them all zeros or all ones. */
static void draw(uint64_t *live)
{
    for (unsigned i = 0; i < N / 64; i++) {
        uint64_t form = next_random() % 4;
        live[i] = form == 0 ? 0 : form == 1 ? UINT64_MAX : next_random();
    }
}

static bool bit(const uint64_t *live, unsigned i)
{
    return (live[i / 64] >> (i % 64) & 1) != 0;
}

static void bits_go_to_any_place(void **state)
{
    uint64_t live[N / 64];

    for (unsigned round = 0; round < 300; round++) {
        struct hs_bitmap starts = {0};
        unsigned n = 1 + (unsigned)(next_random() % N), first = (unsigned)(next_random() % 200);
        draw(live);
        assert_int_equal(hs_bitmap_init(&starts, first + n, &err), HS_OK);
        hs_region_bits_set(&starts, first, live, n);
        for (unsigned i = 0; i < first; i++)
            assert_false(hs_bitmap_get(&starts, i));
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(hs_bitmap_get(&starts, first + i), bit(live, i));
        uint64_t last = (first + n) % 64;
        if (last != 0) /* nothing behind the end */
            assert_int_equal(starts.words[(first + n) / 64] >> last, 0);
        hs_bitmap_fini(&starts);
    }
}

static void moves_add_up(void **state)
{
    uint64_t live[N / 64];

    for (unsigned round = 0; round < 300; round++) {
        struct hs_strtab strings = {0};
        struct hs_image image = {0};
        struct hs_ledger ledger;
        struct hs_mapping mapping = {.begin = 0x10000, .end = 0x10000 + N * 48, .writable = true};
        struct hs_target target = {.mappings = &mapping, .n_mappings = 1};
        struct hs_process_copy process = {.target = &target, .image = &image};
        unsigned n = 1 + (unsigned)(next_random() % N), n_live = 0;
        uint64_t resident, found = 0;
        draw(live);
        for (unsigned i = 0; i < n; i++)
            n_live += bit(live, i);
        hs_ledger_init(&ledger, &strings, &image);
        assert_int_equal(
            hs_ledger_claim(&ledger, "pool", HS_MEMORY_FREE, mapping.begin, mapping.end, 0, &err),
            HS_OK);
        struct hs_region_move move = {"pool", HS_MEMORY_FREE, HS_MEMORY_LIVE, mapping.begin, 48};
        assert_int_equal(hs_region_bits_move(&ledger, &move, live, n, &err), HS_OK);
        hs_ledger_seal(&ledger);
        assert_int_equal(hs_ledger_close(&ledger, &process, NULL, &resident, &err), HS_OK);
        for (size_t i = 0; i < ledger.n_rows; i++)
            if (ledger.rows[i].state == HS_MEMORY_LIVE)
                found = ledger.rows[i].n_bytes;
        assert_int_equal(found, n_live * 48);
        hs_ledger_fini(&ledger);
        hs_strtab_fini(&strings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_go_to_any_place),
        cmocka_unit_test(moves_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
