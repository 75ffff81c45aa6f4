/* A root tree from rows that do not stand as `export` lays them out: one row for a root that holds
 * several objects, rows below rows at any depth, no row above all.
 *
 *   tables:  the way to a row, from the top    server > pools > small > list      -> 2 objects
 *   ours:    all > global > module (server) > unit (pools.small) > variable (list) > list[0], [1]
 *
 * The topmost row becomes a module, those between are laid flat into a unit (of the module's name
 * when there are none), and what holds objects a leaf, or a variable with a leaf for each. A row 0
 * that holds no object and has rows below it stands for all roots and is on no way. Rows that hold
 * nothing leave nothing.
 *
 * Order of use: init; below and hold for each edge; begin; leaf for each edge that was held, in the
 * same order. Memory: 48 bytes a row, in the budget. */
#ifndef HS_FREE_ROOTS_H
#define HS_FREE_ROOTS_H

#include "maker.h"

struct free_row {
    uint64_t n_targets, n_made;
    uint32_t parent; /* the row above; itself: none */
    uint32_t module, unit,
        node;     /* of ours: of its way, for what is below it, itself; 0: not made */
    hs_str path;  /* the names below the module, down to this row's */
    bool is_used; /* it, or one below it, holds something */
};

struct free_roots {
    struct maker *maker;
    struct hs_root *rows; /* owned: names, addresses and tiers, as the nodes gave them */
    size_t n_rows;
    struct free_row *row; /* owned pages */
    bool has_all;         /* row 0 stands for all roots */
};

/* Takes over the roots of the maker, a row each, and leaves it none. */
hs_status free_roots_init(struct maker *maker, struct free_roots *ret, struct hs_error *err);
void free_roots_fini(struct free_roots *roots);

/* Row `to` stands below `from`. False, and nothing is done, when it does not stand behind it or has
 * a row above it already: then it is kept as it was. */
bool free_roots_below(struct free_roots *roots, uint64_t from, uint64_t to);
static inline void free_roots_hold(struct free_roots *roots, uint64_t from)
{
    roots->row[from].n_targets++;
}

/* Makes the nodes of the tree that are used, down to the rows that hold something. */
hs_status free_roots_begin(struct free_roots *roots, struct hs_error *err);
/* One object that a row holds: target, weak and edge_class are taken of `edge`. */
hs_status free_roots_leaf(struct free_roots *roots, uint64_t from, const struct hs_root *edge,
                          struct hs_error *err);

#endif
