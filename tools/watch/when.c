#include "when.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { ONE_BYTES = 64 };

static hs_status wrong(const char *text, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "--when: '%.80s' is not a condition", text);
    return hs_hint(err, "write 'rss>SIZE' or 'growth>N%%', for example 'rss>4GiB'; quote it, or "
                        "the shell takes > for itself");
}

/* The value behind "NAME>" or "NAME >", or NULL. */
static const char *value_behind(const char *text, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(text, name, n) != 0)
        return NULL;
    text += n + strspn(text + n, " ");
    return *text == '>' ? text + 1 + strspn(text + 1, " ") : NULL;
}

/* `text` may be changed. */
static hs_status parse_one(char *text, struct hs_watch_condition *ret, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_watch_condition found = {HS_WATCH_RSS, 0};
    const char *value = value_behind(text, "rss");

    if (value != NULL) {
        if (hs_parse_size(value, &found.bound, &ignored) != HS_OK)
            return wrong(text, err);
        *ret = found;
        return HS_OK;
    }
    found.measure = HS_WATCH_GROWTH;
    value = value_behind(text, "growth");
    size_t n = strlen(text);
    if (value == NULL || text[n - 1] != '%')
        return wrong(text, err);
    text[n - 1] = '\0';
    bool is_good = hs_parse_count(value, &found.bound, &ignored) == HS_OK;
    text[n - 1] = '%';
    if (!is_good || found.bound > UINT32_MAX)
        return wrong(text, err);
    *ret = found;
    return HS_OK;
}

static void trim(char *text)
{
    size_t from = strspn(text, " ");
    size_t n = strlen(text + from);
    memmove(text, text + from, n + 1);
    while (n != 0 && text[n - 1] == ' ')
        text[--n] = '\0';
}

hs_status hs_watch_when_add(struct hs_watch_when *when, const char *text, struct hs_error *err)
{
    char one[ONE_BYTES];
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, "|");
        if (n >= sizeof one)
            return wrong(at, err);
        memcpy(one, at, n);
        one[n] = '\0';
        trim(one);
        if (when->n == HS_WATCH_MAX_CONDITIONS)
            return hs_fail(err, HS_USAGE, "--when: more than %d conditions",
                           HS_WATCH_MAX_CONDITIONS);
        HS_TRY(parse_one(one, &when->conditions[when->n], err));
        when->n++;
        at += n;
        if (*at == '\0')
            return HS_OK;
    }
}

static bool holds(const struct hs_watch_condition *condition, uint64_t rss_bytes,
                  uint64_t base_bytes)
{
    if (condition->measure == HS_WATCH_RSS)
        return rss_bytes > condition->bound;
    return base_bytes != 0 && (unsigned __int128)rss_bytes * 100 >
                                  (unsigned __int128)base_bytes * (100 + condition->bound);
}

const struct hs_watch_condition *hs_watch_when_holds(const struct hs_watch_when *when,
                                                     uint64_t rss_bytes, uint64_t base_bytes)
{
    for (size_t i = 0; i < when->n; i++)
        if (holds(&when->conditions[i], rss_bytes, base_bytes))
            return &when->conditions[i];
    return NULL;
}

void hs_watch_condition_describe(const struct hs_watch_condition *condition, char *text)
{
    bool is_rss = condition->measure == HS_WATCH_RSS;
    (void)snprintf(text, HS_WATCH_CONDITION_BYTES, "%s>%llu%s", is_rss ? "rss" : "growth",
                   (unsigned long long)condition->bound, is_rss ? "" : "%");
}
