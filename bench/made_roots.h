/* The tree of roots of a snapshot being made; failing aborts. */
#ifndef HS_BENCH_MADE_ROOTS_H
#define HS_BENCH_MADE_ROOTS_H

#include <stdio.h>

#include "base/alloc.h"
#include "heap_edges.h"
#include "snapshot/writer.h"

struct made_roots {
    struct hs_error err;
    struct hs_strtab strings;
    struct hs_root *roots;
    size_t n_roots, capacity;
};

static inline hs_str made_name(struct made_roots *w, const char *format, uint64_t number)
{
    char text[64];
    hs_str name;
    (void)snprintf(text, sizeof text, format, (unsigned long long)number);
    bench_must(hs_strtab_add(&w->strings, text, &name, &w->err), &w->err);
    return name;
}

static inline struct hs_root *made_root(struct made_roots *w, hs_node parent, uint8_t level,
                                        hs_str name)
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

#endif
