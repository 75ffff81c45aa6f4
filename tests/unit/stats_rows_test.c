/* links: hs_trace_stats m */
/* Filters, rows, medians, trees of calls and lifetimes of random traces against brute force. */
#include "unit.h"

#include <math.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "stats/call_tree.h"
#include "stats/lifetimes.h"
#include "stats_events.h"

enum { SEEDS = 6, OBJECTS = 300, WORD_BYTES = 8, MAX_NAMES = 8192, NAME_BYTES = 600 };

/* ---- a plain table by name ---- */

struct entry {
    char name[NAME_BYTES];
    uint64_t n_samples, n_objects, n_live, first_us, last_us;
    double allocations;
    size_t members[OBJECTS];
};

struct table {
    struct entry *entries;
    size_t n;
};

static struct entry *entry_of(struct table *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->entries[i].name, name) == 0)
            return &table->entries[i];
    assert_true(table->n < MAX_NAMES);
    struct entry *entry = &table->entries[table->n++];
    *entry = (struct entry){.first_us = UINT64_MAX};
    (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    return entry;
}

static void count(struct table *table, const char *name, const struct made_trace *made, size_t at)
{
    const struct made_object *object = &made->objects[at];
    struct entry *entry = entry_of(table, name);
    uint64_t s = object->words + (object->source != HS_TRACE_EXTERNAL);
    entry->members[entry->n_objects++] = at;
    entry->n_samples += object->n_samples;
    if (object->died_us == HS_OBJECT_NEVER)
        entry->n_live += object->n_samples;
    if (object->born_us < entry->first_us)
        entry->first_us = object->born_us;
    if (object->born_us > entry->last_us)
        entry->last_us = object->born_us;
    entry->allocations += (double)object->n_samples / (double)(s == 0 ? 1 : s);
}

/* The least lifetime such that what lived no longer weighs at least so much; born in a part. */
static uint64_t quantile_of(const struct made_trace *made, const struct entry *entry,
                            uint64_t permille, uint64_t begin_us, uint64_t end_us)
{
    uint64_t best = UINT64_MAX, all = 0;
    for (size_t i = 0; i < entry->n_objects; i++) {
        const struct made_object *object = &made->objects[entry->members[i]];
        if (object->born_us >= begin_us && object->born_us < end_us)
            all += object->n_samples;
    }
    for (size_t i = 0; i < entry->n_objects; i++) {
        const struct made_object *candidate = &made->objects[entry->members[i]];
        uint64_t limit = candidate->died_us - candidate->born_us, weight = 0;
        if (candidate->died_us == HS_OBJECT_NEVER || limit >= best)
            continue;
        for (size_t k = 0; k < entry->n_objects; k++) {
            const struct made_object *object = &made->objects[entry->members[k]];
            if (object->born_us >= begin_us && object->born_us < end_us &&
                object->died_us != HS_OBJECT_NEVER && object->died_us - object->born_us <= limit)
                weight += object->n_samples;
        }
        if (weight * 1000 >= all * permille && weight != 0)
            best = limit;
    }
    return best;
}

/* ---- one trace, filtered ---- */

struct world {
    struct made_trace made;
    struct hs_trace_objects objects;
    struct hs_places places;
    unsigned hidden; /* functions */
    bool is_selected[OBJECTS];
    struct table table;
};

static void world_open(struct world *world, uint64_t seed)
{
    struct hs_error err = HS_ERROR_INIT;
    *world = (struct world){0};
    made_trace_init(&world->made, seed, OBJECTS, seed % 2 + 1);
    hs_trace_objects_init(&world->objects, NULL);
    assert_int_equal(made_trace_add(&world->made, &world->objects, &err), HS_OK);
    assert_int_equal(made_places(&world->objects, NULL, &world->places, &err), HS_OK);
    for (size_t i = 0; i < OBJECTS; i++)
        world->is_selected[i] = true;
    world->table.entries = calloc(MAX_NAMES, sizeof *world->table.entries);
    assert_non_null(world->table.entries);
}

static void world_close(struct world *world)
{
    free(world->table.entries);
    hs_places_fini(&world->places);
    hs_trace_objects_fini(&world->objects);
    made_trace_fini(&world->made);
}

static void hide(struct world *world)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_name_pattern patterns[2];
    assert_int_equal(hs_name_pattern_init(&patterns[0], "/f[47]$/", &err), HS_OK);
    assert_int_equal(hs_name_pattern_init(&patterns[1], "M.f1", &err), HS_OK);
    hs_places_hide(&world->places, patterns, 2);
    world->hidden = 1U << 4 | 1U << 7 | 1U << 1;
    hs_name_pattern_fini(&patterns[0]);
    hs_name_pattern_fini(&patterns[1]);
}

/* ---- filters ---- */

static bool is_inside(const struct made_object *object, unsigned functions)
{
    struct made_frames frames;
    made_frames_of(object, 0, &frames);
    for (size_t i = 0; i < frames.n; i++)
        if (frames.function[i] != 99 && (functions >> frames.function[i] & 1) != 0)
            return true;
    return false;
}

static void apply(struct world *world, const struct hs_trace_filter *filter)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n, n_expected = 0;
    assert_int_equal(
        hs_trace_filter_apply(filter, &world->objects, &world->places, WORD_BYTES, &n, &err),
        HS_OK);
    for (size_t i = 0; i < OBJECTS; i++) {
        assert_int_equal(hs_trace_object(&world->objects, i)->is_selected, world->is_selected[i]);
        n_expected += world->is_selected[i];
    }
    assert_int_equal(n, n_expected);
}

static void parse(const char *text, enum hs_stats_range_kind kind, struct hs_stats_range *ret,
                  bool *has)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_stats_range_parse(text, kind, kind == HS_RANGE_TIME, ret, &err), HS_OK);
    *has = true;
}

typedef bool (*made_predicate)(const struct made_object *object, const struct hs_trace_counts *run);

static bool allocated_mid(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->born_us * 4 >= run->end_us && o->born_us <= run->peak_us;
}
static bool live_at_peak(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->born_us <= run->peak_us && run->peak_us < o->died_us;
}
static bool live_at_end(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->died_us == HS_OBJECT_NEVER;
}
static bool live_in_first_tenth(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->born_us * 1000 <= run->end_us * 1000 / 10; /* and then none has died before 0 */
}
static bool collected_late(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->died_us != HS_OBJECT_NEVER && o->died_us * 2 >= run->end_us;
}
static bool lived_long(const struct made_object *o, const struct hs_trace_counts *run)
{
    uint64_t died_us = o->died_us == HS_OBJECT_NEVER ? run->end_us : o->died_us;
    return died_us - o->born_us >= 200;
}
static bool lived_short(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->died_us != HS_OBJECT_NEVER && o->died_us - o->born_us <= 200;
}
static bool is_large(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->words * WORD_BYTES >= 24 && o->words * WORD_BYTES <= 1000;
}
static bool is_not_minor(const struct made_object *o, const struct hs_trace_counts *run)
{
    return o->source != HS_TRACE_MINOR;
}
static bool inside_2_and_m1(const struct made_object *o, const struct hs_trace_counts *run)
{
    return is_inside(o, 1U << 2) && is_inside(o, 1U << 1 | 1U << 4 | 1U << 7) &&
           !is_inside(o, 1U << 5);
}

static void test_filters(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_name_pattern inside[2], not_inside[1];
    struct hs_trace_filter filters[10] = {0};
    static const made_predicate predicates[10] = {
        allocated_mid, live_at_peak, live_at_end, live_in_first_tenth, collected_late,
        lived_long,    lived_short,  is_large,    is_not_minor,        inside_2_and_m1,
    };
    parse("25%..peak", HS_RANGE_TIME, &filters[0].allocated, &filters[0].has_allocated);
    parse("peak", HS_RANGE_TIME, &filters[1].live, &filters[1].has_live);
    parse("end", HS_RANGE_TIME, &filters[2].live, &filters[2].has_live);
    parse("..10%", HS_RANGE_TIME, &filters[3].live, &filters[3].has_live);
    parse("50%..", HS_RANGE_TIME, &filters[4].collected, &filters[4].has_collected);
    parse("200us..", HS_RANGE_LIFE, &filters[5].lifetime, &filters[5].has_lifetime);
    parse("..0.2ms", HS_RANGE_LIFE, &filters[6].lifetime, &filters[6].has_lifetime);
    parse("24..1k", HS_RANGE_SIZE, &filters[7].size, &filters[7].has_size);
    filters[8].areas = 1U << HS_TRACE_MAJOR | 1U << HS_TRACE_EXTERNAL;
    assert_int_equal(hs_name_pattern_init(&inside[0], "f2", &err), HS_OK);
    assert_int_equal(hs_name_pattern_init(&inside[1], "/^m1\\.ml$/", &err), HS_OK);
    assert_int_equal(hs_name_pattern_init(&not_inside[0], "f5", &err), HS_OK);
    filters[9] = (struct hs_trace_filter){
        .inside = inside, .n_inside = 2, .not_inside = not_inside, .n_not_inside = 1};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        world_open(&world, seed);
        hide(&world); /* which inside does not heed */
        for (size_t f = 0; f < 10; f++) {
            size_t n = 0;
            for (size_t i = 0; i < OBJECTS; i++) {
                world.is_selected[i] = predicates[f](&world.made.objects[i], &world.objects.counts);
                n += world.is_selected[i];
            }
            assert_true(n != 0 && n != OBJECTS); /* or it would test nothing */
            apply(&world, &filters[f]);
        }
        struct hs_trace_filter never = {.has_collected = true};
        parse("never", HS_RANGE_TIME, &never.collected, &never.has_collected);
        for (size_t i = 0; i < OBJECTS; i++)
            world.is_selected[i] = world.made.objects[i].died_us == HS_OBJECT_NEVER;
        apply(&world, &never);
        world_close(&world);
    }
    hs_name_pattern_fini(&inside[0]);
    hs_name_pattern_fini(&inside[1]);
    hs_name_pattern_fini(&not_inside[0]);
}

/* ---- rows ---- */

static void name_stack(const struct made_frames *frames, char *name)
{
    char part[64];
    name[0] = 0;
    for (size_t i = frames->n; i-- > 0;) {
        made_name(frames->function[i], frames->line[i], true, part);
        strncat(name, i + 1 == frames->n ? "" : " < ", NAME_BYTES - strlen(name) - 1);
        strncat(name, part, NAME_BYTES - strlen(name) - 1);
    }
}

/* Of rows that have an object once. */
static void name_row(const struct made_object *object, const struct made_frames *frames,
                     enum hs_rows_by by, char *name)
{
    size_t n = frames->n, at = by == HS_ROWS_BY_CALLER ? n - 2 : n - 1;
    if (by == HS_ROWS_BY_SIZE)
        (void)snprintf(name, NAME_BYTES, "%u bytes", (unsigned)object->words * WORD_BYTES);
    else if (by == HS_ROWS_BY_CALLER && n < 2)
        (void)snprintf(name, NAME_BYTES, "[no caller]");
    else if (n == 0)
        (void)snprintf(name, NAME_BYTES, "[no backtrace]");
    else if (by == HS_ROWS_BY_STACK)
        name_stack(frames, name);
    else if (by != HS_ROWS_BY_FILE)
        made_name(frames->function[at], frames->line[at], true, name);
    else if (frames->function[at] == 99)
        (void)snprintf(name, NAME_BYTES, "?");
    else
        (void)snprintf(name, NAME_BYTES, "m%u.ml", frames->function[at] % 3);
}

/* Counts an object under all names that it has. */
static void count_object(struct world *world, size_t at, enum hs_rows_by by)
{
    struct made_frames frames;
    char name[NAME_BYTES];
    made_frames_of(&world->made.objects[at], world->hidden, &frames);
    if (by != HS_ROWS_BY_FUNCTION || frames.n == 0) {
        name_row(&world->made.objects[at], &frames, by, name);
        count(&world->table, name, &world->made, at);
        return;
    }
    for (size_t i = 0; i < frames.n; i++) {
        bool was_seen = false;
        for (size_t k = 0; k < i; k++)
            was_seen |= frames.function[k] == frames.function[i];
        made_name(frames.function[i], 0, false, name);
        if (!was_seen)
            count(&world->table, name, &world->made, at);
    }
}

static void check_row(const struct world *world, const struct hs_trace_row *row,
                      const struct entry *entry)
{
    assert_int_equal(row->all.n_samples, entry->n_samples);
    assert_int_equal(row->all.n_objects, entry->n_objects);
    assert_int_equal(row->live.n_samples, entry->n_live);
    assert_int_equal(row->first_us, entry->first_us);
    assert_int_equal(row->last_us, entry->last_us);
    assert_true(fabs(row->all.allocations - entry->allocations) < 1e-6);
    assert_int_equal(row->median_us, quantile_of(&world->made, entry, 500, 0, UINT64_MAX));
}

static void check_lifetimes(const struct world *world, const struct hs_lifetimes *l, size_t row,
                            const struct entry *entry)
{
    uint64_t histogram[HS_LIFETIME_BUCKETS] = {0};
    for (size_t i = 0; i < entry->n_objects; i++) {
        const struct made_object *object = &world->made.objects[entry->members[i]];
        if (object->died_us == HS_OBJECT_NEVER)
            continue;
        unsigned bucket = 0;
        while (object->died_us - object->born_us >= (uint64_t)2 << bucket)
            bucket++;
        histogram[bucket] += object->n_samples;
    }
    assert_memory_equal(&l->histogram[row * HS_LIFETIME_BUCKETS], histogram, sizeof histogram);
    assert_int_equal(hs_lifetimes_of(l, row, 0)->p90_us,
                     quantile_of(&world->made, entry, 900, 0, UINT64_MAX));
    for (size_t p = 1; p <= l->n_parts; p++) {
        uint64_t begin = (p - 1) * l->part_us;
        uint64_t end = p == l->n_parts ? UINT64_MAX : p * l->part_us;
        assert_int_equal(hs_lifetimes_of(l, row, p)->median_us,
                         quantile_of(&world->made, entry, 500, begin, end));
    }
}

static void check_rows(struct world *world, enum hs_rows_by by)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_rows rows;
    struct hs_lifetimes lifetimes;
    struct hs_buffer name = {0};
    world->table.n = 0;
    for (size_t i = 0; i < OBJECTS; i++)
        if (world->is_selected[i])
            count_object(world, i, by);
    assert_int_equal(hs_trace_rows_init(&rows, &world->objects, &world->places, by, NULL, &err),
                     HS_OK);
    assert_int_equal(hs_lifetimes_init(&lifetimes, &world->objects, &rows, 4, NULL, &err), HS_OK);
    size_t n_before = world->table.n;
    assert_int_equal(rows.n, n_before);
    for (size_t i = 0; i < rows.n; i++) {
        name.n_bytes = 0;
        assert_int_equal(
            hs_trace_rows_print(&rows, &world->places, &rows.rows[i], WORD_BYTES, &name, &err),
            HS_OK);
        assert_int_equal(hs_buffer_reserve(&name, 1, &err), HS_OK);
        hs_buffer_put_u8(&name, 0);
        struct entry *entry = entry_of(&world->table, (const char *)name.bytes);
        assert_int_equal(world->table.n, n_before); /* the name was there */
        check_row(world, &rows.rows[i], entry);
        check_lifetimes(world, &lifetimes, i, entry);
    }
    world->table.n = 0;
    for (size_t i = 0; i < OBJECTS; i++)
        if (world->is_selected[i])
            count(&world->table, "all", &world->made, i);
    check_row(world, &rows.total, entry_of(&world->table, "all"));
    hs_buffer_fini(&name);
    hs_lifetimes_fini(&lifetimes);
    hs_trace_rows_fini(&rows);
}

static void test_rows(void **state)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        world_open(&world, seed + 50);
        for (int is_hiding = 0; is_hiding < 2; is_hiding++) {
            if (is_hiding)
                hide(&world);
            for (size_t i = 0; i < OBJECTS; i++) {
                /* Once only what was freed, or no high quantile would be a number. */
                world.is_selected[i] =
                    !is_hiding || (made_random(&world.made, 4) != 0 &&
                                   world.made.objects[i].died_us != HS_OBJECT_NEVER);
                hs_trace_object(&world.objects, i)->is_selected = world.is_selected[i];
            }
            for (int by = 0; by < HS_N_ROWS_BY; by++)
                check_rows(&world, (enum hs_rows_by)by);
        }
        world_close(&world);
    }
}

/* ---- trees ---- */

/* Counts an object at every node on its way down; names are the ways. */
static void count_way(struct world *world, size_t at, enum hs_call_tree_by by, char *way)
{
    struct made_frames frames;
    char part[64], last[64] = "";
    made_frames_of(&world->made.objects[at], world->hidden, &frames);
    (void)snprintf(way, NAME_BYTES, "[all]");
    count(&world->table, way, &world->made, at);
    for (size_t i = 0; i < frames.n; i++) {
        size_t k = by == HS_CALLS_BY_CALLER ? frames.n - 1 - i : i;
        made_name(frames.function[k], frames.line[k], by == HS_CALLS_BY_LINE, part);
        if (strcmp(part, last) == 0)
            continue;
        (void)snprintf(last, sizeof last, "%s", part);
        strncat(way, "/", NAME_BYTES - strlen(way) - 1);
        strncat(way, part, NAME_BYTES - strlen(way) - 1);
        count(&world->table, way, &world->made, at);
    }
}

static void name_way(const struct hs_call_tree *tree, const struct hs_places *places, uint32_t node,
                     char *way)
{
    uint32_t chain[2 * MADE_MAX_FRAMES + 1];
    struct hs_error err = HS_ERROR_INIT;
    size_t n = 0;
    way[0] = 0;
    for (uint32_t at = node; at != 0; at = tree->nodes[at].parent)
        chain[n++] = at;
    chain[n++] = 0;
    while (n-- > 0) {
        struct hs_buffer name = {0};
        assert_int_equal(hs_call_tree_print(tree, places, chain[n], &name, &err), HS_OK);
        if (way[0] != 0)
            strncat(way, "/", NAME_BYTES - strlen(way) - 1);
        strncat(way, (const char *)name.bytes, name.n_bytes);
        hs_buffer_fini(&name);
    }
}

/* Children are all there, from the largest down, and with the node's own they are the node. */
static void check_children(const struct hs_call_tree *tree, uint32_t node)
{
    const struct hs_call_node *at = &tree->nodes[node];
    uint64_t n_samples = at->own.n_samples, before = UINT64_MAX;
    uint32_t n = 0;
    for (uint32_t child = at->first_child; child != 0; child = tree->nodes[child].next_sibling) {
        assert_true(child > node);
        assert_int_equal(tree->nodes[child].parent, node);
        assert_true(tree->nodes[child].all.n_samples <= before);
        before = tree->nodes[child].all.n_samples;
        n_samples += before;
        n++;
    }
    assert_int_equal(n, at->n_children);
    assert_int_equal(n_samples, at->all.n_samples);
}

static void check_tree(struct world *world, enum hs_call_tree_by by)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_call_tree tree;
    char way[NAME_BYTES];
    world->table.n = 0;
    for (size_t i = 0; i < OBJECTS; i++)
        if (world->is_selected[i])
            count_way(world, i, by, way);
    assert_int_equal(hs_call_tree_init(&tree, &world->objects, &world->places, by, NULL, &err),
                     HS_OK);
    assert_int_equal(tree.n, world->table.n);
    for (uint32_t node = 0; node < tree.n; node++) {
        name_way(&tree, &world->places, node, way);
        size_t n_before = world->table.n;
        const struct entry *entry = entry_of(&world->table, way);
        assert_int_equal(world->table.n, n_before);
        assert_int_equal(tree.nodes[node].all.n_samples, entry->n_samples);
        assert_int_equal(tree.nodes[node].all.n_objects, entry->n_objects);
        assert_int_equal(tree.nodes[node].n_live_samples, entry->n_live);
        assert_true(fabs(tree.nodes[node].all.allocations - entry->allocations) < 1e-6);
        check_children(&tree, node);
    }
    hs_call_tree_fini(&tree);
}

static void test_trees(void **state)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct world world;
        world_open(&world, seed + 20);
        for (size_t i = 0; i < OBJECTS; i++) {
            world.is_selected[i] = made_random(&world.made, 5) != 0;
            hs_trace_object(&world.objects, i)->is_selected = world.is_selected[i];
        }
        if (seed == 1)
            hide(&world);
        check_tree(&world, HS_CALLS_BY_FUNCTION);
        check_tree(&world, HS_CALLS_BY_LINE);
        check_tree(&world, HS_CALLS_BY_CALLER);
        world_close(&world);
    }
}

/* A backtrace of a hundred thousand frames costs no stack of ours. */
static void test_deep(void **state)
{
    enum { DEPTH = 100000 };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_objects objects;
    struct hs_places places;
    struct hs_call_tree tree;
    uint64_t *frames = calloc(DEPTH, sizeof *frames);
    assert_non_null(frames);
    for (size_t i = 0; i < DEPTH; i++)
        frames[i] = i % 2 == 0 ? 5 : 6;
    hs_trace_objects_init(&objects, NULL);
    struct hs_trace_event event = {.n_samples = 1, .words = 1, .frames = frames, .n_frames = DEPTH};
    assert_int_equal(hs_trace_objects_add(&objects, &event, &err), HS_OK);
    assert_int_equal(hs_trace_objects_finish(&objects, &err), HS_OK);
    assert_int_equal(made_places(&objects, NULL, &places, &err), HS_OK);
    assert_int_equal(hs_call_tree_init(&tree, &objects, &places, HS_CALLS_BY_CALLER, NULL, &err),
                     HS_OK);
    assert_int_equal(tree.n, DEPTH + 1);
    assert_int_equal(tree.nodes[0].all.n_samples, 1);
    hs_call_tree_fini(&tree);
    hs_places_fini(&places);
    hs_trace_objects_fini(&objects);
    free(frames);
}

/* Every allocation may fail: then nothing is left behind. */
static hs_status look_at_all(const struct made_trace *made, struct hs_budget *budget,
                             struct hs_error *err)
{
    struct hs_trace_objects objects;
    struct hs_places places = {0};
    struct hs_trace_rows rows = {0};
    struct hs_lifetimes lifetimes = {0};
    struct hs_call_tree tree = {0};
    struct hs_name_pattern pattern = {.text = "f2"};
    struct hs_trace_filter filter = {.inside = &pattern, .n_inside = 1};
    uint64_t n;
    hs_trace_objects_init(&objects, budget);
    hs_status status = made_trace_add(made, &objects, err);
    if (status == HS_OK)
        status = made_places(&objects, budget, &places, err);
    if (status == HS_OK)
        status = hs_trace_filter_apply(&filter, &objects, &places, WORD_BYTES, &n, err);
    for (int by = 0; status == HS_OK && by < HS_N_ROWS_BY; by++) {
        hs_trace_rows_fini(&rows);
        status = hs_trace_rows_init(&rows, &objects, &places, (enum hs_rows_by)by, budget, err);
    }
    if (status == HS_OK)
        status = hs_lifetimes_init(&lifetimes, &objects, &rows, 3, budget, err);
    if (status == HS_OK)
        status = hs_call_tree_init(&tree, &objects, &places, HS_CALLS_BY_FUNCTION, budget, err);
    hs_call_tree_fini(&tree);
    hs_lifetimes_fini(&lifetimes);
    hs_trace_rows_fini(&rows);
    hs_places_fini(&places);
    hs_trace_objects_fini(&objects);
    return status;
}

static void test_failing_allocations(void **state)
{
    struct made_trace made;
    made_trace_init(&made, 3, 60, 1);
    FAIL_EACH (each, .mode = FAIL_REST) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_budget budget = {.limit_bytes = UINT64_MAX - 1, .n_threads = 1};
        hs_status status = FAIL_EACH_TRY(each, look_at_all(&made, &budget, &err));
        assert_true(status == HS_OK || (status == HS_LIMIT && err.message[0] != 0));
        assert_int_equal(budget.used_bytes, 0);
    }
    made_trace_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
