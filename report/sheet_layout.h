/* The widths of a table's columns in a room of so many terminal columns. */
#ifndef HS_REPORT_SHEET_LAYOUT_H
#define HS_REPORT_SHEET_LAYOUT_H

#include "report/sheet.h"

#define HS_LAYOUT_GAP 2 /* spaces between columns */

struct layout_column {
    unsigned flags; /* enum hs_column_flags */
    bool shown;
    bool is_cut;  /* after: it gets less than it wants */
    size_t width; /* before: what its widest cell wants; after: what it gets */
};

/* The longest of the words that stand in the place of a row ("[17 others]", "[unreached]"). */
struct layout_label {
    size_t column; /* where they stand; n for none */
    size_t width;
    size_t others; /* of the widest other cell of the column */
    bool runs_on;  /* nothing stands behind them: they may reach into the columns there */
};

/* Leaves columns as they are where they fit or where `room` is 0 (no limit). Otherwise the flexible
 * column gives first, down to a share of the room that a name needs; then those that shrink; then
 * those that can be spared are left out, the least important first. Ids, addresses and numbers are
 * never cut: what then still does not fit makes the lines longer than the room. */
void hs_layout_fit(struct layout_column *columns, size_t n, const struct layout_label *label,
                   size_t room);

#endif
