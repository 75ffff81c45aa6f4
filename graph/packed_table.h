/* The places of the pages of packed cells: what writer and reader agree on beside the public
 * header. */
#ifndef HS_PACKED_TABLE_H
#define HS_PACKED_TABLE_H

#include "graph/packed.h"

#define PACKED_BEGIN_MAX ((uint64_t)1 << 40)
#define PACKED_PAGE_BYTES_MAX ((uint64_t)1 << 24)
#define PACKED_BLOCK_HEAD 12

/*   | begin: 40 bits | n_bytes: 24 bits |   from the lowest bit on */
struct packed_place {
    uint64_t begin, n_bytes;
};

static inline uint64_t packed_place_code(const struct packed_place *place)
{
    return place->begin | place->n_bytes << 40;
}

static inline struct packed_place packed_place_of(uint64_t code)
{
    return (struct packed_place){
        .begin = code & (PACKED_BEGIN_MAX - 1),
        .n_bytes = code >> 40,
    };
}

static inline uint64_t packed_pages(uint64_t n_nodes)
{
    return n_nodes / HS_PACKED_PAGE + (n_nodes % HS_PACKED_PAGE != 0);
}

/* Finds the cursor of a page whose place and hash are in order; *ret_before: where the page before
 * ends, which is where the blocks of its long rows begin. */
hs_status packed_page_of(struct hs_packed *packed, uint64_t page, struct hs_cursor *ret,
                         uint64_t *ret_before, struct hs_error *err);
/* Reads the row at a cursor of the node's page up to its values; the cursor stays. */
hs_status packed_row_at(struct hs_packed *packed, hs_node node, uint64_t before,
                        const struct hs_cursor *cursor, struct hs_row *ret, struct hs_error *err);
/* Gives back the memory before `to` of a map once it is worth it. */
void packed_release(struct hs_packed *packed, uint64_t to);

#endif
