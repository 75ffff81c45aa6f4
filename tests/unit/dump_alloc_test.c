/* links: hs_dump hs_native hs_heaps hs_runtimes hs_process hs_format hs_symbols */
/* The allocations of a dump of the made-up world of tests/live/fixtures/hostile.c. */
#include "dump_failing.h"
#include "seeds.h"

static void each_allocation_of(bool with_malloc)
{
    static const char *const compile[] = {
        "-O1",       "-w",       "-no-pie",
        "-rdynamic", "-pthread", HS_SOURCE_DIR "/tests/live/fixtures/hostile.c",
        NULL};
    struct failing_dump d = {
        .compile = compile,
        .tell = "0\n", /* not spoilt */
        .ready = "READY 0\n",
        .options = {.no_names = true, .own_heap_alone = !with_malloc},
        .most_dumps = HS_SEEDS(160),
        .may_be_inexact = true,
    };
    failing_dump(&d);
}

static void each_allocation(void **state)
{
    (void)state;
    each_allocation_of(false);
}

/* Both heaps as one graph. */
static void each_allocation_with_malloc(void **state)
{
    (void)state;
    each_allocation_of(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation),
        cmocka_unit_test(each_allocation_with_malloc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
