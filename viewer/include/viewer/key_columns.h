/* Keys (analysis/keys.h) as JSON in columns, for a page: row 0 is the whole heap, a row's parent
 * stands before it.
 *
 *   {"names":[..],"parent":[..],"name":[..],"form":[..],"words":[..],"own_words":[..],
 *    "objects":[..],"set":[..],"variables":[..],"variable":[..]}
 *
 * `variable` is 1 + the place among `variables` of the variable that a root's row is a slot of, 0
 * of others; where no variable has slots, both are missing. */
#ifndef HS_VIEWER_KEY_COLUMNS_H
#define HS_VIEWER_KEY_COLUMNS_H

#include "analysis/keys.h"
#include "base/buffer.h"

/* Writes the `most` keys that have most words, row 0 among them; of equal ones the first. What the
 * others have is part of their parents' `words`. `view` has the variables; NULL: none. */
hs_status hs_key_columns_write(const struct hs_keys *keys, const struct hs_view *view, size_t most,
                               struct hs_buffer *buffer, struct hs_error *err);

#endif
