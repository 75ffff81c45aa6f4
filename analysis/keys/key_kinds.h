/* The steps that types make in keys: types of one family and of one name are one, what is not known
 * is "block". Kinds are numbered by their names, so that their order is that of names. */
#ifndef HS_KEYS_KEY_KINDS_H
#define HS_KEYS_KEY_KINDS_H

#include "analysis/view.h"
#include "base/strtab.h"

#define KEY_KINDS_MOST ((uint32_t)1 << 24)
enum { KEY_KIND_BLOCK = 0 };

struct key_kinds {
    uint32_t *of_type;  /* owned */
    hs_str *names;      /* owned: by kind */
    uint32_t *types;    /* owned: by kind, the first of its types; HS_UNTYPED of "block" */
    bool *is_container; /* owned: by kind: of Python, a part of whatever has it */
    uint32_t n;
};

/* Adds their names to the table. O(types * log types). */
hs_status key_kinds_init(const struct hs_view *view, struct hs_strtab *names, struct key_kinds *ret,
                         struct hs_error *err);
void key_kinds_fini(struct key_kinds *kinds);

#endif
