/* The socket on which a server listens: loopback alone, or a socket file of its owner's. */
#ifndef HS_SERVE_LISTEN_H
#define HS_SERVE_LISTEN_H

#include <sys/types.h>

#include "base/error.h"

struct hs_listener {
    int fd; /* owned; -1: none */
    unsigned port;
    const char *path; /* borrowed; NULL: a port */
    dev_t device;     /* of the socket file */
    ino_t inode;
};

/* Listens on a port; 0: any that is free. HS_IO when it is in use, with a hint; HS_USAGE beyond
 * 65535. */
hs_status hs_listen_port(uint64_t port, struct hs_listener *ret, struct hs_error *err);
/* Listens on a socket file. One that nobody listens to any more is replaced; anything else that is
 * there is left alone: HS_IO. */
hs_status hs_listen_path(const char *path, struct hs_listener *ret, struct hs_error *err);
/* Closes it, and removes the file if it is still the one that was made. */
void hs_listener_close(struct hs_listener *listener);

#endif
