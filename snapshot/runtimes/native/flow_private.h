/* What flow.c and flow_within.c share. */
#ifndef HS_NATIVE_FLOW_PRIVATE_H
#define HS_NATIVE_FLOW_PRIVATE_H

#include "enclosing.h"
#include "fits.h"
#include "flow.h"
#include "queue.h"

struct flow {
    struct hs_native *native; /* borrowed */
    struct hs_flow *result;   /* borrowed */
    struct hs_block_queue queue;
    struct hs_rtti rtti;
    struct hs_fit fit;
    uint64_t n_far_looks;
    struct flow_tentative {
        uint64_t had_pointee; /* the type that the block had << 32 | what it may be */
    } * tentative;            /* owned: each pair once */
    size_t n_tentative, tentative_capacity;
    struct hs_table tentative_of;
    struct hs_enclosing enclosing;
    struct flow_part {
        uint64_t rank, offset;
        hs_ctype type;
    } * parts; /* owned: members of blocks whose type is not known, to go on from */
    size_t n_parts, parts_capacity;
    struct hs_bitmap led_on; /* by rank: in this pass */
};

static inline bool hs_flow_may_have_type_(const struct hs_heap_block *block)
{
    return block->bytes != NULL && block->n_bytes >= sizeof(uint64_t) &&
           (block->span->states & HS_BLOCK_MAPPING) == 0;
}

/* Gives the block a type, and queues it when types flow on from there. Fails with HS_LIMIT, as all
 * here. */
hs_status hs_flow_give_(struct flow *f, const struct hs_heap_block *block, hs_ntype type,
                        struct hs_error *err);
/* Goes on from the member at `offset` of a block without a type, once in each pass. */
hs_status hs_flow_lead_on_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee, struct hs_error *err);
/* What every block says of itself. Sequential in memory. */
hs_status hs_flow_from_within_(struct flow *f, struct hs_error *err);

#endif
