/* The functions that use the variables of an object that have no names. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "globals.h"
#include "symbols/elf_users.h"

/* The bound for one object: a table of a million pointers is one variable, whatever it is. */
enum { MOST_PLACES = 1 << 16 };

struct globals_users {
    struct hs_native *native;       /* borrowed */
    const struct hs_object *object; /* borrowed */
    hs_addr *places;                /* owned: ascending */
    size_t n;
    struct hs_elf_user *users; /* owned: by place */
};

/* Tells whether it is called by its section alone. */
static bool is_unnamed(const struct hs_native *native, const struct hs_root_leaf *leaf)
{
    return leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.function == 0 &&
           leaf->root.symbol != 0 &&
           hs_strtab_get(&native->dump->strings, leaf->root.symbol)[0] == '.';
}

static int place_order(const void *a, const void *b)
{
    const hs_addr *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static hs_status users_collect(struct globals_users *u, size_t first, struct hs_error *err)
{
    const struct hs_roots *roots = &u->native->roots;
    size_t n = 0;

    HS_TRY(HS_ALLOC(&u->places, MOST_PLACES, err));
    for (size_t i = first; i < roots->n_leaves && u->n < MOST_PLACES; i++)
        if (is_unnamed(u->native, &roots->leaves[i]))
            u->places[u->n++] = roots->leaves[i].root.address - u->object->bias;
    if (u->n != 0)
        qsort(u->places, u->n, sizeof *u->places, place_order);
    for (size_t i = 0; i < u->n; i++)
        if (n == 0 || u->places[n - 1] != u->places[i])
            u->places[n++] = u->places[i];
    u->n = n;
    return HS_OK;
}

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

    HS_TRY(users_collect(u, first, err));
    if (u->n == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&u->users, u->n, err));
    HS_TRY(
        hs_elf_users(u->object->elf, hs_native_symbols(u->object), u->places, u->n, u->users, err));
    for (size_t i = first; i < roots->n_leaves; i++)
        if (is_unnamed(u->native, &roots->leaves[i]))
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
