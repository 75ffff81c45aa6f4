/* Reads blocks for the search for containers, and gives them types. */
#include "shapes.h"

enum { WORD = 8, SLACK_BYTES = 32, PAGE_BYTES = 4096, MAPPED_BYTES = 1 << 17 };

static const struct {
    const char *name;
    enum hs_type_form form;
} shape_types[HS_N_SHAPES] = {
    [HS_SHAPE_TREE] = {"red-black tree node", HS_FORM_RECORD},
    [HS_SHAPE_LIST] = {"doubly linked list node", HS_FORM_RECORD},
    [HS_SHAPE_STRING] = {"std::string text", HS_FORM_SCALAR},
    [HS_SHAPE_VECTOR] = {"std::vector storage", HS_FORM_BYTES},
    [HS_SHAPE_HASH_NODE] = {"std::unordered node", HS_FORM_RECORD},
    [HS_SHAPE_HASH_BUCKETS] = {"std::unordered buckets", HS_FORM_BYTES},
    [HS_SHAPE_DEQUE_BLOCK] = {"std::deque block", HS_FORM_BYTES},
    [HS_SHAPE_DEQUE_MAP] = {"std::deque map", HS_FORM_BYTES},
    [HS_SHAPE_QT_TEXT] = {"Qt text", HS_FORM_SCALAR},
    [HS_SHAPE_QT_NUMBERS] = {"Qt numbers", HS_FORM_SCALAR},
    [HS_SHAPE_QT_ARRAY] = {"Qt array", HS_FORM_BYTES},
    [HS_SHAPE_XML_NODE] = {"xmlNode", HS_FORM_RECORD},
    [HS_SHAPE_XML_ATTRIBUTE] = {"xmlAttr", HS_FORM_RECORD},
    [HS_SHAPE_XML_DOCUMENT] = {"xmlDoc", HS_FORM_RECORD},
    [HS_SHAPE_XML_IDENTIFIER] = {"xmlID", HS_FORM_RECORD},
    [HS_SHAPE_XML_TEXT] = {"xmlChar[]", HS_FORM_SCALAR},
};

bool hs_shapes_is_spent(const struct hs_shapes *s)
{
    const struct hs_paged *paged = s->native->dump->image.paged;
    return paged != NULL && paged->n_faults > s->most_faults;
}

bool hs_shapes_word(struct hs_shapes *s, hs_addr address, uint64_t *ret)
{
    const struct hs_image_range *range;

    if (address % WORD != 0 || address == 0)
        return false;
    range = hs_image_find(&s->native->dump->image, address, &s->hint);
    if (range == NULL || range->end - address < WORD)
        return false;
    *ret = hs_load_u64(range->bytes + (address - range->begin));
    return true;
}

bool hs_shapes_body_at(struct hs_shapes *s, uint64_t word, struct hs_heap_block *ret)
{
    return hs_flow_resolve(s->native, word, ret) == HS_POINTER_START && ret->bytes != NULL &&
           hs_flow_type(s->flow, ret->rank) == 0 && (ret->span->states & HS_BLOCK_MAPPING) == 0;
}

bool hs_shapes_storage(struct hs_shapes *s, uint64_t word, enum hs_shape shape,
                       struct hs_heap_block *ret)
{
    if (hs_shapes_body_at(s, word, ret))
        return true;
    return s->types[shape] != 0 && hs_flow_resolve(s->native, word, ret) == HS_POINTER_START &&
           hs_flow_type(s->flow, ret->rank) == s->types[shape];
}

void hs_shapes_give(struct hs_shapes *s, const struct hs_heap_block *block, hs_ntype type)
{
    hs_flow_set_type(s->flow, block->rank, type);
    s->flow->n_typed++;
    s->flow->n_by_shape++;
}

hs_status hs_shapes_set(struct hs_shapes *s, const struct hs_heap_block *block, enum hs_shape shape,
                        struct hs_error *err)
{
    if (s->types[shape] == 0) {
        HS_TRY(hs_native_types_of_name(&s->flow->types, shape_types[shape].name,
                                       shape_types[shape].form, &s->types[shape], err));
        struct hs_native_type *type = &s->flow->types.types[s->types[shape] - 1];
        type->is_storage = shape == HS_SHAPE_VECTOR || shape == HS_SHAPE_QT_ARRAY;
        type->is_plain =
            shape == HS_SHAPE_QT_TEXT || shape == HS_SHAPE_QT_NUMBERS || shape == HS_SHAPE_XML_TEXT;
    }
    hs_shapes_give(s, block, s->types[shape]);
    return HS_OK;
}

bool hs_shapes_fits(const struct hs_heap_block *block, uint64_t n)
{
    if (n > block->n_bytes)
        return false;
    uint64_t spare = block->n_bytes - n;
    if (spare < SLACK_BYTES)
        return true;
    if (block->span->owner < HS_N_ALLOCATORS &&
        hs_allocators[block->span->owner]->may_round != NULL)
        return hs_allocators[block->span->owner]->may_round(block, n);
    return block->n_bytes >= MAPPED_BYTES && spare < PAGE_BYTES + SLACK_BYTES;
}

void hs_shapes_spend(struct hs_shapes *s, uint64_t n)
{
    s->budget -= n < s->budget ? n : s->budget;
}
