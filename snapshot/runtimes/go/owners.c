/* The owner of what several reach: the first of main's goroutine, package variables, other
 * goroutines and timers that reaches an object. References from what another has are non-owning.
 *
 * In a server its main function, a registry of metrics and hundreds of goroutines all lead to the
 * same tables: without an order nobody keeps them. What a package variable leads to at once is
 * that variable's, whoever else leads there. */
#include "pointers.h"
#include "session.h"

void hs_go_owners_fini(struct hs_go_owners *owners)
{
    for (unsigned i = 0; i < HS_GO_N_RANKS; i++)
        hs_bitmap_fini(&owners->of_rank[i]);
    hs_bitmap_fini(&owners->named);
    *owners = (struct hs_go_owners){.named = {0}};
}

enum hs_go_rank hs_go_rank_of(const struct hs_go_session *s, const struct hs_root_leaf *leaf)
{
    if (leaf->root.tier != HS_TIER_FIRM)
        return HS_GO_N_RANKS;
    switch (leaf->root.kind) {
    case HS_ROOT_STACK:
        return leaf->root.address == s->goroutines.main ? HS_GO_RANK_MAIN : HS_GO_RANK_GOROUTINES;
    case HS_ROOT_GLOBAL:
        return HS_GO_RANK_VARIABLES;
    case HS_ROOT_REGISTERED:
        return HS_GO_RANK_TIMERS;
    default:
        return HS_GO_N_RANKS;
    }
}

hs_status hs_go_find_owners(struct hs_go_session *s, struct hs_error *err)
{
    uint64_t n = s->heap.live.n_bits;
    struct hs_go_block block;

    for (unsigned i = 0; i < HS_GO_N_RANKS; i++)
        HS_TRY(hs_bitmap_init(&s->owners.of_rank[i], n, err));
    HS_TRY(hs_bitmap_init(&s->owners.named, n, err));
    for (size_t i = 0; i < s->roots.n_leaves; i++)
        if (hs_go_rank_of(s, &s->roots.leaves[i]) == HS_GO_RANK_VARIABLES &&
            hs_go_resolve(&s->heap, s->roots.leaves[i].target, &block))
            hs_bitmap_set(&s->owners.named, block.slot);
    return HS_OK;
}

static unsigned rank_of_slot(const struct hs_go_owners *owners, uint64_t slot)
{
    unsigned rank = 0;

    while (rank != HS_GO_N_RANKS && !hs_bitmap_get(&owners->of_rank[rank], slot))
        rank++;
    return rank;
}

bool hs_go_owns(const struct hs_go_session *s, uint64_t from, uint64_t to)
{
    unsigned rank = rank_of_slot(&s->owners, to);
    return rank == HS_GO_N_RANKS || hs_bitmap_get(&s->owners.of_rank[rank], from);
}

/* Lowers the roots that lead to what a root of a higher rank has. */
void hs_go_lower_roots(struct hs_go_session *s)
{
    struct hs_go_block block;

    for (size_t i = 0; i < s->roots.n_leaves; i++) {
        struct hs_root_leaf *leaf = &s->roots.leaves[i];
        enum hs_go_rank rank = hs_go_rank_of(s, leaf);
        if (rank != HS_GO_N_RANKS && hs_go_slot(&s->heap, leaf->target, &block) &&
            rank_of_slot(&s->owners, block.slot) < rank)
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_OWNER_RANK);
    }
}
