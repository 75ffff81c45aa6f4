/* Filling a sheet. */
#include "report/sheet.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "sheet_private.h"

hs_status hs_sheet_init(struct hs_sheet *sheet, const struct hs_column *columns, size_t n_columns,
                        const struct hs_sheet_options *options, struct hs_error *err)
{
    void *sums;

    assert(n_columns != 0);
    HS_TRY(hs_alloc(n_columns, 2 * sizeof *sheet->sums, &sums, err));
    *sheet = (struct hs_sheet){
        .columns = columns,
        .n_columns = n_columns,
        .options = *options,
        .sums = sums,
        .error = HS_ERROR_INIT,
    };
    if (sheet->options.word_bytes == 0)
        sheet->options.word_bytes = 8;
    return HS_OK;
}

void hs_sheet_fini(struct hs_sheet *sheet)
{
    if (sheet == NULL)
        return;
    hs_strtab_fini(&sheet->strings);
    hs_free(sheet->cells);
    hs_free(sheet->known);
    hs_free(sheet->sums);
    *sheet = (struct hs_sheet){0};
}

/* Sums stay at the top rather than starting over: figures of a damaged target are not believed. */
static void sheet_add(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = UINT64_MAX;
}

/* Tells whether the row being filled is counted only. */
static bool sheet_folds(const struct hs_sheet *sheet)
{
    return !sheet->closing && sheet->options.limit != 0 && sheet->n_rows >= sheet->options.limit;
}

/* Makes room for the whole row, when it begins. */
static bool sheet_begin_cell(struct hs_sheet *sheet)
{
    size_t needed = sheet->n_cells + sheet->n_columns;

    if (sheet->error.status != HS_OK)
        return false;
    if (sheet->column != 0 || sheet_folds(sheet))
        return true;
    return HS_GROW(&sheet->cells, &sheet->cells_capacity, needed, &sheet->error) == HS_OK &&
           HS_GROW(&sheet->known, &sheet->known_capacity, needed, &sheet->error) == HS_OK;
}

/* A row that a table would print as 0.0 %. */
static bool sheet_is_small(const struct hs_sheet *sheet, size_t row)
{
    bool weighs = false;

    if (!sheet->options.folds_small || sheet->options.format != HS_SHEET_TABLE || row == 0)
        return false;
    for (size_t i = 0; i < sheet->n_columns; i++) {
        struct sheet_cell cell = sheet_cell_at(sheet, row, i);
        if ((sheet->columns[i].flags & HS_COLUMN_WEIGHS) == 0)
            continue;
        weighs = true;
        if (cell.known && cell.value >= hs_percent_least(sheet->options.whole))
            return false;
    }
    return weighs;
}

/* Moves a row to the others; it is counted in all of them already. */
static void sheet_fold_row(struct hs_sheet *sheet, size_t row)
{
    size_t n = sheet->n_columns;
    size_t begin = row * n, behind = sheet->n_cells - begin - n;

    for (size_t i = 0; i < n; i++) {
        struct sheet_cell cell = sheet_cell_at(sheet, row, i);
        if ((sheet->columns[i].flags & HS_COLUMN_SUMMED) != 0 && cell.known)
            sheet_add(&sheet->sums[i], cell.value);
    }
    memmove(sheet->cells + begin, sheet->cells + begin + n, behind * sizeof *sheet->cells);
    memmove(sheet->known + begin, sheet->known + begin + n, behind);
    sheet->n_cells -= n;
    sheet->n_rows--;
    sheet->n_others++;
}

/* The only small row joins the others once there are some: alone it takes no more than their line.
 */
static void sheet_fold_small(struct hs_sheet *sheet)
{
    if (sheet->n_small != 1 || sheet->n_others == 0)
        return;
    sheet_fold_row(sheet, sheet->small_row);
    sheet->n_small++;
}

static void sheet_end_row(struct hs_sheet *sheet)
{
    sheet->column = 0;
    if (sheet->closing) {
        sheet->n_closing++;
        return;
    }
    if (sheet_folds(sheet)) {
        sheet->n_others++;
        return;
    }
    size_t row = sheet->n_rows++;
    if (!sheet_is_small(sheet, row))
        return;
    if (++sheet->n_small == 1) {
        sheet->small_row = row;
        return;
    }
    sheet_fold_row(sheet, row);
    if (sheet->n_small == 2)
        sheet_fold_row(sheet, sheet->small_row);
}

static void sheet_append(struct hs_sheet *sheet, uint64_t value, bool known)
{
    size_t column = sheet->column;

    if ((sheet->columns[column].flags & HS_COLUMN_SUMMED) != 0 && known) {
        if (sheet_folds(sheet))
            sheet_add(&sheet->sums[column], value);
        sheet_add(&sheet->sums[sheet->n_columns + column], value);
    }
    if (!sheet_folds(sheet)) {
        sheet->cells[sheet->n_cells] = value;
        sheet->known[sheet->n_cells++] = known;
    }
    if (++sheet->column == sheet->n_columns)
        sheet_end_row(sheet);
}

void hs_sheet_string(struct hs_sheet *sheet, const char *text)
{
    hs_str id = 0;

    if (!sheet_begin_cell(sheet))
        return;
    assert(sheet->columns[sheet->column].kind == HS_COLUMN_STRING);
    if (!sheet_folds(sheet) && hs_strtab_add(&sheet->strings, text, &id, &sheet->error) != HS_OK)
        return;
    sheet_append(sheet, id, text != NULL);
}

void hs_sheet_u64(struct hs_sheet *sheet, uint64_t value)
{
    if (!sheet_begin_cell(sheet))
        return;
    assert(sheet->columns[sheet->column].kind != HS_COLUMN_STRING);
    sheet_append(sheet, value, true);
}

void hs_sheet_null(struct hs_sheet *sheet)
{
    if (sheet_begin_cell(sheet))
        sheet_append(sheet, 0, false);
}

void hs_sheet_fold(struct hs_sheet *sheet, uint64_t n_rows, const uint64_t *sums)
{
    assert(sheet->column == 0 || sheet->error.status != HS_OK);
    sheet_add(&sheet->n_others, n_rows);
    for (size_t i = 0; i < sheet->n_columns; i++) {
        if ((sheet->columns[i].flags & HS_COLUMN_SUMMED) == 0)
            continue;
        sheet_add(&sheet->sums[i], sums[i]);
        sheet_add(&sheet->sums[sheet->n_columns + i], sums[i]);
    }
}

void hs_sheet_close_rows(struct hs_sheet *sheet)
{
    assert(sheet->column == 0 || sheet->error.status != HS_OK);
    if (!sheet->closing && sheet->error.status == HS_OK)
        sheet_fold_small(sheet);
    sheet->closing = true;
}

/* The first failure of the filling, or of nothing. */
static hs_status sheet_check(const struct hs_sheet *sheet, struct hs_error *err)
{
    if (sheet->error.status != HS_OK)
        *err = sheet->error;
    else
        assert(sheet->column == 0 && "the last row is whole");
    return sheet->error.status;
}

hs_status hs_sheet_write(struct hs_sheet *sheet, struct hs_out *out, struct hs_error *err)
{
    HS_TRY(sheet_check(sheet, err));
    if (!sheet->closing)
        sheet_fold_small(sheet);
    return sheet->options.format == HS_SHEET_TSV ? hs_sheet_put_tsv(sheet, out, err)
                                                 : hs_sheet_put_table(sheet, out, err);
}
