/* The kinds that blocks are grouped by. */
#include <string.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "graph/pages.h"
#include "group_tree.h"
#include "type_rank.h"

static hs_status name_kinds(struct hs_group_kinds *kinds, struct hs_error *err)
{
    const struct hs_view *view = kinds->view;
    size_t n_types = view->totals->n_types;
    HS_TRY(HS_ALLOC(&kinds->of_type, n_types, err));
    HS_TRY(HS_ALLOC(&kinds->types, n_types + HS_FIRST_TYPED, err));
    HS_TRY(HS_ALLOC(&kinds->ranks, n_types + HS_FIRST_TYPED, err));
    HS_TRY(HS_ALLOC(&kinds->are_parts, n_types + HS_FIRST_TYPED, err));
    kinds->types[HS_KIND_TREE] = kinds->types[HS_KIND_UNTYPED] = HS_UNTYPED;
    kinds->n_kinds = HS_FIRST_TYPED;
    for (uint32_t type = 0; type < n_types; type++) {
        const struct hs_type *of = hs_snap_type(view->snap, type);
        const char *name = hs_view_string(view, of->name);
        bool is_known = of->form != HS_FORM_BYTES || strstr(name, HS_TYPE_PERHAPS) != NULL;
        bool has_room = kinds->n_kinds < UINT16_MAX;
        kinds->of_type[type] = HS_KIND_UNTYPED;
        if (is_known && has_room) {
            kinds->types[kinds->n_kinds] = type;
            kinds->ranks[kinds->n_kinds] = (uint8_t)hs_type_rank(name, of->form);
            kinds->are_parts[kinds->n_kinds] = hs_type_is_part(name, of->form);
            kinds->of_type[type] = (uint16_t)kinds->n_kinds++;
        }
    }
    kinds->width = kinds->n_kinds <= UINT8_MAX + 1 ? 1 : 2;
    return HS_OK;
}

static void set_kinds(struct hs_group_kinds *kinds, const struct hs_chunk *chunk)
{
    uint64_t first = chunk->first - kinds->view->n_tree;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint16_t kind = kinds->of_type[chunk->type[i]];
        if (kinds->width == 1)
            ((uint8_t *)kinds->of_block)[first + i] = (uint8_t)kind;
        else
            ((uint16_t *)kinds->of_block)[first + i] = kind;
    }
}

static hs_status load_kinds(struct hs_group_kinds *kinds, struct hs_error *err)
{
    struct hs_view *view = kinds->view;
    uint64_t n = view->totals->n_blocks;
    HS_TRY(name_kinds(kinds, err));
    HS_TRY(
        hs_budget_reserve(view->session.budget, n * kinds->width, "the types of all blocks", err));
    kinds->reserved_bytes = n * kinds->width;
    HS_TRY(hs_dense_pages(n, kinds->width, &kinds->of_block, err));
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, "reading types");
    while (hs_chunk_pass_next(&pass, err))
        set_kinds(kinds, &pass.chunk);
    return hs_chunk_pass_end(&pass);
}

hs_status hs_group_kinds_init(struct hs_view *view, struct hs_group_kinds *ret,
                              struct hs_error *err)
{
    struct hs_group_kinds kinds = {.view = view, .order.view = view};
    hs_status status = load_kinds(&kinds, err);
    if (status == HS_OK)
        *ret = kinds;
    else
        hs_group_kinds_fini(&kinds);
    return status;
}

hs_status hs_group_kinds_read_order(struct hs_group_kinds *kinds, uint64_t words,
                                    struct hs_error *err)
{
    enum { LEAST_PART = 16 };
    if (words < hs_index_reached_total(kinds->view->index).words / LEAST_PART)
        return HS_OK;
    return hs_node_order_init(kinds->view, /* with_tiers= */ true, &kinds->order, err);
}

void hs_group_kinds_fini(struct hs_group_kinds *kinds)
{
    if (kinds->view != NULL) {
        hs_pages_free(kinds->of_block, kinds->view->totals->n_blocks, kinds->width);
        hs_budget_release(kinds->view->session.budget, kinds->reserved_bytes);
    }
    hs_node_order_fini(&kinds->order);
    hs_free(kinds->of_type);
    hs_free(kinds->types);
    hs_free(kinds->ranks);
    hs_free(kinds->are_parts);
    *kinds = (struct hs_group_kinds){0};
}
