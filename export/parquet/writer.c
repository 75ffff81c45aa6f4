#include "parquet/writer.h"

#include <assert.h>
#include <limits.h>

#include "base/buffer.h"
#include "column.h"

/* The version is of this writer: readers distrust the bounds of texts where they find none. */
static const char created_by[] = "heapsnap version 1.0";
static const char magic[] = "PAR1";
enum { MAGIC_BYTES = 4 };

struct hs_parquet {
    struct hs_out *out; /* borrowed */
    uint64_t base;      /* where the file begins in it */
    const char *schema; /* borrowed */
    struct press press;
    struct column columns[HS_PARQUET_MAX_COLUMNS];
    size_t n_columns;
    uint64_t n_rows;
    struct hs_buffer groups; /* RowGroups of the footer, one after another */
    size_t n_groups;
};

static hs_status begin(struct hs_parquet *writer, const struct hs_parquet_column *columns,
                       size_t n_columns, struct hs_budget *budget, struct hs_error *err)
{
    HS_TRY(press_init(budget, &writer->press, err));
    for (; writer->n_columns < n_columns; writer->n_columns++) {
        size_t i = writer->n_columns;
        hs_status status = column_init(&columns[i], &writer->press, &writer->columns[i], err);
        if (status != HS_OK)
            return status;
    }
    return hs_out_write(writer->out, magic, MAGIC_BYTES, err);
}

hs_status hs_parquet_open(struct hs_out *out, const char *schema,
                          const struct hs_parquet_column *columns, size_t n_columns,
                          struct hs_budget *budget, struct hs_parquet **ret, struct hs_error *err)
{
    hs_auto(hs_parquet) *writer = NULL;
    assert(n_columns > 0 && n_columns <= HS_PARQUET_MAX_COLUMNS);
    HS_TRY(HS_ALLOC(&writer, 1, err));
    writer->out = out;
    writer->base = out->n_written;
    writer->schema = schema;
    HS_TRY(begin(writer, columns, n_columns, budget, err));
    *ret = HS_STEAL(writer);
    return HS_OK;
}

void hs_parquet_close(struct hs_parquet *writer)
{
    if (writer == NULL)
        return;
    for (size_t i = 0; i < writer->n_columns; i++)
        column_fini(&writer->columns[i]);
    press_fini(&writer->press);
    hs_buffer_fini(&writer->groups);
    hs_free(writer);
}

/* Ends a group, in which every column has as many rows. */
static hs_status end_group(struct hs_parquet *writer, struct hs_error *err)
{
    struct thrift footer = thrift_begin(&writer->groups, err);
    uint64_t n_rows = writer->columns[0].n_rows, n_bytes = 0;
    if (n_rows == 0)
        return HS_OK;
    thrift_list(&footer, 1, writer->n_columns, THRIFT_STRUCT);
    for (size_t i = 0; i < writer->n_columns; i++) {
        uint64_t column_bytes;
        HS_TRY(column_flush(&writer->columns[i], &writer->press, writer->out, writer->base, &footer,
                            &column_bytes, err));
        n_bytes += column_bytes;
    }
    thrift_i64(&footer, 2, (int64_t)n_bytes);
    thrift_i64(&footer, 3, (int64_t)n_rows);
    writer->n_groups++;
    return thrift_end(&footer);
}

hs_status hs_parquet_row(struct hs_parquet *writer, const struct hs_parquet_value *row,
                         struct hs_error *err)
{
    bool is_full = false;
    for (size_t i = 0; i < writer->n_columns; i++) {
        HS_TRY(column_put(&writer->columns[i], &row[i], &writer->press, err));
        is_full = is_full || column_is_full(&writer->columns[i]);
    }
    writer->n_rows++;
    if (is_full || writer->columns[0].n_rows == HS_PARQUET_GROUP_ROWS)
        return end_group(writer, err);
    return HS_OK;
}

static void put_schema(const struct hs_parquet *writer, struct thrift *footer)
{
    thrift_list(footer, 2, writer->n_columns + 1, THRIFT_STRUCT);
    thrift_open_item(footer);
    thrift_text(footer, 4, "schema");
    thrift_i32(footer, 5, (int64_t)writer->n_columns);
    thrift_close(footer);
    for (size_t i = 0; i < writer->n_columns; i++)
        column_schema(&writer->columns[i].what, footer);
}

/* Writes, for each column, by which order its least and greatest values are: that of its type.
 * Readers do not trust them without it. */
static void put_orders(const struct hs_parquet *writer, struct thrift *footer)
{
    thrift_list(footer, 7, writer->n_columns, THRIFT_STRUCT);
    for (size_t i = 0; i < writer->n_columns; i++) {
        thrift_open_item(footer);
        thrift_open(footer, 1);
        thrift_close(footer);
        thrift_close(footer);
    }
}

static hs_status make_footer(const struct hs_parquet *writer, struct hs_buffer *b,
                             struct hs_error *err)
{
    struct thrift footer = thrift_begin(b, err);
    thrift_i32(&footer, 1, 2); /* the version: encodings of the second are in it */
    put_schema(writer, &footer);
    thrift_i64(&footer, 3, (int64_t)writer->n_rows);
    thrift_list(&footer, 4, writer->n_groups, THRIFT_STRUCT);
    if (footer.status == HS_OK)
        footer.status = hs_buffer_reserve(b, writer->groups.n_bytes, err);
    if (footer.status == HS_OK)
        hs_buffer_put_bytes(b, writer->groups.bytes, writer->groups.n_bytes);
    thrift_list(&footer, 5, 1, THRIFT_STRUCT);
    thrift_open_item(&footer);
    thrift_text(&footer, 1, "schema");
    thrift_text(&footer, 2, writer->schema);
    thrift_close(&footer);
    thrift_text(&footer, 6, created_by);
    put_orders(writer, &footer);
    HS_TRY(thrift_end(&footer));
    if (b->n_bytes > INT_MAX)
        return hs_fail(err, HS_LIMIT, "cannot write a footer of %zu bytes", b->n_bytes);
    return HS_OK;
}

hs_status hs_parquet_finish(struct hs_parquet *writer, struct hs_error *err)
{
    struct hs_buffer b = {0};
    HS_TRY(end_group(writer, err));
    hs_status status = make_footer(writer, &b, err);
    size_t n_bytes = b.n_bytes;
    if (status == HS_OK)
        status = hs_buffer_reserve(&b, 4 + MAGIC_BYTES, err);
    if (status == HS_OK) {
        hs_buffer_put_u32(&b, (uint32_t)n_bytes);
        hs_buffer_put_bytes(&b, magic, MAGIC_BYTES);
        status = hs_out_write(writer->out, b.bytes, b.n_bytes, err);
    }
    hs_buffer_fini(&b);
    return status;
}
