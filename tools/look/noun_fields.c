#include "noun_fields.h"

#include <assert.h>
#include <stdio.h>

enum { SET_BYTES = 16 };

static const enum hs_column_kind shown_as[] = {
#define SHOWN(kind) [HS_ROW_##kind] = HS_SHOWN_##kind
    SHOWN(TEXT),    SHOWN(COUNT), SHOWN(WORDS), SHOWN(BYTES),  SHOWN(NS),   SHOWN(TIME),
    SHOWN(ADDRESS), SHOWN(NODE),  SHOWN(SET),   SHOWN(NUMBER), SHOWN(BOOL),
};

static bool is_text(const struct hs_noun *noun, unsigned column)
{
    return shown_as[noun->columns[column].kind] == HS_COLUMN_STRING;
}

hs_status hs_noun_load(struct hs_rows *rows, uint64_t at, uint64_t *cells, struct hs_error *err)
{
    return hs_noun_load_but(rows, at, 0, cells, err);
}

hs_status hs_noun_load_but(struct hs_rows *rows, uint64_t at, uint64_t known, uint64_t *cells,
                           struct hs_error *err)
{
    const struct hs_noun *noun = rows->noun;
    hs_rows_begin(rows);
    for (unsigned i = 0; i < noun->n_columns; i++) {
        struct hs_row_value value;
        if ((known >> i & 1) != 0)
            continue;
        HS_TRY(hs_rows_get(rows, at, i, &value, err));
        if (noun->columns[i].kind == HS_ROW_SET && value.is_known) {
            char *room = hs_rows_room(rows, SET_BYTES);
            (void)snprintf(room, SET_BYTES, "set:%lu", (unsigned long)value.number);
            hs_cell_text(&cells[i], room);
        } else if (is_text(noun, i))
            hs_cell_text(&cells[i], value.text);
        else
            cells[i] = value.is_known ? value.number : HS_UNKNOWN;
    }
    return HS_OK;
}

void hs_noun_clear(const struct hs_noun *noun, uint64_t *cells)
{
    for (unsigned i = 0; i < noun->n_columns; i++)
        cells[i] = is_text(noun, i) ? 0 : HS_UNKNOWN;
}

void hs_noun_members(const struct hs_noun *noun, const uint64_t *cells, struct hs_pair *members)
{
    for (unsigned i = 0; i < noun->n_columns; i++) {
        members[i] =
            (struct hs_pair){.key = noun->columns[i].name, .kind = shown_as[noun->columns[i].kind]};
        if (is_text(noun, i))
            memcpy(&members[i].text, &cells[i], sizeof members[i].text);
        else
            members[i].number = cells[i];
    }
    members[noun->n_columns] = (struct hs_pair)HS_PAIRS_END;
}
