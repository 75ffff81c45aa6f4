/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* Sorted spans against a plain search, on random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "ocaml/ocaml.h"

enum { SPACE = 300 };

static uint64_t random_state = 99;

static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 20) % below;
}

static void joins_and_finds(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_spans spans = {0};
        bool covered[SPACE] = {false};
        for (unsigned i = 0; i < round % 40; i++) {
            uint64_t begin = next_random(SPACE), end = next_random(SPACE);
            assert_int_equal(hs_spans_add(&spans, begin, end, &err), HS_OK);
            for (uint64_t at = begin; at < end; at++)
                covered[at] = true; /* nothing when begin >= end */
        }
        hs_spans_seal(&spans);
        for (size_t i = 0; i < spans.n; i++) {
            assert_true(spans.spans[i].begin < spans.spans[i].end);
            assert_true(i == 0 || spans.spans[i - 1].end < spans.spans[i].begin);
        }
        for (uint64_t at = 0; at < SPACE; at++) {
            const struct hs_span *span = hs_spans_find(&spans, at);
            assert_int_equal(span != NULL, covered[at]);
            assert_true(span == NULL || (span->begin <= at && at < span->end));
        }
        hs_spans_fini(&spans);
    }
}

static void takes_the_ends_of_the_address_space(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spans spans = {0};

    assert_null(hs_spans_find(&spans, 0));
    hs_spans_seal(&spans);
    assert_int_equal(hs_spans_add(&spans, UINT64_MAX - 8, UINT64_MAX, &err), HS_OK);
    assert_int_equal(hs_spans_add(&spans, 0, 1, &err), HS_OK);
    hs_spans_seal(&spans);
    assert_int_equal(spans.n, 2);
    assert_ptr_equal(hs_spans_find(&spans, 0), &spans.spans[0]);
    assert_ptr_equal(hs_spans_find(&spans, UINT64_MAX - 1), &spans.spans[1]);
    assert_null(hs_spans_find(&spans, UINT64_MAX));
    hs_spans_fini(&spans);
    hs_spans_fini(&spans);
    hs_spans_fini(NULL);
}

static void fails_cleanly_without_memory(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spans spans = {0};

    hs_alloc_fail_at(1, true);
    assert_int_equal(hs_spans_add(&spans, 1, 2, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(spans.n, 0);
    hs_spans_fini(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_and_finds),
        cmocka_unit_test(takes_the_ends_of_the_address_space),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
