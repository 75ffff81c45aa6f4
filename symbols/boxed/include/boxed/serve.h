/* The box from within: answers questions about debug information until the asker is gone. */
#ifndef HS_BOXED_SERVE_H
#define HS_BOXED_SERVE_H

#include "base/error.h"

/* The extent of the confinement. */
struct hs_box_confinement {
    uint32_t how;  /* enum box_how (box/wire.h) */
    char why[128]; /* with BOX_HOW_FAILED: what could not be done */
};

/* Gives up whatever this process could do to others: user and groups when it is root, new
 * privileges, files, all system calls but those that reading descriptors and using memory need.
 * Sets the limits: `memory_bytes` of address space, processor time, no cores, no files to write.
 * Needed are the limits, the filter of system calls, and no capabilities: without one of them
 * BOX_HOW_FAILED. Another user is taken where that can be: root of a container often may not, and
 * has no rights without capabilities. In a sanitized build only the limits on time and cores are
 * set: the rest breaks the sanitizers. */
void hs_box_confine(uint64_t memory_bytes, struct hs_box_confinement *ret);

/* Answers on a socket (SOCK_SEQPACKET) until it is closed, which is HS_OK. Not confined it opens
 * nothing, and answers why. Fails with HS_IO,
 * HS_FORMAT for a request that no asker of this build makes, HS_LIMIT when there is no memory to
 * begin with. */
hs_status hs_box_serve(int socket, const struct hs_box_confinement *confinement,
                       struct hs_error *err);

#endif
