#include "analysis/mapping_holder.h"

#include "analysis/block_name.h"
#include "analysis/chunk_pass.h"
#include "base/alloc.h"

/* The mappings below one root. */
struct held {
    uint64_t words, n_pieces;
    uint64_t largest_words;
    hs_node largest;
};

static void add_piece(struct held *of, hs_node node, uint64_t words)
{
    of->words += words;
    of->n_pieces++;
    if (words > of->largest_words) {
        of->largest_words = words;
        of->largest = node;
    }
}

/* A pass over the mappings, and the piece that was added last. */
struct adding {
    const struct hs_view *view;
    struct held *held; /* by node of the root tree */
    uint64_t all_words;
    hs_addr end;
    hs_node root;
};

/* A large mapping is several blocks. One to which only the mapping itself leads, which is a root
 * of its own then, is whoever's that has the piece before it. */
static void add_one(struct adding *adding, hs_node node, hs_node root, hs_addr address,
                    uint64_t words)
{
    const struct hs_view *view = adding->view;
    bool is_own = root != HS_NO_NODE && hs_snap_root(view->snap, root)->kind == HS_ROOT_UNCLAIMED;

    if (is_own && address == adding->end && adding->root != HS_NO_NODE)
        root = adding->root;
    adding->all_words += words;
    adding->end = address + words * view->facts->word_bytes;
    adding->root = root;
    if (root != HS_NO_NODE)
        add_piece(&adding->held[root], node, words);
}

/* The mappings of one chunk, their roots looked up together. */
static hs_status add_chunk(const struct hs_chunk *chunk, struct adding *adding,
                           struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL, *roots = NULL;
    size_t n = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        n += (chunk->state[i] & HS_BLOCK_MAPPING) != 0;
    if (n == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&nodes, n, err));
    HS_TRY(HS_ALLOC(&roots, n, err));
    n = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        if ((chunk->state[i] & HS_BLOCK_MAPPING) != 0)
            nodes[n++] = chunk->first + i;
    HS_TRY(hs_view_retaining_roots(adding->view, nodes, n, roots, err));
    for (size_t i = 0; i < n; i++) {
        uint64_t at = nodes[i] - chunk->first;
        add_one(adding, nodes[i], roots[i], chunk->address[at], chunk->words[at]);
    }
    return HS_OK;
}

/* Mappings that nothing leads to are roots of their own, which explain nothing. */
static bool is_better(const struct hs_view *view, const struct held *held, hs_node root,
                      hs_node best)
{
    return held[root].words > (best == HS_NO_NODE ? 0 : held[best].words) &&
           hs_snap_root(view->snap, root)->kind != HS_ROOT_UNCLAIMED;
}

static hs_status find(struct hs_view *view, struct held *held, struct hs_mapping_holder *ret,
                      struct hs_error *err)
{
    struct adding adding = {.view = view, .held = held, .root = HS_NO_NODE};
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_SIZES, "looking at mappings");
    while (hs_chunk_pass_next(&pass, err))
        pass.status = add_chunk(&pass.chunk, &adding, err);
    HS_TRY(hs_chunk_pass_end(&pass));
    hs_node best = HS_NO_NODE;
    for (hs_node root = 0; root < view->n_tree; root++)
        if (is_better(view, held, root, best))
            best = root;
    if (best == HS_NO_NODE || held[best].words < adding.all_words / 100 * HS_MAPPING_PERCENT)
        return HS_OK;
    ret->root = best;
    ret->words = held[best].words;
    ret->n_pieces = held[best].n_pieces;
    HS_TRY(hs_name_by_dominators(view, held[best].largest, best, &ret->name, err));
    if (ret->name != NULL && held[best].largest_words < held[best].words / 2)
        hs_fold_indices(ret->name); /* one of an array says nothing of the others */
    return HS_OK;
}

hs_status hs_mapping_holder_find(struct hs_view *view, struct hs_mapping_holder *ret,
                                 struct hs_error *err)
{
    hs_auto_free struct held *held = NULL;
    uint64_t n_bytes = view->n_tree * sizeof *held;
    *ret = (struct hs_mapping_holder){.root = HS_NO_NODE};
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "who has mappings", err));
    hs_status status = HS_ALLOC(&held, view->n_tree, err);
    if (status == HS_OK)
        status = find(view, held, ret, err);
    hs_budget_release(view->session.budget, n_bytes);
    return status;
}

void hs_mapping_holder_fini(struct hs_mapping_holder *holder)
{
    hs_free(holder->name);
    *holder = (struct hs_mapping_holder){.root = HS_NO_NODE};
}
