/* All blocks of a type. */
#include "analysis/chunk_pass.h"
#include "analysis/path_tree.h"
#include "base/alloc.h"

struct pass {
    struct hs_view *view;
    struct hs_bitmap types;
    struct hs_instances *instances;
    bool collects; /* else it counts */
    uint64_t n;    /* reached ones so far */
};

static hs_status add(struct pass *pass, hs_node node, uint32_t type, uint64_t words,
                     struct hs_error *err)
{
    struct hs_instances *all = pass->instances;
    bool is_reached = hs_index_is_reached(pass->view->index, node);
    if (!pass->collects) {
        struct hs_path_tree_sums *sums = is_reached ? &all->reached : &all->unreached;
        sums->objects++;
        sums->words += words;
    } else if (is_reached && pass->n++ % all->stride == 0) {
        HS_TRY(HS_GROW(&all->targets, &all->capacity, all->n + 1, err));
        all->targets[all->n++] =
            (struct hs_path_tree_target){.node = node, .words = words, .objects = 1, .type = type};
    }
    return HS_OK;
}

static hs_status run(struct pass *pass, struct hs_error *err)
{
    const struct hs_view *view = pass->view;
    struct hs_chunk_pass blocks =
        hs_chunk_pass_of(view, HS_COL_TYPES | HS_COL_SIZES, "reading types");
    while (hs_chunk_pass_next(&blocks, err)) {
        const struct hs_chunk *chunk = &blocks.chunk;
        for (uint32_t i = 0; blocks.status == HS_OK && i < chunk->n_blocks; i++)
            if (hs_bitmap_get(&pass->types, chunk->type[i]))
                blocks.status = add(pass, chunk->first + i, chunk->type[i], chunk->words[i], err);
    }
    return hs_chunk_pass_end(&blocks);
}

static hs_status collect(struct pass *pass, struct hs_type_family type, struct hs_error *err)
{
    struct hs_instances *all = pass->instances;
    HS_TRY(hs_type_family_members(pass->view, type, &pass->types, err));
    HS_TRY(run(pass, err));
    uint64_t n = all->reached.objects;
    all->stride = n == 0 ? 1 : (n + HS_INSTANCES_MOST - 1) / HS_INSTANCES_MOST;
    uint64_t n_bytes = (n / all->stride + 1) * sizeof *all->targets;
    HS_TRY(hs_budget_reserve(all->budget, n_bytes, "the blocks of a type", err));
    all->taken_bytes = n_bytes;
    HS_TRY(HS_GROW(&all->targets, &all->capacity, (size_t)(n / all->stride + 1), err));
    pass->collects = true;
    return run(pass, err);
}

hs_status hs_instances_of(struct hs_view *view, struct hs_type_family type,
                          struct hs_instances *ret, struct hs_error *err)
{
    struct hs_instances all = {.budget = view->session.budget};
    struct pass pass = {.view = view, .instances = &all};
    hs_status status = collect(&pass, type, err);
    hs_bitmap_fini(&pass.types);
    if (status == HS_OK)
        *ret = all;
    else
        hs_instances_fini(&all);
    return status;
}

void hs_instances_fini(struct hs_instances *instances)
{
    hs_budget_release(instances->budget, instances->taken_bytes);
    hs_free(instances->targets);
    *instances = (struct hs_instances){0};
}
