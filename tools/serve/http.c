#include "http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "mhd.h"
#include "pages.h"
#include "served.h"
#include "worker.h"

/* The memory of the thread that sends for quick answers, about single objects. */
#define QUICK_BYTES ((uint64_t)48 << 20)
/* The longest time that a request, or its answer, may be under way. */
#define SLOWEST_NS ((uint64_t)20 * 1000000000)
#define CROWDED_NS ((uint64_t)1 * 1000000000)
enum { CONNECTIONS = 100, CONNECTION_BYTES = 20 << 10, IDLE_S = 10, TICK_MS = 1000 };

struct connection {
    int fd;
    bool is_waiting; /* for the worker */
    uint64_t since_ns;
};

struct hs_http {
    struct hs_mhd mhd;
    struct MHD_Daemon *daemon;
    struct hs_server *server;
    struct hs_worker *worker;
    struct hs_lane lane;
    struct hs_served_now *now;
    const struct hs_serve_what *what;
    struct connection connections[CONNECTIONS];
    struct waiter *waiting; /* for the worker */
    bool ends;
};

/* A request, from its first byte to the last of its answer. */
struct waiter {
    struct waiter *next;
    struct hs_http *http;
    struct MHD_Connection *connection;
    struct connection *slot;
    char target[HS_SERVER_TARGET_BYTES + 1];
    struct hs_request request;
    uint8_t *body;             /* owned */
    struct hs_served_now *now; /* used as long as the question is */
    struct hs_exchange exchange;
    struct hs_job job;
    bool is_begun, is_answered, has_job, is_suspended;
};

/* ---- connections, and how long each may take */

static void on_connection(void *context, struct MHD_Connection *connection, void **slot,
                          enum MHD_ConnectionNotificationCode code)
{
    struct hs_http *http = context;
    const union MHD_ConnectionInfo *info =
        http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*slot != NULL)
            *(struct connection *)*slot = (struct connection){.fd = -1};
        return;
    }
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (http->connections[i].fd < 0) {
            http->connections[i] =
                (struct connection){.fd = info->connect_fd, .since_ns = hs_now_ns()};
            *slot = &http->connections[i];
            return;
        }
    *slot = NULL;
}

/* Ends slow requests: while there is no room for others, only those go on that are quick. */
static void end_slow_ones(struct hs_http *http)
{
    uint64_t now = hs_now_ns(), most = CROWDED_NS;
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (http->connections[i].fd < 0)
            most = SLOWEST_NS;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *one = &http->connections[i];
        if (one->fd >= 0 && !one->is_waiting && now - one->since_ns > most)
            (void)shutdown(one->fd, SHUT_RDWR);
    }
}

/* ---- answers */

static void free_answer(void *context)
{
    struct hs_exchange *exchange = context;
    hs_exchange_fini(exchange);
    hs_free(exchange);
}

static void put_headers(const struct hs_mhd *mhd, struct MHD_Response *response,
                        const struct hs_answer *answer)
{
    static const char *const always[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"X-Frame-Options", "DENY"},
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        (void)mhd->add_response_header(response, always[i][0], always[i][1]);
    if (answer->type != NULL)
        (void)mhd->add_response_header(response, "Content-Type", answer->type);
    if (answer->etag[0] != '\0')
        (void)mhd->add_response_header(response, "ETag", answer->etag);
    if (answer->next[0] != '\0')
        (void)mhd->add_response_header(response, "X-Heapsnap-Next", answer->next);
    (void)mhd->add_response_header(response, "Cache-Control",
                                   answer->etag[0] != '\0' ? "private, no-cache" : "no-store");
    if (answer->status == 401)
        (void)mhd->add_response_header(response, "WWW-Authenticate", "Bearer");
    if (answer->status == 405)
        (void)mhd->add_response_header(response, "Allow", "GET, POST");
    if (answer->status == 503)
        (void)mhd->add_response_header(response, "Retry-After", "1");
}

/* The answer goes with the response, which may outlive the request. */
static enum MHD_Result send_answer(struct waiter *waiter)
{
    struct hs_error ignored = HS_ERROR_INIT; /* without memory the connection is closed */
    const struct hs_mhd *mhd = &waiter->http->mhd;
    struct hs_exchange *exchange = NULL;
    if (HS_ALLOC(&exchange, 1, &ignored) != HS_OK)
        return MHD_NO;
    *exchange = waiter->exchange;
    waiter->exchange = (struct hs_exchange){0};
    const struct hs_answer *answer = &exchange->answer;
    struct MHD_Response *response = mhd->create_response(
        answer->n_bytes, (void *)(uintptr_t)answer->bytes, free_answer, exchange);
    if (response == NULL) {
        free_answer(exchange);
        return MHD_NO;
    }
    put_headers(mhd, response, answer);
    enum MHD_Result result = mhd->queue_response(waiter->connection, answer->status, response);
    mhd->destroy_response(response);
    return result;
}

/* ---- requests */

static bool is_asked_already(const struct hs_http *http, const struct waiter *waiter)
{
    if (waiter->exchange.question.kind == HS_QUESTION_SQL)
        return false;
    for (const struct waiter *other = http->waiting; other != NULL; other = other->next)
        if (other != waiter && other->has_job &&
            hs_question_is_same(&other->exchange, &waiter->exchange))
            return true;
    return false;
}

static void refuse_all(struct waiter *waiter, const struct hs_error *err)
{
    waiter->is_answered = true;
    hs_server_finish(&waiter->exchange, err->status, err, NULL);
}

/* Answers a quick question here, if its snapshot is open; leaves others to the worker. A question
 * that several ask is asked once. */
static void ask(struct hs_http *http, struct waiter *waiter)
{
    struct hs_question *question = &waiter->exchange.question;
    if (question->is_quick && hs_lane_is_ready(&http->lane, question)) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_map printed = {0};
        hs_status status = hs_lane_ask(&http->lane, question, &printed, &err);
        hs_server_finish(&waiter->exchange, status, &err, &printed);
        waiter->is_answered = true;
    } else if (!is_asked_already(http, waiter)) {
        waiter->has_job = true;
        waiter->job = (struct hs_job){.question = question};
        hs_worker_put(http->worker, &waiter->job);
    }
}

static void begin(struct waiter *waiter)
{
    struct hs_http *http = waiter->http;
    struct hs_error err = HS_ERROR_INIT;
    static const struct hs_served_list none = {0};
    hs_status status = hs_served_refresh(http->what, &http->now, &err);
    hs_served_let_go(waiter->now);
    waiter->now = http->now;
    waiter->now->n_users++;
    /* Without its files the server answers only the page, which says so. */
    const struct hs_served_list *list = status == HS_OK ? &waiter->now->list : &none;
    waiter->is_answered = hs_server_begin(http->server, &waiter->request, list, &waiter->exchange);
    if (!waiter->is_answered)
        ask(http, waiter);
}

static void wait_for_worker(struct waiter *waiter)
{
    waiter->next = waiter->http->waiting;
    waiter->http->waiting = waiter;
    waiter->is_suspended = true;
    if (waiter->slot != NULL)
        waiter->slot->is_waiting = true;
    waiter->http->mhd.suspend_connection(waiter->connection);
}

static void wake(struct waiter *waiter)
{
    struct waiter **at = &waiter->http->waiting;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    waiter->is_suspended = false;
    if (waiter->slot != NULL) {
        waiter->slot->is_waiting = false;
        waiter->slot->since_ns = hs_now_ns();
    }
    waiter->http->mhd.resume_connection(waiter->connection);
}

/* Takes what is done. Those that had the same question find its answer kept; where it could not be,
 * one asks again. */
static void take_done(struct hs_http *http)
{
    for (struct hs_job *job; (job = hs_worker_take(http->worker)) != NULL;) {
        struct waiter *owner = http->waiting, *next;
        while (owner != NULL && &owner->job != job)
            owner = owner->next;
        if (owner == NULL)
            continue; /* it was let go with the others at the end */
        owner->has_job = false;
        owner->is_answered = true;
        hs_server_finish(&owner->exchange, job->status, &job->err, &job->printed);
        wake(owner);
        for (struct waiter *other = http->waiting; other != NULL; other = next) {
            next = other->next;
            if (other->has_job || is_asked_already(http, other))
                continue;
            hs_exchange_fini(&other->exchange);
            begin(other);
            if (other->is_answered)
                wake(other);
        }
    }
}

static bool take_body(struct waiter *waiter, const char *bytes, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_request *request = &waiter->request;
    if (request->n_body + n > HS_SERVER_BODY_BYTES) {
        request->is_too_long = true; /* the rest is read and forgotten */
        return true;
    }
    if (waiter->body == NULL && HS_ALLOC(&waiter->body, HS_SERVER_BODY_BYTES, &ignored) != HS_OK)
        return false;
    memcpy(waiter->body + request->n_body, bytes, n);
    request->n_body += n;
    request->body = waiter->body;
    return true;
}

static const char *header_of(const struct waiter *waiter, const char *name)
{
    return waiter->http->mhd.lookup_connection_value(waiter->connection, MHD_HEADER_KIND, name);
}

static void take_head(struct waiter *waiter, struct MHD_Connection *connection, const char *method)
{
    const union MHD_ConnectionInfo *info =
        waiter->http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    waiter->connection = connection;
    waiter->slot = info != NULL ? info->socket_context : NULL;
    waiter->is_begun = true;
    waiter->request = (struct hs_request){
        .method = method,
        .target = waiter->target,
        .host = header_of(waiter, MHD_HTTP_HEADER_HOST),
        .origin = header_of(waiter, MHD_HTTP_HEADER_ORIGIN),
        .authorization = header_of(waiter, MHD_HTTP_HEADER_AUTHORIZATION),
        .if_none_match = header_of(waiter, MHD_HTTP_HEADER_IF_NONE_MATCH),
    };
}

/* Is called when the head is there, with each part of the body, at its end, and when a connection
 * that waited goes on. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *n_data, void **state)
{
    struct waiter *waiter = *state;
    (void)context;
    (void)url;
    (void)version;
    if (waiter == NULL)
        return MHD_NO;
    if (!waiter->is_begun) {
        take_head(waiter, connection, method);
        return MHD_YES;
    }
    if (*n_data > 0) {
        bool has_room = take_body(waiter, data, *n_data);
        *n_data = 0;
        return has_room ? MHD_YES : MHD_NO;
    }
    if (!waiter->is_answered) {
        if (waiter->http->ends)
            return MHD_NO;
        begin(waiter);
    }
    if (waiter->slot != NULL)
        waiter->slot->since_ns = hs_now_ns();
    if (waiter->is_answered)
        return send_answer(waiter);
    wait_for_worker(waiter);
    return MHD_YES;
}

/* The first that is known of a request: what it asks for, as it came. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct waiter *waiter = NULL;
    (void)connection;
    if (HS_ALLOC(&waiter, 1, &ignored) != HS_OK)
        return NULL;
    waiter->http = context;
    (void)snprintf(waiter->target, sizeof waiter->target, "%s", target);
    return waiter;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct waiter *waiter = *state;
    (void)context;
    (void)connection;
    (void)code;
    if (waiter == NULL)
        return;
    if (waiter->slot != NULL)
        waiter->slot->since_ns = hs_now_ns();
    hs_exchange_fini(&waiter->exchange);
    hs_served_let_go(waiter->now);
    hs_free(waiter->body);
    hs_free(waiter);
    *state = NULL;
}

/* ---- the loop */

static hs_status open_daemon(struct hs_http *http, struct hs_listener *listener,
                             struct hs_error *err)
{
    http->daemon = http->mhd.start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, http,
        MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_URI_LOG_CALLBACK, on_target, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (http->daemon == NULL)
        return hs_fail(err, HS_LIMIT, "cannot start the server");
    listener->fd = -1; /* the daemon closes it */
    return HS_OK;
}

/* Signals come while it waits and at no other time: none is missed. */
static void loop(struct hs_http *http, int done_fd, const sigset_t *while_waiting)
{
    const union MHD_DaemonInfo *info =
        http->mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    for (bool has_more = false; hs_tool_interrupted() == 0;) {
        struct pollfd fds[] = {{info->epoll_fd, POLLIN, 0}, {done_fd, POLLIN, 0}};
        MHD_UNSIGNED_LONG_LONG longest_ms = TICK_MS;
        if (http->mhd.get_timeout(http->daemon, &longest_ms) != MHD_YES || longest_ms > TICK_MS)
            longest_ms = TICK_MS;
        if (has_more)
            longest_ms = 0;
        const struct timespec wait = {.tv_sec = (time_t)(longest_ms / 1000),
                                      .tv_nsec = (long)(longest_ms % 1000) * 1000000};
        int n_ready = ppoll(fds, 2, &wait, while_waiting);
        if (fds[1].revents != 0)
            take_done(http);
        (void)http->mhd.run(http->daemon);
        end_slow_ones(http);
        has_more = n_ready != 0 || hs_lane_prepare(&http->lane);
    }
}

static void end(struct hs_http *http)
{
    struct hs_error gone = HS_ERROR_INIT;
    http->ends = true;
    hs_worker_stop(http->worker);
    (void)hs_fail(&gone, HS_LIMIT, "the server ends");
    for (struct waiter *waiter; (waiter = http->waiting) != NULL;) {
        if (waiter->has_job)
            hs_map_close(&waiter->job.printed);
        refuse_all(waiter, &gone);
        wake(waiter);
    }
    if (http->daemon != NULL)
        http->mhd.stop_daemon(http->daemon);
    hs_server_free(http->server);
    hs_served_let_go(http->now);
    hs_lane_fini(&http->lane);
}

static hs_status open_all(struct hs_http *http, struct hs_tool *tool, const char *token,
                          struct hs_listener *listener, int *ret_fd, struct hs_error *err)
{
    struct hs_server_options options = {.token = token};
    options.files = hs_serve_pages(&options.n_files);
    HS_TRY(hs_mhd_load(&http->mhd, err));
    HS_TRY(hs_served_refresh(http->what, &http->now, err));
    HS_TRY(hs_server_new(&options, &http->server, err));
    HS_TRY(hs_worker_start(tool, &http->worker, ret_fd, err));
    return open_daemon(http, listener, err);
}

hs_status hs_http_run(struct hs_tool *tool, const struct hs_serve_what *what, const char *token,
                      struct hs_listener *listener, struct hs_error *err)
{
    sigset_t blocked, before;
    struct hs_http *http = NULL;
    int done_fd = -1;
    HS_TRY(HS_ALLOC(&http, 1, err));
    http->what = what;
    for (size_t i = 0; i < CONNECTIONS; i++)
        http->connections[i].fd = -1;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGINT);
    (void)sigaddset(&blocked, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
    hs_lane_init(tool, QUICK_BYTES, NULL, &http->lane);
    http->lane.most_bytes = http->lane.least_bytes;
    hs_status status = open_all(http, tool, token, listener, &done_fd, err);
    if (status == HS_OK)
        loop(http, done_fd, &before);
    end(http);
    hs_free(http);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
