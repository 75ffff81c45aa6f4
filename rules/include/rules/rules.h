/* Rules: what is known of types, libraries and symbols that no debug information says. A file has
 * one rule a line, below `heapsnap-rules 1`; docs/rules.md describes each:
 *
 *   type    "my::ObserverPtr"      pointers find        # it owns nothing
 *   type    "my::Window"           members "parent" find
 *   type    "std::span"            on-stack borrowed
 *   library "libevent*" "libuv.so*"  tier runtime
 *   symbol  "_IO_*"                in executable tier runtime
 *   container "my::Pool<*>"        at "slots" elements "n_used" room "n_slots"
 *   class   "my::Node"             words 2 7 find
 *   owners  "my chunk"             header 32 parent 0 child 8 next 16 prev 24 when symbol "my_free"
 *   handle  "my_connection"        lists "my_cursor" first 8 next 16 back 0
 *   cells   "my cell"              block 4096 cell 64 next 0 count 8 when symbol "my_cell_alloc"
 *   record  "my_node"              bytes 40 magic 8 5 leads 16 finds 0 when symbol "my_new"
 *
 * Files are the shipped ones (share/heapsnap/rules.d, part of the program), those of the user
 * (~/.config/heapsnap/rules.d) and any that are named. A rule lowers what a word or a root is worth
 * or gives it a name: it never adds a root, makes one firmer or hides a proof, so that a wrong file
 * makes answers poorer, not dangerous.
 *
 * A file is hostile: it is read once, front to back; lines, words, patterns and their number are
 * bounded; a pattern costs at most its length times that of the name. */
#ifndef HS_RULES_RULES_H
#define HS_RULES_RULES_H

#include "base/error.h"

enum hs_rule_kind {
    HS_RULE_FIND,         /* type ... pointers find: they keep nothing */
    HS_RULE_FIND_MEMBERS, /* type ... members NAME... find: these of its pointers keep nothing */
    HS_RULE_OWN,          /* type ... pointers own: they free what they lead to */
    HS_RULE_BORROWED,     /* type ... on-stack borrowed */
    HS_RULE_ONE_OWNER,    /* type ... owners one: whoever has it is the only one */
    HS_RULE_COUNTED,      /* type ... owners counted: as many as the first word there says */
    HS_RULE_SENDERS,      /* type ... owners senders: as many as a channel's count of these says */
    HS_RULE_RECEIVERS,    /* type ... owners receivers */
    HS_RULE_LIBRARY,      /* library ... tier runtime */
    HS_RULE_SYSTEM,       /* library ... group system */
    HS_RULE_KEYS_DATA,   /* library ... keys data: what it gives the kernel's keys has no address */
    HS_RULE_SYMBOL,      /* symbol ... tier runtime */
    HS_RULE_EXECUTABLE,  /* symbol ... in executable tier runtime */
    HS_RULE_STATIC,      /* symbol ... in static tier runtime */
    HS_RULE_SEEN_FILE,   /* library ... heap NAME: it has a heap that is only recognised */
    HS_RULE_SEEN_SYMBOL, /* symbol ... heap NAME: so has whatever defines it */
    HS_RULE_SEEN_SECTION, /* section ... heap NAME */
    HS_RULE_SEEN_MAPPING, /* mapping ... heap NAME: it calls its memory so, prctl(2) */
    HS_RULE_SEEN_RANGE,   /* mapping ... in ranges runtime NAME: it has memory at such addresses */
    HS_RULE_CONTAINER,    /* container ...: where it says how many elements it has */
    HS_RULE_INTERPRETER,  /* library ... interpreter SYMBOL: it has a language's interpreter */
    HS_RULE_EXTENSION,    /* library ... tier extension: it is loaded by such */
    HS_RULE_INTERPRETED,  /* symbol ... in interpreted tier runtime: where names of a language
                             stand for what its program has */
    HS_RULE_STATE,        /* symbol ... in interpreter tier runtime: a place in its variable */
    HS_RULE_CLASS,        /* class ... words N find: of an object with a virtual table */
    HS_RULE_OWNERS,       /* owners ...: who owns which blocks, by the headers of these */
    HS_RULE_HANDLE,       /* handle ... lists NAME: its records, which lead back to it */
    HS_RULE_CELLS,        /* cells ...: an allocator over blocks of malloc's, all of one size */
    HS_RULE_RECORD,       /* record ... bytes N: a block of a library, by its size and words */
    HS_N_RULE_KINDS
};

/* The languages, for hs_rules_type and the like. */
enum hs_rule_language { HS_RULE_C = 1, HS_RULE_CPP = 2, HS_RULE_RUST = 4 };

enum {
    HS_RULES_VERSION = 1,
    HS_RULES_MAX_FILE_BYTES = 1 << 20,
    HS_RULES_MAX_LINE_BYTES = 4096,
    HS_RULES_MAX_PATTERN_BYTES = 1024,
    HS_RULES_MAX_WORDS = 64, /* of a line */
    HS_RULES_MAX_RULES = 1 << 16,
    HS_RULES_MAX_SETS = 256,
    HS_RULES_MAX_NAME_BYTES = 64, /* of a set */
    HS_RULES_MOST_NUMBERED = 191,
};

/* The bounds of the last part of a type's name, behind its scopes: at its template arguments, or
 * with the name. */
struct hs_rule_part {
    size_t at, end;
};

struct hs_rule_pattern {
    const char *text;
    size_t n;
    struct hs_rule_part part;
};

/* The ways in which a container says how many elements it has, and for how many it has room. It
 * leads to a block, its body. */
enum hs_count_by {
    HS_COUNT_NUMBER = 1, /* elements: a number of them */
    HS_COUNT_NODES,      /* nodes: likewise, linked: the body is the first, or the root */
    HS_COUNT_TABLE,      /* entries: likewise, in a table that leads to them */
    HS_COUNT_BEHIND,     /* elements-before: likewise, before the place in the body led to */
    HS_COUNT_END,        /* end: the address behind the last one */
    HS_COUNT_DEQUE,      /* first-iterator: with room_by, the two of libstdc++'s deque */
};
enum hs_room_by {
    HS_ROOM_NONE,   /* it is not told, or there is none: a node is allocated for each */
    HS_ROOM_NUMBER, /* room: for how many there is room */
    HS_ROOM_LEFT,   /* room-left: for how many more */
    HS_ROOM_END,    /* room-end: the address behind the room */
    HS_ROOM_DEQUE,  /* last-iterator */
};

/* The members of a container's record, as paths: "_M_node._M_size"; with "->" behind the pointer
 * to the body, of the record that it leads to: "d->alloc". Borrowed; NULL: not given. */
struct hs_rule_container {
    const char *body, *entries, *less, *room;
    uint8_t by, room_by; /* enum hs_count_by, enum hs_room_by */
};

/* The words of the header by which each block of a tree of owners says where it hangs. */
enum hs_tree_word {
    HS_TREE_PARENT, /* leads to its owner; beside `child` the first child's must */
    HS_TREE_CHILD,  /* leads to the first that it owns */
    HS_TREE_NEXT,   /* leads to the next of the same owner */
    HS_TREE_PREV,   /* leads to the one before, 0 of the first: each must */
    HS_TREE_END,    /* holds the address behind what was asked for of the block */
    HS_TREE_SIZE,   /* holds the bytes that were asked for behind the header */
    HS_TREE_NAME,   /* leads to a text of a binary: its type */
    HS_TREE_MAGIC,  /* holds, in 4 bytes, `magic` below `mask` */
    HS_TREE_HEADER, /* the bytes of the header, where it ends */
    HS_TREE_HELD,   /* so far behind the word that owns one above which none is stands what `end`
                       of that holds; not in the header */
    HS_N_TREE_WORDS
};
enum { HS_TREE_NONE = UINT16_MAX, HS_TREE_MOST_BYTES = 512 };
struct hs_rule_tree {
    uint16_t at[HS_N_TREE_WORDS]; /* offsets in bytes; HS_TREE_NONE: it has no such word */
    uint32_t magic, mask;
};

/* The words by which a handle, whose record only its library describes, has a list of records. All
 * are offsets in bytes from where pointers to the record lead. */
enum { HS_CHAIN_MOST_BYTES = 4096 };
struct hs_rule_chain {
    uint16_t first, next, back; /* in the handle; in a record to the next, 0 at the end, and to the
                                   handle */
};

/* The words by which an allocator over blocks of malloc's says which of its cells are in use. All
 * are offsets in bytes from the beginning of a cell. */
enum hs_cells_word {
    HS_CELLS_BLOCK,  /* the bytes of a block, a slab, as malloc is asked for them; no offset */
    HS_CELLS_CELL,   /* the bytes of each cell; no offset */
    HS_CELLS_FIRST,  /* those of the smallest, where cells of one slab say that they are larger */
    HS_CELLS_CLASS,  /* holds, in one byte of a cell in use, how often FIRST is doubled */
    HS_CELLS_HEADER, /* the bytes of a cell before what the program gets; no offset */
    HS_CELLS_SIZE,   /* holds the bytes that were asked for behind the header */
    HS_CELLS_NEXT,   /* leads from a free cell to the next one; 0: it is the last */
    HS_CELLS_COUNT,  /* holds, in 4 bytes, how many refer to it: more than none of one in use */
    HS_CELLS_MAGIC,  /* holds, in 4 bytes of one in use, `magic` below `mask` */
    HS_N_CELLS_WORDS
};
enum {
    HS_CELLS_NONE = UINT32_MAX,
    HS_CELLS_LEAST_BYTES = 16,
    HS_CELLS_MOST_BYTES = 65536, /* of a slab: malloc maps larger ones one by one */
};
struct hs_rule_cells {
    uint32_t at[HS_N_CELLS_WORDS]; /* HS_CELLS_NONE: it has no such word */
    uint32_t magic, mask;
};

/* The layout of a record of a library: its size, numbers, and words of which it is known where
 * they lead. All offsets are from the beginning of its block. */
enum hs_word_leads {
    HS_LEADS_ANYWHERE, /* leads: 0, or to a block or a binary */
    HS_LEADS_BLOCK,    /* block: to a block */
    HS_LEADS_CODE,     /* code: into a binary */
    HS_LEADS_SELF,     /* self: to `into` in its own block */
};
enum { HS_RECORD_MAGICS = 4, HS_RECORD_WORDS = 12, HS_RECORD_MEMBERS = 6 };
struct hs_rule_record {
    uint32_t n_bytes;
    bool is_more; /* bytes N more: of any size from there */
    uint8_t n_magics, n_words, n_members;
    struct hs_record_magic { /* in 4 bytes at `at`, below `mask` */
        uint16_t at;
        uint32_t value, mask;
    } magics[HS_RECORD_MAGICS];
    struct hs_record_word {
        uint16_t at, into;
        uint8_t leads; /* enum hs_word_leads */
    } words[HS_RECORD_WORDS];
    struct hs_record_member {
        uint16_t at;
        const char *name; /* borrowed */
        const char *to;   /* borrowed: what the block is called that it leads to; NULL: not told */
    } members[HS_RECORD_MEMBERS]; /* by ascending offset */
};

enum { HS_RULE_MOST_MEMBERS = 4 }; /* of HS_RULE_FIND_MEMBERS */

struct hs_rule {
    uint8_t kind;      /* enum hs_rule_kind */
    uint8_t directive; /* private */
    uint8_t languages; /* enum hs_rule_language; 0: any */
    bool
        is_runtime; /* of HS_RULE_SEEN_...: "runtime NAME", a language's, where others say "heap" */
    uint8_t number; /* from 1 of those that lower a word or a root, in their order; 0: none, or it
                       is one of more than HS_RULES_MOST_NUMBERED */
    uint16_t set;
    uint32_t line;
    uint32_t first_pattern, n_patterns;
    const char *value; /* borrowed: the NAME of a heap or of listed records; NULL: it has none */
    struct hs_rule_container container;
    struct hs_rule_tree tree;                  /* of HS_RULE_OWNERS */
    struct hs_rule_chain chain;                /* of HS_RULE_HANDLE */
    struct hs_rule_cells cells;                /* of HS_RULE_CELLS */
    struct hs_rule_record record;              /* of HS_RULE_RECORD */
    uint16_t words;                            /* of HS_RULE_CLASS and _RECORD: bits */
    uint8_t n_members;                         /* of HS_RULE_FIND_MEMBERS */
    const char *members[HS_RULE_MOST_MEMBERS]; /* borrowed */
    const char *in_library, *if_symbol; /* borrowed: "when library", "when symbol"; NULL: any */
};

/* The rules of one file. */
struct hs_rule_set {
    char *name; /* owned: of the file without ".rules" */
    char *path; /* owned; NULL: shipped */
    bool is_enabled;
    char *text; /* owned: words of the file, each ended by a zero */
};

struct hs_rules {
    struct hs_rule_set *sets; /* owned */
    size_t n_sets, sets_capacity;
    struct hs_rule *rules; /* owned; those of one set follow each other */
    size_t n_rules, rules_capacity;
    struct hs_rule_pattern *patterns; /* owned */
    size_t n_patterns, patterns_capacity;
    struct hs_rule_list { /* owned: of each kind the rules of sets that are enabled */
        uint32_t *rules;
        size_t n, capacity;
    } of[HS_N_RULE_KINDS];
    uint64_t hash; /* of names and texts of the sets that are enabled, in their order */
    uint8_t n_numbered;
};

/* A line that is no rule. Lines and columns count from 1; a column is of a byte. */
struct hs_rule_fault {
    uint32_t line, column;
    char reason[192];
};
typedef hs_status hs_rule_fault_told(void *context, const struct hs_rule_fault *fault,
                                     struct hs_error *err);

/* Adds a set of rules behind the others; bytes and names are copied. What is not enabled is listed
 * and says nothing, faults in it included. The first fault fails with HS_USAGE, line, column and
 * reason; with `told` each is told instead and its line left out. HS_LIMIT beyond the most. */
struct hs_rule_source {
    const char *name, *path;
    const void *bytes;
    size_t n_bytes;
    bool is_enabled;
    hs_rule_fault_told *told; /* may be NULL */
    void *context;
};
hs_status hs_rules_add(struct hs_rules *rules, const struct hs_rule_source *source,
                       struct hs_error *err);
/* Frees the rules. Takes a zeroed object. */
void hs_rules_fini(struct hs_rules *rules);

/* Loads all rules that are shipped. */
hs_status hs_rules_shipped(struct hs_rules *ret, struct hs_error *err);

/* Those that are shipped, those of the user, and what `given` says, in its order: "-NAME" turns a
 * set off, "+NAME" on again ("all" is all of them, a comma goes on to the next), anything else is a
 * file to read. A file of the user replaces a shipped one of its name. Those of the user are read
 * only where they are his or root's alone to write, and not by a program that runs with rights that
 * its user has not. HS_USAGE for a name that is not there and for a fault in a file that is on,
 * HS_IO for a file that cannot be read. */
hs_status hs_rules_load(const char *const *given, size_t n_given, struct hs_rules *ret,
                        struct hs_error *err);

/* Tells whether a name matches `pattern` (`*`: any text, `?`: any byte). O(n_pattern * n_name) at
 * most. */
bool hs_rules_glob(const char *pattern, size_t n_pattern, const char *name, size_t n_name);

/* The first enabled rule of the kind whose pattern is that of a type's qualified name; NULL: none.
 * The last part of a pattern is compared with that of the name, and its scopes with the name's, if
 * it has any: "Ptr" is of a name in any scope, "::Ptr" in none, "a::*" of all that is directly in
 * `a`. Without a "<" template arguments are not compared. `rules` may be NULL: none are known. */
const struct hs_rule *hs_rules_type(const struct hs_rules *rules, enum hs_rule_kind kind,
                                    unsigned language, const char *name);
/* Tells whether there can be one for a name without its scopes ("ObserverPtr<int>"), whatever
 * scopes the patterns have. */
bool hs_rules_may_type(const struct hs_rules *rules, enum hs_rule_kind kind, unsigned language,
                       const char *last_part);

/* Finds the next enabled rule of the kind from place *at, which begins with 0, among those of its
 * kind; NULL: there is none. */
const struct hs_rule *hs_rules_type_next(const struct hs_rules *rules, enum hs_rule_kind kind,
                                         unsigned language, const char *name, size_t *at);

/* The same of a library's or a symbol's name, which is compared as a whole. */
const struct hs_rule *hs_rules_name(const struct hs_rules *rules, enum hs_rule_kind kind,
                                    const char *name);

/* The first enabled rule about a class of that name in a library; `name` NULL: about any. */
const struct hs_rule *hs_rules_class(const struct hs_rules *rules, const char *name,
                                     const char *library);

/* Writes the pattern of a type and, if it is of a template, of all of that: "my::Ptr<*>" for
 * "my::Ptr<int>". False when it has no room. */
bool hs_rule_pattern_of(const char *name, char *text, size_t n_bytes);

/* Tells whether it is a rule, of whatever kind, of this name. */
bool hs_rule_is_of(const struct hs_rules *rules, const struct hs_rule *rule, const char *name);

/* Writes "rules 0123456789abcdef: qt, std, of the user mine": the hash and the sets that are
 * enabled. Cut at n_bytes. */
void hs_rules_tell(const struct hs_rules *rules, char *text, size_t n_bytes);

/* Writes the place of a rule: "rules.d/std.rules:7" of a shipped one, "my.rules:2" of others. */
void hs_rule_place(const struct hs_rules *rules, const struct hs_rule *rule, char *text,
                   size_t n_bytes);
/* Returns the rule with this number; NULL: none. */
const struct hs_rule *hs_rules_numbered(const struct hs_rules *rules, uint8_t number);

/* "type", and "pointers find"; "heap", to which the value belongs. */
const char *hs_rule_subject(const struct hs_rule *rule);
const char *hs_rule_says(const struct hs_rule *rule);
/* Writes all that a rule says of its names: "pointers find", "heap hoard", "at pdata elements len".
 * Cut at n_bytes. */
void hs_rule_text(const struct hs_rule *rule, char *text, size_t n_bytes);

#endif
