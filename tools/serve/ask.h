/* Questions of the server, put to the commands. */
#ifndef HS_SERVE_ASK_H
#define HS_SERVE_ASK_H

#include "server/exchange.h"
#include "tool.h"

/* Prints the answer to the tool's output. */
hs_status hs_ask(struct hs_tool *tool, const struct hs_question *question, struct hs_error *err);

#endif
