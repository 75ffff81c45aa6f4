/* Between the socket of a recorded program and who names and writes its packets: a thread that does
 * nothing but receive, so that the program's packets are not dropped while a large file's debug
 * information is read. Bounded; when it is full the socket fills, and then the library drops. */
#ifndef HS_RECORD_PACKET_QUEUE_H
#define HS_RECORD_PACKET_QUEUE_H

#include <pthread.h>

#include "base/alloc.h"

struct hs_packet_queue {
    int socket;    /* borrowed */
    int ready_fd;  /* readable (poll) when there is something, and after the end */
    uint8_t *ring; /* owned: 8 bytes of length before each packet */
    size_t capacity, begin, n_bytes;
    uint64_t n_packets;
    bool has_ended, is_started;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t room;
};

/* Starts to receive from a SOCK_SEQPACKET socket, until its end. HS_LIMIT, HS_IO. */
hs_status hs_packet_queue_open(int socket, size_t capacity, struct hs_packet_queue *ret,
                               struct hs_error *err);
/* Ends the thread. Takes a zeroed queue. */
void hs_packet_queue_close(struct hs_packet_queue *queue);
/* A descriptor that came in place of a packet, and who sent it. */
struct hs_packet_sent {
    int fd; /* -1: none */
    pid_t pid;
};

/* Copies the next packet into `bytes` (HS_PACKET_MAX_BYTES); 0: there is none now, or a descriptor
 * came, which is the caller's. */
size_t hs_packet_queue_take(struct hs_packet_queue *queue, uint8_t *bytes,
                            struct hs_packet_sent *ret_sent, bool *ret_has_ended);
/* Receives what is in the socket, and nothing that is sent from now on; senders get EPIPE. */
void hs_packet_queue_finish(struct hs_packet_queue *queue);

#endif
