/* Instances of GObject's types: blocks of any allocator that lead to their class. */
#include "base/alloc.h"
#include "base/load.h"
#include "data_words.h"
#include "gobject/signals.h"
#include "gobject/weak_pointers.h"

/* The bytes that a block may have behind an instance, as allocators round up. */
enum { SLACK_BYTES = 32, MOST_BYTES = 2 * UINT16_MAX + SLACK_BYTES };

struct gobject {
    struct gobject_types types;
    struct gobject_signals signals;
    struct gobject_weak weak;
};

static void gobject_close(void *state)
{
    struct gobject *gobject = state;

    if (gobject == NULL)
        return;
    hs_gobject_types_fini(&gobject->types);
    hs_gobject_signals_fini(&gobject->signals);
    hs_gobject_weak_fini(&gobject->weak);
    hs_free(gobject);
}

static hs_status gobject_find_in(struct gobject *gobject, const struct hs_object *object,
                                 struct hs_error *err)
{
    struct hs_data_words words = {.process = gobject->types.process, .object = object};
    bool is_one = false;
    hs_addr address;
    uint64_t word;

    while (!is_one && hs_data_words_next(&words, &address, &word))
        HS_TRY(hs_gobject_read_table(&gobject->types, word, &is_one, err));
    return HS_OK;
}

static hs_status gobject_find(struct gobject *gobject, struct hs_error *err)
{
    const struct hs_objects *objects = gobject->types.process->objects;
    struct hs_live_symbol symbol;

    for (size_t i = 0; objects != NULL && i < objects->n; i++)
        if (hs_object_find(&objects->objects[i], "g_type_register_static", &symbol))
            HS_TRY(gobject_find_in(gobject, &objects->objects[i], err));
    return hs_gobject_types_seal(&gobject->types, err);
}

static hs_status gobject_open(const struct hs_process_copy *process, void **ret_state,
                              struct hs_error *err)
{
    struct gobject *gobject;

    HS_TRY(HS_ALLOC(&gobject, 1, err));
    gobject->types.process = process;
    hs_status status = gobject_find(gobject, err);
    if (status == HS_OK && gobject->types.n != 0)
        *ret_state = gobject;
    else
        gobject_close(gobject);
    return status;
}

static hs_status gobject_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                              struct hs_error *err)
{
    const struct gobject_types *types = &((struct gobject *)state)->types;

    (void)map;
    (void)ledger;
    return hs_findings_proof(types->process->findings,
                             "gobject: names of types that lead to what they name", types->n_names,
                             types->n_sound, err);
}

static const struct gobject_type *gobject_of_class(const struct gobject_types *types,
                                                   uint64_t class_at)
{
    if (class_at < types->first_class || class_at > types->last_class)
        return NULL;
    const uint64_t *at = hs_dict_find(&types->by_class, class_at);
    return at == NULL ? NULL : &types->types[*at];
}

static bool gobject_name(const void *state, const struct hs_heap_block *block,
                         struct hs_object_name *ret)
{
    const struct gobject *gobject = state;
    const struct gobject_types *types = &gobject->types;
    const struct gobject_type *type = gobject_of_class(types, block->begin);
    hs_str handler;

    if (hs_gobject_handler_name(&gobject->signals, block, &handler)) {
        *ret = (struct hs_object_name){.name = handler};
        return true;
    }
    if (type != NULL) {
        *ret = (struct hs_object_name){.name = type->class_name, .code = type->class_init};
        return true;
    }
    if (block->n_bytes > MOST_BYTES)
        return false; /* nor is its copy touched */
    for (size_t i = 0; block->bytes != NULL && i < types->n_private_sizes; i++) {
        uint64_t at = types->private_sizes[i];
        if (at + HS_WORD_BYTES > block->n_bytes)
            return false;
        type = gobject_of_class(types, hs_load_u64(block->bytes + at));
        if (type == NULL || type->private_bytes != at ||
            block->n_bytes - at < type->instance_bytes ||
            block->n_bytes - at - type->instance_bytes > SLACK_BYTES)
            continue;
        *ret = (struct hs_object_name){.name = type->name,
                                       .code = type->class_init,
                                       .offset_bytes = at,
                                       .n_bytes = type->instance_bytes};
        return true;
    }
    return false;
}

static hs_status gobject_look(void *state, const struct hs_heap_map *map, struct hs_error *err)
{
    struct gobject *gobject = state;
    const struct hs_process_copy *process = gobject->types.process;
    struct hs_live_symbol nullify;

    HS_TRY(hs_gobject_read_signals(&gobject->types, map, &gobject->signals, err));
    HS_TRY(hs_gobject_name_handlers(process, &gobject->signals, err));
    if (process->objects != NULL &&
        hs_objects_find(process->objects, "g_nullify_pointer", &nullify))
        HS_TRY(hs_gobject_read_weak(process->image, map, nullify.address, &gobject->weak, err));
    return HS_OK;
}

static hs_addr gobject_owner(const void *state, const struct hs_heap_block *block)
{
    return hs_gobject_owner(&((const struct gobject *)state)->signals, block);
}

static bool gobject_owned(const void *state, const struct hs_heap_block *owner, uint64_t *cursor,
                          hs_addr *ret_begin, hs_addr *ret_end)
{
    return hs_gobject_owned(&((const struct gobject *)state)->signals, owner, cursor, ret_begin,
                            ret_end);
}

static uint64_t gobject_finds(const void *state, const struct hs_heap_block *block)
{
    return hs_gobject_finds(&((const struct gobject *)state)->signals, block);
}

static uint64_t gobject_cleared(const void *state, const struct hs_heap_block *block)
{
    return hs_gobject_weak_words(&((const struct gobject *)state)->weak, block);
}

static bool gobject_is_weak_at(const void *state, hs_addr at)
{
    return hs_gobject_is_weak_at(&((const struct gobject *)state)->weak, at);
}

static const struct hs_ownership gobject_ownership = {
    .owner = gobject_owner,
    .owned = gobject_owned,
    .finds = gobject_finds,
    .cleared = gobject_cleared,
    .is_cleared_at = gobject_is_weak_at,
};

const struct hs_allocator hs_allocator_gobject = {
    .name = "gobject",
    .open = gobject_open,
    .mark = gobject_mark,
    .close = gobject_close,
    .has_no_blocks = true,
    .object_name = gobject_name,
    .look = gobject_look,
    .ownership = &gobject_ownership,
};
