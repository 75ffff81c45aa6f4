/* Forms: how an attribute's value is written. */
#ifndef HS_TYPES_FORM_H
#define HS_TYPES_FORM_H

#include "entry.h"

/* Reads one (attribute, form) of an abbreviation; false at the end of its list and when damaged
 * (the cursor has then failed). `ret->number` is the value of DW_FORM_implicit_const. */
bool hs_form_next_(struct hs_cursor *abbreviation, struct debug_value *ret);

/* Reads the value of `value->form`, which DW_FORM_indirect replaces, and advances; false when
 * damaged. */
bool hs_form_read_(struct hs_cursor *c, const struct debug_unit *unit, struct debug_value *value);

/* Returns the bytes that a value of this form takes, when they are always the same; else -1. */
int hs_form_size_(const struct debug_unit *unit, uint16_t form);

/* Reads SLEB128: at most 10 bytes. */
int64_t hs_form_signed_(struct hs_cursor *c);

/* Makes a cursor over the unit's section at `at`, with n_bytes from there on to be read; it ends
 * there or with the unit. */
struct hs_cursor hs_form_window_(struct debug_info *info, const struct debug_unit *unit, hs_die at,
                                 uint64_t n_bytes);
/* The same up to the end of the unit. */
struct hs_cursor hs_form_cursor_(struct debug_info *info, const struct debug_unit *unit, hs_die at);
/* Tells whether a cursor of that kind ends before its unit. */
bool hs_form_is_cut_(const struct debug_info *info, const struct debug_unit *unit,
                     const struct hs_cursor *c);

/* Makes a cursor at an abbreviation: its code's tag, or its attributes. */
struct hs_cursor hs_form_abbreviation_(struct debug_info *info, uint64_t at);

/* Finds a string that stands in the entry or in a section; NULL for a form of indices. */
const char *hs_form_text_(struct debug_info *info, const struct debug_unit *unit,
                          const struct debug_value *value);

/* Finds a string of a section, NULL when it does not end within 64 KiB. */
const char *hs_debug_text_at_(struct elf_view *section, uint64_t offset);

#endif
