#include "report/listing.h"

#include <assert.h>
#include <string.h>

/* The limits of one listing. */
enum { MAX_COLUMNS = 32 };

static struct hs_pair field_load(const struct hs_field *field, const void *row)
{
    struct hs_pair member = {.key = field->cell.key, .kind = field->cell.kind};
    const char *at = (const char *)row + field->offset;

    if (member.kind == HS_COLUMN_STRING)
        memcpy(&member.text, at, sizeof member.text);
    else if (member.kind == HS_COLUMN_LIST || member.kind == HS_COLUMN_ONE)
        memcpy(&member.list, at, sizeof member.list);
    else
        memcpy(&member.number, at, sizeof member.number);
    return member;
}

/* ---- JSON */

static void put_number(struct hs_sink *sink, const struct hs_pair *member)
{
    struct hs_json *json = sink->json;
    uint64_t value = member->number;

    if (value == HS_UNKNOWN || (member->kind == HS_COLUMN_SECONDS && value == UINT64_MAX))
        hs_json_null(json, member->key);
    else if (member->kind == HS_COLUMN_ADDRESS)
        hs_json_address(json, member->key, value);
    else if (member->kind == HS_COLUMN_NODE)
        hs_json_node(json, member->key, value);
    else if (member->kind == HS_COLUMN_BOOL)
        hs_json_bool(json, member->key, value != 0);
    else if (member->kind == HS_COLUMN_PERCENT)
        hs_json_percent(json, member->key, value, sink->whole);
    else if (member->kind == HS_COLUMN_SHARE)
        hs_json_percent(json, member->key, value, 10000);
    else
        hs_json_u64(json, member->key, value);
}

static hs_status put_list(struct hs_sink *sink, const struct hs_pair *pair, struct hs_error *err)
{
    const struct hs_list *list = pair->list;
    bool is_one = pair->kind == HS_COLUMN_ONE;
    struct hs_sink inner = {.json = sink->json, .whole = sink->whole};

    if (list == NULL) {
        hs_json_null(sink->json, pair->key);
        return HS_OK;
    }
    inner.record = list->record;
    inner.is_block = list->is_block;
    inner.key = is_one ? pair->key : NULL;
    if (!is_one)
        hs_json_begin_array(sink->json, pair->key, list->is_line ? HS_JSON_LINE : HS_JSON_BLOCK);
    HS_TRY(list->each(list->context, &inner, err));
    if (!is_one)
        hs_json_end_array(sink->json);
    else if (inner.n == 0)
        hs_json_null(sink->json, pair->key);
    return HS_OK;
}

static hs_status put_member(struct hs_sink *sink, const struct hs_pair *member,
                            struct hs_error *err)
{
    switch (member->kind) {
    case HS_COLUMN_STRING:
        hs_json_string(sink->json, member->key, member->text);
        return HS_OK;
    case HS_COLUMN_OBJECT:
        hs_json_begin_object(sink->json, member->key,
                             member->is_block ? HS_JSON_BLOCK : HS_JSON_LINE);
        return HS_OK;
    case HS_COLUMN_END:
        hs_json_end_object(sink->json);
        return HS_OK;
    case HS_COLUMN_LIST:
    case HS_COLUMN_ONE:
        return put_list(sink, member, err);
    default:
        put_number(sink, member);
        return HS_OK;
    }
}

static void begin_row(struct hs_sink *sink)
{
    sink->n++;
    hs_json_begin_object(sink->json, sink->key, sink->is_block ? HS_JSON_BLOCK : HS_JSON_LINE);
}

hs_status hs_sink_members(struct hs_sink *sink, const struct hs_pair *pairs, struct hs_error *err)
{
    for (; pairs->kind != HS_N_COLUMN_KINDS; pairs++)
        HS_TRY(put_member(sink, pairs, err));
    return HS_OK;
}

hs_status hs_sink_pairs(struct hs_sink *sink, const struct hs_pair *pairs, struct hs_error *err)
{
    if (pairs[0].key == NULL && pairs[0].kind < HS_COLUMN_OBJECT)
        return put_member(sink, pairs, err);
    begin_row(sink);
    for (; pairs->kind != HS_N_COLUMN_KINDS; pairs++)
        HS_TRY(pairs->kind == HS_COLUMN_SPLICE ? hs_sink_members(sink, pairs->pairs, err)
                                               : put_member(sink, pairs, err));
    hs_json_end_object(sink->json);
    return HS_OK;
}

static hs_status put_object(struct hs_sink *sink, const void *row, struct hs_error *err)
{
    begin_row(sink);
    for (size_t i = 0; i < sink->record->n_fields; i++) {
        const struct hs_field *field = &sink->record->fields[i];
        struct hs_pair member = field_load(field, row);
        if ((field->cell.flags & (HS_COLUMN_TABLE_ONLY | HS_COLUMN_NOT_JSON)) == 0)
            HS_TRY(put_member(sink, &member, err));
    }
    hs_json_end_object(sink->json);
    return HS_OK;
}

/* ---- sheets */

static void put_cells(const struct hs_sink *sink, const void *row)
{
    struct hs_sheet *sheet = sink->sheet;
    for (size_t i = 0; i < sheet->n_columns; i++) {
        struct hs_pair cell = field_load(sink->columns[i], row);
        if (cell.kind == HS_COLUMN_STRING)
            hs_sheet_string(sheet, cell.text);
        else if (cell.number != HS_UNKNOWN)
            hs_sheet_u64(sheet, cell.number);
        else
            hs_sheet_null(sheet);
    }
}

hs_status hs_sink_row(struct hs_sink *sink, const void *row, struct hs_error *err)
{
    if (sink->json != NULL)
        return put_object(sink, row, err);
    put_cells(sink, row);
    return HS_OK;
}

void hs_sink_others(struct hs_sink *sink, uint64_t n, const void *sums)
{
    uint64_t values[MAX_COLUMNS] = {0};
    if (!sink->is_table || n == 0)
        return;
    for (size_t i = 0; i < sink->sheet->n_columns; i++)
        if ((sink->columns[i]->cell.flags & HS_COLUMN_SUMMED) != 0)
            values[i] = field_load(sink->columns[i], sums).number;
    hs_sheet_fold(sink->sheet, n, values);
}

void hs_sink_close(struct hs_sink *sink, const void *row)
{
    if (!sink->is_table)
        return;
    hs_sheet_close_rows(sink->sheet);
    put_cells(sink, row);
}

/* The fields that are columns, in the order of these. */
static size_t arrange_columns(const struct hs_record *record, const struct hs_field **fields,
                              struct hs_column *columns)
{
    size_t n = 0;
    for (unsigned at = 1; at <= MAX_COLUMNS; at++)
        for (size_t i = 0; i < record->n_fields; i++)
            if (record->fields[i].column == at) {
                assert(n < MAX_COLUMNS);
                columns[n] = record->fields[i].cell;
                fields[n++] = &record->fields[i];
            }
    return n;
}

static hs_status write_sheet(const struct hs_list *list, const struct hs_sheet_options *options,
                             struct hs_out *out, struct hs_error *err)
{
    const struct hs_field *fields[MAX_COLUMNS];
    struct hs_column columns[MAX_COLUMNS];
    struct hs_sheet sheet;
    size_t n = arrange_columns(list->record, fields, columns);
    struct hs_sink sink = {
        .sheet = &sheet, .columns = fields, .is_table = options->format == HS_SHEET_TABLE};
    HS_TRY(hs_sheet_init(&sheet, columns, n, options, err));
    hs_status status = list->each(list->context, &sink, err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, out, err);
    hs_sheet_fini(&sheet);
    return status;
}

/* ---- listings */

hs_status hs_listing_write(const struct hs_listing *listing, struct hs_sheet_options options,
                           struct hs_out *out, struct hs_error *err)
{
    const struct hs_list *list = listing->rows;
    bool is_ndjson = options.format == HS_SHEET_NDJSON;
    struct hs_json json;
    struct hs_sink sink = {.json = &json, .whole = listing->whole};

    options.no_total = listing->no_total;
    options.word_bytes = listing->word_bytes;
    options.whole = listing->whole;
    if (options.format != HS_SHEET_JSON && !is_ndjson)
        return write_sheet(list, &options, out, err);
    hs_json_init(&json, out, is_ndjson ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_ndjson || listing->is_one) {
        sink.is_block = true;
        HS_TRY(hs_sink_pairs(&sink, listing->document, err));
    } else {
        sink.record = list->record;
        HS_TRY(list->each(list->context, &sink, err));
    }
    return hs_json_finish(&json, err);
}
