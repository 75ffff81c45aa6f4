/* Finds the span that may hold an address, in three steps. Private to the heap map.
 *
 *   address:  | 13 bits: root | 11 bits: middle | 11 bits: leaf | 12 bits in the page |
 *
 * A region in which no span begins needs no table of its own: all its pages have the same answer,
 * which stands in the table above. So neither huge spans nor holes between spans cost memory. */
#ifndef HS_HEAPS_HEAP_MAP_PAGES_H
#define HS_HEAPS_HEAP_MAP_PAGES_H

#include "heaps/heap_map.h"

#define HS_PAGE_BITS 12
#define HS_PAGE_STEP_BITS 11
#define HS_PAGE_STEP ((size_t)1 << HS_PAGE_STEP_BITS)
#define HS_PAGE_LEAF_BITS (HS_PAGE_BITS + HS_PAGE_STEP_BITS)        /* 8 MB */
#define HS_PAGE_MIDDLE_BITS (HS_PAGE_LEAF_BITS + HS_PAGE_STEP_BITS) /* 16 GB */
#define HS_PAGE_ROOTS ((size_t)1 << (HS_ADDRESS_BITS - HS_PAGE_MIDDLE_BITS))
#define HS_ADDRESS_BITS 47

/* An entry of a root or middle table with this bit is an answer, else the number of a table. */
#define HS_PAGE_IS_ANSWER ((uint32_t)1 << 31)
#define HS_PAGE_NO_SPAN (HS_PAGE_IS_ANSWER - 1)

struct hs_page_table {
    uint32_t root[HS_PAGE_ROOTS];
    uint32_t *middles; /* owned pages: n_middles tables of HS_PAGE_STEP */
    uint32_t *leaves;  /* owned pages: n_leaves tables of HS_PAGE_STEP answers */
    size_t n_middles, n_leaves;
};

/* Over spans in ascending order of `begin`, fewer than HS_PAGE_NO_SPAN. Fails with HS_LIMIT. */
hs_status hs_page_table_new(const struct hs_heap_span *spans, size_t n_spans,
                            struct hs_page_table **ret, struct hs_error *err);
void hs_page_table_free(struct hs_page_table *table);

static inline uint64_t hs_page_table_bytes(const struct hs_page_table *table)
{
    return sizeof *table + (table->n_middles + table->n_leaves) * HS_PAGE_STEP * sizeof(uint32_t);
}

/* The last span that begins at or before the end of the page of `address`, or HS_PAGE_NO_SPAN.
 * The address is below 2^47. */
static inline uint32_t hs_page_table_at(const struct hs_page_table *table, hs_addr address)
{
    uint32_t entry = table->root[address >> HS_PAGE_MIDDLE_BITS];
    if (entry & HS_PAGE_IS_ANSWER)
        return entry & ~HS_PAGE_IS_ANSWER;
    entry =
        table->middles[entry * HS_PAGE_STEP + (address >> HS_PAGE_LEAF_BITS & (HS_PAGE_STEP - 1))];
    if (entry & HS_PAGE_IS_ANSWER)
        return entry & ~HS_PAGE_IS_ANSWER;
    return table->leaves[entry * HS_PAGE_STEP + (address >> HS_PAGE_BITS & (HS_PAGE_STEP - 1))];
}

#endif
