/* The socket side of a server, by libmicrohttpd, in one thread: takes requests in, has them
 * answered here or by the worker, and sends. Connections, what each may send and how long it may
 * take are bounded. */
#ifndef HS_SERVE_HTTP_H
#define HS_SERVE_HTTP_H

#include "listen.h"
#include "served.h"
#include "tool.h"

/* Answers until SIGINT or SIGTERM; the listener is taken over. `what` stays borrowed. */
hs_status hs_http_run(struct hs_tool *tool, const struct hs_serve_what *what, const char *token,
                      struct hs_listener *listener, struct hs_error *err);

#endif
