/* Edges of a table by their sources, and those of one source as they stand, whatever order they
 * come in: sorted in runs of what memory they may take, which go to a temporary file when there is
 * more than one, and are merged from there, as often as they are asked for.
 *
 * Order of use: add for each; end; then begin, and next until it is false, again and again. */
#ifndef HS_EDGE_ORDER_H
#define HS_EDGE_ORDER_H

#include "base/spill.h"
#include "maker.h"

struct edge_row {
    uint64_t from, to, offset;
    uint64_t line; /* of the file */
    bool is_strong;
    uint8_t edge_class;
};

/* A sorted run, and how far it has been taken. */
struct edge_run {
    uint64_t begin, end, at; /* in rows; at: behind what was read */
    size_t next, stop;       /* what was read and not yet taken, in `rows` */
};

struct edge_order {
    struct maker *maker;   /* borrowed */
    struct edge_row *rows; /* owned pages: the run that is filled, later what was read of each */
    uint64_t n_rows, n_most;
    struct hs_spill spill;
    struct edge_run *runs; /* owned; none: all are in `rows` */
    size_t n_runs, runs_capacity;
    uint32_t *heap; /* owned: runs with a row left, the one with the first row on top */
    size_t n_heap, heap_capacity;
    size_t at; /* without runs: the next */
};

/* HS_LIMIT when there is no room for a run that is worth it; HS_IO of the file. */
hs_status edge_order_add(struct edge_order *order, const struct edge_row *edge,
                         struct hs_error *err);
hs_status edge_order_end(struct edge_order *order, struct hs_error *err);
hs_status edge_order_begin(struct edge_order *order, struct hs_error *err);
/* False behind the last, or with *status set. */
bool edge_order_next(struct edge_order *order, struct edge_row *ret, hs_status *status,
                     struct hs_error *err);
/* Takes what is zeroed. */
void edge_order_fini(struct edge_order *order);

#endif
