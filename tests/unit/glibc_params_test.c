/* links: hs_heaps */
#include "unit.h"

#include "fake_glibc.h"

static struct hs_error err;

static struct fake_glibc *with_block(unsigned layout, unsigned params_kind)
{
    struct fake_glibc *fake = fake_glibc_new(layout);
    fake->params_kind = params_kind;
    fake_params(fake, 3, 0x7000);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
    fake_used(&pen, 64);
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    return fake;
}

static const struct glibc_params *params_of(struct fake_glibc *fake)
{
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    assert_non_null(fake->state);
    return &((const struct glibc_state *)fake->state)->instances[0].params;
}

/* The three layouts, whatever the layout of arenas. */
static void test_layouts(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        struct fake_glibc *fake = with_block(i == 2 ? 2 : 0, i);
        const struct glibc_params *params = params_of(fake);
        assert_true(params->is_found);
        assert_int_equal(params->address, FAKE_PARAMS_AT);
        assert_int_equal(params->n_mmaps, 3);
        assert_int_equal(params->mmapped_bytes, 0x7000);
        assert_int_equal(params->sbrk_base, FAKE_BREAK_AT);
        assert_int_equal(params->tcache_count, i == 2 ? 16 : 7);
        fake_glibc_free(fake);
    }
}

/* With settings that people do change. */
static void test_tuned(void **state)
{
    struct fake_glibc *fake = with_block(0, 0);
    *fake_glibc_word(fake, FAKE_PARAMS_AT) = 1 << 20;       /* trim_threshold */
    *fake_glibc_word(fake, FAKE_PARAMS_AT + 16) = 32 << 20; /* mmap_threshold */
    *fake_glibc_word(fake, FAKE_PARAMS_AT + 32) = 2;        /* arena_max */
    *fake_glibc_word(fake, FAKE_PARAMS_AT + 48) = 2 << 20;  /* hp_pagesize */
    *fake_glibc_word(fake, FAKE_PARAMS_AT + 104) = 31;      /* tcache_bins for tcache_max=500 */
    *fake_glibc_word(fake, FAKE_PARAMS_AT + 112) = 500;
    *fake_glibc_word(fake, FAKE_PARAMS_AT + 120) = 100;
    const struct glibc_params *params = params_of(fake);
    assert_true(params->is_found);
    assert_int_equal(params->n_mmaps, 3);
    assert_int_equal(params->tcache_count, 100);
    fake_glibc_free(fake);
}

/* What cannot be mp_ is not taken for it. */
static void test_impossible(void **state)
{
    static const struct {
        unsigned at;
        uint64_t value;
    } wrong[] = {{24, 0},      {24, 1 << 20}, {40, 12345},      {60, UINT64_C(1) << 63},
                 {80, 0x7001}, {104, 0},      {112, 100 << 20}, {120, 1 << 20}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct fake_glibc *fake = with_block(0, 0);
        memcpy((uint8_t *)fake_glibc_word(fake, FAKE_PARAMS_AT) + wrong[i].at, &wrong[i].value, 8);
        assert_false(params_of(fake)->is_found);
        assert_true(fake_glibc_has_note(fake, "counters of glibc's malloc were not found"));
        fake_glibc_free(fake);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_tuned),
        cmocka_unit_test(test_impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
