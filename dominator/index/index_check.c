/* Every page and number of an index. */
#include "index_cells.h"
#include "index_private.h"

#define TELL_NODES ((uint64_t)1 << 18)

struct check {
    struct index_file *file;
    const struct hs_progress *progress;
    uint64_t n_idoms, n_dominated, n_predecessors;
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
    if (node % HS_PACKED_PAGE == 0) {
        hs_packed_release(&packed[INDEX_RETAINED]);
        hs_packed_release(&packed[INDEX_IDOM]);
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
    for (hs_node node = 0; node < n_nodes; node++) {
        if (node % TELL_NODES == 0)
            HS_TRY(hs_progress_tell(check->progress, "checking the index", node, n_nodes, err));
        HS_TRY(check_node(check, node, err));
    }
    if (check->n_dominated != check->n_idoms ||
        check->n_predecessors != check->file->header->n_predecessors)
        return check_damaged(err, "rows do not add up");
    return HS_OK;
}

hs_status hs_index_check_all(struct hs_index *index, const struct hs_progress *progress,
                             struct hs_error *err)
{
    struct check check = {.file = &index->file, .progress = progress};
    hs_status status = check_all(&check, err);

    if (status != HS_FORMAT)
        return status;
    index->is_damaged = true;
    return hs_hint(err, "compute it again: --rebuild");
}
