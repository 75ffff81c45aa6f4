#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "packed_table.h"

/* Values that are encoded at a time, with one look at the room for them. */
#define VALUES_AT_ONCE 64

uint64_t hs_packed_table_bytes(uint64_t n_nodes)
{
    return packed_pages(n_nodes) * HS_PACKED_TABLE_ENTRY;
}

hs_status hs_packed_writer_init(const struct hs_packed_sink *sink, uint64_t n_nodes,
                                struct hs_packed_writer *ret, struct hs_error *err)
{
    void *table;

    HS_TRY(hs_pages_alloc(packed_pages(n_nodes), HS_PACKED_TABLE_ENTRY, &table, err));
    *ret = (struct hs_packed_writer){
        .sink = *sink, .n_nodes = n_nodes, .n_values = n_nodes, .table = table};
    return HS_OK;
}

void hs_packed_writer_fini(struct hs_packed_writer *writer)
{
    hs_pages_free(writer->table, packed_pages(writer->n_nodes), HS_PACKED_TABLE_ENTRY);
    hs_buffer_fini(&writer->page);
    hs_buffer_fini(&writer->block);
    *writer = (struct hs_packed_writer){0};
}

static hs_status writer_emit(struct hs_packed_writer *writer, const void *bytes, size_t n_bytes,
                             struct hs_error *err)
{
    writer->n_bytes += n_bytes;
    return writer->sink.write(writer->sink.context, bytes, n_bytes, err);
}

static hs_status page_flush(struct hs_packed_writer *writer, struct hs_error *err)
{
    uint64_t *entry = writer->table + (writer->next - 1) / HS_PACKED_PAGE * 2;
    struct packed_place place = {
        .begin = writer->n_bytes,
        .n_bytes = writer->page.n_bytes,
    };

    assert(place.n_bytes < PACKED_PAGE_BYTES_MAX);
    if (place.begin >= PACKED_BEGIN_MAX)
        return hs_fail(err, HS_LIMIT, "a section of %llu bytes is too large for an index",
                       (unsigned long long)place.begin);
    entry[0] = packed_place_code(&place);
    entry[1] = XXH3_64bits(writer->page.bytes, writer->page.n_bytes);
    HS_TRY(writer_emit(writer, writer->page.bytes, writer->page.n_bytes, err));
    writer->page.n_bytes = 0;
    return HS_OK;
}

static hs_status cell_end(struct hs_packed_writer *writer, struct hs_error *err)
{
    writer->next++;
    return writer->next % HS_PACKED_PAGE == 0 ? page_flush(writer, err) : HS_OK;
}

hs_status hs_packed_cell(struct hs_packed_writer *writer, const uint64_t *numbers, unsigned n,
                         struct hs_error *err)
{
    assert(n <= HS_PACKED_NUMBERS && writer->row_left == 0 && writer->next < writer->n_nodes);
    HS_TRY(hs_buffer_reserve(&writer->page, HS_PACKED_NUMBERS * HS_VARINT_MAX_BYTES, err));
    for (unsigned i = 0; i < n; i++)
        hs_buffer_put_varint(&writer->page, numbers[i]);
    return cell_end(writer, err);
}

hs_status hs_packed_small_cells(struct hs_packed_writer *writer, const uint8_t *numbers, uint64_t n,
                                struct hs_error *err)
{
    assert(writer->row_left == 0 && n <= writer->n_nodes - writer->next);
    while (n != 0) {
        uint64_t some = HS_PACKED_PAGE - writer->next % HS_PACKED_PAGE;
        some = some < n ? some : n;
        HS_TRY(hs_buffer_reserve(&writer->page, some, err));
        hs_buffer_put_bytes(&writer->page, numbers, some);
        writer->next += some;
        numbers += some;
        n -= some;
        if (writer->next % HS_PACKED_PAGE == 0)
            HS_TRY(page_flush(writer, err));
    }
    return HS_OK;
}

/* ---- rows ---- */

static hs_status block_begin(struct hs_packed_writer *writer, struct hs_error *err)
{
    static const uint8_t head[PACKED_BLOCK_HEAD];

    writer->n_block = 0;
    writer->block.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&writer->block, sizeof head, err));
    hs_buffer_put_bytes(&writer->block, head, sizeof head);
    return HS_OK;
}

static hs_status block_flush(struct hs_packed_writer *writer, struct hs_error *err)
{
    uint8_t *bytes = writer->block.bytes;
    uint32_t n_bytes = (uint32_t)(writer->block.n_bytes - PACKED_BLOCK_HEAD);
    uint64_t hash = XXH3_64bits(bytes + PACKED_BLOCK_HEAD, n_bytes);

    memcpy(bytes, &hash, sizeof hash);
    memcpy(bytes + sizeof hash, &n_bytes, sizeof n_bytes);
    HS_TRY(writer_emit(writer, bytes, writer->block.n_bytes, err));
    return block_begin(writer, err);
}

hs_status hs_packed_row_begin(struct hs_packed_writer *writer, uint64_t n, struct hs_error *err)
{
    assert(writer->row_left == 0 && writer->next < writer->n_nodes && n <= writer->n_values);
    HS_TRY(hs_buffer_reserve(&writer->page, HS_PACKED_NUMBERS * HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(&writer->page, n);
    writer->row_n = writer->row_left = n;
    if (n == 0)
        return cell_end(writer, err);
    if (n <= HS_PACKED_LONG)
        return HS_OK;
    hs_buffer_put_varint(&writer->page, writer->n_bytes);
    return block_begin(writer, err);
}

/* Values of the row that is being written, at most VALUES_AT_ONCE. */
static hs_status row_put(struct hs_packed_writer *writer, struct hs_buffer *buffer,
                         const hs_node *values, uint64_t n, struct hs_error *err)
{
    uint64_t last = writer->last;
    uint64_t i = 0;

    HS_TRY(hs_buffer_reserve(buffer, VALUES_AT_ONCE * HS_VARINT_MAX_BYTES, err));
    if (writer->row_left == writer->row_n) {
        assert(values[0] < writer->n_values);
        hs_buffer_put_zigzag(buffer, (int64_t)(values[0] - writer->next));
        last = values[i++];
    }
    for (; i < n; i++) {
        assert(values[i] > last && values[i] < writer->n_values);
        hs_buffer_put_varint(buffer, values[i] - last - 1);
        last = values[i];
    }
    writer->last = last;
    writer->row_left -= n;
    return HS_OK;
}

hs_status hs_packed_row_more(struct hs_packed_writer *writer, const hs_node *values, uint64_t n,
                             struct hs_error *err)
{
    bool is_long = writer->row_n > HS_PACKED_LONG;

    assert(n <= writer->row_left);
    if (n == 0)
        return HS_OK;
    while (n != 0) {
        uint64_t some = n < VALUES_AT_ONCE ? n : VALUES_AT_ONCE;
        if (is_long && some > HS_PACKED_LONG - writer->n_block)
            some = HS_PACKED_LONG - writer->n_block;
        HS_TRY(row_put(writer, is_long ? &writer->block : &writer->page, values, some, err));
        values += some;
        n -= some;
        writer->n_block += (uint32_t)some;
        if (is_long && (writer->n_block == HS_PACKED_LONG || writer->row_left == 0))
            HS_TRY(block_flush(writer, err));
    }
    return writer->row_left == 0 ? cell_end(writer, err) : HS_OK;
}

hs_status hs_packed_row(struct hs_packed_writer *writer, const hs_node *values, uint64_t n,
                        struct hs_error *err)
{
    HS_TRY(hs_packed_row_begin(writer, n, err));
    return hs_packed_row_more(writer, values, n, err);
}

hs_status hs_packed_piece(struct hs_packed_writer *writer, const struct hs_piece *piece,
                          struct hs_error *err)
{
    const uint64_t *begin = piece->begin;

    assert(piece->first == writer->next);
    if (piece->of_row != 0) {
        if (writer->row_left == 0)
            HS_TRY(hs_packed_row_begin(writer, piece->of_row, err));
        return hs_packed_row_more(writer, piece->target + begin[0], begin[1] - begin[0], err);
    }
    for (uint32_t i = 0; i < piece->n; i++)
        HS_TRY(hs_packed_row(writer, piece->target + begin[i], begin[i + 1] - begin[i], err));
    return HS_OK;
}

hs_status hs_packed_finish(struct hs_packed_writer *writer, struct hs_error *err)
{
    assert(writer->next == writer->n_nodes && writer->row_left == 0);
    if (writer->n_nodes % HS_PACKED_PAGE != 0)
        HS_TRY(page_flush(writer, err));
    return writer_emit(writer, writer->table, hs_packed_table_bytes(writer->n_nodes), err);
}
