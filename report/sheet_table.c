/* The sheet for eyes: measured once, printed once. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "report/text.h"
#include "sheet_layout.h"
#include "sheet_private.h"

/* One name must not make every line as long as itself; the other formats have it whole. */
#define MOST_WIDTH 1000
#define LEAST_NAME 16 /* of a tree's row, however deep */

enum table_part { TABLE_HEADING, TABLE_ROW, TABLE_OTHERS, TABLE_CLOSING, TABLE_TOTAL };

struct table {
    const struct hs_sheet *sheet;
    struct layout_column *columns; /* owned */
    struct layout_label label;     /* what names others, closing rows and TOTAL */
    size_t last;                   /* the last column shown */
    struct hs_buffer cell;         /* safe text of one cell */
    struct hs_buffer line;
    size_t rest; /* of the cell that wraps: what of it is printed */
};

static bool table_shows(const struct hs_sheet *sheet, size_t column)
{
    return (sheet->columns[column].flags & HS_COLUMN_DATA_ONLY) == 0;
}

static bool table_has_total(const struct hs_sheet *sheet)
{
    bool summed = false;
    for (size_t i = 0; i < sheet->n_columns; i++)
        summed |= table_shows(sheet, i) && (sheet->columns[i].flags & HS_COLUMN_SUMMED) != 0;
    return summed && !sheet->options.no_total;
}

/* Lines are numbered: heading, rows, others, closing rows, total. */
static size_t table_n_lines(const struct hs_sheet *sheet)
{
    return 1 + sheet->n_rows + (sheet->n_others != 0) + sheet->n_closing + table_has_total(sheet);
}

static enum table_part table_part_of(const struct hs_sheet *sheet, size_t line, size_t *ret_row)
{
    if (line == 0)
        return TABLE_HEADING;
    *ret_row = line - 1;
    if (line <= sheet->n_rows)
        return TABLE_ROW;
    line -= 1 + sheet->n_rows;
    if (sheet->n_others != 0 && line-- == 0)
        return TABLE_OTHERS;
    *ret_row = sheet->n_rows + line;
    return line < sheet->n_closing ? TABLE_CLOSING : TABLE_TOTAL;
}

/* ---- one cell ---- */

static hs_status table_put(struct table *table, const char *text, struct hs_error *err)
{
    return hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &table->cell, err);
}

static void table_print_percent(uint64_t part, uint64_t whole, char text[48])
{
    unsigned __int128 scaled = ((unsigned __int128)part * 1000 + whole / 2) / whole;
    (void)snprintf(text, 48, "%" PRIu64 ".%u%%", (uint64_t)(scaled / 10), (unsigned)(scaled % 10));
}

/* The kinds that have units; false when the plain integer is wanted. */
static bool table_print_human(const struct hs_sheet *sheet, enum hs_column_kind kind,
                              uint64_t value, char text[48])
{
    uint64_t bytes;

    if (!sheet->options.human)
        return false;
    switch (kind) {
    case HS_COLUMN_WORDS:
        if (__builtin_mul_overflow(value, sheet->options.word_bytes, &bytes))
            bytes = UINT64_MAX;
        hs_format_bytes(bytes, text);
        return true;
    case HS_COLUMN_BYTES:
        hs_format_bytes(value, text);
        return true;
    case HS_COLUMN_DURATION:
        hs_format_duration(value, text);
        return true;
    default:
        return false;
    }
}

static void table_print_seconds(uint64_t us, char text[48])
{
    if (us == UINT64_MAX)
        (void)snprintf(text, 48, "never");
    else
        (void)snprintf(text, 48, "%" PRIu64 ".%06u", us / 1000000, (unsigned)(us % 1000000));
}

static void table_print_value(const struct hs_sheet *sheet, enum hs_column_kind kind,
                              struct sheet_cell cell, char text[48])
{
    if (!cell.known || (kind == HS_COLUMN_PERCENT && sheet->options.whole == 0) ||
        (kind == HS_COLUMN_NODE && cell.value == HS_NO_NODE))
        (void)snprintf(text, 48, "-");
    else if (kind == HS_COLUMN_PERCENT)
        table_print_percent(cell.value, sheet->options.whole, text);
    else if (kind == HS_COLUMN_ADDRESS)
        (void)snprintf(text, 48, "0x%" PRIx64, cell.value);
    else if (kind == HS_COLUMN_NODE)
        (void)snprintf(text, 48, "#%" PRIu64, cell.value);
    else if (kind == HS_COLUMN_BOOL)
        (void)snprintf(text, 48, "%s", cell.value != 0 ? "yes" : "no");
    else if (kind == HS_COLUMN_SECONDS)
        table_print_seconds(cell.value, text);
    else if (kind == HS_COLUMN_SHARE)
        table_print_percent(cell.value, 10000, text);
    else if (!table_print_human(sheet, kind, cell.value, text))
        (void)snprintf(text, 48, "%" PRIu64, cell.value);
}

/* A cell of a row or a closing row. */
static hs_status table_put_cell(struct table *table, size_t row, size_t column,
                                struct hs_error *err)
{
    const struct hs_sheet *sheet = table->sheet;
    enum hs_column_kind kind = sheet->columns[column].kind;
    struct sheet_cell cell = sheet_cell_at(sheet, row, column);
    char text[48];

    if (kind == HS_COLUMN_STRING && cell.known)
        return table_put(table, hs_strtab_get(&sheet->strings, (hs_str)cell.value), err);
    table_print_value(sheet, kind, cell, text);
    /* A closing row has only what it sums; a dash there would ask a question. */
    return row >= sheet->n_rows && !cell.known ? HS_OK : table_put(table, text, err);
}

/* A cell of "[n others]" or TOTAL. */
static hs_status table_put_sum(struct table *table, enum table_part part, size_t column,
                               struct hs_error *err)
{
    const struct hs_sheet *sheet = table->sheet;
    bool total = part == TABLE_TOTAL;
    char text[48] = "";

    if (column == table->label.column && total)
        (void)snprintf(text, sizeof text, "TOTAL");
    else if (column == table->label.column)
        (void)snprintf(text, sizeof text, "[%" PRIu64 " other%s]", sheet->n_others,
                       sheet->n_others == 1 ? "" : "s");
    else if ((sheet->columns[column].flags & HS_COLUMN_SUMMED) != 0) {
        uint64_t sum = sheet->sums[(total ? sheet->n_columns : 0) + column];
        table_print_value(sheet, sheet->columns[column].kind, (struct sheet_cell){sum, true}, text);
    }
    return table_put(table, text, err);
}

/* Returns a column's title; a figure shown in units is no number of words. */
static const char *table_title(const struct hs_sheet *sheet, size_t column)
{
    const char *title = sheet->columns[column].title;
    bool is_unit = sheet->options.human && sheet->columns[column].kind == HS_COLUMN_WORDS;
    return is_unit && strcmp(title, "WORDS") == 0 ? "SIZE" : title;
}

/* Leaves the safe text of a cell in table->cell. */
static hs_status table_form_cell(struct table *table, size_t line, size_t column,
                                 struct hs_error *err)
{
    size_t row = 0;
    enum table_part part = table_part_of(table->sheet, line, &row);

    table->cell.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&table->cell, 1, err)); /* never NULL */
    switch (part) {
    case TABLE_HEADING:
        return table_put(table, table_title(table->sheet, column), err);
    case TABLE_ROW:
    case TABLE_CLOSING:
        return table_put_cell(table, row, column, err);
    case TABLE_OTHERS:
    case TABLE_TOTAL:
    default:
        return table_put_sum(table, part, column, err);
    }
}

static size_t table_cell_width(const struct table *table)
{
    return hs_text_width((const char *)table->cell.bytes, table->cell.n_bytes);
}

/* ---- layout ---- */

static bool table_is_label(const struct table *table, size_t line, size_t column)
{
    size_t row = 0;
    enum table_part part = table_part_of(table->sheet, line, &row);
    return column == table->label.column && part != TABLE_HEADING && part != TABLE_ROW;
}

static hs_status table_measure_line(struct table *table, size_t line, struct hs_error *err)
{
    bool label_passed = false;
    for (size_t i = 0; i < table->sheet->n_columns; i++) {
        struct layout_column *column = &table->columns[i];
        if (!column->shown)
            continue;
        HS_TRY(table_form_cell(table, line, i, err));
        size_t width = table_cell_width(table);
        width = width < MOST_WIDTH ? width : MOST_WIDTH;
        if (label_passed && width != 0)
            table->label.runs_on = false;
        if (table_is_label(table, line, i)) {
            label_passed = true;
            if (width > table->label.width)
                table->label.width = width;
        } else if (width > column->width) {
            column->width = width;
        }
    }
    return HS_OK;
}

static hs_status table_measure(struct table *table, struct hs_error *err)
{
    const struct hs_sheet *sheet = table->sheet;
    struct layout_label *label = &table->label;
    size_t n_lines = table_n_lines(sheet);

    for (size_t line = 0; line < n_lines; line++)
        HS_TRY(table_measure_line(table, line, err));
    if (label->column == sheet->n_columns)
        return HS_OK;
    label->others = table->columns[label->column].width;
    if (label->others < label->width)
        table->columns[label->column].width = label->width;
    return HS_OK;
}

static bool table_has_known(const struct hs_sheet *sheet, size_t column)
{
    for (size_t row = 0; row < sheet->n_rows; row++)
        if (sheet_cell_at(sheet, row, column).known)
            return true;
    return false;
}

static bool table_has_room_for(const struct hs_sheet *sheet, size_t column)
{
    return table_shows(sheet, column) &&
           ((sheet->columns[column].flags & HS_COLUMN_IF_KNOWN) == 0 ||
            table_has_known(sheet, column));
}

/* The flexible column, or the first of strings, carries the words. */
static void table_choose_columns(struct table *table)
{
    const struct hs_sheet *sheet = table->sheet;

    table->label = (struct layout_label){.column = sheet->n_columns, .runs_on = true};
    for (size_t i = sheet->n_columns; i-- > 0;) {
        const struct hs_column *column = &sheet->columns[i];
        table->columns[i] =
            (struct layout_column){.flags = column->flags, .shown = table_has_room_for(sheet, i)};
        if (!table->columns[i].shown)
            continue;
        size_t label = table->label.column;
        bool flexible =
            label < sheet->n_columns && (sheet->columns[label].flags & HS_COLUMN_FLEXIBLE) != 0;
        if (column->kind == HS_COLUMN_STRING && !flexible)
            table->label.column = i;
    }
}

static void table_lay_out(struct table *table)
{
    size_t n = table->sheet->n_columns;
    hs_layout_fit(table->columns, n, &table->label, table->sheet->options.width);
    for (size_t i = 0; i < n; i++)
        if (table->columns[i].shown)
            table->last = i;
}

/* ---- printing ---- */

static hs_status table_pad(struct table *table, size_t n, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(&table->line, n, err));
    for (; n != 0; n--)
        hs_buffer_put_u8(&table->line, ' ');
    return HS_OK;
}

static hs_status table_append(struct table *table, const char *text, struct hs_error *err)
{
    size_t n = strlen(text);
    HS_TRY(hs_buffer_reserve(&table->line, n, err));
    hs_buffer_put_bytes(&table->line, text, n);
    return HS_OK;
}

/* The name of a tree's row, behind as much of its indentation as leaves room for the name. */
static hs_status table_append_tree(struct table *table, size_t column, struct hs_error *err)
{
    const char *text = (const char *)table->cell.bytes;
    size_t n = table->cell.n_bytes, depth = 0, width = table->columns[column].width;
    size_t most = !table->columns[column].is_cut ? width
                  : width > LEAST_NAME           ? width - LEAST_NAME
                                                 : 0;

    while (depth < n && text[depth] == ' ')
        depth++;
    size_t indent = depth < most ? depth : most;
    HS_TRY(table_pad(table, indent, err));
    return hs_text_fit(text + depth, n - depth, width - indent, &table->line, err);
}

/* Tells whether a column may wrap: in what is no terminal, a row is a line. */
static bool table_wraps(const struct table *table, size_t column)
{
    return table->sheet->options.width != 0 &&
           (table->columns[column].flags & HS_COLUMN_WRAPS) != 0;
}

/* Appends as much of the cell as one line holds; the rest waits in table->rest. */
static hs_status table_append_wrapped(struct table *table, size_t width, struct hs_error *err)
{
    const char *text = (const char *)table->cell.bytes + table->rest;
    size_t n = table->cell.n_bytes - table->rest;
    size_t taken = hs_text_line(text, n, width);
    HS_TRY(hs_buffer_reserve(&table->line, taken, err));
    hs_buffer_put_bytes(&table->line, text, taken);
    table->rest += taken;
    return HS_OK;
}

static hs_status table_append_text(struct table *table, size_t line, size_t column, size_t width,
                                   struct hs_error *err)
{
    unsigned flags = table->columns[column].flags;
    if (table_wraps(table, column))
        return table_append_wrapped(table, width, err);
    if ((flags & HS_COLUMN_TREE) != 0)
        return table_append_tree(table, column, err);
    if (table_is_label(table, line, column) && table->label.runs_on)
        width = table_cell_width(table);
    return ((flags & HS_COLUMN_PATH) != 0    ? hs_text_fit_end
            : (flags & HS_COLUMN_NAMES) != 0 ? hs_text_fit_names
                                             : hs_text_fit)(
        (const char *)table->cell.bytes, table->cell.n_bytes, width, &table->line, err);
}

/* Appends the formed cell, cut and aligned. */
static hs_status table_append_cell(struct table *table, size_t line, size_t column,
                                   struct hs_error *err)
{
    size_t width = table->columns[column].width;
    size_t natural = table_cell_width(table);
    bool is_left = table->sheet->columns[column].kind == HS_COLUMN_STRING;

    if (!is_left && natural < width)
        HS_TRY(table_pad(table, width - natural, err));
    size_t begin = table->line.n_bytes;
    HS_TRY(table_append_text(table, line, column, width, err));
    size_t shown =
        hs_text_width((const char *)table->line.bytes + begin, table->line.n_bytes - begin);
    size_t behind = is_left && shown < width ? width - shown : 0;
    return table_pad(table, column == table->last ? 0 : behind + HS_LAYOUT_GAP, err);
}

static const char *table_colour(enum table_part part)
{
    if (part == TABLE_HEADING || part == TABLE_TOTAL)
        return "\033[1m";
    return part == TABLE_ROW ? NULL : "\033[2m";
}

static hs_status table_end_line(struct table *table, const char *colour, struct hs_out *out,
                                struct hs_error *err)
{
    while (table->line.n_bytes != 0 && table->line.bytes[table->line.n_bytes - 1] == ' ')
        table->line.n_bytes--;
    if (colour != NULL)
        HS_TRY(table_append(table, "\033[0m", err));
    HS_TRY(table_append(table, "\n", err));
    return hs_out_write(out, table->line.bytes, table->line.n_bytes, err);
}

/* The lines below a row that its last cell, which is still formed, goes on in. */
static hs_status table_print_rest(struct table *table, const char *colour, struct hs_out *out,
                                  struct hs_error *err)
{
    size_t indent = 0;
    if (!table_wraps(table, table->last))
        return HS_OK;
    for (size_t i = 0; i < table->last; i++)
        indent += table->columns[i].shown ? table->columns[i].width + HS_LAYOUT_GAP : 0;
    while (table->rest < table->cell.n_bytes) {
        table->line.n_bytes = 0;
        if (colour != NULL)
            HS_TRY(table_append(table, colour, err));
        HS_TRY(table_pad(table, indent, err));
        HS_TRY(table_append_wrapped(table, table->columns[table->last].width, err));
        HS_TRY(table_end_line(table, colour, out, err));
    }
    return HS_OK;
}

static hs_status table_print_line(struct table *table, size_t line, struct hs_out *out,
                                  struct hs_error *err)
{
    const struct hs_sheet *sheet = table->sheet;
    size_t row = 0;
    enum table_part part = table_part_of(sheet, line, &row);
    const char *colour = sheet->options.colour ? table_colour(part) : NULL;

    table->line.n_bytes = 0;
    table->rest = 0;
    if (colour != NULL)
        HS_TRY(table_append(table, colour, err));
    for (size_t column = 0; column < sheet->n_columns; column++) {
        if (!table->columns[column].shown)
            continue;
        HS_TRY(table_form_cell(table, line, column, err));
        HS_TRY(table_append_cell(table, line, column, err));
    }
    HS_TRY(table_end_line(table, colour, out, err));
    return table_print_rest(table, colour, out, err);
}

static hs_status table_print(struct table *table, struct hs_out *out, struct hs_error *err)
{
    size_t n_lines = table_n_lines(table->sheet);

    HS_TRY(HS_ALLOC(&table->columns, table->sheet->n_columns, err));
    table_choose_columns(table);
    HS_TRY(table_measure(table, err));
    table_lay_out(table);
    for (size_t line = 0; line < n_lines; line++)
        HS_TRY(table_print_line(table, line, out, err));
    return HS_OK;
}

hs_status hs_sheet_put_table(const struct hs_sheet *sheet, struct hs_out *out, struct hs_error *err)
{
    struct table table = {.sheet = sheet};
    hs_status status = table_print(&table, out, err);
    hs_free(table.columns);
    hs_buffer_fini(&table.cell);
    hs_buffer_fini(&table.line);
    return status;
}
