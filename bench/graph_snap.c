/* graph_snap BLOCKS LEAVES FILE [SEED]: writes the heap of heap_generator.h as a snapshot, so that
 * whole commands can be measured on it. What is a leaf of the root tree there and holds any number
 * of blocks becomes a variable with one leaf per block; the chain above is all, globals, a program
 * and its one unit. Blocks have one word more than pointers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "heap_edges.h"
#include "heap_generator.h"
#include "snapshot/writer.h"

#define MAX_WORDS 9 /* more are one type */

struct writing {
    struct hs_graph graph;
    struct hs_error err;
    struct hs_strtab strings;
    struct hs_root *roots;
    size_t n_roots, capacity;
    struct hs_snap_writer *writer;
    struct hs_edge *edges; /* of one row */
    size_t edges_capacity;
};

static hs_str name_of(struct writing *w, const char *format, uint64_t number)
{
    char text[64];
    hs_str name;
    (void)snprintf(text, sizeof text, format, (unsigned long long)number);
    bench_must(hs_strtab_add(&w->strings, text, &name, &w->err), &w->err);
    return name;
}

static struct hs_root *add_root(struct writing *w, hs_node parent, uint8_t level, hs_str name)
{
    bench_must(HS_GROW(&w->roots, &w->capacity, w->n_roots + 1, &w->err), &w->err);
    struct hs_root *root = &w->roots[w->n_roots++];
    *root = (struct hs_root){.parent = parent,
                             .target = HS_NO_NODE,
                             .level = level,
                             .kind = HS_ROOT_GLOBAL,
                             .field = HS_NO_FIELD,
                             .name = name};
    return root;
}

/* One leaf per block that a leaf of the generator, or node 0, holds. */
static void add_slots(struct writing *w, uint32_t holder, hs_node parent)
{
    const struct hs_graph *graph = &w->graph;
    hs_str name = name_of(w, "slot", 0);

    for (uint32_t e = graph->begin[holder]; e < graph->begin[holder + 1]; e++) {
        if (graph->target[e] < graph->n_tree)
            continue;
        struct hs_root *root = add_root(w, parent, HS_LEVEL_LEAF, name);
        root->target = graph->target[e] - graph->n_tree; /* a node once the tree's size is known */
        root->address = 0x1000 + 8 * w->n_roots;
    }
}

static void make_roots(struct writing *w)
{
    enum { ALL, GLOBALS, PROGRAM, UNIT, FIRST_LEAF };

    (void)add_root(w, ALL, HS_LEVEL_ALL, name_of(w, "all", 0));
    (void)add_root(w, ALL, HS_LEVEL_KIND, name_of(w, "globals", 0));
    (void)add_root(w, GLOBALS, HS_LEVEL_MODULE, name_of(w, "program", 0));
    (void)add_root(w, PROGRAM, HS_LEVEL_UNIT, name_of(w, "unit.c", 0));
    if (w->graph.n_tree == 1)
        add_slots(w, 0, UNIT);
    for (uint32_t leaf = FIRST_LEAF; leaf < w->graph.n_tree; leaf++) {
        hs_node variable = w->n_roots;
        (void)add_root(w, UNIT, HS_LEVEL_VARIABLE, name_of(w, "variable%llu", leaf));
        add_slots(w, leaf, variable);
    }
    for (size_t i = 0; i < w->n_roots; i++)
        if (w->roots[i].target != HS_NO_NODE)
            w->roots[i].target += w->n_roots;
}

static void write_blocks(struct writing *w)
{
    const struct hs_graph *graph = &w->graph;
    hs_addr address = 0x7f0000000000;

    for (uint32_t node = graph->n_tree; node < graph->n_nodes; node++) {
        uint32_t n = graph->begin[node + 1] - graph->begin[node], words = n + 1;
        bench_must(HS_GROW(&w->edges, &w->edges_capacity, n, &w->err), &w->err);
        for (uint32_t i = 0; i < n; i++)
            w->edges[i] =
                (struct hs_edge){w->n_roots + graph->target[graph->begin[node] + i] - graph->n_tree,
                                 i, HS_EDGE_EXACT};
        uint32_t type = words < MAX_WORDS ? words : MAX_WORDS;
        struct hs_block_record record = {address, words, type, 0};
        bench_must(hs_snap_writer_block(w->writer, &record, w->edges, n, &w->err), &w->err);
        address += (hs_addr)words * 8 + 16;
    }
}

static void write_end(struct writing *w)
{
    struct hs_type types[MAX_WORDS + 1];
    struct hs_snap_totals totals;

    for (unsigned i = 0; i <= MAX_WORDS; i++)
        types[i] =
            (struct hs_type){.name = name_of(w, "block of %llu words", i), .form = HS_FORM_BYTES};
    const struct hs_snap_ending ending = {.types = types, .n_types = MAX_WORDS + 1};
    bench_must(hs_snap_writer_finish(w->writer, &ending, &totals, &w->err), &w->err);
    (void)printf("%llu roots, %llu blocks, %llu edges, %llu bytes\n",
                 (unsigned long long)w->n_roots, (unsigned long long)totals.n_blocks,
                 (unsigned long long)totals.n_edges, (unsigned long long)totals.file_bytes);
}

static void write_file(struct writing *w, const char *path)
{
    struct hs_out out;
    const struct hs_snap_facts facts = {.word_bytes = 8,
                                        .pid = 1,
                                        .command = name_of(w, "graph_snap", 0),
                                        .tool_version = name_of(w, "bench", 0),
                                        .n_stop_attempts = 1};

    bench_must(hs_out_open_path(path, &out, &w->err), &w->err);
    bench_must(hs_snap_writer_new(&out, &w->strings, &facts, w->roots, w->n_roots,
                                  w->graph.n_nodes - w->graph.n_tree, &w->writer, &w->err),
               &w->err);
    write_blocks(w);
    write_end(w);
    bench_must(hs_out_commit(&out, &w->err), &w->err);
    hs_snap_writer_free(w->writer);
    hs_out_close(&out);
}

int main(int argc, char **argv)
{
    struct writing w = {0};

    if (argc != 4 && argc != 5) {
        (void)fprintf(stderr, "usage: graph_snap BLOCKS LEAVES FILE [SEED]\n");
        return 2;
    }
    const struct heap_recipe recipe = {.n_blocks = (uint32_t)strtoul(argv[1], NULL, 10),
                                       .n_leaves = (uint32_t)strtoul(argv[2], NULL, 10),
                                       .seed = argc == 5 ? strtoull(argv[4], NULL, 10) : 7};
    w.graph = heap_generate(&recipe);
    make_roots(&w);
    write_file(&w, argv[3]);
    hs_strtab_fini(&w.strings);
    hs_graph_fini(&w.graph);
    hs_free(w.roots);
    hs_free(w.edges);
    return 0;
}
