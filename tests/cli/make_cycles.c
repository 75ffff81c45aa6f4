/* make_cycles SHAPE BLOCKS ROOTS FILE: writes a snapshot whose graph is mostly cycles that are
 * entered at several places, or of which roots share much: what dominators and owner sets take the
 * most memory for. ROOTS variables hold a block each, by chance, beside one that holds the rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "odd_graphs.h"
#include "snapshot/writer.h"

#define N_FIRST 4 /* all, globals, the program, its unit */
#define MAX_WORDS 9

struct writing {
    struct hs_graph graph; /* node 0 stands for all roots */
    struct hs_strtab strings;
    struct hs_root *roots;
    uint64_t n_roots;
    struct hs_snap_writer *writer;
    struct hs_error err;
};

static void must(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    (void)fprintf(stderr, "make_cycles: %s\n", err->message);
    exit(1);
}

/* ---- shapes ---- */

static void random_edges(struct odd_maker *maker)
{
    odd_tree(maker, 1, maker->n, maker->n);
    odd_random_edges(maker, 2 * maker->n);
}

/* A cycle through all, with as many shortcuts both ways and 1,000 entries. */
static void ring(struct odd_maker *maker)
{
    for (uint32_t i = 1; i < maker->n; i++) {
        odd_edge(maker, i, i + 1 < maker->n ? i + 1 : 1);
        odd_edge(maker, 1 + hs_random_below(&maker->random, maker->n - 1), i);
        if (i % (1 + maker->n / 1000) == 0)
            odd_edge(maker, 0, i);
    }
}

/* Each block points at the two next ones. */
static void forward(struct odd_maker *maker)
{
    odd_edge(maker, 0, 1);
    for (uint32_t i = 1; i + 1 < maker->n; i++)
        for (int k = 0; k < 2; k++)
            odd_edge(maker, i,
                     i + 1 + hs_random_below(&maker->random, maker->n - i - 1 < 9 ? 1 : 9));
}

static const struct {
    const char *name;
    void (*make)(struct odd_maker *maker);
    bool is_shuffled;
} shapes[] = {
    {"random", random_edges, false}, {"ring", ring, true},
    {"ladder", odd_ladder, false},   {"rungs", odd_ladder, true},
    {"rings", odd_rings, true},      {"parents", odd_parents, false},
    {"forward", forward, false},     {"garbage", odd_garbage, true},
};

static struct hs_graph graph_of(const char *name, uint32_t n)
{
    struct odd_maker maker = {.random = 7, .n = n};

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strcmp(shapes[i].name, name) != 0)
            continue;
        shapes[i].make(&maker);
        if (shapes[i].is_shuffled)
            odd_shuffle(&maker);
        struct hs_graph graph = hs_edge_list_graph(&maker.list, n, 1, false);
        hs_edge_list_fini(&maker.list);
        return graph;
    }
    (void)fprintf(stderr, "make_cycles: no such shape: %s\n", name);
    exit(2);
}

/* ---- the file ---- */

static hs_str name_of(struct writing *w, const char *name)
{
    hs_str str;
    must(hs_strtab_add(&w->strings, name, &str, &w->err), &w->err);
    return str;
}

static void add_root(struct writing *w, hs_node parent, uint8_t level, const char *name,
                     hs_node target)
{
    w->roots[w->n_roots] = (struct hs_root){.parent = parent,
                                            .target = target,
                                            .address = 0x1000 + 8 * w->n_roots,
                                            .level = level,
                                            .kind = HS_ROOT_GLOBAL,
                                            .field = HS_NO_FIELD,
                                            .name = name_of(w, name)};
    w->n_roots++;
}

/* Blocks come behind the roots, of which there are so many. */
static void make_roots(struct writing *w, uint32_t n_variables)
{
    uint32_t n, n_blocks = w->graph.n_nodes - 1;
    const uint32_t *held = hs_graph_row(&w->graph, 0, &n);
    uint64_t first = N_FIRST + 1 + (uint64_t)n + n_variables, random = 11;

    must(HS_ALLOC(&w->roots, first, &w->err), &w->err);
    add_root(w, 0, HS_LEVEL_ALL, "all", HS_NO_NODE);
    add_root(w, 0, HS_LEVEL_KIND, "globals", HS_NO_NODE);
    add_root(w, 1, HS_LEVEL_MODULE, "program", HS_NO_NODE);
    add_root(w, 2, HS_LEVEL_UNIT, "unit.c", HS_NO_NODE);
    add_root(w, 3, HS_LEVEL_VARIABLE, "entries", HS_NO_NODE);
    for (uint32_t i = 0; i < n; i++)
        add_root(w, N_FIRST, HS_LEVEL_LEAF, "slot", first + held[i] - 1);
    for (uint32_t i = 0; i < n_variables; i++)
        add_root(w, 3, HS_LEVEL_LEAF, "variable", first + hs_random_below(&random, n_blocks));
}

static void write_blocks(struct writing *w)
{
    struct hs_edge *edges = NULL;
    size_t capacity = 0;
    hs_addr address = 0x7f0000000000;

    for (uint32_t node = 1; node < w->graph.n_nodes; node++) {
        uint32_t n, n_kept = 0;
        const uint32_t *row = hs_graph_row(&w->graph, node, &n);
        must(HS_GROW(&edges, &capacity, n + 1, &w->err), &w->err);
        for (uint32_t i = 0; i < n; i++)
            if (row[i] != 0)
                edges[n_kept++] =
                    (struct hs_edge){.target = w->n_roots + row[i] - 1, .offset_words = i};
        const struct hs_block_record record = {
            .address = address, .words = n + 1, .type = n < MAX_WORDS ? n : MAX_WORDS};
        must(hs_snap_writer_block(w->writer, &record, edges, n_kept, &w->err), &w->err);
        address += (n + 1) * (hs_addr)8 + 16;
    }
    hs_free(edges);
}

static void write_file(struct writing *w, const char *path)
{
    struct hs_type types[MAX_WORDS + 1];
    struct hs_snap_totals totals;
    struct hs_out out;
    const struct hs_snap_facts facts = {.word_bytes = 8,
                                        .pid = 1,
                                        .command = name_of(w, "make_cycles"),
                                        .tool_version = name_of(w, "test"),
                                        .n_stop_attempts = 1};

    for (unsigned i = 0; i <= MAX_WORDS; i++)
        types[i] = (struct hs_type){.name = name_of(w, "block"), .form = HS_FORM_BYTES};
    const struct hs_snap_ending ending = {.types = types, .n_types = MAX_WORDS + 1};
    must(hs_out_open_path(path, &out, &w->err), &w->err);
    must(hs_snap_writer_new(&out, &w->strings, &facts, w->roots, w->n_roots, w->graph.n_nodes - 1,
                            &w->writer, &w->err),
         &w->err);
    write_blocks(w);
    must(hs_snap_writer_finish(w->writer, &ending, &totals, &w->err), &w->err);
    must(hs_out_commit(&out, &w->err), &w->err);
    hs_snap_writer_free(w->writer);
    hs_out_close(&out);
}

int main(int argc, char **argv)
{
    struct writing w = {.err = HS_ERROR_INIT};

    if (argc != 5) {
        (void)fprintf(stderr, "usage: make_cycles SHAPE BLOCKS ROOTS FILE\n");
        return 2;
    }
    w.graph = graph_of(argv[1], (uint32_t)strtoul(argv[2], NULL, 10) + 1);
    make_roots(&w, (uint32_t)strtoul(argv[3], NULL, 10));
    write_file(&w, argv[4]);
    hs_strtab_fini(&w.strings);
    hs_graph_fini(&w.graph);
    hs_free(w.roots);
    return 0;
}
