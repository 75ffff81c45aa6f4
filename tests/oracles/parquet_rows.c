/* parquet_rows FILE < DESCRIPTION: writes the Parquet table that a test describes. The first line
 * names the columns, NAME:KIND separated by tabs (number, ordered, address, time, truth, text);
 * each further line is a row, in texts %XX is a byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/writer.h"

static const char *const kinds[HS_PARQUET_N_KINDS] = {
    [HS_PARQUET_NUMBER] = "number",   [HS_PARQUET_ORDERED] = "ordered",
    [HS_PARQUET_ADDRESS] = "address", [HS_PARQUET_TIME] = "time",
    [HS_PARQUET_TRUTH] = "truth",     [HS_PARQUET_TEXT] = "text",
};

static _Noreturn void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "parquet_rows: %s: %s\n", what, why);
    exit(1);
}

static void must(hs_status status, const struct hs_error *err)
{
    if (status != HS_OK)
        die("refused", err->message);
}

static size_t split(char *line, char **fields)
{
    size_t n = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *at = line; at != NULL && n < HS_PARQUET_MAX_COLUMNS;)
        fields[n++] = strsep(&at, "\t");
    return n;
}

static struct hs_parquet_column column_of(char *field)
{
    struct hs_parquet_column column = {.name = strsep(&field, ":")};
    for (unsigned kind = 0; kind < HS_PARQUET_N_KINDS; kind++) {
        column.kind = (enum hs_parquet_kind)kind;
        if (field != NULL && strcmp(field, kinds[kind]) == 0)
            return column;
    }
    die(column.name, "no such kind");
}

static void decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        char hex[3] = {from[0] == '%' ? from[1] : 0, from[0] == '%' ? from[2] : 0, 0};
        *to++ = hex[0] != 0 ? (char)strtoul(hex, NULL, 16) : *from;
        from += hex[0] != 0 ? 2 : 0;
    }
    *to = 0;
}

static struct hs_parquet_value value_of(const struct hs_parquet_column *column, char *field)
{
    if (column->kind == HS_PARQUET_TEXT) {
        decode(field);
        return (struct hs_parquet_value){.text = field};
    }
    if (field[0] == '-')
        return (struct hs_parquet_value){.number = strtoll(field, NULL, 0)};
    return (struct hs_parquet_value){.address = strtoull(field, NULL, 0)};
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_parquet_column columns[HS_PARQUET_MAX_COLUMNS];
    struct hs_parquet *writer;
    struct hs_out out;
    char *fields[HS_PARQUET_MAX_COLUMNS], *head = NULL, *line = NULL;
    size_t capacity = 0, line_capacity = 0;
    if (argc != 2 || getline(&head, &capacity, stdin) <= 0)
        die("usage", "parquet_rows FILE < DESCRIPTION");
    size_t n_columns = split(head, fields);
    for (size_t i = 0; i < n_columns; i++)
        columns[i] = column_of(fields[i]);
    must(hs_out_open_path(argv[1], &out, &err), &err);
    must(hs_parquet_open(&out, "test/1", columns, n_columns, NULL, &writer, &err), &err);
    while (getline(&line, &line_capacity, stdin) > 0) {
        struct hs_parquet_value row[HS_PARQUET_MAX_COLUMNS];
        if (split(line, fields) != n_columns)
            die(line, "not as many fields as columns");
        for (size_t i = 0; i < n_columns; i++)
            row[i] = value_of(&columns[i], fields[i]);
        must(hs_parquet_row(writer, row, &err), &err);
    }
    must(hs_parquet_finish(writer, &err), &err);
    hs_parquet_close(writer);
    must(hs_out_commit(&out, &err), &err);
    hs_out_close(&out);
    free(line);
    free(head);
    return 0;
}
