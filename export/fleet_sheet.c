/* Rows of a table of export/fleet.h, value by value. */
#include "fleet_sheet.h"

#include <assert.h>
#include <string.h>

static struct hs_parquet_value *next_value(struct fleet_sheet *sheet)
{
    assert(sheet->n < sheet->n_columns);
    return &sheet->row[sheet->n++];
}

void hs_fleet_number(struct fleet_sheet *sheet, uint64_t number)
{
    *next_value(sheet) = (struct hs_parquet_value){.address = number};
}

void hs_fleet_address(struct fleet_sheet *sheet, hs_addr address)
{
    hs_fleet_number(sheet, sheet->no_addresses ? 0 : address);
}

/* Cuts addresses out of a text; short numbers are tags and offsets, and stay. */
static hs_status cut_addresses(const char *text, struct hs_buffer *b, struct hs_error *err)
{
    enum { DIGITS_MIN = 5 };
    b->n_bytes = 0;
    HS_TRY(hs_buffer_reserve(b, strlen(text) + 1, err));
    while (*text != 0) {
        size_t n = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
        if (n < DIGITS_MIN) {
            hs_buffer_put_u8(b, (uint8_t)*text++);
            continue;
        }
        hs_buffer_put_bytes(b, "0x?", 3);
        text += 2 + n;
    }
    hs_buffer_put_u8(b, 0);
    return HS_OK;
}

void hs_fleet_text(struct fleet_sheet *sheet, const char *text)
{
    struct hs_buffer *b = &sheet->texts[sheet->n];
    struct hs_parquet_value *value = next_value(sheet);
    *value = (struct hs_parquet_value){.text = text};
    if (!sheet->no_addresses || strstr(text, "0x") == NULL || sheet->status != HS_OK)
        return;
    sheet->status = cut_addresses(text, b, &sheet->error);
    if (sheet->status == HS_OK)
        value->text = (const char *)b->bytes;
}

hs_status hs_fleet_row(struct fleet_sheet *sheet, struct hs_error *err)
{
    assert(sheet->n == sheet->n_columns);
    sheet->n = 0;
    if (sheet->status == HS_OK)
        return hs_parquet_row(sheet->writer, sheet->row, err);
    *err = sheet->error;
    return sheet->status;
}
