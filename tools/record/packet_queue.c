#include "packet_queue.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trace/stream.h"

enum { LENGTH_BYTES = 8 };
#define IS_SENT (UINT64_C(1) << 63) /* in a length: struct hs_packet_sent follows */

static void ring_put(struct hs_packet_queue *q, const void *bytes, size_t n)
{
    size_t end = (q->begin + q->n_bytes) % q->capacity;
    size_t first = n < q->capacity - end ? n : q->capacity - end;
    memcpy(q->ring + end, bytes, first);
    memcpy(q->ring, (const uint8_t *)bytes + first, n - first);
    q->n_bytes += n;
}

static void ring_take(struct hs_packet_queue *q, void *bytes, size_t n)
{
    size_t first = n < q->capacity - q->begin ? n : q->capacity - q->begin;
    memcpy(bytes, q->ring + q->begin, first);
    memcpy((uint8_t *)bytes + first, q->ring, n - first);
    q->begin = (q->begin + n) % q->capacity;
    q->n_bytes -= n;
}

static void tell(const struct hs_packet_queue *q)
{
    uint64_t one = 1;
    ssize_t n = write(q->ready_fd, &one, sizeof one);
    (void)n; /* it can only be full, and then it is readable */
}

static bool put(struct hs_packet_queue *q, const void *bytes, size_t n, uint64_t flags)
{
    uint64_t length = n | flags;
    (void)pthread_mutex_lock(&q->lock);
    while (q->capacity - q->n_bytes < n + LENGTH_BYTES && !q->has_ended)
        (void)pthread_cond_wait(&q->room, &q->lock);
    bool was_empty = q->n_packets == 0, is_taken = !q->has_ended;
    if (is_taken) {
        ring_put(q, &length, LENGTH_BYTES);
        ring_put(q, bytes, n);
        q->n_packets++;
    }
    (void)pthread_mutex_unlock(&q->lock);
    if (was_empty)
        tell(q);
    return is_taken;
}

/* Takes the first of descriptors that came together: there is room for two in what is left by
 * alignment. */
static void take_first(const struct cmsghdr *head, int *fd)
{
    int got;
    for (size_t at = CMSG_LEN(0); at + sizeof got <= head->cmsg_len; at += sizeof got) {
        memcpy(&got, (const uint8_t *)head + at, sizeof got);
        if (*fd < 0)
            *fd = got;
        else
            (void)close(got);
    }
}

/* Reads the ancillary data of a message; what does not belong there is closed, or was cut off by
 * the kernel. */
static struct hs_packet_sent what_came_along(struct msghdr *message)
{
    struct hs_packet_sent sent = {.fd = -1};
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
         head = CMSG_NXTHDR(message, head)) {
        struct ucred who;
        if (head->cmsg_level != SOL_SOCKET)
            continue;
        if (head->cmsg_type == SCM_RIGHTS) {
            take_first(head, &sent.fd);
        } else if (head->cmsg_type == SCM_CREDENTIALS) {
            memcpy(&who, CMSG_DATA(head), sizeof who);
            sent.pid = who.pid;
        }
    }
    return sent;
}

static ssize_t receive_one(struct hs_packet_queue *q, uint8_t *bytes, struct hs_packet_sent *ret)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {bytes, HS_PACKET_MAX_BYTES};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(q->socket, &message, MSG_CMSG_CLOEXEC);
    *ret = (struct hs_packet_sent){.fd = -1};
    if (n >= 0)
        *ret = what_came_along(&message);
    return n;
}

static void *receive(void *context)
{
    static uint8_t bytes[HS_PACKET_MAX_BYTES];
    struct hs_packet_queue *q = context;
    struct hs_packet_sent sent;
    for (;;) {
        ssize_t n = receive_one(q, bytes, &sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (sent.fd < 0)
            (void)put(q, bytes, (size_t)n, 0);
        else if (!put(q, &sent, sizeof sent, IS_SENT))
            (void)close(sent.fd);
    }
    (void)pthread_mutex_lock(&q->lock);
    q->has_ended = true;
    (void)pthread_mutex_unlock(&q->lock);
    tell(q);
    return NULL;
}

/* Signals are the other thread's. */
static int start(struct hs_packet_queue *q)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&q->thread, NULL, receive, q);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

hs_status hs_packet_queue_open(int socket, size_t capacity, struct hs_packet_queue *ret,
                               struct hs_error *err)
{
    *ret = (struct hs_packet_queue){.socket = socket, .ready_fd = -1, .capacity = capacity};
    HS_TRY(HS_PAGES_ALLOC(&ret->ring, capacity, err));
    ret->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ret->ready_fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot receive packets");
    (void)pthread_mutex_init(&ret->lock, NULL);
    (void)pthread_cond_init(&ret->room, NULL);
    errno = start(ret);
    if (errno != 0)
        return hs_fail_errno(err, HS_IO, "cannot receive packets");
    ret->is_started = true;
    return HS_OK;
}

void hs_packet_queue_finish(struct hs_packet_queue *q)
{
    (void)shutdown(q->socket, SHUT_RD); /* fails when the other side is gone, which does as well */
}

/* Packets that nobody took are of no use; descriptors are closed. */
static void drop_descriptors(struct hs_packet_queue *q)
{
    while (q->n_packets != 0) {
        struct hs_packet_sent sent;
        uint64_t length;
        ring_take(q, &length, LENGTH_BYTES);
        q->n_packets--;
        if ((length & IS_SENT) != 0) {
            ring_take(q, &sent, sizeof sent);
            (void)close(sent.fd);
            continue;
        }
        q->begin = (q->begin + (size_t)length) % q->capacity;
        q->n_bytes -= (size_t)length;
    }
}

void hs_packet_queue_close(struct hs_packet_queue *q)
{
    if (q->ring == NULL)
        return;
    if (q->is_started) {
        (void)pthread_mutex_lock(&q->lock);
        q->has_ended = true;
        (void)pthread_cond_signal(&q->room);
        (void)pthread_mutex_unlock(&q->lock);
        hs_packet_queue_finish(q);
        (void)pthread_join(q->thread, NULL);
        (void)pthread_mutex_destroy(&q->lock);
        (void)pthread_cond_destroy(&q->room);
    }
    drop_descriptors(q);
    if (q->ready_fd >= 0)
        (void)close(q->ready_fd); /* no file */
    hs_pages_free(q->ring, q->capacity, 1);
    *q = (struct hs_packet_queue){0};
}

size_t hs_packet_queue_take(struct hs_packet_queue *q, uint8_t *bytes,
                            struct hs_packet_sent *ret_sent, bool *ret_has_ended)
{
    uint64_t length = 0, ignored;
    *ret_sent = (struct hs_packet_sent){.fd = -1};
    (void)pthread_mutex_lock(&q->lock);
    if (q->n_packets == 0) {
        ssize_t n = q->has_ended ? 0 : read(q->ready_fd, &ignored, sizeof ignored);
        (void)n; /* nothing to read is as good */
    } else {
        ring_take(q, &length, LENGTH_BYTES);
        if ((length & IS_SENT) != 0)
            ring_take(q, ret_sent, sizeof *ret_sent);
        else
            ring_take(q, bytes, (size_t)length);
        length &= (length & IS_SENT) != 0 ? 0 : length;
        q->n_packets--;
        (void)pthread_cond_signal(&q->room);
    }
    *ret_has_ended = q->n_packets == 0 && q->has_ended;
    (void)pthread_mutex_unlock(&q->lock);
    return (size_t)length;
}
