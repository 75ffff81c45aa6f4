/* links: hs_server */
/* A request becomes a command line, and what that printed becomes an answer: whole, in pages, or
 * not at all; every allocation that fails is an answer, too. */
#include "server/exchange.h"

#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"

static const char token[] = "0123456789abcdef0123456789abcdef";
static const char document[] = "{\"schema\": \"heapsnap.roots/1\", \"roots\": [\n"
                               "  { \"name\": \"one\", \"group\": [\"x\"] },\n"
                               "  { \"name\": \"two, }]\" },\n"
                               "  { \"name\": \"THREE\\\"\" }\n"
                               "], \"others\": { \"roots\": [1, 2] } }\n";
static struct hs_served items[] = {{"new.snap", "d/new.snap", 11, 5, 6, 0, false},
                                   {"old.snap", "d/old.snap", 22, 7, 8, 0, false}};
static const struct hs_served_list list = {items, 2, "d", NULL};

static struct hs_map printed(const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {0};
    int fd = memfd_create("printed", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(hs_map_open_fd(fd, "printed", &map, &err), HS_OK);
    (void)close(fd);
    return map;
}

static struct hs_server *a_server(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_server *server = NULL;
    const struct hs_server_options options = {.token = token};
    assert_int_equal(hs_server_new(&options, &server, &err), HS_OK);
    return server;
}

static bool begin(struct hs_server *server, const char *target, const char *etag,
                  struct hs_exchange *exchange)
{
    const struct hs_request request = {
        .method = "GET",
        .target = target,
        .host = "localhost:1",
        .authorization = "Bearer 0123456789abcdef0123456789abcdef",
        .if_none_match = etag,
    };
    return hs_server_begin(server, &request, &list, exchange);
}

static void finish(struct hs_exchange *exchange, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = printed(text);
    hs_server_finish(exchange, HS_OK, &err, &map);
}

static void joined(const struct hs_question *question, char *text, size_t n)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < question->n_words && at < n; i++)
        at += (size_t)snprintf(text + at, n - at, "%s%s", i > 0 ? " " : "", question->words[i]);
}

static void expect_words(const char *target, const char *words)
{
    struct hs_server *server = a_server();
    struct hs_exchange exchange;
    char text[600];
    assert_false(begin(server, target, NULL, &exchange));
    joined(&exchange.question, text, sizeof text);
    assert_string_equal(text, words);
    hs_exchange_fini(&exchange);
    hs_server_free(server);
}

static void commands(void **state)
{
    expect_words("/api/1/info", "info --json -- d/new.snap");
    expect_words("/api/1/info?snap=old.snap", "info --json -- d/old.snap");
    expect_words("/api/1/roots?limit=3&sort=name", "roots --json --sort=name -n 3 -- d/new.snap");
    expect_words("/api/1/roots?after=", "roots --json -n 65536 -- d/new.snap");
    expect_words("/api/1/node/%235", "object --json -n 50 -- d/new.snap #5");
    expect_words("/api/1/node/root%3Aa%2Fb%20c/paths?disjoint=1",
                 "paths --json --disjoint --limit 10 --to=root:a/b c -- d/new.snap");
    expect_words("/api/1/diff?old=old.snap", "diff --json -n 50 -- d/old.snap d/new.snap");
    expect_words("/api/1/series", "diff --json -n 50 -- d");
}

static void quick_ones(void **state)
{
    static const struct {
        const char *target;
        bool is_quick;
    } rows[] = {{"/api/1/node/%235", true},        {"/api/1/node/0x7f00", true},
                {"/api/1/node/root:x", false},     {"/api/1/node/%235/paths", false},
                {"/api/1/node/%235/types", false}, {"/api/1/types", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hs_server *server = a_server();
        struct hs_exchange exchange;
        assert_false(begin(server, rows[i].target, NULL, &exchange));
        assert_int_equal(exchange.question.is_quick, rows[i].is_quick);
        hs_exchange_fini(&exchange);
        hs_server_free(server);
    }
}

static void expect_page(struct hs_server *server, const char *target, const char *rows,
                        char *ret_next)
{
    struct hs_exchange exchange;
    char text[400];
    if (!begin(server, target, NULL, &exchange))
        finish(&exchange, document);
    assert_int_equal(exchange.answer.status, 200);
    (void)snprintf(text, sizeof text, "%.*s", (int)exchange.answer.n_bytes,
                   (const char *)exchange.answer.bytes);
    const char *begin_rows = strstr(text, "\"rows\": [\n");
    assert_non_null(begin_rows);
    assert_string_equal(begin_rows + strlen("\"rows\": [\n"), rows);
    memcpy(ret_next, exchange.answer.next, HS_SERVER_CURSOR_BYTES);
    hs_exchange_fini(&exchange);
}

static void pages(void **state)
{
    struct hs_server *server = a_server();
    char next[HS_SERVER_CURSOR_BYTES], target[200];
    expect_page(server, "/api/1/roots?after=&limit=2",
                "{ \"name\": \"one\", \"group\": [\"x\"] },\n{ \"name\": \"two, }]\" }\n]}\n",
                next);
    assert_string_not_equal(next, "");
    (void)snprintf(target, sizeof target, "/api/1/roots?limit=2&after=%s", next);
    expect_page(server, target, "{ \"name\": \"THREE\\\"\" }\n]}\n", next);
    assert_string_equal(next, "");
    expect_page(server, "/api/1/roots?q=three", "{ \"name\": \"THREE\\\"\" }\n]}\n", next);
    expect_page(server, "/api/1/roots?q=X", "{ \"name\": \"one\", \"group\": [\"x\"] }\n]}\n",
                next);
    expect_page(server, "/api/1/roots?q=name", "\n]}\n", next); /* a key is no value */
    hs_server_free(server);
}

/* The cursor of one list, then of a file that is another one. */
static void other_cursors(void **state)
{
    struct hs_server *server = a_server();
    struct hs_exchange exchange;
    char next[HS_SERVER_CURSOR_BYTES], target[200];
    expect_page(server, "/api/1/roots?after=&limit=1",
                "{ \"name\": \"one\", \"group\": [\"x\"] }\n]}\n", next);
    for (int round = 0; round < 2; round++) {
        (void)snprintf(target, sizeof target, "/api/1/roots?after=%s%s", next,
                       round == 0 ? "&sort=name" : "");
        items[0].identity += round == 0 ? 0 : 1000;
        assert_true(begin(server, target, NULL, &exchange));
        assert_int_equal(exchange.answer.status, 410);
        hs_exchange_fini(&exchange);
    }
    items[0].identity -= 1000;
    hs_server_free(server);
}

static void kept_answers(void **state)
{
    struct hs_server *server = a_server();
    struct hs_exchange exchange;
    char etag[HS_SERVER_ETAG_BYTES];
    assert_false(begin(server, "/api/1/roots", NULL, &exchange));
    finish(&exchange, document);
    assert_int_equal(exchange.answer.n_bytes, strlen(document));
    memcpy(etag, exchange.answer.etag, sizeof etag);
    hs_exchange_fini(&exchange);
    assert_true(begin(server, "/api/1/roots", NULL, &exchange));
    assert_memory_equal(exchange.answer.bytes, document, strlen(document));
    hs_exchange_fini(&exchange);
    assert_true(begin(server, "/api/1/roots", etag, &exchange));
    assert_int_equal(exchange.answer.status, 304);
    hs_exchange_fini(&exchange);
    assert_false(begin(server, "/api/1/roots?snap=old.snap", etag, &exchange));
    hs_exchange_fini(&exchange);
    /* More than there is room for: the first is asked for again. */
    for (int i = 1; i <= HS_SERVER_KEPT + 1; i++) {
        char target[60];
        (void)snprintf(target, sizeof target, "/api/1/roots?limit=%d", i);
        if (!begin(server, target, NULL, &exchange))
            finish(&exchange, document);
        assert_int_equal(exchange.answer.status, 200);
        hs_exchange_fini(&exchange);
    }
    assert_false(begin(server, "/api/1/roots?limit=1", NULL, &exchange));
    hs_exchange_fini(&exchange);
    hs_server_free(server);
}

static void without_memory(void **state)
{
    for (uint64_t nth = 1; nth < 40; nth++) {
        struct hs_server *server = a_server();
        struct hs_exchange exchange;
        uint64_t live = hs_alloc_live();
        hs_alloc_fail_at(nth, false);
        if (!begin(server, "/api/1/roots?after=", NULL, &exchange))
            finish(&exchange, document);
        hs_alloc_fail_at(0, false);
        assert_true(exchange.answer.status == 200 || exchange.answer.status == 503);
        hs_exchange_fini(&exchange);
        hs_server_free(server);
        assert_true(hs_alloc_live() < live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),     cmocka_unit_test(quick_ones),
        cmocka_unit_test(pages),        cmocka_unit_test(other_cursors),
        cmocka_unit_test(kept_answers), cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
