/* The rows of suspects for programs: JSON, NDJSON and TSV. */
#ifndef HS_LOOK_SUSPECT_ROWS_H
#define HS_LOOK_SUSPECT_ROWS_H

#include "analysis/suspects.h"
#include "compare/growing.h"
#include "report/listing.h"

/* A listing of suspects; all is borrowed. */
struct hs_suspect_listing {
    struct hs_view *view;
    const struct hs_suspects *found;
    const struct hs_growing *growing; /* comes first, if it is there */
    const char *verdict;              /* comes next: the memory is no live heap; NULL: it is */
    uint64_t verdict_bytes;           /* what it speaks of */
    const struct hs_suspect *at;      /* the one whose row is written */
};

/* Puts the rows: `each` of a list of hs_suspects_record, with a struct hs_suspect_listing. */
extern const struct hs_record hs_suspects_record;
hs_status hs_suspect_rows(void *context, struct hs_sink *sink, struct hs_error *err);

#endif
