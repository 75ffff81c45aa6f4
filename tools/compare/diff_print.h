/* A comparison as table, JSON, NDJSON or TSV. */
#ifndef HS_COMPARE_DIFF_PRINT_H
#define HS_COMPARE_DIFF_PRINT_H

#include "analysis/grown_place.h"
#include "comparison.h"
#include "look/balance_text.h"

struct hs_diff_print {
    const struct hs_comparison *comparison;
    const char *example;         /* the command that shows a block or type that grew; NULL: none */
    bool example_is_new;         /* it was not there before */
    struct hs_grown_place place; /* of that block; zeroed: none */
    struct hs_balance ends[2];   /* of the oldest and the newest; resident_bytes 0: not known */
    char balance[HS_BALANCE_TEXT_BYTES];         /* of the oldest and the newest; "": not known */
    char balance_verdict[HS_BALANCE_TEXT_BYTES]; /* what grew in place of the live heap; "" */
};

hs_status hs_diff_print(struct hs_tool *tool, const struct hs_invocation *inv,
                        const struct hs_diff_print *print, struct hs_error *err);

#endif
