#include "press.h"

#include <limits.h>
#include <zstd.h>

#include "thrift.h"

enum { LEVEL = 3 };
enum { ENCODING_LEVELS = 3 }; /* RLE */

hs_status press_reserve(struct press *press, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(press->budget, n_bytes, "the table that is written", err));
    press->reserved_bytes += n_bytes;
    return HS_OK;
}

hs_status press_init(struct hs_budget *budget, struct press *ret, struct hs_error *err)
{
    *ret = (struct press){.budget = budget, .zstd = ZSTD_createCCtx()};
    if (ret->zstd == NULL)
        return hs_fail(err, HS_LIMIT, "cannot compress: out of memory");
    return HS_OK;
}

void press_fini(struct press *press)
{
    ZSTD_freeCCtx(press->zstd);
    hs_buffer_fini(&press->raw);
    hs_buffer_fini(&press->packed);
    hs_buffer_fini(&press->head);
    hs_budget_release(press->budget, press->reserved_bytes);
    *press = (struct press){0};
}

hs_status press_room(struct press *press, struct hs_buffer *b, size_t more, struct hs_error *err)
{
    size_t before = b->capacity, needed = b->n_bytes + more;
    if (needed <= before)
        return HS_OK;
    uint64_t will_be = needed > 2 * before ? needed : 2 * before; /* as hs_grow does */
    HS_TRY(press_reserve(press, will_be - before, err));
    return hs_buffer_reserve(b, more, err);
}

hs_status press_page(struct press *press, enum press_page_type type, int encoding, size_t n_values,
                     struct hs_error *err)
{
    size_t bound = ZSTD_compressBound(press->raw.n_bytes);
    if (press->raw.n_bytes > INT_MAX || bound > INT_MAX)
        return hs_fail(err, HS_LIMIT, "cannot write a page of %zu bytes: Parquet counts to 2^31",
                       press->raw.n_bytes);
    press->packed.n_bytes = press->head.n_bytes = 0;
    HS_TRY(press_room(press, &press->packed, bound, err));
    size_t packed = ZSTD_compressCCtx(press->zstd, press->packed.bytes, press->packed.capacity,
                                      press->raw.bytes, press->raw.n_bytes, LEVEL);
    if (ZSTD_isError(packed))
        return hs_fail(err, HS_LIMIT, "cannot compress: %s", ZSTD_getErrorName(packed));
    press->packed.n_bytes = packed;
    struct thrift head = thrift_begin(&press->head, err);
    thrift_i32(&head, 1, type);
    thrift_i32(&head, 2, (int64_t)press->raw.n_bytes);
    thrift_i32(&head, 3, (int64_t)packed);
    thrift_open(&head, type == PRESS_DATA ? 5 : 7);
    thrift_i32(&head, 1, (int64_t)n_values);
    thrift_i32(&head, 2, encoding);
    if (type == PRESS_DATA) {
        thrift_i32(&head, 3, ENCODING_LEVELS); /* of the levels, which required columns have not */
        thrift_i32(&head, 4, ENCODING_LEVELS);
    }
    thrift_close(&head);
    return thrift_end(&head);
}
