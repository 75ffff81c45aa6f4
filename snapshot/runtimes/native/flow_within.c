/* The types that blocks say of themselves: objects of C++ by their virtual tables, those of Python
 * by their types, tasks of tokio, what is named by a word of it. And how a block is given a type,
 * whoever says it. */
#include "flow_private.h"

enum { WORD = 8, NAME_BYTES = 256 };

hs_status hs_flow_give_(struct flow *f, const struct hs_heap_block *block, hs_ntype type,
                        struct hs_error *err)
{
    hs_ntype had = hs_flow_type(f->result, block->rank);

    f->result->n_typed += had == 0;
    HS_TRY(hs_flow_note_(f, block, had, type, err));
    hs_flow_set_type(f->result, block->rank, type);
    if (hs_native_type_of(&f->result->types, type)->has_pointees)
        return hs_block_queue_push(&f->queue, block, err);
    return HS_OK;
}

hs_status hs_flow_lead_on_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee, struct hs_error *err)
{
    if (f->led_on.n_bits == 0)
        HS_TRY(hs_bitmap_init(&f->led_on, f->result->n_blocks, err));
    if (hs_bitmap_get(&f->led_on, block->rank) || f->n_parts == HS_ENCLOSING_WAITING)
        return HS_OK;
    hs_bitmap_set(&f->led_on, block->rank);
    HS_TRY(HS_GROW(&f->parts, &f->parts_capacity, f->n_parts + 1, err));
    f->parts[f->n_parts++] = (struct flow_part){block->rank, offset, pointee};
    return HS_OK;
}

/* Tells whether the block has several objects of the type, each with the same virtual table. */
static bool flow_is_object_array(const struct hs_heap_block *block,
                                 const struct hs_native_type *type)
{
    uint64_t first = hs_load_u64(block->bytes);
    uint64_t n = type->n_bytes == 0 ? 0 : block->n_bytes / type->n_bytes;

    for (uint64_t i = 1; i < n; i++)
        if (hs_load_u64(block->bytes + i * type->n_bytes) != first)
            return false;
    return n >= 2;
}

/* Names the block of an exception, and leads on from the object in it. */
static hs_status flow_by_thrown(struct flow *f, const struct hs_heap_block *block,
                                struct hs_error *err)
{
    struct hs_named_type thrown;

    HS_TRY(hs_rtti_thrown(&f->rtti, &f->result->types, block, &thrown, err));
    if (thrown.type == 0)
        return HS_OK;
    f->result->n_by_rtti++;
    HS_TRY(hs_flow_give_(f, block, thrown.type, err));
    return thrown.inner == 0 ? HS_OK
                             : hs_flow_lead_on_(f, block, thrown.offset_bytes, thrown.inner, err);
}

static hs_status flow_by_rtti(struct flow *f, const struct hs_heap_block *block,
                              struct hs_error *err)
{
    struct hs_native_types *types = &f->result->types;
    hs_ntype type, many = 0;

    HS_TRY(hs_rtti_find(&f->rtti, types, hs_load_u64(block->bytes), &type, err));
    if (type == 0)
        return flow_by_thrown(f, block, err);
    const struct hs_native_type *found = hs_native_type_of(types, type);
    if (found->n_bytes > block->n_bytes)
        return HS_OK;
    if (flow_is_object_array(block, found))
        HS_TRY(hs_native_types_of_ctype(types, found->ctype, true, &many, err));
    f->result->n_by_rtti++;
    return hs_flow_give_(f, block, many != 0 ? many : type, err);
}

/* Names the blocks that a Python object has beside itself. */
static hs_status flow_python_parts(struct flow *f, const struct hs_interpreter *python,
                                   const struct hs_heap_block *block, struct hs_error *err)
{
    struct hs_object_part parts[HS_OBJECT_PARTS];
    size_t n = python->model->parts(python->state, block, parts);

    for (size_t i = 0; i < n; i++) {
        struct hs_object_words words;
        struct hs_heap_block target;
        hs_ntype type;
        if (parts[i].at + WORD > block->n_bytes)
            continue;
        enum hs_pointer how =
            hs_flow_resolve(f->native, hs_load_u64(block->bytes + parts[i].at), &target);
        if ((how != HS_POINTER_START && how != HS_POINTER_INTERIOR) ||
            !hs_flow_may_have_type_(&target) || hs_flow_type(f->result, target.rank) != 0 ||
            python->model->words(python->state, &target, &words))
            continue;
        HS_TRY(
            hs_native_types_of_name(&f->result->types, parts[i].name, HS_FORM_PYTHON, &type, err));
        HS_TRY(hs_flow_give_(f, &target, type, err));
    }
    return HS_OK;
}

static hs_status flow_python_type(struct flow *f, const struct hs_interpreter *python,
                                  const struct hs_heap_block *block, hs_ntype *ret,
                                  struct hs_error *err)
{
    char name[NAME_BYTES];

    *ret = 0;
    if (python->model->type != NULL) {
        uint32_t number = python->model->type(python->state, block);
        return number == HS_NO_NUMBER
                   ? HS_OK
                   : hs_native_types_of_object(&f->result->types, python, number, ret, err);
    }
    if (!python->model->type_name(python->state, block, name, sizeof name))
        return HS_OK;
    return hs_native_types_of_name(&f->result->types, name, HS_FORM_PYTHON, ret, err);
}

static hs_status flow_by_python(struct flow *f, const struct hs_interpreter *python,
                                const struct hs_heap_block *block, struct hs_error *err)
{
    hs_ntype type;

    HS_TRY(flow_python_type(f, python, block, &type, err));
    if (type == 0)
        return HS_OK;
    HS_TRY(hs_flow_give_(f, block, type, err));
    if (python->model->knows_parts) {
        struct hs_object_words words;
        (void)python->model->words(python->state, block, &words);
        f->result->n_by_interpreter += !words.is_part;
        return HS_OK;
    }
    f->result->n_by_interpreter++;
    return flow_python_parts(f, python, block, err);
}

static hs_status flow_by_task(struct flow *f, const struct hs_heap_block *block,
                              struct hs_error *err)
{
    hs_ctype cell = hs_native_task_type(&f->native->tasks, block);
    hs_ntype type = 0;

    if (cell != 0)
        HS_TRY(hs_native_types_of_ctype(&f->result->types, cell, false, &type, err));
    return type == 0 || hs_native_type_of(&f->result->types, type)->n_bytes > block->n_bytes
               ? HS_OK
               : hs_flow_give_(f, block, type, err);
}

static hs_status flow_by_name(struct flow *f, const struct hs_heap_block *block,
                              struct hs_error *err)
{
    struct hs_named_type named;

    HS_TRY(hs_native_named_type(f->native, &f->result->types, block, &named, err));
    if (named.type == 0)
        return HS_OK;
    f->result->n_by_rtti++;
    HS_TRY(hs_flow_give_(f, block, named.type, err));
    return named.inner == 0 ? HS_OK
                            : hs_flow_lead_on_(f, block, named.offset_bytes, named.inner, err);
}

hs_status hs_flow_from_within_(struct flow *f, struct hs_error *err)
{
    const struct hs_interpreter python = hs_dump_interpreter(f->native->dump);
    const struct hs_heaps *heaps = &f->native->dump->heaps;
    const bool has_names = hs_heaps_have_object_names(heaps);
    struct hs_heap_iterator it = {.map = &heaps->map};
    struct hs_heap_block block;

    if (!f->rtti.is_possible && !has_names && python.model == NULL && f->native->tasks.n_tasks == 0)
        return HS_OK;
    while (hs_heap_map_next(&it, &block)) {
        if (!hs_flow_may_have_type_(&block))
            continue;
        HS_TRY(flow_by_task(f, &block, err));
        if (f->rtti.is_possible && hs_flow_type(f->result, block.rank) == 0 &&
            !hs_flow_is_stale_(f, block.rank))
            HS_TRY(flow_by_rtti(f, &block, err));
        if (has_names && hs_flow_type(f->result, block.rank) == 0)
            HS_TRY(flow_by_name(f, &block, err));
        if (python.model != NULL && hs_flow_type(f->result, block.rank) == 0)
            HS_TRY(flow_by_python(f, &python, &block, err));
    }
    return HS_OK;
}
