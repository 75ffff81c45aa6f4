#include "key_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/type_family.h"
#include "base/alloc.h"

#define UNKNOWN "block"

void key_kinds_fini(struct key_kinds *kinds)
{
    hs_free(kinds->of_type);
    hs_free(kinds->names);
    hs_free(kinds->types);
    hs_free(kinds->is_container);
    *kinds = (struct key_kinds){0};
}

/* Adds the name of a type; *ret is 0 when nothing is known of it. */
static hs_status name_type(const struct hs_view *view, uint32_t type, struct hs_strtab *names,
                           hs_str *ret, struct hs_error *err)
{
    char name[HS_TYPE_NAME_BYTES];
    *ret = 0;
    if (!hs_type_is_known(view, type))
        return HS_OK;
    hs_type_family_name(view, type, HS_TYPE_INSTANCE, name, sizeof name);
    return hs_strtab_add(names, name, ret, err);
}

struct named {
    hs_str name;
    uint32_t type;
};

static int compare_named(const void *a, const void *b, void *names)
{
    const struct named *left = a, *right = b;
    int order = left->name == right->name
                    ? 0
                    : strcmp(hs_strtab_get(names, left->name), hs_strtab_get(names, right->name));
    return order != 0 ? order : (left->type > right->type) - (left->type < right->type);
}

/* Tells whether a type is one of Python's containers, which holds a program's objects and is
 * none. */
static bool is_container(const struct hs_view *view, uint32_t type)
{
    static const char *const names[] = {
        "dict",
        "dict keys",
        "dict values",
        "list",
        "list items",
        "tuple",
        "set",
        "set table",
        "deque items",
        "collections.deque",
        "frozenset",
        "cell",
        "collections.defaultdict",
        "collections.OrderedDict",
    };
    if (type == HS_UNTYPED || hs_snap_type(view->snap, type)->form != HS_FORM_PYTHON)
        return false;
    const char *name = hs_view_string(view, hs_snap_type(view->snap, type)->name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static hs_status number_kinds(struct key_kinds *kinds, const struct named *named, size_t n,
                              struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&kinds->names, n + 1, err));
    HS_TRY(HS_ALLOC(&kinds->types, n + 1, err));
    kinds->types[KEY_KIND_BLOCK] = HS_UNTYPED;
    kinds->n = 1;
    for (size_t i = 0; i < n; i++) {
        bool is_new = i == 0 || named[i].name != named[i - 1].name;
        if (named[i].name == 0 || (is_new && kinds->n == KEY_KINDS_MOST))
            continue;
        if (is_new) {
            kinds->names[kinds->n] = named[i].name;
            kinds->types[kinds->n++] = named[i].type;
        }
        kinds->of_type[named[i].type] = kinds->n - 1;
    }
    return HS_OK;
}

static hs_status find_kinds(const struct hs_view *view, struct hs_strtab *names,
                            struct key_kinds *kinds, struct hs_error *err)
{
    size_t n = view->totals->n_types;
    hs_auto_free struct named *named = NULL;
    hs_str unknown;
    HS_TRY(HS_ALLOC(&named, n, err));
    HS_TRY(HS_ALLOC(&kinds->of_type, n, err));
    HS_TRY(hs_strtab_add(names, UNKNOWN, &unknown, err));
    for (uint32_t type = 0; type < n; type++) {
        named[type].type = type;
        HS_TRY(name_type(view, type, names, &named[type].name, err));
        if (named[type].name == unknown)
            named[type].name = 0;
    }
    qsort_r(named, n, sizeof *named, compare_named, names);
    HS_TRY(number_kinds(kinds, named, n, err));
    kinds->names[KEY_KIND_BLOCK] = unknown;
    HS_TRY(HS_ALLOC(&kinds->is_container, kinds->n, err));
    for (uint32_t kind = 0; kind < kinds->n; kind++)
        kinds->is_container[kind] = is_container(view, kinds->types[kind]);
    return HS_OK;
}

hs_status key_kinds_init(const struct hs_view *view, struct hs_strtab *names, struct key_kinds *ret,
                         struct hs_error *err)
{
    struct key_kinds kinds = {0};
    hs_status status = find_kinds(view, names, &kinds, err);
    if (status == HS_OK)
        *ret = kinds;
    else
        key_kinds_fini(&kinds);
    return status;
}
