/* Allocators over blocks of malloc's, by rules: their cells are blocks, and the slabs are not. */
#include "base/alloc.h"
#include "carve.h"
#include "cells/slabs.h"
#include "heaps/rule_applies.h"

static void cells_close(void *state)
{
    struct cells *cells = state;

    if (cells == NULL)
        return;
    hs_bitmap_fini(&cells->is_led_to);
    hs_free(cells->slabs);
    hs_free(cells);
}

static hs_status list_layouts(const struct hs_process_copy *process, struct cells *ret,
                              struct hs_error *err)
{
    const struct hs_rules *rules = process->rules;

    for (size_t i = 0; i < rules->of[HS_RULE_CELLS].n && ret->n_layouts < CELLS_MOST_LAYOUTS; i++) {
        const struct hs_rule *rule = &rules->rules[rules->of[HS_RULE_CELLS].rules[i]];
        if (!hs_rule_applies(process, rule))
            continue;
        struct cells_layout *layout = &ret->layouts[ret->n_layouts++];
        layout->rule = &rule->cells;
        HS_TRY(hs_strtab_add(process->findings->strings, rules->patterns[rule->first_pattern].text,
                             &layout->name, err));
    }
    return HS_OK;
}

static hs_status cells_open(const struct hs_process_copy *process, void **ret_state,
                            struct hs_error *err)
{
    struct cells found = {.process = process}, *cells;

    if (process->objects == NULL || process->rules == NULL)
        return HS_OK;
    HS_TRY(list_layouts(process, &found, err));
    if (found.n_layouts == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&cells, 1, err));
    *cells = found;
    *ret_state = cells;
    return HS_OK;
}

static const char *cells_version(const void *state)
{
    (void)state;
    return "";
}

/* ---- spans */

static hs_addr slab_end(const struct cells *cells, const struct cells_slab *slab)
{
    return slab->begin + cells->layouts[slab->layout].rule->at[HS_CELLS_BLOCK];
}

/* Returns the span of a slab; where all of a cell is the program's, of regions. */
static struct hs_heap_span span_of(const struct cells *cells, const struct cells_slab *slab)
{
    const struct hs_rule_cells *rule = cells->layouts[slab->layout].rule;
    struct hs_heap_span span = {.begin = slab->begin + hs_cells_header(rule),
                                .end = slab_end(cells, slab),
                                .form = HS_SPAN_MARKED,
                                .tag = slab->layout,
                                .owner = HS_OWNER_cells};

    if (!hs_cells_has(rule, HS_CELLS_CELL) || hs_cells_header(rule) != 0)
        return span;
    span.form = HS_SPAN_UNIFORM;
    span.unit_bytes = rule->at[HS_CELLS_CELL];
    span.end -= (span.end - span.begin) % span.unit_bytes;
    return span;
}

static hs_status cells_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                 struct hs_error *err)
{
    struct cells *cells = state;

    HS_TRY(hs_cells_find(cells, map, err));
    for (size_t i = 0; i < cells->n_slabs; i++) {
        const struct hs_heap_span span = span_of(cells, &cells->slabs[i]);
        HS_TRY(hs_heap_map_add(map, &span, err));
        HS_TRY(hs_ledger_claim(ledger, CELLS_OWNER, HS_MEMORY_INTERNAL, cells->slabs[i].begin,
                               slab_end(cells, &cells->slabs[i]), 0, err));
    }
    return HS_OK;
}

/* ---- marking */

/* Returns where what the program asked for ends, in a cell whose memory ends at `end`. */
static hs_addr used_end(const struct hs_rule_cells *rule, const uint8_t *cell, hs_addr begin,
                        hs_addr end)
{
    enum { WORD = 8 };

    if (!hs_cells_has(rule, HS_CELLS_SIZE))
        return end;
    uint64_t asked = hs_load_u64(cell + rule->at[HS_CELLS_SIZE]);
    if (asked == 0 || asked > end - begin)
        return end;
    return begin + (asked + WORD - 1) / WORD * WORD;
}

static hs_status mark_slab(const struct cells *cells, const struct cells_slab *slab,
                           struct hs_heap_map *map, struct hs_ledger *ledger, uint64_t *n_free,
                           struct hs_error *err)
{
    const struct hs_rule_cells *rule = cells->layouts[slab->layout].rule;
    const struct hs_heap_span expected = span_of(cells, slab);
    const uint32_t header = hs_cells_header(rule);
    struct cells_cell cell;
    bool was_free = false; /* of those that say their size a free one is not known to end */
    uint32_t at = 0;

    if (!hs_carve_is_placed(map, &expected))
        return HS_OK; /* overlaps others, which is told */
    HS_TRY(hs_carve_take_over(map, ledger, cells->process->findings->strings, HS_OWNER_cells,
                              slab->begin, slab_end(cells, slab), err));
    while (hs_cells_next(cells, slab, &at, &cell)) {
        hs_addr begin = slab->begin + cell.at + header;
        hs_addr end = begin - header + cell.n_bytes;
        bool is_free = hs_cells_is_free(cells, slab, &cell);
        if (!is_free) {
            end = used_end(rule, slab->bytes + cell.at, begin, end);
            (void)(expected.form == HS_SPAN_UNIFORM ? hs_heap_map_set(map, begin)
                                                    : hs_heap_map_set_marked(map, begin, end));
        }
        *n_free += is_free && !was_free;
        was_free = is_free && hs_cells_has(rule, HS_CELLS_CLASS);
        HS_TRY(hs_ledger_move(ledger, CELLS_OWNER, HS_MEMORY_INTERNAL,
                              is_free ? HS_MEMORY_FREE : HS_MEMORY_LIVE, begin, end, 0, err));
    }
    return HS_OK;
}

static hs_status cells_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                            struct hs_error *err)
{
    const struct cells *cells = state;
    const struct hs_strtab *strings = cells->process->findings->strings;
    uint64_t n_free = 0;

    for (size_t i = 0; i < cells->n_slabs; i++)
        HS_TRY(mark_slab(cells, &cells->slabs[i], map, ledger, &n_free, err));
    HS_TRY(hs_ledger_set_blocks(ledger, CELLS_OWNER, HS_MEMORY_FREE, n_free, err));
    for (uint32_t i = 0; i < cells->n_layouts; i++) {
        const struct cells_layout *layout = &cells->layouts[i];
        if (layout->n_slabs == 0)
            continue;
        HS_TRY(hs_findings_note(
            cells->process->findings, false, err,
            "cells: %llu of %llu blocks of %u bytes are slabs of %.64s",
            (unsigned long long)layout->n_slabs, (unsigned long long)layout->n_found,
            layout->rule->at[HS_CELLS_BLOCK], hs_strtab_get(strings, layout->name)));
    }
    return HS_OK;
}

/* Names the cells that are all of one size, and so one thing. */
static hs_str cells_pool_name(const void *state, uint32_t tag)
{
    const struct cells *cells = state;

    if (tag >= cells->n_layouts || !hs_cells_has(cells->layouts[tag].rule, HS_CELLS_CELL))
        return 0;
    return cells->layouts[tag].name;
}

const struct hs_allocator hs_allocator_cells = {
    .name = CELLS_OWNER,
    .open = cells_open,
    .close = cells_close,
    .version = cells_version,
    .add_spans = cells_add_spans,
    .mark = cells_mark,
    .pool_name = cells_pool_name,
};
