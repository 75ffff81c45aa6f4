/* Types of blocks whose objects lead to what names them: instances of GObject's types. */
#include "flow.h"

/* Finds the record of this name, of the binary that has the type or else of another. */
static hs_ctype named_find(const struct hs_native *native, const struct hs_object_name *name)
{
    const struct hs_objects *objects = &native->dump->objects;
    const struct hs_object *object =
        name->code == 0 ? NULL : hs_objects_object_at(objects, name->code);
    struct hs_ctype_facts facts;

    if (object == NULL)
        return 0;
    hs_ctype record =
        hs_ctypes_find(native->ctypes, native->of_object[object - objects->objects].types,
                       hs_strtab_get(&native->dump->strings, name->name));
    if (record == 0)
        return 0;
    hs_ctype_facts(native->ctypes, record, &facts);
    return facts.kind == HS_CTYPE_RECORD && !facts.is_declaration ? record : 0;
}

/* Finds the same, looked for once. */
static hs_status named_record(const struct hs_native *native, struct hs_native_types *types,
                              const struct hs_object_name *name, hs_ctype *ret,
                              struct hs_error *err)
{
    const uint64_t *known = hs_dict_find(&types->named, name->name);

    *ret = 0;
    if (native->ctypes == NULL)
        return HS_OK;
    *ret = known != NULL ? (hs_ctype)*known : named_find(native, name);
    return known != NULL ? HS_OK : hs_dict_put(&types->named, name->name, *ret, err);
}

hs_status hs_native_named_type(const struct hs_native *native, struct hs_native_types *types,
                               const struct hs_heap_block *block, struct hs_named_type *ret,
                               struct hs_error *err)
{
    struct hs_object_name name;
    hs_ctype record;

    *ret = (struct hs_named_type){0};
    if (!hs_heaps_object_name(&native->dump->heaps, block, &name))
        return HS_OK;
    HS_TRY(named_record(native, types, &name, &record, err));
    if (record != 0) {
        struct hs_ctype_facts facts;
        hs_ctype_facts(native->ctypes, record, &facts);
        if (facts.n_bytes > block->n_bytes - name.offset_bytes)
            record = 0;
    }
    if (record != 0 && name.offset_bytes == 0)
        return hs_native_types_of_ctype(types, record, false, &ret->type, err);
    ret->inner = record;
    ret->offset_bytes = name.offset_bytes;
    uint64_t end = name.n_bytes == 0 ? 0 : name.offset_bytes + name.n_bytes;
    return hs_native_types_of_sized(types, name.name, end, &ret->type, err);
}
