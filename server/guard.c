#include "guard.h"

/* "localhost", "127.0.0.1" or "[::1]", with or without a port: what is forwarded here from another
 * machine has the port that it has there. */
static bool is_loopback(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) != 0)
            continue;
        if (host[n] == '\0')
            return true;
        size_t n_port = strspn(host + n + 1, "0123456789");
        return host[n] == ':' && n_port >= 1 && n_port <= 5 && host[n + 1 + n_port] == '\0';
    }
    return false;
}

static bool is_own(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

unsigned hs_guard_request(const struct hs_request *request, struct hs_error *err)
{
    const char *method = request->method;
    if (request->host == NULL || !is_loopback(request->host)) {
        (void)hs_fail(err, HS_USAGE,
                      "this server is for this machine alone: its Host is localhost "
                      "or 127.0.0.1");
        return 403;
    }
    if (request->origin != NULL && !is_own(request->origin, request->host)) {
        (void)hs_fail(err, HS_USAGE, "pages of other origins get no answer");
        return 403;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "POST") != 0) {
        (void)hs_fail(err, HS_USAGE, "only GET, and POST for SQL");
        return 405;
    }
    if (strlen(request->target) >= HS_SERVER_TARGET_BYTES) {
        (void)hs_fail(err, HS_LIMIT, "the address is longer than %d bytes", HS_SERVER_TARGET_BYTES);
        return 414;
    }
    if (request->is_too_long) {
        (void)hs_fail(err, HS_LIMIT, "the body is longer than %d bytes", HS_SERVER_BODY_BYTES);
        return 413;
    }
    return 0;
}

unsigned hs_guard_token(const struct hs_request *request, const char *token, struct hs_error *err)
{
    static const char scheme[] = "Bearer ";
    const char *given = request->authorization;
    size_t n = strlen(token), n_scheme = sizeof scheme - 1;
    unsigned differs = 1;
    if (given != NULL && strncmp(given, scheme, n_scheme) == 0 && strlen(given + n_scheme) == n) {
        differs = 0;
        for (size_t i = 0; i < n; i++)
            differs |= (unsigned)(given[n_scheme + i] ^ token[i]);
    }
    if (differs == 0)
        return 0;
    (void)hs_fail(err, HS_USAGE, "the token is missing or wrong");
    (void)hs_hint(err, "open the address that heapsnap serve printed, all of it");
    return 401;
}
