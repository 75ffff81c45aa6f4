#include "nearest_dominator.h"

#include <sys/random.h>

#include "base/alloc.h"

enum { FIRST_SLOTS = 1 << 10, DENSE_NODES = 1 << 18 };

static uint64_t hash_of(const struct hs_nearest *climb, hs_node key)
{
    uint64_t h = (key ^ climb->key) * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ h >> 32 ^ climb->key >> 7) * UINT64_C(0xC2B2AE3D27D4EB4F);
    return h ^ h >> 29;
}

/* The slot of the key, or the empty one where it belongs. */
static struct hs_nearest_slot *slot_of(const struct hs_nearest *climb, hs_node key)
{
    size_t at = hash_of(climb, key) & (climb->n_slots - 1);
    while (climb->slots[at].key != 0 && climb->slots[at].key != key)
        at = (at + 1) & (climb->n_slots - 1);
    return &climb->slots[at];
}

static hs_status resize(struct hs_nearest *climb, size_t n_slots, struct hs_error *err)
{
    struct hs_budget *budget = climb->view->session.budget;
    const size_t size = sizeof *climb->slots;
    void *slots;
    HS_TRY(hs_budget_reserve(budget, n_slots * size, "the ways up the dominator tree", err));
    hs_status status = hs_alloc(n_slots, size, &slots, err);
    if (status != HS_OK) {
        hs_budget_release(budget, n_slots * size);
        return status;
    }
    struct hs_nearest old = *climb;
    climb->slots = slots;
    climb->n_slots = n_slots;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i].key != 0)
            *slot_of(climb, old.slots[i].key) = old.slots[i];
    hs_free(old.slots);
    hs_budget_release(budget, old.n_slots * size);
    return HS_OK;
}

hs_status hs_nearest_init(const struct hs_view *view,
                          uint64_t (*value_of)(const void *, hs_node tree_node, hs_node below),
                          const void *context, struct hs_nearest *ret, struct hs_error *err)
{
    struct hs_nearest climb = {.view = view, .value_of = value_of, .context = context};
    if (getrandom(&climb.key, sizeof climb.key, GRND_NONBLOCK) != sizeof climb.key)
        climb.key = hs_now_ns() * UINT64_C(0x9E3779B97F4A7C15);
    HS_TRY(resize(&climb, FIRST_SLOTS, err));
    *ret = climb;
    return HS_OK;
}

void hs_nearest_fini(struct hs_nearest *climb)
{
    if (climb->view != NULL)
        hs_budget_release(climb->view->session.budget, climb->n_slots * sizeof *climb->slots);
    hs_free(climb->slots);
    *climb = (struct hs_nearest){0};
}

static hs_status remember(struct hs_nearest *climb, hs_node node, uint64_t value,
                          struct hs_error *err)
{
    if (4 * (climb->n_used + 1) > 3 * climb->n_slots)
        HS_TRY(resize(climb, 2 * climb->n_slots, err));
    struct hs_nearest_slot *slot = slot_of(climb, node + 1);
    climb->n_used += slot->key == 0;
    *slot = (struct hs_nearest_slot){node + 1, value};
    return HS_OK;
}

/* Climbs to what is known. *ret_steps: nodes passed on the way. */
static uint64_t climb_up(const struct hs_nearest *climb, hs_node node, uint64_t *ret_steps)
{
    const struct hs_view *view = climb->view;
    hs_node at = node, below = HS_NO_NODE;
    hs_node met = HS_NO_NODE; /* Brent's way to see a circle: a node of 1, 2, 4, 8, ... steps ago */
    uint64_t value = HS_NEAREST_NONE;
    for (uint64_t steps = 0, due = 1; at != HS_NO_NODE && at != met; steps++) {
        *ret_steps = steps;
        if (at < view->n_tree) {
            value = climb->value_of(climb->context, at, below);
            break;
        }
        const struct hs_nearest_slot *slot = slot_of(climb, at + 1);
        if (slot->key != 0) {
            value = slot->value;
            break;
        }
        if (steps == due) {
            met = at;
            due = 2 * steps;
        }
        *ret_steps = steps + 1;
        below = at;
        at = hs_index_idom(view->index, at);
    }
    return value;
}

hs_status hs_nearest_find(struct hs_nearest *climb, hs_node node, uint64_t *ret,
                          struct hs_error *err)
{
    uint64_t n_steps = 0, value = climb_up(climb, node, &n_steps);
    uint64_t begin = climb->n_passed;
    climb->n_passed += n_steps;
    uint64_t stride = 1 + climb->n_passed / DENSE_NODES;
    /* Which of them are kept must not depend on how climbs are cut into pieces. */
    for (uint64_t i = 0, kept = begin / stride; i < n_steps; i++) {
        if ((begin + i + 1) / stride != kept) {
            kept = (begin + i + 1) / stride;
            HS_TRY(remember(climb, node, value, err));
        }
        node = hs_index_idom(climb->view->index, node);
    }
    *ret = value;
    return HS_OK;
}
