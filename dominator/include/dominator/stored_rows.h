/* Rows of a graph in a temporary file, for searches of graphs whose edges do not fit in memory.
 *
 *   file:  targets of node 0 | HS_NONE | targets of node 1 | HS_NONE | ...      4 bytes each
 *
 * Made from edges that come in any order: as many nodes at a time as there is memory for, in one
 * sweep over the edges each. Read word by word through a cache of blocks, each row with one random
 * access or two. Resident: 4 bytes per node, and the cache, all from the budget. */
#ifndef HS_DOMINATOR_STORED_ROWS_H
#define HS_DOMINATOR_STORED_ROWS_H

#include "base/spill.h"
#include "graph/graph.h"

#define HS_STORED_BLOCK ((uint32_t)256) /* words of a block of the cache */
/* The least that making rows and reading them take beside 4 bytes per node, each. */
#define HS_STORED_LEAST_BYTES ((uint64_t)128 << 10)

/* The edges between units, given edge by edge as often as they are asked for. */
struct hs_unit_edge_source {
    hs_status (*run)(const void *context, void (*put)(void *sink, uint32_t from, uint32_t to),
                     void *sink, struct hs_error *err);
    const void *context;
};

struct hs_stored_rows {
    struct hs_budget *budget;
    const char *what;
    uint32_t n_nodes;
    uint64_t n_words;
    uint32_t *begin; /* n_nodes + 1: words of the file; for who searches to work on */
    struct hs_spill spill;
    uint32_t *words; /* cache: n_slots blocks, a power of two */
    uint32_t *block; /* by slot: 1 + the block of the file that is there; 0: none */
    uint32_t n_slots;
};

/* Makes the rows. `what` is kept. Every edge must come in every sweep. HS_LIMIT, HS_IO. */
hs_status hs_stored_rows_make(uint32_t n_nodes, const struct hs_unit_edge_source *edges,
                              struct hs_budget *budget, const char *what,
                              struct hs_stored_rows *ret, struct hs_error *err);
void hs_stored_rows_fini(struct hs_stored_rows *rows);

/* Makes the cache: of what is left in the budget, but for `keep_bytes`, or HS_STORED_LEAST_BYTES.
 * To be called before the first word is read; again, when there is more or less room than there
 * was.
 */
hs_status hs_stored_rows_open(struct hs_stored_rows *rows, uint64_t keep_bytes,
                              struct hs_error *err);

/* Frees the cache alone. */
void hs_stored_rows_shut(struct hs_stored_rows *rows);

hs_status hs_stored_rows_load(struct hs_stored_rows *rows, uint32_t block, struct hs_error *err);

/* Reads the word of that number. */
static inline hs_status hs_stored_rows_word(struct hs_stored_rows *rows, uint32_t at, uint32_t *ret,
                                            struct hs_error *err)
{
    uint32_t block = at / HS_STORED_BLOCK, slot = block & (rows->n_slots - 1);

    if (rows->block[slot] != block + 1)
        HS_TRY(hs_stored_rows_load(rows, block, err));
    *ret = rows->words[slot * HS_STORED_BLOCK + at % HS_STORED_BLOCK];
    return HS_OK;
}

#endif
