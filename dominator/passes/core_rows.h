/* Rows of sources of core nodes in temporary files: what is left of the core's edges between two
 * looks at them.
 *
 *   row:  node - that of the row before | n | first source - node, then differences | ...
 *         varint                   varint n    varints of either sign (zigzag)
 *
 * Nodes ascend; a node with many sources has several rows in a row. */
#ifndef HS_CORE_ROWS_H
#define HS_CORE_ROWS_H

#include "base/bitmap.h"
#include "base/spill.h"

#define CORE_ROW_MAX 4096

struct core_row {
    uint32_t node, n;
    uint32_t source[CORE_ROW_MAX];
};

struct core_rows {
    struct hs_spill spill;
    uint32_t last; /* node of the last row */
    uint64_t n_edges;
};

hs_status core_rows_open(const struct hs_budget *budget, const char *what, struct core_rows *ret,
                         struct hs_error *err);
void core_rows_close(struct core_rows *rows);
hs_status core_rows_put(struct core_rows *rows, const struct core_row *row, struct hs_error *err);
/* Lets nodes start again from 0; returns the place for core_rows_read. */
uint64_t core_rows_restart(struct core_rows *rows);

struct core_row_reader {
    struct hs_spill_reader reader;
    uint32_t last;
};

/* Reads the rows between two places, or all of them; the rows are sealed. */
hs_status core_rows_read(const struct core_rows *rows, uint64_t begin, uint64_t end,
                         struct core_row_reader *ret, struct hs_error *err);
hs_status core_rows_read_all(const struct core_rows *rows, struct core_row_reader *ret,
                             struct hs_error *err);
void core_rows_reader_close(struct core_row_reader *reader);
/* The next row; *ret_more false at the end. */
hs_status core_rows_get(struct core_row_reader *reader, struct core_row *ret, bool *ret_more,
                        struct hs_error *err);

/* A sweep over rows of nodes that are not resolved. */
struct core_row_sink {
    hs_status (*put)(void *context, struct core_row *row, struct hs_error *err);
    void *context;
};
hs_status core_rows_sweep(const struct core_rows *rows, const struct hs_bitmap *is_resolved,
                          const struct core_row_sink *sink, struct hs_error *err);

#endif
