/* The state that the files of the sheet share. */
#ifndef HS_REPORT_SHEET_PRIVATE_H
#define HS_REPORT_SHEET_PRIVATE_H

#include "base/buffer.h"
#include "report/sheet.h"

/* One cell as the writers see it. */
struct sheet_cell {
    uint64_t value;
    bool known;
};

static inline struct sheet_cell sheet_cell_at(const struct hs_sheet *sheet, size_t row,
                                              size_t column)
{
    size_t at = row * sheet->n_columns + column;
    return (struct sheet_cell){sheet->cells[at], sheet->known[at] != 0};
}

hs_status hs_sheet_put_table(const struct hs_sheet *sheet, struct hs_out *out,
                             struct hs_error *err);
hs_status hs_sheet_put_tsv(const struct hs_sheet *sheet, struct hs_out *out, struct hs_error *err);
/* The rows one after another; each is a member of an array, or a document of its own. */

#endif
