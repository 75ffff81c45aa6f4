/* Roots of blocks whose fields are variables themselves.
 *
 * A module within a unit is a block, and each of its values is a field of the unit, too: both lead
 * to the same table. So do a registry of references and a pair of tables to what has names. The
 * inner name tells more, and only it has to be let go of; a root whose block leads to nothing but
 * what variables have comes after these. Blocks that lead to each other in a circle stay.
 *
 * Cost: one read of each such block of at most MOST_FIELDS fields, and one for each level of
 * modules in each other. */
#include "base/table.h"
#include "roots.h"

enum { MOST_FIELDS = 1 << 9, MOST_LEVELS = 16 };

/* The state of a block that roots lead to. */
enum target_state { TARGET_NONE, TARGET_STAYS, TARGET_WAITS, TARGET_LOWERED };

struct targets {
    struct hs_root_walk *walk;
    struct hs_dict state; /* by address: enum target_state */
};

static bool is_global(const struct hs_root_leaf *leaf)
{
    return leaf->root.kind == HS_ROOT_GLOBAL || leaf->root.kind == HS_ROOT_DYNAMIC_GLOBAL;
}

/* Tells whether the fields of a block that lead to others all lead to those of variables, and
 * whether these have been decided. */
static void look_at_fields(const struct targets *t, hs_addr block, bool *ret_has_names,
                           bool *ret_is_decided)
{
    const struct hs_image *image = t->walk->rt->image;
    uint64_t header, value, n_blocks = 0;
    hs_addr target;

    *ret_has_names = *ret_is_decided = false;
    if (!hs_image_u64(image, block - HS_WORD, &header) || HS_HEADER_TAG(header) != 0 ||
        HS_HEADER_WOSIZE(header) > MOST_FIELDS)
        return;
    *ret_is_decided = true;
    for (uint64_t i = 0; i < HS_HEADER_WOSIZE(header); i++) {
        if (!hs_image_u64(image, block + i * HS_WORD, &value))
            return;
        if (!hs_block_of_value(t->walk->blocks, value, &target) || target == block)
            continue;
        uint64_t state = hs_dict_get(&t->state, target, TARGET_NONE);
        if (state == TARGET_NONE)
            return;
        *ret_is_decided &= state != TARGET_WAITS;
        n_blocks++;
    }
    *ret_has_names = n_blocks != 0;
}

static hs_status find_states(struct targets *t)
{
    const struct hs_roots *roots = &t->walk->roots->roots;

    for (size_t i = 0; i < roots->n_leaves; i++)
        if (is_global(&roots->leaves[i]))
            HS_TRY(hs_dict_put(&t->state, roots->leaves[i].target, TARGET_STAYS, t->walk->err));
    for (size_t i = 0; i < t->state.n; i++) {
        bool has_names, is_decided;
        look_at_fields(t, t->state.entries[i].key, &has_names, &is_decided);
        if (has_names)
            t->state.entries[i].value = TARGET_WAITS;
    }
    return HS_OK;
}

/* Lowers blocks from the innermost on: those whose fields lead to none that waits. */
static void decide(struct targets *t)
{
    bool goes_on = true;

    for (unsigned level = 0; level < MOST_LEVELS && goes_on; level++) {
        goes_on = false;
        for (size_t i = 0; i < t->state.n; i++) {
            struct hs_dict_entry *entry = &t->state.entries[i];
            bool has_names, is_decided;
            if (entry->value != TARGET_WAITS)
                continue;
            look_at_fields(t, entry->key, &has_names, &is_decided);
            if (!has_names || !is_decided)
                continue;
            entry->value = TARGET_LOWERED;
            goes_on = true;
        }
    }
}

hs_status hs_ocaml_lower_modules(struct hs_root_walk *walk)
{
    struct targets t = {.walk = walk};
    struct hs_roots *roots = &walk->roots->roots;
    hs_status status = find_states(&t);

    if (status == HS_OK)
        decide(&t);
    for (size_t i = 0; i < roots->n_leaves && status == HS_OK; i++)
        if (is_global(&roots->leaves[i]) &&
            hs_dict_get(&t.state, roots->leaves[i].target, TARGET_NONE) == TARGET_LOWERED)
            hs_root_lower(&roots->leaves[i].root, HS_TIER_RUNTIME, HS_REASON_MODULE_BLOCK);
    hs_dict_fini(&t.state);
    return status;
}
