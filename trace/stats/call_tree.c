#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "stats/call_tree.h"

void hs_call_tree_fini(struct hs_call_tree *tree)
{
    hs_key_table_fini(&tree->keys);
    hs_free(tree->nodes);
    hs_stats_memory_fini(&tree->memory);
    *tree = (struct hs_call_tree){0};
}

struct tree_maker {
    struct hs_call_tree *tree;
    const struct hs_trace_objects *objects;
    const struct hs_places *places;
    struct hs_bitmap used; /* stacks of selected objects and, but by caller, all above them */
    uint32_t *node_of;     /* owned: by stack */
};

/* Goes down to the child of a label; a call of itself stays where it is. */
static hs_status descend(struct hs_call_tree *tree, uint32_t *node, uint32_t label,
                         struct hs_error *err)
{
    uint32_t child;
    if (*node != 0 && tree->nodes[*node].label == label)
        return HS_OK;
    HS_TRY(hs_stats_grow(&tree->memory, (void **)&tree->nodes, &tree->capacity, tree->n + 1,
                         sizeof *tree->nodes, err));
    HS_TRY(
        hs_key_table_add(&tree->keys, (uint64_t)*node << 32 | label, &tree->memory, &child, err));
    if (child + 1 == tree->n)
        tree->nodes[tree->n++] = (struct hs_call_node){.label = label, .parent = *node};
    *node = child + 1;
    return HS_OK;
}

static bool is_hidden(const struct hs_places *places, uint32_t frame)
{
    return places->functions[hs_places_frame(places, frame).function].is_hidden;
}

static uint32_t label_of(const struct tree_maker *maker, uint32_t frame)
{
    return maker->tree->by == HS_CALLS_BY_LINE ? frame
                                               : hs_places_frame(maker->places, frame).function;
}

static hs_status follow_down(struct tree_maker *maker, struct hs_error *err)
{
    const struct hs_stacks *stacks = &maker->objects->stacks;
    const struct hs_places *places = maker->places;
    for (size_t i = hs_stacks_n(stacks); i-- > 1;)
        if (hs_bitmap_get(&maker->used, i))
            hs_bitmap_set(&maker->used, hs_stacks_parent(stacks, (uint32_t)i));
    for (uint32_t stack = 1; stack < hs_stacks_n(stacks); stack++) {
        if (!hs_bitmap_get(&maker->used, stack))
            continue;
        uint32_t node = maker->node_of[hs_stacks_parent(stacks, stack)];
        uint32_t code = hs_stacks_code(stacks, stack);
        for (uint32_t i = places->begin[code]; i < places->begin[code + 1]; i++)
            if (!is_hidden(places, places->frames[i]))
                HS_TRY(descend(maker->tree, &node, label_of(maker, places->frames[i]), err));
        maker->node_of[stack] = node;
    }
    return HS_OK;
}

static hs_status follow_up(struct tree_maker *maker, struct hs_error *err)
{
    const struct hs_stacks *stacks = &maker->objects->stacks;
    const struct hs_places *places = maker->places;
    for (uint32_t stack = 1; stack < hs_stacks_n(stacks); stack++) {
        uint32_t node = 0;
        if (!hs_bitmap_get(&maker->used, stack))
            continue;
        for (uint32_t at = stack; at != 0; at = hs_stacks_parent(stacks, at)) {
            uint32_t code = hs_stacks_code(stacks, at);
            for (uint32_t i = places->begin[code + 1]; i-- > places->begin[code];)
                if (!is_hidden(places, places->frames[i]))
                    HS_TRY(descend(maker->tree, &node, label_of(maker, places->frames[i]), err));
        }
        maker->node_of[stack] = node;
    }
    return HS_OK;
}

static void sum_nodes(struct tree_maker *maker)
{
    struct hs_call_tree *tree = maker->tree;
    for (uint64_t i = 0; i < maker->objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(maker->objects, i);
        const struct hs_trace_shape *shape = &maker->objects->shapes[object->shape];
        if (!object->is_selected)
            continue;
        struct hs_call_node *node = &tree->nodes[maker->node_of[object->stack]];
        hs_trace_sum_add(&node->own, shape);
        if (object->died_us == HS_OBJECT_NEVER)
            node->n_live_samples += shape->n_samples;
    }
    for (size_t i = tree->n; i-- > 0;) {
        struct hs_call_node *node = &tree->nodes[i];
        hs_trace_sum_merge(&node->all, &node->own);
        if (i == 0)
            break;
        hs_trace_sum_merge(&tree->nodes[node->parent].all, &node->all);
        tree->nodes[node->parent].n_live_samples += node->n_live_samples;
    }
}

struct by_weight {
    uint64_t n_samples;
    uint32_t node;
};

static int lighter_first(const void *left, const void *right)
{
    const struct by_weight *a = left, *b = right;
    if (a->n_samples != b->n_samples)
        return a->n_samples < b->n_samples ? -1 : 1;
    return a->node < b->node ? 1 : -1;
}

/* Links each node to the front of its parent's children, the lightest first. */
static hs_status link_children(struct hs_call_tree *tree, struct hs_error *err)
{
    void *memory;
    size_t n = tree->n - 1;
    HS_TRY(hs_stats_alloc(&tree->memory, n, sizeof(struct by_weight), &memory, err));
    struct by_weight *order = memory;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct by_weight){tree->nodes[i + 1].all.n_samples, (uint32_t)i + 1};
    qsort(order, n, sizeof *order, lighter_first);
    for (size_t i = 0; i < n; i++) {
        struct hs_call_node *node = &tree->nodes[order[i].node];
        struct hs_call_node *parent = &tree->nodes[node->parent];
        node->next_sibling = parent->first_child;
        parent->first_child = order[i].node;
        parent->n_children++;
    }
    hs_stats_free(&tree->memory, memory, n, sizeof *order);
    return HS_OK;
}

static hs_status make_tree(struct tree_maker *maker, struct hs_error *err)
{
    struct hs_call_tree *tree = maker->tree;
    size_t n_stacks = hs_stacks_n(&maker->objects->stacks);
    void *node_of;
    HS_TRY(hs_stats_grow(&tree->memory, (void **)&tree->nodes, &tree->capacity, 1,
                         sizeof *tree->nodes, err));
    tree->n = 1;
    HS_TRY(hs_stats_alloc(&tree->memory, n_stacks, sizeof *maker->node_of, &node_of, err));
    maker->node_of = node_of;
    hs_status status =
        tree->by == HS_CALLS_BY_CALLER ? follow_up(maker, err) : follow_down(maker, err);
    if (status == HS_OK)
        sum_nodes(maker);
    hs_stats_free(&tree->memory, node_of, n_stacks, sizeof *maker->node_of);
    return status == HS_OK ? link_children(tree, err) : status;
}

hs_status hs_call_tree_init(struct hs_call_tree *ret, const struct hs_trace_objects *objects,
                            const struct hs_places *places, enum hs_call_tree_by by,
                            struct hs_budget *budget, struct hs_error *err)
{
    *ret = (struct hs_call_tree){.memory = {.budget = budget}, .by = by};
    struct tree_maker maker = {.tree = ret, .objects = objects, .places = places};
    HS_TRY(hs_bitmap_init(&maker.used, hs_stacks_n(&objects->stacks), err));
    for (uint64_t i = 0; i < objects->n; i++)
        if (hs_trace_object(objects, i)->is_selected)
            hs_bitmap_set(&maker.used, hs_trace_object(objects, i)->stack);
    hs_status status = make_tree(&maker, err);
    hs_bitmap_fini(&maker.used);
    return status;
}

hs_status hs_call_tree_print(const struct hs_call_tree *tree, const struct hs_places *places,
                             uint32_t node, struct hs_buffer *b, struct hs_error *err)
{
    static const char all[] = "[all]";
    if (node != 0 && tree->by == HS_CALLS_BY_LINE)
        return hs_places_print_frame(places, tree->nodes[node].label, b, err);
    if (node != 0)
        return hs_places_print_function(places, tree->nodes[node].label, b, err);
    HS_TRY(hs_buffer_reserve(b, sizeof all - 1, err));
    hs_buffer_put_bytes(b, all, sizeof all - 1);
    return HS_OK;
}
