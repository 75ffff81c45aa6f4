/* The functions that use the variables of an object that have no names. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "globals.h"
#include "symbols/elf_users.h"

struct globals_users {
    struct hs_native *native;       /* borrowed */
    const struct hs_object *object; /* borrowed */
    hs_addr *places;                /* owned: ascending */
    size_t n;
    struct hs_elf_user *users; /* owned: by place */
};

static hs_status users_tell(struct globals_users *u, struct hs_root *root, struct hs_error *err)
{
    char name[HS_VARIABLE_NAME_BYTES];
    hs_addr place = root->address - u->object->bias;
    size_t i = HS_FIRST_NOT(at, 0, u->n, u->places[at] < place);

    if (i == u->n || u->places[i] != place || u->users[i].function == NULL)
        return HS_OK;
    hs_native_symbol_name(u->users[i].function->name, name, sizeof name);
    return hs_strtab_add(&u->native->dump->strings, name, &root->function, err);
}

static hs_status users_find(struct globals_users *u, size_t first, struct hs_error *err)
{
    struct hs_roots *roots = &u->native->roots;

    HS_TRY(hs_native_unnamed_places(u->native, u->object, first, &u->places, &u->n, err));
    if (u->n == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&u->users, u->n, err));
    HS_TRY(
        hs_elf_users(u->object->elf, hs_native_symbols(u->object), u->places, u->n, u->users, err));
    for (size_t i = first; i < roots->n_leaves; i++)
        if (hs_native_is_unnamed(u->native, &roots->leaves[i]))
            HS_TRY(users_tell(u, &roots->leaves[i].root, err));
    return HS_OK;
}

hs_status hs_native_find_users(struct hs_native *native, size_t object, size_t first,
                               struct hs_error *err)
{
    struct globals_users u = {.native = native, .object = &native->dump->objects.objects[object]};
    hs_status status = first == native->roots.n_leaves ? HS_OK : users_find(&u, first, err);

    hs_free(u.places);
    hs_free(u.users);
    return status;
}
