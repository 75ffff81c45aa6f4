#include "target.h"

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter = (char)(letter | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Decodes in place; of a query a plus is a blank. */
static hs_status decode(char *text, bool is_query, struct hs_error *err)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at != '%') {
            *to++ = is_query && *at == '+' ? ' ' : *at;
            continue;
        }
        int high = digit_of(at[1]), low = high < 0 ? -1 : digit_of(at[2]);
        if (low < 0 || high + low == 0)
            return hs_fail(err, HS_USAGE, "'%.20s' is no encoded byte", at);
        *to++ = (char)(high << 4 | low);
        at += 2;
    }
    *to = '\0';
    return HS_OK;
}

/* Ends the word at `text` before one of `ends`; what follows, or NULL. */
static char *cut_at(char *text, const char *ends)
{
    char *end = text + strcspn(text, ends);
    if (*end == '\0')
        return NULL;
    *end = '\0';
    return end + 1;
}

static hs_status parse_path(char *path, struct hs_target *ret, struct hs_error *err)
{
    if (path[0] != '/')
        return hs_fail(err, HS_USAGE, "'%.40s' is no path", path);
    for (char *part = path + 1, *next; part != NULL; part = next) {
        next = cut_at(part, "/");
        if (ret->n_parts == TARGET_PARTS)
            return hs_fail(err, HS_USAGE, "the path has more than %d parts", TARGET_PARTS);
        HS_TRY(decode(part, false, err));
        ret->parts[ret->n_parts++] = part;
    }
    return HS_OK;
}

static hs_status parse_query(char *query, struct hs_target *ret, struct hs_error *err)
{
    for (char *pair = query, *next; pair != NULL; pair = next) {
        next = cut_at(pair, "&");
        if (*pair == '\0')
            continue;
        if (ret->n_values == TARGET_VALUES)
            return hs_fail(err, HS_LIMIT, "there are more than %d parameters", TARGET_VALUES);
        char *value = cut_at(pair, "=");
        HS_TRY(decode(pair, true, err));
        if (value != NULL)
            HS_TRY(decode(value, true, err));
        ret->values[ret->n_values].name = pair;
        ret->values[ret->n_values++].value = value != NULL ? value : "";
    }
    return HS_OK;
}

hs_status hs_target_parse(const char *text, struct hs_target *ret, struct hs_error *err)
{
    size_t n = strlen(text);
    ret->n_parts = ret->n_values = 0;
    if (n >= sizeof ret->text)
        return hs_fail(err, HS_LIMIT, "the address is longer than %zu bytes", sizeof ret->text);
    memcpy(ret->text, text, n + 1);
    char *query = cut_at(ret->text, "?");
    HS_TRY(parse_path(ret->text, ret, err));
    return query != NULL ? parse_query(query, ret, err) : HS_OK;
}

const char *hs_target_value(const struct hs_target *target, const char *name)
{
    for (size_t i = 0; i < target->n_values; i++)
        if (strcmp(target->values[i].name, name) == 0)
            return target->values[i].value;
    return NULL;
}
