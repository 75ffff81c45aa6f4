#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "guard.h"
#include "kept.h"
#include "report/json.h"
#include "route.h"

/* The bytes that a search looks through for one page: it goes on with the next. */
#define SEARCH_BYTES ((uint64_t)4 << 20)

static const char type_json[] = "application/json", type_html[] = "text/html; charset=utf-8";

struct hs_server {
    char token[HS_SERVER_TOKEN_BYTES];
    const struct hs_server_file *files;
    size_t n_files;
    struct hs_kept_shelf shelf;
};

hs_status hs_server_new(const struct hs_server_options *options, struct hs_server **ret,
                        struct hs_error *err)
{
    struct hs_server *server = NULL;
    HS_TRY(HS_ALLOC(&server, 1, err));
    (void)snprintf(server->token, sizeof server->token, "%s", options->token);
    server->files = options->files;
    server->n_files = options->n_files;
    *ret = server;
    return HS_OK;
}

void hs_server_free(struct hs_server *server)
{
    if (server == NULL)
        return;
    hs_kept_clear(&server->shelf);
    hs_free(server);
}

void hs_exchange_fini(struct hs_exchange *exchange)
{
    hs_kept_let_go(exchange->answer.kept);
    hs_buffer_fini(&exchange->answer.text);
    if (exchange->route != NULL)
        hs_free(exchange->route->body);
    hs_free(exchange->route);
    *exchange = (struct hs_exchange){0};
}

bool hs_question_is_same(const struct hs_exchange *a, const struct hs_exchange *b)
{
    return a->route->key[0] == b->route->key[0] && a->route->key[1] == b->route->key[1];
}

/* ---- answers */

static void answer_text(struct hs_answer *answer, unsigned status, const char *type)
{
    answer->status = status;
    answer->type = type;
    answer->bytes = answer->text.bytes;
    answer->n_bytes = answer->text.n_bytes;
}

/* Refuses a request: always true, for the answer is there. Without memory for a message the status
 * has to do. */
static bool refuse(struct hs_exchange *exchange, unsigned status, const struct hs_error *why)
{
    struct hs_answer *answer = &exchange->answer;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_json json;
    hs_kept_let_go(answer->kept);
    hs_buffer_fini(&answer->text);
    *answer = (struct hs_answer){0};
    hs_json_init_buffer(&json, &answer->text, HS_JSON_COMPACT);
    hs_json_begin_object(&json, NULL, HS_JSON_LINE);
    hs_json_string(&json, "schema", "heapsnap.error/1");
    hs_json_string(&json, "message", why->message);
    hs_json_string(&json, "hint", why->hint[0] != '\0' ? why->hint : NULL);
    hs_json_end_object(&json);
    if (hs_json_finish(&json, &err) != HS_OK)
        answer->text.n_bytes = 0;
    answer_text(answer, status, type_json);
    return true;
}

static unsigned http_status(hs_status status)
{
    switch (status) {
    case HS_USAGE:
        return 400;
    case HS_TARGET:
        return 404;
    case HS_FORMAT:
    case HS_IO:
        return 409; /* the file is not what it was */
    case HS_LIMIT:
        return 503;
    default:
        return 500;
    }
}

/* ---- pages of a list */

static hs_status put_text(struct hs_buffer *buffer, const char *text, size_t n,
                          struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(buffer, n, err));
    hs_buffer_put_bytes(buffer, text, n);
    return HS_OK;
}

/* A row without the comma and the blanks behind it. */
static size_t row_bytes(const char *json, const struct hs_json_rows *rows, size_t at)
{
    size_t begin = rows->begin[at], end = rows->begin[at + 1];
    while (end > begin && json[end - 1] != '}' && json[end - 1] != ']' && json[end - 1] != '"')
        end--;
    return end - begin;
}

/* Writes rows from `from` on, as many as are asked for. *ret_next: where it goes on, n at the
 * end. */
static hs_status put_rows(const struct hs_route *route, const struct hs_kept *kept,
                          struct hs_buffer *buffer, uint64_t *ret_next, struct hs_error *err)
{
    const char *json = (const char *)kept->map.bytes;
    const struct hs_json_rows *rows = &kept->rows;
    uint64_t at = route->from, n = 0, n_searched = 0;
    for (; at < rows->n && n < route->limit && n_searched < SEARCH_BYTES; at++) {
        const char *row = json + rows->begin[at];
        size_t n_row = row_bytes(json, rows, at);
        if (route->search != NULL) {
            n_searched += n_row;
            if (!hs_json_contains(row, n_row, route->search))
                continue;
        }
        if (n++ > 0)
            HS_TRY(put_text(buffer, ",\n", 2, err));
        HS_TRY(put_text(buffer, row, n_row, err));
    }
    *ret_next = at;
    return HS_OK;
}

static hs_status put_page(struct hs_exchange *exchange, struct hs_error *err)
{
    const struct hs_route *route = exchange->route;
    const struct hs_kept *kept = exchange->answer.kept;
    struct hs_buffer *buffer = &exchange->answer.text;
    char head[160];
    uint64_t next;
    if (route->from > kept->rows.n)
        return hs_fail(err, HS_USAGE, "after: the list has no such row");
    int n = snprintf(head, sizeof head,
                     "{\"schema\": \"heapsnap.page/1\", \"of\": \"%s\", \"n_rows\": %zu,\n"
                     "\"rows\": [\n",
                     route->endpoint->rows, kept->rows.n);
    HS_TRY(put_text(buffer, head, (size_t)n, err));
    HS_TRY(put_rows(route, kept, buffer, &next, err));
    HS_TRY(put_text(buffer, "\n]}\n", 4, err));
    if (next < kept->rows.n)
        hs_route_cursor(route, next, exchange->answer.next, sizeof exchange->answer.next);
    return HS_OK;
}

static hs_status find_rows(const struct hs_route *route, struct hs_kept *kept, struct hs_error *err)
{
    if (kept->has_rows || route->endpoint->rows == NULL)
        return HS_OK;
    HS_TRY(hs_json_rows_find((const char *)kept->map.bytes, kept->map.n_bytes,
                             route->endpoint->rows, &kept->rows, err));
    kept->has_rows = true;
    return HS_OK;
}

static void put_etag(const struct hs_route *route, char *etag)
{
    (void)snprintf(etag, HS_SERVER_ETAG_BYTES, "\"%016" PRIx64 "\"", route->etag);
}

/* Answers with what is kept, or a page of it. True: the answer is there, a refusal included. */
static bool answer_kept(struct hs_exchange *exchange)
{
    struct hs_answer *answer = &exchange->answer;
    const struct hs_route *route = exchange->route;
    struct hs_error err = HS_ERROR_INIT;
    hs_status status = find_rows(route, answer->kept, &err);
    answer->status = 200;
    answer->type = route->endpoint->kind == ENDPOINT_REPORT ? type_html : type_json;
    if (status == HS_OK && route->is_paged) {
        status = put_page(exchange, &err);
        answer_text(answer, 200, type_json);
    } else {
        answer->bytes = answer->kept->map.bytes;
        answer->n_bytes = answer->kept->map.n_bytes;
    }
    if (status != HS_OK)
        return refuse(exchange, http_status(status), &err);
    if (route->endpoint->kind != ENDPOINT_SQL)
        put_etag(route, answer->etag);
    return true;
}

/* ---- what is no command */

static void put_served(struct hs_json *json, const char *key, const struct hs_served *served)
{
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_string(json, "name", served->name);
    hs_json_u64(json, "file_bytes", served->n_bytes);
    hs_json_u64(json, "changed_ns", served->changed_ns);
    hs_json_end_object(json);
}

static hs_status put_snapshots(struct hs_exchange *exchange, const struct hs_served_list *list,
                               struct hs_error *err)
{
    struct hs_json json;
    hs_json_init_buffer(&json, &exchange->answer.text, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.snapshots/1");
    hs_json_bool(&json, "is_series", list->folder != NULL);
    if (list->trace != NULL)
        put_served(&json, "trace", list->trace);
    else
        hs_json_null(&json, "trace");
    hs_json_begin_array(&json, "snapshots", HS_JSON_BLOCK);
    for (size_t i = 0; i < list->n; i++)
        put_served(&json, NULL, &list->items[i]);
    hs_json_end_array(&json);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static bool answer_snapshots(struct hs_exchange *exchange, const struct hs_served_list *list)
{
    struct hs_error err = HS_ERROR_INIT;
    if (put_snapshots(exchange, list, &err) != HS_OK)
        return refuse(exchange, 503, &err);
    answer_text(&exchange->answer, 200, type_json);
    return true;
}

/* The page and what belongs to it: the same for everybody, and nothing of the target's. */
static bool answer_file(struct hs_exchange *exchange, const struct hs_request *request)
{
    const struct hs_server *server = exchange->server;
    size_t n_path = strcspn(request->target, "?");
    if (strcmp(request->method, "GET") != 0)
        return false;
    for (size_t i = 0; i < server->n_files; i++) {
        const struct hs_server_file *file = &server->files[i];
        if (strlen(file->path) != n_path || memcmp(file->path, request->target, n_path) != 0)
            continue;
        exchange->answer = (struct hs_answer){
            .status = 200,
            .type = file->type,
            .bytes = file->text,
            .n_bytes = strlen(file->text),
            .is_page = true,
        };
        return true;
    }
    return false;
}

/* ---- the way of a request */

static bool is_ours(const struct hs_target *target)
{
    return target->n_parts >= 2 && strcmp(target->parts[0], "api") == 0 &&
           strcmp(target->parts[1], "1") == 0;
}

static bool is_known(const struct hs_route *route, const struct hs_request *request)
{
    char etag[HS_SERVER_ETAG_BYTES];
    put_etag(route, etag);
    return route->endpoint->kind != ENDPOINT_SQL && request->if_none_match != NULL &&
           strcmp(request->if_none_match, etag) == 0;
}

/* Routes a request with a path that was parsed, and a token that holds. */
static bool route_request(struct hs_exchange *exchange, const struct hs_request *request,
                          const struct hs_served_list *list)
{
    struct hs_server *server = exchange->server;
    struct hs_route *route = exchange->route;
    struct hs_error err = HS_ERROR_INIT;
    unsigned refused;
    if (hs_route_find(route, request, list, server->token, &exchange->question, &refused, &err) !=
        HS_OK)
        return refuse(exchange, err.status == HS_LIMIT ? 503 : refused, &err);
    if (route->endpoint->kind == ENDPOINT_SNAPSHOTS)
        return answer_snapshots(exchange, list);
    if (is_known(route, request)) {
        exchange->answer.status = 304;
        put_etag(route, exchange->answer.etag);
        return true;
    }
    exchange->answer.kept = hs_kept_find(&server->shelf, route->key);
    return exchange->answer.kept != NULL && answer_kept(exchange);
}

bool hs_server_begin(struct hs_server *server, const struct hs_request *request,
                     const struct hs_served_list *list, struct hs_exchange *exchange)
{
    struct hs_error err = HS_ERROR_INIT;
    *exchange = (struct hs_exchange){.server = server};
    unsigned refused = hs_guard_request(request, &err);
    if (refused != 0)
        return refuse(exchange, refused, &err);
    if (answer_file(exchange, request))
        return true;
    if (HS_ALLOC(&exchange->route, 1, &err) != HS_OK)
        return refuse(exchange, 503, &err);
    if (hs_target_parse(request->target, &exchange->route->target, &err) != HS_OK)
        return refuse(exchange, err.status == HS_LIMIT ? 414 : 400, &err);
    if (!is_ours(&exchange->route->target)) {
        (void)hs_fail(&err, HS_USAGE, "there is nothing of that name here");
        return refuse(exchange, 404, &err);
    }
    refused = hs_guard_token(request, server->token, &err);
    if (refused != 0)
        return refuse(exchange, refused, &err);
    return route_request(exchange, request, list);
}

/* Keeps what was printed. Quick answers are made again: the shelf is for what took time. */
static hs_status keep(struct hs_exchange *exchange, struct hs_map *printed, struct hs_error *err)
{
    struct hs_server *server = exchange->server;
    struct hs_kept **kept = &exchange->answer.kept;
    struct hs_kept_shelf none = {0};
    bool is_kept = !exchange->question.is_quick && exchange->question.kind != HS_QUESTION_SQL;
    HS_TRY(hs_kept_add(is_kept ? &server->shelf : &none, exchange->route->key, printed, kept, err));
    hs_kept_clear(&none);
    return HS_OK;
}

void hs_server_finish(struct hs_exchange *exchange, hs_status status, const struct hs_error *err,
                      struct hs_map *printed)
{
    struct hs_error failed = HS_ERROR_INIT;
    if (status != HS_OK) {
        (void)refuse(exchange, http_status(status), err);
        return;
    }
    exchange->answer.kept = hs_kept_find(&exchange->server->shelf, exchange->route->key);
    if (exchange->answer.kept != NULL)
        hs_map_close(printed);
    else if (keep(exchange, printed, &failed) != HS_OK) {
        (void)refuse(exchange, 503, &failed);
        return;
    }
    (void)answer_kept(exchange);
}
