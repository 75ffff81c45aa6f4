/* links: hs_query */
#include "unit.h"

#include "fail_each.h"
#include "made_view.h"
#include "query/query.h"

static int set_up(void **state)
{
    static struct made_view made;
    made = (struct made_view){0};
    struct hs_graph_builder *b = &made.builder;
    uint64_t random = 5;
    uint32_t type = hs_graph_builder_type(b, "struct session", 0, HS_FORM_RECORD);
    (void)made_random(b, &random, 3);
    uint32_t lost = hs_graph_builder_block(b, 7, false);
    b->blocks[lost].type = type;
    hs_graph_builder_sample(b, 7, lost);
    made_view_open(&made);
    *state = &made;
    return 0;
}

static int tear_down(void **state)
{
    made_view_close(*state);
    return 0;
}

static hs_status open_on(const char *path, struct hs_budget *budget, uint64_t timeout_ns,
                         struct hs_sql **ret, struct hs_error *err)
{
    const struct hs_session session = {.budget = budget};
    const struct hs_sql_limits limits = {.timeout_ns = timeout_ns};
    HS_TRY(hs_sql_open(&session, &limits, ret, err));
    hs_status status = hs_sql_attach(*ret, path, NULL, err);
    if (status != HS_OK)
        hs_sql_close(*ret);
    return status;
}

static hs_status ask(struct hs_sql *sql, const char *query, uint64_t *ret_rows,
                     struct hs_error *err)
{
    struct hs_sql_result result = {0};
    const char *rest;
    HS_TRY(hs_sql_run(sql, query, &rest, &result, err));
    if (ret_rows != NULL)
        *ret_rows = result.n_rows;
    hs_sql_result_fini(&result);
    return HS_OK;
}

static hs_status ask_every_table(struct hs_sql *sql, struct hs_error *err)
{
    char query[128];
    for (size_t i = 0; i < hs_sql_n_tables(); i++) {
        struct hs_sql_table_facts table = hs_sql_table_at(i);
        const char *of = strcmp(table.name, "diff") == 0 ? "('s1')" : "(5)";
        (void)snprintf(query, sizeof query, "SELECT * FROM %s%s", table.name,
                       table.is_function ? of : "");
        HS_TRY(ask(sql, query, NULL, err));
    }
    return ask(sql, "SELECT what('#1'), id FROM blocks ORDER BY retained_words DESC LIMIT 9", NULL,
               err);
}

static hs_status everything(const char *path, struct hs_error *err)
{
    struct hs_sql *sql;
    HS_TRY(open_on(path, NULL, 0, &sql, err));
    hs_status status = ask_every_table(sql, err);
    hs_sql_close(sql);
    return status;
}

static void fails_for_want_of_memory(void **state)
{
    const struct made_view *made = *state;
    FAIL_EACH (f, .at_least = 100, .may_do_without = true) {
        struct hs_error err = HS_ERROR_INIT;
        (void)FAIL_EACH_TRY(f, everything(made->path, &err));
    }
}

static void questions(void **state)
{
    const struct made_view *made = *state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sql *sql;
    char query[128];
    assert_int_equal(open_on(made->path, NULL, 0, &sql, &err), HS_OK);
    assert_true(hs_sql_n_questions >= 20);
    for (size_t i = 0; i < hs_sql_n_questions; i++) {
        (void)snprintf(query, sizeof query, "SELECT * FROM %s", hs_sql_questions[i].name);
        if (ask(sql, query, NULL, &err) != HS_OK)
            fail_msg("%s: %s", hs_sql_questions[i].name, err.message);
    }
    hs_sql_close(sql);
}

static void names_of_snapshots(void **state)
{
    static const char *const bad[] = {"", "main", "TEMP", "s1", "S1", "a b", "1a", "a\"b", "a;b"};
    const struct made_view *made = *state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sql *sql;
    const char *name, *path;
    assert_int_equal(open_on(made->path, NULL, 0, &sql, &err), HS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(hs_sql_attach(sql, made->path, bad[i], &err), HS_USAGE);
    assert_int_equal(hs_sql_attach(sql, "/no/such/file", "other", &err), HS_IO);
    for (unsigned i = 1; i < HS_SQL_SNAPSHOTS; i++)
        assert_int_equal(hs_sql_attach(sql, made->path, i == 1 ? "other" : NULL, &err), HS_OK);
    assert_int_equal(hs_sql_attach(sql, made->path, "more", &err), HS_USAGE);
    assert_true(hs_sql_attached(sql, 1, &name, &path));
    assert_string_equal(name, "other");
    assert_string_equal(path, made->path);
    assert_false(hs_sql_attached(sql, HS_SQL_SNAPSHOTS, &name, &path));
    assert_int_equal(ask(sql, "SELECT 1 FROM other.blocks, s3.blocks LIMIT 1", NULL, &err), HS_OK);
    hs_sql_close(sql);
}

/* A failure leaves the connection as it was. */
static void goes_on_after_failures(void **state)
{
    const struct made_view *made = *state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sql *sql;
    uint64_t n = 0;
    assert_int_equal(open_on(made->path, NULL, 50000000, &sql, &err), HS_OK);
    const char *endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) "
                          "SELECT count(*) FROM c, blocks";
    assert_int_equal(ask(sql, endless, NULL, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "takes longer"));
    assert_int_equal(ask(sql, "DROP TABLE s1.blocks", NULL, &err), HS_USAGE);
    assert_int_equal(ask(sql, "SELECT * FROM up('root:nothing')", NULL, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "nothing"));
    assert_int_equal(ask(sql, "SELECT id FROM blocks", &n, &err), HS_OK);
    assert_int_equal(n, made->view.totals->n_blocks);
    hs_sql_close(sql);
}

/* All that is taken from a budget comes back, and too little is told. */
static void budgets(void **state)
{
    const struct made_view *made = *state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;
    struct hs_sql *sql;
    hs_budget_init((uint64_t)200 << 20, NULL, 1, &budget);
    uint64_t before = budget.used_bytes;
    assert_int_equal(open_on(made->path, &budget, 0, &sql, &err), HS_OK);
    assert_int_equal(ask_every_table(sql, &err), HS_OK);
    hs_sql_close(sql);
    assert_int_equal(budget.used_bytes, before);
    hs_budget_init((uint64_t)20 << 20, NULL, 1, &budget);
    before = budget.used_bytes;
    assert_int_equal(open_on(made->path, &budget, 0, &sql, &err), HS_LIMIT);
    assert_int_equal(budget.used_bytes, before);
}

/* The largest come from opening the tree; the same as all of them sorted. */
static void largest(void **state)
{
    const struct made_view *made = *state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sql *sql;
    char query[400];
    assert_int_equal(open_on(made->path, NULL, 0, &sql, &err), HS_OK);
    for (unsigned n = 1; n < 400; n = 2 * n + 1) {
        uint64_t n_rows = 1;
        (void)snprintf(query, sizeof query,
                       "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY retained_words DESC,"
                       " id) AS at FROM blocks) WHERE at <= %u EXCEPT SELECT id FROM (SELECT id"
                       " FROM blocks ORDER BY retained_words DESC LIMIT %u)",
                       n, n);
        assert_int_equal(ask(sql, query, &n_rows, &err), HS_OK);
        assert_int_equal(n_rows, 0);
    }
    hs_sql_close(sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_for_want_of_memory),
        cmocka_unit_test(questions),
        cmocka_unit_test(names_of_snapshots),
        cmocka_unit_test(goes_on_after_failures),
        cmocka_unit_test(budgets),
        cmocka_unit_test(largest),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
