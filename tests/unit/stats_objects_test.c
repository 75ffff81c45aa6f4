/* links: hs_trace_stats */
/* Births, deaths, backtraces, the peak and the line of what is alive, against brute force. */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "stats/timeline.h"
#include "stats_events.h"

enum { SEEDS = 12, OBJECTS = 400 };

static void check_object(const struct hs_trace_objects *objects, const struct made_object *made,
                         const struct hs_trace_object *object)
{
    const struct hs_trace_shape *shape = &objects->shapes[object->shape];
    uint32_t node = object->stack;
    assert_int_equal(object->born_us, made->born_us);
    assert_int_equal(object->died_us, made->died_us);
    assert_true(object->is_selected);
    assert_int_equal(shape->words, made->words);
    assert_int_equal(shape->n_samples, made->n_samples);
    assert_int_equal(shape->source, made->source);
    for (size_t i = made->n_frames; i-- > 0;) {
        assert_int_not_equal(node, 0);
        uint32_t code = hs_stacks_code(&objects->stacks, node);
        assert_int_equal(objects->stacks.codes.keys[code], made->frames[i]);
        assert_true(hs_stacks_parent(&objects->stacks, node) < node);
        node = hs_stacks_parent(&objects->stacks, node);
    }
    assert_int_equal(node, 0);
}

static uint64_t live_samples(const struct made_trace *made, uint64_t at_us)
{
    uint64_t n = 0;
    for (size_t i = 0; i < made->n; i++)
        if (made->objects[i].born_us <= at_us && at_us < made->objects[i].died_us)
            n += made->objects[i].n_samples;
    return n;
}

static void check_counts(const struct made_trace *made, const struct hs_trace_counts *counts)
{
    uint64_t n_samples = 0, peak_us = 0, n_peak = 0, n_collected = 0;
    for (size_t i = 0; i < made->n; i++) {
        const struct made_object *object = &made->objects[i];
        uint64_t n_live = live_samples(made, object->born_us);
        n_samples += object->n_samples;
        n_collected += object->died_us != HS_OBJECT_NEVER;
        if (n_live > n_peak || (n_live == n_peak && object->born_us < peak_us)) {
            n_peak = n_live;
            peak_us = object->born_us;
        }
    }
    assert_int_equal(counts->n_allocations, made->n);
    assert_int_equal(counts->n_collections, n_collected);
    assert_int_equal(counts->n_promotions, made->n_events - made->n - n_collected);
    assert_int_equal(counts->n_unmatched, 0);
    assert_int_equal(counts->n_samples, n_samples);
    assert_int_equal(counts->n_live_samples, live_samples(made, made->end_us));
    assert_int_equal(counts->end_us, made->end_us);
    assert_int_equal(counts->n_peak_samples, n_peak);
    assert_int_equal(counts->peak_us, peak_us);
}

static void test_against_brute_force(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_trace_objects objects;
        struct made_trace made;
        made_trace_init(&made, seed, OBJECTS, (unsigned)(seed % 3) + 1);
        hs_trace_objects_init(&objects, NULL);
        assert_int_equal(made_trace_add(&made, &objects, &err), HS_OK);
        assert_int_equal(objects.n, made.n);
        for (size_t i = 0; i < made.n; i++)
            check_object(&objects, &made.objects[i], hs_trace_object(&objects, i));
        check_counts(&made, &objects.counts);
        assert_true(seed % 3 == 0 || objects.is_disordered); /* the other search for the peak */
        hs_trace_objects_fini(&objects);
        made_trace_fini(&made);
    }
}

static void test_timeline(void **state)
{
    enum { POINTS = 37 };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_objects objects;
    struct made_trace made;
    struct hs_timeline_point points[POINTS];
    made_trace_init(&made, 99, OBJECTS, 3);
    hs_trace_objects_init(&objects, NULL);
    assert_int_equal(made_trace_add(&made, &objects, &err), HS_OK);
    for (size_t i = 0; i < made.n; i++)
        hs_trace_object(&objects, i)->is_selected = made.objects[i].words % 2;
    for (size_t i = 0; i < POINTS; i++) /* the last one lies behind the end */
        points[i].at_us = made.end_us * i / (POINTS - 2);
    hs_timeline_fill(&objects, points, POINTS);
    for (size_t i = 0; i < POINTS; i++) {
        uint64_t n_selected = 0, n_objects = 0;
        double allocations = 0;
        for (size_t k = 0; k < made.n; k++) {
            const struct hs_trace_object *object = hs_trace_object(&objects, k);
            if (!hs_trace_object_is_live(object, points[i].at_us))
                continue;
            n_objects++;
            n_selected += object->is_selected ? made.objects[k].n_samples : 0;
            allocations += objects.shapes[object->shape].allocations;
        }
        assert_int_equal(points[i].all.n_samples, live_samples(&made, points[i].at_us));
        assert_int_equal(points[i].all.n_objects, n_objects);
        assert_int_equal(points[i].selected.n_samples, n_selected);
        assert_true(points[i].all.allocations - allocations < 1e-6);
        assert_true(allocations - points[i].all.allocations < 1e-6);
    }
    hs_trace_objects_fini(&objects);
    made_trace_fini(&made);
}

static hs_status add(struct hs_trace_objects *objects, unsigned kind, uint64_t time_us, uint64_t id,
                     uint64_t n_samples)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_event event = {
        .kind = (uint8_t)kind, .time_us = time_us, .id = id, .n_samples = n_samples, .words = 1};
    return hs_trace_objects_add(objects, &event, &err);
}

/* Events that do not fit together, as damaged files have them. */
static void test_odd_events(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_objects objects;
    hs_trace_objects_init(&objects, NULL);
    assert_int_equal(add(&objects, HS_TRACE_COLLECT, 5, 1, 0), HS_OK); /* of nothing */
    assert_int_equal(add(&objects, HS_TRACE_ALLOC, 10, UINT64_MAX, 1), HS_OK);
    assert_int_equal(add(&objects, HS_TRACE_COLLECT, 3, UINT64_MAX, 0), HS_OK);  /* before birth */
    assert_int_equal(add(&objects, HS_TRACE_COLLECT, 20, UINT64_MAX, 0), HS_OK); /* again */
    assert_int_equal(add(&objects, HS_TRACE_PROMOTE, 20, UINT64_MAX, 0), HS_OK);
    assert_int_equal(add(&objects, HS_TRACE_ALLOC, UINT64_MAX, 0, UINT64_MAX), HS_OK);
    assert_int_equal(add(&objects, HS_TRACE_ALLOC, 7, 0, 1), HS_OK); /* the same number again */
    assert_int_equal(add(&objects, HS_TRACE_COLLECT, 9, 0, 0), HS_OK);
    assert_int_equal(hs_trace_objects_finish(&objects, &err), HS_OK);
    assert_int_equal(objects.counts.n_unmatched, 3);
    assert_int_equal(objects.n, 3);
    assert_int_equal(hs_trace_object(&objects, 0)->died_us, 10);
    assert_int_equal(hs_trace_object(&objects, 1)->born_us, HS_OBJECT_NEVER - 1);
    assert_int_equal(hs_trace_object(&objects, 1)->died_us, HS_OBJECT_NEVER);
    assert_int_equal(hs_trace_object(&objects, 2)->died_us, 9);
    assert_int_equal(objects.counts.n_peak_samples, HS_OBJECT_MAX_SAMPLES);
    hs_trace_objects_fini(&objects);
}

static void test_empty(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_objects objects;
    hs_trace_objects_init(&objects, NULL);
    assert_int_equal(hs_trace_objects_finish(&objects, &err), HS_OK);
    assert_int_equal(objects.counts.n_peak_samples, 0);
    hs_trace_objects_fini(&objects);
}

/* A trace that is too large is refused with what to do; all is given back. */
static void test_budget(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget = {.limit_bytes = 4 << 20, .n_threads = 1};
    struct hs_trace_objects objects;
    hs_status status = HS_OK;
    hs_trace_objects_init(&objects, &budget);
    for (uint64_t i = 0; status == HS_OK && i < 1000000; i++)
        status = add(&objects, HS_TRACE_ALLOC, i, i, 1);
    assert_int_equal(status, HS_LIMIT);
    assert_true(objects.n > 50000); /* the memory was used for something */
    struct hs_trace_event event = {.id = 1000000};
    assert_int_equal(hs_trace_objects_add(&objects, &event, &err), HS_LIMIT);
    assert_non_null(strstr(err.hint, "--memory"));
    assert_true(budget.peak_bytes <= budget.limit_bytes);
    hs_trace_objects_fini(&objects);
    assert_int_equal(budget.used_bytes, 0);
}

/* Identifiers that lie as far apart as a file can have them must not cost more than their events.
 */
static void test_sparse_identifiers(void **state)
{
    struct hs_budget budget = {.limit_bytes = 64 << 20, .n_threads = 1};
    struct hs_trace_objects objects;
    hs_trace_objects_init(&objects, &budget);
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t id = i * 0x9e3779b97f4a7c15U;
        assert_int_equal(add(&objects, HS_TRACE_ALLOC, i, id, 1), HS_OK);
        if (i % 2 == 0)
            assert_int_equal(add(&objects, HS_TRACE_COLLECT, i + 1, id, 0), HS_OK);
    }
    assert_int_equal(objects.counts.n_unmatched, 0);
    assert_int_equal(objects.counts.n_live_samples, 50000);
    hs_trace_objects_fini(&objects);
    assert_int_equal(budget.used_bytes, 0);
}

static void test_failing_allocations(void **state)
{
    struct made_trace made;
    made_trace_init(&made, 5, OBJECTS, 2);
    FAIL_EACH (each, .mode = FAIL_REST) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_budget budget = {.limit_bytes = UINT64_MAX - 1, .n_threads = 1};
        struct hs_trace_objects objects;
        hs_trace_objects_init(&objects, &budget);
        (void)FAIL_EACH_TRY(each, made_trace_add(&made, &objects, &err));
        hs_trace_objects_fini(&objects);
        assert_int_equal(budget.used_bytes, 0);
    }
    made_trace_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_brute_force),
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_odd_events),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_sparse_identifiers),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
