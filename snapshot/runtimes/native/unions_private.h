/* The state shared by unions.c, which answers, unions_count.c and unions_sole.c, which learn. */
#ifndef HS_NATIVE_UNIONS_PRIVATE_H
#define HS_NATIVE_UNIONS_PRIVATE_H

#include "native.h"
#include "unions.h"

struct hs_flow;
struct hs_native_type;

/* The least number of addresses that a value goes with, and of how many one may be none. */
enum { HS_UNION_LEAST = 4, HS_UNION_ONE_IN = 16 };
/* The most words of a union that are counted: all, unless the numbers would not fit. */
enum { HS_UNION_COUNTED = 1 << 30 };

/* Finds the union that the slot is of, or adds it; *ret is its number from 1, 0 where there are too
 * many. */
hs_status hs_unions_get_(struct hs_native *native, const struct hs_cslot *slot, uint32_t *ret,
                         struct hs_error *err);
bool hs_union_read_(const struct hs_ctag *tag, hs_cvalue_read *read, void *context, uint64_t *ret);
/* Returns the counts of a value, or NULL. */
struct hs_union_value *hs_union_find_(struct hs_union_tag *tag, uint64_t value);
bool hs_union_has_addresses_(const struct hs_union_value *value);

/* Returns the union of a slot that is untold, or NULL. */
struct hs_union *hs_unions_of_(const struct hs_native *native, const struct hs_cslot *slot);
/* Calls `visit` for each slot of a block of this type that is untold. */
typedef hs_status hs_unions_visit(void *with, const struct hs_heap_block *block,
                                  const struct hs_cslot *slot, uint64_t at, struct hs_error *err);
hs_status hs_unions_each_(struct hs_native *native, const struct hs_native_type *type,
                          const struct hs_heap_block *block, hs_unions_visit *visit, void *with,
                          struct hs_error *err);
/* Counts what words go with which numbers, in all blocks and in the roots' variables. */
hs_status hs_unions_count_(struct hs_native *native, const struct hs_flow *flow,
                           struct hs_error *err);
/* Chooses the discriminant: the number that tells. */
void hs_union_choose_(struct hs_union *u);
/* Returns the counts of the value that the chosen discriminant has here, or NULL. */
struct hs_union_value *hs_union_value_(const struct hs_union *u, hs_cvalue_read *read,
                                       void *context);
/* See hs_unions_owns. */
bool hs_unions_owns_(const struct hs_native *native, const struct hs_union *u, hs_cvalue_read *read,
                     void *context, uint64_t target_rank);
/* The verdict of all values about one word. */
enum hs_union_verdict { HS_UNION_SURE, HS_UNION_UNKNOWN, HS_UNION_NOT };
enum hs_union_verdict hs_union_judge_(const struct hs_union *u, hs_cvalue_read *read,
                                      void *context);

#endif
