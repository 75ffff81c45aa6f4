#include "sender.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/progress.h"
#include "trace/stream.h"

/* The program waits for the first words, not for anything later. */
enum { BUFFER_BYTES = 8 << 20, PATIENCE_MS = 10000, OPEN_MS = 10000, TRIES = 3 };
#define ALIVE_NS (UINT64_C(60) * 1000000000)

struct hs_sender {
    int fd;
    uint8_t key[HS_WIRE_KEY_BYTES];
    uint8_t thanks[HS_WIRE_MAC_BYTES]; /* what the end is answered with */
    uint64_t serial;
    struct hs_buffer out;
    size_t n_gone;     /* of out: sent */
    size_t next_frame; /* of out: the first frame that begins in it; the end if none does */
    struct hs_wire_counts counts;
    uint64_t sent_ns; /* when something was sent last */
    bool is_broken, is_ending;
    char trouble[384];
};

hs_status hs_place_parse(const char *text, char *host, char *port, struct hs_error *err)
{
    const char *colon = strrchr(text, ':');
    size_t n_host = colon != NULL ? (size_t)(colon - text) : 0;
    const char *begin = text;
    if (n_host >= 2 && text[0] == '[' && text[n_host - 1] == ']')
        begin++, n_host -= 2;
    if (colon == NULL || colon[1] == '\0' || n_host >= HS_FIELD_NAME_BYTES ||
        strlen(colon + 1) >= HS_FIELD_NAME_BYTES ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1)) {
        (void)hs_fail(err, HS_USAGE, "'%.80s' is not HOST:PORT", text);
        return hs_hint(err, "for example 127.0.0.1:7411, or [::1]:7411");
    }
    (void)snprintf(host, HS_FIELD_NAME_BYTES, "%.*s", (int)n_host, begin);
    (void)snprintf(port, HS_FIELD_NAME_BYTES, "%s", colon + 1);
    return HS_OK;
}

/* ---- the connection ---- */

static uint64_t in_ms(int ms)
{
    return hs_now_ns() + (uint64_t)ms * 1000000;
}

static int left_ms(uint64_t until)
{
    uint64_t now = hs_now_ns();
    return now >= until ? 0 : (int)((until - now) / 1000000) + 1;
}

static bool connect_until(int fd, const struct addrinfo *place, uint64_t until)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int why = 0;
    socklen_t n = sizeof why;
    if (connect(fd, place->ai_addr, place->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS)
        return false;
    if (poll(&wait, 1, left_ms(until)) <= 0) {
        errno = ETIMEDOUT;
        return false;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) != 0)
        return false;
    errno = why;
    return why == 0;
}

/* Connects. Limit: how long the name of a host is looked for is the resolver's. */
static hs_status connect_to(const char *text, uint64_t until, int *ret, struct hs_error *err)
{
    char host[HS_FIELD_NAME_BYTES], port[HS_FIELD_NAME_BYTES];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *places = NULL;
    HS_TRY(hs_place_parse(text, host, port, err));
    int why = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &places);
    if (why != 0)
        return hs_fail(err, HS_IO, "cannot send to '%s': %s", text, gai_strerror(why));
    int fd = -1;
    for (const struct addrinfo *place = places; place != NULL && fd < 0; place = place->ai_next) {
        fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && !connect_until(fd, place, until)) {
            int reason = errno;
            (void)close(fd);
            fd = -1;
            errno = reason;
        }
    }
    freeaddrinfo(places);
    *ret = fd;
    if (fd >= 0)
        return HS_OK;
    (void)hs_fail_errno(err, HS_IO, "cannot send to '%s'", text);
    return hs_hint(err, "is 'heapsnap gather --listen %.100s' running there?", text);
}

/* Exchanges all of it or fails; for the first words, which are waited for. */
static bool exchange(int fd, void *bytes, size_t n_bytes, bool is_reading, uint64_t until)
{
    uint8_t *at = bytes;
    while (n_bytes != 0) {
        ssize_t n = is_reading ? recv(fd, at, n_bytes, 0) : send(fd, at, n_bytes, MSG_NOSIGNAL);
        struct pollfd wait = {.fd = fd, .events = is_reading ? POLLIN : POLLOUT};
        if (n == 0)
            errno = ECONNRESET;
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
            return false;
        if (n > 0) {
            at += n;
            n_bytes -= (size_t)n;
            continue;
        }
        if (left_ms(until) == 0) {
            errno = ETIMEDOUT;
            return false;
        }
        (void)poll(&wait, 1, left_ms(until)); /* whatever it says, the call itself is tried */
    }
    return true;
}

static void put_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Sends our name and the proof that we know the token. */
static hs_status introduce(struct hs_sender *s, const char *place, const struct hs_token *token,
                           uint64_t until, struct hs_error *err)
{
    uint8_t greeting[HS_WIRE_GREETING_BYTES], hello[HS_WIRE_HELLO_BYTES] = {0};
    uint8_t expected[HS_WIRE_MAC_BYTES], answer[HS_WIRE_MAC_BYTES];
    uint8_t *body = hello + HS_WIRE_MAGIC_BYTES, *proof = body + HS_WIRE_BODY_BYTES;
    if (!exchange(s->fd, greeting, sizeof greeting, true, until))
        return hs_fail_errno(err, HS_IO, "cannot send to '%s'", place);
    if (memcmp(greeting, HS_WIRE_GATHER_MAGIC, HS_WIRE_MAGIC_BYTES) != 0)
        return hs_fail(err, HS_FORMAT, "cannot send to '%s': it is no heapsnap gather", place);
    memcpy(hello, HS_WIRE_SENDER_MAGIC, HS_WIRE_MAGIC_BYTES);
    hs_wire_random(body, HS_WIRE_NONCE_BYTES);
    put_u64(body + HS_WIRE_NONCE_BYTES, (uint64_t)getpid());
    (void)gethostname((char *)body + HS_WIRE_NONCE_BYTES + 8, HS_WIRE_HOST_BYTES - 1);
    hs_wire_sender_mac(token, greeting, body, proof);
    if (!exchange(s->fd, hello, sizeof hello, false, until) ||
        !exchange(s->fd, answer, sizeof answer, true, until)) {
        (void)hs_fail_errno(err, HS_TARGET, "cannot send to '%s': it does not take us", place);
        return hs_hint(err, "has it the same --token, and room for us (--peers)?");
    }
    hs_wire_gather_mac(token, greeting, proof, expected);
    if (!hs_wire_same(expected, answer, sizeof answer))
        return hs_fail(err, HS_TARGET, "cannot send to '%s': it has another token", place);
    hs_wire_key(token, greeting, proof, s->key);
    hs_wire_end_mac(token, greeting, proof, s->thanks);
    return HS_OK;
}

/* Meets a gatherer; where many push in we may be closed before we were heard. */
static hs_status meet(struct hs_sender *s, const char *place, const struct hs_token *token,
                      struct hs_error *err)
{
    uint64_t until = in_ms(OPEN_MS);
    for (int tries = 1;; tries++) {
        HS_TRY(connect_to(place, until, &s->fd, err));
        errno = 0;
        hs_status status = introduce(s, place, token, until, err);
        if (status == HS_OK || tries == TRIES || (errno != ECONNRESET && errno != EPIPE))
            return status;
        (void)close(s->fd);
        s->fd = -1;
        *err = (struct hs_error)HS_ERROR_INIT;
    }
}

hs_status hs_sender_open(const char *place, const struct hs_token *token, struct hs_sender **ret,
                         struct hs_error *err)
{
    hs_auto(hs_sender) *s = NULL;
    HS_TRY(HS_ALLOC(&s, 1, err));
    s->fd = -1;
    HS_TRY(meet(s, place, token, err));
    s->sent_ns = hs_now_ns();
    *ret = HS_STEAL(s);
    return HS_OK;
}

void hs_sender_free(struct hs_sender *s)
{
    if (s == NULL)
        return;
    if (s->fd >= 0)
        (void)close(s->fd);
    hs_buffer_fini(&s->out);
    explicit_bzero(s->key, sizeof s->key);
    hs_free(s);
}

/* ---- sending ---- */

static size_t frame_bytes(const uint8_t *frame)
{
    struct hs_cursor c = hs_cursor_make(frame, HS_WIRE_HEAD_BYTES);
    return HS_WIRE_HEAD_BYTES + hs_cursor_u32(&c) + HS_WIRE_TAG_BYTES;
}

/* Counts packets that still lie here as not sent: frames that are not gone whole. The one that
 * began before the buffer is a packet, or nothing that anybody misses. */
static void count_unsent(struct hs_sender *s)
{
    uint64_t n_unsent = s->next_frame > s->n_gone;
    uint64_t n_bytes = n_unsent != 0 ? s->next_frame - s->n_gone : 0;
    for (size_t at = s->next_frame; at < s->out.n_bytes;) {
        size_t n = frame_bytes(s->out.bytes + at);
        bool is_packet = s->out.bytes[at + 4] == HS_WIRE_PACKET;
        at += n;
        if (!is_packet || at <= s->n_gone)
            continue;
        n_unsent++;
        n_bytes += n - HS_WIRE_HEAD_BYTES - HS_WIRE_TAG_BYTES;
    }
    s->counts.n_sent -= n_unsent < s->counts.n_sent ? n_unsent : s->counts.n_sent;
    s->counts.n_dropped += n_unsent;
    s->counts.n_dropped_bytes += n_bytes;
}

static void break_off(struct hs_sender *s, const char *why)
{
    if (s->is_broken)
        return;
    s->is_broken = true;
    count_unsent(s);
    (void)snprintf(s->trouble, sizeof s->trouble, "%s; the last of those sent may not have arrived",
                   why);
}

static hs_status put_frame(struct hs_sender *s, enum hs_wire_kind kind, const void *bytes, size_t n,
                           struct hs_error *err)
{
    HS_TRY(hs_wire_put(&s->out, s->key, s->serial, kind, bytes, n, err));
    s->serial++;
    return HS_OK;
}

/* Returns the length of the first of whole packets, one after another. */
static size_t first_packet(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    hs_cursor_skip(&c, 4);
    size_t n = hs_cursor_u32(&c) / 8;
    return n == 0 || n > n_bytes ? n_bytes : n;
}

static void forget_sent(struct hs_sender *s)
{
    if (s->n_gone == 0)
        return;
    while (s->next_frame < s->n_gone)
        s->next_frame += frame_bytes(s->out.bytes + s->next_frame);
    s->next_frame -= s->n_gone;
    memmove(s->out.bytes, s->out.bytes + s->n_gone, s->out.n_bytes - s->n_gone);
    s->out.n_bytes -= s->n_gone;
    s->n_gone = 0;
}

bool hs_sender_put(struct hs_sender *s, const void *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    const uint8_t *at = bytes;
    size_t n_packets = 0;
    for (size_t done = 0; done < n_bytes; n_packets++)
        done += first_packet(at + done, n_bytes - done);
    size_t more = n_bytes + n_packets * (HS_WIRE_HEAD_BYTES + HS_WIRE_TAG_BYTES);
    if (!s->is_broken && s->out.n_bytes + more > BUFFER_BYTES)
        forget_sent(s);
    if (s->is_broken || s->out.n_bytes + more > BUFFER_BYTES ||
        hs_buffer_reserve(&s->out, more, &err) != HS_OK) {
        s->counts.n_dropped += n_packets;
        s->counts.n_dropped_bytes += n_bytes;
        return false;
    }
    for (size_t done = 0; done < n_bytes;) {
        size_t n = first_packet(at + done, n_bytes - done);
        if (put_frame(s, HS_WIRE_PACKET, at + done, n, &err) != HS_OK)
            break_off(s, err.message); /* there is room */
        done += n;
    }
    s->counts.n_sent += n_packets;
    return true;
}

int hs_sender_poll(const struct hs_sender *s, short *ret_events)
{
    *ret_events = (short)(POLLIN | (s->n_gone < s->out.n_bytes ? POLLOUT : 0));
    return s->is_broken ? -1 : s->fd;
}

/* The other side has nothing to say: what can be heard is its end. */
static void listen_for_end(struct hs_sender *s)
{
    uint8_t byte;
    if (s->is_broken || s->is_ending)
        return;
    ssize_t n = recv(s->fd, &byte, 1, MSG_DONTWAIT);
    if (n >= 0)
        break_off(s, "it closed the connection");
    else if (errno != EAGAIN && errno != EINTR)
        break_off(s, strerror(errno));
}

void hs_sender_work(struct hs_sender *s)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t now = hs_now_ns();
    listen_for_end(s);
    if (s->n_gone == s->out.n_bytes && now - s->sent_ns > ALIVE_NS && !s->is_broken &&
        put_frame(s, HS_WIRE_ALIVE, NULL, 0, &err) != HS_OK)
        break_off(s, err.message);
    while (!s->is_broken && s->n_gone < s->out.n_bytes) {
        ssize_t n = send(s->fd, s->out.bytes + s->n_gone, s->out.n_bytes - s->n_gone, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            break_off(s, strerror(errno));
        if (n < 0)
            return;
        s->n_gone += (size_t)n;
        s->sent_ns = now;
    }
    if (!s->is_broken)
        s->out.n_bytes = s->n_gone = s->next_frame = 0;
}

void hs_sender_finish(struct hs_sender *s)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t until = in_ms(PATIENCE_MS);
    uint8_t counts[24];
    s->is_ending = true;
    put_u64(counts, s->counts.n_sent);
    put_u64(counts + 8, s->counts.n_dropped);
    put_u64(counts + 16, s->counts.n_dropped_bytes);
    if (!s->is_broken && put_frame(s, HS_WIRE_END, counts, sizeof counts, &err) != HS_OK)
        break_off(s, err.message);
    for (hs_sender_work(s); !s->is_broken && s->n_gone < s->out.n_bytes; hs_sender_work(s)) {
        struct pollfd wait = {.fd = s->fd, .events = POLLOUT};
        if (left_ms(until) == 0)
            break_off(s, "the rest could not be sent in time");
        else
            (void)poll(&wait, 1, 1000); /* whatever it says, sending is tried */
    }
    uint8_t answer[HS_WIRE_MAC_BYTES];
    if (s->is_broken)
        return;
    if (!exchange(s->fd, answer, sizeof answer, true, in_ms(PATIENCE_MS)) ||
        !hs_wire_same(answer, s->thanks, sizeof answer))
        break_off(s, "it did not say that all has arrived");
}

struct hs_wire_counts hs_sender_counts(const struct hs_sender *s)
{
    return s->counts;
}

const char *hs_sender_trouble(const struct hs_sender *s)
{
    return s->is_broken ? s->trouble : NULL;
}
