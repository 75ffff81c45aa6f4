#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cursor.h"

/* ---- the token ---- */

static hs_status check_token_file(int fd, const char *path, struct hs_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot read the token '%s'", path);
    if (!S_ISREG(about.st_mode))
        return hs_fail(err, HS_USAGE, "cannot use the token '%s': it is no regular file", path);
    if (about.st_uid != geteuid() && about.st_uid != 0)
        return hs_fail(err, HS_USAGE, "cannot use the token '%s': it is another user's", path);
    if ((about.st_mode & 077) == 0)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "cannot use the token '%s': others may read it", path);
    return hs_hint(err, "chmod 600 '%.200s'", path);
}

static hs_status read_token(int fd, const char *path, struct hs_token *ret, struct hs_error *err)
{
    hs_auto_free uint8_t *bytes = NULL;
    HS_TRY(HS_ALLOC(&bytes, HS_TOKEN_MAX_BYTES + 1, err));
    ssize_t n = pread(fd, bytes, HS_TOKEN_MAX_BYTES + 1, 0);
    if (n < 0)
        return hs_fail_errno(err, HS_IO, "cannot read the token '%s'", path);
    if (n > HS_TOKEN_MAX_BYTES)
        return hs_fail(err, HS_USAGE, "cannot use the token '%s': it is longer than %d bytes", path,
                       HS_TOKEN_MAX_BYTES);
    while (n > 0 && (bytes[n - 1] == '\n' || bytes[n - 1] == '\r'))
        n--;
    if (n < HS_TOKEN_MIN_BYTES) {
        (void)hs_fail(err, HS_USAGE, "cannot use the token '%s': it is shorter than %d bytes", path,
                      HS_TOKEN_MIN_BYTES);
        return hs_hint(err, "(umask 077; head -c 32 /dev/urandom | base64 > '%.150s')", path);
    }
    ret->bytes = HS_STEAL(bytes);
    ret->n_bytes = (size_t)n;
    return HS_OK;
}

hs_status hs_token_load(const char *path, struct hs_token *ret, struct hs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot read the token '%s'", path);
    hs_status status = check_token_file(fd, path, err);
    if (status == HS_OK)
        status = read_token(fd, path, ret, err);
    (void)close(fd); /* was only read */
    return status;
}

void hs_token_fini(struct hs_token *token)
{
    if (token->bytes != NULL)
        explicit_bzero(token->bytes, token->n_bytes);
    hs_free(token->bytes);
    *token = (struct hs_token){0};
}

/* ---- what both sides compute ---- */

/* The kernel has enough of it as soon as programs run. */
void hs_wire_random(uint8_t *bytes, size_t n_bytes)
{
    while (getrandom(bytes, n_bytes, 0) != (ssize_t)n_bytes)
        if (errno != EINTR)
            abort();
}

bool hs_wire_same(const uint8_t *a, const uint8_t *b, size_t n_bytes)
{
    return memeql_sec(a, b, n_bytes) != 0;
}

/* Computes a message's code; its purpose stands in front, so that none can be used as another. */
static void mac(const struct hs_token *token, const char *purpose, const uint8_t *greeting,
                const uint8_t *bytes, size_t n_bytes, uint8_t *ret)
{
    struct hmac_sha256_ctx ctx;
    hmac_sha256_set_key(&ctx, token->n_bytes, token->bytes);
    hmac_sha256_update(&ctx, strlen(purpose) + 1, (const uint8_t *)purpose);
    hmac_sha256_update(&ctx, HS_WIRE_GREETING_BYTES, greeting);
    hmac_sha256_update(&ctx, n_bytes, bytes);
    hmac_sha256_digest(&ctx, HS_WIRE_MAC_BYTES, ret);
    explicit_bzero(&ctx, sizeof ctx);
}

void hs_wire_sender_mac(const struct hs_token *token, const uint8_t *greeting, const uint8_t *body,
                        uint8_t *ret)
{
    mac(token, "heapsnap sender 1", greeting, body, HS_WIRE_BODY_BYTES, ret);
}

void hs_wire_gather_mac(const struct hs_token *token, const uint8_t *greeting,
                        const uint8_t *sender_mac, uint8_t *ret)
{
    mac(token, "heapsnap gather 1", greeting, sender_mac, HS_WIRE_MAC_BYTES, ret);
}

void hs_wire_end_mac(const struct hs_token *token, const uint8_t *greeting,
                     const uint8_t *sender_mac, uint8_t *ret)
{
    mac(token, "heapsnap ended 1", greeting, sender_mac, HS_WIRE_MAC_BYTES, ret);
}

void hs_wire_key(const struct hs_token *token, const uint8_t *greeting, const uint8_t *sender_mac,
                 uint8_t *ret)
{
    mac(token, "heapsnap frames 1", greeting, sender_mac, HS_WIRE_MAC_BYTES, ret);
}

void hs_wire_tag(const uint8_t *key, uint64_t serial, const uint8_t *frame, size_t n_frame,
                 uint8_t *ret)
{
    struct hmac_sha256_ctx ctx;
    uint8_t number[8];
    for (int i = 0; i < 8; i++)
        number[i] = (uint8_t)(serial >> 8 * i);
    hmac_sha256_set_key(&ctx, HS_WIRE_KEY_BYTES, key);
    hmac_sha256_update(&ctx, sizeof number, number);
    hmac_sha256_update(&ctx, n_frame, frame);
    hmac_sha256_digest(&ctx, HS_WIRE_TAG_BYTES, ret);
}

hs_status hs_wire_put(struct hs_buffer *buffer, const uint8_t *key, uint64_t serial,
                      enum hs_wire_kind kind, const void *bytes, size_t n_bytes,
                      struct hs_error *err)
{
    size_t begin = buffer->n_bytes;
    HS_TRY(hs_buffer_reserve(buffer, HS_WIRE_HEAD_BYTES + n_bytes + HS_WIRE_TAG_BYTES, err));
    hs_buffer_put_u32(buffer, (uint32_t)n_bytes);
    hs_buffer_put_u32(buffer, kind);
    hs_buffer_put_bytes(buffer, bytes, n_bytes);
    hs_wire_tag(key, serial, buffer->bytes + begin, buffer->n_bytes - begin,
                buffer->bytes + buffer->n_bytes);
    buffer->n_bytes += HS_WIRE_TAG_BYTES;
    return HS_OK;
}

/* ---- the side that listens ---- */

hs_status hs_wire_peer_init(struct hs_wire_peer *peer, const struct hs_token *token,
                            struct hs_error *err)
{
    peer->token = token;
    memcpy(peer->greeting, HS_WIRE_GATHER_MAGIC, HS_WIRE_MAGIC_BYTES);
    hs_wire_random(peer->greeting + HS_WIRE_MAGIC_BYTES, HS_WIRE_NONCE_BYTES);
    HS_TRY(hs_buffer_reserve(&peer->out, HS_WIRE_GREETING_BYTES + HS_WIRE_MAC_BYTES, err));
    hs_buffer_put_bytes(&peer->out, peer->greeting, HS_WIRE_GREETING_BYTES);
    return HS_OK;
}

void hs_wire_peer_fini(struct hs_wire_peer *peer)
{
    hs_buffer_fini(&peer->in);
    hs_buffer_fini(&peer->out);
    explicit_bzero(peer, sizeof *peer);
}

static hs_status hear_hello(struct hs_wire_peer *peer, const uint8_t *bytes, struct hs_error *err)
{
    const uint8_t *body = bytes + HS_WIRE_MAGIC_BYTES, *claimed = body + HS_WIRE_BODY_BYTES;
    uint8_t proof[HS_WIRE_MAC_BYTES];
    if (memcmp(bytes, HS_WIRE_SENDER_MAGIC, HS_WIRE_MAGIC_BYTES) != 0)
        return hs_fail(err, HS_FORMAT, "it does not speak this protocol");
    hs_wire_sender_mac(peer->token, peer->greeting, body, proof);
    if (!hs_wire_same(proof, claimed, sizeof proof))
        return hs_fail(err, HS_TARGET, "it has another token");
    struct hs_cursor c = hs_cursor_make(body + HS_WIRE_NONCE_BYTES, 8);
    peer->pid = hs_cursor_u64(&c);
    memcpy(peer->host, body + HS_WIRE_NONCE_BYTES + 8, HS_WIRE_HOST_BYTES);
    peer->host[HS_WIRE_HOST_BYTES - 1] = '\0';
    hs_wire_key(peer->token, peer->greeting, claimed, peer->key);
    hs_wire_end_mac(peer->token, peer->greeting, claimed, peer->thanks);
    hs_wire_gather_mac(peer->token, peer->greeting, claimed, proof);
    HS_TRY(hs_buffer_reserve(&peer->out, sizeof proof, err));
    if (peer->admit != NULL)
        HS_TRY(peer->admit(peer->context, err));
    hs_buffer_put_bytes(&peer->out, proof, sizeof proof);
    peer->is_known = true;
    return HS_OK;
}

static hs_status hear_end(struct hs_wire_peer *peer, struct hs_cursor *c, struct hs_error *err)
{
    peer->counts.n_sent = hs_cursor_u64(c);
    peer->counts.n_dropped = hs_cursor_u64(c);
    peer->counts.n_dropped_bytes = hs_cursor_u64(c);
    HS_TRY(hs_cursor_check(c, "its end", err));
    HS_TRY(hs_buffer_reserve(&peer->out, sizeof peer->thanks, err));
    hs_buffer_put_bytes(&peer->out, peer->thanks, sizeof peer->thanks);
    peer->has_ended = true;
    return HS_OK;
}

static hs_status hear_frame(struct hs_wire_peer *peer, const uint8_t *frame, size_t n_inside,
                            struct hs_error *err)
{
    uint8_t tag[HS_WIRE_TAG_BYTES];
    const uint8_t *inside = frame + HS_WIRE_HEAD_BYTES;
    struct hs_cursor c = hs_cursor_make(inside, n_inside);
    hs_wire_tag(peer->key, peer->serial++, frame, HS_WIRE_HEAD_BYTES + n_inside, tag);
    if (!hs_wire_same(tag, inside + n_inside, sizeof tag))
        return hs_fail(err, HS_FORMAT, "what it sent was changed on the way");
    if (peer->has_ended)
        return hs_fail(err, HS_FORMAT, "it goes on behind its end");
    switch (frame[4]) {
    case HS_WIRE_PACKET:
        return peer->take(peer->context, inside, n_inside, err);
    case HS_WIRE_ALIVE:
        return HS_OK;
    case HS_WIRE_END:
        return hear_end(peer, &c, err);
    default:
        return hs_fail(err, HS_FORMAT, "it sends what nobody asked for");
    }
}

/* Finds the length of the message that begins in `in`; 0 while too little of it is there. HS_FORMAT
 * when it is none of this protocol. */
static hs_status message_bytes(const struct hs_wire_peer *peer, size_t *ret, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(peer->in.bytes, peer->in.n_bytes);
    *ret = 0;
    if (!peer->is_known) {
        *ret = HS_WIRE_HELLO_BYTES;
        size_t n = c.n_bytes < HS_WIRE_MAGIC_BYTES ? c.n_bytes : HS_WIRE_MAGIC_BYTES;
        /* Others' protocols are told apart by their first byte, not waited for. */
        return n == 0 || memcmp(peer->in.bytes, HS_WIRE_SENDER_MAGIC, n) == 0
                   ? HS_OK
                   : hs_fail(err, HS_FORMAT, "it does not speak this protocol");
    }
    if (c.n_bytes < HS_WIRE_HEAD_BYTES)
        return HS_OK;
    uint32_t n_inside = hs_cursor_u32(&c);
    if (n_inside > HS_WIRE_MAX_FRAME_BYTES)
        return hs_fail(err, HS_FORMAT, "a frame of it is too large");
    *ret = HS_WIRE_HEAD_BYTES + (size_t)n_inside + HS_WIRE_TAG_BYTES;
    return HS_OK;
}

/* Hears bytes. No more is kept than the message that is not whole yet. */
hs_status hs_wire_peer_hear(struct hs_wire_peer *peer, const void *bytes, size_t n_bytes,
                            struct hs_error *err)
{
    const uint8_t *at = bytes;
    while (n_bytes != 0) {
        size_t whole;
        HS_TRY(message_bytes(peer, &whole, err));
        size_t wanted = whole != 0 ? whole : HS_WIRE_HEAD_BYTES;
        size_t n = wanted - peer->in.n_bytes < n_bytes ? wanted - peer->in.n_bytes : n_bytes;
        HS_TRY(hs_buffer_reserve(&peer->in, n, err));
        hs_buffer_put_bytes(&peer->in, at, n);
        at += n;
        n_bytes -= n;
        HS_TRY(message_bytes(peer, &whole, err));
        if (whole == 0 || peer->in.n_bytes < whole)
            continue;
        if (!peer->is_known)
            HS_TRY(hear_hello(peer, peer->in.bytes, err));
        else
            HS_TRY(hear_frame(peer, peer->in.bytes, whole - HS_WIRE_HEAD_BYTES - HS_WIRE_TAG_BYTES,
                              err));
        peer->in.n_bytes = 0;
    }
    return HS_OK;
}
