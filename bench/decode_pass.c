/* decode_pass SNAP: sweeps once over the edges of a snapshot in one thread and does nothing with
 * them: the floor of every pass. Prints edges, bytes of the edge columns before and after zstd,
 * processor seconds. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "graph/sweep.h"
#include "heap_edges.h"

struct count {
    uint64_t n_edges;
    uint64_t sum; /* so that the targets must really be there */
};

static hs_status count_put(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct count *count = context;
    uint64_t n = piece->begin[piece->n];

    (void)err;
    count->n_edges += n;
    if (n != 0)
        count->sum += piece->target[0] + piece->target[n - 1];
    return HS_OK;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap;
    struct hs_sweep sweep;
    struct hs_budget budget;
    struct count count = {0};

    if (argc != 2) {
        (void)fprintf(stderr, "usage: decode_pass SNAP\n");
        return 2;
    }
    bench_must(hs_snap_open(argv[1], 0, &snap, &err), &err);
    hs_budget_init(0, NULL, 1, &budget);
    const struct hs_snap_sweep source = {
        .snap = snap, .edges = HS_GRAPH_RETAINING, .budget = &budget, .phase = "decoding"};
    const struct hs_piece_sink sink = {count_put, &count};
    bench_must(hs_sweep_of_snap(&source, &sweep, &err), &err);
    double began = now();
    bench_must(sweep.run(sweep.context, &sink, &err), &err);
    (void)printf("edges %" PRIu64 " seconds %.4f check %" PRIx64 "\n", count.n_edges, now() - began,
                 count.sum);
    hs_snap_close(snap);
    return 0;
}
