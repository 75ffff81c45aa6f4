/* Trees of stacks: frames each once, nodes with their parents before them. */
#include "export/stacks.h"

#include "base/alloc.h"

hs_status hs_stack_frame_add(struct hs_stack_tree *tree, const struct hs_stack_frame *frame,
                             uint32_t *ret, struct hs_error *err)
{
    uint64_t hash = hs_hash_pair(hs_hash_pair(frame->name, frame->file),
                                 (uint64_t)frame->line << 32 | frame->binary);
    uint32_t at = HS_TABLE_FIND(
        &tree->frame_table, hash, i,
        tree->frames[i].name == frame->name && tree->frames[i].file == frame->file &&
            tree->frames[i].line == frame->line && tree->frames[i].binary == frame->binary);
    if (at == HS_NO_NUMBER) {
        HS_TRY(HS_GROW(&tree->frames, &tree->frame_capacity, tree->n_frames + 1, err));
        HS_TRY(hs_table_add(&tree->frame_table, hash, tree->n_frames, err));
        at = (uint32_t)tree->n_frames;
        tree->frames[tree->n_frames++] = *frame;
    }
    *ret = at;
    return HS_OK;
}

hs_status hs_stack_node_add(struct hs_stack_tree *tree, struct hs_stack_node **ret,
                            struct hs_error *err)
{
    HS_TRY(HS_GROW(&tree->nodes, &tree->capacity, tree->n + 1, err));
    *ret = &tree->nodes[tree->n++];
    return HS_OK;
}

void hs_stack_tree_fini(struct hs_stack_tree *tree)
{
    hs_strtab_fini(&tree->strings);
    hs_free(tree->frames);
    hs_table_fini(&tree->frame_table);
    hs_free(tree->nodes);
    hs_free(tree->samples);
    hs_free(tree->binaries);
    *tree = (struct hs_stack_tree){0};
}

uint64_t hs_stack_total(const struct hs_stack_tree *tree, unsigned value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < tree->n; i++)
        sum += tree->nodes[i].values[value];
    return sum;
}

size_t hs_stack_path(const struct hs_stack_tree *tree, uint32_t node, uint32_t *frames, size_t most,
                     size_t *ret_cut)
{
    size_t n = 0, at;
    for (uint32_t i = node; i != HS_NO_STACK; i = tree->nodes[i].parent)
        n++;
    *ret_cut = n > most ? n - most : 0;
    n -= *ret_cut;
    at = n;
    for (uint32_t i = node; at != 0; i = tree->nodes[i].parent)
        frames[--at] = tree->nodes[i].frame;
    return n;
}

hs_status hs_stack_children_find(const struct hs_stack_tree *tree, struct hs_stack_children *ret,
                                 struct hs_error *err)
{
    size_t n = tree->n;
    HS_TRY(HS_ALLOC(&ret->begin, n + 3, err));
    HS_TRY(HS_ALLOC(&ret->children, n, err));
    /* Counted two places on; summed, then filled, each begin ends up at its place. */
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = tree->nodes[i].parent;
        ret->begin[(parent == HS_NO_STACK ? n : parent) + 2]++;
    }
    for (size_t i = 2; i < n + 3; i++)
        ret->begin[i] += ret->begin[i - 1];
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = tree->nodes[i].parent;
        ret->children[ret->begin[(parent == HS_NO_STACK ? n : parent) + 1]++] = (uint32_t)i;
    }
    return HS_OK;
}

void hs_stack_children_fini(struct hs_stack_children *children)
{
    hs_free(children->begin);
    hs_free(children->children);
    *children = (struct hs_stack_children){0};
}
