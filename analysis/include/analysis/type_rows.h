/* Objects, shallow and retained words of every type. */
#ifndef HS_ANALYSIS_TYPE_ROWS_H
#define HS_ANALYSIS_TYPE_ROWS_H

#include "analysis/type_family.h"

enum hs_type_sort { HS_TYPE_BY_RETAINED, HS_TYPE_BY_WORDS, HS_TYPE_BY_OBJECTS, HS_TYPE_BY_NAME };

struct hs_type_row {
    uint32_t type;           /* the smallest of the family */
    uint32_t n_types;        /* that are in it */
    struct hs_sizes shallow; /* of the objects that a root reaches */
    uint64_t retained_words; /* freed if all objects of the type went away */
    bool is_open;            /* of the walk: an object of this type stands above */
};

struct hs_type_rows {
    struct hs_type_row *rows; /* owned */
    size_t n_rows;
    uint64_t n_others; /* types below a threshold or beyond the limit */
    struct hs_sizes others;
};

struct hs_type_query {
    enum hs_type_sort sort;
    enum hs_type_level level; /* one row for each family of types */
    uint64_t min_words;       /* retained */
    uint64_t max_rows;
    /* Only blocks that these nodes retain; NULL: all. A bit per block more. */
    const hs_node *within;
    size_t n_within;
};

/* The types that a root reaches, sorted. One pass over the sizes and types, one walk of the
 * dominator tree, 1 to 4 bytes per block of the budget; where these bytes do not tell all types
 * apart, both again for the other types. */
hs_status hs_type_rows_select(const struct hs_view *view, const struct hs_type_query *query,
                              struct hs_type_rows *ret, struct hs_error *err);
void hs_type_rows_fini(struct hs_type_rows *rows);

#endif
