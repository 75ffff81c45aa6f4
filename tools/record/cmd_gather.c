/* gather: receives traces from `heapsnap record --to` of other machines. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "access.h"
#include "commands.h"
#include "gather_run.h"
#include "own_directory.h"

enum { DEFAULT_PEERS = 64, BACKLOG = 1024 };
#define DEFAULT_PEER_BYTES (UINT64_C(4) << 30)
#define DEFAULT_IDLE_NS (UINT64_C(300) * 1000000000)

static uint64_t number(const struct hs_invocation *inv, enum hs_option_id id, uint64_t otherwise)
{
    return hs_given(inv, id) ? inv->number[id] : otherwise;
}

static hs_status check_options(const struct hs_invocation *inv, struct hs_error *err)
{
    uint64_t n_peers = number(inv, HS_OPT_PEERS, DEFAULT_PEERS);
    if (n_peers == 0 || n_peers > HS_GATHER_MAX_PEERS)
        return hs_fail(err, HS_USAGE, "--peers: '%s' is not from 1 to %d", inv->text[HS_OPT_PEERS],
                       HS_GATHER_MAX_PEERS);
    if (!hs_given(inv, HS_OPT_TRACE_DIR)) {
        (void)hs_fail(err, HS_USAGE, "gather needs a directory for the traces");
        return hs_hint(err, "heapsnap gather --token FILE -o DIR");
    }
    if (hs_given(inv, HS_OPT_TOKEN))
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "gather needs --token");
    return hs_hint(err, "(umask 077; head -c 32 /dev/urandom | base64 > TOKEN)");
}

static bool try_listen(const struct addrinfo *place, int *ret)
{
    int yes = 1;
    int fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, place->ai_addr, place->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
        *ret = fd;
        return true;
    }
    int why = errno;
    (void)close(fd);
    errno = why;
    return false;
}

static hs_status open_listener(const char *text, int *ret, struct hs_error *err)
{
    char host[HS_FIELD_NAME_BYTES], port[HS_FIELD_NAME_BYTES];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *places = NULL;
    HS_TRY(hs_place_parse(text, host, port, err));
    int why = getaddrinfo(host[0] != '\0' ? host : "127.0.0.1", port, &hints, &places);
    if (why != 0)
        return hs_fail(err, HS_IO, "cannot listen on '%s': %s", text, gai_strerror(why));
    bool is_open = false;
    for (const struct addrinfo *place = places; place != NULL && !is_open; place = place->ai_next)
        is_open = try_listen(place, ret);
    int reason = errno;
    freeaddrinfo(places);
    errno = reason;
    if (is_open)
        return HS_OK;
    (void)hs_fail_errno(err, HS_IO, "cannot listen on '%s'", text);
    return hs_hint(err, "port 0 takes any that is free, and tells which");
}

/* Prints the place on standard output: who started us with port 0 reads it there. */
static hs_status tell_place(struct hs_tool *tool, int fd, struct hs_error *err)
{
    struct sockaddr_storage place;
    socklen_t n = sizeof place;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&place, &n) != 0 ||
        getnameinfo((struct sockaddr *)&place, n, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return hs_fail_errno(err, HS_IO, "cannot tell where we listen");
    const char *form =
        strchr(host, ':') != NULL ? "listening on [%s]:%s\n" : "listening on %s:%s\n";
    char line[NI_MAXHOST + NI_MAXSERV + 32];
    (void)snprintf(line, sizeof line, form, host, port);
    /* Not through the buffer: it is waited for, and we do not end. */
    if (write(tool->out.fd, line, strlen(line)) != (ssize_t)strlen(line))
        return hs_fail_errno(err, HS_IO, "cannot write to standard output");
    return HS_OK;
}

hs_status hs_cmd_gather(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_token token = {0};
    struct hs_gather gather = {
        .listener = -1,
        .dir_fd = -1,
        .token = &token,
        .access = &tool->access,
        .n_peers_max = (size_t)number(inv, HS_OPT_PEERS, DEFAULT_PEERS),
        .peer_bytes_max = number(inv, HS_OPT_PEER_BYTES, DEFAULT_PEER_BYTES),
        .idle_ns = number(inv, HS_OPT_IDLE, DEFAULT_IDLE_NS),
        .is_quiet = hs_given(inv, HS_OPT_QUIET),
    };
    const char *place = hs_given(inv, HS_OPT_LISTEN) ? inv->text[HS_OPT_LISTEN] : "127.0.0.1:0";
    HS_TRY(check_options(inv, err));
    HS_TRY(hs_token_load(inv->text[HS_OPT_TOKEN], &token, err));
    hs_status status = hs_own_directory_open(inv->text[HS_OPT_TRACE_DIR], &gather.dir_fd, err);
    if (status == HS_OK)
        status = open_listener(place, &gather.listener, err);
    if (status == HS_OK)
        status = tell_place(tool, gather.listener, err);
    if (status == HS_OK)
        status = hs_gather_run(&gather, err);
    hs_gather_fini(&gather);
    hs_token_fini(&token);
    return status;
}
