/* A step of the passes over a made forest that has too little of something, or is interrupted: the
 * right answer or a refusal, and all memory is given back. */
#ifndef HS_TEST_FOREST_SHORTAGE_H
#define HS_TEST_FOREST_SHORTAGE_H

#include "unit.h"

#include "fail_each.h"
#include "made_forest.h"
#include "odd_graphs.h"

struct forest_step {
    /* All steps up to this one. */
    hs_status (*run)(const struct hs_passes_input *input, struct hs_passes *passes,
                     struct hs_error *err);
    void (*check)(const struct made_forest *made, const struct hs_graph *graph);
};

static inline void forest_allocations_fail(const struct forest_step *step)
{
    static const struct hs_passes_input input;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_graph graph = odd_mixed(400);
    struct made_forest made;

    FAIL_EACH (each, .mode = FAIL_BOTH, .at_least = 20) {
        made_forest_init(&graph, 3, &made);
        hs_status status = FAIL_EACH_TRY(each, step->run(&input, &made.passes, &err));
        if (status == HS_OK)
            step->check(&made, &graph);
        made_forest_fini(&made);
        assert_int_equal(made.budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    hs_graph_fini(&graph);
}

/* Every limit up to what is taken when there is none: the answer, or a refusal. */
static inline void forest_budgets(const struct forest_step *step)
{
    static const struct hs_passes_input input;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_graph graph = odd_mixed(60000);
    struct made_forest made;
    uint32_t n_refused = 0, n_tight = 0;

    made_forest_init(&graph, CORE_EDGES_MAX, &made);
    uint64_t least = made.budget.used_bytes;
    assert_int_equal(step->run(&input, &made.passes, &err), HS_OK);
    uint64_t most = made.budget.peak_bytes;
    made_forest_fini(&made);
    for (uint64_t limit = most; limit > least; limit -= (most - least) / 32 + 1) {
        made_forest_init(&graph, CORE_EDGES_MAX, &made);
        made.budget.limit_bytes = limit;
        hs_status status = step->run(&input, &made.passes, &err);
        assert_true(made.budget.peak_bytes <= limit);
        assert_true(status == HS_OK || limit != most);
        if (status == HS_OK)
            step->check(&made, &graph);
        else
            assert_int_equal(status, HS_LIMIT);
        n_refused += status != HS_OK;
        n_tight += status == HS_OK && limit != most;
        made_forest_fini(&made);
        assert_int_equal(made.budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    assert_true(n_refused > 2);
    assert_true(n_tight > 2);
    hs_graph_fini(&graph);
}

/* Interrupted at each telling. */
static inline bool forest_tell_until(void *context, const char *phase, uint64_t done,
                                     uint64_t total)
{
    uint32_t *left = context;
    assert_true(done <= total || total == 0);
    return (*left)-- != 0;
}

static inline void forest_interrupted(const struct forest_step *step)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_graph graph = odd_mixed(400);
    struct made_forest made;
    hs_status status = HS_LIMIT;
    uint32_t n_tellings = 0;

    for (; status != HS_OK; n_tellings++) {
        uint32_t left = n_tellings;
        const struct hs_progress progress = {forest_tell_until, &left};
        const struct hs_passes_input watched = {.progress = &progress};
        made_forest_init(&graph, CORE_EDGES_MAX, &made);
        status = step->run(&watched, &made.passes, &err);
        assert_true(status == HS_OK || status == HS_LIMIT);
        made_forest_fini(&made);
        assert_int_equal(made.budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    assert_true(n_tellings > 5);
    hs_graph_fini(&graph);
}

#endif
