/* Listings of nouns: the columns of analysis/rows.h as fields of report/listing.h.
 *
 * A line of a listing begins with one cell per column; JSON has every column of the noun, table and
 * TSV those that a command shows:
 *
 *     struct line {
 *         uint64_t cells[HS_TYPES_N];
 *     };
 *     #define HS_ROW struct line
 *     static const struct hs_field fields[] = {
 *         HS_ROWS_TYPES(HS_NOUN_FIELD)
 *         HS_SHOWN(TYPES, objects, 1, COUNT, "OBJECTS", HS_COLUMN_SUMMED),
 *     };
 */
#ifndef HS_LOOK_NOUN_FIELDS_H
#define HS_LOOK_NOUN_FIELDS_H

#include <string.h>

#include "analysis/rows.h"
#include "report/listing.h"

/* The ways in which a kind of column is written; a set as the text "set:1". */
#define HS_SHOWN_TEXT HS_COLUMN_STRING
#define HS_SHOWN_COUNT HS_COLUMN_COUNT
#define HS_SHOWN_WORDS HS_COLUMN_WORDS
#define HS_SHOWN_BYTES HS_COLUMN_COUNT
#define HS_SHOWN_NS HS_COLUMN_DURATION
#define HS_SHOWN_TIME HS_COLUMN_COUNT
#define HS_SHOWN_ADDRESS HS_COLUMN_ADDRESS
#define HS_SHOWN_NODE HS_COLUMN_NODE
#define HS_SHOWN_SET HS_COLUMN_STRING
#define HS_SHOWN_NUMBER HS_COLUMN_COUNT
#define HS_SHOWN_BOOL HS_COLUMN_BOOL

#define HS_CELL_OFFSET(noun, name) \
    (offsetof(HS_ROW, cells) + (size_t)HS_##noun##_##name * sizeof(uint64_t))
/* A column of the noun in JSON. */
#define HS_NOUN_FIELD(noun, name, kind, get) \
    {{#name, NULL, HS_SHOWN_##kind, 0}, HS_CELL_OFFSET(noun, name), 0},
/* The same in table and TSV. */
#define HS_SHOWN_AS(noun, name, key, column_, kind_, title, flags)               \
    {                                                                            \
        {key, title, HS_COLUMN_##kind_, (unsigned)(flags) | HS_COLUMN_NOT_JSON}, \
            HS_CELL_OFFSET(noun, name), (column_)                                \
    }
#define HS_SHOWN(noun, name, column, kind, title, flags) \
    HS_SHOWN_AS(noun, name, #name, column, kind, title, flags)

static inline void hs_cell_text(uint64_t *cell, const char *text)
{
    memcpy(cell, &text, sizeof text);
}

/* Loads the cells of one row; their texts live until the next. HS_FORMAT of a damaged trace. The
 * second leaves out columns that the caller knows, a bit each. */
hs_status hs_noun_load(struct hs_rows *rows, uint64_t at, uint64_t *cells, struct hs_error *err);
hs_status hs_noun_load_but(struct hs_rows *rows, uint64_t at, uint64_t known, uint64_t *cells,
                           struct hs_error *err);
/* Makes all cells unknown: for lines that are no rows. */
void hs_noun_clear(const struct hs_noun *noun, uint64_t *cells);
/* Makes the cells members of a JSON object: room for n_columns and an end. */
void hs_noun_members(const struct hs_noun *noun, const uint64_t *cells, struct hs_pair *members);

#endif
