/* graph_file SNAP FILE: the edges of a snapshot as plain 32-bit rows, for programs of others:
 *
 *   u64 n_nodes | u64 n_edges | u32 begin[n_nodes + 1] | u32 target[n_edges] */
#include <stdio.h>

#include "base/file.h"
#include "heap_edges.h"

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap;
    struct hs_graph graph;
    struct hs_out out;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: graph_file SNAP FILE\n");
        return 2;
    }
    bench_must(hs_snap_open(argv[1], 0, &snap, &err), &err);
    bench_must(hs_graph_load(snap, HS_GRAPH_RETAINING, NULL, &graph, &err), &err);
    hs_snap_close(snap);
    const uint64_t head[2] = {graph.n_nodes, graph.n_edges};
    bench_must(hs_out_open_path(argv[2], &out, &err), &err);
    bench_must(hs_out_write(&out, head, sizeof head, &err), &err);
    bench_must(hs_out_write(&out, graph.begin, ((size_t)graph.n_nodes + 1) * 4, &err), &err);
    bench_must(hs_out_write(&out, graph.target, graph.n_edges * 4, &err), &err);
    bench_must(hs_out_commit(&out, &err), &err);
    hs_out_close(&out);
    hs_graph_fini(&graph);
    return 0;
}
