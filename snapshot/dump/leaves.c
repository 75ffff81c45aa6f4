/* The leaves of all runtimes. A root that stands in a block of another runtime hangs on that block,
 * when something of that runtime leads there: OCaml's registered roots in memory of malloc. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "parts.h"

void hs_leaves_fini(struct hs_leaves *leaves)
{
    if (leaves == NULL)
        return;
    hs_roots_fini(&leaves->merged);
    hs_free(leaves->held);
    *leaves = (struct hs_leaves){0};
}

/* Is it in a block that roots of another runtime reach? What its own runtime reaches does not
 * count: a block that is held by what its own root holds alone would be held by nothing. */
static bool leaf_is_held(const struct hs_dump *dump, const struct hs_serving *of,
                         const struct hs_root_leaf *leaf)
{
    if (leaf->root.kind != HS_ROOT_C_ROOT || leaf->root.address == 0 || leaf->root.weak ||
        leaf->root.address % HS_WORD_BYTES != 0)
        return false;
    for (size_t i = 0; i < dump->n_serving; i++) {
        const struct hs_serving *other = &dump->serving[i];
        if (other != of && other->runtime->keeps != NULL &&
            other->runtime->keeps(other->state, leaf->root.address))
            return true;
    }
    return false;
}

static hs_status leaves_hold(struct hs_leaves *leaves, const struct hs_serving *of,
                             const struct hs_root_leaf *leaf, struct hs_error *err)
{
    HS_TRY(HS_GROW(&leaves->held, &leaves->held_capacity, leaves->n_held + 1, err));
    leaves->held[leaves->n_held++] =
        (struct hs_held){.at = leaf->root.address, .block = leaf->target, .of = of};
    return HS_OK;
}

static int held_compare(const void *a, const void *b)
{
    const struct hs_held *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static hs_status leaves_add(const struct hs_dump *dump, const struct hs_serving *of,
                            struct hs_leaves *ret, struct hs_error *err)
{
    const struct hs_roots *roots = of->runtime->leaves(of->state);

    for (size_t i = 0; i < roots->n_leaves; i++) {
        struct hs_root_leaf leaf = roots->leaves[i];
        if (leaf_is_held(dump, of, &leaf)) {
            HS_TRY(leaves_hold(ret, of, &leaf, err));
            leaf.root.weak = true;
        }
        HS_TRY(hs_roots_add(&ret->merged, &leaf, err));
    }
    return HS_OK;
}

hs_status hs_leaves_gather(const struct hs_dump *dump, struct hs_leaves *ret, struct hs_error *err)
{
    if (dump->n_serving == 1) {
        ret->roots = dump->serving[0].runtime->leaves(dump->serving[0].state);
        return HS_OK;
    }
    ret->roots = &ret->merged;
    for (size_t i = 0; i < dump->n_serving; i++)
        HS_TRY(leaves_add(dump, &dump->serving[i], ret, err));
    if (ret->n_held > 1)
        qsort(ret->held, ret->n_held, sizeof *ret->held, held_compare);
    return HS_OK;
}

const struct hs_held *hs_leaves_held_in(const struct hs_leaves *leaves, hs_addr begin, hs_addr end,
                                        size_t *ret_n)
{
    size_t first = HS_FIRST_FROM(leaves->held, leaves->n_held, at, begin);
    size_t last = HS_FIRST_FROM(leaves->held, leaves->n_held, at, end);

    *ret_n = last - first;
    return &leaves->held[first];
}
