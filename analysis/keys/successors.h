/* The successors of each node by edges that keep anything (analysis/used_edges.h): in memory where
 * the budget has room for it and `in_file` does not say otherwise, else in a temporary file that is
 * mapped. The rows are the same. */
#ifndef HS_KEYS_SUCCESSORS_H
#define HS_KEYS_SUCCESSORS_H

#include "analysis/view.h"
#include "base/file.h"
#include "base/spill.h"

struct successors {
    struct hs_budget *budget;
    bool in_memory;
    struct hs_graph graph;
    struct hs_spill spill; /* else: packed rows of all nodes, */
    struct hs_map map;     /* mapped */
    struct hs_packed packed;
    struct hs_packed_pool pool; /* of what is resident of it */
    uint64_t reserved_bytes;
};

/* Finds the successors: two passes over the edges in memory, one for a file. Resident: 4 bytes a
 * node and an edge, or n/8 bytes and some MiB. HS_LIMIT, HS_IO, HS_FORMAT. */
hs_status successors_open(struct hs_view *view, bool in_file, struct successors *ret,
                          struct hs_error *err);
void successors_close(struct successors *rows);

/* A row being read; valid until the next one is asked for. */
struct successor_row {
    const uint32_t *at, *end; /* in memory */
    struct hs_row packed;     /* else */
};

hs_status successors_of(struct successors *rows, hs_node node, struct successor_row *ret,
                        struct hs_error *err);

/* Reads the next successor. False at the end, and at damage, which a row in a file of ours cannot
 * have. */
static inline bool successors_next(struct successor_row *row, hs_node *ret)
{
    if (row->at == NULL)
        return hs_row_next(&row->packed, ret);
    if (row->at == row->end)
        return false;
    *ret = *row->at++;
    return true;
}

#endif
