/* Whether a name is matched by a pattern, which must be a good one. */
#ifndef HS_TEST_NAME_MATCHES_H
#define HS_TEST_NAME_MATCHES_H

#include "stats/pattern.h"

static inline bool name_matches(const char *text, const char *name)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_name_pattern pattern;
    assert_int_equal(hs_name_pattern_init(&pattern, text, &err), HS_OK);
    bool found = hs_name_pattern_matches(&pattern, name);
    hs_name_pattern_fini(&pattern);
    return found;
}

#endif
