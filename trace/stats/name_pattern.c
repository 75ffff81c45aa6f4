#include <string.h>

#include "expression.h"
#include "stats/pattern.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The larger count of "3,10}", cut at HS_PATTERN_MAX_REPEATS + 1. */
static uint64_t largest_count(const char *at)
{
    uint64_t most = 1, n = 0;
    for (; is_digit(*at) || *at == ','; at++) {
        n = *at == ',' ? 0 : n * 10 + (uint64_t)(*at - '0');
        if (n > HS_PATTERN_MAX_REPEATS)
            return HS_PATTERN_MAX_REPEATS + 1;
        most = n > most ? n : most;
    }
    return most;
}

/* Returns the product of the counts {n,m} of an expression: as if all were nested. */
static uint64_t count_repeats(const char *at)
{
    uint64_t all = 1;
    for (; *at != 0 && all <= HS_PATTERN_MAX_REPEATS; at++) {
        if (at[0] == '\\' && at[1] != 0)
            at++;
        else if (at[0] == '{')
            all *= largest_count(at + 1);
    }
    return all;
}

static bool has_reference(const char *at)
{
    for (; *at != 0; at++)
        if (at[0] == '\\' && at[1] != 0 && is_digit(*++at))
            return true;
    return false;
}

static hs_status compile(struct hs_name_pattern *ret, const char *expression, struct hs_error *err)
{
    const char *why;
    if (has_reference(expression)) {
        (void)hs_fail(err, HS_USAGE, "'%s' refers back to what it matched", ret->text);
        return hs_hint(err, "that can take forever: write out what may stand there");
    }
    if (count_repeats(expression) > HS_PATTERN_MAX_REPEATS) {
        (void)hs_fail(err, HS_USAGE, "'%s' repeats too often", ret->text);
        return hs_hint(err, "use * or +, or counts that multiply to at most %d",
                       HS_PATTERN_MAX_REPEATS);
    }
    hs_status status = hs_expression_new(expression, &ret->expression, &why, err);
    if (status == HS_OK || why == NULL)
        return status;
    (void)hs_fail(err, HS_USAGE, "'%s' is no regular expression: %s", ret->text, why);
    return hs_hint(err, "without the slashes it is plain text");
}

hs_status hs_name_pattern_init(struct hs_name_pattern *pattern, const char *text,
                               struct hs_error *err)
{
    struct hs_name_pattern made = {.text = text};
    size_t n = strlen(text);
    if (n == 0 || n > HS_PATTERN_MAX_BYTES) {
        (void)hs_fail(err, HS_USAGE, "a pattern has 1 to %d bytes", HS_PATTERN_MAX_BYTES);
        return hs_hint(err, "write a part of a name, or /RE/");
    }
    if (n > 2 && text[0] == '/' && text[n - 1] == '/') {
        char expression[HS_PATTERN_MAX_BYTES];
        memcpy(expression, text + 1, n - 2);
        expression[n - 2] = 0;
        HS_TRY(compile(&made, expression, err));
        made.is_regex = true;
    }
    *pattern = made;
    return HS_OK;
}

void hs_name_pattern_fini(struct hs_name_pattern *pattern)
{
    hs_expression_free(pattern->expression);
    *pattern = (struct hs_name_pattern){0};
}

bool hs_name_pattern_matches(const struct hs_name_pattern *pattern, const char *name)
{
    if (pattern->is_regex)
        return hs_expression_matches(pattern->expression, name);
    return strstr(name, pattern->text) != NULL;
}
