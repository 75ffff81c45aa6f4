#include "field_users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "lambdas.h"
#include "symbols/demangle.h"
#include "symbols/elf_users.h"

enum { NAME_BYTES = 512 };

/* A root without a name that leads to the heap. */
struct wanted {
    hs_addr address;
    size_t leaf; /* its number */
};

struct field_users {
    struct hs_ocaml *rt;                 /* borrowed */
    struct hs_roots *roots;              /* borrowed */
    const struct hs_frame_table *frames; /* borrowed; may be NULL */
    const struct hs_object *object;      /* borrowed */
    const struct wanted *wanted;         /* borrowed: the object's, by address */
    size_t n_wanted;
    hs_addr *bases, *places; /* owned: ascending, none twice, once sorted */
    size_t n_bases, n_places;
    struct hs_elf_user *users; /* owned: by place */
    struct hs_lambdas lambdas; /* owned: of the users that have no name */
};

static bool is_unnamed(const struct hs_ocaml *rt, const struct hs_root *root)
{
    char number[32];

    if (root->kind != HS_ROOT_GLOBAL && root->kind != HS_ROOT_DYNAMIC_GLOBAL)
        return false;
    const char *name = hs_strtab_get(rt->strings, root->name);
    int n = snprintf(number, sizeof number, " field %u", root->field);
    size_t n_name = strlen(name);
    return n > 0 && n_name > (size_t)n && strcmp(name + n_name - (size_t)n, number) == 0;
}

static bool is_wanted(const struct hs_ocaml *rt, const struct hs_root_leaf *leaf)
{
    if (leaf->root.address == 0 || !is_unnamed(rt, &leaf->root))
        return false;
    enum hs_area area = hs_ocaml_area(rt, leaf->target);
    return area == HS_AREA_HEAP || area == HS_AREA_YOUNG;
}

static int by_address(const void *a, const void *b)
{
    const hs_addr *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t sort_addresses(hs_addr *at, size_t n)
{
    size_t kept = 0;

    if (n > 1)
        qsort(at, n, sizeof *at, by_address);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || at[kept - 1] != at[i])
            at[kept++] = at[i];
    return kept;
}

static hs_status collect(struct field_users *u, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&u->bases, u->n_wanted, err));
    HS_TRY(HS_ALLOC(&u->places, u->n_wanted, err));
    HS_TRY(HS_ALLOC(&u->users, u->n_wanted, err));
    for (size_t i = 0; i < u->n_wanted; i++) {
        const struct hs_root_leaf *leaf = &u->roots->leaves[u->wanted[i].leaf];
        hs_addr place = leaf->root.address - u->object->bias;
        u->bases[u->n_bases++] = place - leaf->root.offset;
        u->places[u->n_places++] = place;
    }
    u->n_bases = sort_addresses(u->bases, u->n_bases);
    u->n_places = sort_addresses(u->places, u->n_places);
    return HS_OK;
}

/* Returns a function's name without its unit where that is the field's: "get_id". */
static const char *short_name(const char *function, const char *unit)
{
    const char *end = strstr(unit, " field ");
    size_t n = end == NULL ? 0 : (size_t)(end - unit);

    return n != 0 && strncmp(function, unit, n) == 0 && function[n] == '.' ? function + n + 1
                                                                           : function;
}

/* Writes what a function is called by: its name, or the place of one that has none. False where
 * neither is known. */
static bool user_name(const struct field_users *u, const struct hs_elf_symbol *function, char *text,
                      size_t n)
{
    char name[NAME_BYTES];

    hs_demangle(function->name, name, sizeof name);
    size_t n_name = strlen(name), n_last = strlen("(fun)");
    if (n_name < n_last || strcmp(name + n_name - n_last, "(fun)") != 0)
        return (size_t)snprintf(text, n, "%s", name) < n;
    const struct hs_lambda *lambda = hs_lambda_at(&u->lambdas, function->vaddr + u->object->bias);
    return lambda != NULL &&
           (size_t)snprintf(text, n, "%.*s at %s:%u)", (int)n_name - 1, name,
                            hs_strtab_get(u->rt->strings, lambda->file), lambda->line) < n;
}

static hs_status tell(struct field_users *u, struct hs_root *root, struct hs_error *err)
{
    char function[NAME_BYTES], text[2 * NAME_BYTES];
    hs_addr place = root->address - u->object->bias;
    size_t i = HS_FIRST_NOT(at, 0, u->n_places, u->places[at] < place);

    if (i == u->n_places || u->places[i] != place || u->users[i].function == NULL ||
        !user_name(u, u->users[i].function, function, sizeof function))
        return HS_OK;
    const char *name = hs_strtab_get(u->rt->strings, root->name);
    snprintf(text, sizeof text, "%.400s (used by %.500s)", name, short_name(function, name));
    HS_TRY(hs_strtab_add(u->rt->strings, function, &root->function, err));
    return hs_strtab_add(u->rt->strings, text, &root->name, err);
}

static bool has_name(const char *function)
{
    return strstr(function, "__fun_") == NULL && strstr(function, ".fun_") == NULL &&
           strstr(function, "anon_fn[") == NULL;
}

/* The initialisation of a unit fills all its fields. */
static bool is_of_program(const char *function)
{
    size_t n = strlen(function);

    return strncmp(function, "caml", 4) == 0 && (n < 6 || strcmp(function + n - 5, "entry") != 0);
}

static bool may_use(const char *function)
{
    return is_of_program(function) && has_name(function);
}

static bool may_use_unnamed(const char *function)
{
    return is_of_program(function) && !has_name(function);
}

/* Finds the functions without a name that read the fields which no other one reads, and where they
 * are in the source. */
static hs_status find_unnamed(struct field_users *u, struct hs_error *err)
{
    hs_auto_free struct hs_elf_user *users = NULL;
    struct hs_dict functions = {0};
    struct hs_elf_field_query query = {.bases = u->bases,
                                       .n_bases = u->n_bases,
                                       .places = u->places,
                                       .n_places = u->n_places,
                                       .may_use = may_use_unnamed};
    bool is_left = false;

    for (size_t i = 0; i < u->n_places; i++)
        is_left |= u->users[i].function == NULL;
    if (!is_left)
        return HS_OK;
    HS_TRY(HS_ALLOC(&users, u->n_places, err));
    HS_TRY(hs_elf_field_users(u->object->elf, u->object->elf, &query, users, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < u->n_places && status == HS_OK; i++) {
        if (u->users[i].function != NULL || users[i].function == NULL)
            continue;
        u->users[i] = users[i];
        status = hs_dict_put(&functions, users[i].function->vaddr + u->object->bias, 0, err);
    }
    if (status == HS_OK && functions.n != 0)
        status = hs_lambdas_find(u->rt, u->frames, &functions, &u->lambdas, err);
    hs_dict_fini(&functions);
    return status;
}

static hs_status tell_object(struct field_users *u, struct hs_error *err)
{
    HS_TRY(collect(u, err));
    const struct hs_elf_field_query query = {.bases = u->bases,
                                             .places = u->places,
                                             .n_bases = u->n_bases,
                                             .n_places = u->n_places,
                                             .may_use = may_use};
    HS_TRY(hs_elf_field_users(u->object->elf, u->object->elf, &query, u->users, err));
    HS_TRY(find_unnamed(u, err));
    for (size_t i = 0; i < u->n_wanted; i++)
        HS_TRY(tell(u, &u->roots->leaves[u->wanted[i].leaf].root, err));
    return HS_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

/* Lists the roots without a name by their addresses, so that each object asks for its own. */
static hs_status list_wanted(const struct hs_ocaml *rt, const struct hs_roots *roots,
                             struct wanted **ret, size_t *ret_n, struct hs_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < roots->n_leaves; i++)
        n += is_wanted(rt, &roots->leaves[i]);
    if (n == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(ret, n, err));
    for (size_t i = 0; i < roots->n_leaves; i++)
        if (is_wanted(rt, &roots->leaves[i]))
            (*ret)[(*ret_n)++] = (struct wanted){roots->leaves[i].root.address, i};
    qsort(*ret, *ret_n, sizeof **ret, by_place);
    return HS_OK;
}

static hs_status tell_range(struct field_users u, struct hs_error *err)
{
    hs_status status = tell_object(&u, err);

    hs_free(u.bases);
    hs_free(u.places);
    hs_free(u.users);
    hs_lambdas_fini(&u.lambdas);
    return status;
}

hs_status hs_ocaml_tell_field_users(struct hs_ocaml *rt, struct hs_ocaml_roots *all,
                                    struct hs_error *err)
{
    struct hs_roots *roots = &all->roots;
    hs_auto_free struct wanted *wanted = NULL;
    size_t n = 0;

    HS_TRY(list_wanted(rt, roots, &wanted, &n, err));
    for (size_t i = 0; n != 0 && i < rt->objects->n; i++) {
        const struct hs_object *object = &rt->objects->objects[i];
        size_t begin = HS_FIRST_NOT(at, 0, n, wanted[at].address < object->begin);
        size_t end = HS_FIRST_NOT(at, begin, n, wanted[at].address < object->end);
        if (begin == end)
            continue;
        const struct field_users u = {.rt = rt,
                                      .roots = roots,
                                      .frames = all->frames,
                                      .object = object,
                                      .wanted = wanted + begin,
                                      .n_wanted = end - begin};
        HS_TRY(tell_range(u, err));
    }
    return HS_OK;
}
