/* Blocks whose words are not at hand, and what waits until they are: the types that pointers said
 * of them. A set of types is a chain of links, each of which there is once; blocks share them. */
#include "base/alloc.h"
#include "flow_private.h"

/* The most types that wait for one block. */
enum { WAIT_TYPES = 16 };

static hs_status wait_link(struct flow *f, const struct flow_tentative *wanted, hs_ntype *ret,
                           struct hs_error *err)
{
    const struct flow_tentative *links = f->tentative;
    uint64_t hash = hs_hash_pair((uint64_t)wanted->had << 32 | wanted->pointee, wanted->rest);
    uint32_t at = HS_TABLE_FIND(&f->tentative_of, hash, i,
                                links[i].had == wanted->had && links[i].rest == wanted->rest &&
                                    links[i].pointee == wanted->pointee);

    if (at == HS_NO_NUMBER) {
        if (f->n_tentative >= HS_FLOW_IS_TENTATIVE / 2)
            return hs_fail(err, HS_LIMIT, "more types of blocks than a snapshot holds");
        HS_TRY(HS_GROW(&f->tentative, &f->tentative_capacity, f->n_tentative + 1, err));
        HS_TRY(hs_table_add(&f->tentative_of, hash, f->n_tentative, err));
        at = (uint32_t)f->n_tentative;
        f->tentative[f->n_tentative++] = *wanted;
    }
    *ret = (hs_ntype)at | HS_FLOW_IS_TENTATIVE;
    return HS_OK;
}

hs_ntype hs_flow_had_(const struct flow *f, uint64_t rank)
{
    hs_ntype type = hs_flow_type(f->result, rank);
    return (type & HS_FLOW_IS_TENTATIVE) == 0 ? type
                                              : f->tentative[type & ~HS_FLOW_IS_TENTATIVE].had;
}

hs_status hs_flow_wait_(struct flow *f, const struct hs_heap_block *block, hs_ctype pointee,
                        bool *ret, struct hs_error *err)
{
    hs_ntype before = hs_flow_type(f->result, block->rank), one = 0;
    bool is_waiting = (before & HS_FLOW_IS_TENTATIVE) != 0;
    struct flow_tentative link = {.pointee = pointee, .had = hs_flow_had_(f, block->rank)};
    unsigned n = 1;

    *ret = true;
    if (is_waiting)
        link.rest = before;
    for (hs_ntype at = link.rest; at != 0; n++) {
        const struct flow_tentative *other = &f->tentative[at & ~HS_FLOW_IS_TENTATIVE];
        if (other->pointee == pointee)
            return HS_OK;
        at = other->rest;
    }
    hs_flow_set_type(f->result, block->rank, link.had);
    hs_status status = hs_flow_judge_(f, block, 0, pointee, &one, err);
    hs_flow_set_type(f->result, block->rank, before);
    if (status != HS_OK || one == 0)
        return status;
    *ret = n <= WAIT_TYPES;
    if (!*ret)
        return HS_OK;
    hs_ntype number = 0;
    HS_TRY(wait_link(f, &link, &number, err));
    hs_flow_set_type(f->result, block->rank, number);
    return is_waiting ? HS_OK : hs_block_queue_push(&f->queue, block, err);
}

hs_status hs_flow_waited_(struct flow *f, const struct hs_heap_block *block, struct hs_error *err)
{
    hs_ntype at = hs_flow_type(f->result, block->rank);

    if ((at & HS_FLOW_IS_TENTATIVE) == 0)
        return HS_OK;
    hs_flow_set_type(f->result, block->rank, hs_flow_had_(f, block->rank));
    while (at != 0) {
        const struct flow_tentative link = f->tentative[at & ~HS_FLOW_IS_TENTATIVE];
        HS_TRY(hs_flow_look_(f, block, 0, link.pointee, err));
        at = link.rest;
    }
    return HS_OK;
}
