/* Cells that rules describe (private): an allocator of a program's own takes blocks of one size
 * from malloc, slabs, and carves them into cells (docs/rules.md, `cells`).
 *
 *   slab:  | header | what the program gets | header | free      | header | ...
 *            magic, class                     next ------------->  next: 0
 *
 *   Cells of one slab are of one size, or each says how large it is while it is in use: a free one
 *   may be cut into smaller ones. A cell in use has a magic number, or is referred to more than no
 *   times; a free one leads to another.
 *
 * The files of rules are hostile, as the process is. A block of malloc's is a slab when one of its
 * cells is in use and free ones lead nowhere or to cells of such blocks; or none is, and it leads
 * to a slab. Of what is counted only that is free which another one leads to: a cell that was just
 * taken has no reference yet. */
#ifndef HS_CELLS_SLABS_H
#define HS_CELLS_SLABS_H

#include "base/bitmap.h"
#include "base/load.h"
#include "heaps/allocator.h"
#include "rules/rules.h"

#define CELLS_OWNER "cells"
enum { CELLS_MOST_LAYOUTS = 8 };

struct cells_layout {
    const struct hs_rule_cells *rule; /* borrowed */
    hs_str name;
    uint64_t n_found, n_slabs; /* blocks of this size, and how many of them are slabs */
};

struct cells_slab {
    hs_addr begin;
    const uint8_t *bytes; /* borrowed from the image */
    uint64_t first_cell;  /* its number among all, each of the least size */
    uint32_t layout;
    bool is_slab;
};

/* A cell of a slab, or a part of a free one that has the least size. */
struct cells_cell {
    uint32_t at, n_bytes; /* in the slab */
    bool is_in_use;       /* as it says itself */
};

struct cells {
    const struct hs_process_copy *process; /* borrowed */
    struct cells_layout layouts[CELLS_MOST_LAYOUTS];
    uint32_t n_layouts;
    struct cells_slab *slabs; /* owned; ascending */
    size_t n_slabs, capacity;
    uint64_t n_cells;
    struct hs_bitmap is_led_to; /* by number of a cell: counted, free, and another leads to it */
};

static inline bool hs_cells_has(const struct hs_rule_cells *rule, enum hs_cells_word word)
{
    return rule->at[word] != HS_CELLS_NONE;
}

/* Returns the bytes of a cell before what the program gets. */
static inline uint32_t hs_cells_header(const struct hs_rule_cells *rule)
{
    return hs_cells_has(rule, HS_CELLS_HEADER) ? rule->at[HS_CELLS_HEADER] : 0;
}

/* ---- find.c */

/* Finds the slabs among the chunks of malloc, and which counted cells are free: one walk over the
 * headers of chunks, two over the slabs. */
hs_status hs_cells_find(struct cells *cells, const struct hs_heap_map *map, struct hs_error *err);
/* Gives the cells of a slab in order; *at is 0 at first. False: there are no more. */
bool hs_cells_next(const struct cells *cells, const struct cells_slab *slab, uint32_t *at,
                   struct cells_cell *ret);
/* Tells whether a cell is free. O(1). */
bool hs_cells_is_free(const struct cells *cells, const struct cells_slab *slab,
                      const struct cells_cell *cell);

#endif
