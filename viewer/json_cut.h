/* JSON with long strings cut, as it passes. */
#ifndef HS_VIEWER_JSON_CUT_H
#define HS_VIEWER_JSON_CUT_H

#include "base/error.h"

/* One text, from its first byte. Zero it, but for `most`. */
struct json_cut {
    size_t most;       /* bytes of a string between its quotes */
    size_t n_string;   /* of the string that is passing */
    unsigned n_escape; /* bytes of the escape that is passing which are still to come */
    bool in_string, is_cut;
};

/* Copies n bytes of well-formed JSON to `to`, which has room for them and for 3 more a string;
 * returns how many it became. A string that is cut ends in "…", at a whole character. */
size_t json_cut_copy(struct json_cut *cut, const char *from, size_t n, char *to);

#endif
