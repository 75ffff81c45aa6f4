/* Source types of OCaml blocks as tables: a finite automaton whose states are types. Which block a
 * value of a type may lead to is a row (tag, size); a row tells the type of each field.
 *
 * They are the answer of heapsnap-ocaml-types, which reads the program's .cmt files: lines of
 * fields between tabs, types numbered from 0 in the order in which they come. Types may be named
 * before their line; what never gets one is unknown, so an answer that was cut says as much as it
 * can.
 *
 *   #heapsnap-ocaml-types 1                           the first line
 *   #compiler 4.13.1
 *   type    KIND HEAD DISPLAY                         block | leaf | abstract | unknown
 *   inner   TYPE                                      what the newest type is where no row fits
 *   alias   TYPE                                      of what the newest type is another name
 *   row     TYPE TAG SIZE KIND CONSTRUCTOR            SIZE in fields, * any; KIND leaf | fields |
 *                                                     all | ext | hash
 *   child   TYPE LABEL                                of the newest row, ext, captured, held or
 *                                                     scope; a TYPE of - says nothing
 *   case    HASH CONSTRUCTOR TYPE                     of a hash row: what field 1 is
 *   witness FIELD PAYLOAD FAMILY                      of a row: FIELD tells the type of PAYLOAD
 *   known   FAMILY TYPE UNIT SLOT HOW                 where such a witness is: value | captured
 *   root    UNIT SLOT TYPE
 *   key     UNIT SLOT TYPE                            of local storage of OCaml 5's domains: what
 *                                                     is held by it
 *   ext     UNIT SLOT CONSTRUCTOR
 *   captured UNIT FUNCTION N
 *   held    UNIT SLOT IN FUNCTION N                   the same of the closure in a unit's field, of
 *                                                     a function of the unit IN
 *   scope   FILE LINE FIRST_CHAR LAST_CHAR
 *   unit    UNIT STATE PATH                           typed | no_cmt | stale | no_file
 *   #stopped WHY                                      not all was said: time, memory, ...
 *   #end types=N rows=N children=N roots=N
 *
 * A text that is empty is written -. All of it is hostile: each line is checked, numbers are
 * bounded, and a line that is none refuses the whole. */
#ifndef HS_SOURCE_TYPES_TABLES_H
#define HS_SOURCE_TYPES_TABLES_H

#include "base/strtab.h"

typedef uint32_t hs_stype; /* number of a type */

#define HS_STYPE_NONE UINT32_MAX            /* nothing is known */
#define HS_STYPE_FORGOTTEN (UINT32_MAX - 1) /* several types: nothing can be said */
#define HS_STYPE_ANY_SIZE UINT32_MAX        /* of a row */
enum { HS_STYPES_MAX = 1 << 20, HS_SROWS_MAX = 1 << 22, HS_SCHILDREN_MAX = 1 << 24 };

enum hs_stype_kind { HS_STYPE_UNKNOWN, HS_STYPE_ABSTRACT, HS_STYPE_LEAF, HS_STYPE_BLOCK };
enum hs_srow_kind { HS_SROW_LEAF, HS_SROW_FIELDS, HS_SROW_ALL, HS_SROW_EXT, HS_SROW_HASH };
enum hs_sunit_state { HS_SUNIT_TYPED, HS_SUNIT_NO_CMT, HS_SUNIT_STALE, HS_SUNIT_NO_FILE };

struct hs_stype_entry {
    hs_str head, display;
    hs_stype inner; /* or HS_STYPE_NONE: not known */
    hs_stype alias; /* or HS_STYPE_NONE: another name of that type, which itself has none */
    uint32_t first_row, n_rows;
    uint8_t kind;
    bool has_inner;
    bool has_constructors; /* several rows with fields are told apart by a constructor */
};

/* Some elements of another array. */
struct hs_spart {
    uint32_t first, n;
};

struct hs_srow {
    hs_stype type;
    uint32_t size; /* in fields, or HS_STYPE_ANY_SIZE */
    uint8_t tag, kind;
    hs_str constructor;
    uint32_t number; /* order of appearance */
    struct hs_spart children, cases, witnesses;
};

struct hs_schild {
    hs_stype type; /* or NONE, FORGOTTEN */
    hs_str label;
};

struct hs_scase {
    int64_t hash;
    hs_str constructor;
    hs_stype type;
    uint32_t number; /* order of appearance */
};

struct hs_switness {
    uint32_t field, payload, family;
};

struct hs_sknown {
    uint32_t family;
    hs_stype type;
    hs_str unit;
    uint32_t slot;
    bool is_captured;
};

struct hs_sroot {
    hs_str unit;
    uint32_t slot;
    hs_stype type;
};

struct hs_sext {
    hs_str unit;
    uint32_t slot;
    hs_str constructor;
    struct hs_spart children; /* of fields 1 and on */
};

/* The variables that closures of a function captured, in the order of their fields. */
struct hs_scaptured {
    hs_str unit, function;
    struct hs_spart children;
};

/* The variables that the closure in a unit's field captured, where that is of such a function. Its
 * variable's type may say more of them than the function's own. */
struct hs_sheld {
    hs_str holder;
    uint32_t slot;
    hs_str unit, function;
    struct hs_spart children;
};

/* The variables in scope at a call. */
struct hs_sscope {
    hs_str file;
    uint32_t line, first_char, last_char;
    struct hs_spart children;
};

struct hs_stables {
    struct hs_strtab strings; /* owned, as all arrays */
    struct hs_stype_entry *types;
    struct hs_srow *rows; /* by type, tag and size */
    struct hs_schild *children;
    struct hs_scase *cases; /* those of a row by hash */
    struct hs_switness *witnesses;
    struct hs_sknown *known;
    struct hs_sroot *roots; /* by unit (number of its string) and slot */
    struct hs_sroot *keys;  /* likewise; a type may be HS_STYPE_NONE */
    struct hs_sext *exts;
    struct hs_scaptured *captured; /* by unit and function */
    struct hs_sheld *held;
    struct hs_sscope *scopes; /* by file, line and characters */
    size_t n_types, types_capacity, n_rows, rows_capacity, n_children, children_capacity;
    size_t n_cases, cases_capacity, n_witnesses, witnesses_capacity, n_known, known_capacity;
    size_t n_roots, roots_capacity, n_keys, keys_capacity, n_exts, exts_capacity;
    size_t n_captured, captured_capacity, n_held, held_capacity, n_scopes, scopes_capacity;
    uint64_t n_units[4]; /* by state */
    hs_str missing[3];   /* the first units that lack types; 0 where there are fewer */
    char compiler[32];   /* the helper's */
    char stopped[24];    /* why the helper ended before its time: "time", "memory"; mostly empty */
    bool is_whole;       /* the last line came */
};

void hs_stables_fini(struct hs_stables *tables);

/* Parses an answer into empty tables. HS_FORMAT with the number of the line that is none; then the
 * tables stay empty. O(n log n). */
hs_status hs_stables_parse(struct hs_stables *tables, const char *text, size_t n_bytes,
                           struct hs_error *err);

/* Returns the row of a type for a block, or NULL. O(log rows of the type). */
const struct hs_srow *hs_stables_row(const struct hs_stables *tables, hs_stype type, unsigned tag,
                                     uint64_t size);
/* Returns the same; where no row fits, that of the inner type, which *type then is. NULL where that
 * takes any block, too. */
const struct hs_srow *hs_stables_fit(const struct hs_stables *tables, hs_stype *type, unsigned tag,
                                     uint64_t size);
/* Returns the type of field 1 where field 0 is `hash`, by a hash row; of several cases of one hash
 * the first tells, and HS_STYPE_NONE says that none does. O(log cases of the row). */
hs_stype hs_stables_case(const struct hs_stables *tables, const struct hs_srow *row, int64_t hash);
/* Returns the type of a unit's field: "Stm", 63; HS_STYPE_NONE when nothing is said of it. O(log
 * n). */
hs_stype hs_stables_root(const struct hs_stables *tables, const char *unit, uint32_t slot);

/* Tells whether a unit's field is a key of local storage, and the type of what is held by it or
 * HS_STYPE_NONE. O(log n). */
bool hs_stables_key(const struct hs_stables *tables, const char *unit, uint32_t slot,
                    hs_stype *ret);

/* Returns the variables that closures of a function captured, or those in scope at a call; NULL
 * when nothing is said of it. O(log n). */
const struct hs_scaptured *hs_stables_captured(const struct hs_stables *tables, const char *unit,
                                               const char *function);
const struct hs_sscope *hs_stables_scope(const struct hs_stables *tables, const char *file,
                                         uint32_t line, uint32_t first_char, uint32_t last_char);

/* Returns, among the answers for one function, from its first on, the one that tells of n
 * variables, or NULL. */
static inline const struct hs_scaptured *hs_scaptured_of(const struct hs_stables *tables,
                                                         uint64_t first, uint64_t n)
{
    if (first >= tables->n_captured)
        return NULL;
    const struct hs_scaptured *found = &tables->captured[first], *wanted = found;
    for (uint64_t i = first; i < tables->n_captured; i++, found++) {
        if (found->unit != wanted->unit || found->function != wanted->function)
            return NULL;
        if (found->children.n == n)
            return found;
    }
    return NULL;
}

/* Returns the type that the type is a name of, or the type itself. */
static inline hs_stype hs_stype_proper(const struct hs_stables *tables, hs_stype type)
{
    return type < tables->n_types && tables->types[type].alias != HS_STYPE_NONE
               ? tables->types[type].alias
               : type;
}

/* Tells whether a type takes any block, and says nothing of it. */
static inline bool hs_stype_is_open(const struct hs_stables *tables, hs_stype type)
{
    return type >= tables->n_types || tables->types[type].kind <= HS_STYPE_ABSTRACT;
}

#endif
