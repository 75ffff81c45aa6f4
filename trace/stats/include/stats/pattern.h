/* The patterns that options call TEXT or /RE/: a part of a name, or between slashes an extended
 * regular expression of POSIX, upper and lower case told apart.
 *
 * Names come from traces, which are hostile, so what makes matching explode is refused: patterns of
 * more than HS_PATTERN_MAX_BYTES, references back, counts that multiply to more than
 * HS_PATTERN_MAX_REPEATS, and what has more than HS_PATTERN_MAX_STATES when its counts are written
 * out. So a pattern takes 100 KB at most, and a match so many steps for each byte of the name. */
#ifndef HS_STATS_PATTERN_H
#define HS_STATS_PATTERN_H

#include "base/error.h"

#define HS_PATTERN_MAX_BYTES 256
#define HS_PATTERN_MAX_REPEATS 1000
#define HS_PATTERN_MAX_STATES 4096

struct hs_expression;

struct hs_name_pattern {
    const char *text; /* borrowed: the whole of it */
    bool is_regex;
    struct hs_expression *expression; /* owned */
};

/* Reads a pattern. `text` must outlive it. HS_USAGE with what is wrong. */
hs_status hs_name_pattern_init(struct hs_name_pattern *pattern, const char *text,
                               struct hs_error *err);
void hs_name_pattern_fini(struct hs_name_pattern *pattern);
bool hs_name_pattern_matches(const struct hs_name_pattern *pattern, const char *name);

#endif
