/* The rules of who may ask. */
#ifndef HS_SERVER_GUARD_H
#define HS_SERVER_GUARD_H

#include "server/exchange.h"

/* Returns the status of HTTP that refuses a request whoever makes it, with a reason; 0: it may go
 * on. Only pages of our own have an Origin, and only a name of this machine is a Host: the name of
 * a foreign page may lead to our address, and its browser then sends that name. */
unsigned hs_guard_request(const struct hs_request *request, struct hs_error *err);
/* The same for what needs the token. Takes as long whatever the token is. */
unsigned hs_guard_token(const struct hs_request *request, const char *token, struct hs_error *err);

#endif
