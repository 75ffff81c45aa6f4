/* The cells that trace_columns.c picks and trace_columns_json.c writes. */
#ifndef HS_VIEWER_TRACE_CELLS_H
#define HS_VIEWER_TRACE_CELLS_H

#include "stats/key_table.h"
#include "stats/timeline.h"
#include "viewer/trace_columns.h"

/* Sizes that are told apart, or a class of those that are not. */
struct cell_size {
    uint64_t words, most; /* the least and the largest */
    uint8_t source;
    uint64_t n_samples;
    double inverse, inverse_sq; /* of a class: sums over its samples; else 0 */
};

/* One choice of what is told apart. */
struct cells {
    struct hs_stats_memory memory;
    struct hs_timeline_point *points; /* owned */
    size_t n_points;
    uint64_t n_asked;          /* of them, without the peak */
    struct hs_key_table calls; /* parent << 33 | is_cut << 32 | frame; row n is call n + 1 */
    uint32_t *call_of;         /* owned: by node of the stacks */
    struct cell_size *sizes;   /* owned */
    size_t n_sizes;
    uint32_t *size_of;           /* owned: by size */
    struct hs_key_table keys;    /* of the cells: see cell_of */
    uint64_t *samples, *objects; /* owned: by cell */
    size_t samples_capacity, objects_capacity;
    uint32_t *order; /* owned: cells by their keys */
    uint64_t cut_samples, no_site_samples, class_samples;
};

/* The parts of a key. */
struct cell {
    uint32_t call, size, born, died, life;
};

enum { CELL_LIFE_BITS = 6, CELL_POINT_BITS = 9, CELL_SIZE_BITS = 14, CELL_CALL_BITS = 26 };

static inline uint64_t cell_key(const struct cell *cell)
{
    uint64_t key = cell->call;
    key = key << CELL_SIZE_BITS | cell->size;
    key = key << CELL_POINT_BITS | cell->born;
    key = key << CELL_POINT_BITS | cell->died;
    return key << CELL_LIFE_BITS | cell->life;
}

static inline uint32_t cell_take(uint64_t *key, unsigned n_bits)
{
    uint32_t part = (uint32_t)(*key & (((uint64_t)1 << n_bits) - 1));
    *key >>= n_bits;
    return part;
}

static inline struct cell cell_of(uint64_t key)
{
    struct cell cell;
    cell.life = cell_take(&key, CELL_LIFE_BITS);
    cell.died = cell_take(&key, CELL_POINT_BITS);
    cell.born = cell_take(&key, CELL_POINT_BITS);
    cell.size = cell_take(&key, CELL_SIZE_BITS);
    cell.call = (uint32_t)key;
    return cell;
}

static inline bool cell_call_is_cut(const struct cells *cells, size_t row)
{
    return cells->calls.keys[row] >> 32 & 1;
}

hs_status hs_cells_write(const struct cells *cells, const struct hs_trace_columns_of *of,
                         struct hs_buffer *buffer, struct hs_error *err);

#endif
