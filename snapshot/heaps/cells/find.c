#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "cells/slabs.h"

enum {
    CHUNK_HEADER = 8, /* the word before a block of glibc's: its size, and three flags */
    CHUNK_FLAGS = 7,
    CHUNK_IS_USED = 1, /* of the chunk before */
    CHUNK_UNIT = 16,
    CHUNK_LEAST = 32,
    MOST_DOUBLED = 16,
    MOST_COUNTED = 1 << 24, /* beyond that it is half of an address */
    ODD_SHARE = 16,         /* of free cells, one in so many may be taken just now */
};

/* ---- cells */

static uint32_t block_bytes_of(const struct cells *cells, uint32_t layout)
{
    return cells->layouts[layout].rule->at[HS_CELLS_BLOCK];
}

/* Returns the bytes of a cell that its magic number says is in use; 0: it does not. */
static uint32_t marked_bytes(const struct hs_rule_cells *rule, const uint8_t *slab, uint32_t at)
{
    const uint8_t *cell = slab + at;
    const bool is_one_size = hs_cells_has(rule, HS_CELLS_CELL);
    uint64_t n_bytes = rule->at[is_one_size ? HS_CELLS_CELL : HS_CELLS_FIRST];

    if ((hs_load_u32(cell + rule->at[HS_CELLS_MAGIC]) & rule->mask) != (rule->magic & rule->mask))
        return 0;
    if (!is_one_size) {
        uint8_t n_doubled = cell[rule->at[HS_CELLS_CLASS]];
        n_bytes <<= n_doubled < MOST_DOUBLED ? n_doubled : MOST_DOUBLED;
    }
    if (at % n_bytes != 0 || at + n_bytes > rule->at[HS_CELLS_BLOCK] ||
        (hs_cells_has(rule, HS_CELLS_SIZE) &&
         hs_load_u64(cell + rule->at[HS_CELLS_SIZE]) > n_bytes - hs_cells_header(rule)))
        return 0;
    return (uint32_t)n_bytes;
}

static bool is_counted_in_use(const struct hs_rule_cells *rule, const uint8_t *cell)
{
    int32_t count = (int32_t)hs_load_u32(cell + rule->at[HS_CELLS_COUNT]);
    return count > 0 && count <= MOST_COUNTED;
}

bool hs_cells_next(const struct cells *cells, const struct cells_slab *slab, uint32_t *at,
                   struct cells_cell *ret)
{
    const struct hs_rule_cells *rule = cells->layouts[slab->layout].rule;
    const bool is_one_size = hs_cells_has(rule, HS_CELLS_CELL);
    const uint32_t least = rule->at[is_one_size ? HS_CELLS_CELL : HS_CELLS_FIRST];

    if (least > rule->at[HS_CELLS_BLOCK] - *at)
        return false;
    uint32_t marked = hs_cells_has(rule, HS_CELLS_MAGIC) ? marked_bytes(rule, slab->bytes, *at) : 0;
    *ret = (struct cells_cell){.at = *at, .n_bytes = marked != 0 ? marked : least};
    ret->is_in_use = hs_cells_has(rule, HS_CELLS_COUNT) ? is_counted_in_use(rule, slab->bytes + *at)
                                                        : marked != 0;
    *at += ret->n_bytes;
    return true;
}

/* Returns where a cell that is not in use leads. */
static hs_addr next_of(const struct cells *cells, const struct cells_slab *slab,
                       const struct cells_cell *cell)
{
    return hs_load_u64(slab->bytes + cell->at +
                       cells->layouts[slab->layout].rule->at[HS_CELLS_NEXT]);
}

/* ---- slabs */

/* Finds the slab in which a cell of the same layout begins at an address; NULL: none. */
static struct cells_slab *slab_at(const struct cells *cells, uint32_t layout, hs_addr at)
{
    const struct hs_rule_cells *rule = cells->layouts[layout].rule;
    const bool is_one_size = hs_cells_has(rule, HS_CELLS_CELL);
    size_t after = HS_FIRST_ABOVE(cells->slabs, cells->n_slabs, begin, at);

    if (after == 0)
        return NULL;
    struct cells_slab *slab = &cells->slabs[after - 1];
    uint64_t offset = at - slab->begin;
    return slab->layout == layout && offset < rule->at[HS_CELLS_BLOCK] &&
                   offset % rule->at[is_one_size ? HS_CELLS_CELL : HS_CELLS_FIRST] == 0
               ? slab
               : NULL;
}

/* Tells whether a block looks like a slab: one of its cells is in use, and of those of one size
 * that are not nearly all lead nowhere or to a cell. (A free one may have been cut into smaller
 * ones, so that of those that say their size only the first one leads on for sure.) */
static bool is_slab(const struct cells *cells, const struct cells_slab *slab)
{
    const bool is_one_size = hs_cells_has(cells->layouts[slab->layout].rule, HS_CELLS_CELL);
    uint32_t at = 0, n_in_use = 0, n_free = 0, n_odd = 0;
    struct cells_cell cell;

    while (hs_cells_next(cells, slab, &at, &cell)) {
        n_in_use += cell.is_in_use;
        if (cell.is_in_use || (!is_one_size && cell.at != 0))
            continue;
        hs_addr next = next_of(cells, slab, &cell);
        n_free++;
        n_odd += next != 0 && slab_at(cells, slab->layout, next) == NULL;
    }
    return n_in_use != 0 && n_odd <= (is_one_size ? n_free / ODD_SHARE + 1 : 0);
}

/* Tells whether a block of which no cell is in use leads to a cell of a slab. */
static bool is_free_slab(const struct cells *cells, const struct cells_slab *slab)
{
    const struct cells_cell first = {0};
    const struct cells_slab *to = slab_at(cells, slab->layout, next_of(cells, slab, &first));
    return to != NULL && to->is_slab && to != slab;
}

static hs_status add_block(struct cells *cells, uint32_t layout, hs_addr begin,
                           struct hs_error *err)
{
    const uint8_t *bytes =
        hs_image_bytes(cells->process->image, begin, block_bytes_of(cells, layout));

    cells->layouts[layout].n_found++;
    if (bytes == NULL)
        return HS_OK;
    HS_TRY(HS_GROW(&cells->slabs, &cells->capacity, cells->n_slabs + 1, err));
    cells->slabs[cells->n_slabs++] =
        (struct cells_slab){.begin = begin, .bytes = bytes, .layout = layout};
    return HS_OK;
}

/* Walks the chunks of a heap of glibc's by their headers: a block in use of the size that malloc
 * gives for a slab may be one. */
static hs_status add_blocks_of(struct cells *cells, const struct hs_heap_span *span,
                               struct hs_error *err)
{
    const struct hs_image *image = cells->process->image;
    uint64_t word, after, chunk;

    for (hs_addr at = span->begin; at < span->end; at += chunk) {
        if (!hs_image_u64(image, at - CHUNK_HEADER, &word))
            return HS_OK;
        chunk = word & ~(uint64_t)CHUNK_FLAGS;
        if (chunk < CHUNK_LEAST || chunk % CHUNK_UNIT != 0 || chunk > span->end - at + CHUNK_UNIT)
            return HS_OK;
        for (uint32_t i = 0; i < cells->n_layouts; i++) {
            uint64_t asked = cells->layouts[i].rule->at[HS_CELLS_BLOCK] + CHUNK_HEADER;
            if (chunk == (asked + CHUNK_UNIT - 1) / CHUNK_UNIT * CHUNK_UNIT &&
                hs_image_u64(image, at + chunk - CHUNK_HEADER, &after) &&
                (after & CHUNK_IS_USED) != 0)
                HS_TRY(add_block(cells, i, at, err));
        }
    }
    return HS_OK;
}

static int compare(const void *left, const void *right)
{
    const struct cells_slab *a = left, *b = right;
    return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1)
                                : (a->layout > b->layout) - (a->layout < b->layout);
}

/* Takes each block once, in order. */
static void sort_slabs(struct cells *cells)
{
    size_t n = 0;

    if (cells->n_slabs > 1)
        qsort(cells->slabs, cells->n_slabs, sizeof *cells->slabs, compare);
    for (size_t i = 0; i < cells->n_slabs; i++)
        if (n == 0 || cells->slabs[n - 1].begin != cells->slabs[i].begin)
            cells->slabs[n++] = cells->slabs[i];
    cells->n_slabs = n;
}

/* Keeps the blocks that are slabs, and numbers their cells of the least size. */
static void keep_slabs(struct cells *cells)
{
    size_t n = 0;

    for (size_t i = 0; i < cells->n_slabs; i++)
        cells->slabs[i].is_slab = is_slab(cells, &cells->slabs[i]);
    for (size_t i = 0; i < cells->n_slabs; i++)
        cells->slabs[i].is_slab |= is_free_slab(cells, &cells->slabs[i]);
    for (size_t i = 0; i < cells->n_slabs; i++) {
        if (!cells->slabs[i].is_slab)
            continue;
        const uint32_t layout = cells->slabs[i].layout;
        const uint32_t *at = cells->layouts[layout].rule->at;
        cells->layouts[layout].n_slabs++;
        cells->slabs[n] = cells->slabs[i];
        cells->slabs[n++].first_cell = cells->n_cells;
        cells->n_cells +=
            at[HS_CELLS_BLOCK] /
            (at[HS_CELLS_CELL] != HS_CELLS_NONE ? at[HS_CELLS_CELL] : at[HS_CELLS_FIRST]);
    }
    cells->n_slabs = n;
}

/* ---- lists of free cells */

/* Marks the counted cells without references that another one of these leads to. */
static void mark_led_to(struct cells *cells)
{
    for (size_t s = 0; s < cells->n_slabs; s++) {
        const struct cells_slab *slab = &cells->slabs[s];
        const struct hs_rule_cells *rule = cells->layouts[slab->layout].rule;
        struct cells_cell cell;
        uint32_t at = 0;
        while (hs_cells_has(rule, HS_CELLS_COUNT) && hs_cells_next(cells, slab, &at, &cell)) {
            hs_addr next = cell.is_in_use ? 0 : next_of(cells, slab, &cell);
            const struct cells_slab *to = slab_at(cells, slab->layout, next);
            if (next != 0 && to != NULL)
                hs_bitmap_set(&cells->is_led_to,
                              to->first_cell + (next - to->begin) / rule->at[HS_CELLS_CELL]);
        }
    }
}

bool hs_cells_is_free(const struct cells *cells, const struct cells_slab *slab,
                      const struct cells_cell *cell)
{
    const struct hs_rule_cells *rule = cells->layouts[slab->layout].rule;

    return !cell->is_in_use &&
           (!hs_cells_has(rule, HS_CELLS_COUNT) ||
            hs_bitmap_get(&cells->is_led_to,
                          slab->first_cell + cell->at / rule->at[HS_CELLS_CELL]));
}

hs_status hs_cells_find(struct cells *cells, const struct hs_heap_map *map, struct hs_error *err)
{
    for (size_t i = 0; i < map->n_spans; i++)
        if (map->spans[i].owner == HS_OWNER_glibc && map->spans[i].form == HS_SPAN_HEADERS)
            HS_TRY(add_blocks_of(cells, &map->spans[i], err));
    sort_slabs(cells);
    keep_slabs(cells);
    if (cells->n_slabs == 0)
        return HS_OK;
    HS_TRY(hs_bitmap_init(&cells->is_led_to, cells->n_cells, err));
    mark_led_to(cells);
    return HS_OK;
}
