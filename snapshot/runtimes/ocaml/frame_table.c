#include "frame_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"

enum {
    FLAG_DEBUG = 1,
    FLAG_ALLOCATION = 2,
    MIN_DESCRIPTOR_BYTES = 16,
};

void hs_frame_table_fini(struct hs_frame_table *table)
{
    if (table == NULL)
        return;
    hs_free(table->entries);
    hs_table_fini(&table->by_address);
    memset(table, 0, sizeof *table);
}

/* Reads the descriptor at the cursor, whose bytes begin at target address `base` (8-aligned, so
 * that alignment of offsets is alignment of addresses), and leaves the cursor after it. */
static bool descriptor_parse(struct hs_cursor *c, hs_addr base, struct hs_frame_descriptor *ret)
{
    struct hs_frame_descriptor d = {0};
    hs_cursor_skip(c, sizeof(uint64_t));
    d.frame_size = hs_cursor_u16(c);
    d.n_live = hs_cursor_u16(c);
    d.live = base + c->at;
    hs_cursor_skip(c, (size_t)d.n_live * sizeof(uint16_t));
    if (d.frame_size != HS_FRAME_LINK) {
        d.n_debug = 1;
        if ((d.frame_size & FLAG_ALLOCATION) != 0) {
            d.n_debug = hs_cursor_u8(c);
            hs_cursor_skip(c, d.n_debug);
        }
        if ((d.frame_size & FLAG_DEBUG) != 0) {
            hs_cursor_align(c, sizeof(uint32_t));
            d.debug = base + c->at;
            hs_cursor_skip(c, (size_t)d.n_debug * sizeof(uint32_t));
        } else {
            d.n_debug = 0;
        }
    }
    if (c->failed)
        return false;
    *ret = d;
    /* The last descriptor of a range needs no padding after it. */
    if (c->n_bytes - c->at >= sizeof(uint64_t))
        hs_cursor_align(c, sizeof(uint64_t));
    return true;
}

/* Makes a cursor over the bytes from `address` to the end of its range. */
static bool cursor_at(const struct hs_image *image, hs_addr address, struct hs_cursor *ret)
{
    const struct hs_image_range *range = hs_image_find(image, address, NULL);
    if (range == NULL || address % 8 != 0)
        return false;
    *ret = hs_cursor_make(range->bytes + (address - range->begin), range->end - address);
    return true;
}

hs_status hs_frame_table_add(struct hs_frame_table *table, const struct hs_image *image,
                             hs_addr address, struct hs_error *err)
{
    struct hs_cursor c;
    if (!cursor_at(image, address, &c) || hs_cursor_left(&c) < sizeof(uint64_t)) {
        table->n_damaged++;
        return HS_OK;
    }
    uint64_t count = hs_cursor_u64(&c);
    uint64_t fitting = (hs_cursor_left(&c) + 4) / MIN_DESCRIPTOR_BYTES;
    if (count > fitting) {
        table->n_damaged++;
        count = fitting;
    }
    HS_TRY(HS_GROW(&table->entries, &table->capacity, table->n_entries + count, err));
    for (uint64_t i = 0; i < count; i++) {
        size_t at = c.at;
        struct hs_cursor peek = c;
        hs_addr return_address = hs_cursor_u64(&peek);
        struct hs_frame_descriptor d;
        if (!descriptor_parse(&c, address, &d)) {
            table->n_damaged++;
            break;
        }
        table->entries[table->n_entries++] = (struct hs_frame_entry){return_address, address + at};
    }
    return HS_OK;
}

static uint32_t entry_of(const struct hs_frame_table *table, hs_addr address)
{
    return HS_TABLE_FIND(&table->by_address, hs_hash(address), i,
                         table->entries[i].return_address == address);
}

hs_status hs_frame_table_seal(struct hs_frame_table *table, struct hs_error *err)
{
    hs_table_fini(&table->by_address);
    for (size_t i = 0; i < table->n_entries; i++) {
        hs_addr address = table->entries[i].return_address;
        if (entry_of(table, address) == HS_NO_NUMBER)
            HS_TRY(hs_table_add(&table->by_address, hs_hash(address), i, err));
    }
    return HS_OK;
}

const struct hs_frame_entry *hs_frame_table_find(const struct hs_frame_table *table,
                                                 hs_addr return_address)
{
    uint32_t at = entry_of(table, return_address);
    return at == HS_NO_NUMBER ? NULL : &table->entries[at];
}

bool hs_frame_descriptor_read(const struct hs_image *image, hs_addr at,
                              struct hs_frame_descriptor *ret)
{
    struct hs_cursor c;
    return cursor_at(image, at, &c) && descriptor_parse(&c, at, ret);
}

bool hs_frame_live(const struct hs_image *image, const struct hs_frame_descriptor *d, unsigned i,
                   uint16_t *ret)
{
    return i < d->n_live && hs_image_u16(image, d->live + i * sizeof(uint16_t), ret);
}

/* Unpacks a place as it is up to 5.1. Both words, from the highest bit: line:20, begin:8, end:10,
 * name:24, raise:1, more:1. */
static void unpack_old(uint32_t info1, uint32_t info2, struct hs_frame_place *place)
{
    place->line = info2 >> 12;
    place->char_begin = info2 >> 4 & 0xFF;
    place->char_end = (info2 & 0xF) << 6 | info1 >> 26;
}

/* Unpacks a place as it is since 5.2. Full: 0:1, line:12, lines:3, begin:6, end:7, offset:9,
 * name:24, raise:1, more:1. Partial: 1:1, line:19, lines:18, name:24, raise:1, more:1, and the name
 * record has the characters between the file's offset and the text. */
static bool unpack_new(const struct hs_image *image, uint32_t info2, hs_addr record,
                       struct hs_frame_place *place)
{
    enum { BEGIN_OFFSET = 4, END_OFFSET = 6, TEXT_OFFSET = 12 };
    uint16_t begin, end;
    if ((info2 & UINT32_C(0x80000000)) == 0) {
        place->line = info2 >> 19;
        place->char_begin = info2 >> 10 & 0x3F;
        place->char_end = info2 >> 3 & 0x7F;
        return true;
    }
    if (!hs_image_u16(image, record + BEGIN_OFFSET, &begin) ||
        !hs_image_u16(image, record + END_OFFSET, &end))
        return false;
    place->line = info2 >> 12 & 0x7FFFF;
    place->char_begin = begin;
    place->char_end = end;
    place->function = record + TEXT_OFFSET;
    return true;
}

bool hs_frame_place_read(const struct hs_image *image, enum hs_place_packing packing, hs_addr at,
                         struct hs_frame_place *ret)
{
    uint32_t info1, info2, file_offset;
    if (!hs_image_u32(image, at, &info1) || !hs_image_u32(image, at + 4, &info2))
        return false;
    hs_addr record = at + (info1 & 0x3FFFFFC);
    if (!hs_image_u32(image, record, &file_offset))
        return false;
    struct hs_frame_place place = {
        .file = record + (uint64_t)(int64_t)(int32_t)file_offset,
        .function = record + sizeof(uint32_t),
        .is_raise = (info1 & 2) != 0,
        .has_next = (info1 & 1) != 0,
        .next = at + 2 * sizeof(uint32_t),
    };
    if (packing == HS_PLACES_UP_TO_5_1)
        unpack_old(info1, info2, &place);
    else if (!unpack_new(image, info2, record, &place))
        return false;
    *ret = place;
    return true;
}

bool hs_frame_first_place(const struct hs_image *image, enum hs_place_packing packing,
                          const struct hs_frame_descriptor *d, struct hs_frame_place *ret)
{
    for (unsigned i = 0; i < d->n_debug; i++) {
        hs_addr at = d->debug + i * sizeof(uint32_t);
        uint32_t offset;
        if (!hs_image_u32(image, at, &offset))
            return false;
        if (offset != 0)
            return offset % 4 == 0 && hs_frame_place_read(image, packing, at + offset, ret);
    }
    return false;
}
