/* The types and variables of C, C++ and Rust programs, from DWARF 2 to 5, as far as pointers need
 * them: which words of a value are pointers and to what, and what a place in it is called.
 *
 * One pool holds the types of several files (a program and its libraries), each added once. Types
 * are numbers; 0 is "unknown". Two units that describe the same type give two numbers with one
 * name; hs_ctypes_same tells.
 *
 * Lazy: adding a file reads the headers of its units. Where the file has a .gdb_index or
 * .debug_names, a name costs the units that these give for it (and, once, the units that they do
 * not tell of), and a variable those that they give for the name of its symbol; a name that is not
 * in them is not looked for elsewhere. Without, or for variables that they do not lead to (statics
 * of C functions), or when many variables are asked for, the first question makes one linear pass
 * over the file's .debug_info (100 to 200 MB a second) that notes where variables are and where
 * records are described. After that a type costs its own entry and its members; the first name
 * asked for in a unit costs a walk over that unit. Code is found by .debug_aranges, else by the
 * first entry of each unit.
 *
 * Debug information is hostile: entries are read through checked cursors, depth, names, hops and
 * expansions are bounded, cycles end, and what is damaged is as if it were not there
 * (hs_ctypes_n_damaged counts), and so is what a file no longer has that is cut while in use. An
 * index that lies costs names only. Of split DWARF see split.h; dwz's
 * supplementary files are not followed.
 *
 * Resident: of the debug sections what questions read, 64 MiB at most between two of them (but
 * compressed sections whole); 250 bytes per unit, 8 per name of an index, 24 per variable with a
 * fixed place, 24 to 48 per differently named record; of what was asked for, 100 bytes per type, 32
 * per member and condition, 24 per slot, 12 per choice, names once. One thread at a time. */
#ifndef HS_SYMBOLS_CTYPES_H
#define HS_SYMBOLS_CTYPES_H

#include "symbols/elf.h"

struct hs_budget; /* base/budget.h */
struct hs_rules;  /* rules/rules.h */

struct hs_ctypes;
typedef uint32_t hs_ctype;     /* 0: unknown */
typedef uint32_t hs_type_file; /* number of an added file, from 1; 0: none */

enum hs_ctype_kind {
    HS_CTYPE_UNKNOWN,
    HS_CTYPE_SCALAR,  /* numbers, characters, enumerations, pointers to code and to members */
    HS_CTYPE_POINTER, /* references too */
    HS_CTYPE_RECORD,  /* struct, class; a Rust enumeration with data is a union */
    HS_CTYPE_UNION,
    HS_CTYPE_ARRAY,
    HS_CTYPE_VOID
};

struct hs_ctype_facts {
    const char
        *name; /* "struct dict", "dictEntry *", "char [16]", "std::vector<int>"; never NULL */
    uint64_t n_bytes;    /* 0 when unknown or of no size */
    hs_ctype of;         /* what a pointer points to, what an array is made of; else 0 */
    uint64_t n_elements; /* of an array; 0: flexible or unknown */
    const char *alias;   /* of a record: the typedef by which it was found first; NULL: none */
    uint8_t kind;
    bool is_declaration; /* named but described nowhere that could be found; C's `typedef void X` */
    bool is_text;        /* a byte of Rust's String, Vec<u8>, &str or [u8]: no memory of any use */
    bool may_free; /* a record whose values may free what they lead to when they end: one of C++
                      that declares a destructor, any of Rust's */
};

enum { HS_CSLOT_MOST_ALIGNED_BYTES = 4096 };

/* A pointer inside a value. */
struct hs_cslot {
    uint64_t offset_bytes;
    hs_ctype pointee; /* 0 for void *, and where a union has pointers of several types */
    /* The slot may hold something else: an alternative of a union (or of a Rust enumeration) has
     * something else there, or it is a uintptr_t. Other integers are no slots. */
    bool may_be_pointer_only;
    bool is_weak;          /* by a rule, of a weak_ptr: it finds, and does not keep */
    bool is_owned;         /* by a rule: in a smart pointer or a container, which frees it */
    bool may_dangle;       /* of Rust: where there is nothing to lead to it is hs_cslot_dangles */
    uint8_t weak_by;       /* number of the rule by which it is (hs_rule); 0: of none */
    bool is_end;           /* its name says that it is one behind what another member leads to */
    bool is_untold;        /* of a union of C or C++: nothing tells when it is there */
    uint8_t n_choices;     /* not 0: the value tells more of it: hs_ctypes_choose */
    uint32_t first_choice; /* private */
};

/* Tells whether a pointer of Rust that may dangle leads nowhere. That of an empty Vec, Box or slice
 * is the alignment of its elements, which is no address (NonNull::dangling; a page at most), that
 * of Weak::new() all ones, and an AtomicPtr may have a bit for a state. */
static inline bool hs_cslot_dangles(const struct hs_cslot *slot, uint64_t word)
{
    bool is_alignment = word <= HS_CSLOT_MOST_ALIGNED_BYTES && (word & (word - 1)) == 0;
    return slot->may_dangle && (is_alignment || word == UINT64_MAX);
}

/* Tells whether a variable or a member of this name leads behind what another one leads to:
 * "_M_finish", "end_", "end_or_len", "limit". */
bool hs_ctypes_is_end_name(const char *name);

/* The ways in which a word beside a pointer is its discriminant. */
enum hs_ctold_by {
    HS_CTOLD_NOT,   /* nothing more: `pointee` is all */
    HS_CTOLD_TABLE, /* Rust's dyn: the word is the address of the table of a type */
    HS_CTOLD_CODE   /* std::function, std::any: of the function that knows the type */
};

/* The ways in which a vector tells the length in use of its array, behind which is spare capacity;
 * or a deque of a block, in which elements may have gone at both ends. */
enum hs_cused_by {
    HS_CUSED_NOT,   /* nothing */
    HS_CUSED_END,   /* `used` is the address behind the last element in use */
    HS_CUSED_COUNT, /* `used` is the number of elements in use, from the address `used_from` on
                       where that is not 0: of those that stand behind a record then
                       (hs_ctypes_tail) */
    HS_CUSED_RING,  /* `used_from` is the number of the first one, `used` that of the one behind the
                       last; where they go on at the array's start that is less, or too many */
    HS_CUSED_ROOM,  /* `used` is the number of elements in use, `used_from` that for which there is
                       room: by the names of members, so that it is to be believed only where that
                       is the size of the array, and of the elements in use none is empty;
                       UINT64_MAX: it is not told, and the elements must tell more */
    HS_CUSED_BETWEEN, /* likewise: those from number `used_from` to `used` are in use */
    HS_CUSED_ENDS,    /* likewise, or all others: which end of a ring goes first is not told */
    HS_CUSED_BEFORE   /* as END, but an address outside of the block says nothing */
};

enum { HS_CLIST_BYTES = 128, HS_CLIST_NONE = 0xff };

struct hs_cchosen {
    hs_ctype pointee; /* what is declared: "dyn Shape", 0 for void * */
    uint8_t told_by;  /* enum hs_ctold_by: ask hs_ctypes_told of `word` */
    uint8_t used_by;  /* enum hs_cused_by */
    uint64_t word, used;
    uint64_t used_from; /* with END and BEFORE: the address of the first element in use; outside of
                           the block it says nothing */
    int64_t list_at;    /* of HS_CLIST_BYTES bytes, from the slot, each the number of an element in
                           use or HS_CLIST_NONE: of the others there is nothing left; 0: no list */
};

/* Reads n_bytes (1, 2, 4, 8; little endian) of the value so far from the slot; false when they are
 * not there. */
typedef bool hs_cvalue_read(void *context, int64_t from_slot_bytes, unsigned n_bytes,
                            uint64_t *ret);

struct hs_cvariable {
    hs_ctype type;
    const char *name; /* "server", "ns::Class::member", "func::counter" for statics of functions */
    const char *file; /* "" when unknown */
    uint32_t line;
    uint64_t vaddr, n_bytes; /* of the whole variable (TLS: offset in the block) */
};

hs_status hs_ctypes_new(struct hs_ctypes **ret, struct hs_error *err);
void hs_ctypes_free(struct hs_ctypes *types);
HS_DEFINE_AUTO(hs_ctypes, free)

/* Applies the rules, by name, that say which records own what their pointers lead to and which hold
 * weak references: borrowed until free. Before the first question. Without, none does either. */
void hs_ctypes_use_rules(struct hs_ctypes *types, const struct hs_rules *rules);

/* Bounds memory, 0 for the default: that of large sections between two questions (64 MiB; they are
 * read again when they are needed again), and that of lists of records (no bound; beyond one, no
 * more records are listed by what is inside them, which hs_ctypes_was_full tells). */
void hs_ctypes_bound(struct hs_ctypes *types, size_t piece_bytes, size_t list_bytes);
bool hs_ctypes_was_full(const struct hs_ctypes *types);
/* Lets large compressed sections of files that are added from now on go to temporary files where
 * `budget` has them (borrowed until free; NULL: no more of them), and come in pieces like
 * others. */
void hs_ctypes_unpack_to(struct hs_ctypes *types, const struct hs_budget *budget);
/* Returns HS_IO when one of them could not be read back: answers since then may lack what was in
 * it. */
hs_status hs_ctypes_check(const struct hs_ctypes *types, struct hs_error *err);

/* The memory that a file that is added is likely to take: sections that are held whole until free,
 * pieces of those that come and go, at the most, and lists of names and records. Reads the heads of
 * compressed sections. */
struct hs_ctypes_needs {
    uint64_t whole_bytes, piece_bytes, list_bytes;
};
void hs_ctypes_foresee(struct hs_elf *elf, struct hs_ctypes_needs *ret);

/* Adds the types of `elf` (the program or its separate debug file; borrowed until free), which must
 * have DWARF; *ret is 0 and the call succeeds when it has none that can be used. Fails with
 * HS_LIMIT, and with HS_IO where a temporary file cannot be written. */
hs_status hs_ctypes_add(struct hs_ctypes *types, struct hs_elf *elf, hs_type_file *ret,
                        struct hs_error *err);

/* Counts the units of the file whose descriptions are in files of their own (-gsplit-dwarf), which
 * hs_split_merge (split.h) has not brought in; *ret_name is what one of them is called, or NULL.
 * Valid until free. Before DWARF 5 a file whose first units are none is believed to have none. */
size_t hs_ctypes_split(struct hs_ctypes *types, hs_type_file file, const char **ret_name);

/* Finds the variable that covers `vaddr`, or false. For TLS variables the offset in the module's
 * block. */
bool hs_ctypes_variable_at(struct hs_ctypes *types, hs_type_file file, hs_addr vaddr,
                           struct hs_cvariable *ret);
bool hs_ctypes_tls_variable_at(struct hs_ctypes *types, hs_type_file file, uint64_t offset,
                               struct hs_cvariable *ret);

/* The record of this name, or 0: qualified and with all template arguments, as RTTI has it, in any
 * spelling ("> >", "long unsigned int", "const int" or "int const" are all one); in C also "struct
 * dict" or a typedef. Looks in `file` first, then in the others. clang names enumerators in
 * template arguments where RTTI has their numbers: such are not found. */
hs_ctype hs_ctypes_find(struct hs_ctypes *types, hs_type_file file, const char *name);

/* Fills in the facts of a type; typedefs, const and volatile are looked through. *ret stays valid
 * until free. */
void hs_ctype_facts(struct hs_ctypes *types, hs_ctype type, struct hs_ctype_facts *ret);
/* Tells whether a type is a record that is declared and described nowhere. Makes no name: O(1). */
bool hs_ctypes_is_opaque(struct hs_ctypes *types, hs_ctype type);
bool hs_ctypes_same(struct hs_ctypes *types, hs_ctype a, hs_ctype b);

/* The pointers in a value of this type, ascending: nested records, base classes and arrays laid out
 * flat, at most HS_CTYPE_MAX_SLOTS (then *ret_is_cut). Containers of libstdc++ and libc++ whose
 * nodes are linked by base pointers (map, set, list, forward_list, unordered_*) lead to the node
 * type that holds the value; Rust's Vec, Box, Rc, Arc, String and HashMap lead to their contents.
 * Valid until free. */
enum { HS_CTYPE_MAX_SLOTS = 1 << 16 }; /* of one type; 2^24 are kept of all */
const struct hs_cslot *hs_ctypes_slots(struct hs_ctypes *types, hs_ctype type, size_t *ret_n,
                                       bool *ret_is_cut);

/* Chooses among the alternatives of a slot by the discriminant in one value: of a Rust enumeration
 * or a std::variant that which its tag (or its niche) says is there, of a vector how much is in
 * use. False when no alternative that is there has a pointer in this place. O(alternatives). */
bool hs_ctypes_choose(const struct hs_ctypes *types, const struct hs_cslot *slot,
                      hs_cvalue_read *read, void *context, struct hs_cchosen *ret);
/* Tells whether a slot of an untold union leads to the type: the innermost record (or union) around
 * it that has numbers which may tell when it is there, and where in it the slot is; false when too
 * many are known. */
bool hs_ctypes_untold(const struct hs_ctypes *types, const struct hs_cslot *slot, hs_ctype *ret,
                      uint64_t *ret_offset);
/* These numbers, the nearest first: (the n_bytes at `at` from the slot, little endian) >> shift, of
 * which n_bits count. Reads the record's entry. */
enum { HS_CTAGS_MOST = 8 };
struct hs_ctag {
    int64_t at;
    uint8_t n_bytes, shift, n_bits;
};
size_t hs_ctypes_tags(struct hs_ctypes *types, hs_ctype record, uint64_t offset,
                      struct hs_ctag ret[HS_CTAGS_MOST]);
/* Returns the dynamic type behind a pointer to `declared`, when the word beside it is `vaddr` in
 * `file`; 0: unknown, or it is no pointer but the thing itself (a small closure in a
 * std::function). Rust says it of its tables in DW_AT_containing_type, libstdc++
 * (bits/std_function.h, any) and libc++ (any) by the template that the function belongs to. */
hs_ctype hs_ctypes_told(struct hs_ctypes *types, hs_type_file file, enum hs_ctold_by by,
                        hs_addr vaddr, hs_ctype declared);

/* Tasks of tokio (Rust). The offsets of a header's table of functions and of its state; false when
 * the file has no tokio. */
struct hs_ctask_header {
    uint64_t table_offset, state_offset;
};
bool hs_ctypes_task_header(struct hs_ctypes *types, hs_type_file file, struct hs_ctask_header *ret);
struct hs_ctask {
    hs_ctype cell;      /* the whole task, with its future */
    const char *future; /* "app::serve::{async_fn_env#0}"; valid until free */
};
/* Finds the task in whose table this function comes first; false when it is none. */
bool hs_ctypes_task(struct hs_ctypes *types, hs_type_file file, hs_addr poll, struct hs_ctask *ret);

/* A number of a container: from the start of the value, or of the container's body. */
struct hs_cnumber {
    uint64_t at;
    uint8_t n_bytes; /* 1, 2, 4 or 8; 0: there is none */
    uint8_t n_bits;  /* the lowest of it that are the number; 0: all are */
    bool is_in_body;
};
/* A container within a value, and the way in which it counts, by a rule of rules/rules.h. */
struct hs_ccount {
    uint64_t body_at; /* the pointer to it, from the start of the value */
    struct hs_cnumber entries, less, room;
    uint64_t element_bytes; /* 0 unknown, or of no matter */
    uint8_t by, room_by;    /* enum hs_count_by, enum hs_room_by */
};
enum { HS_CTYPE_MAX_COUNTS = 64 };
/* Finds those of a value of this type, its arrays of up to 64 elements included, in no order.
 * Returns how many. Reads the entries of its records. */
size_t hs_ctypes_counts(struct hs_ctypes *types, hs_ctype type,
                        struct hs_ccount ret[HS_CTYPE_MAX_COUNTS]);

/* Finds the record that begins with this one and stands in its place in larger blocks, whatever
 * type pointers to it have: InternalNode<K, V> of Rust's B-trees for LeafNode<K, V>. Else 0. */
hs_ctype hs_ctypes_larger(struct hs_ctypes *types, hs_ctype type);

/* Finds the record in which Rust's Arc or Rc has a value of this type behind its counts, and where:
 * a pointer that Arc::into_raw gave leads there. 0: there is none, or both are used. */
hs_ctype hs_ctypes_counted(struct hs_ctypes *types, hs_ctype type, uint64_t *ret_offset);

/* Tells whether an array of this type may have the number of its elements before them, as `new
 * T[n]` of C++ has where a T has a destructor (Itanium C++ ABI, 2.7). Any record of C++ may. */
bool hs_ctypes_may_be_numbered(struct hs_ctypes *types, hs_ctype type);

/* The tail of a record in its block: elements of the array that a record ends with, of no length or
 * one; of a QVector, a QString or a QList of Qt, whose header says which are in use. */
struct hs_ctail {
    hs_ctype element;
    uint64_t at_bytes;        /* where the first one is; it may be within the record */
    uint8_t begin_at, end_at; /* of the numbers (32 bits) of the first element in use and of the one
                                 behind the last; 0: it has none */
    bool is_one;      /* of one element, which may be all: an array of such records is one, too */
    bool is_numbered; /* the word before the first element is how many there are */
    bool is_table;    /* a byte for each before the first element says whether it is there */
};
bool hs_ctypes_tail(struct hs_ctypes *types, hs_ctype type, struct hs_ctail *ret);

/* The records of C or C++ that have a `part` (a record) at `offset_bytes`, itself or in a member
 * that is a record, or (at 0) begin with all members of it, and a size in [least_bytes,
 * most_bytes]: how many, none if there are more than HS_CTYPE_MAX_ENCLOSING. Ascending. Records of
 * the file of `part` only; of two that have one name the first counts. The first question in a file
 * reads all its records: 16 bytes for each of their members, then O(log n). Of C++ (where it lists
 * their sizes, 16 bytes each) the first question for a size those of that size; sizes in a wider
 * range than an allocator rounds to are not looked for. */
enum { HS_CTYPE_MAX_ENCLOSING = 8 };
size_t hs_ctypes_enclosing(struct hs_ctypes *types, hs_ctype part, uint64_t offset_bytes,
                           uint64_t least_bytes, uint64_t most_bytes,
                           hs_ctype ret[HS_CTYPE_MAX_ENCLOSING]);

/* Finds those of C++ alone of which `part` is a base class there, at whatever depth. */
size_t hs_ctypes_heirs(struct hs_ctypes *types, hs_ctype part, uint64_t offset_bytes,
                       uint64_t least_bytes, uint64_t most_bytes,
                       hs_ctype ret[HS_CTYPE_MAX_ENCLOSING]);
/* Tells whether there is one at 0, or more of them. */
bool hs_ctypes_has_heir(struct hs_ctypes *types, hs_ctype part, uint64_t least_bytes,
                        uint64_t most_bytes);

/* Finds those of C that begin with a `part`, have no fixed size (hs_ctypes_tail) and are at most
 * `most_bytes` without what is behind them. Returns how many; of more than HS_CTYPE_MAX_ENCLOSING
 * the smallest. Ascending by size. */
size_t hs_ctypes_open_heirs(struct hs_ctypes *types, hs_ctype part, uint64_t most_bytes,
                            hs_ctype ret[HS_CTYPE_MAX_ENCLOSING]);
/* Tells whether this is the header of objects of many types, of C, in one list: it leads to its
 * like, and one that has no fixed size begins with it. Then the size of a block tells nothing of
 * its type. */
bool hs_ctypes_is_header(struct hs_ctypes *types, hs_ctype part);

/* The records (struct, class) that a file describes and that have a size in [least_bytes,
 * most_bytes]: how many; of more than HS_CTYPE_MAX_OF_SIZE those that are of no standard library,
 * none if these are more, too. Of two that have one
 * name the first counts. The first question lists the sizes of all, 24 bytes each. */
enum { HS_CTYPE_MAX_OF_SIZE = 32 };
size_t hs_ctypes_of_size(struct hs_ctypes *types, hs_type_file file, uint64_t least_bytes,
                         uint64_t most_bytes, hs_ctype ret[HS_CTYPE_MAX_OF_SIZE]);

/* Returns the size of the largest record of C that has a `part` at 0; 0: there is none. */
uint64_t hs_ctypes_largest_heir(struct hs_ctypes *types, hs_ctype part);

/* Tells whether a `type` begins with a `part`: it is its first member or base class, or that one's,
 * or it has all members of it, in their places. */
bool hs_ctypes_begins_with(struct hs_ctypes *types, hs_ctype type, hs_ctype part);

/* Tells whether a pointer to code stands at an offset of a type, in its members at any depth; of a
 * union whether one may. O(members on the way). */
bool hs_ctypes_has_code_at(struct hs_ctypes *types, hs_ctype type, uint64_t offset);

/* Returns the file that describes it; 0: none. */
hs_type_file hs_ctypes_file_of(struct hs_ctypes *types, hs_ctype type);

/* Tells whether it is described by a unit of C or C++. */
bool hs_ctypes_is_c_or_cpp(struct hs_ctypes *types, hs_ctype type);

/* The content of the first word of a value. UNKNOWN where that may be a virtual table's pointer, or
 * characters that are room for anything. */
enum hs_cfirst { HS_CFIRST_UNKNOWN, HS_CFIRST_NUMBER, HS_CFIRST_POINTER };
enum hs_cfirst hs_ctypes_first(struct hs_ctypes *types, hs_ctype type);

/* Counts the records that a `type` begins with, one within the other: a derived class has more than
 * its base. */
unsigned hs_ctypes_depth(struct hs_ctypes *types, hs_ctype type);

/* Tells whether it is a node of a container, or the base of nodes that links lead to. Each has a
 * block of its own. */
bool hs_ctypes_is_node(struct hs_ctypes *types, hs_ctype type);

/* Writes the name of the place at `offset_bytes` of a value, as in a debugger and without a leading
 * dot: "db[0].dict", "ht_table[1]". Inside of the standard libraries' own records only what tells
 * something is named: "names.root", "label", "by_name.buckets[1]", "keys[3]"; a container's own
 * body is the container. Where several alternatives of an enumeration have a pointer, they are
 * named and nothing in them is: "Str|Arr"; but of what has no name to tell, as the states of an
 * async function, what is in it. Returns the length, 0 when there is no name; cut at n_bytes - 1.
 * *ret_type (may be NULL) is the type of the innermost thing there. */
size_t hs_ctypes_place(struct hs_ctypes *types, hs_ctype type, uint64_t offset_bytes, char *text,
                       size_t n_bytes, hs_ctype *ret_type);

/* The types around the pointer at `offset_bytes` of a value, from the value's own to the pointer's:
 * records that have one another as members or base classes, arrays, and alternatives where one
 * alone has a pointer there. Returns how many; not whole: it ends before a pointer. */
enum { HS_CTYPE_MAX_AROUND = 24 };
size_t hs_ctypes_around(struct hs_ctypes *types, hs_ctype type, uint64_t offset_bytes,
                        hs_ctype ret[HS_CTYPE_MAX_AROUND], bool *ret_is_whole);

uint64_t hs_ctypes_n_damaged(const struct hs_ctypes *types);

#endif
