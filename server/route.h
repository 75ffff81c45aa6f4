/* A request that was understood: which command line it is, and which part of its answer. */
#ifndef HS_SERVER_ROUTE_H
#define HS_SERVER_ROUTE_H

#include "endpoints.h"

enum { ROUTE_OLDER = 8 };

struct hs_route {
    struct hs_target target;
    const struct hs_endpoint *endpoint;
    const char *what;
    uint64_t limit;
    bool is_paged;      /* rows alone, from a place on, perhaps only those with a text */
    uint64_t from;      /* row */
    const char *search; /* NULL: all */
    const struct hs_served *older[ROUTE_OLDER];
    size_t n_older;
    uint64_t key[2]; /* of the question and of what it is asked of */
    uint64_t etag;
    char *body;                              /* owned: the query in SQL */
    char text[HS_SERVER_TARGET_BYTES + 512]; /* words that are made */
    size_t n_text;
};

/* Reads the path's endpoint and the parameters into `route`, whose target is parsed, and makes the
 * question. Keys and etags are of one run of the server, by its salt: another one may have other
 * options. On failure *ret_status is the status of HTTP. */
hs_status hs_route_find(struct hs_route *route, const struct hs_request *request,
                        const struct hs_served_list *list, const char *salt,
                        struct hs_question *question, unsigned *ret_status, struct hs_error *err);

/* Writes the place where a list goes on, as a text for the request of the next page. */
void hs_route_cursor(const struct hs_route *route, uint64_t row, char *text, size_t n);

#endif
