/* The place where the pages of a table are made: encoded values are compressed and get their head.
 */
#ifndef HS_PARQUET_PRESS_H
#define HS_PARQUET_PRESS_H

#include "base/budget.h"
#include "base/buffer.h"

/* PageType of parquet.thrift. */
enum press_page_type { PRESS_DATA = 0, PRESS_DICTIONARY = 2 };

/* The state that the columns of a table share. */
struct press {
    void *zstd;               /* owned: ZSTD_CCtx */
    struct hs_buffer raw;     /* owned: a page as it is encoded, filled by the caller */
    struct hs_buffer head;    /* owned: what press_page makes of it: the head, */
    struct hs_buffer packed;  /* and the compressed page that follows it in the file */
    struct hs_budget *budget; /* borrowed */
    uint64_t reserved_bytes;  /* of it */
};

hs_status press_init(struct hs_budget *budget, struct press *ret, struct hs_error *err);
/* Gives back to the budget what was reserved. Takes a zeroed one. */
void press_fini(struct press *press);

/* Reserves bytes of the budget; given back at the end. */
hs_status press_reserve(struct press *press, uint64_t n_bytes, struct hs_error *err);
/* Makes room in a buffer that may grow large, reserved first. */
hs_status press_room(struct press *press, struct hs_buffer *b, size_t more, struct hs_error *err);

/* Makes head and packed of raw, which has n_values in that encoding. HS_LIMIT also for a page that
 * is too large for the format. */
hs_status press_page(struct press *press, enum press_page_type type, int encoding, size_t n_values,
                     struct hs_error *err);

#endif
