/* heapsnap-push: hands one profile to a continuous profiler over HTTP, for `watch --push`, which
 * never waits for it. It says nothing but its answer (watch/push_wire.h), and nothing of the URL,
 * as there may be a password in it.
 *
 * Doors, by the end of the URL's path, as their makers document them:
 *
 *   /ingest                          Pyroscope: a form with the file "profile", all else in the
 * query (name, from, until, format=pprof) /push.v1.PusherService/Push      Pyroscope: JSON of
 * labels and base64 /profiles/writeraw               Parca: JSON of labels and base64, labels one
 * deeper any other                        the profile as it is
 *
 * Redirects are not followed: what is sent, a password included, goes to whom the user named. */
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <nettle/base64.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "watch/push_wire.h"

#define PROFILE_BYTES_MOST ((off_t)64 << 20)
enum { SAID_BYTES = 120, ANSWER_BYTES_MOST = 1 << 20, FAILED = 1 };
enum { HTTP_GOOD = 200, HTTP_REDIRECT = 300, HTTP_BAD = 400 };

struct push {
    struct hs_push_request request;
    struct hs_buffer profile, body;
    CURL *curl;
    CURLU *url;
    curl_mime *form;
    struct curl_slist *heads;
    char said[SAID_BYTES]; /* the begin of what was answered */
    size_t n_said, n_answered;
};

static int answer(const char *why, const char *more)
{
    char text[HS_PUSH_ANSWER_BYTES];
    int n = snprintf(text, sizeof text, "%s%s%s", why, more[0] != '\0' ? ": " : "", more);
    if (n > 0)
        (void)!write(STDOUT_FILENO, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    return FAILED;
}

/* ---- what is to be sent ---- */

static bool read_all(int fd, void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, (char *)bytes + at, n - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static bool read_profile(struct push *push)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct stat about;
    if (fstat(STDIN_FILENO, &about) != 0 || about.st_size <= 0 ||
        about.st_size > PROFILE_BYTES_MOST || lseek(STDIN_FILENO, 0, SEEK_SET) != 0)
        return false;
    size_t n = (size_t)about.st_size;
    if (hs_buffer_reserve(&push->profile, n, &ignored) != HS_OK)
        return false;
    push->profile.n_bytes = n;
    return read_all(STDIN_FILENO, push->profile.bytes, n);
}

static bool put(struct hs_buffer *b, const char *text)
{
    struct hs_error ignored = HS_ERROR_INIT;
    if (hs_buffer_reserve(b, strlen(text), &ignored) != HS_OK)
        return false;
    hs_buffer_put_bytes(b, text, strlen(text));
    return true;
}

static bool put_base64(struct hs_buffer *b, const struct hs_buffer *bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;
    size_t n = BASE64_ENCODE_RAW_LENGTH(bytes->n_bytes);
    if (hs_buffer_reserve(b, n, &ignored) != HS_OK)
        return false;
    base64_encode_raw((char *)b->bytes + b->n_bytes, bytes->n_bytes, bytes->bytes);
    b->n_bytes += n;
    return true;
}

/* A random UUID (version 4). */
static void draw_id(char text[40])
{
    uint8_t r[16] = {0};
    (void)!getrandom(r, sizeof r, GRND_NONBLOCK);
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40);
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    (void)snprintf(text, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12],
                   r[13], r[14], r[15]);
}

/* Makes the JSON. Names are plain (push_wire.h), so that nothing has to be escaped. */
static bool make_json(struct push *push, bool is_parca)
{
    char labels[512], sample[80], id[40];
    struct hs_buffer *b = &push->body;
    draw_id(id);
    (void)snprintf(labels, sizeof labels,
                   "[{\"name\":\"__name__\",\"value\":\"memory\"},"
                   "{\"name\":\"service_name\",\"value\":\"%s\"},"
                   "{\"name\":\"instance\",\"value\":\"%s\"}]",
                   push->request.service, push->request.host);
    (void)snprintf(sample, sizeof sample, "\"ID\":\"%s\",", id);
    return put(b, "{\"series\":[{\"labels\":") && (!is_parca || put(b, "{\"labels\":")) &&
           put(b, labels) && (!is_parca || put(b, "}")) && put(b, ",\"samples\":[{") &&
           (is_parca || put(b, sample)) && put(b, "\"rawProfile\":\"") &&
           put_base64(b, &push->profile) && put(b, "\"}]}]}");
}

/* ---- how ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Adds a parameter to the query of a URL; what the user wrote there stays. */
static bool add_to_query(struct push *push, const char *name, const char *value)
{
    char text[256], *query = NULL;
    bool is_there = false;
    (void)snprintf(text, sizeof text, "%s=%s", name, value);
    size_t n = strlen(name) + 1;
    if (curl_url_get(push->url, CURLUPART_QUERY, &query, 0) == CURLUE_OK)
        for (const char *at = query; at != NULL && !is_there; at = strchr(at, '&')) {
            at += *at == '&';
            is_there = strncmp(at, text, n) == 0;
        }
    curl_free(query);
    return is_there || curl_url_set(push->url, CURLUPART_QUERY, text,
                                    CURLU_APPENDQUERY | CURLU_URLENCODE) == CURLUE_OK;
}

static bool make_form(struct push *push)
{
    const struct hs_push_request *request = &push->request;
    char name[2 * HS_PUSH_NAME_BYTES + 16], from[24], until[24];
    (void)snprintf(name, sizeof name, "%s{instance=%s}", request->service, request->host);
    (void)snprintf(from, sizeof from, "%llu", (unsigned long long)request->from_s);
    (void)snprintf(until, sizeof until, "%llu", (unsigned long long)request->until_s);
    push->form = curl_mime_init(push->curl);
    curl_mimepart *part = push->form == NULL ? NULL : curl_mime_addpart(push->form);
    return part != NULL && curl_mime_name(part, "profile") == CURLE_OK &&
           curl_mime_filename(part, "profile.pprof") == CURLE_OK &&
           curl_mime_data(part, (const char *)push->profile.bytes, push->profile.n_bytes) ==
               CURLE_OK &&
           curl_easy_setopt(push->curl, CURLOPT_MIMEPOST, push->form) == CURLE_OK &&
           add_to_query(push, "name", name) && add_to_query(push, "from", from) &&
           add_to_query(push, "until", until) && add_to_query(push, "format", "pprof");
}

static bool add_head(struct push *push, const char *head)
{
    struct curl_slist *longer = curl_slist_append(push->heads, head);
    if (longer != NULL)
        push->heads = longer;
    return longer != NULL;
}

static bool post(struct push *push, const struct hs_buffer *bytes, const char *type)
{
    return add_head(push, type) &&
           curl_easy_setopt(push->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes->n_bytes) ==
               CURLE_OK &&
           curl_easy_setopt(push->curl, CURLOPT_POSTFIELDS, bytes->bytes) == CURLE_OK;
}

static bool choose_door(struct push *push)
{
    char *path = NULL;
    if (curl_url_get(push->url, CURLUPART_PATH, &path, 0) != CURLUE_OK)
        return false;
    bool is_parca = ends_with(path, "/profiles/writeraw"), is_good;
    if (ends_with(path, "/ingest"))
        is_good = make_form(push);
    else if (is_parca || ends_with(path, "/push.v1.PusherService/Push"))
        is_good =
            make_json(push, is_parca) && post(push, &push->body, "Content-Type: application/json");
    else
        is_good = post(push, &push->profile, "Content-Type: application/octet-stream");
    curl_free(path);
    return is_good;
}

/* A server may answer without end. */
static size_t hear(char *bytes, size_t size, size_t n, void *context)
{
    struct push *push = context;
    for (size_t i = 0; i < size * n && push->n_said < sizeof push->said - 1; i++) {
        unsigned char c = (unsigned char)bytes[i];
        push->said[push->n_said++] = isprint(c) ? (char)c : ' ';
    }
    push->n_answered += size * n;
    return push->n_answered > ANSWER_BYTES_MOST ? 0 : size * n;
}

static bool set_options(struct push *push)
{
    CURL *curl = push->curl;
    const char *token = getenv("HEAPSNAP_PUSH_TOKEN");
    char head[1024];
    long timeout = (long)push->request.timeout_ms;
    if (token != NULL && token[0] != '\0') {
        (void)snprintf(head, sizeof head, "Authorization: Bearer %s", token);
        if (strpbrk(token, "\r\n") != NULL || !add_head(push, head))
            return false;
    }
    return curl_easy_setopt(curl, CURLOPT_CURLU, push->url) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_USERAGENT, "heapsnap") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, push->heads) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, hear) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, push) == CURLE_OK;
}

/* ---- what came of it ---- */

static int explain_failure(const struct push *push, CURLcode code)
{
    char text[80];
    long number = 0;
    (void)curl_easy_getinfo(push->curl, CURLINFO_OS_ERRNO, &number);
    if (code == CURLE_OPERATION_TIMEDOUT) {
        (void)snprintf(text, sizeof text, "no answer within %.1f s",
                       (double)push->request.timeout_ms / 1000);
        return answer(text, "");
    }
    if (code == CURLE_COULDNT_CONNECT && number != 0)
        return answer("cannot connect", strerror((int)number));
    return answer(curl_easy_strerror(code), "");
}

static int explain_status(const struct push *push)
{
    char text[80];
    long status = 0;
    (void)curl_easy_getinfo(push->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= HTTP_GOOD && status < HTTP_REDIRECT)
        return 0;
    (void)snprintf(text, sizeof text,
                   status >= HTTP_REDIRECT && status < HTTP_BAD
                       ? "it redirects (HTTP %ld), which is not followed"
                       : "it answers HTTP %ld",
                   status);
    return answer(text, push->said);
}

static int send_profile(struct push *push)
{
    push->curl = curl_easy_init();
    push->url = curl_url();
    if (push->curl == NULL || push->url == NULL)
        return answer("no memory", "");
    if (curl_url_set(push->url, CURLUPART_URL, push->request.url, 0) != CURLUE_OK)
        return answer("this is no URL", "");
    if (!choose_door(push) || !set_options(push))
        return answer("cannot make the request", "");
    CURLcode code = curl_easy_perform(push->curl);
    return code != CURLE_OK ? explain_failure(push, code) : explain_status(push);
}

int main(void)
{
    static struct push push;
    if (!read_all(HS_PUSH_REQUEST_FD, &push.request, sizeof push.request))
        return answer("heapsnap-push is for 'heapsnap watch --push' alone", "");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)push.request.parent)
        return FAILED;
    push.request.url[sizeof push.request.url - 1] = '\0';
    push.request.service[HS_PUSH_NAME_BYTES - 1] = '\0';
    push.request.host[HS_PUSH_NAME_BYTES - 1] = '\0';
    if (!read_profile(&push))
        return answer("there is no profile, or one of more than 64 MiB", "");
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return answer("cannot begin", "");
    int code = send_profile(&push);
    curl_slist_free_all(push.heads);
    curl_mime_free(push.form);
    curl_url_cleanup(push.url);
    curl_easy_cleanup(push.curl);
    curl_global_cleanup();
    hs_buffer_fini(&push.profile);
    hs_buffer_fini(&push.body);
    return code;
}
