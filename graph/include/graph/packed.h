/* One variable-sized cell per node, packed into pages that are decoded one by one: the form of an
 * index's sections on disk.
 *
 *   | page | page | long rows of a page | page | ... | table |
 *   page:   cells of HS_PACKED_PAGE nodes, varints
 *   table:  per page u64: where it begins, 40 bits, and its bytes, 24 bits | u64 XXH3 of them
 *
 * What has cells need not be nodes, nor what rows hold: n_nodes cells, of values below n_values,
 * which is n_nodes unless it is set to something else once opened or made.
 *
 * A cell that is a row of node numbers: varint n, then the first as zigzag(value - node), then the
 * gaps - 1 as varints (ascending, no duplicates): 2 to 3 bytes per edge of a heap. A row of more
 * than HS_PACKED_LONG values is kept out of its page, so that no page is large: its cell is n and
 * where its blocks begin, which stand before the page and after the one before.
 *
 *   block:  u64 XXH3 | u32 bytes | varints of HS_PACKED_LONG values, the last block of the rest
 *
 * The bytes are hostile when they come from a file: a page's or block's hash is verified when it is
 * used, every number is checked against the number of nodes, no two pages share bytes. */
#ifndef HS_GRAPH_PACKED_H
#define HS_GRAPH_PACKED_H

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "graph/sweep.h"

#define HS_PACKED_PAGE 128
#define HS_PACKED_LONG 1024
#define HS_PACKED_TABLE_ENTRY 16 /* bytes per page */

/* ---- writing: nodes in ascending order, none left out ---- */

struct hs_packed_sink {
    hs_status (*write)(void *context, const void *bytes, size_t n_bytes, struct hs_error *err);
    void *context;
};

/* Resident: the table, hs_packed_table_bytes, and at most 2 MiB. */
struct hs_packed_writer {
    struct hs_packed_sink sink;
    uint64_t n_nodes;
    uint64_t n_values;     /* rows hold numbers below it */
    uint64_t next;         /* node whose cell comes next; of a row begun: its own */
    uint64_t n_bytes;      /* written to the sink */
    struct hs_buffer page; /* being filled */
    struct hs_buffer block;
    uint64_t *table;   /* owned pages */
    uint64_t row_n;    /* values of the row that is being written */
    uint64_t row_left; /* of them still to come */
    hs_node last;      /* value before */
    uint32_t n_block;  /* values in the block */
};

hs_status hs_packed_writer_init(const struct hs_packed_sink *sink, uint64_t n_nodes,
                                struct hs_packed_writer *ret, struct hs_error *err);
void hs_packed_writer_fini(struct hs_packed_writer *writer);
uint64_t hs_packed_table_bytes(uint64_t n_nodes);
/* Writes a row, whole or begun and then continued (long ones): n values in all. */
hs_status hs_packed_row(struct hs_packed_writer *writer, const hs_node *values, uint64_t n,
                        struct hs_error *err);
hs_status hs_packed_row_begin(struct hs_packed_writer *writer, uint64_t n, struct hs_error *err);
hs_status hs_packed_row_more(struct hs_packed_writer *writer, const hs_node *values, uint64_t n,
                             struct hs_error *err);
/* Writes the rows of a piece; parts of a long row one after the other. */
hs_status hs_packed_piece(struct hs_packed_writer *writer, const struct hs_piece *piece,
                          struct hs_error *err);
/* Writes a cell of at most HS_PACKED_NUMBERS numbers. */
#define HS_PACKED_NUMBERS 8
hs_status hs_packed_cell(struct hs_packed_writer *writer, const uint64_t *numbers, unsigned n,
                         struct hs_error *err);
/* Writes cells of one number below 128 each, of the next n nodes. */
hs_status hs_packed_small_cells(struct hs_packed_writer *writer, const uint8_t *numbers, uint64_t n,
                                struct hs_error *err);
/* Writes the table. All n_nodes cells must be there. */
hs_status hs_packed_finish(struct hs_packed_writer *writer, struct hs_error *err);

/* ---- reading: not thread-safe, a place is remembered ---- */

/* Reads the next number of a cell: most have one byte. */
static inline uint64_t hs_packed_number(struct hs_cursor *cursor)
{
    if (cursor->at < cursor->n_bytes && cursor->bytes[cursor->at] < 0x80 && !cursor->failed)
        return cursor->bytes[cursor->at++];
    return hs_cursor_varint(cursor);
}

/* The bit that only the last byte of a number leaves clear. */
#define HS_PACKED_LAST_BYTES 0x8080808080808080U

/* Returns the bytes that the first n >= 1 numbers of a word of eight bytes take; 0 when it has
 * fewer. */
static inline unsigned hs_packed_numbers_bytes(uint64_t word, unsigned n)
{
    uint64_t last = ~word & HS_PACKED_LAST_BYTES;
    for (; n > 1; n--)
        last &= last - 1;
    return last == 0 ? 0 : (unsigned)__builtin_ctzll(last) / 8 + 1;
}

/* Steps over n cells. */
typedef void hs_packed_skip(struct hs_cursor *cursor, uint64_t n);
hs_packed_skip hs_packed_skip_row;
hs_packed_skip hs_packed_skip_number; /* cells of one number */

/* Maps of which no more is resident at a time, by what is looked at here and there, than all of
 * them are allowed together. */
struct hs_packed_pool {
    struct hs_budget_cache near; /* of all since they were given back: in stretches of 64 KiB */
    struct hs_packed *members;   /* borrowed; those that have this pool */
    size_t n_members;
    uint64_t most_bytes;
    struct hs_budget *budget; /* borrowed; nor more than is left of it. NULL: no limit */
};

/* Begins the pool, once it stands where it stays, its members are its own, and the budget is there:
 * gives back what of them is resident, and the budget lets go of what is near when it needs the
 * room, until the pool ends. */
void hs_packed_pool_begin(struct hs_packed_pool *pool);
void hs_packed_pool_end(struct hs_packed_pool *pool);

struct hs_packed {
    const uint8_t *bytes; /* borrowed */
    uint64_t n_bytes;     /* of pages and blocks, without the table */
    uint64_t n_nodes;
    uint64_t n_values; /* rows hold numbers below it */
    hs_packed_skip *skip;
    uint64_t *is_verified;       /* owned: one bit per page */
    hs_node near_node;           /* the cell found last, */
    struct hs_cursor near;       /* in its page: the next one is found from there */
    uint64_t near_before;        /* where the page before ends */
    bool is_mapped;              /* of a file's map; set by whoever opens it */
    bool is_damaged;             /* a row that was read was not in order */
    uint64_t released;           /* bytes of the map given back */
    struct hs_packed_pool *pool; /* borrowed; NULL: as much is resident as likes to be */
    uint64_t *is_near;           /* owned: a bit for each stretch that the pool has counted */
};

/* Opens packed cells. HS_FORMAT when the bytes are too few for their table. O(1): the table is
 * checked as it is used. Resident: one bit per page that was used, and one for each 64 KiB. */
hs_status hs_packed_open(const void *bytes, uint64_t n_bytes, uint64_t n_nodes,
                         hs_packed_skip *skip, struct hs_packed *ret, struct hs_error *err);
void hs_packed_close(struct hs_packed *packed);
/* Returns the bytes of all of it, its table included. */
uint64_t hs_packed_map_bytes(const struct hs_packed *packed);

/* Finds the cell of a node < n_nodes as a cursor that ends where its page does. Steps over at most
 * 127 cells; none when the nodes ascend one by one. HS_FORMAT when the page is damaged. */
hs_status hs_packed_cell_of(struct hs_packed *packed, hs_node node, struct hs_cursor *ret,
                            struct hs_error *err);

/* Returns the offset in its page of the cell that was found last. */
static inline uint64_t hs_packed_place(const struct hs_packed *packed)
{
    return packed->near.at;
}

/* A zeroed row is empty and not damaged. */
struct hs_row {
    struct hs_packed *packed; /* borrowed */
    struct hs_cursor cursor;
    hs_node node, last;
    uint64_t n, left; /* values in all, at most n_values; still to come */
    uint64_t n_values;
    uint64_t block, blocks_end; /* of a long row: where its next block begins, where all end */
    bool is_long;
};
hs_status hs_packed_row_of(struct hs_packed *packed, hs_node node, struct hs_row *ret,
                           struct hs_error *err);
/* Finds the row of a node at the place that hs_packed_place gave for its cell, without stepping
 * over others; the cell found last stays that. HS_FORMAT when it cannot be there. */
hs_status hs_packed_row_in(struct hs_packed *packed, hs_node node, uint64_t place,
                           struct hs_row *ret, struct hs_error *err);
/* Reads the next value; false at the end and at damage (which hs_row_check tells apart, and
 * is_damaged of the packed remembers). */
bool hs_row_next(struct hs_row *row, hs_node *ret);
hs_status hs_row_check(const struct hs_row *row, struct hs_error *err);

/* Releases what lies before the cell found last; called now and then by whoever reads all cells of
 * a file. */
void hs_packed_release(struct hs_packed *packed);

/* Verifies the hashes of everything, without decoding it: any damage by accident is found. A map is
 * given back behind it. */
hs_status hs_packed_verify(struct hs_packed *packed, struct hs_error *err);

/* All rows as a sweep. Both are borrowed while it is in use. A map is given back behind it. */
struct hs_packed_rows {
    struct hs_packed *packed;
    uint64_t n_tree, max_edges;
    const struct hs_progress *progress;
    const char *phase;
};
struct hs_sweep hs_sweep_of_packed(const struct hs_packed_rows *rows);

#endif
