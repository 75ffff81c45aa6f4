/* Folding the steps of a path. */
#include "analysis/path_fold.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/neighbours.h"
#include "base/alloc.h"

enum { HEAD = HS_PATH_FOLD_MAX_STEPS / 2, TAIL = HS_PATH_FOLD_MAX_STEPS - HEAD, TELL_EVERY = 4096 };

/* Counts what stands between the head and the tail so far, in place of keeping it. */
static void leave_out_middle(struct hs_path_fold *fold)
{
    size_t tail_begin = fold->n_steps - TAIL;
    for (size_t i = HEAD; i < tail_begin; i++)
        fold->n_left_out += fold->steps[i].repeat;
    memmove(fold->steps + HEAD, fold->steps + tail_begin, TAIL * sizeof *fold->steps);
    fold->n_steps = HEAD + TAIL;
}

hs_status hs_path_fold_add(struct hs_path_fold *fold, const struct hs_path_step *step,
                           struct hs_error *err)
{
    if (fold->n_steps > 0) {
        struct hs_path_step *last = &fold->steps[fold->n_steps - 1];
        if (last->type == step->type && last->offset_words == step->offset_words &&
            last->tier == step->tier) {
            last->repeat += step->repeat;
            return HS_OK;
        }
    }
    if (fold->n_steps == HS_PATH_FOLD_KEPT_STEPS)
        leave_out_middle(fold);
    HS_TRY(HS_GROW(&fold->steps, &fold->capacity, fold->n_steps + 1, err));
    fold->steps[fold->n_steps++] = *step;
    return HS_OK;
}

static int by_node(const void *left, const void *right, void *nodes)
{
    hs_node a = ((const hs_node *)nodes)[*(const size_t *)left];
    hs_node b = ((const hs_node *)nodes)[*(const size_t *)right];
    return a < b ? -1 : a > b;
}

/* A part of a path, and room to look at it. */
struct piece {
    const hs_node *nodes;
    size_t n;
    bool is_last;               /* else there is one more node behind */
    size_t *order;              /* owned */
    struct hs_path_step *steps; /* owned */
};

/* Describes each object of the piece, and the field by which the path leaves it. */
static hs_status describe(struct hs_view *view, struct piece *piece, struct hs_error *err)
{
    const hs_node *nodes = piece->nodes;
    for (size_t i = 0; i < piece->n; i++)
        piece->order[i] = i;
    qsort_r(piece->order, piece->n, sizeof *piece->order, by_node, (void *)(uintptr_t)nodes);
    for (size_t i = 0; i < piece->n; i++) {
        size_t at = piece->order[i];
        struct hs_path_step *step = &piece->steps[at];
        struct hs_node_facts facts;
        struct hs_link link = {.offset_words = HS_NO_OFFSET, .edge_class = HS_N_EDGE_CLASSES};
        unsigned tier = HS_TIER_NONE;
        if (at + 1 < piece->n || !piece->is_last) {
            HS_TRY(hs_link_find(view, nodes[at], nodes[at + 1], &link, err));
            HS_TRY(hs_link_tier(view, nodes[at], link.edge_class, &tier, err));
        }
        HS_TRY(hs_view_facts(view, nodes[at], &facts, err));
        *step = (struct hs_path_step){
            .node = nodes[at],
            .offset_words = link.offset_words,
            .type = facts.type,
            .edge_class = link.edge_class,
            .reason = link.reason,
            .tier = (uint8_t)tier,
            .repeat = 1,
        };
        if (i % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(
                hs_progress_tell(view->session.progress, "reading the path", i + 1, piece->n, err));
    }
    return HS_OK;
}

static hs_status fold_pieces(struct hs_path_fold *fold, struct hs_view *view, const hs_node *nodes,
                             size_t n, struct piece *piece, struct hs_error *err)
{
    for (size_t at = 0; at < n; at += piece->n) {
        piece->nodes = nodes + at;
        piece->n = n - at < HS_PATH_FOLD_PIECE ? n - at : HS_PATH_FOLD_PIECE;
        piece->is_last = at + piece->n == n;
        HS_TRY(describe(view, piece, err));
        for (size_t i = 0; i < piece->n; i++)
            HS_TRY(hs_path_fold_add(fold, &piece->steps[i], err));
    }
    return HS_OK;
}

hs_status hs_path_fold_nodes(struct hs_path_fold *fold, struct hs_view *view, const hs_node *nodes,
                             size_t n, struct hs_error *err)
{
    struct piece piece = {.nodes = nodes};
    size_t room = n < HS_PATH_FOLD_PIECE ? n : HS_PATH_FOLD_PIECE;
    uint64_t n_bytes = room * (sizeof *piece.order + sizeof *piece.steps);
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "the steps of a path", err));
    hs_status status = HS_ALLOC(&piece.order, room, err);
    if (status == HS_OK)
        status = HS_ALLOC(&piece.steps, room, err);
    if (status == HS_OK)
        status = fold_pieces(fold, view, nodes, n, &piece, err);
    hs_free(piece.order);
    hs_free(piece.steps);
    hs_budget_release(view->session.budget, n_bytes);
    if (status == HS_OK)
        hs_path_fold_finish(fold);
    return status;
}

void hs_path_fold_finish(struct hs_path_fold *fold)
{
    if (fold->n_steps > HS_PATH_FOLD_MAX_STEPS)
        leave_out_middle(fold);
    if (fold->n_left_out == 0)
        return;
    /* There is room: as many as HS_PATH_FOLD_KEPT_STEPS stood here, or one more than these. */
    memmove(fold->steps + HEAD + 1, fold->steps + HEAD, TAIL * sizeof *fold->steps);
    fold->steps[HEAD] = (struct hs_path_step){.node = HS_NO_NODE, .repeat = fold->n_left_out};
    fold->n_steps = HS_PATH_FOLD_MAX_STEPS + 1;
    fold->n_left_out = 0;
}

void hs_path_fold_fini(struct hs_path_fold *fold)
{
    hs_free(fold->steps);
    *fold = (struct hs_path_fold){0};
}
