/* Interned strings: each distinct text once, numbered from 1 in order of first use; 0 is "none".
 * A string ends at its first NUL; every other byte is kept as it is, valid UTF-8 or not. The table
 * owns its copies; ids stay valid until fini, pointers until the next add. Growth is amortised, one
 * block of text and one hash table in all (no allocation per string). */
#ifndef HS_BASE_STRTAB_H
#define HS_BASE_STRTAB_H

#include "base/table.h"

struct hs_strtab {
    char *text; /* owned: the strings, NUL-terminated, one after another */
    size_t text_bytes, text_capacity;
    uint64_t *begin; /* owned: offset in text of string id - 1 */
    size_t n_strings, begin_capacity;
    struct hs_table by_text; /* of id - 1 */
};

/* Frees the table. A zeroed one is valid and empty. */
void hs_strtab_fini(struct hs_strtab *table);

/* Finds the id of `text` (NULL or "" gives 0), added when new. Fails with HS_LIMIT. */
hs_status hs_strtab_add(struct hs_strtab *table, const char *text, hs_str *ret,
                        struct hs_error *err);
hs_status hs_strtab_add_n(struct hs_strtab *table, const char *text, size_t n_bytes, hs_str *ret,
                          struct hs_error *err);

/* Returns the text of an id, "" for 0 and for ids that do not exist. Valid until the next add. */
const char *hs_strtab_get(const struct hs_strtab *table, hs_str id);

#endif
