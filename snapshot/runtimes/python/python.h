/* CPython's objects as a copy of memory shows them: what its parts share. Private to
 * snapshot/runtimes/python.
 *
 *   layout.c    where the fields of its structures are: a table per minor version
 *   locate.c    which interpreter it is, and whether the table fits it
 *   view.c      words, texts and dictionaries of the copy
 *   classes.c   type objects: what kind their objects are, which of their words own
 *   text.c      identifiers, entries of dictionaries
 *   lines.c     which line an instruction is of
 *   frames.c    roots on the interpreter's stacks
 *   threads.c   the interpreters of a process, and their threads
 *   states.c    their states, which keep what nobody else keeps
 *   waiting.c   roots of frames that wait apart from a thread's stack
 *   tasks.c     those of tasks of asyncio and trio
 *   greenlets.c those of greenlets
 *   locals.c    roots of threading.local
 *   kept.c      roots of what threads, contexts, codecs and the end of the program keep
 *   names.c     roots by the names of modules and classes
 *   blocks.c    which blocks are objects, and which are parts of what objects
 *   spare.c     blocks that the interpreter keeps for later
 *   syntax.c    the syntax tree of the script that runs
 *   words.c     the words of a block that may be pointers
 *   labels.c    what classes are called, and the words of their objects
 *   shapes.c    names of words that many blocks share: of attributes, of variables
 *   variables.c the names of variables in closures and generators, by their code
 *   attributes.c which blocks have which shape
 *   runtime.c   what the driver calls
 *
 * All that is read is hostile: addresses lead anywhere, sizes are up to 2^64, chains are cycles. */
#ifndef HS_PYTHON_PYTHON_H
#define HS_PYTHON_PYTHON_H

#include "base/table.h"
#include "runtimes/runtime.h"
#include <heapsnap/python_layout.h>

enum { PY_WORD = 8, PY_NAME_BYTES = 96, PY_MAX_CHAIN = 64 };

#define PY_NONE HS_PYTHON_NONE

/* The tags of a frame's references: its code, its function, a variable, a value on its stack. Since
 * 3.14 (_PyStackRef of pycore_stackref.h) bit 0 says that another reference holds it, and both low
 * bits that it is a number; bit 0 alone is none. */
enum { PY_STACK_TAGS = 3 };
static inline bool hs_python_has_tags(const struct hs_python_layout *layout)
{
    return layout->minor >= 14;
}
static inline uint64_t hs_python_untagged(const struct hs_python_layout *layout, uint64_t word)
{
    if (!hs_python_has_tags(layout))
        return word;
    return (word & PY_STACK_TAGS) == PY_STACK_TAGS ? 0 : word & ~(uint64_t)PY_STACK_TAGS;
}

/* ---- view.c */
struct py_view {
    const struct hs_dump *dump; /* borrowed */
    const struct hs_python_layout *layout;
    hs_addr type_type;    /* the type of types */
    uint64_t *looks_left; /* borrowed: see hs_python_may_look; NULL: without end */
};
/* Counts n steps: each walk whose length the process chooses asks for every step: an entry of a
 * dictionary, a frame, a base of a class. False when the process has asked for more than any sound
 * one does: then the walk ends, and what was found stays. */
static inline bool hs_python_may_look(const struct py_view *view, uint64_t n)
{
    if (view->looks_left == NULL)
        return true;
    *view->looks_left -= n < *view->looks_left ? n : *view->looks_left;
    return *view->looks_left != 0;
}
/* Returns n bytes at an address: of the copy, else of the file mapped there; NULL: not there. */
const uint8_t *hs_python_bytes(const struct py_view *view, hs_addr at, size_t n);
/* Returns the word at an address; 0 when it is not there. */
uint64_t hs_python_word(const struct py_view *view, hs_addr at);
uint32_t hs_python_u32(const struct py_view *view, hs_addr at);
/* Copies a C string into text[n]; false, and "", when it is not there or longer. */
bool hs_python_string(const struct py_view *view, hs_addr at, char *text, size_t n);

/* ---- classes.c */
/* The make of an object, by the nearest of the interpreter's own types that its type derives from.
 */
enum py_kind {
    PY_OTHER, /* any word of its fixed part may be a pointer */
    PY_STR,
    PY_INT,
    PY_BYTES,
    PY_FLOAT,
    PY_COMPLEX,
    PY_TUPLE,
    PY_LIST,
    PY_DICT,
    PY_SET,
    PY_DEQUE,
    PY_TYPE,
    PY_CODE,
    PY_GENERATOR,
    PY_FRAME,
    PY_BYTEARRAY,
    PY_ARRAY,
    PY_NDARRAY,
    PY_MEMORYVIEW,
    PY_MODULE,
    PY_LOCK,
    PY_BUFFERED, /* with bytes on their way from or to a file */
    PY_TEXT_FILE,
    PY_TASK, /* of asyncio: since 3.14 in a list of all of a thread */
    PY_N_KINDS
};

struct py_class {
    hs_addr address; /* of the type object */
    uint8_t kind;
    uint8_t object_at; /* in bytes from the start of a block of it */
    uint8_t task_of;   /* a loop whose tasks its objects are: see tasks.c; 0: of none */
    bool is_type;      /* false: no type object is there */
    bool is_exact;     /* no class derived from that of its kind */
    bool is_heap;      /* made while the program ran */
    bool is_of_c;      /* called after its module, as types of C are: "collections.deque" */
    bool is_greenlet;  /* a greenlet of any class: see greenlets.c */
    bool has_gc, has_inline;
    bool has_dict;                /* before the object, since 3.11 */
    bool has_dict_behind;         /* behind its items */
    uint32_t n_bytes;             /* of the fixed part, from the object on */
    uint32_t item_bytes;          /* 0: all of one size */
    uint32_t kind_bytes;          /* of the fixed part of the type of its kind */
    uint64_t owning, weak, links; /* of the first 64 words of a block */
    char name[PY_NAME_BYTES];
};

/* The offsets in a type object of its name and of the type that it derives from. */
enum { PY_AT_TYPE_NAME = 24, PY_AT_TYPE_BASE = 256 };

/* Tells whether items of a type that is not known may be addresses. */
static inline bool hs_python_items_lead(const struct py_class *class)
{
    return class->item_bytes != 0 && class->item_bytes % PY_WORD == 0;
}

struct py_classes {
    struct py_class *all; /* owned */
    size_t n, capacity;
    bool is_full; /* there are more types than are remembered */
    struct hs_table by_address;
};
void hs_python_classes_fini(struct py_classes *classes);
/* Tells whether a word is a count of references, and not the address of something that is there:
 * where a program is not moved when it is loaded an address may have no more bits than a count. */
bool hs_python_is_count(const struct py_view *view, uint64_t word);
/* Finds the number of the type object at an address, and remembers it; HS_NO_NUMBER when there is
 * none. Fails with HS_LIMIT. */
hs_status hs_python_class(const struct py_view *view, struct py_classes *classes, hs_addr type,
                          uint32_t *ret, struct hs_error *err);

/* ---- blocks.c, spare.c */
/* The kinds of blocks that are known: 8 bytes each, of which pages without any cost nothing. */
enum py_block_kind {
    PY_BLOCK_UNKNOWN,
    PY_BLOCK_OBJECT,     /* number: of its class */
    PY_BLOCK_ITEMS,      /* of a list: words [first, first + number) */
    PY_BLOCK_VALUES,     /* of an instance or a dictionary: the same */
    PY_BLOCK_KEYS,       /* of a dictionary: says itself what it is */
    PY_BLOCK_SET_TABLE,  /* number: words */
    PY_BLOCK_DEQUE,      /* [first, first + number), links apart: see PY_DEQUE_* */
    PY_BLOCK_STATE,      /* of a module: words [first, first + number) */
    PY_BLOCK_NUMBERS,    /* of C: a lock, places of arguments */
    PY_BLOCK_TEXT,       /* characters of text, of the documentation of a class */
    PY_BLOCK_SPARE,      /* kept for later: a frame; words [first, first + number) lead on */
    PY_BLOCK_RAW,        /* bytes of bytearray and of files, numbers of numpy; number 1: an object's
                            own, 0: memory of another that it looks at */
    PY_BLOCK_REFERENCES, /* of an array of objects: as of a list */
    PY_BLOCK_SYNTAX,     /* of the compiler's syntax tree: words [first, first + number) lead on */
    PY_N_BLOCK_KINDS
};
enum { PY_FIRST_BITS = 20, PY_NUMBER_BITS = 40 };
static inline uint64_t hs_python_known(enum py_block_kind kind, uint64_t first, uint64_t number)
{
    return (uint64_t)kind << (PY_FIRST_BITS + PY_NUMBER_BITS) | first << PY_NUMBER_BITS | number;
}
static inline enum py_block_kind hs_python_known_kind(uint64_t known)
{
    return known >> (PY_FIRST_BITS + PY_NUMBER_BITS);
}
static inline uint64_t hs_python_known_first(uint64_t known)
{
    return known >> PY_NUMBER_BITS & ((1U << PY_FIRST_BITS) - 1);
}
static inline uint64_t hs_python_known_number(uint64_t known)
{
    return known & ((UINT64_C(1) << PY_NUMBER_BITS) - 1);
}
/* A deque's block: | left | 64 items | right |; which of its links are of the chain is told by two
 * bits of its number above the count of items. */
enum { PY_DEQUE_ITEMS = 64, PY_DEQUE_HAS_LEFT = 1 << 8, PY_DEQUE_HAS_RIGHT = 1 << 9 };

struct py_blocks {
    uint64_t *known; /* owned pages: by rank */
    uint64_t n;
    hs_addr *syntax; /* owned: blocks of syntax trees */
    size_t n_syntax, syntax_capacity;
};
void hs_python_blocks_fini(struct py_blocks *blocks);
/* The places of a shape's number + 1 (struct py_shape; 0: none) in what is known of a block: of
 * values above their number, which has PY_VALUES_BITS, of a table in place of the number, of an
 * object in place of the first word. */
enum { PY_VALUES_BITS = 16, PY_MOST_SHAPES = (1 << PY_FIRST_BITS) - 1 };
static inline uint64_t hs_python_n_values(uint64_t known)
{
    return hs_python_known_number(known) & ((1U << PY_VALUES_BITS) - 1);
}
/* Finds which blocks are objects, and which are parts of objects. Linear, with a look-up for each
 * part. Fails with HS_LIMIT. */
hs_status hs_python_find_blocks(struct py_view *view, struct py_classes *classes,
                                struct py_blocks *ret, struct hs_error *err);
/* Notes the blocks that the interpreters of a process keep for later, in which nothing but the link
 * to the next is a pointer. After hs_python_find_blocks. */
struct py_state;
void hs_python_find_spare(struct py_state *s);
/* Returns the class of the object at an address, or NULL when its type is none that is known. */
const struct py_class *hs_python_class_of(const struct py_view *view,
                                          const struct py_classes *classes, hs_addr object);
/* The header of a dictionary's table. */
struct py_keys {
    hs_addr entries;
    uint64_t entries_at; /* from the start of the table */
    uint64_t n_entries;
    bool is_text; /* no hashes: two words an entry, else three */
};
bool hs_python_keys(const struct py_view *view, hs_addr table, struct py_keys *ret);
/* Returns the address of the values of a dictionary that has them apart; 0: it has none. Since 3.13
 * the word that it keeps leads to a head of four bytes before them. */
static inline hs_addr hs_python_values(const struct py_view *view, hs_addr word)
{
    return word != 0 && view->layout->minor >= 13 ? word + PY_WORD : word;
}

/* ---- text.c: identifiers, and entries of dictionaries */
/* Copies the text of an ASCII str object that is an identifier of at most n - 1 bytes, with dots
 * where `has_dots`, into text[n]; false, and "", when it is none. */
bool hs_python_identifier(const struct py_view *view, hs_addr object, bool has_dots, char *text,
                          size_t n);
/* Tells whether the characters at an address are those of an ASCII str object, as the names of a
 * program's classes are. */
bool hs_python_is_text(const struct py_view *view, hs_addr text_at);
/* Copies the characters of an ASCII str object that are no identifier, as the name of a class: the
 * identifier that they begin with, and "[...]" for the rest, which may be data: "Page[...]" of
 * Page[Item]. False when no str object has them. */
bool hs_python_class_text(const struct py_view *view, hs_addr text_at, char text[PY_NAME_BYTES]);
/* Copies the text of an ASCII str object as it is; false, and "", when it is none or does not fit.
 */
bool hs_python_ascii(const struct py_view *view, hs_addr object, char *text, size_t n);
/* Copies the last part of the path in a str object; "" when there is none, or none that can be
 * shown. */
void hs_python_base_name(const struct py_view *view, hs_addr object, char text[PY_NAME_BYTES]);
/* Finds which library the file of a code object is of, by its path. What runs as the program, whose
 * path is `main_file`, is of none: python3 -m json.tool. */
enum py_library hs_python_library(const struct py_view *view, hs_addr object, hs_addr main_file);
/* Returns the path of what runs as __main__; 0: it is no file. */
hs_addr hs_python_main_file(const struct py_view *view, hs_addr modules);
/* The entries of a dictionary, in order: `struct py_entries it; hs_python_entries(view, dict, &it);
 * while (hs_python_next_entry(view, &it))`. Deleted ones are left out. */
struct py_entries {
    struct py_keys keys;
    uint64_t next;
    hs_addr values; /* 0: beside the keys */
    hs_addr slot, key, value;
};
void hs_python_entries(const struct py_view *view, hs_addr dict, struct py_entries *ret);
bool hs_python_next_entry(const struct py_view *view, struct py_entries *it);
/* Returns the value of an ASCII key; 0: it has none. Linear in the entries. */
hs_addr hs_python_dict_value(const struct py_view *view, hs_addr dict, const char *key);

/* ---- locate.c */
struct py_interpreter {
    const struct hs_object *object; /* whose it is; NULL: none */
    hs_addr runtime;                /* _PyRuntime */
    uint64_t runtime_bytes;
    hs_addr first;                  /* the main interpreter's state */
    hs_addr modules;                /* its sys.modules */
    unsigned n_more;                /* others in the process, which are not read */
    struct hs_python_layout layout; /* of its version, and as it says itself */
    bool is_told;                   /* `layout` has places of fields that the process said */
};
/* Returns the object that may be CPython, or NULL. */
const struct hs_object *hs_python_object(const struct hs_objects *objects);
/* Fills view->layout and ->type_type, of the first interpreter that runs. False with the reason in
 * text[n] when no version is known and fits: then nothing is to be believed; "" when there is none
 * at all. */
bool hs_python_locate(struct py_view *view, struct py_interpreter *ret, char *text, size_t n);

/* ---- loops.c */
#define PY_LOOP_NAME "asyncio event loop"
/* Tells whether an object is an event loop of asyncio, or of uvloop. */
bool hs_python_is_loop(const struct py_state *s, hs_addr object);

/* ---- labels.c, shapes.c */
/* A name, and those of the words of a block that have one. */
struct py_labels {
    hs_str name;
    uint32_t begin, n; /* of members */
};
/* Blocks whose words have the same names, at the same places. */
enum py_shape_kind {
    PY_SHAPE_VALUES, /* of attributes, whose names are in a table apart */
    PY_SHAPE_TABLE,  /* of names and values */
    PY_SHAPE_CLOSURE,
    PY_SHAPE_FRAME, /* of a generator or coroutine */
};
struct py_shape {
    struct py_labels labels;
    hs_str owner; /* whose attributes they are: "__main__.Session", "module app.users" */
    hs_addr of;   /* the table that has the names, or the code */
    uint64_t hash;
    uint32_t at; /* the first word that has one, but of a table */
    uint8_t kind;
};
struct py_names {
    struct py_labels *of_class; /* owned: by number */
    uint32_t *n_shapes;         /* owned: of a class */
    size_t n_classes;
    hs_str of_part[PY_N_BLOCK_KINDS];
    struct py_shape *shapes; /* owned */
    size_t n_shapes_all, shapes_capacity;
    struct hs_table by_shape;
    struct hs_object_member *members; /* owned: each list by ascending offset */
    size_t n_members, members_capacity;
};
void hs_python_names_fini(struct py_names *names);

/* ---- words.c */
struct py_state {
    struct hs_dump *dump; /* borrowed */
    struct py_view view;
    struct py_interpreter interpreter;
    struct py_classes classes;
    struct py_blocks blocks;
    struct py_names names;
    struct hs_roots roots;
    struct hs_findings findings;
    struct hs_bitmap named; /* by rank: blocks that a named root holds */
    struct hs_bitmap own;   /* by rank: states of interpreters and threads */
    uint64_t n_modules, n_names, n_definitions;
    hs_addr main_file;        /* the path of what runs as __main__; 0: it is no file */
    hs_str interned_name;     /* of the variable with all texts that are there once */
    uint64_t looks_left;      /* see hs_python_may_look */
    uint64_t most_name_bytes; /* so much memory names may take from now on */
    bool lacks_memory;        /* there are more than that */
    bool is_known;            /* the layout fits: blocks is filled */
};
extern const struct hs_object_model hs_python_objects;

/* ---- names.c: roots of the namespaces of modules and classes. Fails with HS_LIMIT. */
hs_status hs_python_name_modules(struct py_state *s, struct hs_error *err);
/* Adds a root for the block that a word leads to, unless it leads to none, at the tier of the leaf;
 * the block has a name from now on unless the root `is_passing`. */
hs_status hs_python_add_root(struct py_state *s, struct hs_root_leaf *leaf, hs_addr word,
                             bool is_passing, struct hs_error *err);
/* Reserves memory for more names. When names have had their share it sets lacks_memory, ends all
 * looks and returns HS_OK. Fails with HS_LIMIT. */
hs_status hs_python_take_memory(struct py_state *s, uint64_t n_bytes, struct hs_error *err);
/* Tells whether a block that a word leads to has a name already. */
bool hs_python_is_named(const struct py_state *s, hs_addr word);

/* ---- labels.c */
/* Names all classes that are known, and of their objects the words that the interpreter or a
 * program has names for: members of C (PyMemberDef), `__slots__`, items, attributes in the object.
 * With `reads_names` false only what the interpreter itself calls them. Fails with HS_LIMIT. */
hs_status hs_python_label_classes(struct py_state *s, bool reads_names, struct hs_error *err);
/* Finds the module that a class of a program was made in, of identifiers; false: none. */
bool hs_python_class_module(const struct py_view *view, const struct py_class *class,
                            char module[PY_NAME_BYTES]);
/* Makes the name of a class: "app.users.Session"; without `reads_names` what C calls it. */
hs_status hs_python_class_name(struct py_state *s, const struct py_class *class, bool reads_names,
                               hs_str *ret, struct hs_error *err);
/* Returns the number of a block's type, and describes a type: of struct hs_object_model. */
uint32_t hs_python_type(const void *state, const struct hs_heap_block *block);
hs_status hs_python_describe(const void *state, uint32_t type, struct hs_object_type *ret,
                             struct hs_error *err);
/* Adds a member to the list that is being made, unless there are too many in all. */
hs_status hs_python_add_label(struct py_state *s, uint64_t offset, const char *name,
                              struct hs_error *err);
/* Ends a list of members: sorts those since `begin`; of several at one offset the first stays. */
void hs_python_end_labels(struct py_names *names, size_t begin, struct py_labels *ret);

/* ---- shapes.c */
/* Returns the address of the address of key number `i`. */
hs_addr hs_python_key_at(const struct py_keys *keys, uint64_t i);
/* Finds the number of a shape plus one, and describes the shape when it is new; 0: there is no room
 * for more, or the class of this number (HS_NO_NUMBER: none) has too many. */
hs_status hs_python_shape(struct py_state *s, const struct py_shape *wanted, uint32_t class_number,
                          uint32_t *ret, struct hs_error *err);

/* ---- variables.c */
/* Returns how many variables a frame of this code has; where the name of one stands, 0: nowhere. */
uint64_t hs_python_n_variables(const struct py_view *view, hs_addr code);
hs_addr hs_python_variable(const struct py_view *view, hs_addr code, uint64_t i);
/* Returns how many words a frame of 3.11 or later has, its variables and what is on its stack;
 * negative: it runs, and only its thread knows. */
int64_t hs_python_stack_top(const struct py_view *view, hs_addr frame);
/* Adds the names of the variables of a shape's code as members. */
hs_status hs_python_label_variables(struct py_state *s, const struct py_shape *shape,
                                    struct hs_error *err);
/* Makes the name of a function by its code: "worker()", "Server.handle()". */
void hs_python_function_name(const struct py_view *view, hs_addr code, char *text, size_t n);

/* ---- attributes.c */
/* Finds the blocks that have a shape, and notes in them which. Linear in the objects, and in the
 * entries of the tables of attributes. */
hs_status hs_python_find_shapes(struct py_state *s, struct hs_error *err);

/* ---- lines.c: the line of the instruction at so many bytes of its code; 0: none. Linear in the
 * table of the code, whose form changed in 3.10 and 3.11. */
uint32_t hs_python_line(const struct py_view *view, hs_addr code, uint64_t instruction);

/* ---- threads.c: `struct py_interpreters it = {0}; while (hs_python_next_interpreter(s, &it))`; of
 * threads the same, all interpreters' one after the other. */
struct py_interpreters {
    hs_addr at, listed; /* its state; private: the last of the list */
    unsigned n;
};
bool hs_python_next_interpreter(const struct py_state *s, struct py_interpreters *it);
/* The text with which the names of what an interpreter has begin, and its size: "interpreter 2: ";
 * nothing for the first. */
enum { PY_INTERPRETER_BYTES = 40 };
void hs_python_interpreter_name(const struct py_state *s, hs_addr interpreter, char *text,
                                size_t n);
struct py_threads {
    struct py_interpreters interpreters;
    hs_addr state, met; /* private: met */
    uint32_t n, tid;    /* 0: not known */
    hs_str module;      /* "thread 4242" */
};
hs_status hs_python_next_thread(struct py_state *s, struct py_threads *it, bool *ret,
                                struct hs_error *err);

/* ---- syntax.c */
/* Notes a block that is one of a syntax tree, which nothing else is known of. Fails with HS_LIMIT.
 */
hs_status hs_python_note_syntax(const struct py_view *view, struct py_blocks *blocks,
                                const struct hs_heap_block *block, struct hs_error *err);
/* Adds a root for what was noted. */
hs_status hs_python_name_syntax(struct py_state *s, struct hs_error *err);

/* ---- states.c: roots of the interpreter's own tables, and `own`. */
hs_status hs_python_name_states(struct py_state *s, struct hs_error *err);

/* ---- frames.c */
/* Libraries whose calls wait for what the program has: the standard library, and the packages that
 * run event loops. */
enum py_library { PY_LIBRARY_NONE, PY_LIBRARY_STANDARD, PY_LIBRARY_LOOP };

/* A frame as its roots show it: set `at` and `code`, the rest is described. */
struct py_frame {
    hs_addr at, code;
    uint32_t line;                                     /* 0: unknown */
    char function[PY_NAME_BYTES], file[PY_NAME_BYTES]; /* "Session.load", "[...]"; "app.py", "" */
    hs_str function_id, file_id;
    enum py_library library; /* that its code is of */
};
/* Lowers the root of a variable of such a call, which only borrows what anything firmer leads to:
 * the deque of an event has the futures of all that wait for it. */
void hs_python_lower_borrowed(struct hs_root_leaf *leaf);
hs_status hs_python_describe_frame(struct py_state *s, struct py_frame *f, struct hs_error *err);
bool hs_python_is_code(const struct py_state *s, hs_addr object);
/* Returns hs_python_n_variables, or 0 when it is more than a sound frame has. */
uint64_t hs_python_n_locals(const struct py_view *view, hs_addr code);
/* Makes the name of a variable of a frame: "local rows". */
enum { PY_LOCAL_BYTES = PY_NAME_BYTES + 8 };
void hs_python_local_name(const struct py_view *view, hs_addr code, uint64_t i,
                          char text[PY_LOCAL_BYTES]);
/* Adds a root for the value of a variable of a frame. A variable that functions within share is a
 * cell: what this contains gets a root, too. */
hs_status hs_python_add_variable(struct py_state *s, struct hs_root_leaf *leaf, hs_addr value,
                                 struct hs_error *err);

/* ---- waiting.c */
/* Thousands of tasks wait at few lines: what was described last is kept, by code and instruction.
 */
enum { PY_N_PLACES = 32, PY_CHAIN_BYTES = 3 * PY_NAME_BYTES };
struct py_places {
    struct py_frame frames[PY_N_PLACES];
    uint64_t instructions[PY_N_PLACES];
};
/* A task or greenlet that waits: set these, and add its frames, the outermost first. */
struct py_waiting {
    struct py_state *s;
    struct py_places *places;
    const char *kind, *awaits; /* "task", "await " */
    hs_str group;
    /* Kept between the frames. */
    uint32_t depth;             /* of the one that was added last, from 1 on */
    char chain[PY_CHAIN_BYTES]; /* "serve() await Queue.get()": down to it */
    char outermost[PY_NAME_BYTES];
};
/* Adds a waiting frame, of which `at` and `code` are set. */
hs_status hs_python_add_waiting(struct py_waiting *w, struct py_frame *f, struct hs_error *err);

/* ---- locals.c, kept.c, frames.c, tasks.c, greenlets.c: roots that belong to threads and
 * interpreters, after those by name. Locals, tasks and greenlets cost a look at each block; what
 * waits comes last. */
hs_status hs_python_name_locals(struct py_state *s, struct hs_error *err);
hs_status hs_python_name_kept(struct py_state *s, struct hs_error *err);
hs_status hs_python_name_frames(struct py_state *s, struct hs_error *err);
hs_status hs_python_name_tasks(struct py_state *s, struct hs_error *err);
hs_status hs_python_name_greenlets(struct py_state *s, struct hs_error *err);

#endif
