/* Runs a piece of work again and again while its first allocation fails, then its second and so on,
 * until it ends without a failure.
 *
 *     FAIL_EACH (f, .at_least = 5) {
 *         struct thing thing = {0};
 *         FAIL_EACH_TRY(f, thing_build(&thing, &err));
 *         thing_fini(&thing);
 *     }
 *
 * Asserts that each failure is told as HS_LIMIT, that the run without one is HS_OK, that a failed
 * run holds no more allocations when its block ends than when it began (`keeps` waives that), and
 * that at least `at_least` and at most 20,000 allocations were failed. */
#ifndef HS_TEST_FAIL_EACH_H
#define HS_TEST_FAIL_EACH_H

#include "base/alloc.h"

enum fail_mode {
    FAIL_ONE,  /* only the nth */
    FAIL_REST, /* and all after it */
    FAIL_BOTH, /* as FAIL_REST for every other n */
};

struct fail_each {
    enum fail_mode mode;
    uint64_t at_least;
    bool may_do_without; /* HS_OK may come although an allocation failed */
    bool keeps;          /* a failed run may leave memory with the fixture */
    bool is_over;        /* the last run had no failure */
    uint64_t nth;        /* that fails; begins at 1 */
    uint64_t n_failed;   /* runs that ended with HS_LIMIT */
    uint64_t n_calls, n_live;
    hs_status status; /* of the last run */
};

/* False when the run before this one had no failure. */
bool fail_each_next(struct fail_each *f);

/* Around the work. */
void fail_each_begin(struct fail_each *f);
hs_status fail_each_end(struct fail_each *f, hs_status status);

#define FAIL_EACH(f, ...) for (struct fail_each f = {__VA_ARGS__}; fail_each_next(&f);)
#define FAIL_EACH_TRY(f, work) (fail_each_begin(&f), fail_each_end(&f, work))

#endif
