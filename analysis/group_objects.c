#include "group_objects.h"

enum { LEAST_PART = 4 };

bool hs_group_is_untyped(const struct hs_group_kinds *kinds, uint32_t kind)
{
    uint32_t type = kinds->types[kind];
    if (kind == HS_KIND_UNTYPED || type == HS_UNTYPED)
        return kind == HS_KIND_UNTYPED;
    const struct hs_type *of = hs_snap_type(kinds->view->snap, type);
    return of->form == HS_FORM_BYTES ||
           hs_type_is_opaque(hs_view_string(kinds->view, of->name), of->form);
}

bool hs_group_is_of_c(const struct hs_group_tree *tree, uint32_t group)
{
    uint32_t kind = tree->groups[group].kind;

    return hs_group_is_of_python(tree->kinds, kind) && !tree->kinds->are_parts[kind] &&
           hs_rank_is_class(hs_group_rank(tree, group));
}

uint32_t hs_group_of_c_below(const struct hs_group_tree *tree, uint32_t class)
{
    const struct hs_group *groups = tree->groups;
    uint32_t best = HS_NO_GROUP;

    for (uint32_t i = class + 1; i < tree->n; i++) {
        uint32_t above = groups[i].parent;
        if (hs_group_is_untyped(tree->kinds, groups[i].kind) && above > class &&
            hs_group_is_below(tree, above, class) && hs_group_is_of_c(tree, above) &&
            (best == HS_NO_GROUP || groups[above].words > groups[best].words))
            best = above;
    }
    return best == HS_NO_GROUP || groups[best].words < groups[class].words / LEAST_PART
               ? HS_NO_GROUP
               : best;
}

uint32_t hs_group_entries_of(const struct hs_group_tree *tree, uint32_t group)
{
    enum { LEAST = 8 };
    const struct hs_group *groups = tree->groups;
    uint32_t above = group == HS_NO_GROUP ? group : groups[group].parent, best = HS_NO_GROUP;
    if (above == HS_NO_GROUP || !hs_group_is_untyped(tree->kinds, groups[group].kind) ||
        !hs_group_is_of_python(tree->kinds, groups[above].kind) ||
        hs_group_rank(tree, above) > HS_RANK_BUILTIN ||
        groups[group].words < groups[above].words / LEAST_PART)
        return HS_NO_GROUP;
    for (uint32_t i = above + 1; i < tree->n; i++) {
        bool is_entry = groups[i].parent == above && groups[i].n_blocks >= LEAST &&
                        hs_group_is_of_python(tree->kinds, groups[i].kind) &&
                        hs_rank_is_class(hs_group_rank(tree, i));
        if (is_entry && (best == HS_NO_GROUP || groups[i].words > groups[best].words))
            best = i;
    }
    return best;
}
