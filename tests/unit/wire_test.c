/* links: hs_tools_lib hs_dep_nettle */
/* parts: record */
/* The protocol of gather, with a sender that does what it should, and others. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/record/gather_run.h"
#include "tools/record/wire.h"

static uint8_t secret[] = "0123456789abcdef0123456789abcdef";
static const struct hs_token token = {secret, sizeof secret - 1};

struct heard {
    size_t n_packets, n_bytes;
    uint8_t last;
};

static hs_status take(void *context, const uint8_t *bytes, size_t n_bytes, struct hs_error *err)
{
    struct heard *heard = context;
    heard->n_packets++;
    heard->n_bytes += n_bytes;
    heard->last = bytes[n_bytes - 1];
    return n_bytes == 13 ? hs_fail(err, HS_LIMIT, "thirteen") : HS_OK;
}

static void begin(struct hs_wire_peer *peer, struct heard *heard)
{
    struct hs_error err = HS_ERROR_INIT;
    *heard = (struct heard){0};
    *peer = (struct hs_wire_peer){.take = take, .context = heard};
    assert_int_equal(hs_wire_peer_init(peer, &token, &err), HS_OK);
    assert_int_equal(peer->out.n_bytes, HS_WIRE_GREETING_BYTES);
}

/* What a sender with that token says first, and the key that it has then. */
static void make_hello(const struct hs_wire_peer *peer, const struct hs_token *with, uint8_t *hello,
                       uint8_t *key)
{
    uint8_t *body = hello + HS_WIRE_MAGIC_BYTES, *proof = body + HS_WIRE_BODY_BYTES;
    memset(hello, 0, HS_WIRE_HELLO_BYTES);
    memcpy(hello, HS_WIRE_SENDER_MAGIC, HS_WIRE_MAGIC_BYTES);
    hs_wire_random(body, HS_WIRE_NONCE_BYTES);
    body[HS_WIRE_NONCE_BYTES] = 77;
    (void)snprintf((char *)body + HS_WIRE_NONCE_BYTES + 8, HS_WIRE_HOST_BYTES, "some-host");
    hs_wire_sender_mac(with, peer->greeting, body, proof);
    hs_wire_key(with, peer->greeting, proof, key);
}

static void make_session(const struct hs_wire_peer *peer, struct hs_buffer *all)
{
    struct hs_error err = HS_ERROR_INIT;
    uint8_t hello[HS_WIRE_HELLO_BYTES], key[HS_WIRE_KEY_BYTES],
        counts[24] = {2, 0, 0, 0, 0, 0, 0, 0, 9, 0};
    make_hello(peer, &token, hello, key);
    assert_int_equal(hs_buffer_reserve(all, sizeof hello, &err), HS_OK);
    hs_buffer_put_bytes(all, hello, sizeof hello);
    assert_int_equal(hs_wire_put(all, key, 0, HS_WIRE_PACKET, "first", 5, &err), HS_OK);
    assert_int_equal(hs_wire_put(all, key, 1, HS_WIRE_ALIVE, NULL, 0, &err), HS_OK);
    assert_int_equal(hs_wire_put(all, key, 2, HS_WIRE_PACKET, "second", 6, &err), HS_OK);
    assert_int_equal(hs_wire_put(all, key, 3, HS_WIRE_END, counts, sizeof counts, &err), HS_OK);
}

static void test_portions(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_wire_peer peer;
    struct heard heard;
    for (size_t portion = 1; portion < 300; portion += 7) {
        struct hs_buffer all = {0};
        begin(&peer, &heard);
        make_session(&peer, &all);
        for (size_t at = 0; at < all.n_bytes; at += portion) {
            size_t n = all.n_bytes - at < portion ? all.n_bytes - at : portion;
            assert_int_equal(hs_wire_peer_hear(&peer, all.bytes + at, n, &err), HS_OK);
        }
        assert_true(peer.is_known && peer.has_ended);
        assert_int_equal(peer.pid, 77);
        assert_string_equal(peer.host, "some-host");
        assert_int_equal(heard.n_packets, 2);
        assert_int_equal(heard.n_bytes, 11);
        assert_int_equal(heard.last, 'd');
        assert_int_equal(peer.counts.n_sent, 2);
        assert_int_equal(peer.counts.n_dropped, 9);
        /* The answer proves that we have the token, too. */
        uint8_t expected[HS_WIRE_MAC_BYTES];
        hs_wire_gather_mac(&token, peer.greeting,
                           all.bytes + HS_WIRE_HELLO_BYTES - HS_WIRE_MAC_BYTES, expected);
        assert_memory_equal(peer.out.bytes + HS_WIRE_GREETING_BYTES, expected, sizeof expected);
        hs_wire_end_mac(&token, peer.greeting, all.bytes + HS_WIRE_HELLO_BYTES - HS_WIRE_MAC_BYTES,
                        expected);
        assert_memory_equal(peer.out.bytes + HS_WIRE_GREETING_BYTES + HS_WIRE_MAC_BYTES, expected,
                            sizeof expected);
        hs_wire_peer_fini(&peer);
        hs_buffer_fini(&all);
    }
}

/* Any bit that is changed ends it there: nothing of that frame or after it is taken. */
static void test_changed(void **state)
{
    struct hs_wire_peer peer;
    struct heard heard;
    struct hs_buffer all = {0};
    begin(&peer, &heard);
    make_session(&peer, &all);
    hs_wire_peer_fini(&peer);
    for (size_t at = 0; at < all.n_bytes; at++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_buffer session = {0};
        begin(&peer, &heard);
        make_session(&peer, &session);
        session.bytes[at] ^= (uint8_t)(1 << at % 8);
        hs_status status = hs_wire_peer_hear(&peer, session.bytes, session.n_bytes, &err);
        if (status == HS_OK) /* a length that promises more */
            assert_false(peer.has_ended);
        else
            assert_true(status == HS_FORMAT || status == HS_TARGET);
        if (at < HS_WIRE_HELLO_BYTES) {
            assert_false(peer.is_known);
            assert_int_equal(heard.n_packets, 0);
        }
        hs_wire_peer_fini(&peer);
        hs_buffer_fini(&session);
    }
    hs_buffer_fini(&all);
}

static void test_other_token(void **state)
{
    static uint8_t wrong[] = "0123456789abcdef0123456789abcdeF";
    const struct hs_token other = {wrong, sizeof wrong - 1};
    struct hs_error err = HS_ERROR_INIT;
    uint8_t hello[HS_WIRE_HELLO_BYTES], key[HS_WIRE_KEY_BYTES];
    struct hs_wire_peer peer;
    struct heard heard;
    begin(&peer, &heard);
    make_hello(&peer, &other, hello, key);
    assert_int_equal(hs_wire_peer_hear(&peer, hello, sizeof hello, &err), HS_TARGET);
    assert_false(peer.is_known);
    assert_int_equal(peer.out.n_bytes, HS_WIRE_GREETING_BYTES); /* not a word more */
    hs_wire_peer_fini(&peer);
}

/* What was said in one connection is worth nothing in another. */
static void test_replay(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_wire_peer peer;
    struct heard heard;
    struct hs_buffer all = {0};
    begin(&peer, &heard);
    make_session(&peer, &all);
    hs_wire_peer_fini(&peer);
    begin(&peer, &heard);
    assert_int_equal(hs_wire_peer_hear(&peer, all.bytes, all.n_bytes, &err), HS_TARGET);
    hs_wire_peer_fini(&peer);
    hs_buffer_fini(&all);
}

static void test_limits(void **state)
{
    static const char thirteen[13];
    struct hs_error err = HS_ERROR_INIT;
    uint8_t hello[HS_WIRE_HELLO_BYTES], key[HS_WIRE_KEY_BYTES];
    uint8_t large[HS_WIRE_HEAD_BYTES] = {0xff, 0xff, 0xff, 0x7f, HS_WIRE_PACKET};
    struct hs_wire_peer peer;
    struct hs_buffer frame = {0};
    struct heard heard;
    begin(&peer, &heard);
    assert_int_equal(hs_wire_peer_hear(&peer, "GET / HTTP/1.1\r\n", 16, &err), HS_FORMAT);
    hs_wire_peer_fini(&peer);

    begin(&peer, &heard);
    make_hello(&peer, &token, hello, key);
    assert_int_equal(hs_wire_peer_hear(&peer, hello, sizeof hello, &err), HS_OK);
    assert_int_equal(hs_wire_peer_hear(&peer, large, sizeof large, &err), HS_FORMAT);
    assert_true(peer.in.capacity < 4096);
    hs_wire_peer_fini(&peer);

    begin(&peer, &heard);
    make_hello(&peer, &token, hello, key);
    assert_int_equal(hs_wire_peer_hear(&peer, hello, sizeof hello, &err), HS_OK);
    assert_int_equal(hs_wire_put(&frame, key, 0, HS_WIRE_PACKET, thirteen, 13, &err), HS_OK);
    assert_int_equal(hs_wire_peer_hear(&peer, frame.bytes, frame.n_bytes, &err), HS_LIMIT);
    hs_wire_peer_fini(&peer);
    hs_buffer_fini(&frame);
}

static void write_token(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void test_token_file(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_token found = {0};
    char path[] = "token.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_token(path, "0123456789abcdef\n", 0600);
    assert_int_equal(hs_token_load(path, &found, &err), HS_OK);
    assert_int_equal(found.n_bytes, 16);
    hs_token_fini(&found);
    write_token(path, "0123456789abcdef\n", 0640);
    assert_int_equal(hs_token_load(path, &found, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "others may read it"));
    write_token(path, "0123456789abcde\n", 0600);
    assert_int_equal(hs_token_load(path, &found, &err), HS_USAGE);
    assert_int_equal(hs_token_load("/", &found, &err), HS_USAGE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(hs_token_load(path, &found, &err), HS_IO);
}

static void test_names(void **state)
{
    char name[HS_GATHER_NAME_BYTES];
    hs_gather_name("web-1.example", 42, UINT64_C(1700000000) * 1000000, name);
    assert_string_equal(name, "web-1.example-42-20231114T221320Z");
    hs_gather_name("../../etc/passwd", 42, UINT64_C(1700000000) * 1000000, name);
    assert_string_equal(name, "_._.._etc_passwd-42-20231114T221320Z");
    hs_gather_name("", 1, UINT64_MAX, name);
    assert_null(strchr(name, '/'));
    assert_int_equal(strncmp(name, "unknown-1-", 10), 0);
    hs_gather_name("a\n\033[31mb\xff", 1, 0, name);
    assert_string_equal(name, "a___31mb_-1-19700101T000000Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_portions),    cmocka_unit_test(test_changed),
        cmocka_unit_test(test_other_token), cmocka_unit_test(test_replay),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_token_file),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
