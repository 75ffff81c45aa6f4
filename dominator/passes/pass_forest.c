/* The regions: who has one predecessor, whose children they are, and in what order they stand. */
#include <assert.h>

#include "forest_search.h"
#include "pass_steps.h"

#define AHEAD 16
#define BATCH 64

/* ---- how many predecessors: none, one or several ---- */

struct forest {
    const struct hs_passes_input *input;
    struct hs_passes *passes;
    struct hs_bitmap is_single, is_multi;
    uint64_t n_single;
    struct forest_lists lists;
};

static hs_status forest_count(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct forest *forest = context;
    const uint64_t *begin = piece->begin;
    uint64_t n_single = 0;

    HS_TRY(hs_progress_tell(forest->input->progress, "counting the ways in", piece->first,
                            forest->passes->n_nodes, err));
    if (begin[piece->n] == 0)
        return HS_OK;
    for (uint32_t i = 0; i < piece->n; i++) {
        hs_node node = piece->first + i;
        uint64_t n = piece->of_row != 0 ? piece->of_row : begin[i + 1] - begin[i];
        if (n > 1)
            hs_bitmap_set(&forest->is_multi, node);
        else if (n == 1)
            hs_bitmap_set(&forest->is_single, node);
        n_single += n == 1;
    }
    if (piece->first == 0) { /* the root of all is nobody's child */
        n_single -= hs_bitmap_get(&forest->is_single, 0);
        hs_bitmap_clear(&forest->is_single, 0);
        hs_bitmap_clear(&forest->is_multi, 0);
    }
    forest->n_single += n_single;
    return HS_OK;
}

/* ---- their children ---- */

/* The single ones among the targets of a row, BATCH at a time. Taking one or not is
 * no branch, for nobody could foresee it. */
static hs_status forest_collect_row(struct forest *forest, const struct hs_piece *piece,
                                    uint32_t row, struct hs_error *err)
{
    const uint64_t *words = forest->is_single.words, n = piece->begin[piece->n];
    uint64_t e = piece->begin[row], end = piece->begin[row + 1];
    hs_node children[BATCH];

    while (e < end) {
        uint64_t stop = end - e < BATCH ? end : e + BATCH;
        uint32_t n_children = 0;
        for (; e < stop; e++) {
            hs_node target = piece->target[e];
            if (e + AHEAD < n)
                __builtin_prefetch(&words[piece->target[e + AHEAD] >> 6]);
            children[n_children] = target;
            n_children += hs_bitmap_get(&forest->is_single, target);
        }
        if (n_children != 0)
            HS_TRY(forest_lists_add(&forest->lists, piece->first + row, children, n_children, err));
    }
    return HS_OK;
}

static hs_status forest_collect(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct forest *forest = context;

    HS_TRY(hs_progress_tell(forest->input->progress, "collecting the forest", piece->first,
                            forest->passes->n_nodes, err));
    if (piece->begin[piece->n] == 0)
        return HS_OK;
    for (uint32_t i = 0; i < piece->n; i++)
        HS_TRY(forest_collect_row(forest, piece, i, err));
    return HS_OK;
}

static hs_status forest_make_lists(struct forest *forest, struct hs_error *err)
{
    const struct hs_passes_input *input = forest->input;
    struct hs_budget *budget = input->budget;
    uint64_t n = input->forward.n_nodes;
    const struct hs_piece_sink count = {forest_count, forest}, collect = {forest_collect, forest};

    HS_TRY(pass_bitmap_init(budget, n, "the ways in", &forest->is_single, err));
    HS_TRY(pass_bitmap_init(budget, n, "the ways in", &forest->is_multi, err));
    HS_TRY(input->backward.run(input->backward.context, &count, err));
    HS_TRY(forest_lists_init(budget, n, forest->n_single, &forest->lists, err));
    HS_TRY(input->forward.run(input->forward.context, &collect, err));
    forest_lists_finish(&forest->lists);
    pass_bitmap_fini(budget, &forest->is_single);
    return HS_OK;
}

static hs_status forest_make(struct forest *forest, struct hs_error *err)
{
    const struct hs_progress *progress = forest->input->progress;
    struct hs_passes *passes = forest->passes;
    struct hs_ids places;

    HS_TRY(forest_make_lists(forest, err));
    HS_TRY(forest_search_run(&forest->lists, &forest->is_multi, progress, passes, err));
    forest_lists_fini(&forest->lists);
    pass_bitmap_fini(passes->budget, &forest->is_multi);
    HS_TRY(forest_places_read(passes, progress, &places, err));
    hs_status status = forest_link_write(&forest->input->backward, &places, progress, passes, err);
    hs_ids_fini(&places);
    return status;
}

hs_status pass_forest_run(const struct hs_passes_input *input, struct hs_passes *passes,
                          struct hs_error *err)
{
    struct forest forest = {.input = input, .passes = passes};

    assert(passes->n_nodes == input->forward.n_nodes && passes->n_nodes >= 1);
    assert(input->backward.n_nodes == input->forward.n_nodes);
    hs_status status = forest_make(&forest, err);
    forest_lists_fini(&forest.lists);
    pass_bitmap_fini(passes->budget, &forest.is_single);
    pass_bitmap_fini(passes->budget, &forest.is_multi);
    return status;
}
