/* The protocol between `heapsnap record --to` and `heapsnap gather` (docs/recording.md).
 *
 * Both prove that they know the token without telling it, and every frame carries a tag made with a
 * key of this connection, so that nobody between them can put words in. Nothing is encrypted. This
 * is the side that listens, as a machine of bytes in and bytes out: hostile bytes reach nothing
 * else. */
#ifndef HS_RECORD_WIRE_H
#define HS_RECORD_WIRE_H

#include "base/buffer.h"

enum {
    HS_WIRE_NONCE_BYTES = 32,
    HS_WIRE_MAC_BYTES = 32,
    HS_WIRE_TAG_BYTES = 16,
    HS_WIRE_KEY_BYTES = 32,
    HS_WIRE_HEAD_BYTES = 8, /* of a frame: u32 length, u8 kind, 3 zero */
    HS_WIRE_MAGIC_BYTES = 8,
    HS_WIRE_HOST_BYTES = 64, /* NUL included; longer names are cut */
    HS_WIRE_BODY_BYTES = HS_WIRE_NONCE_BYTES + 8 + HS_WIRE_HOST_BYTES, /* of the sender's hello */
    HS_WIRE_HELLO_BYTES = HS_WIRE_MAGIC_BYTES + HS_WIRE_BODY_BYTES + HS_WIRE_MAC_BYTES,
    HS_WIRE_GREETING_BYTES = HS_WIRE_MAGIC_BYTES + HS_WIRE_NONCE_BYTES, /* of who listens */
    HS_WIRE_MAX_FRAME_BYTES = 1 << 18,                                  /* what is inside */
    HS_TOKEN_MIN_BYTES = 16,
    HS_TOKEN_MAX_BYTES = 4096,
};
#define HS_WIRE_SENDER_MAGIC "HSRECRD1"
#define HS_WIRE_GATHER_MAGIC "HSGATHR1"

enum hs_wire_kind {
    HS_WIRE_PACKET = 1, /* one packet of the trace */
    HS_WIRE_ALIVE = 2,  /* nothing, so that silence means that the line is cut */
    HS_WIRE_END = 3,    /* struct hs_wire_counts: no more comes */
};

struct hs_wire_counts {
    uint64_t n_sent, n_dropped, n_dropped_bytes; /* packets */
};

struct hs_token {
    uint8_t *bytes; /* owned */
    size_t n_bytes;
};
/* Loads a token. HS_USAGE for a file that others may read or that is too short, HS_IO. */
hs_status hs_token_load(const char *path, struct hs_token *ret, struct hs_error *err);
void hs_token_fini(struct hs_token *token);

/* ---- what both sides compute ---- */

void hs_wire_random(uint8_t *bytes, size_t n_bytes);
/* Compares in constant time. */
bool hs_wire_same(const uint8_t *a, const uint8_t *b, size_t n_bytes);
void hs_wire_sender_mac(const struct hs_token *token, const uint8_t *greeting, const uint8_t *body,
                        uint8_t *ret);
void hs_wire_gather_mac(const struct hs_token *token, const uint8_t *greeting,
                        const uint8_t *sender_mac, uint8_t *ret);
/* Computes the listener's proof that it has heard the end. */
void hs_wire_end_mac(const struct hs_token *token, const uint8_t *greeting,
                     const uint8_t *sender_mac, uint8_t *ret);
void hs_wire_key(const struct hs_token *token, const uint8_t *greeting, const uint8_t *sender_mac,
                 uint8_t *ret);
void hs_wire_tag(const uint8_t *key, uint64_t serial, const uint8_t *frame, size_t n_frame,
                 uint8_t *ret);
/* Adds a whole frame. */
hs_status hs_wire_put(struct hs_buffer *buffer, const uint8_t *key, uint64_t serial,
                      enum hs_wire_kind kind, const void *bytes, size_t n_bytes,
                      struct hs_error *err);

/* ---- the side that listens ---- */

struct hs_wire_peer {
    const struct hs_token *token; /* borrowed */
    uint8_t greeting[HS_WIRE_GREETING_BYTES];
    uint8_t key[HS_WIRE_KEY_BYTES];
    uint8_t thanks[HS_WIRE_MAC_BYTES]; /* for the end */
    uint64_t serial;
    struct hs_buffer in; /* one message at most */
    struct hs_buffer out;
    bool is_known, has_ended;
    uint64_t pid;
    char host[HS_WIRE_HOST_BYTES]; /* any bytes but NUL */
    struct hs_wire_counts counts;
    /* Is called once, when the token is proved; may refuse. NULL: all are let in. */
    hs_status (*admit)(void *context, struct hs_error *err);
    /* Is called for each packet, which is borrowed. */
    hs_status (*take)(void *context, const uint8_t *bytes, size_t n_bytes, struct hs_error *err);
    void *context;
};

/* Greets: `out` is to be sent, then and after each hear. */
hs_status hs_wire_peer_init(struct hs_wire_peer *peer, const struct hs_token *token,
                            struct hs_error *err);
void hs_wire_peer_fini(struct hs_wire_peer *peer);
/* Takes bytes in any portions. HS_FORMAT for what is no such protocol or was changed on the way,
 * HS_TARGET for another token; what `admit` and `take` fail with. The peer is to be let go then. */
hs_status hs_wire_peer_hear(struct hs_wire_peer *peer, const void *bytes, size_t n_bytes,
                            struct hs_error *err);

#endif
