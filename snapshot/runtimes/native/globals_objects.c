/* The static objects that words without a name are in, by the code that uses them. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "globals.h"
#include "symbols/elf_objects.h"

struct globals_objects {
    struct hs_native *native;       /* borrowed */
    const struct hs_object *object; /* borrowed */
    hs_addr *places;                /* owned: ascending */
    size_t n;
    struct hs_elf_objects found;
};

static hs_status objects_tell(struct globals_objects *o, struct hs_root_leaf *leaf,
                              struct hs_error *err)
{
    char name[HS_VARIABLE_NAME_BYTES];
    hs_addr place = leaf->root.address - o->object->bias;
    size_t i = HS_FIRST_NOT(at, 0, o->n, o->places[at] < place);

    if (i == o->n || o->places[i] != place)
        return HS_OK;
    const struct hs_elf_object *found = &o->found.of[i];
    leaf->object = found->begin + o->object->bias;
    if (found->function != NULL) {
        hs_native_symbol_name(found->function->name, name, sizeof name);
        HS_TRY(hs_strtab_add(&o->native->dump->strings, name, &leaf->root.function, err));
    }
    if (found->file == NULL)
        return HS_OK;
    HS_TRY(hs_strtab_add(&o->native->dump->strings, found->file, &leaf->root.file, err));
    leaf->group_unit = leaf->root.file;
    return HS_OK;
}

/* Tells whether objects are worth going through all code: of a library's single word none is told,
 * and a table of a runtime keeps but what nobody else does. */
static bool is_worth(const struct globals_objects *o)
{
    size_t object = (size_t)(o->object - o->native->dump->objects.objects);

    return (o->n > 1 || o->object->is_executable) && !o->native->of_object[object].is_runtime;
}

static hs_status objects_find(struct globals_objects *o, size_t first, bool *ret_known,
                              struct hs_error *err)
{
    struct hs_roots *roots = &o->native->roots;

    HS_TRY(hs_native_unnamed_places(o->native, o->object, first, &o->places, &o->n, err));
    *ret_known = o->n == 0;
    if (!is_worth(o))
        return HS_OK;
    HS_TRY(hs_elf_objects_find(o->object->elf, hs_native_symbols(o->object), o->places, o->n,
                               &o->found, err));
    if (o->found.of == NULL)
        return HS_OK;
    *ret_known = true;
    for (size_t i = first; i < roots->n_leaves; i++)
        if (hs_native_is_unnamed(o->native, &roots->leaves[i]))
            HS_TRY(objects_tell(o, &roots->leaves[i], err));
    return HS_OK;
}

hs_status hs_native_find_objects(struct hs_native *native, size_t object, size_t first,
                                 struct hs_error *err)
{
    struct globals_objects o = {.native = native, .object = &native->dump->objects.objects[object]};
    bool is_known = true;
    hs_status status =
        first == native->roots.n_leaves ? HS_OK : objects_find(&o, first, &is_known, err);

    hs_free(o.places);
    hs_elf_objects_fini(&o.found);
    return status != HS_OK || is_known ? status : hs_native_find_users(native, object, first, err);
}
