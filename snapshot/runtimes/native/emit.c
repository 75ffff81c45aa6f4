/* The record that the snapshot has of a block, without its edges. */
#include <stdio.h>

#include "base/units.h"
#include "emit.h"
#include "foreign.h"
#include "guess.h"

enum { WORD = 8, NAME_BYTES = 320 };

/* Finds the type of a mapping: "[anon 64 MiB]", "[heap of Ruby 10.1 MiB]", or the file that is
 * mapped and its size. */
static hs_status emit_mapping_type(struct hs_native *native, struct hs_flow *flow,
                                   const struct hs_heap_block *block, hs_ntype *ret,
                                   struct hs_error *err)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(&native->dump->target, block->begin);
    const char *path = mapping == NULL ? "" : hs_mapping_path(&native->dump->target, mapping);
    char name[NAME_BYTES], size[HS_UNIT_TEXT_BYTES];

    if (mapping == NULL)
        snprintf(name, sizeof name, "[anon]");
    else {
        hs_format_bytes(mapping->end - mapping->begin, size);
        if (hs_native_is_foreign(native, block))
            snprintf(name, sizeof name, "[%.200s %s]",
                     hs_strtab_get(&native->dump->strings, native->foreign.name), size);
        else if (path[0] == '\0')
            snprintf(name, sizeof name, "[anon %s]", size);
        else
            snprintf(name, sizeof name, "[%.200s %s]", path, size);
    }
    return hs_native_types_of_name(&flow->types, name, HS_FORM_MAPPING, ret, err);
}

/* Finds a type for a block that has none: its mapping, its pool or its size. */
static hs_status emit_plain_type(struct hs_native *native, struct hs_flow *flow,
                                 const struct hs_heap_block *block, hs_ntype *ret,
                                 struct hs_error *err)
{
    char text[NAME_BYTES];

    if ((block->span->states & HS_BLOCK_MAPPING) != 0)
        return emit_mapping_type(native, flow, block, ret, err);
    hs_str name = hs_heaps_pool_name(&native->dump->heaps, block->span);
    if (name != 0) {
        snprintf(text, sizeof text, "%.300s", hs_strtab_get(&native->dump->strings, name));
        return hs_native_types_of_name(&flow->types, text, HS_FORM_RECORD, ret, err);
    }
    *ret = hs_native_held_guess(flow, block);
    if (*ret != 0)
        return HS_OK;
    return hs_native_types_of_size(&flow->types, block->n_bytes, ret, err);
}

hs_status hs_native_block_record(struct hs_native *native, struct hs_flow *flow,
                                 const struct hs_heap_block *block, struct hs_block_record *ret,
                                 struct hs_error *err)
{
    hs_ntype type = hs_flow_type(flow, block->rank);

    if (type == 0)
        HS_TRY(emit_plain_type(native, flow, block, &type, err));
    else if (hs_native_type_of(&flow->types, type)->listed_as != 0)
        type = hs_native_type_of(&flow->types, type)->listed_as;
    *ret = (struct hs_block_record){
        .address = block->begin, .words = (block->n_bytes + WORD - 1) / WORD, .type = type - 1};
    const struct hs_native_count *count = hs_native_counts_of(&native->counts, block->rank);
    if (count != NULL) {
        ret->is_counted = true;
        ret->entries = count->entries;
        ret->room = count->room;
    }
    return HS_OK;
}
