/* The memory that hangs on plain pointers of C++, which do not say who frees. */
#include <string.h>

#include "base/alloc.h"
#include "group_tree.h"

/* Records of the program: what libraries have they see to. Records of C are called struct. */
static bool is_of_program(const char *name)
{
    static const char *const others[] = {"std::", "__", "struct ", "union ", "boost::", "Qt"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return false;
    return name[0] != 'Q' || name[1] < 'A' || name[1] > 'Z';
}

/* Tells whether `pointer` is "NAME *", or with `end` " *[]" an array of these. */
static bool leads_to(const char *pointer, const char *name, const char *end)
{
    size_t n = strlen(name);
    return strncmp(pointer, name, n) == 0 && strcmp(pointer + n, end) == 0;
}

/* Tells whether blocks of type `above` have plain pointers to ones of type `below`: containers and
 * smart pointers are not said to have any (struct hs_member). */
static bool is_plain(const struct hs_view *view, uint32_t above, uint32_t below)
{
    if (above == HS_UNTYPED || below == HS_UNTYPED)
        return false;
    const struct hs_type *type = hs_snap_type(view->snap, below);
    const char *name = hs_view_string(view, type->name);
    size_t n;
    if (type->form != HS_FORM_RECORD || !is_of_program(name))
        return false;
    if (leads_to(hs_view_string(view, hs_snap_type(view->snap, above)->name), name, " *[]"))
        return true;
    const struct hs_member *members = hs_snap_members(view->snap, above, &n);
    for (size_t i = 0; i < n; i++)
        if (leads_to(hs_view_string(view, members[i].type_name), name, " *"))
            return true;
    return false;
}

/* Tells whether the program has smart pointers to such records: then these own them, and plain ones
 * do not. */
static bool has_smart_pointers(const struct hs_view *view, uint32_t type)
{
    static const char *const pointers[] = {"unique_ptr<", "shared_ptr<", "make_shared<"};
    const char *wanted = hs_view_string(view, hs_snap_type(view->snap, type)->name);
    size_t n = strlen(wanted);

    for (uint32_t i = 0; i < view->totals->n_types; i++) {
        const char *name = hs_view_string(view, hs_snap_type(view->snap, i)->name);
        for (size_t k = 0; k < sizeof pointers / sizeof *pointers; k++) {
            const char *at = strstr(name, pointers[k]);
            for (; at != NULL; at = strstr(at, pointers[k])) {
                at += strlen(pointers[k]);
                if (strncmp(at, wanted, n) == 0 && (at[n] == '>' || at[n] == ','))
                    return true;
            }
        }
    }
    return false;
}

/* Tells whether the program is of C++: in C all pointers are plain, and who frees is the program's
 * business, as everybody knows. */
static bool is_cpp(const struct hs_view *view)
{
    for (uint32_t i = 0; i < view->totals->n_types; i++) {
        const struct hs_type *type = hs_snap_type(view->snap, i);
        if ((type->form == HS_FORM_RECORD || type->form == HS_FORM_POINTER) &&
            strncmp(hs_view_string(view, type->name), "std::", 5) == 0)
            return true;
    }
    return false;
}

hs_status hs_group_plain_words(const struct hs_group_tree *tree, uint64_t *ret,
                               struct hs_error *err)
{
    const struct hs_view *view = tree->kinds->view;
    const uint32_t *types = tree->kinds->types;
    hs_auto_free bool *hangs = NULL; /* by group: that it or one above it hangs on such pointers */
    *ret = 0;
    if (!is_cpp(view))
        return HS_OK;
    HS_TRY(HS_ALLOC(&hangs, tree->n, err));
    for (uint32_t i = 1; i < tree->n; i++) {
        const struct hs_group *group = &tree->groups[i];
        uint32_t type = types[group->kind];
        hangs[i] = hangs[group->parent] ||
                   ((is_plain(view, types[tree->groups[group->parent].kind], type) ||
                     (group->n_blocks > 1 && is_plain(view, type, type))) &&
                    !has_smart_pointers(view, type));
        if (hangs[i] && !hangs[group->parent])
            *ret += group->words;
    }
    return HS_OK;
}
