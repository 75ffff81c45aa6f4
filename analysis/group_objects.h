/* The objects among groups of blocks: of Python, of C types of an interpreter, and without a type.
 */
#ifndef HS_ANALYSIS_GROUP_OBJECTS_H
#define HS_ANALYSIS_GROUP_OBJECTS_H

#include "group_tree.h"
#include "type_rank.h"

static inline enum hs_type_rank hs_group_rank(const struct hs_group_tree *tree, uint32_t group)
{
    return (enum hs_type_rank)tree->kinds->ranks[tree->groups[group].kind];
}

/* Tells whether a group is another or hangs on it. */
static inline bool hs_group_is_below(const struct hs_group_tree *tree, uint32_t group,
                                     uint32_t above)
{
    while (group != HS_NO_GROUP && group > above)
        group = tree->groups[group].parent;
    return group == above;
}

static inline bool hs_group_is_of_python(const struct hs_group_kinds *kinds, uint32_t kind)
{
    return kinds->types[kind] != HS_UNTYPED &&
           hs_snap_type(kinds->view->snap, kinds->types[kind])->form == HS_FORM_PYTHON;
}

/* Tells whether nothing is known of the words of a kind: what it may be is a guess, or no more than
 * a name. */
bool hs_group_is_untyped(const struct hs_group_kinds *kinds, uint32_t kind);

/* Tells whether it is an object of Python that is no collection, and has its memory of C by itself:
 * a connection of sqlite3, a context of ssl. */
bool hs_group_is_of_c(const struct hs_group_tree *tree, uint32_t group);

/* Finds below a class the object of C, other than of that class, by which it has memory without a
 * type: the group above blocks of none that has most. HS_NO_GROUP: there is none. O(groups). */
uint32_t hs_group_of_c_below(const struct hs_group_tree *tree, uint32_t class);

/* Finds the class of the entries that keep blocks without a type together. A list or dict of Python
 * leads to objects alone: memory of C that hangs on it hangs on several of its entries, as what
 * connections of a library share, or seem to by old words. HS_NO_GROUP: there is no such class. */
uint32_t hs_group_entries_of(const struct hs_group_tree *tree, uint32_t group);

#endif
