/* links: hs_analysis hs_dep_zstd */
/* Key files of anybody: the input as a file, or, behind a first byte of 1, as what is packed into a
 * sound one. What is accepted can be written again, and compared with itself. */
#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "analysis/series.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void must(hs_status status)
{
    if (status != HS_OK)
        abort();
}

static void compare(const struct hs_snap_keys *table)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_snap_keys *const tables[] = {table, table, table};
    struct hs_series series;
    char text[HS_KEY_TEXT_BYTES];
    must(hs_series_find(tables, 3, NULL, &series, &err));
    assert(series.n_found == 0 && series.growth == HS_GROWTH_NONE);
    for (uint32_t i = 0; i < series.n_rows; i++)
        hs_series_text(&series, i, text, sizeof text);
    hs_series_fini(&series);
}

static void write_again(const struct hs_snap_keys *table)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap_keys again;
    struct hs_buffer bytes = {0};
    must(hs_snap_keys_encode(table, &bytes, &err));
    must(hs_snap_keys_decode(bytes.bytes, bytes.n_bytes, &again, &err));
    hs_snap_keys_fini(&again);
    hs_buffer_fini(&bytes);
}

static struct hs_buffer pack(const uint8_t *raw, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    must(hs_buffer_reserve(&b, 28 + ZSTD_compressBound(n), &err));
    hs_buffer_put_u64(&b, 0x7379656b2e736e73ULL);
    hs_buffer_put_u32(&b, HS_KEY_FILE_VERSION);
    hs_buffer_put_u64(&b, n);
    hs_buffer_put_u64(&b, XXH3_64bits(raw, n));
    b.n_bytes += ZSTD_compress(b.bytes + 28, b.capacity - 28, raw, n, 1);
    return b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap_keys table;
    struct hs_buffer packed = {0};
    if (n_bytes == 0)
        return 0;
    if (data[0] == 1) {
        packed = pack(data + 1, n_bytes - 1);
        data = packed.bytes;
        n_bytes = packed.n_bytes;
    }
    if (hs_snap_keys_decode(data, n_bytes, &table, &err) == HS_OK) {
        write_again(&table);
        compare(&table);
        hs_snap_keys_fini(&table);
    }
    hs_buffer_fini(&packed);
    return 0;
}
