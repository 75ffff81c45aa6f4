/* The member of one block in which many others hang: of a record that has several, the one by which
 * most of them are led to. */
#ifndef HS_ANALYSIS_MEMBER_PLACE_H
#define HS_ANALYSIS_MEMBER_PLACE_H

#include "analysis/view.h"

/* Names the member of the record `from` that leads to most blocks of a type, "->pool.strings_": a
 * search forwards among HS_SHORT_WAY_MET blocks, in which a block behind an array counts for all
 * that the array leads to. Of several the part that their names share. *ret is left as it is where
 * `from` is no record with members, and where none leads to such blocks. At most 128 KiB, of the
 * budget. The text is the caller's. */
hs_status hs_member_place(struct hs_view *view, hs_node from, uint32_t type, char **ret,
                          struct hs_error *err);

#endif
