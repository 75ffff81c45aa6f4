/* links: hs_tools_lib */
/* parts: record */
/* What a sender says to gather: any bytes before it has proved the token; and any frames, with
 * right tags, after. The first byte of the input says which, and in what portions it comes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/record/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static uint8_t secret[] = "0123456789abcdef0123456789abcdef";
static const struct hs_token token = {secret, sizeof secret - 1};

static hs_status take(void *context, const uint8_t *bytes, size_t n_bytes, struct hs_error *err)
{
    size_t *n = context;
    *n += n_bytes;
    return n_bytes != 0 && bytes[n_bytes - 1] == 0xee ? hs_fail(err, HS_FORMAT, "refused") : HS_OK;
}

static hs_status hear(struct hs_wire_peer *peer, const uint8_t *bytes, size_t n_bytes,
                      size_t portion, struct hs_error *err)
{
    for (size_t at = 0; at < n_bytes; at += portion) {
        size_t n = n_bytes - at < portion ? n_bytes - at : portion;
        HS_TRY(hs_wire_peer_hear(peer, bytes + at, n, err));
        assert(peer->in.n_bytes <=
               HS_WIRE_HEAD_BYTES + HS_WIRE_MAX_FRAME_BYTES + HS_WIRE_TAG_BYTES);
    }
    return HS_OK;
}

static hs_status prove(struct hs_wire_peer *peer, uint8_t *key, struct hs_error *err)
{
    uint8_t hello[HS_WIRE_HELLO_BYTES] = {0};
    uint8_t *body = hello + HS_WIRE_MAGIC_BYTES, *proof = body + HS_WIRE_BODY_BYTES;
    memcpy(hello, HS_WIRE_SENDER_MAGIC, HS_WIRE_MAGIC_BYTES);
    hs_wire_sender_mac(&token, peer->greeting, body, proof);
    hs_wire_key(&token, peer->greeting, proof, key);
    return hs_wire_peer_hear(peer, hello, sizeof hello, err);
}

/* Each frame: kind, length, contents. */
static void frames(struct hs_wire_peer *peer, const uint8_t *bytes, size_t n_bytes, size_t portion)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer all = {0};
    uint8_t key[HS_WIRE_KEY_BYTES];
    hs_status status = prove(peer, key, &err);
    assert(status == HS_OK && peer->is_known);
    uint64_t serial = 0;
    for (size_t at = 0; at + 2 <= n_bytes; serial++) {
        size_t n = bytes[at + 1] < n_bytes - at - 2 ? bytes[at + 1] : n_bytes - at - 2;
        if (hs_wire_put(&all, key, serial, (enum hs_wire_kind)bytes[at], bytes + at + 2, n, &err) !=
            HS_OK)
            abort();
        at += 2 + n;
    }
    status = hear(peer, all.bytes, all.n_bytes, portion, &err);
    assert(status != HS_OK || peer->serial == serial);
    hs_buffer_fini(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    size_t n_taken = 0;
    struct hs_wire_peer peer = {.take = take, .context = &n_taken};
    if (n_bytes == 0)
        return 0;
    size_t portion = (size_t)(bytes[0] >> 1) + 1;
    if (hs_wire_peer_init(&peer, &token, &err) != HS_OK)
        abort();
    if ((bytes[0] & 1) != 0) {
        frames(&peer, bytes + 1, n_bytes - 1, portion);
    } else {
        hs_status status = hear(&peer, bytes + 1, n_bytes - 1, portion, &err);
        assert(status == HS_OK || err.message[0] != '\0');
        assert(!peer.is_known && n_taken == 0); /* nobody guesses a proof */
    }
    hs_wire_peer_fini(&peer);
    return 0;
}
