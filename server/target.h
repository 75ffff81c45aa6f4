/* Path and query of a request. */
#ifndef HS_SERVER_TARGET_H
#define HS_SERVER_TARGET_H

#include "server/exchange.h"

enum { TARGET_PARTS = 6, TARGET_VALUES = 16 };

struct hs_target {
    char text[HS_SERVER_TARGET_BYTES];
    const char *parts[TARGET_PARTS]; /* of the path, between its slashes, decoded */
    size_t n_parts;
    struct {
        const char *name, *value;
    } values[TARGET_VALUES]; /* of the query, in order, decoded */
    size_t n_values;
};

/* Parses a target. HS_LIMIT when it is too long or has too many parameters; HS_USAGE when it is no
 * path, or a byte stands behind a percent sign that cannot be one: 0, or no hexadecimal digits. */
hs_status hs_target_parse(const char *text, struct hs_target *ret, struct hs_error *err);
/* Finds the value of a parameter; NULL: there is none. */
const char *hs_target_value(const struct hs_target *target, const char *name);

#endif
