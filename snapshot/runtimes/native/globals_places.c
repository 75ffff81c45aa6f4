/* The places of words that are called by their section alone. */
#include <stdlib.h>

#include "base/alloc.h"
#include "globals.h"

/* The bound for one binary: a table of a million pointers is one variable, whatever it is. */
enum { MOST_PLACES = 1 << 16 };

bool hs_native_is_unnamed(const struct hs_native *native, const struct hs_root_leaf *leaf)
{
    return leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.function == 0 &&
           leaf->root.symbol != 0 &&
           hs_strtab_get(&native->dump->strings, leaf->root.symbol)[0] == '.';
}

static int place_order(const void *a, const void *b)
{
    const hs_addr *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

hs_status hs_native_unnamed_places(const struct hs_native *native, const struct hs_object *object,
                                   size_t first, hs_addr **ret, size_t *ret_n, struct hs_error *err)
{
    const struct hs_roots *roots = &native->roots;
    size_t n = 0, n_all = 0, n_most = roots->n_leaves - first;
    hs_addr *places;

    HS_TRY(HS_ALLOC(&places, n_most < MOST_PLACES ? n_most : MOST_PLACES, err));
    for (size_t i = first; i < roots->n_leaves && n_all < MOST_PLACES; i++)
        if (hs_native_is_unnamed(native, &roots->leaves[i]))
            places[n_all++] = roots->leaves[i].root.address - object->bias;
    if (n_all > 1)
        qsort(places, n_all, sizeof *places, place_order);
    for (size_t i = 0; i < n_all; i++)
        if (n == 0 || places[n - 1] != places[i])
            places[n++] = places[i];
    *ret = places;
    *ret_n = n;
    return HS_OK;
}
