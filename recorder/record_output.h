/* The destination of packets: a file that this process alone appends to, or a socket of whoever
 * started it. A program may close our descriptor, put another file in its place, delete the file or
 * fill the disk: a packet is then lost and counted by the caller, and nothing else happens. Nothing
 * here allocates, waits for a reader or is a point of cancellation. */
#ifndef HS_RECORD_OUTPUT_H
#define HS_RECORD_OUTPUT_H

#include <heapsnap/recorded.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hs_record_output {
    int fd; /* -1: nowhere */
    bool is_socket;
    bool is_broken; /* can never be whole again */
    bool has_said;  /* the one line on stderr */
    dev_t device, stderr_device;
    ino_t inode, stderr_inode;
    off_t n_bytes; /* written so far */
    char path[HS_RECORD_PATH_BYTES];
};

/* Creates the file of `pattern` (%p is the pid), which must not be there: else .1, .2, ... is put
 * behind its name. False, with a line on stderr, when that cannot be. */
bool hs_record_output_file(struct hs_record_output *output, const char *pattern, long pid);
/* Uses a duplicate of a socket that was inherited. */
bool hs_record_output_socket(struct hs_record_output *output, int fd);
void hs_record_output_close(struct hs_record_output *output);
/* Writes all of the packet, or none of it and says false. */
bool hs_record_output_packet(struct hs_record_output *output, const void *bytes, size_t n_bytes);

#endif
