/* reverse_bench SNAPSHOT [MEMORY [THREADS [SPILL_DIR]]]: what turning all edges of a snapshot round
 * costs, beside a pass that only decodes them. MEMORY as for --memory ("90Mi"); 0: no limit. Times
 * are of the wall, and of all processors in parentheses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/units.h"
#include "graph/reverse.h"
#include "heap_edges.h"

struct sum {
    uint64_t n_edges, hash; /* of all (source, target), whatever their order */
    bool is_reversed;
};

static hs_status add_piece(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct sum *sum = context;

    (void)err;
    for (uint32_t i = 0; i < piece->n; i++)
        for (uint64_t e = piece->begin[i]; e < piece->begin[i + 1]; e++) {
            uint64_t a = piece->first + i, b = piece->target[e];
            sum->hash += sum->is_reversed ? (b * 2 + 1) * (a * 2 + 3) ^ b >> 3
                                          : (a * 2 + 1) * (b * 2 + 3) ^ a >> 3;
        }
    sum->n_edges += piece->begin[piece->n];
    return HS_OK;
}

static hs_status add_count(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct sum *sum = context;
    (void)err;
    sum->n_edges += piece->begin[piece->n];
    return HS_OK;
}

static double seconds_of_cpu(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

struct clock {
    uint64_t wall;
    double cpu;
};

static struct clock clock_start(void)
{
    return (struct clock){hs_now_ns(), seconds_of_cpu()};
}

static double clock_print(struct clock start, const char *what, const struct sum *sum)
{
    double wall = (double)(hs_now_ns() - start.wall) * 1e-9, cpu = seconds_of_cpu() - start.cpu;
    (void)printf("%-24s %7.2f s (%6.2f)  %6.1f M edges/s  hash %016llx\n", what, wall, cpu,
                 (double)sum->n_edges / wall * 1e-6, (unsigned long long)sum->hash);
    return wall;
}

static double bench_decode(const struct hs_sweep *sweep, const char *what)
{
    struct hs_error err;
    struct sum sum = {0};
    const struct hs_piece_sink sink = {add_count, &sum};
    struct clock start = clock_start();
    bench_must(sweep->run(sweep->context, &sink, &err), &err);
    return clock_print(start, what, &sum);
}

static double bench_reverse(const struct hs_sweep *sweep, const struct hs_reverse_options *options,
                            bool checks)
{
    struct hs_error err;
    struct sum sum = {.is_reversed = true};
    const struct hs_piece_sink sink = {checks ? add_piece : add_count, &sum};
    struct clock start = clock_start();
    bench_must(hs_reverse(sweep, options, &sink, &err), &err);
    const char *what = options->in_degrees != NULL ? "reverse, counts known" : "reverse";
    return clock_print(start, checks ? "reverse, and hash" : what, &sum);
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap;
    struct hs_budget budget;
    uint64_t limit = 0;
    size_t n;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: reverse_bench SNAPSHOT [MEMORY [THREADS [SPILL_DIR]]]\n");
        return 2;
    }
    if (argc > 2)
        bench_must(hs_parse_size(argv[2], &limit, &err), &err);
    unsigned n_threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    hs_budget_init(limit == 0 ? UINT64_MAX : limit, argc > 4 ? argv[4] : NULL, n_threads, &budget);
    bench_must(hs_snap_open(argv[1], 0, &snap, &err), &err);

    struct hs_snap_sweep one = {.snap = snap, .edges = HS_GRAPH_STRONG}, all = one;
    struct hs_sweep decode, sweep;
    all.budget = &budget;
    bench_must(hs_sweep_of_snap(&one, &decode, &err), &err);
    bench_must(hs_sweep_of_snap(&all, &sweep, &err), &err);
    struct sum sum = {0};
    const struct hs_piece_sink sink = {add_piece, &sum};
    struct clock start = clock_start();
    bench_must(decode.run(decode.context, &sink, &err), &err);
    (void)clock_print(start, "decode, and hash", &sum);

    const uint64_t *in_degrees = hs_snap_in_degrees(snap, &n);
    struct hs_reverse_options options = {.budget = &budget,
                                         .in_degrees = n == 0 ? NULL : in_degrees};
    (void)bench_reverse(&sweep, &options, true);
    for (int round = 0; round < 3; round++) {
        double floor = bench_decode(&decode, "decode, one thread");
        (void)bench_decode(&sweep, "decode, all threads");
        double ratio = bench_reverse(&sweep, &options, false) / floor;
        (void)printf("ratio %.2f\n", ratio);
    }
    options.in_degrees = NULL;
    (void)bench_reverse(&sweep, &options, false);
    char text[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(budget.peak_bytes, text);
    (void)printf("peak of the budget: %s\n", text);
    hs_snap_close(snap);
    return 0;
}
