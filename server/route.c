#include "route.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/units.h"

/* ---- words of the question */

static hs_status add_word(struct hs_question *question, const char *word, struct hs_error *err)
{
    if (question->n_words + 1 >= HS_SERVER_WORDS)
        return hs_fail(err, HS_LIMIT, "there are too many parameters");
    question->words[question->n_words++] = word;
    question->words[question->n_words] = NULL;
    return HS_OK;
}

/* Adds a text made of two, kept by the route. */
static hs_status add_made(struct hs_route *route, struct hs_question *question, const char *first,
                          const char *second, struct hs_error *err)
{
    char *word = route->text + route->n_text;
    size_t room = sizeof route->text - route->n_text;
    int n = snprintf(word, room, "%s%s", first, second);
    if (n < 0 || (size_t)n >= room)
        return hs_fail(err, HS_LIMIT, "the parameters are too long");
    route->n_text += (size_t)n + 1;
    return add_word(question, word, err);
}

/* The words of the endpoint, which stand with blanks between them. */
static hs_status add_first(struct hs_route *route, struct hs_question *question,
                           struct hs_error *err)
{
    char words[64];
    if (route->endpoint->words == NULL)
        return HS_OK;
    (void)snprintf(words, sizeof words, "%s", route->endpoint->words);
    for (char *word = words, *next; word != NULL; word = next) {
        next = strchr(word, ' ');
        if (next != NULL)
            *next++ = '\0';
        HS_TRY(add_made(route, question, word, "", err));
    }
    return HS_OK;
}

static hs_status add_limit(struct hs_route *route, struct hs_question *question,
                           struct hs_error *err)
{
    const struct hs_endpoint *endpoint = route->endpoint;
    char number[24];
    if (endpoint->limit_option == NULL || endpoint->words == NULL)
        return HS_OK;
    uint64_t limit = route->is_paged ? endpoint->most : route->limit;
    (void)snprintf(number, sizeof number, "%" PRIu64, limit);
    HS_TRY(add_word(question, endpoint->limit_option, err));
    return add_made(route, question, number, "", err);
}

/* ---- parameters */

static hs_status parse_number(const char *name, const char *text, uint64_t *ret,
                              struct hs_error *err)
{
    if (hs_parse_count(text, ret, err) == HS_OK)
        return HS_OK;
    return hs_fail(err, HS_USAGE, "%s: '%.40s' is no number", name, text);
}

static hs_status read_option(struct hs_route *route, struct hs_question *question,
                             const struct hs_parameter *parameter, const char *value,
                             struct hs_error *err)
{
    uint64_t number;
    if (parameter->kind == PARAMETER_COUNT)
        HS_TRY(parse_number(parameter->name, value, &number, err));
    if (parameter->kind != PARAMETER_FLAG)
        return add_made(route, question, parameter->option, value, err);
    if (strcmp(value, "1") != 0 && strcmp(value, "0") != 0)
        return hs_fail(err, HS_USAGE, "%s: '%.40s' is neither 0 nor 1", parameter->name, value);
    return value[0] == '1' ? add_word(question, parameter->option, err) : HS_OK;
}

static const struct hs_served *find_served(const struct hs_served_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (name == NULL || strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

static hs_status read_older(struct hs_route *route, const struct hs_served_list *list,
                            const char *name, struct hs_error *err)
{
    if (route->n_older == ROUTE_OLDER)
        return hs_fail(err, HS_LIMIT, "old: more than %d snapshots", ROUTE_OLDER);
    const struct hs_served *older = find_served(list, name);
    if (older == NULL)
        return hs_fail(err, HS_USAGE, "old: there is no snapshot '%.100s'", name);
    route->older[route->n_older++] = older;
    return HS_OK;
}

static hs_status read_limit(struct hs_route *route, const char *value, struct hs_error *err)
{
    const struct hs_endpoint *endpoint = route->endpoint;
    HS_TRY(parse_number("limit", value, &route->limit, err));
    if (route->limit >= 1 && route->limit <= endpoint->most)
        return HS_OK;
    return hs_fail(err, HS_USAGE, "limit: from 1 to %u", endpoint->most);
}

static bool is_repeated(const struct hs_target *target, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(target->values[i].name, target->values[at].name) == 0)
            return true;
    return false;
}

static hs_status read_value(struct hs_route *route, struct hs_question *question,
                            const struct hs_served_list *list, size_t at, struct hs_error *err)
{
    const char *name = route->target.values[at].name, *value = route->target.values[at].value;
    const struct hs_endpoint *endpoint = route->endpoint;
    const struct hs_parameter *parameter = hs_endpoint_parameter(endpoint, name);
    bool is_old = endpoint->kind == ENDPOINT_DIFF && strcmp(name, "old") == 0;
    bool is_many = is_old || (parameter != NULL && parameter->kind == PARAMETER_REPEATED);
    if (!is_many && is_repeated(&route->target, at))
        return hs_fail(err, HS_USAGE, "%.40s: it stands there twice", name);
    if (is_old)
        return read_older(route, list, value, err);
    if (parameter != NULL)
        return read_option(route, question, parameter, value, err);
    if (endpoint->limit_option != NULL && strcmp(name, "limit") == 0)
        return read_limit(route, value, err);
    bool is_paged = endpoint->rows != NULL;
    if (is_paged && strcmp(name, "q") == 0)
        route->search = value;
    else if (strcmp(name, "snap") != 0 && !(is_paged && strcmp(name, "after") == 0))
        return hs_fail(err, HS_USAGE, "'%.40s' is no parameter of '%s'", name, endpoint->name);
    return HS_OK;
}

/* ---- what tells answers apart */

struct sum {
    uint64_t low, high;
};

static void add_bytes(struct sum *sum, const void *bytes, size_t n)
{
    sum->low = XXH3_64bits_withSeed(bytes, n, sum->low);
    sum->high = XXH3_64bits_withSeed(bytes, n, ~sum->high);
}

static void add_text(struct sum *sum, const char *text)
{
    add_bytes(sum, text, strlen(text) + 1);
}

static void add_number(struct sum *sum, uint64_t number)
{
    add_bytes(sum, &number, sizeof number);
}

/* Beside a snapshot. */
static bool takes_trace(const struct hs_route *route, const struct hs_served_list *list)
{
    enum hs_endpoint_kind kind = route->endpoint->kind;
    return list->trace != NULL && list->n > 0 &&
           (kind == ENDPOINT_SAMPLES || kind == ENDPOINT_REPORT);
}

static void find_key(struct hs_route *route, const struct hs_question *question,
                     const struct hs_served_list *list, const char *salt)
{
    struct sum sum = {0};
    add_text(&sum, salt);
    add_number(&sum, question->kind);
    add_number(&sum, question->served->identity);
    if (takes_trace(route, list))
        add_number(&sum, list->trace->identity);
    for (size_t i = 0; i < route->n_older; i++)
        add_number(&sum, route->older[i]->identity);
    for (size_t i = 0; i < list->n && route->endpoint->kind == ENDPOINT_SERIES; i++)
        add_number(&sum, list->items[i].identity);
    for (size_t i = 0; i < question->n_words; i++)
        add_text(&sum, question->words[i]);
    add_text(&sum, question->sql != NULL ? question->sql : "");
    add_number(&sum, question->kind == HS_QUESTION_KEYS ? question->limit : 0);
    route->key[0] = sum.low;
    route->key[1] = sum.high;
    add_number(&sum, route->is_paged ? route->from : UINT64_MAX);
    add_number(&sum, route->is_paged ? route->limit : 0);
    add_text(&sum, route->endpoint->name);
    add_text(&sum, route->search != NULL ? route->search : "");
    route->etag = sum.low;
}

void hs_route_cursor(const struct hs_route *route, uint64_t row, char *text, size_t n)
{
    (void)snprintf(text, n, "%016" PRIx64 "-%" PRIx64, route->key[0], row);
}

/* A cursor is a row of one list of one snapshot, whose key it has. */
static hs_status read_cursor(struct hs_route *route, const char *text, unsigned *ret_status,
                             struct hs_error *err)
{
    uint64_t key;
    *ret_status = 400;
    size_t n_digits = strspn(text, "0123456789abcdef");
    bool is_one = n_digits == 16 && text[16] == '-' && strlen(text) <= 33 &&
                  strspn(text + 17, "0123456789abcdef") == strlen(text + 17) &&
                  sscanf(text, "%" SCNx64 "-%" SCNx64, &key, &route->from) == 2;
    if (!is_one)
        return hs_fail(err, HS_USAGE, "after: '%.60s' is no cursor", text);
    if (key == route->key[0])
        return HS_OK;
    *ret_status = 410;
    (void)hs_fail(err, HS_USAGE, "after: this cursor is of another list, or of another snapshot");
    return hs_hint(err, "begin the list again, without 'after'");
}

/* ---- the question */

static hs_status add_arguments(struct hs_route *route, struct hs_question *question,
                               const struct hs_served_list *list, struct hs_error *err)
{
    const struct hs_endpoint *endpoint = route->endpoint;
    if (endpoint->words == NULL)
        return HS_OK;
    if (route->what != NULL && endpoint->what_option != NULL)
        HS_TRY(add_made(route, question, endpoint->what_option, route->what, err));
    if (takes_trace(route, list)) {
        HS_TRY(add_word(question, "--trace", err));
        HS_TRY(add_word(question, list->trace->path, err));
    }
    HS_TRY(add_word(question, "--", err));
    if (endpoint->kind == ENDPOINT_SERIES)
        return add_word(question, list->folder, err);
    for (size_t i = 0; i < route->n_older; i++)
        HS_TRY(add_word(question, route->older[i]->path, err));
    HS_TRY(add_word(question, question->served->path, err));
    bool is_argument = route->what != NULL && endpoint->what_option == NULL;
    return is_argument ? add_word(question, route->what, err) : HS_OK;
}

/* A node or an address is found at once; a name is looked for. */
static bool is_quick(const struct hs_route *route)
{
    const char *what = route->what;
    return route->endpoint->kind == ENDPOINT_OBJECT && route->endpoint->what_option == NULL &&
           (what[0] == '#' || strncmp(what, "0x", 2) == 0);
}

static hs_status read_body(struct hs_route *route, const struct hs_request *request,
                           struct hs_question *question, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&route->body, request->n_body + 1, err));
    if (request->n_body > 0)
        memcpy(route->body, request->body, request->n_body);
    if (strlen(route->body) != request->n_body)
        return hs_fail(err, HS_USAGE, "a query has no byte 0");
    if (route->body[strspn(route->body, " \t\r\n;")] == '\0')
        return hs_fail(err, HS_USAGE, "the body is a query in SQL, and is empty");
    question->kind = HS_QUESTION_SQL;
    question->sql = route->body;
    return HS_OK;
}

static hs_status make_question(struct hs_route *route, const struct hs_request *request,
                               const struct hs_served_list *list, struct hs_question *question,
                               struct hs_error *err)
{
    const struct hs_endpoint *endpoint = route->endpoint;
    const char *after = hs_target_value(&route->target, "after");
    route->limit = endpoint->limit;
    HS_TRY(add_first(route, question, err));
    for (size_t i = 0; i < route->target.n_values; i++)
        HS_TRY(read_value(route, question, list, i, err));
    route->is_paged = endpoint->is_within || after != NULL || route->search != NULL;
    HS_TRY(add_limit(route, question, err));
    HS_TRY(add_arguments(route, question, list, err));
    if (endpoint->kind == ENDPOINT_DIFF && route->n_older == 0)
        return hs_fail(err, HS_USAGE, "old: with which snapshot is it compared?");
    if (endpoint->kind == ENDPOINT_KEYS) {
        question->kind = HS_QUESTION_KEYS;
        question->limit = route->limit;
    }
    question->is_quick = is_quick(route);
    return endpoint->kind == ENDPOINT_SQL ? read_body(route, request, question, err) : HS_OK;
}

hs_status hs_route_find(struct hs_route *route, const struct hs_request *request,
                        const struct hs_served_list *list, const char *salt,
                        struct hs_question *question, unsigned *ret_status, struct hs_error *err)
{
    const char *name = hs_target_value(&route->target, "snap");
    *ret_status = 404;
    route->endpoint = hs_endpoint_find(&route->target, &route->what);
    if (route->endpoint == NULL)
        return hs_fail(err, HS_USAGE, "there is nothing of that name here");
    if (route->endpoint->kind == ENDPOINT_SERIES && list->folder == NULL)
        return hs_fail(err, HS_USAGE, "no folder of snapshots is served");
    bool is_of_trace = route->endpoint->kind == ENDPOINT_TRACE;
    if (is_of_trace && list->trace == NULL)
        return hs_fail(err, HS_USAGE, "no trace is served here");
    bool is_report = route->endpoint->kind == ENDPOINT_REPORT;
    question->served = find_served(list, name);
    if (is_of_trace || (is_report && list->n == 0))
        question->served = list->trace;
    if (question->served == NULL && route->endpoint->kind != ENDPOINT_SNAPSHOTS)
        return hs_fail(err, HS_USAGE, "there is no snapshot '%.100s'", name != NULL ? name : "");
    bool is_post = strcmp(request->method, "POST") == 0;
    *ret_status = 405;
    if (is_post != (route->endpoint->kind == ENDPOINT_SQL))
        return hs_fail(err, HS_USAGE, "'%s' is asked for by %s", route->endpoint->name,
                       is_post ? "GET" : "POST");
    *ret_status = 400;
    HS_TRY(make_question(route, request, list, question, err));
    const char *after = hs_target_value(&route->target, "after");
    if (route->endpoint->kind == ENDPOINT_SNAPSHOTS)
        return HS_OK;
    find_key(route, question, list, salt);
    if (after == NULL || after[0] == '\0')
        return HS_OK;
    HS_TRY(read_cursor(route, after, ret_status, err));
    find_key(route, question, list, salt); /* the etag knows of the place */
    return HS_OK;
}
