/* The types of blocks as the snapshot names them, each once: of the debug information, of C++'s
 * run-time type information, of Python, and sizes where nothing is known. Their numbers from 1 are
 * what a block's type is while types flow; the number minus 1 is the index in the snapshot.
 *
 * Two units that describe one type give one type here when name, size and pointers agree. */
#ifndef HS_NATIVE_TYPES_H
#define HS_NATIVE_TYPES_H

#include "base/strtab.h"
#include "base/table.h"
#include "runtimes/runtime.h"
#include "snapshot/model.h"
#include "symbols/ctypes.h"

typedef uint32_t hs_ntype; /* 0: none */

enum { HS_DELETED_SIZES = 8 };
struct hs_deleted_sizes {
    uint32_t bytes[HS_DELETED_SIZES];
    size_t n;
    bool are_more; /* than are here: nothing is known then */
};

struct hs_native_type {
    struct hs_type type; /* as written */
    hs_ctype ctype;      /* 0: not of the debug information: nothing is known of its words */
    uint64_t n_bytes;    /* of one element; 0 when ctype is 0, unless is_sized */
    const struct hs_cslot *slots; /* borrowed: the pointers in an element, ascending */
    size_t n_slots;
    uint64_t said_bytes;  /* what slots tell of an element: [0, said_bytes) */
    hs_ctype larger;      /* see hs_ctypes_larger */
    uint64_t heir_bytes;  /* see hs_ctypes_largest_heir */
    struct hs_ctail tail; /* see hs_ctypes_tail; element 0: none, or numbers */
    hs_ntype tail_type;   /* of an element; 0 until types flowed from a block of this one */
    hs_ctype counted;     /* see hs_ctypes_counted */
    uint64_t counted_at;  /* where the value is in it */
    uint8_t depth;        /* see hs_ctypes_depth */
    bool is_node;         /* see hs_ctypes_is_node */
    bool is_shared_box;   /* a counter and its value in one: make_shared */
    bool is_ring_head;    /* begins with a pointer to such: links lead to what has it, too */
    bool may_be_numbered; /* see hs_ctypes_may_be_numbered */
    bool is_array;
    bool has_pointees;  /* types flow on from it */
    bool has_unaligned; /* pointers that are not at multiples of 8 */
    bool has_untold;    /* pointers in unions that nothing tells apart: unions.h */
    bool has_ends;      /* pointers whose names say that they are ends */
    bool is_header;     /* see hs_ctypes_is_header */
    bool is_open;       /* behind a record may be more of it that is not known */
    bool is_open_text;  /* behind a record are numbers or characters of its last member */
    bool is_memory;     /* bytes of any use: nothing is known of its words */
    bool is_table;      /* the buckets of a hash table (swiss.h): of some there is nothing in */
    bool is_of_middle;  /* by a pointer into the middle */
    bool is_plain;      /* no word of it is a pointer; of a type without a ctype */
    bool is_sized;      /* of a type without a ctype: what lies behind n_bytes is not of it */
    bool is_own_word;   /* an object says itself that it is of this type */
    bool is_dynamic;    /* by its virtual table, and nothing else is known: n_bytes is of the least
                           block that has one, or what `deleted` says of it */
    bool is_ambiguous;  /* of several classes with one name: no dynamic type */
    struct hs_deleted_sizes deleted; /* of a dynamic type: its size may be one of these */
    bool is_storage;      /* of a vector that is known by its shape: it is its holder's */
    uint16_t other_words; /* bits: the words of an object that lead to others without owning
                             them */
    uint8_t find_by;      /* of an undescribed record: number of the rule by which its words find;
                             0: none */
    uint8_t layout;       /* of an object that its library lays out: see hs_layout_of_class; else
                             0 */
    bool owns_alone;      /* a list whose elements nobody else owns */
    hs_ntype listed_as;   /* 0, or the type that blocks of this one are written with */
    /* The members of an interpreter's object; borrowed from its model. */
    const struct hs_object_member *members;
    size_t n_members;
    struct hs_object_member *own_members; /* owned: of a record by a rule (records.h); else NULL */
};

struct hs_native_types {
    struct hs_strtab *strings;    /* borrowed */
    struct hs_ctypes *ctypes;     /* borrowed; may be NULL */
    struct hs_native_type *types; /* owned; number minus 1 */
    size_t n_types, capacity;
    struct hs_dict by_key;
    struct hs_dict
        named; /* names of objects (named.c): the record of each, 0 where there is none */
};

void hs_native_types_fini(struct hs_native_types *types);

static inline const struct hs_native_type *hs_native_type_of(const struct hs_native_types *types,
                                                             hs_ntype type)
{
    return &types->types[type - 1];
}

/* Tells whether a type is a number or a character of a text: no word of such is a pointer, as one
 * of memory of any use may be. */
bool hs_native_is_number(const struct hs_ctype_facts *facts);

/* Finds the type of a value of `ctype`, or of an array of such, and adds it if it is new. *ret is 0
 * when nothing can be said of it: unknown, void, of no size. Arrays are looked through to their
 * elements. Fails with HS_LIMIT, as all here. */
hs_status hs_native_types_of_ctype(struct hs_native_types *types, hs_ctype ctype, bool is_array,
                                   hs_ntype *ret, struct hs_error *err);
/* Returns the type of one value of `ctype` if it was found before; NULL: it was not. */
const struct hs_native_type *hs_native_types_known(const struct hs_native_types *types,
                                                   hs_ctype ctype);
/* Finds the record of Rust's Arc or Rc that a block of n_bytes is when a pointer to `ctype` leads
 * to `offset` in it; 0: none. */
hs_status hs_native_types_counted(struct hs_native_types *types, hs_ctype ctype, uint64_t offset,
                                  uint64_t n_bytes, hs_ctype *ret, struct hs_error *err);
/* An array of values of `ctype` that begin at `at_bytes` of the block, in the word before which is
 * their number. */
hs_status hs_native_types_of_numbered(struct hs_native_types *types, hs_ctype ctype,
                                      uint64_t at_bytes, hs_ntype *ret, struct hs_error *err);
/* The hash table of abseil whose buckets of `ctype` begin at `at_bytes` (at most 2^28) of the block
 * (swiss.h): written as an array. */
hs_status hs_native_types_of_flat(struct hs_native_types *types, hs_ctype ctype, uint64_t at_bytes,
                                  hs_ntype *ret, struct hs_error *err);
/* Finds the type of what stands behind a record of this type, from now on its tail_type; 0: none.
 */
hs_status hs_native_types_of_tail(struct hs_native_types *types, hs_ntype record, hs_ntype *ret,
                                  struct hs_error *err);
/* An array of scalars, as a pointer into the middle of a block says: its name is known, and nothing
 * of its words. */
hs_status hs_native_types_of_middle(struct hs_native_types *types, hs_ctype ctype, hs_ntype *ret,
                                    struct hs_error *err);
/* The buckets of a hash table of Rust: written as an array. */
hs_status hs_native_types_of_table(struct hs_native_types *types, hs_ctype ctype, hs_ntype *ret,
                                   struct hs_error *err);
/* A name of a form: of run-time type information, of Python, a pool, a mapping. */
hs_status hs_native_types_of_name(struct hs_native_types *types, const char *name,
                                  enum hs_type_form form, hs_ntype *ret, struct hs_error *err);
/* The same, of what objects say of themselves. */
hs_status hs_native_types_of_own_word(struct hs_native_types *types, const char *name,
                                      hs_ntype *ret, struct hs_error *err);
/* A name of what holds no pointer: the buffer of a file. */
hs_status hs_native_types_of_plain(struct hs_native_types *types, const char *name, hs_ntype *ret,
                                   struct hs_error *err);
/* A name of what says itself how many bytes it has (less than 2^24; 0: all of its block), and
 * nothing of its words. */
hs_status hs_native_types_of_sized(struct hs_native_types *types, hs_str name, uint64_t n_bytes,
                                   hs_ntype *ret, struct hs_error *err);
/* An array of such, of which all that is known is how many bytes each has. */
hs_status hs_native_types_of_elements(struct hs_native_types *types, hs_str name,
                                      uint64_t element_bytes, hs_ntype *ret, struct hs_error *err);
/* An array behind the number of its elements, of each of which only the words of `slots` (borrowed;
 * static) may be pointers. */
hs_status hs_native_types_of_slotted(struct hs_native_types *types, hs_str name,
                                     uint64_t element_bytes, const struct hs_cslot *slots,
                                     size_t n_slots, hs_ntype *ret, struct hs_error *err);
/* Finds the type of that name, of a block as large as it may be, with these non-owning words. */
hs_status hs_native_types_of_finder(struct hs_native_types *types, hs_str name,
                                    uint16_t other_words, hs_ntype *ret, struct hs_error *err);
/* Finds the type of an interpreter's objects of this number, which is described once. */
hs_status hs_native_types_of_object(struct hs_native_types *types,
                                    const struct hs_interpreter *interpreter, uint32_t number,
                                    hs_ntype *ret, struct hs_error *err);
/* Finds the type of a block of which only the size is known: "block of 48 bytes". */
hs_status hs_native_types_of_size(struct hs_native_types *types, uint64_t n_bytes, hs_ntype *ret,
                                  struct hs_error *err);

/* Lists the types and the members of records for the end of the snapshot; both owned by the caller
 * (hs_free). */
hs_status hs_native_types_list(struct hs_native_types *types, struct hs_type **ret,
                               struct hs_error *err);
hs_status hs_native_types_members(struct hs_native_types *types, struct hs_member **ret,
                                  size_t *ret_n, struct hs_error *err);

#endif
