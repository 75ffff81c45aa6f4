/* Rows of a query as table, JSON, NDJSON and TSV. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "query/result.h"
#include "report/text.h"

/* The largest whole number that JavaScript's numbers tell apart. */
#define EXACT_MOST ((int64_t)1 << 53)
enum { NUMBER_BYTES = 40 };

struct writer {
    const struct hs_sql_result *result;
    uint64_t n_rows, limit;
    uint64_t n_put; /* rows that a table was given */
    struct hs_out *out;
    struct hs_json json;
    struct hs_buffer line;
    char **keys;               /* owned, each too: names, no two alike */
    struct hs_sheet sheet;     /* of a table */
    struct hs_column *columns; /* owned: its */
    unsigned *kinds;           /* owned: by column, bits of what its cells are */
    size_t *widths;            /* owned: by column, bytes of its longest text */
};

/* ---- texts */

/* Reals with as many digits as tell them apart. */
static void format_real(double real, char *text)
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, NUMBER_BYTES, "%.*g", digits, real);
        if (strtod(text, NULL) == real)
            break;
    }
}

/* Writes bytes as SQL does: x'0aff'. */
static hs_status put_hex(struct hs_buffer *b, const struct hs_sql_cell *cell, struct hs_error *err)
{
    static const char digits[] = "0123456789abcdef";
    HS_TRY(hs_buffer_reserve(b, 2 * cell->n_bytes + 3, err));
    hs_buffer_put_bytes(b, "x'", 2);
    for (size_t i = 0; i < cell->n_bytes; i++) {
        hs_buffer_put_u8(b, (uint8_t)digits[(uint8_t)cell->text[i] >> 4]);
        hs_buffer_put_u8(b, (uint8_t)digits[(uint8_t)cell->text[i] & 15]);
    }
    hs_buffer_put_u8(b, '\'');
    return HS_OK;
}

/* A cell as text, not yet cleaned. */
static hs_status put_text(struct hs_buffer *b, const struct hs_sql_cell *cell,
                          enum hs_sql_display display, struct hs_error *err)
{
    char text[NUMBER_BYTES] = "";
    if (cell->kind == HS_SQL_BLOB)
        return put_hex(b, cell, err);
    if (cell->kind == HS_SQL_INTEGER)
        (void)snprintf(text, sizeof text, display == HS_SQL_ADDRESS ? "0x%" PRIx64 : "%" PRId64,
                       cell->integer);
    else if (cell->kind == HS_SQL_REAL)
        format_real(cell->real, text);
    size_t n = cell->kind == HS_SQL_TEXT ? cell->n_bytes : strlen(text);
    HS_TRY(hs_buffer_reserve(b, n, err));
    hs_buffer_put_bytes(b, cell->kind == HS_SQL_TEXT ? cell->text : text, n);
    return HS_OK;
}

/* ---- TSV */

static hs_status put_cell(struct writer *w, size_t at, const struct hs_sql_cell *cell,
                          struct hs_error *err)
{
    struct hs_buffer plain = {0};
    hs_status status = put_text(&plain, cell, w->result->columns[at].display, err);
    if (status == HS_OK)
        status =
            hs_text_sanitise((const char *)plain.bytes, plain.n_bytes, HS_TEXT_TSV, &w->line, err);
    hs_buffer_fini(&plain);
    HS_TRY(status);
    HS_TRY(hs_buffer_reserve(&w->line, 1, err));
    hs_buffer_put_u8(&w->line, at + 1 < w->result->n_columns ? '\t' : '\n');
    return HS_OK;
}

static hs_status write_line(struct writer *w, const struct hs_sql_cell *cells, struct hs_error *err)
{
    w->line.n_bytes = 0;
    for (size_t i = 0; i < w->result->n_columns; i++)
        HS_TRY(put_cell(w, i, &cells[i], err));
    return hs_out_write(w->out, w->line.bytes, w->line.n_bytes, err);
}

static hs_status write_heading(struct writer *w, struct hs_error *err)
{
    w->line.n_bytes = 0;
    for (size_t i = 0; i < w->result->n_columns; i++) {
        const char *name = w->result->columns[i].name;
        const struct hs_sql_cell cell = {HS_SQL_TEXT, .text = name, .n_bytes = strlen(name)};
        HS_TRY(put_cell(w, i, &cell, err));
    }
    return hs_out_write(w->out, w->line.bytes, w->line.n_bytes, err);
}

static hs_status put_tsv(void *context, const struct hs_sql_cell *cells, struct hs_error *err)
{
    struct writer *w = context;
    return w->n_rows++ < w->limit ? write_line(w, cells, err) : HS_OK;
}

/* ---- JSON */

static void json_cell(struct writer *w, const char *key, size_t at, const struct hs_sql_cell *cell)
{
    char text[NUMBER_BYTES];
    struct hs_json *json = &w->json;
    bool is_exact = cell->integer <= EXACT_MOST && cell->integer >= -EXACT_MOST;
    switch (cell->kind) {
    case HS_SQL_NULL:
        hs_json_null(json, key);
        return;
    case HS_SQL_INTEGER:
        if (w->result->columns[at].display == HS_SQL_ADDRESS) {
            hs_json_address(json, key, (hs_addr)cell->integer);
        } else if (is_exact) {
            hs_json_i64(json, key, cell->integer);
        } else {
            (void)snprintf(text, sizeof text, "%" PRId64, cell->integer);
            hs_json_string(json, key, text);
        }
        return;
    case HS_SQL_REAL:
        hs_json_real(json, key, cell->real);
        return;
    case HS_SQL_TEXT:
        hs_json_string_n(json, key, cell->text != NULL ? cell->text : "", cell->n_bytes);
        return;
    default:
        w->line.n_bytes = 0;
        if (put_hex(&w->line, cell, &json->error) == HS_OK)
            hs_json_string_n(json, key, (const char *)w->line.bytes, w->line.n_bytes);
    }
}

static hs_status put_json(void *context, const struct hs_sql_cell *cells, struct hs_error *err)
{
    struct writer *w = context;
    if (w->n_rows++ >= w->limit)
        return HS_OK;
    hs_json_begin_object(&w->json, NULL, HS_JSON_LINE);
    for (size_t i = 0; i < w->result->n_columns; i++)
        json_cell(w, w->keys[i], i, &cells[i]);
    hs_json_end_object(&w->json);
    if (w->json.error.status != HS_OK)
        *err = w->json.error;
    return w->json.error.status;
}

static void json_head(struct writer *w, const struct hs_sql_source_names *names)
{
    struct hs_json *json = &w->json;
    hs_json_begin_object(json, NULL, HS_JSON_BLOCK);
    hs_json_string(json, "schema", "heapsnap.sql/1");
    hs_json_begin_array(json, "snapshots", HS_JSON_LINE);
    for (size_t i = 0; i < names->n_paths; i++)
        hs_json_string(json, NULL, names->paths[i]);
    hs_json_end_array(json);
    hs_json_string(json, "query", names->query);
    hs_json_begin_array(json, "columns", HS_JSON_LINE);
    for (size_t i = 0; i < w->result->n_columns; i++)
        hs_json_string(json, NULL, w->keys[i]);
    hs_json_end_array(json);
    hs_json_begin_array(json, "rows", HS_JSON_BLOCK);
}

static hs_status write_json(struct writer *w, struct hs_sql_result *result,
                            const struct hs_sql_source_names *names, bool is_lines,
                            struct hs_error *err)
{
    const struct hs_sql_row_sink sink = {put_json, w};
    hs_json_init(&w->json, w->out, is_lines ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_lines)
        json_head(w, names);
    HS_TRY(hs_sql_result_each(result, &sink, err));
    if (!is_lines) {
        hs_json_end_array(&w->json);
        hs_json_u64(&w->json, "others", w->n_rows > w->limit ? w->n_rows - w->limit : 0);
        hs_json_end_object(&w->json);
    }
    return hs_json_finish(&w->json, err);
}

/* Members of one object have keys of their own. */
static hs_status make_keys(struct writer *w, struct hs_error *err)
{
    size_t n = w->result->n_columns;
    HS_TRY(HS_ALLOC(&w->keys, n, err));
    for (size_t i = 0; i < n; i++) {
        const char *name = w->result->columns[i].name;
        unsigned n_before = 0;
        for (size_t k = 0; k < i; k++)
            n_before += strcmp(w->result->columns[k].name, name) == 0;
        if (n_before == 0) {
            HS_TRY(hs_strdup(name, &w->keys[i], err));
            continue;
        }
        size_t n_bytes = strlen(name) + 16;
        HS_TRY(HS_ALLOC(&w->keys[i], n_bytes, err));
        (void)snprintf(w->keys[i], n_bytes, "%s:%u", name, n_before + 1);
    }
    return HS_OK;
}

/* ---- tables */

static hs_status note_kinds(void *context, const struct hs_sql_cell *cells, struct hs_error *err)
{
    struct writer *w = context;
    (void)err;
    for (size_t i = 0; w->n_rows < w->limit && i < w->result->n_columns; i++) {
        bool is_negative = cells[i].kind == HS_SQL_INTEGER && cells[i].integer < 0 &&
                           w->result->columns[i].display != HS_SQL_ADDRESS;
        w->kinds[i] |= 1u << (is_negative ? HS_SQL_TEXT : cells[i].kind);
        if (cells[i].kind == HS_SQL_TEXT && cells[i].n_bytes > w->widths[i])
            w->widths[i] = cells[i].n_bytes;
    }
    w->n_rows++;
    return HS_OK;
}

static enum hs_column_kind kind_of(const struct writer *w, size_t at)
{
    if ((w->kinds[at] & ~(1u << HS_SQL_NULL)) != 1u << HS_SQL_INTEGER)
        return HS_COLUMN_STRING;
    switch (w->result->columns[at].display) {
    case HS_SQL_WORDS:
        return HS_COLUMN_WORDS;
    case HS_SQL_ADDRESS:
        return HS_COLUMN_ADDRESS;
    default:
        return HS_COLUMN_NUMBER;
    }
}

/* The column with the longest text has the width that is left. */
static void choose_columns(struct writer *w)
{
    size_t flexible = w->result->n_columns;
    for (size_t i = 0; i < w->result->n_columns; i++) {
        w->columns[i] = (struct hs_column){w->keys[i], w->keys[i], kind_of(w, i), 0};
        if (w->columns[i].kind == HS_COLUMN_STRING) {
            w->columns[i].flags = HS_COLUMN_SHRINKS;
            if (flexible == w->result->n_columns || w->widths[i] >= w->widths[flexible])
                flexible = i;
        }
    }
    if (flexible < w->result->n_columns)
        w->columns[flexible].flags = HS_COLUMN_FLEXIBLE;
}

static bool has_texts(const struct writer *w)
{
    bool has = false;
    for (size_t i = 0; i < w->result->n_columns; i++)
        has |= w->columns[i].kind == HS_COLUMN_STRING;
    return has;
}

/* Beside numbers alone a sheet has no room for it. */
static hs_status write_others(struct writer *w, struct hs_error *err)
{
    char text[64];
    uint64_t n = w->result->n_rows - w->limit;
    int length = snprintf(text, sizeof text, "[%" PRIu64 " other%s]\n", n, n == 1 ? "" : "s");
    return hs_out_write(w->out, text, (size_t)length, err);
}

static hs_status put_sheet(void *context, const struct hs_sql_cell *cells, struct hs_error *err)
{
    struct writer *w = context;
    if (w->n_put++ >= w->limit && !has_texts(w))
        return HS_OK;
    for (size_t i = 0; i < w->result->n_columns; i++) {
        if (cells[i].kind == HS_SQL_NULL) {
            hs_sheet_null(&w->sheet);
            continue;
        }
        if (w->columns[i].kind != HS_COLUMN_STRING) {
            hs_sheet_u64(&w->sheet, (uint64_t)cells[i].integer);
            continue;
        }
        w->line.n_bytes = 0;
        HS_TRY(put_text(&w->line, &cells[i], w->result->columns[i].display, err));
        HS_TRY(hs_buffer_reserve(&w->line, 1, err));
        hs_buffer_put_u8(&w->line, 0);
        hs_sheet_string(&w->sheet, (const char *)w->line.bytes);
    }
    return HS_OK;
}

static hs_status write_table(struct writer *w, struct hs_sql_result *result,
                             struct hs_sheet_options options, struct hs_error *err)
{
    const struct hs_sql_row_sink notes = {note_kinds, w}, rows = {put_sheet, w};
    HS_TRY(HS_ALLOC(&w->kinds, result->n_columns, err));
    HS_TRY(HS_ALLOC(&w->widths, result->n_columns, err));
    HS_TRY(HS_ALLOC(&w->columns, result->n_columns, err));
    HS_TRY(hs_sql_result_each(result, &notes, err));
    choose_columns(w);
    options.no_total = true;
    options.folds_small = false;
    HS_TRY(hs_sheet_init(&w->sheet, w->columns, result->n_columns, &options, err));
    HS_TRY(hs_sql_result_each(result, &rows, err));
    HS_TRY(hs_sheet_write(&w->sheet, w->out, err));
    return result->n_rows > w->limit && !has_texts(w) ? write_others(w, err) : HS_OK;
}

/* ---- all */

static hs_status write_all(struct writer *w, struct hs_sql_result *result,
                           const struct hs_sql_source_names *names,
                           const struct hs_sheet_options *options, struct hs_error *err)
{
    const struct hs_sql_row_sink lines = {put_tsv, w};
    HS_TRY(make_keys(w, err));
    switch (options->format) {
    case HS_SHEET_TABLE:
        return write_table(w, result, *options, err);
    case HS_SHEET_TSV:
        HS_TRY(write_heading(w, err));
        return hs_sql_result_each(result, &lines, err);
    default:
        return write_json(w, result, names, options->format == HS_SHEET_NDJSON, err);
    }
}

hs_status hs_sql_result_write(struct hs_sql_result *result, const struct hs_sql_source_names *names,
                              const struct hs_sheet_options *options, struct hs_out *out,
                              struct hs_error *err)
{
    uint64_t limit = options->limit == 0 ? UINT64_MAX : options->limit;
    struct writer w = {.result = result, .limit = limit, .out = out};
    hs_status status = write_all(&w, result, names, options, err);
    for (size_t i = 0; w.keys != NULL && i < result->n_columns; i++)
        hs_free(w.keys[i]);
    hs_free(w.keys);
    hs_free(w.kinds);
    hs_free(w.widths);
    hs_free(w.columns);
    hs_sheet_fini(&w.sheet);
    hs_buffer_fini(&w.line);
    return status;
}
