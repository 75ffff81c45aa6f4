/* The texts that a server has for everybody: the page, its style and script, and openapi.json. */
#ifndef HS_SERVE_PAGES_H
#define HS_SERVE_PAGES_H

#include "server/exchange.h"

const struct hs_server_file *hs_serve_pages(size_t *ret_n);

#endif
