/* Lines of fields between tabs, as both helpers answer. */
#ifndef HS_NAMES_FIELDS_H
#define HS_NAMES_FIELDS_H

#include "base/types.h"

enum { HS_FIELDS_MAX = 6, HS_FIELD_BYTES = 4096 };

struct hs_text_field {
    const char *text;
    size_t n_bytes;
};

/* Splits a line; false when there are too many fields or one is too long. */
bool hs_fields_split(const char *line, size_t n_bytes, struct hs_text_field fields[HS_FIELDS_MAX],
                     size_t *ret_n);
/* Tells whether a field has no control characters: these texts go to terminals and files of others.
 */
bool hs_field_is_clean(struct hs_text_field field);
/* Reads a number of at most `most`; false: it is none. */
bool hs_field_number(struct hs_text_field field, uint32_t most, uint32_t *ret);
/* Copies a compiler's version or another word of small letters and digits, if it has room; else
 * nothing. */
void hs_field_word(const char *word, size_t n, char *ret, size_t n_ret);

#endif
