/* A file that says which leaks are known, in the manner of LeakSanitizer's:
 *
 *   # comment
 *   type:std::vector<*        blocks of such a type, and what hangs on them alone
 *   root:g_cache              what such a root leads to, however doubtfully, counts as held
 *
 * A pattern matches anywhere in the name; `*` stands for any text, `^` at its begin and `$` at its
 * end tie it there. */
#ifndef HS_ANALYSIS_SUPPRESSIONS_H
#define HS_ANALYSIS_SUPPRESSIONS_H

#include "base/error.h"

enum hs_suppression_kind { HS_SUPPRESS_TYPE, HS_SUPPRESS_ROOT };

struct hs_suppression {
    const char *pattern; /* borrowed from `text`; not empty */
    enum hs_suppression_kind kind;
};

struct hs_suppressions {
    char *text;                   /* owned: the file, its lines ended by NUL */
    struct hs_suppression *items; /* owned */
    size_t n, capacity;
};

/* Loads such a file. HS_IO; HS_USAGE with the number of a line that is no suppression. */
hs_status hs_suppressions_load(const char *path, struct hs_suppressions *ret, struct hs_error *err);
void hs_suppressions_fini(struct hs_suppressions *suppressions);

bool hs_suppressions_match(const struct hs_suppressions *suppressions,
                           enum hs_suppression_kind kind, const char *name);

/* Tells whether a pattern matches; exposed for tests. O(name * pattern) at worst. */
bool hs_pattern_matches(const char *pattern, const char *name);

#endif
