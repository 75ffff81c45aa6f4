/* links: hs_server */
/* Requests of anybody: head and body as lines. Whatever they hold, there is an answer with a status
 * of HTTP, or a question whose words name no file but the snapshots'; and an answer of a command,
 * be it cut or no JSON at all, is handed out without a byte from beyond it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static const char token[] = "0123456789abcdef0123456789abcdef";
static const char own_authorization[] = "Bearer 0123456789abcdef0123456789abcdef";

static const struct hs_served items[] = {
    {.name = "new.snap",
     .path = "dir/new.snap",
     .identity = 0x1234,
     .n_bytes = 100,
     .changed_ns = 1},
    {.name = "old.snap", .path = "dir/old.snap", .identity = 0x5678, .n_bytes = 90},
};
static const struct hs_served_list list = {.items = items, .n = 2, .folder = "dir"};

/* The words behind "--" are the files, then what is asked for. */
static void check_question(const struct hs_question *question)
{
    bool is_behind = false;
    assert(question->served == &items[0] || question->served == &items[1]);
    for (size_t i = 0; i < question->n_words; i++) {
        const char *word = question->words[i];
        assert(is_behind || (strncmp(word, "-o", 2) != 0 && strncmp(word, "--output", 8) != 0));
        if (is_behind && i + 1 < question->n_words)
            assert(strcmp(word, items[0].path) == 0 || strcmp(word, items[1].path) == 0);
        is_behind |= strcmp(word, "--") == 0;
    }
    assert(question->words[question->n_words] == NULL);
}

static void answer(struct hs_exchange *exchange, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {0};
    int fd = memfd_create("answer", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    assert(lseek(fd, 0, SEEK_SET) == 0);
    assert(hs_map_open_fd(fd, "answer", &map, &err) == HS_OK);
    (void)close(fd);
    hs_server_finish(exchange, HS_OK, &err, &map);
}

static void check_answer(const struct hs_answer *made)
{
    unsigned sum = 0;
    assert(made->status >= 200 && made->status < 600);
    for (size_t i = 0; i < made->n_bytes; i++)
        sum += ((const uint8_t *)made->bytes)[i];
    assert(sum < UINT32_MAX);
}

/* Lines: method, target, Host, Origin, Authorization ("own": the true one), If-None-Match, what the
 * command prints, the body. A line "-" is a header that is not there. */
enum { LINES = 8 };

static const char *or_none(const char *line)
{
    return strcmp(line, "-") == 0 ? NULL : line;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_server *server = NULL;
    struct hs_exchange exchange = {0};
    char *text = malloc(n_bytes + 1);
    const char *lines[LINES];
    assert(text != NULL);
    memcpy(text, bytes, n_bytes);
    text[n_bytes] = '\0';
    char *at = text;
    for (size_t i = 0; i < LINES; i++) {
        lines[i] = at;
        at += strcspn(at, "\n");
        if (*at != '\0' && i + 1 < LINES)
            *at++ = '\0';
    }
    const struct hs_request request = {
        .method = lines[0],
        .target = lines[1],
        .host = or_none(lines[2]),
        .origin = or_none(lines[3]),
        .authorization = strcmp(lines[4], "own") == 0 ? own_authorization : or_none(lines[4]),
        .if_none_match = or_none(lines[5]),
        .body = lines[7],
        .n_body = strlen(lines[7]),
    };
    const struct hs_server_options options = {.token = token};
    assert(hs_server_new(&options, &server, &err) == HS_OK);
    for (int round = 0; round < 2; round++) {
        if (!hs_server_begin(server, &request, &list, &exchange)) {
            check_question(&exchange.question);
            answer(&exchange, lines[6]);
        }
        check_answer(&exchange.answer);
        hs_exchange_fini(&exchange);
    }
    hs_server_free(server);
    free(text);
    return 0;
}
