/* The data of a hs_ctypes. Each of its sources stands on those before it: pool.c (files, text),
 * fixed.c, names.c (what entries are called), index.c (the pass over a file), find.c, containers.c,
 * choices.c, variants.c, build.c (types from entries), type_names.c, rules.c (of containers),
 * parts.c, slots.c, place.c, enclosing.c, ctypes.c (variables), told.c, tokio.c. Before rules.c
 * stands qt.c (containers of Qt), after it tail.c (what is behind records).
 *
 * Memory that runs out inside a function without a status leaves its answer unknown, counts as
 * damage and is told by hs_ctypes_ran_out_. */
#ifndef HS_TYPES_POOL_H
#define HS_TYPES_POOL_H

#include "ctypes_private.h"
#include "directory.h"
#include "dwarf/locals_line.h"

enum {
    CTYPES_MAX_FILES = 1 << 14,
    CTYPES_MAX_TYPES = 1 << 22,
    CTYPES_MAX_HOPS = 64,    /* typedefs in a row, arrays in arrays */
    CTYPES_MAX_NESTED = 512, /* values in values: Boost's operators are a chain of 100 bases */
    CTYPES_MAX_ALL_SLOTS = 1 << 24, /* kept, of all types */
    CTYPES_MAX_CHOICES = 1 << 22,   /* kept, of all types; as many conditions */
    CTYPES_MAX_CHAIN = 8,           /* conditions of one choice */
    CTYPES_MAX_DIMENSIONS = 8,
    CTYPES_MAX_NAME = 4096,
};

/* A variable with a fixed place. */
struct ctypes_variable {
    uint64_t vaddr;
    hs_die die;
    uint32_t detail; /* number from 1 in ctypes_file.details; 0: not asked for yet */
};

struct ctypes_variables {
    struct ctypes_variable *items; /* owned */
    size_t n, capacity;
    size_t n_sorted; /* all or an earlier number: ascending by vaddr */
};

/* An entry whose name qualifies those of others: namespace, record, function. */
struct ctypes_scope {
    hs_die die, end;
    uint32_t parent; /* number from 1; 0: the unit */
};

struct ctypes_function {
    hs_addr begin, end;
    hs_die die;
};

/* A record that has another of a certain name at a certain place, or begins as others do. */
struct ctypes_enclosing {
    uint64_t key; /* of the name and the place, or of the members that it begins with */
    hs_ctype record;
    uint32_t n_bytes; /* of the record */
};

/* A record by its size: only those of sizes that were asked for are looked into. */
struct ctypes_sized {
    hs_die die; /* of C's typedef of a record without a name, the typedef */
    uint32_t n_bytes;
    bool is_cpp;
};

/* The entries listed of a unit that was touched. */
struct ctypes_unit {
    struct ctypes_scope *scopes; /* owned, ascending by die */
    size_t n_scopes, scopes_capacity;
    struct ctypes_function *functions; /* owned, ascending by begin */
    size_t n_functions, functions_capacity;
    struct line_marks lines; /* of locals_line.c */
    bool has_scopes, has_functions, is_indexed;
};

struct ctypes_file {
    struct hs_elf *elf; /* borrowed */
    struct debug_info info;
    struct ctypes_unit *units; /* owned; [unit of info], allocated at the first need */
    struct ctypes_variables variables, tls;
    struct hs_cvariable *details; /* owned */
    size_t n_details, details_capacity;
    struct hs_dict types; /* by entry */
    struct hs_dict names; /* by hash of the name: the entry, twice, plus 1 for a typedef */
    hs_die *late;         /* owned: records named by what they complete */
    size_t n_late, late_capacity;
    struct ctypes_enclosing *enclosing; /* owned, each once, ascending by key and size; listed at
                                           the first question */
    size_t n_enclosing, enclosing_capacity;
    struct ctypes_sized *sized; /* owned: all records, ascending by size and entry */
    size_t n_sized, sized_capacity;
    struct hs_dict sizes; /* of these (/ 8) what is in `enclosing` */
    struct debug_directory directory;
    size_t n_asked; /* variables that were looked for through it */
    bool is_indexed, has_directory, has_enclosing, has_sized;
};

/* A name that is looked for: hashes of all of it and of its last part. */
struct ctypes_wanted {
    uint64_t whole, last;
};

enum {
    TYPE_BUILT = 1 << 0,
    TYPE_DECLARED = 1 << 1, /* named only */
    TYPE_FLATTENED = 1 << 2,
    TYPE_FLATTENING = 1 << 3,
    TYPE_CUT = 1 << 4,       /* its slots are not all */
    TYPE_HAS_NAME = 1 << 5,  /* `name` was asked for */
    TYPE_REFERENCE = 1 << 6, /* a C++ reference */
    TYPE_CODE = 1 << 7,      /* a function, or (a scalar) a pointer to one */
    TYPE_HIDES = 1 << 8,     /* an integer that may be a pointer */
    TYPE_TEXT = 1 << 9,      /* the bytes of a text */
    TYPE_DANGLES = 1 << 10,  /* Rust's: its pointers may lead nowhere */
    TYPE_ITEMS = 1 << 11,    /* made for a QList of Qt: behind it are items, of the type `of` */
    TYPE_WEAK = 1 << 12,     /* its pointers find, and do not keep */
    TYPE_FREES = 1 << 13,    /* a record that may free what its own pointers lead to */
    TYPE_OWNS = 1 << 14,     /* a smart pointer or a container of C++: it does free it */
};

struct ctypes_type {
    hs_die die; /* 0: made here */
    uint32_t file;
    uint16_t flags;
    uint8_t kind, rule; /* rule: number from 1 in the table of containers */
    uint64_t n_bytes;   /* as told; arrays are multiplied out when asked */
    uint64_t n_elements;
    hs_ctype of;
    hs_ctype definition; /* of what this was only a declaration: members and slots are its */
    uint32_t first_member, n_members;
    uint32_t n_slots;
    uint8_t weak_by;   /* with TYPE_WEAK: see struct hs_cslot */
    const char *alias; /* the typedef through which it was reached first, for want of a name */
    const char *name;
    struct hs_cslot *slots; /* owned, unless definition is not 0 */
};

struct ctypes_member {
    uint64_t offset;
    const char *name; /* "" for what is passed through: base classes, unnamed members */
    hs_ctype type;
    uint32_t first_when, n_whens; /* what must hold for it to be there; from the record's start */
    bool finds;                   /* by a rule, number `find_by`: its pointers do not keep */
    uint8_t find_by;
};

/* ---- choices.c: what a value tells of itself */

enum ctypes_when_kind {
    WHEN_IS,
    WHEN_IS_NOT,
    WHEN_ODD,
    WHEN_COUNTED, /* counted.c: `low` is the number of an element, `high` how many there are */
    WHEN_DIFFER,  /* the number `low` bytes further on is another one */
    WHEN_BELOW,   /* counted.c: elements of `high` bytes, as many as the number says, are there */
    WHEN_USED_END,
    WHEN_USED_COUNT,
    WHEN_USED_ROOM,   /* a number of elements; that for which there is room is `low` bytes further
                         on and has `high` bytes, 0: it is not told */
    WHEN_USED_RING,   /* the number of one end of a ring; that of the other is `low` bytes further
                         on; `high`: enum ctypes_ring */
    WHEN_USED_LAST,   /* the address of the last pointer in use */
    WHEN_USED_HEAD,   /* the number of the first element in use: COUNT is from there */
    WHEN_USED_TAIL,   /* the number of the one behind the last */
    WHEN_USED_FROM,   /* the address of the first element in use, when it is in the same block */
    WHEN_USED_BEFORE, /* behind the last one, when it is in the same block */
    WHEN_USED_LIST,   /* the first of the bytes that say which elements are in use */
    WHEN_TABLE,
    WHEN_CODE
};

/* Tells which end of a ring goes first. */
enum ctypes_ring { RING_EITHER, RING_OTHER_FIRST, RING_FIRST };

/* A number in [low, high], or not; the word that tells how much of an array is in use; or the word
 * that tells what a pointer leads to. */
struct ctypes_when {
    int64_t at; /* from the record's start, or from the slot */
    uint64_t low, high;
    uint8_t n_bytes, kind;
};

/* A pointer to `pointee`, if all of its conditions hold. */
struct ctypes_choice {
    hs_ctype pointee;
    uint32_t first_when, n_whens;
};

/* A pointer of a union that nothing tells apart, by the record that may have a number for it. */
struct ctypes_untold {
    hs_ctype record;
    bool has_numbers;
    uint64_t offset;
};

/* A slot while a type is laid out flat, and the conditions of the member that it is in. */
struct ctypes_found {
    struct hs_cslot slot;
    uint32_t first_when, n_whens;
};

struct ctypes_kept {
    char *text; /* owned block */
    size_t n, capacity;
};

struct hs_ctypes {
    const struct hs_rules *rules; /* borrowed; NULL: none are known */
    struct ctypes_file **files;   /* owned */
    size_t n_files, files_capacity;
    struct ctypes_type *items; /* owned; [0] stays unknown */
    size_t n_types, types_capacity;
    struct ctypes_member *members; /* owned */
    size_t n_members, members_capacity;
    struct ctypes_kept *kept; /* owned: blocks of text that do not move */
    size_t n_kept, kept_capacity;
    const char **texts; /* owned: those in the blocks */
    size_t n_texts, texts_capacity;
    struct hs_table by_text;
    struct ctypes_found *scratch; /* owned: slots of the type that is being flattened */
    size_t n_scratch, scratch_capacity;
    struct ctypes_choice *choices; /* owned */
    size_t n_choices, choices_capacity;
    struct ctypes_when *whens; /* owned */
    size_t n_whens, whens_capacity;
    struct ctypes_untold *untold; /* owned: a slot's first_choice is a number from 1 */
    size_t n_untold, untold_capacity;
    size_t n_all_slots;
    hs_ctype hidden_pointer;     /* uintptr_t; 0 until met */
    hs_ctype text;               /* u8 of Rust's texts; 0 until met */
    struct elf_view_total views; /* of all files */
    size_t most_list_bytes;      /* 0: no bound */
    uint64_t n_damaged;
    bool ran_out, was_full;
};

/* Gives the sections' bytes back when they are many: for places where nobody holds any. */
void hs_ctypes_trim_(struct hs_ctypes *types);
/* Tells whether lists take more than they may; noted. */
bool hs_ctypes_is_full_(struct hs_ctypes *types);
/* Counts a failed allocation. */
void hs_ctypes_out_(struct hs_ctypes *types);
struct ctypes_file *hs_ctypes_file_(struct hs_ctypes *types, hs_type_file file);
/* Finds the notes on a unit of the file; NULL out of memory. */
struct ctypes_unit *hs_ctypes_unit_(struct hs_ctypes *types, struct ctypes_file *file,
                                    const struct debug_unit *unit);

/* index.c: one pass over all entries of the file or of one unit, once. False when that was
 * done before. */
void hs_ctypes_index_(struct hs_ctypes *types, hs_type_file number);
bool hs_ctypes_index_unit_(struct hs_ctypes *types, hs_type_file number, size_t unit);
/* Finds the record (or typedef) of this hash in what is indexed, 0 when none. */
hs_die hs_ctypes_indexed_(const struct ctypes_file *file, uint64_t hash, bool *ret_is_typedef);
void hs_ctypes_sort_(struct ctypes_variables *variables);

/* find.c */
struct ctypes_wanted hs_ctypes_wanted_(const char *text, size_t n_bytes);
/* Finds the record of this name in a file, 0 when none. Indexes what may have it. */
hs_die hs_ctypes_named_(struct hs_ctypes *types, hs_type_file number,
                        const struct ctypes_wanted *wanted);
/* Indexes what may tell of the variable that has the symbol (or NULL); false when there is nothing
 * more. */
bool hs_ctypes_index_for_(struct hs_ctypes *types, hs_type_file number,
                          const struct hs_elf_symbol *symbol);
/* Looks in *file first, then in the others: *file is then the one that has it. */
hs_die hs_ctypes_named_any_(struct hs_ctypes *types, hs_type_file *file,
                            const struct ctypes_wanted *wanted);
/* fixed.c: the fixed place of a variable: 1 an address, 2 an offset in the thread's block, 0
 * neither. */
enum ctypes_place_kind { PLACE_NONE, PLACE_FIXED, PLACE_TLS };
enum ctypes_place_kind hs_ctypes_fixed_place_(struct debug_info *info,
                                              const struct debug_unit *unit,
                                              const struct debug_value *location, uint64_t *ret);

/* hash.c: names as keys, whatever compiler or demangler wrote them. */
#define CTYPES_HASH_SEED UINT64_C(0xcbf29ce484222325)
uint64_t hs_ctypes_hash_(uint64_t hash, const char *text, size_t n_bytes);

/* Lists all records of a file by their sizes, once. */
void hs_ctypes_list_sizes_(struct hs_ctypes *types, hs_type_file file);

/* build.c. `resolve` looks through typedefs and qualifiers and builds nothing; `get` builds
 * the type itself and nothing else. The pointer is valid until the next resolve or get. */
hs_ctype hs_ctypes_resolve_(struct hs_ctypes *types, hs_type_file file, hs_die die);
unsigned hs_ctypes_language_(const struct debug_entry *entry); /* enum hs_rule_language */
struct ctypes_type *hs_ctypes_get_(struct hs_ctypes *types, hs_ctype type);
hs_ctype hs_ctypes_make_(struct hs_ctypes *types, const struct ctypes_type *made);
hs_ctype hs_ctypes_pointer_to_(struct hs_ctypes *types, hs_ctype of, hs_type_file file);
uint64_t hs_ctypes_size_(struct hs_ctypes *types, hs_ctype type);
/* Finds type argument number `wanted`, from 0, of a template. */
hs_ctype hs_ctypes_argument_(struct hs_ctypes *types, hs_type_file file, hs_die die, int wanted);
/* Finds a record or typedef by name, in `file` first. */
hs_ctype hs_ctypes_find_wanted_(struct hs_ctypes *types, hs_type_file file,
                                const struct ctypes_wanted *wanted);

/* Adds a member of a record that is made here; all of one, one after the other. */
void hs_ctypes_member_add_(struct hs_ctypes *types, struct ctypes_type *type, uint64_t offset,
                           hs_ctype of, const char *name);

/* choices.c: false when memory or the room for them is at its end. */
bool hs_ctypes_when_add_(struct hs_ctypes *types, const struct ctypes_when *when);
/* Adds one more choice of the slots at `offset` of a record: a chain of conditions from the slot,
 * then `n` conditions from the record's start. */
bool hs_ctypes_choice_add_(struct hs_ctypes *types, const struct ctypes_choice *inner,
                           uint64_t offset, uint32_t first_when, uint32_t n_whens);
/* Marks the places where a record has a pointer and a discriminant beside it: conditions on its
 * members. `name` is the record's own. */
void hs_ctypes_mark_told_(struct hs_ctypes *types, const struct ctypes_type *type, const char *name,
                          bool is_rust);

/* Returns the part of a member's name that is its own: without m_, _M_ and underscores around it.
 */
const char *hs_ctypes_own_name_(const char *name, size_t *ret_n);

/* counted.c: of the array of pointers at `array_at`, or that the pointer there leads to, another
 * member tells what is in use, by a condition from the record's start; that of an element has its
 * number in `low`. */
struct ctypes_counted {
    uint64_t array_at;
    struct ctypes_when when;
};
bool hs_ctypes_counted_by_(struct hs_ctypes *types, const struct ctypes_type *type,
                           struct ctypes_counted *ret);

/* gone.c: has the pointers of a record of C that an enumeration says are gone be none. */
void hs_ctypes_mark_gone_(struct hs_ctypes *types, const struct ctypes_type *type);

/* untold.c: notes the record around those of its slots that are untold. */
void hs_ctypes_untold_adopt_(struct hs_ctypes *types, hs_ctype number);

/* slots.c */
void hs_ctypes_flatten_(struct hs_ctypes *types, hs_ctype type);

/* names.c */
/* Finds the innermost scope around an entry; false when it stands in none. */
bool hs_ctypes_scope_around_(struct hs_ctypes *types, hs_type_file file,
                             const struct debug_entry *entry, struct debug_entry *ret);
size_t hs_ctypes_qualified_(struct hs_ctypes *types, hs_type_file file,
                            const struct debug_entry *entry, char *text, size_t n_text);
/* type_names.c */
/* Tells whether the language is C or Objective-C, of any year. */
bool hs_language_is_c_(uint16_t language);
/* Tells whether it is C++, likewise. */
bool hs_language_is_cpp_(uint16_t language);
const char *hs_ctypes_type_name_(struct hs_ctypes *types, hs_ctype type);
/* pretty.c: rewrites a name as people write it; returns its length. */
size_t hs_ctypes_pretty_(const char *name, char *text, size_t n_text);

/* rules.c */
/* Returns what a place calls a member of `type` that its compiler named; NULL when the place goes
 * on through it without a name. `before`: the member of whose type this one is, "" at first. */
const char *hs_ctypes_rule_member_(struct hs_ctypes *types, hs_ctype type, const char *before,
                                   const char *name);
/* qt.c: the record with the same arguments as a container of Qt; 0 when it is not described. */
hs_ctype hs_ctypes_node_(struct hs_ctypes *types, hs_ctype container, const char *node);
/* Points the slot of a flattened container of Qt 5 to what it has, of the container's types. */
void hs_ctypes_qt_apply_(struct hs_ctypes *types, hs_ctype container, const char *rule,
                         struct ctypes_found *found, size_t n);

/* libcxx.c: whether a record is a node of libc++, or the base of nodes that links lead to. */
bool hs_ctypes_libcxx_is_node_(struct hs_ctypes *types, hs_ctype number);
/* Points the slots of a flattened record of libc++ to nodes instead of their base. */
void hs_ctypes_libcxx_apply_(struct hs_ctypes *types, hs_ctype type, struct ctypes_found *found,
                             size_t n);

/* Points the slots of a flattened container, or of its node, to nodes instead of their base; those
 * of a text of Rust's to the bytes of one. */
void hs_ctypes_rule_apply_(struct hs_ctypes *types, hs_ctype type, struct ctypes_found *found,
                           size_t n);

#endif
