/* links: hs_viewer hs_dep_zlib hs_dep_nettle */
/* A page holds its data whole, says what it comes to before, and nothing in the data gets out. */
#include "viewer/page.h"

#include <fcntl.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "unit.h"

#include "fail_each.h"

static hs_status write_page(int fd, const struct hs_page_member *members, size_t n,
                            struct hs_error *err)
{
    struct hs_out out = {.fd = -1};
    struct hs_page *page = NULL;
    hs_status status = hs_out_open_fd(fd, "the page", &out, err);
    if (status == HS_OK)
        status = hs_page_new(&out, &page, err);
    for (size_t i = 0; i < n && status == HS_OK; i++)
        status = hs_page_put(page, &members[i], err);
    if (status == HS_OK)
        status = hs_page_end(page, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_page_free(page);
    hs_out_close(&out);
    return status;
}

static char *text_of(int fd, size_t *ret_n)
{
    size_t n = (size_t)lseek(fd, 0, SEEK_END);
    char *text = malloc(n + 1);
    assert_non_null(text);
    assert_int_equal(pread(fd, text, n, 0), n);
    text[n] = '\0';
    *ret_n = n;
    return text;
}

static char *page_of(const struct hs_page_member *members, size_t n, size_t *ret_n)
{
    struct hs_error err = HS_ERROR_INIT;
    int fd = memfd_create("page", MFD_CLOEXEC);
    assert_int_equal(write_page(fd, members, n, &err), HS_OK);
    char *text = text_of(fd, ret_n);
    (void)close(fd);
    return text;
}

static char *data_of(const char *page)
{
    static const char begin[] = "<script type=\"text/plain\" id=\"data\">\n";
    const char *at = strstr(page, begin);
    assert_non_null(at);
    at += strlen(begin);
    size_t n = (size_t)(strchr(at, '<') - at), n_packed = BASE64_DECODE_LENGTH(n);
    uint8_t *packed = malloc(n_packed);
    enum { MOST = 8 << 20 };
    char *data = malloc(MOST);
    struct base64_decode_ctx context;
    base64_decode_init(&context);
    assert_true(base64_decode_update(&context, &n_packed, packed, n, at));
    assert_true(base64_decode_final(&context));
    z_stream stream = {.next_in = packed,
                       .avail_in = (uInt)n_packed,
                       .next_out = (Bytef *)data,
                       .avail_out = MOST - 1};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    data[stream.total_out] = '\0';
    (void)inflateEnd(&stream);
    free(packed);
    return data;
}

static struct hs_page_member member(const char *name, const char *json)
{
    return (struct hs_page_member){name, json, strlen(json), 100};
}

static void data_is_whole(void **state)
{
    const struct hs_page_member members[] = {
        member("a", "{\"x\": 1}\n"),
        member("b", "[\"</script><script>alert(1)</script>\", \"]]>\", \"-->\"]"),
        {"c", "\"abcdef\"", 8, 3},
    };
    size_t n;
    char *page = page_of(members, 3, &n), *data = data_of(page);
    assert_string_equal(data, "{\"a\":{\"x\": 1}\n,\"b\":[\"</script><script>alert(1)</script>\", "
                              "\"]]>\", \"-->\"],\"c\":\"abc\xe2\x80\xa6\"}");
    free(data);
    assert_null(strstr(page, "alert(1)"));
    char *ends = page;
    unsigned n_ends = 0;
    for (; (ends = strstr(ends, "</script>")) != NULL; ends++)
        n_ends++;
    assert_int_equal(n_ends, 2); /* of the data and of the script */
    free(page);
}

/* Between two marks, what a policy has to say of it. */
static void check_hash(const char *page, const char *begin, const char *end, const char *what)
{
    const char *from = strstr(page, begin) + strlen(begin), *to = strstr(from, end);
    uint8_t digest[SHA256_DIGEST_SIZE];
    char letters[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = {0}, wanted[120];
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, (size_t)(to - from), (const uint8_t *)from);
    sha256_digest(&context, sizeof digest, digest);
    base64_encode_raw(letters, sizeof digest, digest);
    (void)snprintf(wanted, sizeof wanted, "%s 'sha256-%s';", what, letters);
    assert_non_null(strstr(page, wanted));
}

static void policy(void **state)
{
    const struct hs_page_member one = member("a", "1");
    size_t n;
    char *page = page_of(&one, 1, &n);
    assert_non_null(strstr(page, "default-src 'none';"));
    assert_null(strstr(page, "unsafe"));
    assert_null(strstr(page, " src="));
    check_hash(page, "<style>", "</style>", "style-src");
    check_hash(page, "<script>", "</script>", "script-src");
    free(page);
}

/* Random text is what packs worst. */
static void sizes(void **state)
{
    enum { N = 300000 };
    struct hs_error err = HS_ERROR_INIT;
    char *json = malloc(N + 3);
    uint32_t random = 1;
    for (size_t i = 1; i <= N; i++) {
        random = random * 1664525 + 1013904223;
        json[i] = (char)('#' + random % 54 + (random >> 30)); /* neither quote nor backslash */
    }
    json[0] = json[N + 1] = '"';
    for (size_t most = 1000; most <= N; most *= 17) {
        const struct hs_page_member one = {"a", json, N + 2, most};
        size_t n_packed, n_page, n_empty;
        assert_int_equal(hs_page_measure(&one, &n_packed, &err), HS_OK);
        const struct hs_page_member nothing = member("a", "1");
        free(page_of(&nothing, 1, &n_empty));
        free(page_of(&one, 1, &n_page));
        assert_true(n_packed > most / 2 && n_packed < most + 1000);
        assert_in_range(n_page - n_empty, n_packed / 57 * 77 - 200, n_packed / 57 * 77 + 200);
    }
    free(json);
}

static void disk_is_full(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_page_member one = member("a", "1");
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(write_page(fd, &one, 1, &err), HS_IO);
    (void)close(fd);
}

static void allocations_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_page_member one = member("a", "1");
    int fd = memfd_create("page", MFD_CLOEXEC);
    FAIL_EACH (each, .at_least = 1)
        (void)FAIL_EACH_TRY(each, write_page(fd, &one, 1, &err));
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_whole),
        cmocka_unit_test(policy),
        cmocka_unit_test(sizes),
        cmocka_unit_test(disk_is_full),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
