/* The tree of calls of a trace twice: of all objects, and of those that are never freed, whose
 * nodes are among those of the first. */
#include "export/trace_stacks.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/bitmap.h"

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

/* Finds the number in `all` of each node of a tree of fewer objects, from the outermost on: the
 * same stacks, so that each is there. `number` has part->n. */
static void number_in(const struct hs_call_tree *all, const struct hs_call_tree *part,
                      uint32_t *number)
{
    for (size_t i = 1; i < part->n; i++) {
        const struct hs_call_node *call = &part->nodes[i];
        uint64_t key = (uint64_t)number[call->parent] << 32 | call->label;
        number[i] = hs_key_table_find(&all->keys, key) + 1;
    }
}

static hs_status live_add(const struct hs_trace_stacks *trace, const struct hs_call_tree *all,
                          const struct hs_call_tree *live, struct hs_stack_tree *tree,
                          struct hs_error *err)
{
    struct running running = {0};
    struct hs_stats_memory memory = {.budget = trace->budget};
    uint32_t *number = NULL;
    HS_TRY(hs_stats_alloc(&memory, live->n, sizeof *number, (void **)&number, err));
    number_in(all, live, number);
    for (size_t i = 0; i < live->n; i++) {
        struct hs_stack_node *node = &tree->nodes[number[i]];
        running_add(&running, trace, &live->nodes[i].own, &node->values[INUSE_OBJECTS],
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

/* ---- samples: parts of stacks, by heap and fate */

/* The objects of one label. The values of it are at `value` and behind. */
struct part {
    unsigned heap, value;
    bool is_promoted, is_live;
};

struct parts {
    const struct hs_trace_stacks *trace;
    const struct hs_call_tree *all;
    const struct hs_bitmap *selected; /* by object, before parts were */
    struct hs_stack_tree *tree;
};

static void part_select(const struct parts *parts, const struct part *part)
{
    const struct hs_trace_objects *objects = parts->trace->objects;

    for (uint64_t i = 0; i < objects->n; i++) {
        struct hs_trace_object *object = hs_trace_object(objects, i);
        object->is_selected = hs_bitmap_get(parts->selected, i) &&
                              objects->shapes[object->shape].source == part->heap &&
                              object->is_promoted == part->is_promoted &&
                              (!part->is_live || object->died_us == HS_OBJECT_NEVER);
    }
}

static hs_status part_put(const struct parts *parts, const struct part *part,
                          const struct hs_call_tree *calls, struct running *running,
                          struct hs_error *err)
{
    struct hs_stack_tree *tree = parts->tree;
    struct hs_stats_memory memory = {.budget = parts->trace->budget};
    hs_status status = HS_OK;
    uint32_t *number = NULL;

    HS_TRY(hs_stats_alloc(&memory, calls->n, sizeof *number, (void **)&number, err));
    number_in(parts->all, calls, number);
    for (size_t i = 0; i < calls->n && status == HS_OK; i++) {
        const struct hs_trace_sum *own = &calls->nodes[i].own;
        if (own->n_samples == 0)
            continue;
        status = HS_GROW(&tree->samples, &tree->sample_capacity, tree->n_samples + 1, err);
        if (status != HS_OK)
            break;
        struct hs_stack_sample *sample = &tree->samples[tree->n_samples++];
        *sample = (struct hs_stack_sample){
            .node = number[i], .heap = (uint8_t)part->heap, .is_promoted = part->is_promoted};
        running_add(running, parts->trace, own, &sample->values[part->value],
                    &sample->values[part->value + 1]);
    }
    hs_stats_free(&memory, number, calls->n, sizeof *number);
    hs_stats_memory_fini(&memory);
    return status;
}

static hs_status part_add(const struct parts *parts, const struct part *part,
                          struct running *running, struct hs_error *err)
{
    struct hs_call_tree calls = {0};

    part_select(parts, part);
    hs_status status = hs_call_tree_init(&calls, parts->trace->objects, parts->trace->places,
                                         HS_CALLS_BY_LINE, parts->trace->budget, err);
    if (status == HS_OK)
        status = part_put(parts, part, &calls, running, err);
    hs_call_tree_fini(&calls);
    return status;
}

/* Adds all parts. What is rounded in one is made up for in the next, so that sums stay. */
static hs_status parts_add(const struct parts *parts, struct hs_error *err)
{
    struct running running[2] = {0};

    for (unsigned heap = 0; heap < HS_N_TRACE_SOURCES; heap++)
        for (unsigned at = 0; at < 4; at++) {
            bool is_live = (at & 1) != 0;
            const struct part part = {.heap = heap,
                                      .value = is_live ? INUSE_OBJECTS : ALLOC_OBJECTS,
                                      .is_promoted = (at & 2) != 0,
                                      .is_live = is_live};
            HS_TRY(part_add(parts, &part, &running[is_live], err));
        }
    return HS_OK;
}

static hs_status samples_add(const struct hs_trace_stacks *trace, const struct hs_call_tree *all,
                             struct hs_stack_tree *tree, struct hs_error *err)
{
    struct hs_bitmap selected;
    struct hs_trace_objects *objects = trace->objects;

    HS_TRY(hs_bitmap_init(&selected, objects->n, err));
    for (uint64_t i = 0; i < objects->n; i++)
        if (hs_trace_object(objects, i)->is_selected)
            hs_bitmap_set(&selected, i);
    const struct parts parts = {trace, all, &selected, tree};
    hs_status status = parts_add(&parts, err);
    for (uint64_t i = 0; i < objects->n; i++)
        hs_trace_object(objects, i)->is_selected = hs_bitmap_get(&selected, i);
    hs_bitmap_fini(&selected);
    return status;
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
    if (status == HS_OK && trace->with_samples)
        status = samples_add(trace, &all, ret, err);
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
