/* links: hs_heaps */
#include "unit.h"

#include "fake_glibc.h"

/* The header of a mapped chunk whose user address is `user`, in a mapping at `begin` of `bytes`. */
static void put(struct fake_glibc *fake, hs_addr begin, hs_addr user, uint64_t bytes)
{
    uint64_t offset = user - 16 - begin, inner = fake->layout->has_inner_mmap_size ? 16 : 0;
    *fake_glibc_word(fake, user - 16) = offset;
    *fake_glibc_word(fake, user - 8) = (bytes - offset - inner) | GLIBC_IS_MMAPPED;
}

/* Neighbours in one mapping: plain; aligned, the first header as it was; aligned and then grown, or
 * shrunk, so that the first header is wrong. */
static void test_neighbours(void **state)
{
    for (unsigned layout = 0; layout < GLIBC_N_LAYOUTS; layout += 2) {
        struct fake_glibc *fake = fake_glibc_with_main(layout);
        uint64_t tail = layout == 2 ? 8 : 0;
        hs_addr at = FAKE_MAP_AT + 0x1000, users[5];
        users[0] = at + 16;
        put(fake, at, users[0], 0x3000);
        at += 0x3000; /* aligned to 64 */
        users[1] = at + 64;
        put(fake, at, at + 16, 0x2000);
        put(fake, at, users[1], 0x2000);
        at += 0x2000; /* to 1024, then grown from 0x2000 */
        users[2] = at + 1024;
        put(fake, at, at + 16, 0x2000);
        put(fake, at, users[2], 0x4000);
        at += 0x4000; /* to 4096, then shrunk from 0x8000 */
        users[3] = (at + 16 + 4095) & ~(hs_addr)4095;
        put(fake, at, at + 16, 0x8000);
        put(fake, at, users[3], 0x3000);
        at += 0x3000;
        users[4] = at + 16;
        put(fake, at, users[4], 0x1000);
        at += 0x1000;
        fake_params(fake, 5, at - FAKE_MAP_AT - 0x1000 + (layout == 2 ? 32 : 0));
        fake_glibc_must_run(fake);
        assert_int_equal(fake_live(fake, users[0]), 0x3000 - 16 - tail);
        assert_int_equal(fake_live(fake, users[1]), 0x2000 - 64 - tail);
        assert_int_equal(fake_live(fake, users[2]), 0x4000 - 1024 - tail);
        assert_int_equal(fake_live(fake, users[3]), 0x2000 - tail);
        assert_int_equal(fake_live(fake, users[4]), 0x1000 - 16 - tail);
        assert_int_equal(fake->map.n_blocks, 6);
        assert_true(fake_glibc_proofs_hold(fake));
        assert_int_equal(fake->findings.n_torn, 0);
        for (size_t i = 0; i < fake->map.n_spans; i++)
            assert_int_equal(fake->map.spans[i].states, 0);
        fake_glibc_free(fake);
    }
}

/* mremap moved an aligned block: no alignment tells any more where it is in its mapping. */
static void test_moved(void **state)
{
    struct fake_glibc *fake = fake_glibc_with_main(0);
    hs_addr at = FAKE_MAP_AT + 0x3000, user = at + 0x5000;
    put(fake, at, at + 16, 0x9000);
    put(fake, at, user, 0xc000);
    fake_params(fake, 1, 0xc000);
    fake_glibc_must_run(fake);
    assert_int_equal(fake_live(fake, user), 0x7000);
    assert_int_equal(fake->map.n_blocks, 2);
    assert_true(fake_glibc_proofs_hold(fake));
    fake_glibc_free(fake);
}

/* What the counters do not confirm is listed, but as unsure. */
static void test_unsure(void **state)
{
    struct fake_glibc *fake = fake_glibc_with_main(0);
    put(fake, FAKE_MAP_AT, FAKE_MAP_AT + 16, 0x3000);
    fake_params(fake, 2, 0x5000);
    fake_glibc_must_run(fake);
    assert_int_equal(fake_live(fake, FAKE_MAP_AT + 16), 0x3000 - 16);
    assert_false(fake_glibc_proofs_hold(fake));
    assert_int_equal(fake->findings.n_torn, 2);
    bool is_unsure = false;
    for (size_t i = 0; i < fake->map.n_spans; i++)
        is_unsure |= (fake->map.spans[i].states & HS_BLOCK_UNSURE) != 0;
    assert_true(is_unsure);
    fake_glibc_free(fake);
}

/* With no mapped chunk counted, none is looked for; the inside of one is never searched. */
static void test_no_false_ones(void **state)
{
    struct fake_glibc *fake = fake_glibc_with_main(0);
    put(fake, FAKE_MAP_AT, FAKE_MAP_AT + 16, 0x3000);
    fake_glibc_must_run(fake);
    assert_int_equal(fake->map.n_blocks, 1);
    fake_glibc_forget(fake);
    put(fake, FAKE_MAP_AT, FAKE_MAP_AT + 16, 0x4000);
    put(fake, FAKE_MAP_AT + 0x1000, FAKE_MAP_AT + 0x1010, 0x1000);
    fake_params(fake, 1, 0x4000);
    fake_glibc_must_run(fake);
    assert_int_equal(fake->map.n_blocks, 2);
    assert_int_equal(fake_live(fake, FAKE_MAP_AT + 16), 0x4000 - 16);
    assert_int_equal(fake_live(fake, FAKE_MAP_AT + 0x1010), 0);
    fake_glibc_free(fake);
}

/* Sizes that are none. */
static void test_hostile(void **state)
{
    static const uint64_t sizes[] = {0,
                                     2,
                                     16 | 2,
                                     0x1008 | 2,
                                     0x1000 | 3,
                                     0x1000 | 6,
                                     UINT64_MAX,
                                     (FAKE_MAP_BYTES + 4096) | 2,
                                     ~UINT64_C(4095) | 2};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct fake_glibc *fake = fake_glibc_with_main(0);
        for (size_t k = 0; k < FAKE_MAP_BYTES; k += 4096)
            *fake_glibc_word(fake, FAKE_MAP_AT + k + 8) = sizes[i];
        fake_params(fake, 64, 64 * 4096);
        fake_glibc_must_run(fake);
        assert_int_equal(fake->map.n_blocks, 1);
        assert_true(fake->findings.n_torn > 0);
        fake_glibc_free(fake);
    }
}

/* Of the first page of a mapping something else was said than of the rest: to the kernel these are
 * several mappings, also where the rest may not be written to. */
static void test_split(void **state)
{
    const hs_addr begin = FAKE_MAP_AT + 0x2000, middle = begin + 0x1000;
    const struct {
        bool readable, writable, shared;
        uint64_t inode;
        size_t n_blocks;
    } rests[] = {{true, true, false, 0, 2},
                 {true, false, false, 0, 2},
                 {false, false, false, 0, 2},
                 {true, true, true, 0, 1},
                 {true, true, false, 7, 1}};

    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        struct fake_glibc *fake = fake_glibc_with_main(0);
        struct hs_mapping *map = fake->mappings;
        while (map->begin != FAKE_MAP_AT)
            map++;
        memmove(map + 1, map,
                (size_t)(fake->mappings + fake->target.n_mappings++ - map) * sizeof *map);
        map[0].end = map[1].begin = middle;
        map[1].readable = rests[i].readable;
        map[1].writable = rests[i].writable;
        map[1].shared = rests[i].shared;
        map[1].inode = rests[i].inode;
        put(fake, begin, begin + 16, 0x9000);
        fake_params(fake, 1, 0x9000);
        fake_glibc_must_run(fake);
        assert_int_equal(fake->map.n_blocks, rests[i].n_blocks);
        assert_int_equal(fake_glibc_proofs_hold(fake), rests[i].n_blocks == 2);
        assert_int_equal(fake_live(fake, begin + 16), rests[i].n_blocks == 2 ? 0x9000 - 16 : 0);
        fake_glibc_free(fake);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_moved),
        cmocka_unit_test(test_unsure),     cmocka_unit_test(test_no_false_ones),
        cmocka_unit_test(test_hostile),    cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
