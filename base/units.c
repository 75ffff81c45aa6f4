#include "base/units.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

struct units_suffix {
    const char *name;
    uint64_t factor;
};

/* A kind of number: what it is called, how it is spelt, what may stand behind the digits. */
struct units_kind {
    const char *what;
    const char *hint;
    const struct units_suffix *suffixes;
    size_t n_suffixes;
    bool is_size; /* a fraction, a space and one more letter B are allowed */
};

static const struct units_suffix units_sizes[] = {
    {"", 1},
    {"k", 1000U},
    {"M", 1000000U},
    {"G", 1000000000U},
    {"T", 1000000000000U},
    {"Ki", 1ULL << 10},
    {"Mi", 1ULL << 20},
    {"Gi", 1ULL << 30},
    {"Ti", 1ULL << 40},
};

static const struct units_suffix units_times[] = {
    {"", 1000000000U},  {"ns", 1},           {"us", 1000U},         {"ms", 1000000U},
    {"s", 1000000000U}, {"m", 60000000000U}, {"h", 3600000000000U},
};

static const struct units_kind units_count = {"count", "write digits only, for example 1000",
                                              units_sizes, 1, false};
static const struct units_kind units_size = {
    "size", "write digits and k, M, G, T or Ki, Mi, Gi, Ti, for example 512Mi or 1.5GiB",
    units_sizes, sizeof units_sizes / sizeof units_sizes[0], true};
static const struct units_kind units_duration = {
    "duration", "write digits and ns, us, ms, s, m or h, for example 200ms", units_times,
    sizeof units_times / sizeof units_times[0], false};

static hs_status units_wrong(const struct units_kind *kind, const char *text, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "'%s' is not a %s", text, kind->what);
    return hs_hint(err, "%s", kind->hint);
}

static hs_status units_too_large(const char *text, struct hs_error *err)
{
    return hs_fail(err, HS_USAGE, "'%s' is too large: it does not fit 64 bits", text);
}

/* Reads the digits at *text and moves it behind them; false when they do not fit. */
static bool units_digits(const char **text, uint64_t *ret)
{
    uint64_t value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (!hs_mul_fits(value, 10, &value) || !hs_add_fits(value, digit, &value))
            return false;
    }
    *ret = value;
    return true;
}

/* The digits behind a decimal point, in billionths: more digits than a printed size ever has. */
struct units_fraction {
    uint64_t billionths;
    bool is_given;
};
#define UNITS_BILLION 1000000000U

static struct units_fraction units_read_fraction(const char **text)
{
    struct units_fraction fraction = {0};
    uint64_t scale = UNITS_BILLION;

    if ((*text)[0] != '.' || (*text)[1] < '0' || (*text)[1] > '9')
        return fraction;
    fraction.is_given = true;
    for (++*text; **text >= '0' && **text <= '9'; ++*text) {
        scale /= 10;
        fraction.billionths += (uint64_t)(**text - '0') * scale;
    }
    return fraction;
}

static bool units_scale(uint64_t whole, struct units_fraction fraction, uint64_t factor,
                        uint64_t *ret)
{
    unsigned __int128 part =
        ((unsigned __int128)fraction.billionths * factor + UNITS_BILLION / 2) / UNITS_BILLION;
    return hs_mul_fits(whole, factor, &whole) && hs_add_fits(whole, (uint64_t)part, ret);
}

static hs_status units_parse(const struct units_kind *kind, const char *text, uint64_t *ret,
                             bool *ret_has_b, struct hs_error *err)
{
    const char *rest = text;
    struct units_fraction fraction = {0};
    uint64_t value;

    if (!units_digits(&rest, &value))
        return units_too_large(text, err);
    if (rest == text)
        return units_wrong(kind, text, err);
    if (kind->is_size) {
        fraction = units_read_fraction(&rest);
        rest += rest[0] == ' ' && rest[1] != 0;
    }
    size_t length = strlen(rest);
    bool has_b = kind->is_size && length != 0 && rest[length - 1] == 'B';
    length -= has_b;
    for (size_t i = 0; i < kind->n_suffixes; i++) {
        const struct units_suffix *suffix = &kind->suffixes[i];
        if (strlen(suffix->name) != length || memcmp(rest, suffix->name, length) != 0)
            continue;
        if (fraction.is_given && suffix->factor == 1)
            break; /* a part of a byte or of a word */
        if (!units_scale(value, fraction, suffix->factor, &value))
            return units_too_large(text, err);
        *ret = value;
        *ret_has_b = has_b;
        return HS_OK;
    }
    return units_wrong(kind, text, err);
}

hs_status hs_parse_count(const char *text, uint64_t *ret, struct hs_error *err)
{
    bool ignored;
    return units_parse(&units_count, text, ret, &ignored, err);
}

hs_status hs_parse_size(const char *text, uint64_t *ret, struct hs_error *err)
{
    bool ignored;
    return units_parse(&units_size, text, ret, &ignored, err);
}

hs_status hs_parse_amount(const char *text, uint64_t *ret, bool *ret_in_bytes, struct hs_error *err)
{
    return units_parse(&units_size, text, ret, ret_in_bytes, err);
}

hs_status hs_parse_duration(const char *text, uint64_t *ret, struct hs_error *err)
{
    bool ignored;
    return units_parse(&units_duration, text, ret, &ignored, err);
}

static int units_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

hs_status hs_parse_address(const char *text, hs_addr *ret, struct hs_error *err)
{
    uint64_t value = 0;
    bool ok = text[0] == '0' && text[1] == 'x' && text[2] != '\0';

    for (const char *at = text + 2; ok && *at != '\0'; at++) {
        int digit = units_hex(*at);
        if (digit >= 0 && value >> 60 != 0)
            return units_too_large(text, err);
        ok = digit >= 0;
        value = value << 4 | (uint64_t)(digit & 15);
    }
    if (!ok) {
        (void)hs_fail(err, HS_USAGE, "'%s' is not an address", text);
        return hs_hint(err, "write 0x and hexadecimal digits, for example 0x7f0000001000");
    }
    *ret = value;
    return HS_OK;
}

/* Returns value / unit in that many parts of the unit, rounded half up. */
static uint64_t units_scaled(uint64_t value, uint64_t unit, unsigned parts)
{
    return (uint64_t)(((unsigned __int128)value * parts + unit / 2) / unit);
}

/* Writes scaled / 10^digits with that many digits behind the point. */
static void units_print(uint64_t scaled, int digits, const char *unit, char *text)
{
    static const unsigned powers[] = {1, 10, 100};
    unsigned long long whole = scaled / powers[digits];
    unsigned long long part = scaled % powers[digits];

    if (digits == 0)
        (void)snprintf(text, HS_UNIT_TEXT_BYTES, "%llu %s", whole, unit);
    else
        (void)snprintf(text, HS_UNIT_TEXT_BYTES, "%llu.%0*llu %s", whole, digits, part, unit);
}

void hs_format_bytes(uint64_t bytes, char *text)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        units_print(bytes, 0, "B", text);
        return;
    }
    unsigned i = 0;
    while (i < 5 && units_scaled(bytes, 1ULL << (10 * (i + 1)), 10) >= 10240)
        i++;
    units_print(units_scaled(bytes, 1ULL << (10 * (i + 1)), 10), 1, names[i], text);
}

/* Writes a time from one minute up in two parts: "2 m 05 s", "30 h 00 m". */
static void units_print_long(uint64_t ns, char *text)
{
    uint64_t seconds = units_scaled(ns, 1000000000U, 1);
    bool hours = seconds >= 3600;
    uint64_t parts = hours ? units_scaled(ns, 60000000000U, 1) : seconds;

    (void)snprintf(text, HS_UNIT_TEXT_BYTES, "%llu %s %02llu %s", (unsigned long long)(parts / 60),
                   hours ? "h" : "m", (unsigned long long)(parts % 60), hours ? "m" : "s");
}

void hs_format_duration(uint64_t ns, char *text)
{
    static const char *const names[] = {"us", "ms", "s"};
    uint64_t unit = 1000;
    unsigned i = 0;

    if (ns < 1000) {
        units_print(ns, 0, "ns", text);
        return;
    }
    for (; i < 2 && units_scaled(ns, unit, 10) >= 10000; i++)
        unit *= 1000;
    uint64_t tenths = units_scaled(ns, unit, 10);
    if (i == 2 && tenths >= 600)
        units_print_long(ns, text);
    else
        units_print(tenths, 1, names[i], text);
}
