/* Types that belong together, of OCaml programs whose source types are known. A block's type is
 * written with its constructor, and that of a polymorphic type with its arguments:
 *
 *   constructor   Constr.t.App    int Map.Make(Int).t    (Names.Id.t * Constr.t) list
 *   instance      Constr.t        int Map.Make(Int).t    (Names.Id.t * Constr.t) list
 *   head          Constr.t        Map.Make(_).t          list
 *
 * Other programs' types are families of their own. */
#ifndef HS_ANALYSIS_TYPE_FAMILY_H
#define HS_ANALYSIS_TYPE_FAMILY_H

#include "analysis/view.h"
#include "base/bitmap.h"

/* The levels of a family, in the order of the option's choices. */
enum hs_type_level { HS_TYPE_CONSTRUCTOR, HS_TYPE_INSTANCE, HS_TYPE_HEAD };

enum { HS_TYPE_NAME_BYTES = 4096 };
#define HS_UNTYPED UINT32_MAX /* blocks of which nothing is known but their sizes */

/* Tells whether the type is a source type of OCaml. */
bool hs_type_is_source(const struct hs_view *view, uint32_t type);

/* Tells whether the type says more of a block than its size, its tag, or where it is. */
bool hs_type_is_known(const struct hs_view *view, uint32_t type);

/* Writes the name of a type's family, cut at n bytes. */
void hs_type_family_name(const struct hs_view *view, uint32_t type, enum hs_type_level level,
                         char *text, size_t n);

/* Numbers the families: ret[type] is the smallest type of its family. hs_free. O(types). */
hs_status hs_type_families(const struct hs_view *view, enum hs_type_level level, uint32_t **ret,
                           struct hs_error *err);

struct hs_type_family {
    uint32_t first; /* the smallest of its types */
    enum hs_type_level level;
};

/* The family that a name means: of a type that is called so, or else of instances, or else of
 * heads. False when there is none. */
bool hs_type_family_find(const struct hs_view *view, const char *name, struct hs_type_family *ret);
/* Finds the types of a family, as bits by type: hs_bitmap_fini. A constructor's family is its first
 * type. */
hs_status hs_type_family_members(const struct hs_view *view, struct hs_type_family family,
                                 struct hs_bitmap *ret, struct hs_error *err);

#endif
