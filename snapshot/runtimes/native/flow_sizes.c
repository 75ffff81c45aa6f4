/* The sizes of classes that no debug information describes: their virtual tables tell the type. */
#include "flow_private.h"

/* Makes a class as large as its destructor tells the allocator, where one such size alone fits its
 * smallest block. */
static void flow_take_deleted(struct hs_native_type *type)
{
    uint64_t found = 0;

    for (size_t i = 0; !type->deleted.are_more && i < type->deleted.n; i++) {
        uint64_t n_bytes = type->deleted.bytes[i];
        if (n_bytes > type->n_bytes || type->n_bytes - n_bytes >= HS_SLACK_BYTES)
            continue;
        if (found != 0)
            return;
        found = n_bytes;
    }
    type->n_bytes = found != 0 ? found : type->n_bytes;
}

void hs_flow_learn_sizes_(const struct hs_native *native, struct hs_flow *flow)
{
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        hs_ntype number = hs_flow_type(flow, block.rank);
        struct hs_native_type *type = number == 0 ? NULL : &flow->types.types[number - 1];
        if (type != NULL && type->is_dynamic &&
            (type->n_bytes == 0 || block.n_bytes < type->n_bytes))
            type->n_bytes = block.n_bytes;
    }
    for (size_t i = 0; i < flow->types.n_types; i++)
        if (flow->types.types[i].is_dynamic)
            flow_take_deleted(&flow->types.types[i]);
}
