#include "pass_scatter.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/buffer.h"

/* The room for a record. */
#define RECORD_MAX_BYTES (4 + 10 * SCATTER_COLUMNS)
#define DIFFERS ((uint32_t)1 << 31) /* of a key */

/* ---- parts ---- */

/* Returns the memory of so many parts: one in memory, a buffer for each of the others while they
 * are written, and one to read. */
static uint64_t parts_bytes(uint64_t n_keys, unsigned row_bytes, uint64_t n_parts)
{
    uint64_t per_part = (n_keys + n_parts - 1) / n_parts;
    return per_part * row_bytes + 8 + (n_parts - 1) * HS_SPILL_BUFFER_BYTES;
}

uint64_t pass_scatter_parts(uint64_t n_keys, unsigned row_bytes, uint64_t room)
{
    uint64_t n_parts = n_keys / DIFFERS + 1, best = n_parts;

    while (n_parts < SCATTER_PARTS && parts_bytes(n_keys, row_bytes, best) > room) {
        n_parts++;
        if (parts_bytes(n_keys, row_bytes, n_parts) < parts_bytes(n_keys, row_bytes, best))
            best = n_parts;
    }
    return best;
}

static void scatter_choose(struct pass_scatter *scatter, uint64_t reserve_bytes)
{
    uint64_t left = hs_budget_left_bytes(scatter->budget);
    uint64_t room = left > reserve_bytes ? left - reserve_bytes : 0;
    uint64_t n_parts = pass_scatter_parts(scatter->n_keys, scatter->row_bytes, room);

    scatter->n_parts = (uint32_t)n_parts;
    scatter->per_part = (scatter->n_keys + n_parts - 1) / n_parts;
    scatter->reserved_bytes = parts_bytes(scatter->n_keys, scatter->row_bytes, n_parts);
}

static hs_status scatter_open(struct pass_scatter *scatter, struct hs_error *err)
{
    HS_TRY(HS_PAGES_ALLOC(&scatter->rows, scatter->per_part * scatter->row_bytes + 8, err));
    HS_TRY(HS_ALLOC(&scatter->parts, scatter->n_parts, err));
    for (uint32_t i = 1; i < scatter->n_parts; i++)
        HS_TRY(hs_spill_open(scatter->budget, scatter->what, &scatter->parts[i].spill, err));
    return HS_OK;
}

hs_status pass_scatter_init(const struct pass_scatter_shape *shape, struct hs_budget *budget,
                            const char *what, struct pass_scatter *ret, struct hs_error *err)
{
    struct pass_scatter scatter = {
        .n_keys = shape->n_keys, .n_columns = shape->n_columns, .budget = budget, .what = what};

    assert(shape->n_columns >= 1 && shape->n_columns <= SCATTER_COLUMNS);
    for (unsigned i = 0; i < shape->n_columns; i++) {
        scatter.width[i] = pass_scatter_width(shape->max[i]);
        scatter.row_bytes += scatter.width[i];
    }
    scatter_choose(&scatter, shape->reserve_bytes);
    HS_TRY(hs_budget_reserve(budget, scatter.reserved_bytes, what, err));
    hs_status status = scatter_open(&scatter, err);
    if (status == HS_OK)
        *ret = scatter;
    else
        pass_scatter_fini(&scatter);
    return status;
}

void pass_scatter_fini(struct pass_scatter *scatter)
{
    hs_pages_free(scatter->rows, scatter->per_part * scatter->row_bytes + 8, 1);
    for (uint32_t i = 1; scatter->parts != NULL && i < scatter->n_parts; i++)
        hs_spill_close(&scatter->parts[i].spill);
    hs_free(scatter->parts);
    hs_budget_release(scatter->budget, scatter->reserved_bytes);
    *scatter = (struct pass_scatter){0};
}

/* ---- writing ---- */

static uint8_t *varint_put(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

/* Tells whether a record is large: it has a value of more than 7 bits. Such a record is written as
 * differences from the large one before it, where that is shorter. */
static bool is_large(const struct pass_scatter *scatter, const uint64_t *values)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < scatter->n_columns; i++)
        any |= values[i];
    return any >= 0x80;
}

hs_status pass_scatter_spill(struct pass_scatter *scatter, uint64_t key, const uint64_t *values,
                             struct hs_error *err)
{
    uint8_t record[RECORD_MAX_BYTES], near[RECORD_MAX_BYTES], *out = record + 4, *to = near + 4;
    struct scatter_part *part = &scatter->parts[key / scatter->per_part];
    uint32_t at = (uint32_t)(key % scatter->per_part);

    for (unsigned i = 0; i < scatter->n_columns; i++)
        out = varint_put(out, values[i]);
    if (!is_large(scatter, values)) {
        memcpy(record, &at, sizeof at);
        return hs_spill_write(&part->spill, record, (size_t)(out - record), err);
    }
    for (unsigned i = 0; i < scatter->n_columns; i++) {
        to = varint_put(to, hs_zigzag_encode((int64_t)(values[i] - part->large[i])));
        part->large[i] = values[i];
    }
    bool differs = to - near < out - record;
    at |= differs ? DIFFERS : 0;
    memcpy(differs ? near : record, &at, sizeof at);
    return differs ? hs_spill_write(&part->spill, near, (size_t)(to - near), err)
                   : hs_spill_write(&part->spill, record, (size_t)(out - record), err);
}

/* ---- emitting ---- */

static uint64_t part_keys(const struct pass_scatter *scatter, uint32_t part)
{
    uint64_t first = part * scatter->per_part;
    if (first >= scatter->n_keys)
        return 0; /* the parts before it were rounded up */
    return scatter->n_keys - first < scatter->per_part ? scatter->n_keys - first
                                                       : scatter->per_part;
}

static hs_status part_read(const struct pass_scatter *scatter, struct hs_spill_reader *reader,
                           struct hs_error *err)
{
    uint64_t at, values[SCATTER_COLUMNS] = {0}, large[SCATTER_COLUMNS] = {0};

    while (!hs_spill_at_end(reader)) {
        HS_TRY(hs_spill_get_fixed(reader, 4, &at, err));
        bool differs = at & DIFFERS;
        at &= ~(uint64_t)DIFFERS;
        for (unsigned i = 0; i < scatter->n_columns; i++) {
            HS_TRY(hs_spill_get_varint(reader, &values[i], err));
            values[i] = differs ? large[i] + (uint64_t)hs_zigzag_decode(values[i]) : values[i];
        }
        if (is_large(scatter, values))
            memcpy(large, values, sizeof large);
        if (at >= scatter->per_part)
            return hs_fail(err, HS_BUG, "%s: a record of another part", scatter->what);
        pass_scatter_place(scatter, at, values);
    }
    return HS_OK;
}

static hs_status part_load(struct pass_scatter *scatter, uint32_t part, struct hs_error *err)
{
    struct hs_spill *spill = &scatter->parts[part].spill;
    struct hs_spill_reader reader = {0};

    memset(scatter->rows, 0, scatter->per_part * scatter->row_bytes);
    HS_TRY(hs_spill_read(spill, 0, spill->n_bytes, &reader, err));
    hs_status status = part_read(scatter, &reader, err);
    hs_spill_reader_close(&reader);
    hs_spill_close(spill);
    return status;
}

static hs_status part_emit(const struct pass_scatter *scatter, uint32_t part,
                           const struct pass_scatter_sink *sink, struct hs_error *err)
{
    uint64_t first = part * scatter->per_part, n = part_keys(scatter, part);
    const uint8_t *row = scatter->rows;

    for (uint64_t at = 0; at < n; at++) {
        uint64_t values[SCATTER_COLUMNS];
        for (unsigned i = 0; i < scatter->n_columns; i++) {
            memcpy(&values[i], row, sizeof *values); /* 8 bytes more than there are rows */
            values[i] &= UINT64_MAX >> (64 - 8 * scatter->width[i]);
            row += scatter->width[i];
        }
        HS_TRY(sink->put(sink->context, first + at, values, err));
    }
    return HS_OK;
}

hs_status pass_scatter_emit(struct pass_scatter *scatter, const struct pass_scatter_sink *sink,
                            struct hs_error *err)
{
    for (uint32_t part = 1; part < scatter->n_parts; part++)
        HS_TRY(hs_spill_seal(&scatter->parts[part].spill, err));
    for (uint32_t part = 0; part < scatter->n_parts; part++) {
        if (part != 0)
            HS_TRY(part_load(scatter, part, err));
        HS_TRY(part_emit(scatter, part, sink, err));
    }
    return HS_OK;
}
