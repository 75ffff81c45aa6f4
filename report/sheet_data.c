/* The sheet for programs: tab-separated values. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"
#include "sheet_private.h"

/* Tells whether a cell has a number; without one it is empty. */
static bool data_knows(const struct hs_sheet *sheet, size_t column, struct sheet_cell cell)
{
    enum hs_column_kind kind = sheet->columns[column].kind;
    return cell.known && !(kind == HS_COLUMN_SECONDS && cell.value == UINT64_MAX) &&
           !(kind == HS_COLUMN_NODE && cell.value == HS_NO_NODE) &&
           !(kind == HS_COLUMN_PERCENT && sheet->options.whole == 0);
}

static bool data_shows(const struct hs_sheet *sheet, size_t column)
{
    return (sheet->columns[column].flags & HS_COLUMN_TABLE_ONLY) == 0;
}

static void data_print_percent(uint64_t part, uint64_t whole, char text[48])
{
    unsigned __int128 scaled = ((unsigned __int128)part * 10000 + whole / 2) / whole;
    (void)snprintf(text, 48, "%" PRIu64 ".%02u", (uint64_t)(scaled / 100),
                   (unsigned)(scaled % 100));
}

/* Appends one cell of a TSV line; nothing for what is unknown. */
static hs_status data_put_cell(const struct hs_sheet *sheet, size_t column, struct sheet_cell cell,
                               struct hs_buffer *line, struct hs_error *err)
{
    char text[48];
    enum hs_column_kind kind = sheet->columns[column].kind;

    if (!data_knows(sheet, column, cell))
        return HS_OK;
    if (kind == HS_COLUMN_STRING) {
        const char *string = hs_strtab_get(&sheet->strings, (hs_str)cell.value);
        return hs_text_sanitise(string, strlen(string), HS_TEXT_TSV, line, err);
    }
    if (kind == HS_COLUMN_ADDRESS)
        (void)snprintf(text, sizeof text, "0x%" PRIx64, cell.value);
    else if (kind == HS_COLUMN_BOOL)
        (void)snprintf(text, sizeof text, "%s", cell.value != 0 ? "true" : "false");
    else if (kind == HS_COLUMN_PERCENT)
        data_print_percent(cell.value, sheet->options.whole, text);
    else if (kind == HS_COLUMN_SHARE)
        data_print_percent(cell.value, 10000, text);
    else
        (void)snprintf(text, sizeof text, "%s%" PRIu64, kind == HS_COLUMN_NODE ? "#" : "",
                       cell.value);
    HS_TRY(hs_buffer_reserve(line, sizeof text, err));
    hs_buffer_put_bytes(line, text, strlen(text));
    return HS_OK;
}

/* Writes one line: the keys for `row` = SIZE_MAX, a row otherwise. */
static hs_status data_write_line(const struct hs_sheet *sheet, size_t row, struct hs_buffer *line,
                                 struct hs_out *out, struct hs_error *err)
{
    line->n_bytes = 0;
    for (size_t column = 0; column < sheet->n_columns; column++) {
        const char *key = sheet->columns[column].key;
        if (!data_shows(sheet, column))
            continue;
        if (row == SIZE_MAX)
            HS_TRY(hs_text_sanitise(key, strlen(key), HS_TEXT_TSV, line, err));
        else
            HS_TRY(data_put_cell(sheet, column, sheet_cell_at(sheet, row, column), line, err));
        HS_TRY(hs_buffer_reserve(line, 1, err));
        hs_buffer_put_u8(line, '\t');
    }
    if (line->n_bytes == 0)
        return HS_OK; /* all columns are for tables */
    line->bytes[line->n_bytes - 1] = '\n';
    return hs_out_write(out, line->bytes, line->n_bytes, err);
}

hs_status hs_sheet_put_tsv(const struct hs_sheet *sheet, struct hs_out *out, struct hs_error *err)
{
    struct hs_buffer line = {0};
    hs_status status = data_write_line(sheet, SIZE_MAX, &line, out, err);
    for (size_t row = 0; status == HS_OK && row < sheet->n_rows; row++)
        status = data_write_line(sheet, row, &line, out, err);
    hs_buffer_fini(&line);
    return status;
}
