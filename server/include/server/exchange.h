/* Requests about snapshots and their answers, without a socket: whoever has one (tools/serve/)
 * hands over what came and sends what goes.
 *
 *   request -> hs_server_begin -> an answer, or a question: the words of a command line
 *           -> (the caller has it answered) -> hs_server_finish -> an answer
 *
 * What a command printed is kept, in the file that it was printed to: asked again it is there, and
 * long lists are handed out page by page. An answer holds what it shows until it is let go.
 *
 * A request is hostile: each is checked for its method, its Host (loopback names alone, so that no
 * foreign page reaches us by a name of its own), its Origin, its token, and its size before
 * anything else. No path of a file ever comes from a request: snapshots have names.
 *
 * One thread at a time. */
#ifndef HS_SERVER_EXCHANGE_H
#define HS_SERVER_EXCHANGE_H

#include "base/buffer.h"
#include "base/file.h"

enum {
    HS_SERVER_TOKEN_BYTES = 33,       /* 32 hexadecimal digits */
    HS_SERVER_TARGET_BYTES = 8 << 10, /* of path and query, as they come */
    HS_SERVER_BODY_BYTES = 64 << 10,  /* of a query in SQL */
    HS_SERVER_WORDS = 48,             /* of a question */
    HS_SERVER_ETAG_BYTES = 24,        /* with its quotes */
    HS_SERVER_CURSOR_BYTES = 64,      /* of a list that goes on */
    HS_SERVER_KEPT = 64,              /* answers of commands */
};
#define HS_SERVER_KEPT_BYTES ((uint64_t)256 << 20) /* of all of these, in files */

struct hs_server;

/* A snapshot that is served. All borrowed. */
struct hs_served {
    const char *name; /* what requests call it */
    const char *path;
    uint64_t identity; /* another one when the file is another one, or has changed */
    uint64_t n_bytes;
    uint64_t changed_ns; /* since 1970 */
    uint64_t file;       /* of a trace: the same as long as it is this file, however it grows */
    bool is_trace;
};

/* The newest first. */
struct hs_served_list {
    const struct hs_served *items;
    size_t n;
    const char *folder;            /* NULL: a single snapshot, or none */
    const struct hs_served *trace; /* NULL: none */
};

/* A text that is served as it is, without a token: the page and what belongs to it. */
struct hs_server_file {
    const char *path; /* "/page.js" */
    const char *type; /* of its content */
    const char *text;
};

struct hs_server_options {
    const char *token; /* of HS_SERVER_TOKEN_BYTES */
    const struct hs_server_file *files;
    size_t n_files;
};

/* Makes a server; everything is copied but the files. */
hs_status hs_server_new(const struct hs_server_options *options, struct hs_server **ret,
                        struct hs_error *err);
/* Frees a server, of which all answers must have been let go. Takes NULL. */
void hs_server_free(struct hs_server *server);

/* A request as it came. NULL: there was no such header. */
struct hs_request {
    const char *method;
    const char *target; /* path and query as they came: percent-encoded */
    const char *host, *origin, *authorization, *if_none_match;
    const void *body;
    size_t n_body;
    bool is_too_long; /* there was more of the body than HS_SERVER_BODY_BYTES */
};

/* The kinds of questions. */
enum hs_question_kind {
    HS_QUESTION_COMMAND, /* words: of a command line */
    HS_QUESTION_SQL,     /* of the first path, in `sql` */
    HS_QUESTION_KEYS,    /* of it: the keys in columns, `limit` of them */
};

struct hs_question {
    enum hs_question_kind kind;
    bool is_quick;                      /* takes a few milliseconds, however large the heap */
    const char *words[HS_SERVER_WORDS]; /* borrowed from the exchange; NULL behind the last */
    size_t n_words;
    const struct hs_served *served; /* the snapshot that it is about */
    const char *sql;
    uint64_t limit;
};

struct hs_answer {
    unsigned status;   /* of HTTP */
    const char *type;  /* of its content */
    const void *bytes; /* borrowed until the answer is let go */
    size_t n_bytes;
    char etag[HS_SERVER_ETAG_BYTES];   /* "": none */
    char next[HS_SERVER_CURSOR_BYTES]; /* "": the list does not go on */
    bool is_page;                      /* a browser shows it: it wants a policy */
    struct hs_kept *kept;              /* what is behind `bytes`; of this library */
    struct hs_buffer text;             /* the same */
};

/* A request on its way; not to be moved. */
struct hs_exchange {
    struct hs_server *server; /* borrowed */
    struct hs_question question;
    struct hs_answer answer;
    struct hs_route *route; /* owned */
};

/* Begins an exchange. True: the answer is there. False: the question is to be answered first, by
 * hs_server_finish. The list is borrowed until then. O(answer). */
bool hs_server_begin(struct hs_server *server, const struct hs_request *request,
                     const struct hs_served_list *list, struct hs_exchange *exchange);
/* Gives the outcome of the question: `printed` is taken over when `status` is HS_OK. The map must
 * be one that nobody else can change. Then the answer is there. */
void hs_server_finish(struct hs_exchange *exchange, hs_status status, const struct hs_error *err,
                      struct hs_map *printed);
/* Tells whether two questions are one: their answers are the same. */
bool hs_question_is_same(const struct hs_exchange *a, const struct hs_exchange *b);
/* Lets go of everything. Takes a zeroed exchange. */
void hs_exchange_fini(struct hs_exchange *exchange);

#endif
