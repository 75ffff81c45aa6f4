/* Folding the steps of a path. */
#include "fold.h"

#include "base/alloc.h"

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
