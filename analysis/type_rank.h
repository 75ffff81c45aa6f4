/* The rank of a type's name for whoever looks for a cause: a class of the program's own more than a
 * library's, a library's more than a container's, and that more than an array or a dict. */
#ifndef HS_ANALYSIS_TYPE_RANK_H
#define HS_ANALYSIS_TYPE_RANK_H

#include "snapshot/model.h"

enum hs_type_rank {
    HS_RANK_NOTHING,    /* blocks of a size, keys and items of dicts, mappings, Python's numbers and
                           texts */
    HS_RANK_BUILTIN,    /* dict, list, str, function, frame of Python */
    HS_RANK_ARRAY,      /* T[], numbers, characters */
    HS_RANK_PLAIN,      /* OCaml's list, option and array, list-cells and map-nodes */
    HS_RANK_CONTAINER,  /* std::, alloc::, GList */
    HS_RANK_COLLECTION, /* collections, weakref, functools of Python; Stdlib of OCaml */
    HS_RANK_ERROR,      /* exceptions that Python has */
    HS_RANK_CLOSURE,    /* of the program */
    HS_RANK_LIBRARY,    /* asyncio, boost, absl, google */
    HS_RANK_RECORD,     /* classes and records of the program and of its libraries */
    HS_RANK_ATTRIBUTES, /* of instances of the main module's classes */
    HS_RANK_MAIN        /* of the main module of Python */
};

/* Ranks a type by its name and form. A smart pointer or a shared allocation of X is as much as
 * X. */
enum hs_type_rank hs_type_rank(const char *name, unsigned form);

/* Tells whether blocks of a type are parts of Python's objects: the items of a list, the table of a
 * dict, the attributes of an instance have blocks of their own and no name in a program. */
bool hs_type_is_part(const char *name, unsigned form);

/* Tells whether the rank is more than a container's: a name that a maintainer would use. */
static inline bool hs_rank_is_class(enum hs_type_rank rank)
{
    return rank >= HS_RANK_COLLECTION;
}

#endif
