/* serve: the screens of report, live, and what programs ask for. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "commands.h"
#include "compare/folder.h"
#include "http.h"
#include "look/open_view.h"
#include "lost_file.h"
#include "mhd.h"
#include "report/trace_members.h"
#include "server/exchange.h"
#include "trace/trace.h"

static hs_status make_token(char *token, struct hs_error *err)
{
    uint8_t bytes[(HS_SERVER_TOKEN_BYTES - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return hs_fail_errno(err, HS_IO, "cannot make a token");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return HS_OK;
}

static hs_status prepare_one(struct hs_tool *tool, const char *path, bool is_only,
                             struct hs_error *err)
{
    struct hs_view view = {0};
    if (strcmp(path, "-") == 0)
        return hs_fail(err, HS_USAGE, "'serve' needs a file: it is read again and again");
    if (hs_folder_is(path) && is_only)
        return HS_OK;
    if (hs_folder_is(path))
        return hs_fail(err, HS_USAGE, "'%s' is a folder, which is served alone", path);
    if (hs_trace_is_one(path))
        return hs_fail(err, HS_USAGE, "'%s' is a trace: --trace stands beside snapshots", path);
    HS_TRY(hs_tool_open_view(tool, path, HS_VIEW_INDEX, &view, err));
    return hs_view_finish(&view, HS_OK, err);
}

/* Prepares what is served: long work is done where it can be seen, and what cannot be served is
 * said at once. */
static hs_status prepare(struct hs_tool *tool, const struct hs_serve_what *what,
                         struct hs_error *err)
{
    struct hs_trace *trace = NULL;
    if (what->trace != NULL) {
        HS_TRY(hs_trace_open(what->trace, &trace, err));
        hs_trace_close(trace);
    }
    for (size_t i = 0; i < what->n_snapshots; i++)
        HS_TRY(prepare_one(tool, what->snapshots[i], what->n_snapshots == 1, err));
    return HS_OK;
}

static hs_status listen_at(const struct hs_invocation *inv, struct hs_listener *listener,
                           struct hs_error *err)
{
    if (hs_given(inv, HS_OPT_PORT) && hs_given(inv, HS_OPT_SOCKET))
        return hs_fail(err, HS_USAGE, "--port and --socket exclude each other");
    if (hs_given(inv, HS_OPT_SOCKET))
        return hs_listen_path(inv->text[HS_OPT_SOCKET], listener, err);
    return hs_listen_port(hs_given(inv, HS_OPT_PORT) ? inv->number[HS_OPT_PORT] : 0, listener, err);
}

/* Tells the address at once, for whoever waits for it. */
static hs_status tell(struct hs_tool *tool, const struct hs_listener *listener, const char *token,
                      struct hs_error *err)
{
    if (listener->path == NULL)
        HS_TRY(hs_print(&tool->out, err, "http://127.0.0.1:%u/#%s\n", listener->port, token));
    else
        HS_TRY(hs_print(&tool->out, err, "http://localhost/#%s\n", token));
    HS_TRY(hs_out_commit(&tool->out, err));
    hs_out_close(&tool->out);
    HS_TRY(hs_out_open_fd(STDOUT_FILENO, "standard output", &tool->out, err));
    if (listener->path != NULL)
        hs_talk("ssh -L 8080:%s forwards it: http://localhost:8080/#... from there",
                listener->path);
    return HS_OK;
}

hs_status hs_cmd_serve(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_serve_what what = {inv->arguments, inv->n_arguments, NULL};
    char token[HS_SERVER_TOKEN_BYTES];
    struct hs_listener listener = {.fd = -1};
    struct hs_mhd library;
    if (hs_given(inv, HS_OPT_TRACE))
        what.trace = inv->text[HS_OPT_TRACE];
    if (inv->n_arguments == 1 && what.trace == NULL && hs_trace_is_one(inv->arguments[0]))
        what = (struct hs_serve_what){.trace = inv->arguments[0]};
    hs_talk_once();
    HS_TRY(hs_mhd_load(&library, err)); /* before an address is told */
    HS_TRY(make_token(token, err));
    HS_TRY(listen_at(inv, &listener, err));
    hs_status status = prepare(tool, &what, err);
    if (status == HS_OK)
        status = tell(tool, &listener, token, err);
    if (status == HS_OK) {
        hs_lost_file_go_on();
        status = hs_http_run(tool, &what, token, &listener, err);
    }
    hs_listener_close(&listener);
    return status;
}
