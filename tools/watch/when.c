#include "when.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { ONE_BYTES = 64 };

#define SECONDS_PER_HOUR 3600.0

static const struct {
    const char *name;
    double seconds;
} rates[] = {{"s", 1}, {"min", 60}, {"h", SECONDS_PER_HOUR}, {"day", 24 * SECONDS_PER_HOUR}};
enum { N_RATES = sizeof rates / sizeof *rates };

static hs_status wrong(const char *text, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "--when: '%.80s' is not a condition", text);
    return hs_hint(err, "write 'rss>SIZE', 'growth>N%%' or 'growing>SIZE/h' (/s /min /h /day), for "
                        "example 'rss>4GiB'; quote it, or the shell takes > for itself");
}

/* The value behind "NAME>" or "NAME >", or NULL. */
static char *value_behind(char *text, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(text, name, n) != 0)
        return NULL;
    text += n + strspn(text + n, " ");
    return *text == '>' ? text + 1 + strspn(text + 1, " ") : NULL;
}

/* "1MiB/h", which may be changed. */
static bool parse_rate(char *value, struct hs_watch_condition *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    char *slash = strrchr(value, '/');
    if (slash == NULL)
        return false;
    for (ret->rate = 0; ret->rate < N_RATES; ret->rate++)
        if (strcmp(slash + 1, rates[ret->rate].name) == 0)
            break;
    if (ret->rate == N_RATES)
        return false;
    *slash = '\0';
    bool is_good = hs_parse_size(value, &ret->bound, &ignored) == HS_OK;
    *slash = '/';
    ret->measure = HS_WATCH_GROWING;
    return is_good;
}

/* `text` may be changed. */
static hs_status parse_one(char *text, struct hs_watch_condition *ret, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_watch_condition found = {.measure = HS_WATCH_RSS};
    char *value = value_behind(text, "rss");

    if (value != NULL) {
        if (hs_parse_size(value, &found.bound, &ignored) != HS_OK)
            return wrong(text, err);
        *ret = found;
        return HS_OK;
    }
    value = value_behind(text, "growing");
    if (value != NULL) {
        if (!parse_rate(value, &found))
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
    if (condition->measure == HS_WATCH_GROWING)
        return false;
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

bool hs_watch_when_needs_keys(const struct hs_watch_when *when)
{
    for (size_t i = 0; i < when->n; i++)
        if (when->conditions[i].measure == HS_WATCH_GROWING)
            return true;
    return false;
}

const struct hs_watch_condition *hs_watch_when_grows(const struct hs_watch_when *when,
                                                     double bytes_per_hour)
{
    for (size_t i = 0; i < when->n; i++) {
        const struct hs_watch_condition *condition = &when->conditions[i];
        if (condition->measure == HS_WATCH_GROWING &&
            bytes_per_hour * rates[condition->rate].seconds >
                (double)condition->bound * SECONDS_PER_HOUR)
            return condition;
    }
    return NULL;
}

void hs_watch_condition_describe(const struct hs_watch_condition *condition, char *text)
{
    static const char *const names[] = {"rss", "growth", "growing"};
    bool is_rate = condition->measure == HS_WATCH_GROWING;
    (void)snprintf(text, HS_WATCH_CONDITION_BYTES, "%s>%llu%s%s", names[condition->measure],
                   (unsigned long long)condition->bound,
                   is_rate                                 ? "/"
                   : condition->measure == HS_WATCH_GROWTH ? "%"
                                                           : "",
                   is_rate ? rates[condition->rate].name : "");
}
