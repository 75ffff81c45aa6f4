/* The leaves of both walks. What C code registered as roots of the collector in memory of malloc
 * hangs on that memory when something of C leads there. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "mixed.h"

void hs_mixed_roots_fini(struct hs_mixed_roots *roots)
{
    if (roots == NULL)
        return;
    hs_roots_fini(&roots->roots);
    hs_free(roots->cells);
    *roots = (struct hs_mixed_roots){0};
}

/* Is it in a block of malloc that roots of C reach? What OCaml reaches does not count: a block that
 * is held by what its own root holds alone would be held by nothing. */
static bool is_in_held_block(const struct hs_native *native, const struct hs_scan *scan,
                             const struct hs_root_leaf *leaf)
{
    struct hs_heap_block block;

    if (leaf->root.kind != HS_ROOT_C_ROOT || leaf->root.address == 0 || leaf->root.weak ||
        (leaf->root.address & 7) != 0)
        return false;
    enum hs_pointer how = hs_heap_map_resolve(&native->heaps.map, leaf->root.address, &block);
    return (how == HS_POINTER_START || how == HS_POINTER_INTERIOR) &&
           (block.span->states & HS_BLOCK_MAPPING) == 0 &&
           block.begin + block.n_bytes - leaf->root.address >= HS_WORD_BYTES &&
           hs_bitmap_get(&scan->reached, block.rank);
}

static hs_status add_cell(struct hs_mixed_roots *roots, const struct hs_root_leaf *leaf,
                          struct hs_error *err)
{
    HS_TRY(hs_grow((void **)&roots->cells, &roots->cells_capacity, roots->n_cells + 1,
                   sizeof *roots->cells, err));
    roots->cells[roots->n_cells++] =
        (struct hs_mixed_cell){.at = leaf->root.address, .block = leaf->target};
    return HS_OK;
}

static int cell_compare(const void *a, const void *b)
{
    const struct hs_mixed_cell *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static hs_status fill(const struct hs_native *native, const struct hs_scan *scan,
                      struct hs_mixed_roots *ret, struct hs_error *err)
{
    const struct hs_roots *of_ocaml = hs_ocaml_leaves(native->ocaml);

    for (size_t i = 0; i < of_ocaml->n_leaves; i++) {
        struct hs_root_leaf leaf = of_ocaml->leaves[i];
        if (is_in_held_block(native, scan, &leaf)) {
            HS_TRY(add_cell(ret, &leaf, err));
            leaf.root.weak = true;
        }
        HS_TRY(hs_roots_add(&ret->roots, &leaf, err));
    }
    for (size_t i = 0; i < native->roots.n_leaves; i++)
        HS_TRY(hs_roots_add(&ret->roots, &native->roots.leaves[i], err));
    if (ret->n_cells > 1)
        qsort(ret->cells, ret->n_cells, sizeof *ret->cells, cell_compare);
    return HS_OK;
}

hs_status hs_mixed_roots_make(const struct hs_native *native, const struct hs_scan *scan,
                              struct hs_mixed_roots *ret, struct hs_error *err)
{
    struct hs_mixed_roots roots = {0};
    hs_status status = fill(native, scan, &roots, err);

    if (status == HS_OK)
        *ret = roots;
    else
        hs_mixed_roots_fini(&roots);
    return status;
}

const struct hs_mixed_cell *hs_mixed_cells_in(const struct hs_mixed_roots *roots, hs_addr begin,
                                              hs_addr end, size_t *ret_n)
{
    size_t first = HS_FIRST_FROM(roots->cells, roots->n_cells, at, begin);
    size_t last = HS_FIRST_FROM(roots->cells, roots->n_cells, at, end);

    *ret_n = last - first;
    return &roots->cells[first];
}
