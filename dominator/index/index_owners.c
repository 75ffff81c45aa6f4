#include "index_owners.h"

#include "index_cells.h"

static const enum index_section sections[] = {INDEX_OWNERS, INDEX_SET_ROOTS, INDEX_SETS};

bool index_owners_wanted(const struct index_writer *writer)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (!index_write_has(writer, sections[i]))
            return true;
    return false;
}

/* ---- OWNERS ---- */

struct owner_cells {
    struct index_writer *writer;
    struct index_reader idoms;
    struct hs_cursor idom; /* in a page of it: at the next node's cell */
    hs_node next;
};

/* Reads the tier of a cell; a node that no root reaches has none. */
static hs_status cell_tier(struct owner_cells *cells, unsigned *ret, struct hs_error *err)
{
    hs_node node = cells->next++;

    if (node % HS_PACKED_PAGE == 0) {
        HS_TRY(hs_packed_cell_of(&cells->idoms.packed, node, &cells->idom, err));
        hs_packed_release(&cells->idoms.packed);
    }
    bool is_reached = hs_packed_number(&cells->idom) != INDEX_IDOM_NONE || node == 0;
    const struct hs_tiers *tiers = cells->writer->tiers;
    unsigned tier = tiers == NULL ? HS_TIER_FIRM : hs_tiers_of(tiers, node);
    *ret = is_reached ? tier : HS_TIER_NONE;
    return HS_OK;
}

/* Puts the cells up to `end`: most nodes are no top units. */
static hs_status cells_put_until(struct owner_cells *cells, hs_node end, struct hs_error *err)
{
    uint8_t tiers[HS_PACKED_PAGE];

    while (cells->next < end) {
        hs_node n = end - cells->next < sizeof tiers ? end - cells->next : sizeof tiers;
        for (hs_node i = 0; i < n; i++) {
            unsigned tier;
            HS_TRY(cell_tier(cells, &tier, err));
            tiers[i] = (uint8_t)tier;
        }
        HS_TRY(hs_packed_small_cells(&cells->writer->packed, tiers, n, err));
    }
    return HS_OK;
}

static hs_status cells_put_top(void *context, hs_node top, uint32_t set, struct hs_error *err)
{
    struct owner_cells *cells = context;
    unsigned tier;

    HS_TRY(cells_put_until(cells, top, err));
    HS_TRY(cell_tier(cells, &tier, err));
    return index_write_owner(cells->writer, top, tier, set, err);
}

static hs_status cells_put(struct owner_cells *cells, const struct hs_owners *owners,
                           struct hs_error *err)
{
    const struct hs_owner_top_sink sink = {cells_put_top, cells};

    HS_TRY(hs_owners_tops(owners, &sink, err));
    HS_TRY(cells_put_until(cells, cells->writer->header.n_nodes, err));
    return cells->idom.failed ? hs_fail(err, HS_FORMAT, "the index is damaged: a page ends early")
                              : HS_OK;
}

static hs_status put_owners(struct index_writer *writer, const struct hs_owners *owners,
                            struct hs_error *err)
{
    struct owner_cells cells = {.writer = writer};
    struct index_header *header = &writer->header;

    header->n_sets = hs_owners_n_sets(owners);
    header->other_sets = hs_owners_others(owners, &header->n_other_sets);
    HS_TRY(index_write_begin(writer, INDEX_OWNERS, err));
    HS_TRY(index_reader_open(writer, INDEX_IDOM, hs_packed_skip_number, &cells.idoms, err));
    hs_status status = cells_put(&cells, owners, err);
    index_reader_close(&cells.idoms);
    return status == HS_OK ? index_write_end(writer, err) : status;
}

/* ---- SET_ROOTS and SETS ---- */

static hs_status list_begin(void *context, uint64_t n, struct hs_error *err)
{
    struct index_writer *writer = context;
    return writer->section == INDEX_SET_ROOTS ? hs_packed_row_begin(&writer->packed, n, err)
                                              : HS_OK;
}

static hs_status list_more(void *context, const hs_node *roots, uint64_t n, struct hs_error *err)
{
    struct index_writer *writer = context;
    return writer->section == INDEX_SET_ROOTS ? hs_packed_row_more(&writer->packed, roots, n, err)
                                              : HS_OK;
}

/* The lists are made in any case: the sizes of sets are known only then. */
static hs_status put_set_roots(struct index_writer *writer, struct hs_owners *owners,
                               struct hs_error *err)
{
    const struct hs_owner_list_sink sink = {list_begin, list_more, writer};

    if (index_write_has(writer, INDEX_SET_ROOTS))
        return hs_owners_lists(owners, &sink, err);
    HS_TRY(index_write_begin(writer, INDEX_SET_ROOTS, err));
    HS_TRY(hs_packed_row(&writer->packed, NULL, 0, err));
    HS_TRY(hs_owners_lists(owners, &sink, err));
    return index_write_end(writer, err);
}

static hs_status put_sets(struct index_writer *writer, const struct hs_owners *owners,
                          struct hs_error *err)
{
    const struct hs_owner_set none = {0};

    HS_TRY(index_write_begin(writer, INDEX_SETS, err));
    HS_TRY(index_write_set(writer, &none, err));
    for (uint32_t set = 1; set <= hs_owners_n_sets(owners); set++) {
        const struct hs_owner_set found = hs_owners_set(owners, set);
        HS_TRY(index_write_set(writer, &found, err));
    }
    return index_write_end(writer, err);
}

static hs_status owners_take(void *context, struct hs_owners *owners, struct hs_error *err)
{
    struct index_writer *writer = context;

    if (!index_write_has(writer, INDEX_OWNERS))
        HS_TRY(put_owners(writer, owners, err));
    else if (writer->header.n_sets != hs_owners_n_sets(owners))
        return hs_fail(err, HS_FORMAT, "the index has other sets than the snapshot");
    if (!index_write_has(writer, INDEX_SETS)) {
        HS_TRY(put_set_roots(writer, owners, err));
        HS_TRY(put_sets(writer, owners, err));
    }
    return HS_OK;
}

/* ---- the roots ---- */

/* Listings call variables roots, and leaves that are not below one. */
static bool is_root(const struct hs_snap *snap, hs_node node)
{
    const struct hs_root *root = hs_snap_root(snap, node);

    if (root->level == HS_LEVEL_LEAF)
        return hs_snap_root(snap, root->parent)->level != HS_LEVEL_VARIABLE;
    return root->level == HS_LEVEL_VARIABLE;
}

hs_status index_owners_init(struct index_writer *writer, const struct hs_tiers *tiers,
                            struct hs_budget *budget, struct index_owners *ret,
                            struct hs_error *err)
{
    uint64_t n_tree = writer->header.n_tree;

    *ret = (struct index_owners){.budget = budget};
    HS_TRY(hs_budget_reserve(budget, n_tree / 8 + 8, "the roots", err));
    hs_status status = hs_bitmap_init(&ret->roots.is_root, n_tree, err);
    if (status != HS_OK) {
        hs_budget_release(budget, n_tree / 8 + 8);
        return status;
    }
    for (hs_node node = 1; node < n_tree; node++)
        if (is_root(writer->snap, node))
            hs_bitmap_set(&ret->roots.is_root, node);
    writer->tiers = tiers;
    ret->roots.seed = writer->header.snap_checksum;
    ret->request = (struct hs_owner_request){
        .roots = &ret->roots,
        .max_listed = index_max_listed(writer->header.n_nodes),
        .sink_bytes = index_write_bytes(writer, INDEX_OWNERS),
        .take = owners_take,
        .context = writer,
    };
    return HS_OK;
}

void index_owners_fini(struct index_owners *owners)
{
    if (owners->roots.is_root.words != NULL)
        hs_budget_release(owners->budget, owners->roots.is_root.n_bits / 8 + 8);
    hs_bitmap_fini(&owners->roots.is_root);
}
