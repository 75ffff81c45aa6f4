/* links: hs_viewer m */
/* A trace in columns: whatever there is room for, every sample is in one cell, alive where the line
 * of live words has it, at its site; and what has no room is said. */
#include "viewer/trace_columns.h"

#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "stats/timeline.h"
#include "stats_events.h"

enum { OBJECTS = 400, MOST_NUMBERS = 4096 };

struct world {
    struct made_trace made;
    struct hs_trace_objects objects;
    struct hs_places places;
    struct hs_trace_scale scale;
    struct hs_trace_columns_of of;
};

static int set_up(void **state)
{
    static struct world world;
    struct hs_error err = HS_ERROR_INIT;
    world = (struct world){0};
    made_trace_init(&world.made, 5, OBJECTS, 2);
    hs_trace_objects_init(&world.objects, NULL);
    assert_int_equal(made_trace_add(&world.made, &world.objects, &err), HS_OK);
    assert_int_equal(made_places(&world.objects, NULL, &world.places, &err), HS_OK);
    world.scale = hs_trace_scale_of(&world.objects, 0.01);
    world.of = (struct hs_trace_columns_of){&world.objects, &world.places, &world.scale, 8};
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    hs_places_fini(&world->places);
    hs_trace_objects_fini(&world->objects);
    made_trace_fini(&world->made);
    return 0;
}

/* The numbers of a column. */
static size_t column(const struct hs_buffer *text, const char *name, uint64_t *ret)
{
    char key[64];
    size_t n = 0;
    (void)snprintf(key, sizeof key, "\"%s\":[", name);
    char *at = strstr((const char *)text->bytes, key);
    assert_non_null(at);
    for (at += strlen(key); *at != ']'; at += *at == ',') {
        assert_true(n < MOST_NUMBERS);
        ret[n++] = strtoull(at, &at, 10);
    }
    return n;
}

static uint64_t left_out(const struct hs_buffer *text, const char *name)
{
    char key[64];
    (void)snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr((const char *)text->bytes, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 10);
}

static void write_all(struct world *world, const struct hs_trace_columns_room *room,
                      struct hs_buffer *text, bool *fits)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_columns *columns = NULL;
    assert_int_equal(hs_trace_columns_new(&world->of, NULL, &columns, &err), HS_OK);
    assert_int_equal(hs_trace_columns_write(columns, room, text, fits, &err), HS_OK);
    hs_trace_columns_free(columns);
    if (!*fits)
        return;
    assert_int_equal(hs_buffer_reserve(text, 1, &err), HS_OK);
    hs_buffer_put_bytes(text, "", 1);
}

static void check_line(struct world *world, const struct hs_buffer *text)
{
    static uint64_t points[MOST_NUMBERS], born[MOST_NUMBERS], died[MOST_NUMBERS];
    static uint64_t samples[MOST_NUMBERS], objects[MOST_NUMBERS];
    struct hs_timeline_point line[64] = {0};
    size_t n_points = column(text, "points", points), n = column(text, "cell_born", born);
    uint64_t n_samples = 0, n_objects = 0;
    assert_true(n_points <= 64);
    assert_int_equal(column(text, "cell_died", died), n);
    assert_int_equal(column(text, "cell_samples", samples), n);
    assert_int_equal(column(text, "cell_objects", objects), n);
    for (size_t p = 0; p < n_points; p++)
        line[p].at_us = points[p];
    hs_timeline_fill(&world->objects, line, n_points);
    for (size_t p = 0; p < n_points; p++) {
        uint64_t n_live = 0;
        for (size_t i = 0; i < n; i++)
            n_live += born[i] <= p && p < died[i] ? samples[i] : 0;
        assert_int_equal(n_live, line[p].all.n_samples);
    }
    for (size_t i = 0; i < n; i++) {
        n_samples += samples[i];
        n_objects += objects[i];
    }
    assert_int_equal(n_samples, world->objects.counts.n_samples);
    assert_int_equal(n_objects, world->objects.n);
}

static void check_shape(const struct hs_buffer *text)
{
    static uint64_t parents[MOST_NUMBERS], calls[MOST_NUMBERS], frames[MOST_NUMBERS];
    static uint64_t functions[MOST_NUMBERS], names[MOST_NUMBERS];
    size_t n = column(text, "call_parent", parents), n_cells = column(text, "cell_call", calls);
    uint64_t call = 0;
    for (size_t i = 0; i < n; i++)
        assert_true(parents[i] <= i);
    for (size_t i = 0; i < n_cells; i++)
        call += calls[i];
    assert_true(call <= n);
    size_t n_frames = column(text, "frame_function", functions);
    size_t n_functions = column(text, "function_name", names);
    for (size_t i = 0; i < column(text, "call_frame", frames); i++)
        assert_true(frames[i] <= n_frames);
    for (size_t i = 0; i < n_frames; i++)
        assert_true(functions[i] < n_functions);
}

static void rooms(void **state)
{
    static const struct hs_trace_columns_room all[] = {
        {50, 10000, 1000, 1000, 4000}, {50, 30, 1000, 1000, 4000}, {10, 30, 3, 1000, 4000},
        {10, 10000, 1000, 4, 4000},    {3, 0, 0, 0, 4000},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hs_buffer text = {0};
        bool fits;
        write_all(*state, &all[i], &text, &fits);
        assert_true(fits);
        check_line(*state, &text);
        check_shape(&text);
        assert_int_equal(left_out(&text, "call_samples") == 0, all[i].n_calls == 10000);
        assert_int_equal(left_out(&text, "site_samples") == 0, all[i].n_sites == 1000);
        assert_int_equal(left_out(&text, "size_samples") == 0, all[i].n_sizes == 1000);
        hs_buffer_fini(&text);
    }
}

static void too_many_cells(void **state)
{
    const struct hs_trace_columns_room room = {50, 10000, 1000, 1000, 20};
    struct hs_buffer text = {0};
    bool fits = true;
    write_all(*state, &room, &text, &fits);
    assert_false(fits);
    assert_int_equal(text.n_bytes, 0);
}

static void allocations_fail(void **state)
{
    struct world *world = *state;
    const struct hs_trace_columns_room room = {10, 20, 5, 4, 4000};
    struct hs_error err = HS_ERROR_INIT;
    FAIL_EACH (each, .at_least = 15) {
        struct hs_trace_columns *columns = NULL;
        struct hs_buffer text = {0};
        bool fits;
        hs_status status =
            FAIL_EACH_TRY(each, hs_trace_columns_new(&world->of, NULL, &columns, &err) != HS_OK
                                    ? err.status
                                    : hs_trace_columns_write(columns, &room, &text, &fits, &err));
        (void)status;
        hs_buffer_fini(&text);
        hs_trace_columns_free(columns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rooms), cmocka_unit_test(too_many_cells),
                                       cmocka_unit_test(allocations_fail)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
