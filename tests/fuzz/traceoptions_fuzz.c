/* links: hs_trace_stats */
/* Any text as a range of each kind, and as a pattern: read without harm; what is taken means the
 * same when it is written out in numbers again; what is refused says why. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "stats/pattern.h"
#include "stats/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_BYTES = 400 };

/* Nanoseconds, bytes or a number, as the range's kind has its plain unit. */
static void print_bound(uint64_t value, enum hs_stats_range_kind kind, char text[64])
{
    bool is_time = kind == HS_RANGE_TIME || kind == HS_RANGE_LIFE;
    snprintf(text, 64, "%llu%s", (unsigned long long)value, is_time ? "ns" : "");
}

static void check_again(const struct hs_stats_span *span, enum hs_stats_range_kind kind)
{
    static const struct hs_stats_whole nothing = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_stats_range range;
    struct hs_stats_span again;
    char from[64], to[64], text[160];
    if (kind == HS_RANGE_SHARE) /* percents alone */
        return;
    print_bound(span->from, kind, from);
    print_bound(span->to, kind, to);
    snprintf(text, sizeof text, "%s..%s", from, to);
    hs_status status = hs_stats_range_parse(text, kind, false, &range, &err);
    assert(status == HS_OK);
    status = hs_stats_range_resolve(&range, &nothing, &again, &err);
    assert(status == HS_OK && again.from == span->from && again.to == span->to);
}

static void check_range(const char *text, enum hs_stats_range_kind kind)
{
    static const struct hs_stats_whole whole = {1000000007, 300000007, 1000000007};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_stats_range range;
    struct hs_stats_span span;
    hs_status status = hs_stats_range_parse(text, kind, kind == HS_RANGE_TIME, &range, &err);
    if (status == HS_OK && range.is_never) {
        assert(strcmp(text, "never") == 0);
        return;
    }
    if (status == HS_OK)
        status = hs_stats_range_resolve(&range, &whole, &span, &err);
    if (status != HS_OK) {
        assert(status == HS_USAGE && err.message[0] != '\0' && err.hint[0] != '\0');
        return;
    }
    assert(span.from <= span.to);
    assert(!range.is_point || span.from == span.to);
    check_again(&span, kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_name_pattern pattern;
    char text[MAX_BYTES + 1];
    if (n_bytes > MAX_BYTES)
        return 0;
    if (n_bytes != 0)
        memcpy(text, bytes, n_bytes);
    text[n_bytes] = '\0';
    for (int kind = 0; kind < HS_N_RANGE_KINDS; kind++)
        check_range(text, (enum hs_stats_range_kind)kind);
    if (hs_name_pattern_init(&pattern, text, &err) != HS_OK) {
        assert(err.status == HS_USAGE && err.message[0] != '\0');
        return 0;
    }
    bool matches = hs_name_pattern_matches(&pattern, text);
    assert(pattern.is_regex || matches); /* a text contains itself */
    (void)hs_name_pattern_matches(&pattern, "Stdlib__Set.Make.bal");
    (void)hs_name_pattern_matches(&pattern, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    hs_name_pattern_fini(&pattern);
    return 0;
}
