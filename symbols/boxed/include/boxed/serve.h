/* The box from within: answers questions about debug information until the asker is gone. */
#ifndef HS_BOXED_SERVE_H
#define HS_BOXED_SERVE_H

#include "base/error.h"

/* Gives up whatever this process could do to others: user and groups when it is root, new
 * privileges, files, all system calls but those that reading descriptors and using memory need.
 * Sets the limits: `memory_bytes` of address space, processor time, no cores, no files to write.
 * What the system does not offer is left out. In a sanitized build only the limits on time and
 * cores are set: the rest breaks the sanitizers. Never fails. */
void hs_box_confine(uint64_t memory_bytes);

/* Answers on a socket (SOCK_SEQPACKET) until it is closed, which is HS_OK. Fails with HS_IO,
 * HS_FORMAT for a request that no asker of this build makes, HS_LIMIT when there is no memory to
 * begin with. */
hs_status hs_box_serve(int socket, struct hs_error *err);

#endif
