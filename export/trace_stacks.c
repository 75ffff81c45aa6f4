/* The tree of calls of a trace twice: of all objects, and of those that are never freed, whose
 * nodes are among those of the first. */
#include "export/trace_stacks.h"

#include <stdio.h>

enum { ALLOC_OBJECTS, ALLOC_BYTES, INUSE_OBJECTS, INUSE_BYTES };
static const struct hs_stack_value values[] = {{"alloc_objects", "count"},
                                               {"alloc_space", "bytes"},
                                               {"inuse_objects", "count"},
                                               {"inuse_space", "bytes"}};

/* Sums up to a node: what is written of it is by how much the rounded sum has grown. */
struct running {
    struct hs_trace_sum sum;
    uint64_t objects, words;
};

static void running_add(struct running *running, const struct hs_trace_stacks *trace,
                        const struct hs_trace_sum *own, uint64_t *objects, uint64_t *bytes)
{
    hs_trace_sum_merge(&running->sum, own);
    uint64_t all_objects = hs_trace_allocations(trace->scale, &running->sum).value;
    uint64_t all_words = hs_trace_words(trace->scale, running->sum.n_samples).value;
    *objects = all_objects - running->objects;
    *bytes = (all_words - running->words) * trace->word_bytes;
    running->objects = all_objects;
    running->words = all_words;
}

static hs_status frame_add(const struct hs_trace_stacks *trace, uint32_t label,
                           struct hs_stack_tree *tree, uint32_t *ret, struct hs_error *err)
{
    const struct hs_places *places = trace->places;
    struct hs_place_frame place = hs_places_frame(places, label);
    const struct hs_place_function *function = &places->functions[place.function];
    struct hs_stack_frame frame = {.line = place.line};
    const char *name = hs_strtab_get(&places->strings, function->name);
    HS_TRY(hs_strtab_add(&tree->strings, name[0] == '\0' ? "?" : name, &frame.name, err));
    HS_TRY(hs_strtab_add(&tree->strings, hs_strtab_get(&places->strings, function->file),
                         &frame.file, err));
    return hs_stack_frame_add(tree, &frame, ret, err);
}

/* Node 0, the root, is a frame where something was allocated without a backtrace. */
static hs_status calls_add(const struct hs_trace_stacks *trace, const struct hs_call_tree *calls,
                           struct hs_stack_tree *tree, struct hs_error *err)
{
    struct running running = {0};
    for (size_t i = 0; i < calls->n; i++) {
        const struct hs_call_node *call = &calls->nodes[i];
        struct hs_stack_node *node;
        struct hs_stack_frame unknown = {0};
        uint32_t frame;
        if (i == 0) {
            HS_TRY(hs_strtab_add(&tree->strings, "[no backtrace]", &unknown.name, err));
            HS_TRY(hs_stack_frame_add(tree, &unknown, &frame, err));
        } else {
            HS_TRY(frame_add(trace, call->label, tree, &frame, err));
        }
        HS_TRY(hs_stack_node_add(tree, &node, err));
        node->parent = i == 0 || call->parent == 0 ? HS_NO_STACK : call->parent;
        node->frame = frame;
        running_add(&running, trace, &call->own, &node->values[ALLOC_OBJECTS],
                    &node->values[ALLOC_BYTES]);
    }
    return HS_OK;
}

/* The number in `all` of each node of `live`, from the outermost on. */
static hs_status live_add(const struct hs_trace_stacks *trace, const struct hs_call_tree *all,
                          const struct hs_call_tree *live, struct hs_stack_tree *tree,
                          struct hs_error *err)
{
    struct running running = {0};
    struct hs_stats_memory memory = {.budget = trace->budget};
    uint32_t *number = NULL;
    HS_TRY(hs_stats_alloc(&memory, live->n, sizeof *number, (void **)&number, err));
    for (size_t i = 0; i < live->n; i++) {
        const struct hs_call_node *call = &live->nodes[i];
        if (i != 0) /* the same stacks, fewer objects: it is there */
            number[i] =
                hs_key_table_find(&all->keys, (uint64_t)number[call->parent] << 32 | call->label) +
                1;
        struct hs_stack_node *node = &tree->nodes[number[i]];
        running_add(&running, trace, &call->own, &node->values[INUSE_OBJECTS],
                    &node->values[INUSE_BYTES]);
    }
    hs_stats_free(&memory, number, live->n, sizeof *number);
    hs_stats_memory_fini(&memory);
    return HS_OK;
}

static void unselect_freed(struct hs_trace_objects *objects)
{
    for (uint64_t i = 0; i < objects->n; i++) {
        struct hs_trace_object *object = hs_trace_object(objects, i);
        if (object->died_us != HS_OBJECT_NEVER)
            object->is_selected = false;
    }
}

static hs_status facts_add(const struct hs_trace_stacks *trace, struct hs_stack_tree *tree,
                           struct hs_error *err)
{
    const char *text = trace->scale->is_exact
                           ? "heapsnap: every allocation"
                           : "heapsnap: sampled allocations, each standing for those around it";
    tree->types = values;
    tree->n_values = 4;
    tree->shown = ALLOC_BYTES;
    tree->time_ns = trace->begun_ns;
    HS_TRY(hs_strtab_add(&tree->strings, text, &tree->comment, err));
    return hs_strtab_add(&tree->strings, trace->executable, &tree->command, err);
}

hs_status hs_stack_tree_of_trace(const struct hs_trace_stacks *trace, struct hs_stack_tree *ret,
                                 struct hs_error *err)
{
    struct hs_call_tree all = {0}, live = {0};
    hs_status status = facts_add(trace, ret, err);
    if (status == HS_OK)
        status = hs_call_tree_init(&all, trace->objects, trace->places, HS_CALLS_BY_LINE,
                                   trace->budget, err);
    if (status == HS_OK)
        status = calls_add(trace, &all, ret, err);
    unselect_freed(trace->objects);
    if (status == HS_OK)
        status = hs_call_tree_init(&live, trace->objects, trace->places, HS_CALLS_BY_LINE,
                                   trace->budget, err);
    if (status == HS_OK)
        status = live_add(trace, &all, &live, ret, err);
    hs_call_tree_fini(&all);
    hs_call_tree_fini(&live);
    return status;
}
