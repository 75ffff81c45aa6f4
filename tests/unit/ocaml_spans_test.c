/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* Spans, which are added in order, against a plain search. */
#include "unit.h"

#include "base/alloc.h"
#include "ocaml/ocaml.h"

static void finds_what_was_added(void **state)
{
    enum { SPACE = 300 };
    for (unsigned step = 1; step < 40; step++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_spans spans = {0};
        bool covered[SPACE] = {false};
        for (hs_addr begin = step % 3; begin + step < SPACE; begin += step + begin % 3) {
            assert_int_equal(hs_spans_add(&spans, begin, begin + step, &err), HS_OK);
            for (hs_addr at = begin; at < begin + step; at++)
                covered[at] = true;
        }
        for (hs_addr at = 0; at < SPACE; at++) {
            const struct hs_span *span = hs_spans_find(&spans, at);
            assert_int_equal(span != NULL, covered[at]);
            assert_true(span == NULL || (span->begin <= at && at < span->end));
        }
        hs_spans_fini(&spans);
        hs_spans_fini(&spans);
    }
    hs_spans_fini(NULL);
}

static void fails_cleanly_without_memory(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spans spans = {0};

    assert_null(hs_spans_find(&spans, 0));
    hs_alloc_fail_at(1, true);
    assert_int_equal(hs_spans_add(&spans, 1, 2, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(spans.n, 0);
    hs_spans_fini(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
