/* A dump with a budget, for tests and figures.
 *
 *   budget_dump PID FILE BYTES [SPILL_DIR]      BYTES 0: no budget at all
 *
 * ORDER_SEED, ORDER_REGION_BITS in the environment: see struct hs_dump_order.
 *
 * Prints "seconds", "pause_ms", "peak_rss_mib", "budget_peak_mib", "blocks", "edges", one a line.
 * Ends with the exit code that the tool would end with. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/progress.h"
#include "dump/dump.h"

static int fail(const struct hs_error *err)
{
    static const int codes[HS_N_STATUS] = {[HS_USAGE] = 2, [HS_TARGET] = 3, [HS_FORMAT] = 4,
                                           [HS_IO] = 5,    [HS_LIMIT] = 6,  [HS_BUG] = 70};
    fprintf(stderr, "budget_dump: %s\n", err->message);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    return codes[err->status];
}

static uint64_t began_ns;

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    static const char *last;
    (void)context;
    (void)total;
    if (getenv("BUDGET_DUMP_VERBOSE") != NULL && (last != phase || done == 0)) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        fprintf(stderr, "%8.3f s %8ld MiB %s\n", (double)(hs_now_ns() - began_ns) / 1e9,
                usage.ru_maxrss / 1024, phase);
        last = phase;
    }
    return true;
}

static uint64_t number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_progress progress = {.tell = tell};
    struct hs_dump_options options = {.tool_version = "test", .progress = &progress};
    struct hs_dump_report report = {0};
    struct hs_budget budget;
    struct hs_out out = {0};
    struct rusage usage;

    if (argc < 4)
        return 2;
    options.order.seed = number_of("ORDER_SEED");
    options.order.region_bits = (unsigned)number_of("ORDER_REGION_BITS");
    options.pid = (pid_t)strtol(argv[1], NULL, 10);
    uint64_t n_bytes = strtoull(argv[3], NULL, 10);
    hs_budget_init(n_bytes == 0 ? 1 : n_bytes, argc > 4 ? argv[4] : NULL, 1, &budget);
    options.budget = n_bytes == 0 ? NULL : &budget;
    began_ns = hs_now_ns();
    hs_status status = hs_out_open_path(argv[2], &out, &err);
    if (status == HS_OK)
        status = hs_dump_process(&options, &out, &report, &err);
    if (status == HS_OK)
        status = hs_out_commit(&out, &err);
    hs_out_close(&out);
    getrusage(RUSAGE_SELF, &usage);
    printf("seconds %.3f\npeak_rss_mib %ld\nbudget_peak_mib %" PRIu64 "\n",
           (double)(hs_now_ns() - began_ns) / 1e9, usage.ru_maxrss / 1024, budget.peak_bytes >> 20);
    if (status != HS_OK)
        return fail(&err);
    printf("pause_ms %.1f\nblocks %" PRIu64 "\nedges %" PRIu64 "\nstops %" PRIu64 "\n",
           (double)report.pause_ns / 1e6, report.totals.n_blocks, report.totals.n_edges,
           report.n_stop_attempts);
    return 0;
}
