#include <string.h>

#include "base/checked.h"
#include "stats/range.h"

/* Digits with at most so many behind the point: what is finer is not told apart. */
enum { MAX_DECIMALS = 9, MAX_TEXT = 128 };

struct range_unit {
    const char *name;
    uint64_t factor;
};

static const struct range_unit times[] = {
    {"", 1000000000U},  {"ns", 1},           {"us", 1000U},         {"ms", 1000000U},
    {"s", 1000000000U}, {"m", 60000000000U}, {"h", 3600000000000U}, {NULL, 0},
};
static const struct range_unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"k", 1000U},
    {"kB", 1000U},
    {"M", 1000000U},
    {"MB", 1000000U},
    {"G", 1000000000U},
    {"GB", 1000000000U},
    {"Ki", 1U << 10},
    {"KiB", 1U << 10},
    {"Mi", 1U << 20},
    {"MiB", 1U << 20},
    {"Gi", 1U << 30},
    {"GiB", 1U << 30},
    {"T", 1000000000000U},
    {"TB", 1000000000000U},
    {"Ti", 1ULL << 40},
    {"TiB", 1ULL << 40},
    {NULL, 0},
};
static const struct range_unit counts[] = {
    {"", 1}, {"k", 1000U}, {"M", 1000000U}, {"G", 1000000000U}, {NULL, 0},
};
static const struct range_unit no_units[] = {{NULL, 0}};

static const struct {
    const char *what, *example;
    const struct range_unit *units;
    bool takes_percent, takes_events;
} kinds[HS_N_RANGE_KINDS] = {
    [HS_RANGE_TIME] = {"time", "1.5s, 200ms, 10%, peak or end, or a range as 1s..peak", times, true,
                       true},
    [HS_RANGE_LIFE] = {"duration", "200us, 1.5s or 10%, or a range as 1ms..5s or 1s..", times, true,
                       false},
    [HS_RANGE_SIZE] = {"size", "24, 4k or 1.5Mi, or a range as 1k..64k or 1M..", sizes, false,
                       false},
    [HS_RANGE_COUNT] = {"count", "100, 2.5k or 10%, or a range as 10..100 or 1000..", counts, true,
                        false},
    [HS_RANGE_SHARE] = {"share", "10%, or a range as 50%..100% or 90%..", no_units, true, false},
};

static hs_status fail_value(const char *text, size_t n, enum hs_stats_range_kind kind,
                            bool takes_never, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "'%.*s' is not a %s", (int)(n < 80 ? n : 80), text,
                  kinds[kind].what);
    return hs_hint(err, "write for example %s%s", kinds[kind].example,
                   takes_never ? ", or never" : "");
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* The digits of "12.345" from text[*at] on as a number of billionths; false without any. */
static bool read_number(const char *text, size_t n, size_t *at, __uint128_t *ret)
{
    static const uint64_t billion = 1000000000U;
    uint64_t whole = 0, part = 0, scale = billion;
    size_t i = *at, first = i;
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        if (!hs_mul_fits(whole, 10, &whole) ||
            !hs_add_fits(whole, (uint64_t)(text[i] - '0'), &whole))
            return false;
    if (i == first)
        return false;
    if (i + 1 < n && text[i] == '.') {
        for (first = ++i; i < n && text[i] >= '0' && text[i] <= '9'; i++)
            if (i - first < MAX_DECIMALS)
                part += (uint64_t)(text[i] - '0') * (scale /= 10);
        if (i == first)
            return false;
    }
    *at = i;
    *ret = (__uint128_t)whole * billion + part;
    return true;
}

static bool scale_number(__uint128_t billionths, uint64_t factor, uint64_t *ret)
{
    __uint128_t value;
    if (__builtin_mul_overflow(billionths, (__uint128_t)factor, &value))
        return false;
    value = (value + 500000000U) / 1000000000U;
    *ret = (uint64_t)value;
    return value <= UINT64_MAX;
}

static bool read_bound(const char *text, size_t n, enum hs_stats_range_kind kind,
                       struct hs_stats_bound *ret)
{
    size_t at = 0;
    __uint128_t number;
    if (kinds[kind].takes_events && (is_word(text, n, "peak") || is_word(text, n, "end"))) {
        *ret = (struct hs_stats_bound){text[0] == 'p' ? HS_BOUND_PEAK : HS_BOUND_END, 0};
        return true;
    }
    if (!read_number(text, n, &at, &number))
        return false;
    if (kinds[kind].takes_percent && is_word(text + at, n - at, "%")) {
        ret->kind = HS_BOUND_PERCENT;
        return scale_number(number, HS_PERCENT_WHOLE / 100, &ret->value) &&
               ret->value <= HS_PERCENT_WHOLE;
    }
    at += at + 1 < n && text[at] == ' '; /* as it is printed */
    ret->kind = HS_BOUND_VALUE;
    for (const struct range_unit *unit = kinds[kind].units; unit->name != NULL; unit++)
        if (is_word(text + at, n - at, unit->name))
            return scale_number(number, unit->factor, &ret->value);
    return false;
}

static hs_status fail_backwards(struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "the range ends before it begins");
    return hs_hint(err, "write the smaller end first, as A..B");
}

hs_status hs_stats_range_parse(const char *text, enum hs_stats_range_kind kind, bool takes_never,
                               struct hs_stats_range *ret, struct hs_error *err)
{
    struct hs_stats_range range = {0};
    size_t n = strlen(text);
    const char *dots = strstr(text, "..");
    if (n > MAX_TEXT)
        return fail_value(text, n, kind, takes_never, err);
    if (takes_never && strcmp(text, "never") == 0) {
        range.is_never = true;
    } else if (dots == NULL) {
        if (!read_bound(text, n, kind, &range.from))
            return fail_value(text, n, kind, takes_never, err);
        range.to = range.from;
        range.is_point = true;
    } else {
        size_t n_from = (size_t)(dots - text), n_to = n - n_from - 2;
        if (n_from + n_to == 0 || (n_from != 0 && !read_bound(text, n_from, kind, &range.from)) ||
            (n_to != 0 && !read_bound(dots + 2, n_to, kind, &range.to)))
            return fail_value(text, n, kind, takes_never, err);
    }
    bool is_number = range.from.kind == HS_BOUND_VALUE || range.from.kind == HS_BOUND_PERCENT;
    if (is_number && range.from.kind == range.to.kind && range.from.value > range.to.value)
        return fail_backwards(err);
    *ret = range;
    return HS_OK;
}

static uint64_t resolve_bound(const struct hs_stats_bound *bound,
                              const struct hs_stats_whole *whole, uint64_t open)
{
    switch (bound->kind) {
    case HS_BOUND_VALUE:
        return bound->value;
    case HS_BOUND_PERCENT:
        return (uint64_t)((__uint128_t)whole->whole * bound->value / HS_PERCENT_WHOLE);
    case HS_BOUND_PEAK:
        return whole->peak;
    case HS_BOUND_END:
        return whole->end;
    case HS_BOUND_OPEN:
    default:
        return open;
    }
}

hs_status hs_stats_range_resolve(const struct hs_stats_range *range,
                                 const struct hs_stats_whole *whole, struct hs_stats_span *ret,
                                 struct hs_error *err)
{
    struct hs_stats_span span = {resolve_bound(&range->from, whole, 0),
                                 resolve_bound(&range->to, whole, UINT64_MAX)};
    if (span.from > span.to)
        return fail_backwards(err);
    *ret = span;
    return HS_OK;
}
