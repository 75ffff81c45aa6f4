/* graph_snap BLOCKS LEAVES FILE [SEED]: writes the heap of heap_generator.h as a snapshot, so that
 * whole commands can be measured on it. What is a leaf of the root tree there and holds any number
 * of blocks becomes a variable with one leaf per block; the chain above is all, globals, a program
 * and its one unit. Blocks have one word more than pointers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "heap_edges.h"
#include "heap_generator.h"
#include "made_roots.h"
#include "snapshot/writer.h"

#define MAX_WORDS 9 /* more are one type */

struct writing {
    struct hs_graph graph;
    struct made_roots made;
    struct hs_snap_writer *writer;
    struct hs_edge *edges; /* of one row */
    size_t edges_capacity;
};

/* One leaf per block that a leaf of the generator, or node 0, holds. */
static void add_slots(struct writing *w, uint32_t holder, hs_node parent)
{
    const struct hs_graph *graph = &w->graph;
    hs_str name = made_name(&w->made, "slot", 0);

    for (uint32_t e = graph->begin[holder]; e < graph->begin[holder + 1]; e++) {
        if (graph->target[e] < graph->n_tree)
            continue;
        struct hs_root *root = made_root(&w->made, parent, HS_LEVEL_LEAF, name);
        root->target = graph->target[e] - graph->n_tree; /* a node once the tree's size is known */
        root->address = 0x1000 + 8 * w->made.n_roots;
    }
}

static void make_roots(struct writing *w)
{
    enum { ALL, GLOBALS, PROGRAM, UNIT, FIRST_LEAF };

    (void)made_root(&w->made, ALL, HS_LEVEL_ALL, made_name(&w->made, "all", 0));
    (void)made_root(&w->made, ALL, HS_LEVEL_KIND, made_name(&w->made, "globals", 0));
    (void)made_root(&w->made, GLOBALS, HS_LEVEL_MODULE, made_name(&w->made, "program", 0));
    (void)made_root(&w->made, PROGRAM, HS_LEVEL_UNIT, made_name(&w->made, "unit.c", 0));
    if (w->graph.n_tree == 1)
        add_slots(w, 0, UNIT);
    for (uint32_t leaf = FIRST_LEAF; leaf < w->graph.n_tree; leaf++) {
        hs_node variable = w->made.n_roots;
        (void)made_root(&w->made, UNIT, HS_LEVEL_VARIABLE,
                        made_name(&w->made, "variable%llu", leaf));
        add_slots(w, leaf, variable);
    }
    for (size_t i = 0; i < w->made.n_roots; i++)
        if (w->made.roots[i].target != HS_NO_NODE)
            w->made.roots[i].target += w->made.n_roots;
}

static void write_blocks(struct writing *w)
{
    const struct hs_graph *graph = &w->graph;
    hs_addr address = 0x7f0000000000;

    for (uint32_t node = graph->n_tree; node < graph->n_nodes; node++) {
        uint32_t n = graph->begin[node + 1] - graph->begin[node], words = n + 1;
        bench_must(HS_GROW(&w->edges, &w->edges_capacity, n, &w->made.err), &w->made.err);
        for (uint32_t i = 0; i < n; i++)
            w->edges[i] = (struct hs_edge){.target = w->made.n_roots - graph->n_tree +
                                                     graph->target[graph->begin[node] + i],
                                           .offset_words = i};
        uint32_t type = words < MAX_WORDS ? words : MAX_WORDS;
        const struct hs_block_record record = {.address = address, .words = words, .type = type};
        bench_must(hs_snap_writer_block(w->writer, &record, w->edges, n, &w->made.err),
                   &w->made.err);
        address += (hs_addr)words * 8 + 16;
    }
}

static void write_end(struct writing *w)
{
    struct hs_type types[MAX_WORDS + 1];
    struct hs_snap_totals totals;

    for (unsigned i = 0; i <= MAX_WORDS; i++)
        types[i] = (struct hs_type){.name = made_name(&w->made, "block of %llu words", i),
                                    .form = HS_FORM_BYTES};
    const struct hs_snap_ending ending = {.types = types, .n_types = MAX_WORDS + 1};
    bench_must(hs_snap_writer_finish(w->writer, &ending, &totals, &w->made.err), &w->made.err);
    (void)printf("%llu roots, %llu blocks, %llu edges, %llu bytes\n",
                 (unsigned long long)w->made.n_roots, (unsigned long long)totals.n_blocks,
                 (unsigned long long)totals.n_edges, (unsigned long long)totals.file_bytes);
}

static void write_file(struct writing *w, const char *path)
{
    struct hs_out out;
    const struct hs_snap_facts facts = {.word_bytes = 8,
                                        .pid = 1,
                                        .command = made_name(&w->made, "graph_snap", 0),
                                        .tool_version = made_name(&w->made, "bench", 0),
                                        .n_stop_attempts = 1};

    bench_must(hs_out_open_path(path, &out, &w->made.err), &w->made.err);
    bench_must(hs_snap_writer_new(&out, &w->made.strings, &facts, w->made.roots, w->made.n_roots,
                                  w->graph.n_nodes - w->graph.n_tree, &w->writer, &w->made.err),
               &w->made.err);
    write_blocks(w);
    write_end(w);
    bench_must(hs_out_commit(&out, &w->made.err), &w->made.err);
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
    hs_strtab_fini(&w.made.strings);
    hs_graph_fini(&w.graph);
    hs_free(w.made.roots);
    hs_free(w.edges);
    return 0;
}
