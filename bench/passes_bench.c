/* links: hs_passes */
/* Times the out-of-core dominators against the engine in memory, on the same rows:
 *
 *     passes_bench [--nodes N] [--memory MIB] [--leaves K] [--shape NAME] [--only-passes]
 *
 * One line per phase: seconds of the wall and of the processor, nanoseconds per node of the latter,
 * and the peak of resident memory during it, above what was there before (the graph, which a real
 * run reads from disk). Then the whole against hs_domtree_build, and whether every immediate
 * dominator agrees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "dominator/dominators.h"
#include "heap_edges.h"
#include "heap_generator.h"
#include "passes/passes.h"

#define MAX_PHASES 64

struct phase {
    const char *name;
    double wall, processor, peak;
};

struct bench {
    uint32_t n_nodes, n_leaves;
    uint64_t memory;
    const char *shape; /* NULL: a heap */
    bool only_passes;
    struct hs_graph graph, reverse;
    struct phase phases[MAX_PHASES];
    unsigned n_phases;
    double wall, processor; /* when the phase began */
    double base;            /* resident before */
};

/* Lets the kernel forget the peak so far. */
static void peak_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL)
        return;
    (void)fputs("5", file);
    (void)fclose(file);
}

static double status_bytes(const char *field)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    size_t n = strlen(field);
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, n) == 0)
            kib = strtod(line + n, NULL);
    if (file != NULL)
        (void)fclose(file);
    return kib * 1024;
}

static double clock_now(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void phase_end(struct bench *bench)
{
    if (bench->n_phases == 0)
        return;
    struct phase *phase = &bench->phases[bench->n_phases - 1];
    phase->wall = clock_now(CLOCK_MONOTONIC) - bench->wall;
    phase->processor = clock_now(CLOCK_PROCESS_CPUTIME_ID) - bench->processor;
    phase->peak = status_bytes("VmHWM:") - bench->base;
}

static bool phase_tell(void *context, const char *name, uint64_t done, uint64_t total)
{
    struct bench *bench = context;
    (void)done, (void)total;
    bool is_new =
        bench->n_phases == 0 || strcmp(bench->phases[bench->n_phases - 1].name, name) != 0;
    if (!is_new || bench->n_phases == MAX_PHASES)
        return true;
    phase_end(bench);
    bench->phases[bench->n_phases++] = (struct phase){.name = name};
    bench->wall = clock_now(CLOCK_MONOTONIC);
    bench->processor = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    peak_reset();
    return true;
}

static void phase_print(const struct phase *phase, const char *name, double n)
{
    (void)printf("%-34s %8.3f s %8.3f s %7.1f ns/node %7.2f bytes/node\n", name, phase->wall,
                 phase->processor, phase->processor * 1e9 / n, phase->peak / n);
}

static void phases_print(const struct bench *bench, const char *engine)
{
    struct phase sum = {0};
    for (unsigned i = 0; i < bench->n_phases; i++) {
        const struct phase *phase = &bench->phases[i];
        phase_print(phase, phase->name, bench->graph.n_nodes);
        sum.wall += phase->wall;
        sum.processor += phase->processor;
        sum.peak = phase->peak > sum.peak ? phase->peak : sum.peak;
    }
    phase_print(&sum, engine, bench->graph.n_nodes);
}

static void phases_begin(struct bench *bench)
{
    bench->n_phases = 0;
    bench->base = status_bytes("VmRSS:");
    (void)phase_tell(bench, "beginning", 0, 0);
}

/* ---- whether they agree ---- */

struct compare {
    const struct hs_domtree *tree;
    const uint32_t *order;
    uint64_t n_wrong, n_taken;
};

static hs_status compare_put(void *context, hs_node node, hs_node idom, struct hs_error *err)
{
    struct compare *compare = context;
    uint32_t number = compare->tree->number[node];
    hs_node expected = HS_NO_NODE;
    (void)err;
    if (number > 1)
        expected = compare->order[compare->tree->idom[number - 1]];
    compare->n_wrong += idom != expected;
    compare->n_taken++;
    return HS_OK;
}

static bool compare_all(const struct bench *bench, const struct hs_passes *passes,
                        const struct hs_domtree *tree)
{
    struct hs_error err;
    uint32_t *order;
    struct compare compare = {.tree = tree};
    const struct hs_idom_sink sink = {.put = compare_put, .context = &compare};

    bench_must(hs_domtree_order(tree, &order, &err), &err);
    compare.order = order;
    bench_must(hs_passes_idoms(passes, &sink, &err), &err);
    hs_pages_free(order, tree->n_nodes, sizeof *order);
    bool agree = compare.n_wrong == 0 && compare.n_taken == bench->graph.n_nodes;
    (void)printf("%s: %llu nodes, %llu differ\n", agree ? "agreed" : "DISAGREED",
                 (unsigned long long)compare.n_taken, (unsigned long long)compare.n_wrong);
    return agree;
}

/* ---- running ---- */

static void run_passes(struct bench *bench, struct hs_budget *budget, struct hs_passes *ret)
{
    struct hs_error err;
    const struct hs_progress progress = {phase_tell, bench};
    const struct hs_passes_input input = {
        .forward = hs_sweep_of_graph(&bench->graph),
        .backward = hs_sweep_of_graph(&bench->reverse),
        .budget = budget,
        .progress = &progress,
    };
    double n = bench->graph.n_nodes;

    phases_begin(bench);
    bench_must(hs_passes_run(&input, ret, &err), &err);
    phase_end(bench);
    phases_print(bench, "= out of core");
    (void)printf("  core %.2f %%, deepest %llu, %.2f bytes/node taken at most, on disk: order %.2f "
                 "depths %.2f edges %.2f\n",
                 ret->n_core / n * 100, (unsigned long long)ret->max_depth,
                 (double)(budget->peak_bytes - HS_BUDGET_BASE_BYTES) / n,
                 (double)ret->order.n_bytes / n, (double)ret->depths.n_bytes / n,
                 (double)ret->core_edges.n_bytes / n);
    (void)fflush(stdout);
}

static bool bench_run(struct bench *bench)
{
    struct hs_error err;
    struct hs_budget budget;
    struct hs_passes passes;
    struct hs_domtree tree;
    const struct hs_progress progress = {phase_tell, bench};

    bench_must(hs_graph_reverse(&bench->graph, &bench->reverse, &err), &err);
    hs_budget_init(bench->memory == 0 ? UINT64_MAX : bench->memory << 20, NULL, 1, &budget);
    run_passes(bench, &budget, &passes);
    hs_graph_fini(&bench->reverse);
    bool agree = true;
    if (!bench->only_passes) {
        phases_begin(bench);
        bench_must(hs_domtree_build(&bench->graph, &progress, &tree, &err), &err);
        phase_end(bench);
        phases_print(bench, "= in memory, beside the graph");
        agree = compare_all(bench, &passes, &tree);
        hs_domtree_fini(&tree);
    }
    hs_passes_fini(&passes);
    return agree;
}

static bool bench_graph(struct bench *bench)
{
    if (bench->shape == NULL) {
        const struct heap_recipe recipe = {
            .n_blocks = bench->n_nodes, .seed = 7, .n_leaves = bench->n_leaves};
        bench->graph = heap_generate(&recipe);
        return true;
    }
    for (int shape = 0; shape < N_HEAP_SHAPES; shape++)
        if (strcmp(heap_shape_name((enum heap_shape)shape), bench->shape) == 0) {
            bench->graph = heap_shape_generate((enum heap_shape)shape, bench->n_nodes);
            return true;
        }
    for (int shape = 0; shape < N_HEAP_SHAPES; shape++)
        (void)fprintf(stderr, "a shape: %s\n", heap_shape_name((enum heap_shape)shape));
    return false;
}

int main(int argc, char **argv)
{
    static struct bench bench = {.n_nodes = 1000000};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--nodes") == 0 && has_value)
            bench.n_nodes = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--leaves") == 0 && has_value)
            bench.n_leaves = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--memory") == 0 && has_value)
            bench.memory = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--shape") == 0 && has_value)
            bench.shape = argv[++i];
        else if (strcmp(argv[i], "--only-passes") == 0)
            bench.only_passes = true;
        else
            return fprintf(stderr, "unknown argument '%s'\n", argv[i]), 2;
    }
    if (!bench_graph(&bench))
        return 2;
    (void)printf("%s: %u nodes, %llu edges\n", bench.shape == NULL ? "heap" : bench.shape,
                 bench.graph.n_nodes, (unsigned long long)bench.graph.n_edges);
    bool agree = bench_run(&bench);
    hs_graph_fini(&bench.graph);
    return agree ? 0 : 1;
}
