/* links: hs_dump hs_native hs_heaps hs_runtimes hs_process hs_format hs_symbols */
/* The allocations of a native dump of tests/live/fixtures/native_basic.c, with types. Static: no
 * debug information of others. */
#include "dump_failing.h"
#include "seeds.h"

static void each_allocation(void **state)
{
    static const char *const compile[] = {
        "-O1", "-g", "-static", HS_SOURCE_DIR "/tests/live/fixtures/native_basic.c", NULL};
    struct failing_dump d = {
        .compile = compile,
        .tell = "",
        .ready = "READY\n",
        .most_dumps = HS_SEEDS(400),
        .both_ways = true,
    };
    (void)state;
    failing_dump(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
