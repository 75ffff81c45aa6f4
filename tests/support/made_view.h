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
#include "graph_builder.h"

struct made_view {
    struct hs_graph_builder builder;
    struct hs_session session; /* zeroed: no limit, nobody listens */
    struct hs_view view;
    char directory[64];
    char path[96];
};

static inline void made_view_write(struct made_view *made)
{
    (void)snprintf(made->directory, sizeof made->directory, "/tmp/heapsnap-test.XXXXXX");
    if (mkdtemp(made->directory) == NULL)
        abort();
    (void)snprintf(made->path, sizeof made->path, "%s/heap.snap", made->directory);
    hs_graph_builder_file(&made->builder, made->path);
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
    char index[128];
    (void)snprintf(index, sizeof index, "%s.idx", made->path);
    hs_view_close(&made->view);
    (void)unlink(index);
    (void)unlink(made->path);
    (void)rmdir(made->directory);
    hs_graph_builder_fini(&made->builder);
}

#endif
