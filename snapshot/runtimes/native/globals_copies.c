/* Equal words in several copies of one record, whose leftovers nobody wrote.
 *
 * The kernel writes 8 of the 128 bytes of a signal mask, and who saves the actions of a dozen
 * signals copies the rest of a stack's bytes a dozen times into an array of structures (readline's
 * `rl_set_signals`). An address among these is found at equal distances, in each copy the same. In
 * a file with symbols that array is one variable with a type; without, it is many words that each
 * look like an owner. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "globals.h"

/* A record that is smaller has no such mask in it, and a table of pointers is no copy. */
enum { COPIES_APART_BYTES = 64 };

struct copy_place {
    hs_addr target, at;
    size_t leaf;
};

static bool is_asked(const struct hs_native *native)
{
    return (native->dump->options->reasons_off >> HS_REASON_EQUAL_COPIES & 1) == 0;
}

/* Tells whether a word has a place for a name and nothing that makes it less than firm. */
static bool is_candidate(const struct hs_native *native, const struct hs_root_leaf *leaf)
{
    return leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.tier == HS_TIER_FIRM &&
           leaf->root.symbol != 0 &&
           hs_strtab_get(&native->dump->strings, leaf->root.symbol)[0] == '.';
}

static int place_order(const void *left, const void *right)
{
    const struct copy_place *a = left, *b = right;

    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Lowers three words at equal distances that lead to one block. places[0, n) are of one target. */
static void lower_equal(struct hs_native *native, const struct copy_place *places, size_t n)
{
    struct hs_root_leaf *leaves = native->roots.leaves;

    for (size_t i = 0; i + 2 < n; i++) {
        hs_addr apart = places[i + 1].at - places[i].at, third = places[i + 1].at + apart;
        size_t k = HS_FIRST_NOT(at, i + 2, n, places[at].at < third);
        if (apart < COPIES_APART_BYTES || k == n || places[k].at != third)
            continue;
        hs_root_lower(&leaves[places[i].leaf].root, HS_TIER_DOUBTFUL, HS_REASON_EQUAL_COPIES);
        hs_root_lower(&leaves[places[i + 1].leaf].root, HS_TIER_DOUBTFUL, HS_REASON_EQUAL_COPIES);
        hs_root_lower(&leaves[places[k].leaf].root, HS_TIER_DOUBTFUL, HS_REASON_EQUAL_COPIES);
    }
}

hs_status hs_native_doubt_copies(struct hs_native *native, size_t first, struct hs_error *err)
{
    const struct hs_roots *roots = &native->roots;
    hs_auto_free struct copy_place *places = NULL;
    size_t n = 0;

    if (roots->n_leaves == first || !is_asked(native))
        return HS_OK;
    HS_TRY(HS_ALLOC(&places, roots->n_leaves - first, err));
    for (size_t i = first; i < roots->n_leaves; i++)
        if (is_candidate(native, &roots->leaves[i]))
            places[n++] =
                (struct copy_place){roots->leaves[i].target, roots->leaves[i].root.address, i};
    if (n > 1)
        qsort(places, n, sizeof *places, place_order);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && places[next].target == places[i].target; next++)
            ;
        lower_equal(native, places + i, next - i);
    }
    return HS_OK;
}
