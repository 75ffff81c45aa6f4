/* links: hs_analysis */
#include <stdlib.h>

#include "unit.h"

#include "analysis/kept_types.h"
#include "base/alloc.h"
#include "fail_each.h"
#include "made_view.h"

enum { N_TYPES = 40 };

static const struct hs_type_query everything = {.max_rows = UINT64_MAX, .level = HS_TYPE_HEAD};

static struct hs_type_rows select_rows(struct made_view *made)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_type_rows rows;
    assert_int_equal(hs_type_rows_select(&made->view, &everything, &rows, &err), HS_OK);
    return rows;
}

static struct hs_type_rows empty_rows(const struct hs_view *view)
{
    struct hs_type_rows rows = {.n_rows = view->totals->n_types};
    rows.rows = calloc(rows.n_rows, sizeof *rows.rows);
    assert_non_null(rows.rows);
    for (uint32_t i = 0; i < rows.n_rows; i++)
        rows.rows[i].type = i;
    return rows;
}

/* By type, as they are kept. */
static struct hs_type_rows by_type(struct made_view *made)
{
    struct hs_type_rows selected = select_rows(made), rows = empty_rows(&made->view);
    for (size_t i = 0; i < selected.n_rows; i++)
        rows.rows[selected.rows[i].type] = selected.rows[i];
    hs_type_rows_fini(&selected);
    return rows;
}

static void assert_same(const struct hs_type_rows *a, const struct hs_type_rows *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    for (size_t i = 0; i < a->n_rows; i++) {
        assert_int_equal(a->rows[i].type, b->rows[i].type);
        assert_memory_equal(&a->rows[i].shallow, &b->rows[i].shallow, sizeof(struct hs_sizes));
        assert_int_equal(a->rows[i].retained_words, b->rows[i].retained_words);
    }
}

static void keep(struct made_view *made, enum hs_type_level level, const struct hs_type_rows *rows)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_kept_types_keep(&made->view, level, rows, &err), HS_OK);
}

static bool is_found(struct made_view *made, enum hs_type_level level, struct hs_type_rows *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    bool found = false;
    *ret = empty_rows(&made->view);
    assert_int_equal(hs_kept_types_find(&made->view, level, ret, &found, &err), HS_OK);
    return found;
}

static bool is_there(struct made_view *made, enum hs_type_level level)
{
    struct hs_type_rows rows;
    bool found = is_found(made, level, &rows);
    free(rows.rows);
    return found;
}

static size_t read_kept(const struct made_view *made, uint8_t *bytes, size_t most)
{
    char path[sizeof made->path + 8];
    (void)snprintf(path, sizeof path, "%s.types", made->path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, most, file);
    assert_int_equal(fclose(file), 0);
    return n;
}

static void write_kept(const struct made_view *made, const char *end, const uint8_t *bytes,
                       size_t n)
{
    char path[sizeof made->path + 32];
    (void)snprintf(path, sizeof path, "%s%s", made->path, end);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void close_all(struct made_view *made)
{
    static const char *const ends[] = {".types", ".types-instance"};
    for (unsigned i = 0; i < 2; i++) {
        char path[sizeof made->path + 32];
        (void)snprintf(path, sizeof path, "%s%s", made->path, ends[i]);
        (void)unlink(path);
    }
    made_view_close(made);
}

static void open_random(struct made_view *made, uint64_t random)
{
    (void)made_random(&made->builder, &random, N_TYPES);
    made_view_open(made);
}

static void what_is_kept_is_found(void **state)
{
    struct made_view made = {0};
    open_random(&made, 17);
    assert_false(is_there(&made, HS_TYPE_HEAD));
    struct hs_type_rows rows = by_type(&made), back;
    keep(&made, HS_TYPE_HEAD, &rows);
    assert_true(is_found(&made, HS_TYPE_HEAD, &back));
    assert_same(&rows, &back);
    assert_false(is_there(&made, HS_TYPE_INSTANCE));
    uint8_t bytes[1 << 14];
    size_t n = read_kept(&made, bytes, sizeof bytes);
    write_kept(&made, ".types-instance", bytes, n); /* of another level */
    assert_false(is_there(&made, HS_TYPE_INSTANCE));
    free(back.rows);
    free(rows.rows);
    close_all(&made);
}

static void damage_is_of_no_use(void **state)
{
    struct made_view made = {0};
    open_random(&made, 18);
    struct hs_type_rows rows = by_type(&made);
    uint8_t bytes[1 << 14];
    keep(&made, HS_TYPE_HEAD, &rows);
    size_t n = read_kept(&made, bytes, sizeof bytes);
    for (size_t at = 0; at < n; at++) {
        struct hs_type_rows back;
        bytes[at] ^= 0x10;
        write_kept(&made, ".types", bytes, n);
        if (is_found(&made, HS_TYPE_HEAD, &back)) /* a bit that zstd does not use */
            assert_same(&rows, &back);
        free(back.rows);
        bytes[at] ^= 0x10;
        write_kept(&made, ".types", bytes, at);
        assert_false(is_there(&made, HS_TYPE_HEAD));
    }
    write_kept(&made, ".types", bytes, n);
    assert_true(is_there(&made, HS_TYPE_HEAD));
    free(rows.rows);
    close_all(&made);
}

/* Sound bytes that do not add up to the heap. */
static void lies_are_of_no_use(void **state)
{
    struct made_view made = {0};
    open_random(&made, 19);
    for (unsigned lie = 0; lie < 5; lie++) {
        struct hs_type_rows rows = by_type(&made);
        struct hs_type_row *row = rows.rows;
        while (row->shallow.objects == 0)
            row++;
        if (lie == 0)
            row->shallow.words++;
        else if (lie == 1)
            row->shallow.objects--;
        else if (lie == 2)
            row->shallow = (struct hs_sizes){0};
        else if (lie == 3)
            row->retained_words = UINT64_MAX;
        else
            row->shallow.static_words = UINT64_MAX / 2;
        keep(&made, HS_TYPE_HEAD, &rows);
        assert_false(is_there(&made, HS_TYPE_HEAD));
        free(rows.rows);
    }
    close_all(&made);
}

/* A heap that is large enough: counted once, and again where what was kept is of no use. */
static void large_heaps_are_counted_once(void **state)
{
    struct made_view made = {0};
    made_list(&made.builder, HS_KEPT_TYPES_LEAST_BLOCKS);
    made_view_open(&made);
    struct hs_type_rows first = select_rows(&made);
    assert_true(is_there(&made, HS_TYPE_HEAD));
    struct hs_type_rows again = select_rows(&made);
    assert_same(&first, &again);
    hs_type_rows_fini(&again);
    write_kept(&made, ".types", (const uint8_t *)"nothing", 7);
    again = select_rows(&made);
    assert_same(&first, &again);
    assert_true(is_there(&made, HS_TYPE_HEAD));
    hs_type_rows_fini(&again);
    hs_type_rows_fini(&first);
    close_all(&made);
}

static void each_allocation_may_fail(void **state)
{
    struct made_view made = {0};
    open_random(&made, 20);
    struct hs_type_rows rows = by_type(&made), back;
    FAIL_EACH (f, .at_least = 3, .may_do_without = true) {
        struct hs_error err = HS_ERROR_INIT;
        (void)!FAIL_EACH_TRY(f, hs_kept_types_keep(&made.view, HS_TYPE_HEAD, &rows, &err));
    }
    keep(&made, HS_TYPE_HEAD, &rows);
    back = empty_rows(&made.view);
    FAIL_EACH (f, .at_least = 3, .may_do_without = true) {
        struct hs_error err = HS_ERROR_INIT;
        bool found = false;
        (void)!FAIL_EACH_TRY(f, hs_kept_types_find(&made.view, HS_TYPE_HEAD, &back, &found, &err));
    }
    assert_same(&rows, &back);
    free(back.rows);
    free(rows.rows);
    close_all(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_found),    cmocka_unit_test(damage_is_of_no_use),
        cmocka_unit_test(lies_are_of_no_use),       cmocka_unit_test(large_heaps_are_counted_once),
        cmocka_unit_test(each_allocation_may_fail),
    };
    (void)setenv("XDG_CACHE_HOME", "/dev/null", 1); /* where an earlier run may have left one */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
