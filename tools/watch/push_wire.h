/* The messages between a watch and heapsnap-push, the program that sends a profile for it.
 *
 *   descriptor 0   the profile, a file
 *   descriptor 1   a pipe for the answer: nothing when it was taken, else why not, in one write
 *   descriptor 3   a pipe with one struct hs_push_request; not on the command line, which everybody
 *                  may read, as URLs may have a password in them */
#ifndef HS_WATCH_PUSH_WIRE_H
#define HS_WATCH_PUSH_WIRE_H

#include "base/types.h"

#define HS_PUSH_PROGRAM "heapsnap-push"
#define HS_PUSH_REQUEST_FD 3
#define HS_PUSH_NAME_BYTES 64
#define HS_PUSH_ANSWER_BYTES 256

struct hs_push_request {
    char url[2048];
    char service[HS_PUSH_NAME_BYTES], host[HS_PUSH_NAME_BYTES]; /* of letters, digits and _-. */
    uint64_t from_s, until_s;                                   /* unix time */
    uint64_t timeout_ms;
    uint64_t parent; /* the watch: with it the program ends */
};

#endif
