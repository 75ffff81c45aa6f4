/* Folding the steps of a path. */
#include "fold.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "neighbours.h"

hs_status hs_fold_add(struct hs_fold *fold, const struct hs_step *step, struct hs_error *err)
{
    if (fold->n_steps > 0) {
        struct hs_step *last = &fold->steps[fold->n_steps - 1];
        if (last->type == step->type && last->offset_words == step->offset_words) {
            last->repeat += step->repeat;
            return HS_OK;
        }
    }
    HS_TRY(hs_grow((void **)&fold->steps, &fold->capacity, fold->n_steps + 1, sizeof *fold->steps,
                   err));
    fold->steps[fold->n_steps++] = *step;
    return HS_OK;
}

enum { TELL_EVERY = 4096 };

static int by_node(const void *left, const void *right, void *nodes)
{
    uint32_t a = ((const uint32_t *)nodes)[*(const size_t *)left];
    uint32_t b = ((const uint32_t *)nodes)[*(const size_t *)right];
    return a < b ? -1 : a > b;
}

/* What each object of a path is, and the field by which the path leaves it. */
static hs_status describe(struct hs_view *view, const uint32_t *nodes, size_t n, size_t *order,
                          struct hs_step *steps, struct hs_error *err)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, by_node, (void *)(uintptr_t)nodes);
    for (size_t i = 0; i < n; i++) {
        size_t at = order[i];
        struct hs_node_facts facts;
        steps[at] = (struct hs_step){.node = nodes[at], .offset_words = HS_NO_OFFSET, .repeat = 1};
        if (at + 1 < n)
            HS_TRY(hs_link_offset(view, nodes[at], nodes[at + 1], &steps[at].offset_words, err));
        HS_TRY(hs_view_facts(view, nodes[at], &facts, err));
        steps[at].type = facts.type;
        if (i % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(view->progress, "reading the path", i + 1, n, err));
    }
    return HS_OK;
}

hs_status hs_fold_path(struct hs_fold *fold, struct hs_view *view, const uint32_t *nodes, size_t n,
                       struct hs_error *err)
{
    hs_auto_free size_t *order = NULL;
    hs_auto_free struct hs_step *steps = NULL;
    HS_TRY(hs_alloc(n, sizeof *order, (void **)&order, err));
    HS_TRY(hs_alloc(n, sizeof *steps, (void **)&steps, err));
    HS_TRY(describe(view, nodes, n, order, steps, err));
    for (size_t i = 0; i < n; i++)
        HS_TRY(hs_fold_add(fold, &steps[i], err));
    hs_fold_finish(fold);
    return HS_OK;
}

void hs_fold_finish(struct hs_fold *fold)
{
    enum { HEAD = HS_FOLD_MAX_STEPS / 2, TAIL = HS_FOLD_MAX_STEPS - HEAD };
    if (fold->n_steps <= HS_FOLD_MAX_STEPS)
        return;
    struct hs_step gap = {.node = HS_NO_NODE};
    size_t tail_begin = fold->n_steps - TAIL;
    for (size_t i = HEAD; i < tail_begin; i++)
        gap.repeat += fold->steps[i].repeat;
    fold->steps[HEAD] = gap;
    for (size_t i = 0; i < TAIL; i++)
        fold->steps[HEAD + 1 + i] = fold->steps[tail_begin + i];
    fold->n_steps = HS_FOLD_MAX_STEPS + 1;
}

void hs_fold_fini(struct hs_fold *fold)
{
    hs_free(fold->steps);
    *fold = (struct hs_fold){0};
}
