/* Times the dominator engine against a plain depth-first search over the same rows, in the same
 * run:
 *
 *     dominators_bench [--nodes N] [--runs K] [--no-oracles] [--only WORD] [--snap FILE]...
 *
 * One line per graph. Seconds are processor time of the best of K runs; every other figure is a
 * multiple of the plain search. `mem` is the peak of the whole process while the dominators are
 * found, graph included, in bytes per node; `hash` is the sum over (node, immediate dominator) that
 * other programs print, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HS_HAVE_IGRAPH
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <igraph.h>
#pragma GCC diagnostic pop
#endif

#include "base/units.h"
#include "dominator/reachable.h"
#include "dominator/retained.h"
#include "graph/pages.h"
#include "heap_edges.h"
#include "heap_generator.h"
#include "lengauer_tarjan.h"

struct bench {
    uint64_t n_nodes, n_runs;
    bool has_oracles;
    const char *only; /* part of the names of the graphs to run; NULL: all */
};

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Lets the kernel forget the peak so far. */
static void peak_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL)
        return;
    (void)fputs("5", file);
    (void)fclose(file);
}

static double peak_bytes(void)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %lf", &kib) == 1)
            break;
    if (file != NULL)
        (void)fclose(file);
    return kib * 1024;
}

/* ---- what is timed ---- */

/* The floor: marks when taken, fetches ahead, and does nothing else. */
static uint32_t plain_search(const struct hs_graph *graph, uint32_t *number, uint32_t *stack)
{
    const uint32_t *begin = graph->begin, *target = graph->target;
    uint32_t n_reached = 0;
    size_t n = 1;

    stack[0] = 0;
    while (n != 0) {
        uint32_t node = stack[--n];
        if (number[node] != 0)
            continue;
        number[node] = ++n_reached;
        for (uint32_t e = begin[node + 1], first = begin[node]; e-- > first;) {
            __builtin_prefetch(&number[target[e]]);
            stack[n++] = target[e];
        }
        if (n > 5) {
            __builtin_prefetch(&begin[stack[n - 6]]);
            __builtin_prefetch(&target[begin[stack[n - 3]]]);
        }
    }
    return n_reached;
}

static double time_plain(const struct hs_graph *graph, uint32_t *ret_reached)
{
    struct hs_error err;
    void *number, *stack;
    double start = now();
    bench_must(hs_dense_pages(graph->n_nodes, sizeof(uint32_t), &number, &err), &err);
    bench_must(hs_pages_alloc(graph->n_edges + 1, sizeof(uint32_t), &stack, &err), &err);
    *ret_reached = plain_search(graph, number, stack);
    hs_pages_free(number, graph->n_nodes, sizeof(uint32_t));
    hs_pages_free(stack, graph->n_edges + 1, sizeof(uint32_t));
    return now() - start;
}

static double time_engine(const struct hs_graph *graph, struct hs_domtree *ret)
{
    struct hs_error err;
    double start = now();
    bench_must(hs_domtree_build(graph, NULL, ret, &err), &err);
    return now() - start;
}

static double time_oracle(const struct hs_graph *graph, struct hs_domtree *ret)
{
    struct hs_error err;
    double start = now();
    bench_must(hs_lengauer_tarjan(graph, ret, &err), &err);
    return now() - start;
}

static double time_retained(const struct hs_domtree *tree, const struct hs_weights *weights)
{
    struct hs_error err;
    struct hs_retained sum;
    double start = now();
    bench_must(hs_retained_sum(tree, weights, HS_DIM_WORDS, &sum, &err), &err);
    hs_retained_fini(&sum);
    return now() - start;
}

static double time_reachable(const struct hs_graph *graph, const struct hs_domtree *tree,
                             const struct hs_weights *weights)
{
    struct hs_error err;
    struct hs_sizes *sizes;
    double start = now();
    const struct hs_row_source source = {.graph = graph};
    const struct hs_reachable_task task = {.source = &source, .tree = tree, .weights = weights};
    bench_must(hs_reachable_find(&task, NULL, &sizes, &err), &err);
    double seconds = now() - start;
    hs_free(sizes);
    return seconds;
}

/* Order-independent over (node, immediate dominator). */
static uint64_t tree_hash(const struct hs_domtree *tree)
{
    struct hs_error err;
    uint32_t *order;
    uint64_t hash = 0;
    bench_must(hs_domtree_order(tree, &order, &err), &err);
    for (uint32_t i = 1; i < tree->n_reached; i++) {
        uint64_t x = (uint64_t)order[i] << 32 | order[tree->idom[i]];
        x = (x ^ x >> 29) * 0x9E3779B97F4A7C15ULL;
        hash += x ^ x >> 32;
    }
    hs_pages_free(order, tree->n_nodes, sizeof *order);
    return hash;
}

#ifdef HS_HAVE_IGRAPH
/* Making igraph's own graph is not counted. Returns 0 when the graph is too large for the machine.
 * */
static double time_igraph(const struct hs_graph *graph, const struct hs_domtree *tree)
{
    igraph_vector_int_t ends, dom;
    igraph_t g;

    if (graph->n_nodes > 12000000)
        return 0;
    igraph_vector_int_init(&ends, (igraph_integer_t)graph->n_edges * 2);
    for (uint32_t u = 0; u < graph->n_nodes; u++)
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++) {
            VECTOR(ends)[2 * (size_t)e] = u;
            VECTOR(ends)[2 * (size_t)e + 1] = graph->target[e];
        }
    igraph_create(&g, &ends, graph->n_nodes, true);
    igraph_vector_int_destroy(&ends);
    igraph_vector_int_init(&dom, 0);
    double start = now();
    igraph_dominator_tree(&g, 0, &dom, NULL, NULL, IGRAPH_OUT);
    double seconds = now() - start;
    struct hs_error err;
    uint32_t *order;
    bench_must(hs_domtree_order(tree, &order, &err), &err);
    for (uint32_t i = 1; i < tree->n_reached; i++)
        if (VECTOR(dom)[order[i]] != (igraph_integer_t)order[tree->idom[i]]) {
            (void)fprintf(stderr, "bench: igraph disagrees about node %u\n", order[i]);
            exit(EXIT_FAILURE);
        }
    hs_pages_free(order, tree->n_nodes, sizeof *order);
    igraph_vector_int_destroy(&dom);
    igraph_destroy(&g);
    return seconds;
}
#else
static double time_igraph(const struct hs_graph *graph, const struct hs_domtree *tree)
{
    (void)graph, (void)tree;
    return 0;
}
#endif

/* ---- one line ---- */

static struct hs_weights plain_weights(const struct hs_graph *graph)
{
    struct hs_error err;
    struct hs_weights weights;
    bench_must(hs_weights_init(graph->n_nodes, graph->n_tree, &weights, &err), &err);
    for (uint32_t i = graph->n_tree; i < graph->n_nodes; i++)
        bench_must(
            hs_weights_set(&weights, i, 1 + graph->begin[i + 1] - graph->begin[i], false, &err),
            &err);
    return weights;
}

static void keep_best(double *best, double seconds)
{
    if (*best == 0 || seconds < *best)
        *best = seconds;
}

static void print_ratio(double seconds, double plain)
{
    if (seconds == 0)
        (void)printf(" %8s", "-");
    else
        (void)printf(" %8.2f", seconds / plain);
}

static void print_head(void)
{
    (void)printf("%-40s %9s %6s %6s %6s %8s %8s %8s %8s %8s %8s %6s %16s\n", "graph", "nodes",
                 "m/n", "core%", "evals", "plain s", "engine", "retained", "reachall", "simpleLT",
                 "igraph", "mem", "hash");
}

static void bench_graph(const struct bench *bench, const char *name, const struct hs_graph *graph)
{
    struct hs_weights weights = plain_weights(graph);
    double plain = 0, engine = 0, retained = 0, reachable = 0, oracle = 0, peak = 0;
    struct hs_domtree tree = {0}, other = {0};
    uint32_t n_reached = 0;

    for (uint64_t run = 0; run < bench->n_runs; run++) {
        hs_domtree_fini(&tree);
        keep_best(&plain, time_plain(graph, &n_reached));
        peak_reset();
        keep_best(&engine, time_engine(graph, &tree));
        peak = peak_bytes() - (double)graph->n_nodes * sizeof(uint32_t); /* the weights */
        keep_best(&retained, time_retained(&tree, &weights));
        if (graph->n_tree > 1)
            keep_best(&reachable, time_reachable(graph, &tree, &weights));
    }
    double igraph = bench->has_oracles ? time_igraph(graph, &tree) : 0;
    for (uint64_t run = 0; bench->has_oracles && run < 2; run++) {
        hs_domtree_fini(&other);
        keep_best(&oracle, time_oracle(graph, &other));
    }
    if (tree.n_reached != n_reached ||
        (bench->has_oracles && tree_hash(&tree) != tree_hash(&other))) {
        (void)fprintf(stderr, "bench: the dominators of '%s' are wrong\n", name);
        exit(EXIT_FAILURE);
    }
    (void)printf("%-40s %9u %6.2f %6.1f %6.2f %8.3f", name, graph->n_nodes,
                 (double)graph->n_edges / graph->n_nodes,
                 100.0 * (double)tree.counts.n_core / n_reached,
                 (double)tree.counts.n_evals / n_reached, plain);
    print_ratio(engine, plain);
    print_ratio(retained, plain);
    print_ratio(reachable, plain);
    print_ratio(oracle, plain);
    print_ratio(igraph, plain);
    (void)printf(" %6.1f %16llx\n", peak / graph->n_nodes, (unsigned long long)tree_hash(&tree));
    (void)fflush(stdout);
    hs_domtree_fini(&tree);
    hs_domtree_fini(&other);
    hs_weights_fini(&weights);
}

static bool is_wanted(const struct bench *bench, const char *name)
{
    return bench->only == NULL || strstr(name, bench->only) != NULL;
}

static void bench_recipe(const struct bench *bench, const char *name,
                         const struct heap_recipe *recipe)
{
    if (!is_wanted(bench, name))
        return;
    struct hs_graph graph = heap_generate(recipe);
    bench_graph(bench, name, &graph);
    hs_graph_fini(&graph);
}

static void bench_forward(const struct bench *bench, const char *name,
                          const struct heap_forward *recipe)
{
    if (!is_wanted(bench, name))
        return;
    struct hs_graph graph = heap_forward_generate(recipe);
    bench_graph(bench, name, &graph);
    hs_graph_fini(&graph);
}

static void bench_generated(const struct bench *bench)
{
    uint32_t n = (uint32_t)bench->n_nodes;
    bench_recipe(bench, "heap", &(struct heap_recipe){.n_blocks = n, .seed = 1});
    bench_recipe(bench, "heap, 25,000 roots",
                 &(struct heap_recipe){.n_blocks = n, .seed = 1, .n_leaves = 25000});
    bench_recipe(
        bench, "heap, tangled, 10,000 roots",
        &(struct heap_recipe){.n_blocks = n, .seed = 1, .n_leaves = 10000, .tangled = true});
    bench_recipe(bench, "heap, 10,000 roots, each block held",
                 &(struct heap_recipe){
                     .n_blocks = n, .seed = 1, .n_leaves = 10000, .held_one_by_one = true});
    bench_recipe(
        bench, "heap, tangled, 10,000, each held",
        &(struct heap_recipe){
            .n_blocks = n, .seed = 1, .n_leaves = 10000, .tangled = true, .held_one_by_one = true});
    bench_forward(bench, "no cycle, 10,000 roots, most reached",
                  &(struct heap_forward){n, 10000, 1000, n / 10, 1});
    bench_forward(bench, "no cycle, 10,000 roots, all differ",
                  &(struct heap_forward){n, 10000, n / 10, n, 1});
    for (unsigned shape = 0; shape < N_HEAP_SHAPES; shape++) {
        if (!is_wanted(bench, heap_shape_name(shape)))
            continue;
        struct hs_graph graph = heap_shape_generate(shape, n / 10);
        bench_graph(bench, heap_shape_name(shape), &graph);
        hs_graph_fini(&graph);
    }
}

static void bench_snap(const struct bench *bench, const char *path)
{
    struct hs_error err;
    struct hs_snap *snap;
    struct hs_graph graph;
    bench_must(hs_snap_open(path, 0, &snap, &err), &err);
    bench_must(hs_graph_load(snap, HS_GRAPH_RETAINING, NULL, &graph, &err), &err);
    hs_snap_close(snap);
    const char *slash = strrchr(path, '/');
    bench_graph(bench, slash == NULL ? path : slash + 1, &graph);
    hs_graph_fini(&graph);
}

static uint64_t parse_count(const char *text)
{
    struct hs_error err;
    uint64_t count = 0;
    bench_must(hs_parse_count(text, &count, &err), &err);
    return count;
}

int main(int argc, char **argv)
{
    struct bench bench = {.n_nodes = 10000000, .n_runs = 3, .has_oracles = true};
    bool has_snap = false;

    print_head();
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--no-oracles") == 0) {
            bench.has_oracles = false;
            continue;
        }
        if (strcmp(argv[i], "--nodes") == 0)
            bench.n_nodes = parse_count(value);
        else if (strcmp(argv[i], "--runs") == 0)
            bench.n_runs = parse_count(value);
        else if (strcmp(argv[i], "--only") == 0)
            bench.only = value;
        else if (strcmp(argv[i], "--snap") == 0)
            bench_snap(&bench, value);
        has_snap = has_snap || strcmp(argv[i], "--snap") == 0;
        i++;
    }
    if (bench.n_nodes > 1000000000 || bench.n_runs == 0) {
        (void)fprintf(stderr, "bench: --nodes up to 1000000000, --runs at least 1\n");
        return EXIT_FAILURE;
    }
    if (!has_snap)
        bench_generated(&bench);
    return EXIT_SUCCESS;
}
