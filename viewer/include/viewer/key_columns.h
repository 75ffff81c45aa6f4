/* Keys (analysis/keys.h) as JSON in columns, for a page: row 0 is the whole heap, a row's parent
 * stands before it.
 *
 *   {"names":[..],"parent":[..],"name":[..],"form":[..],"words":[..],"own_words":[..],
 *    "objects":[..],"set":[..]} */
#ifndef HS_VIEWER_KEY_COLUMNS_H
#define HS_VIEWER_KEY_COLUMNS_H

#include "analysis/keys.h"
#include "base/buffer.h"

/* Writes the `most` keys that have most words, row 0 among them; of equal ones the first. What the
 * others have is part of their parents' `words`. */
hs_status hs_key_columns_write(const struct hs_keys *keys, size_t most, struct hs_buffer *buffer,
                               struct hs_error *err);

#endif
