#include "column.h"

#include <assert.h>
#include <string.h>

#include "pack.h"
#include "report/text.h"

/* The limits of the texts of a group. One more text may come on top. */
enum { TEXTS_MAX = 1 << 17, TEXT_BYTES_MAX = 4 << 20 };
/* Least and greatest texts are cut so, or left out: readers need not be told the whole. */
enum { BOUND_BYTES = 32 };

/* Names of the format: parquet.thrift. */
enum { TYPE_BOOLEAN = 0, TYPE_INT64 = 2, TYPE_BYTES = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_MICROS = 10, CONVERTED_UINT64 = 14 };
enum { ENCODING_PLAIN = 0, ENCODING_DELTAS = 5, ENCODING_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };

static const struct form {
    uint8_t type, encoding, converted;
    bool is_converted, is_unsigned;
} forms[HS_PARQUET_N_KINDS] = {
    [HS_PARQUET_NUMBER] = {.type = TYPE_INT64, .encoding = ENCODING_PLAIN},
    [HS_PARQUET_ORDERED] = {.type = TYPE_INT64, .encoding = ENCODING_DELTAS},
    [HS_PARQUET_ADDRESS] = {TYPE_INT64, ENCODING_DELTAS, CONVERTED_UINT64, true, true},
    [HS_PARQUET_TIME] = {TYPE_INT64, ENCODING_DELTAS, CONVERTED_MICROS, true, false},
    [HS_PARQUET_TRUTH] = {.type = TYPE_BOOLEAN, .encoding = ENCODING_PLAIN, .is_unsigned = true},
    [HS_PARQUET_TEXT] = {TYPE_BYTES, ENCODING_DICTIONARY, CONVERTED_UTF8, true, true},
};

/* ---- pages */

static hs_status put_plain(const struct column *column, struct press *press, struct hs_error *err)
{
    size_t n = column->n_values;
    if (column->what.kind == HS_PARQUET_TRUTH)
        return pack_bits(column->values, n, 1, &press->raw, err);
    HS_TRY(hs_buffer_reserve(&press->raw, 8 * n, err));
    for (size_t i = 0; i < n; i++)
        hs_buffer_put_u64(&press->raw, column->values[i]);
    return HS_OK;
}

static hs_status end_page(struct column *column, struct press *press, struct hs_error *err)
{
    const struct form *form = &forms[column->what.kind];
    size_t n = column->n_values;
    press->raw.n_bytes = 0;
    if (form->encoding == ENCODING_PLAIN)
        HS_TRY(put_plain(column, press, err));
    else if (form->encoding == ENCODING_DELTAS)
        HS_TRY(pack_deltas((const int64_t *)column->values, n, &press->raw, err));
    else /* at least a bit: not every reader takes none */
        HS_TRY(pack_indices(column->values, n, pack_width(column->texts.n_strings | 1), &press->raw,
                            err));
    HS_TRY(press_page(press, PRESS_DATA, form->encoding, n, err));
    HS_TRY(press_room(press, &column->pages, press->head.n_bytes + press->packed.n_bytes, err));
    hs_buffer_put_bytes(&column->pages, press->head.bytes, press->head.n_bytes);
    hs_buffer_put_bytes(&column->pages, press->packed.bytes, press->packed.n_bytes);
    column->raw_bytes += press->head.n_bytes + press->raw.n_bytes;
    column->n_values = 0;
    return HS_OK;
}

/* ---- values */

hs_status column_init(const struct hs_parquet_column *what, struct press *press, struct column *ret,
                      struct hs_error *err)
{
    assert(what->kind < HS_PARQUET_N_KINDS);
    *ret = (struct column){.what = *what};
    HS_TRY(press_reserve(press, COLUMN_PAGE_ROWS * sizeof *ret->values, err));
    return HS_PAGES_ALLOC(&ret->values, COLUMN_PAGE_ROWS, err);
}

void column_fini(struct column *column)
{
    if (column->values != NULL)
        hs_pages_free(column->values, COLUMN_PAGE_ROWS, sizeof *column->values);
    hs_buffer_fini(&column->pages);
    hs_strtab_fini(&column->texts);
    *column = (struct column){0};
}

static bool is_less(const struct form *form, uint64_t a, uint64_t b)
{
    return form->is_unsigned ? a < b : (int64_t)a < (int64_t)b;
}

static void note_bounds(struct column *column, uint64_t value)
{
    const struct form *form = &forms[column->what.kind];
    bool is_first = column->n_rows == 0;
    if (is_first || is_less(form, value, column->least))
        column->least = value;
    if (is_first || is_less(form, column->most, value))
        column->most = value;
}

/* The number of a text. What the table of texts has grown by is reserved once it is there: it is a
 * few MiB at most. */
static hs_status put_number_of(struct column *column, const char *text, struct press *press,
                               uint64_t *ret, struct hs_error *err)
{
    const struct hs_strtab *texts = &column->texts;
    size_t n_before = texts->n_strings;
    hs_str number;
    HS_TRY(hs_strtab_add(&column->texts, text, &number, err));
    *ret = number;
    if (texts->n_strings == n_before)
        return HS_OK;
    uint64_t n_bytes = texts->text_capacity + sizeof *texts->begin * texts->begin_capacity +
                       sizeof *texts->by_text.slots * texts->by_text.n_slots;
    if (n_bytes <= column->texts_reserved)
        return HS_OK;
    HS_TRY(press_reserve(press, n_bytes - column->texts_reserved, err));
    column->texts_reserved = n_bytes;
    return HS_OK;
}

hs_status column_put(struct column *column, const struct hs_parquet_value *value,
                     struct press *press, struct hs_error *err)
{
    uint64_t stored = value->address;
    if (column->what.kind == HS_PARQUET_TEXT) {
        HS_TRY(put_number_of(column, value->text, press, &stored, err));
    } else {
        if (column->what.kind == HS_PARQUET_TRUTH)
            stored = stored != 0;
        note_bounds(column, stored);
    }
    column->values[column->n_values++] = stored;
    column->n_rows++;
    return column->n_values == COLUMN_PAGE_ROWS ? end_page(column, press, err) : HS_OK;
}

bool column_is_full(const struct column *column)
{
    return column->texts.n_strings >= TEXTS_MAX || column->texts.text_bytes >= TEXT_BYTES_MAX;
}

/* ---- texts */

/* Appends u32 length and bytes, what is no UTF-8 replaced. */
static hs_status put_text(struct hs_buffer *b, const char *text, struct hs_error *err)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const char *at = text, *end = text + strlen(text);
    size_t length_at = b->n_bytes;
    HS_TRY(hs_buffer_reserve(b, 4 + 3 * (size_t)(end - text), err));
    hs_buffer_put_u32(b, 0);
    while (at < end) {
        const char *begin = at;
        if (hs_text_next(&at, end) == HS_TEXT_BAD)
            hs_buffer_put_bytes(b, replacement, sizeof replacement - 1);
        else
            hs_buffer_put_bytes(b, begin, (size_t)(at - begin));
    }
    size_t n_bytes = b->n_bytes - length_at - 4;
    for (unsigned i = 0; i < 4; i++)
        b->bytes[length_at + i] = (uint8_t)(n_bytes >> 8 * i);
    return HS_OK;
}

struct text {
    const uint8_t *bytes; /* in the dictionary; NULL: none yet */
    size_t n_bytes;
};

static bool text_is_less(struct text a, struct text b)
{
    int order = memcmp(a.bytes, b.bytes, a.n_bytes < b.n_bytes ? a.n_bytes : b.n_bytes);
    return order != 0 ? order < 0 : a.n_bytes < b.n_bytes;
}

/* Finds the least and greatest of the dictionary in `raw`; the text "" that is always there counts
 * when a row may have it. */
static void text_bounds(const struct hs_buffer *raw, struct text *least, struct text *most)
{
    *least = *most = (struct text){0};
    for (size_t at = 0; at < raw->n_bytes;) {
        struct text text = {raw->bytes + at + 4, 0};
        for (unsigned i = 0; i < 4; i++)
            text.n_bytes |= (size_t)raw->bytes[at + i] << 8 * i;
        at += 4 + text.n_bytes;
        if (least->bytes == NULL || text_is_less(text, *least))
            *least = text;
        if (most->bytes == NULL || text_is_less(*most, text))
            *most = text;
    }
}

/* Texts are numbered from 1; 0 is "". */
static hs_status make_dictionary(const struct column *column, struct press *press,
                                 struct hs_error *err)
{
    press->raw.n_bytes = 0;
    for (size_t i = 0; i <= column->texts.n_strings; i++)
        HS_TRY(put_text(&press->raw, hs_strtab_get(&column->texts, (hs_str)i), err));
    return press_page(press, PRESS_DICTIONARY, ENCODING_PLAIN, column->texts.n_strings + 1, err);
}

/* ---- the end of a group */

/* A least text may be cut anywhere between characters; a greatest one not. */
static void put_text_statistics(const struct press *press, struct thrift *footer)
{
    struct text least, most;
    text_bounds(&press->raw, &least, &most);
    if (most.n_bytes <= BOUND_BYTES)
        thrift_bytes(footer, 5, most.bytes, most.n_bytes);
    size_t n = least.n_bytes < BOUND_BYTES ? least.n_bytes : BOUND_BYTES;
    while (n < least.n_bytes && n > 0 && (least.bytes[n] & 0xc0) == 0x80)
        n--;
    thrift_bytes(footer, 6, least.bytes, n);
}

static void put_statistics(const struct column *column, const struct press *press,
                           struct thrift *footer)
{
    uint8_t least[8], most[8];
    size_t n = column->what.kind == HS_PARQUET_TRUTH ? 1 : 8;
    for (unsigned i = 0; i < 8; i++) {
        least[i] = (uint8_t)(column->least >> 8 * i);
        most[i] = (uint8_t)(column->most >> 8 * i);
    }
    thrift_open(footer, 12);
    thrift_i64(footer, 3, 0); /* NULLs */
    if (column->what.kind == HS_PARQUET_TEXT) {
        put_text_statistics(press, footer);
    } else {
        thrift_bytes(footer, 5, most, n);
        thrift_bytes(footer, 6, least, n);
    }
    thrift_close(footer);
}

struct chunk_place {
    uint64_t dictionary, data, raw_bytes, stored_bytes; /* dictionary == data: there is none */
};

static void put_chunk(const struct column *column, const struct press *press,
                      const struct chunk_place *place, struct thrift *footer)
{
    const struct form *form = &forms[column->what.kind];
    bool has_dictionary = place->dictionary != place->data;
    thrift_open_item(footer);
    thrift_i64(footer, 2, (int64_t)place->dictionary);
    thrift_open(footer, 3);
    thrift_i32(footer, 1, form->type);
    thrift_list(footer, 2, has_dictionary ? 2 : 1, THRIFT_I32);
    if (has_dictionary)
        thrift_item_i32(footer, ENCODING_PLAIN);
    thrift_item_i32(footer, form->encoding);
    thrift_list(footer, 3, 1, THRIFT_BINARY);
    thrift_item_text(footer, column->what.name);
    thrift_i32(footer, 4, CODEC_ZSTD);
    thrift_i64(footer, 5, (int64_t)column->n_rows);
    thrift_i64(footer, 6, (int64_t)place->raw_bytes);
    thrift_i64(footer, 7, (int64_t)place->stored_bytes);
    thrift_i64(footer, 9, (int64_t)place->data);
    if (has_dictionary)
        thrift_i64(footer, 11, (int64_t)place->dictionary);
    put_statistics(column, press, footer);
    thrift_close(footer);
    thrift_close(footer);
}

hs_status column_flush(struct column *column, struct press *press, struct hs_out *out,
                       uint64_t base, struct thrift *footer, uint64_t *ret_bytes,
                       struct hs_error *err)
{
    struct chunk_place place = {.dictionary = out->n_written - base};
    if (column->n_values != 0)
        HS_TRY(end_page(column, press, err));
    place.raw_bytes = column->raw_bytes;
    if (column->what.kind == HS_PARQUET_TEXT) {
        HS_TRY(make_dictionary(column, press, err));
        HS_TRY(hs_out_write(out, press->head.bytes, press->head.n_bytes, err));
        HS_TRY(hs_out_write(out, press->packed.bytes, press->packed.n_bytes, err));
        place.raw_bytes += press->head.n_bytes + press->raw.n_bytes;
    }
    place.data = out->n_written - base;
    HS_TRY(hs_out_write(out, column->pages.bytes, column->pages.n_bytes, err));
    place.stored_bytes = out->n_written - base - place.dictionary;
    put_chunk(column, press, &place, footer);
    *ret_bytes = place.raw_bytes;
    hs_strtab_fini(&column->texts);
    column->pages.n_bytes = 0;
    column->n_rows = 0;
    column->raw_bytes = 0;
    return footer->status;
}

/* ---- the schema */

void column_schema(const struct hs_parquet_column *what, struct thrift *footer)
{
    enum { REQUIRED = 0 };
    const struct form *form = &forms[what->kind];
    thrift_open_item(footer);
    thrift_i32(footer, 1, form->type);
    thrift_i32(footer, 3, REQUIRED);
    thrift_text(footer, 4, what->name);
    if (form->is_converted)
        thrift_i32(footer, 6, form->converted);
    thrift_close(footer);
}
