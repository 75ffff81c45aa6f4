/* links: hs_heaps */
#include "unit.h"

#include "fake_glibc.h"

static const struct {
    uint16_t bytes, n_bins, entries;
    uint8_t count_bytes;
    bool counts_down;
} kinds[] = {{0x290, 64, 128, 2, false}, {0x250, 64, 64, 1, false}, {0x300, 76, 152, 2, true}};
enum { N_KINDS = 3, N_BLOCKS = 4 };

struct caches {
    struct fake_glibc *fake;
    unsigned kind;
    hs_addr caches[FAKE_THREADS], blocks[FAKE_THREADS][N_BLOCKS], live;
};

static void set_count(struct caches *c, unsigned thread, unsigned bin, unsigned n)
{
    uint8_t *b = (uint8_t *)fake_glibc_word(c->fake, c->caches[thread]);
    uint16_t value = (uint16_t)(kinds[c->kind].counts_down ? 7 - n : n);
    memcpy(b + bin * kinds[c->kind].count_bytes, &value, kinds[c->kind].count_bytes);
}

static uint64_t *entry(struct caches *c, unsigned thread, unsigned bin)
{
    return fake_glibc_word(c->fake, c->caches[thread] + kinds[c->kind].entries + 8 * bin);
}

/* Each thread has a cache with a list of N_BLOCKS blocks of 48 bytes. */
static struct caches make(unsigned kind, bool safe)
{
    struct caches c = {.fake = fake_glibc_new(0), .kind = kind};
    struct fake_pen pen = fake_pen_main(c.fake, FAKE_BREAK_AT);

    c.live = fake_used(&pen, 64);
    for (unsigned t = 0; t < FAKE_THREADS; t++) {
        c.caches[t] = fake_used(&pen, kinds[kind].bytes);
        for (unsigned i = 0; i < N_BLOCKS; i++)
            c.blocks[t][i] = fake_used(&pen, 48);
        for (unsigned i = 0; i < N_BLOCKS; i++) {
            hs_addr next = i + 1 < N_BLOCKS ? c.blocks[t][i + 1] : 0;
            *fake_glibc_word(c.fake, c.blocks[t][i]) =
                safe ? fake_safe_link(c.blocks[t][i], next) : next;
        }
        for (unsigned bin = 0; bin < kinds[kind].n_bins; bin++)
            set_count(&c, t, bin, bin == 1 ? N_BLOCKS : 0);
        *entry(&c, t, 1) = c.blocks[t][0];
        *fake_tcache_slot(c.fake, t) = c.caches[t];
    }
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(c.fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
    return c;
}

static void assert_cached(const struct caches *c, unsigned thread)
{
    assert_int_equal(fake_live(c->fake, c->caches[thread]), 0);
    for (unsigned i = 0; i < N_BLOCKS; i++)
        assert_int_equal(fake_live(c->fake, c->blocks[thread][i]), 0);
}

/* Every layout, links masked or plain. */
static void test_layouts(void **state)
{
    for (unsigned i = 0; i < 2 * N_KINDS; i++) {
        struct caches c = make(i / 2, i % 2 == 1);
        fake_glibc_must_run(c.fake);
        for (unsigned t = 0; t < FAKE_THREADS; t++)
            assert_cached(&c, t);
        assert_int_equal(fake_live(c.fake, c.live), 56);
        assert_int_equal(c.fake->map.n_blocks, 1);
        assert_true(fake_glibc_proofs_hold(c.fake));
        assert_int_equal(c.fake->findings.n_torn, 0);
        assert_int_equal(fake_booked(c.fake, HS_MEMORY_CACHED), FAKE_THREADS * N_BLOCKS * 40);
        fake_glibc_free(c.fake);
    }
}

/* Threads without a cache, and other slots that look like one of a single thread's. */
static void test_votes(void **state)
{
    struct caches c = make(0, true);
    *fake_tcache_slot(c.fake, 1) = 0;
    fake_tcache_slot(c.fake, 0)[3] = c.caches[0];
    fake_tcache_slot(c.fake, 1)[3] = c.live;
    fake_tcache_slot(c.fake, 2)[3] = c.live;
    fake_glibc_must_run(c.fake);
    assert_cached(&c, 0);
    assert_cached(&c, 2);
    assert_int_not_equal(fake_live(c.fake, c.caches[1]), 0);
    assert_int_equal(fake_live(c.fake, c.blocks[1][0]), 40);
    assert_int_equal(fake_live(c.fake, c.live), 56);
    assert_true(fake_glibc_proofs_hold(c.fake));
    fake_glibc_free(c.fake);
}

/* A thread in the middle of taking a block: its count is one behind. The others are as ever. */
static void test_torn(void **state)
{
    struct caches c = make(0, true);
    set_count(&c, 2, 1, N_BLOCKS + 1);
    fake_glibc_must_run(c.fake);
    for (unsigned t = 0; t < FAKE_THREADS; t++)
        assert_cached(&c, t);
    assert_int_equal(c.fake->findings.n_torn, 1);
    assert_false(fake_glibc_proofs_hold(c.fake));
    fake_glibc_free(c.fake);
}

/* A list that runs in a circle, into nowhere, into another thread's. */
static void test_hostile(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        struct caches c = make(0, true);
        hs_addr last = c.blocks[1][N_BLOCKS - 1];
        hs_addr to[] = {c.blocks[1][0], 0x1230, last + 8, c.blocks[0][2]};
        *fake_glibc_word(c.fake, last) = fake_safe_link(last, to[i]);
        fake_glibc_must_run(c.fake);
        for (unsigned t = 0; t < FAKE_THREADS; t++)
            assert_cached(&c, t);
        assert_int_equal(fake_live(c.fake, c.live), 56);
        assert_true(c.fake->findings.n_torn > 0);
        fake_glibc_free(c.fake);
    }
}

/* None found where there ought to be some: told, as freed blocks are then listed as live. */
static void test_none(void **state)
{
    struct caches c = make(0, true);
    for (unsigned t = 0; t < FAKE_THREADS; t++)
        *fake_tcache_slot(c.fake, t) = 0;
    fake_glibc_must_run(c.fake);
    assert_true(fake_glibc_has_note(c.fake, "no thread cache"));
    fake_glibc_forget(c.fake);
    c.fake->threads[0].regs.fs_base = 0;
    c.fake->threads[1].regs.fs_base = UINT64_MAX;
    c.fake->threads[2].regs.fs_base = 8;
    fake_glibc_must_run(c.fake);
    fake_glibc_free(c.fake);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_votes), cmocka_unit_test(test_torn),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
