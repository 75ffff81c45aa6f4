/* The last parts of analysis/rows.def: what a getter returns, and the getter made of them. */
#ifndef HS_ROWS_GETTERS_H
#define HS_ROWS_GETTERS_H

#include "analysis/rows.h"

#define none ((struct hs_row_value){0})

static inline struct hs_row_value number(uint64_t value)
{
    return (struct hs_row_value){.number = value, .is_known = true};
}

static inline struct hs_row_value truth(bool value)
{
    return number(value);
}

/* Returns a number, or unknown where it is `nothing`. */
static inline struct hs_row_value some(uint64_t value, uint64_t nothing)
{
    return value == nothing ? none : number(value);
}

/* Returns a text as a value; unknown where there is none, or an empty one. */
static inline struct hs_row_value text(const char *value)
{
    bool is_known = value != NULL && value[0] != '\0';
    return (struct hs_row_value){.text = is_known ? value : NULL, .is_known = is_known};
}

static inline struct hs_row_value string(const struct hs_view *view, hs_str id)
{
    return text(hs_view_string(view, id));
}

#define HS_ROWS_COLUMN(noun, name, kind, get) {#name, HS_ROW_##kind},
#define HS_ROWS_COLUMNS(NOUN) \
    static const struct hs_row_column columns[] = {HS_ROWS_##NOUN(HS_ROWS_COLUMN)}

#define HS_ROWS_CASE(noun, name, kind, get) \
    case HS_##noun##_##name:                \
        *ret = get;                         \
        break;
/* The body of a getter, which has named what the last parts of the columns speak of. */
#define HS_ROWS_SWITCH(NOUN)                                \
    switch (column) {                                       \
        HS_ROWS_##NOUN(HS_ROWS_CASE) default : *ret = none; \
    }

#define HS_ROWS_NOUN(noun) \
    .name = #noun, .columns = columns, .n_columns = sizeof columns / sizeof *columns, .get = get_one

#endif
