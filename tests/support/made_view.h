/* A snapshot made by the test, written to a directory of its own and opened as the commands do.
 *
 *     struct made_view made = {0};
 *     hs_graph_builder_block(&made.builder, ...);
 *     made_view_open(&made);      made.view is open, its index computed
 *     made_view_close(&made);     removes the directory */
#ifndef HS_TEST_MADE_VIEW_H
#define HS_TEST_MADE_VIEW_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/view.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "made_directory.h"

struct made_view {
    struct hs_graph_builder builder;
    struct hs_session session; /* zeroed: no limit, nobody listens */
    struct hs_view view;
    char directory[MADE_DIRECTORY_BYTES];
    char path[MADE_DIRECTORY_BYTES + 16];
};

static inline void made_view_write(struct made_view *made)
{
    made_directory(made->directory);
    (void)snprintf(made->path, sizeof made->path, "%s/heap.snap", made->directory);
    hs_graph_builder_file(&made->builder, made->path);
}

/* Up to 300 blocks of one of n_types types (0: untyped) with an edge and a quarter each, and three
 * roots: the number of blocks. */
static inline uint32_t made_random(struct hs_graph_builder *b, uint64_t *random, uint32_t n_types)
{
    uint32_t n = 1 + hs_random_below(random, 300);
    hs_graph_builder_blocks(b, n, 3);
    for (uint32_t i = 0; i < n_types; i++)
        (void)hs_graph_builder_type(b, "a type", 0, 0);
    for (uint32_t i = 0; i < n && n_types != 0; i++)
        b->blocks[i].type = hs_random_below(random, n_types);
    for (uint32_t i = 0; i < n + n / 4; i++)
        hs_graph_builder_edge(b, hs_random_below(random, n), hs_random_below(random, n),
                              HS_EDGE_EXACT);
    for (uint32_t i = 0; i < 3; i++)
        hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "v", hs_random_below(random, n));
    return n;
}

/* A list of n blocks whose first a root holds. */
static inline void made_list(struct hs_graph_builder *b, uint32_t n)
{
    uint32_t first = hs_graph_builder_blocks(b, n, 3);
    for (uint32_t i = 0; i + 1 < n; i++)
        hs_graph_builder_edge(b, first + i, first + i + 1, HS_EDGE_EXACT);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
}

static inline void made_view_open(struct made_view *made)
{
    struct hs_error err = HS_ERROR_INIT;
    made_view_write(made);
    if (hs_view_open(&made->session, made->path, HS_VIEW_INDEX, &made->view, &err) != HS_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        abort();
    }
}

static inline void made_view_close(struct made_view *made)
{
    char index[sizeof made->path + 8];
    (void)snprintf(index, sizeof index, "%s.idx", made->path);
    hs_view_close(&made->view);
    (void)unlink(index);
    (void)unlink(made->path);
    (void)rmdir(made->directory);
    hs_graph_builder_fini(&made->builder);
}

#endif
