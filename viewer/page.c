#include "viewer/page.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "json_cut.h"
#include "page_assets.h"

#define PIECE_BYTES ((size_t)16 << 10)
#define LINE_BYTES ((size_t)57) /* of data in a line of base64, which has 76 */

struct hs_page {
    struct hs_out *out; /* borrowed */
    z_stream packer;
    bool is_packing, has_members;
    bool is_measured; /* what is packed is counted and goes nowhere */
    size_t n_packed;
    uint8_t line[LINE_BYTES];
    size_t n_line;
};

static hs_status put_text(struct hs_page *page, const char *text, struct hs_error *err)
{
    return hs_out_write(page->out, text, strlen(text), err);
}

/* ---- the data, packed and in letters */

static hs_status put_line(struct hs_page *page, struct hs_error *err)
{
    char letters[BASE64_ENCODE_RAW_LENGTH(LINE_BYTES) + 1];
    size_t n = BASE64_ENCODE_RAW_LENGTH(page->n_line);
    base64_encode_raw(letters, page->n_line, page->line);
    letters[n] = '\n';
    page->n_line = 0;
    return hs_out_write(page->out, letters, n + 1, err);
}

static hs_status put_packed(struct hs_page *page, const uint8_t *bytes, size_t n,
                            struct hs_error *err)
{
    page->n_packed += n;
    while (n > 0 && !page->is_measured) {
        size_t room = LINE_BYTES - page->n_line, more = n < room ? n : room;
        memcpy(page->line + page->n_line, bytes, more);
        page->n_line += more;
        bytes += more;
        n -= more;
        if (page->n_line == LINE_BYTES)
            HS_TRY(put_line(page, err));
    }
    return HS_OK;
}

static hs_status pack(struct hs_page *page, const void *bytes, size_t n, int flush,
                      struct hs_error *err)
{
    uint8_t packed[PIECE_BYTES];
    page->packer.next_in = (z_const Bytef *)bytes;
    page->packer.avail_in = (uInt)n;
    for (bool is_done = false; !is_done;) {
        page->packer.next_out = packed;
        page->packer.avail_out = sizeof packed;
        int result = deflate(&page->packer, flush);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return hs_fail(err, HS_BUG, "cannot pack the page: zlib says %d", result);
        HS_TRY(put_packed(page, packed, sizeof packed - page->packer.avail_out, err));
        is_done = flush == Z_FINISH ? result == Z_STREAM_END : page->packer.avail_out != 0;
    }
    return HS_OK;
}

static hs_status pack_text(struct hs_page *page, const char *text, struct hs_error *err)
{
    return pack(page, text, strlen(text), Z_NO_FLUSH, err);
}

/* ---- what stands around it */

/* Writes 'sha256-...' of a text, as a policy has it. */
static void hash_of(const char *text, char *ret, size_t n)
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char letters[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = {0};
    sha256_init(&context);
    sha256_update(&context, strlen(text), (const uint8_t *)text);
    sha256_digest(&context, sizeof digest, digest);
    base64_encode_raw(letters, sizeof digest, digest);
    (void)snprintf(ret, n, "'sha256-%s'", letters);
}

static hs_status put_head(struct hs_page *page, struct hs_error *err)
{
    char style[80], script[80], policy[400];
    hash_of(hs_page_css, style, sizeof style);
    hash_of(hs_page_js, script, sizeof script);
    (void)snprintf(policy, sizeof policy,
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src %s; script-src %s; base-uri 'none'; form-action 'none'\">\n",
                   style, script);
    HS_TRY(put_text(page,
                    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width\">\n",
                    err));
    HS_TRY(put_text(page, policy, err));
    HS_TRY(put_text(page, "<title>heapsnap</title>\n<style>", err));
    HS_TRY(put_text(page, hs_page_css, err));
    return put_text(
        page,
        "</style>\n</head>\n<body>\n<noscript>This report is drawn by the script in it: "
        "allow scripts for this file. The commands of heapsnap print the same."
        "</noscript>\n<div id=\"app\"></div>\n"
        "<script type=\"text/plain\" id=\"data\">\n",
        err);
}

static hs_status page_open(struct hs_page *page, struct hs_error *err)
{
    enum { GZIP = 16, WINDOW = 15, MEMORY = 8 };
    int result = deflateInit2(&page->packer, Z_BEST_COMPRESSION, Z_DEFLATED, WINDOW + GZIP, MEMORY,
                              Z_DEFAULT_STRATEGY);
    page->is_packing = result == Z_OK;
    return page->is_packing ? HS_OK : hs_fail(err, HS_LIMIT, "cannot pack the page: out of memory");
}

static void page_close(struct hs_page *page)
{
    if (page->is_packing)
        (void)deflateEnd(&page->packer);
}

hs_status hs_page_new(struct hs_out *out, struct hs_page **ret, struct hs_error *err)
{
    struct hs_page *page = NULL;
    HS_TRY(HS_ALLOC(&page, 1, err));
    page->out = out;
    hs_status status = page_open(page, err);
    if (status == HS_OK)
        status = put_head(page, err);
    if (status == HS_OK)
        status = pack_text(page, "{", err);
    if (status == HS_OK)
        *ret = page;
    else
        hs_page_free(page);
    return status;
}

static hs_status put_cut(struct hs_page *page, const struct hs_page_member *member,
                         struct hs_error *err)
{
    enum { TAKE = 4096 };
    struct json_cut cut = {.most = member->most_string};
    const char *json = member->json;
    size_t n = member->n_bytes;
    /* A string has two quotes at least, and grows by three bytes at most. */
    char piece[TAKE + TAKE / 2 * 3 + 3];
    for (size_t at = 0; at < n;) {
        size_t take = n - at < TAKE ? n - at : TAKE;
        size_t became = json_cut_copy(&cut, json + at, take, piece);
        HS_TRY(pack(page, piece, became, Z_NO_FLUSH, err));
        at += take;
    }
    return HS_OK;
}

hs_status hs_page_measure(const struct hs_page_member *member, size_t *ret, struct hs_error *err)
{
    struct hs_page page = {.is_measured = true};
    HS_TRY(page_open(&page, err));
    hs_status status = put_cut(&page, member, err);
    if (status == HS_OK)
        status = pack(&page, "", 0, Z_FINISH, err);
    page_close(&page);
    *ret = page.n_packed;
    return status;
}

hs_status hs_page_put(struct hs_page *page, const struct hs_page_member *member,
                      struct hs_error *err)
{
    HS_TRY(pack_text(page, page->has_members ? ",\"" : "\"", err));
    page->has_members = true;
    HS_TRY(pack_text(page, member->name, err));
    HS_TRY(pack_text(page, "\":", err));
    return put_cut(page, member, err);
}

hs_status hs_page_end(struct hs_page *page, struct hs_error *err)
{
    HS_TRY(pack(page, "}", 1, Z_FINISH, err));
    if (page->n_line > 0)
        HS_TRY(put_line(page, err));
    HS_TRY(put_text(page, "</script>\n<script>", err));
    HS_TRY(put_text(page, hs_page_js, err));
    return put_text(page, "</script>\n</body>\n</html>\n", err);
}

void hs_page_free(struct hs_page *page)
{
    if (page == NULL)
        return;
    page_close(page);
    hs_free(page);
}
