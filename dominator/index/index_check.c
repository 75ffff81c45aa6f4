/* The check of every page and number of an index. */
#include "base/alloc.h"
#include "index_cells.h"
#include "index_private.h"

#define TELL_NODES ((uint64_t)1 << 18)

struct check {
    struct index_file *file;
    const struct hs_progress *progress;
    uint64_t n_idoms, n_dominated, n_predecessors;
    uint64_t n_listed;     /* roots of all sets */
    uint64_t *n_tops;      /* owned: by set, 0 for those that have no number */
    struct hs_sizes *sums; /* owned: alike, of what they retain */
};

static hs_status check_damaged(struct hs_error *err, const char *what)
{
    return hs_fail(err, HS_FORMAT, "the index is damaged: %s", what);
}

static hs_status count_rows(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    uint64_t *n = context;
    (void)err;
    *n += piece->begin[piece->n];
    return HS_OK;
}

static hs_status check_rows(struct check *check, enum index_section section, uint64_t most,
                            uint64_t *ret_n, struct hs_error *err)
{
    const struct hs_packed_rows rows = {
        .packed = &check->file->packed[section],
        .n_tree = check->file->header->n_tree,
        .max_edges = most,
        .progress = check->progress,
        .phase = "checking the index",
    };
    const struct hs_piece_sink sink = {count_rows, ret_n};
    struct hs_sweep sweep = hs_sweep_of_packed(&rows);
    return sweep.run(sweep.context, &sink, err);
}

/* ---- owners ---- */

/* Checks that a node has a tier if it is reached, and that what has an owner set hangs directly
 * below the root tree; adds it to the sums of its set. */
static hs_status check_owner(struct check *check, hs_node node, hs_node idom,
                             const struct hs_sizes *sizes, struct hs_error *err)
{
    const struct index_header *header = check->file->header;
    unsigned tier;
    uint32_t set;

    HS_TRY(index_cells_owner(&check->file->packed[INDEX_OWNERS], header->n_sets, node, &tier, &set,
                             err));
    if ((tier == HS_TIER_NONE) != (node != 0 && idom == HS_NO_NODE))
        return check_damaged(err, "a block has a tier and is not reached, or none and is");
    if (set == 0)
        return HS_OK;
    if (node < header->n_tree || idom >= header->n_tree)
        return check_damaged(err, "a set has what is not shared");
    set = set == HS_SET_OTHERS ? 0 : set;
    check->n_tops[set]++;
    hs_sizes_add(&check->sums[set], sizes);
    return HS_OK;
}

static bool sizes_equal(const struct hs_sizes *a, const struct hs_sizes *b)
{
    return a->words == b->words && a->objects == b->objects && a->static_words == b->static_words &&
           a->static_objects == b->static_objects;
}

/* The roots of all sets were read by check_rows. */
static hs_status check_set(struct check *check, uint32_t set, struct hs_error *err)
{
    struct hs_packed *packed = check->file->packed;
    struct hs_owner_set found;
    struct hs_row row;

    HS_TRY(index_cells_set(&packed[INDEX_SETS], set, &found, err));
    HS_TRY(hs_packed_row_of(&packed[INDEX_SET_ROOTS], set, &row, err));
    if (found.n_roots < 2 || (row.n != 0 && row.n != found.n_roots))
        return check_damaged(err, "a set has other roots than it says");
    if (found.n_tops == 0 || found.n_tops != check->n_tops[set] ||
        !sizes_equal(&found.retained, &check->sums[set]))
        return check_damaged(err, "a set is not what its blocks come to");
    return HS_OK;
}

static hs_status check_sets(struct check *check, struct hs_error *err)
{
    const struct index_header *header = check->file->header;

    for (uint32_t set = 1; set <= header->n_sets; set++)
        HS_TRY(check_set(check, set, err));
    if ((header->n_other_sets == 0) != (check->n_tops[0] == 0) ||
        !sizes_equal(&header->other_sets, &check->sums[0]))
        return check_damaged(err, "sets do not add up");
    return HS_OK;
}

static hs_status check_node(struct check *check, hs_node node, struct hs_error *err)
{
    struct hs_packed *packed = check->file->packed;
    struct hs_sizes sizes;
    hs_node idom, only;

    HS_TRY(index_cells_sizes(&packed[INDEX_RETAINED], node, &sizes, err));
    HS_TRY(index_cells_idom(&packed[INDEX_IDOM], &packed[INDEX_PREDECESSORS], node, &idom, err));
    HS_TRY(index_cells_only(&packed[INDEX_PREDECESSORS], node, &only, err));
    if (idom != HS_NO_NODE && only != HS_NO_NODE && idom != only)
        return check_damaged(err, "a block is not dominated by its only predecessor");
    check->n_idoms += idom != HS_NO_NODE;
    HS_TRY(check_owner(check, node, idom, &sizes, err));
    if (node % HS_PACKED_PAGE == 0) {
        hs_packed_release(&packed[INDEX_RETAINED]);
        hs_packed_release(&packed[INDEX_IDOM]);
        hs_packed_release(&packed[INDEX_OWNERS]);
        hs_packed_release(&packed[INDEX_PREDECESSORS]);
    }
    return HS_OK;
}

static hs_status check_all(struct check *check, struct hs_error *err)
{
    uint64_t n_nodes = check->file->header->n_nodes;

    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        HS_TRY(index_file_section_verify(check->file, i, err));
    HS_TRY(check_rows(check, INDEX_PREDECESSORS, check->file->header->n_predecessors,
                      &check->n_predecessors, err));
    HS_TRY(check_rows(check, INDEX_DOMINATED, n_nodes, &check->n_dominated, err));
    HS_TRY(check_rows(check, INDEX_SET_ROOTS, index_max_listed(n_nodes), &check->n_listed, err));
    HS_TRY(HS_PAGES_ALLOC(&check->n_tops, check->file->header->n_sets + 1, err));
    HS_TRY(HS_PAGES_ALLOC(&check->sums, check->file->header->n_sets + 1, err));
    for (hs_node node = 0; node < n_nodes; node++) {
        if (node % TELL_NODES == 0)
            HS_TRY(hs_progress_tell(check->progress, "checking the index", node, n_nodes, err));
        HS_TRY(check_node(check, node, err));
    }
    if (check->n_dominated != check->n_idoms ||
        check->n_predecessors != check->file->header->n_predecessors)
        return check_damaged(err, "rows do not add up");
    return check_sets(check, err);
}

hs_status hs_index_check_all(struct hs_index *index, const struct hs_progress *progress,
                             struct hs_error *err)
{
    struct check check = {.file = &index->file, .progress = progress};
    uint64_t n_sets = index->file.header->n_sets + 1;
    hs_status status = check_all(&check, err);

    hs_pages_free(check.n_tops, n_sets, sizeof *check.n_tops);
    hs_pages_free(check.sums, n_sets, sizeof *check.sums);
    if (status != HS_FORMAT)
        return status;
    index->is_damaged = true;
    return hs_hint(err, "compute it again: --rebuild");
}
