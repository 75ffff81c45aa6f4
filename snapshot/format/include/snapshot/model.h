/* The contents of a snapshot, free of how they are stored: the records that the writer takes and
 * the reader gives. `docs/format.md` is the specification of the bytes.
 *
 *   node number:  0 ........... n_tree | n_tree ................ n_tree + n_blocks
 *                 the tree of roots    | the blocks, in address order
 *
 * Strings are `hs_str` ids of the snapshot's string table (0 = none). */
#ifndef HS_SNAPSHOT_MODEL_H
#define HS_SNAPSHOT_MODEL_H

#include "base/types.h"

/* The levels of the root tree. A node is one level below its parent, but a leaf may stand below a
 * unit. Only leaves have a target. A listing's roots are variables, and leaves below none. */
enum hs_root_level {
    HS_LEVEL_ALL,      /* node 0 */
    HS_LEVEL_KIND,     /* globals, stacks, c_roots, finalisers, memprof, ... */
    HS_LEVEL_MODULE,   /* a binary or library; a thread */
    HS_LEVEL_UNIT,     /* a compilation unit; a stack frame */
    HS_LEVEL_VARIABLE, /* a variable of several slots */
    HS_LEVEL_LEAF,     /* a variable of one slot, a field, a slot */
    HS_N_LEVELS
};

/* The kinds of `docs` and of JSON, in this order. */
enum hs_root_kind {
    HS_ROOT_GLOBAL,
    HS_ROOT_DYNAMIC_GLOBAL,
    HS_ROOT_C_ROOT,
    HS_ROOT_STACK,
    HS_ROOT_LOCAL,
    HS_ROOT_REGISTER,
    HS_ROOT_TLS,
    HS_ROOT_FINALISER,
    HS_ROOT_MEMPROF,
    HS_ROOT_HOOK,
    HS_ROOT_REGISTERED,
    HS_ROOT_UNCLAIMED,
    HS_N_ROOT_KINDS
};

/* The JSON names: "global", "dynamic_global", ... NULL for a kind out of range. */
const char *hs_root_kind_name(unsigned kind);

/* Returns the name of the tree's node above all roots of a kind: "globals", "stacks", ... */
const char *hs_root_group_name(unsigned kind);

/* The names, or their beginnings, of roots in memory that is of no variable with a name. */
#define HS_PLACE_TLS "TLS of "
#define HS_PLACE_STATIC_TLS "static TLS "
#define HS_PLACE_KEY "pthread_setspecific key"
#define HS_PLACE_VECTOR "dynamic thread vector"
#define HS_PLACE_CONTROL "control block"
#define HS_PLACE_LOADER "memory of the dynamic linker"

/* Is this the name of a place, and not the identifier of a variable of the program or a library:
 * one of these, or a place in a section or a mapping (".bss+0x380", "[anon]")? Places are no owners
 * that a person could look for in the source. */
bool hs_root_is_place(const char *name);

enum hs_certainty {
    HS_EXACT,
    HS_CONSERVATIVE,
    HS_SAMPLED,
    HS_N_CERTAINTIES,
    HS_UNREAD = HS_N_CERTAINTIES, /* of a runtime alone: it has a heap, which was not read */
};
const char *hs_certainty_name(unsigned certainty);

/* The worth of a root or an edge as a reason for memory to be alive: a word of a higher tier keeps
 * only what no lower one keeps. A block's tier is the smallest, over all ways to it, of the largest
 * tier on the way. */
enum hs_tier {
    HS_TIER_FIRM,     /* a variable of the program, a member that is a pointer */
    HS_TIER_RUNTIME,  /* tables of a loader, of libc, of a language's runtime; what is borrowed */
    HS_TIER_DOUBTFUL, /* a word that may be no pointer, or one that nobody reads any more */
    HS_N_TIERS,
    HS_TIER_NONE = HS_N_TIERS /* of a block that no root reaches */
};
/* The JSON names: "firm", "runtime", "doubtful"; NULL for a tier out of range. */
const char *hs_tier_name(unsigned tier);

/* One node of the root tree. Parents stand before their children. */
struct hs_root {
    hs_node parent;  /* tree node, smaller than the own number; 0 for node 0 */
    hs_node target;  /* block node, or HS_NO_NODE (inner nodes always) */
    hs_addr address; /* of the slot that holds the pointer; 0 when it has none (a register) */
    uint64_t offset; /* bytes from `symbol` */
    uint8_t level, kind, certainty;
    uint8_t edge_class; /* of a leaf: how its word leads to the target, a strong class */
    uint8_t tier;       /* of a leaf, enum hs_tier; of the others HS_TIER_FIRM */
    uint8_t reason;     /* why a leaf's tier is not firm, enum hs_reason; of the others 0 */
    bool weak;      /* listed, but keeps nothing alive (Gc.finalise_last values, memprof blocks) */
    uint32_t field; /* HS_NO_FIELD when it has none */
    uint32_t line, char_begin, char_end; /* 0 when unknown */
    uint32_t thread;                     /* tid, 0 when none */
    uint32_t frame;                      /* 1-based from the innermost; 0 when none */
    hs_str name; /* "Stm.VCS"; "Stm.observe slot sp+16"; for inner nodes the group's name */
    hs_str module, symbol, file;
    hs_str function; /* of the frame; of a global without a name one that uses it */
};

/* A block that is reached only through past_end and guessed edges may in truth be lost: the command
 * leaks calls it possible. */
enum hs_edge_class {
    HS_EDGE_EXACT,     /* strong: a known pointer, or an aligned word that is a block's start */
    HS_EDGE_INTERIOR,  /* strong: an aligned word that leads into a block */
    HS_EDGE_PAST_END,  /* strong: an aligned word that is one past the end of a block */
    HS_EDGE_GUESSED,   /* strong: doubtful: an unaligned word, or one where the type of its block
                          has no pointer */
    HS_EDGE_EPHEMERON, /* extra: active ephemeron data, from the ephemeron or a key */
    HS_EDGE_WEAK,      /* extra: weak array element, ephemeron key */
    HS_EDGE_EPHEMERON_OFF, /* extra: ephemeron data whose key is not (yet known) alive */
    HS_N_EDGE_CLASSES
};
const char *hs_edge_class_name(unsigned edge_class);

/* The rule by which a word was found to count for less than a reference that owns. */
#define REASON(number, symbol, name, text) HS_REASON_##symbol = (number),
enum hs_reason {
    HS_REASON_NONE, /* it counts; or, in files before version 4, nobody wrote it down */
#include "snapshot/reasons.def"
    HS_FIRST_LINE_REASON = 64, /* from here on a line of a file of rules each: HS_NOTE_LINE */
    HS_MAX_REASON = 255,       /* what a file may say: later programs have more rules */
};
#undef REASON
/* "weak-pointer"; NULL for 0, and for a rule that this program does not know. */
const char *hs_reason_name(unsigned reason);
/* "non-owning", as in "not counted: non-owning by rule weak-pointer"; NULL as above. */
const char *hs_reason_text(unsigned reason);
/* The reason with this name, or 0. */
unsigned hs_reason_by_name(const char *name);

/* Strong edges retain and are what reachable sizes follow. Ephemeron edges retain too, but a
 * reachable size does not pass through them. The rest is for looking only. */
static inline bool hs_edge_is_strong(unsigned edge_class)
{
    return edge_class <= HS_EDGE_GUESSED;
}

/* Held through such edges alone, a block surely lives. */
static inline bool hs_edge_is_sure(unsigned edge_class)
{
    return edge_class == HS_EDGE_EXACT || edge_class == HS_EDGE_INTERIOR;
}

/* May a rule have lowered an edge of this class? Then the snapshot stores which. */
static inline bool hs_edge_has_reason(unsigned edge_class)
{
    return edge_class == HS_EDGE_PAST_END || edge_class == HS_EDGE_GUESSED ||
           edge_class == HS_EDGE_WEAK;
}

static inline unsigned hs_edge_tier(unsigned edge_class)
{
    return edge_class == HS_EDGE_PAST_END || edge_class == HS_EDGE_GUESSED ? HS_TIER_DOUBTFUL
                                                                           : HS_TIER_FIRM;
}

struct hs_edge {
    hs_node target;
    uint64_t offset_words; /* field of the source; 0 for an ephemeron edge from a key */
    uint8_t edge_class;
    uint8_t reason; /* enum hs_reason; 0 of sure edges and of ephemerons */
};

enum hs_block_state {
    HS_BLOCK_STATIC = 1 << 0, /* static data: counted apart */
    HS_BLOCK_YOUNG = 1 << 1,
    HS_BLOCK_MAPPING = 1 << 2, /* a piece of a mapping that no allocator claims; static too */
    HS_BLOCK_UNSURE = 1 << 3,  /* whether it is in use is not known: never a certain leak */
    HS_BLOCK_STATES = HS_BLOCK_STATIC | HS_BLOCK_YOUNG | HS_BLOCK_MAPPING | HS_BLOCK_UNSURE
};

enum hs_type_form {
    HS_FORM_BLOCK,
    HS_FORM_CLOSURE,
    HS_FORM_STRING,
    HS_FORM_FLOAT,
    HS_FORM_FLOAT_ARRAY,
    HS_FORM_CUSTOM,
    HS_FORM_ABSTRACT,
    HS_FORM_WEAK,
    HS_FORM_OBJECT,
    HS_FORM_LAZY,
    HS_FORM_FORWARD,
    HS_FORM_OTHER,
    HS_FORM_RECORD,  /* native: struct, class, or an array of them: see stride_bytes */
    HS_FORM_POINTER, /* native: a pointer or an array of pointers */
    HS_FORM_SCALAR,  /* native: numbers, characters */
    HS_FORM_BYTES,   /* native: nothing is known but the size */
    HS_FORM_MAPPING, /* native: a piece of an unclaimed mapping */
    HS_FORM_PYTHON,  /* a Python object */
    HS_FORM_GO,      /* a value of a type of Go, or several in a row: see stride_bytes */
    HS_N_FORMS
};
const char *hs_type_form_name(unsigned form);

/* Between the two parts of the name of a type of form HS_FORM_BYTES: what is known, and a guess. */
#define HS_TYPE_PERHAPS ", perhaps "
/* The end of the name of a record that debug information declares and does not describe: nothing is
 * known of its words. */
#define HS_TYPE_OPAQUE " (opaque)"
/* The end of the name of a block that an exception was thrown in, behind the class of it. */
#define HS_TYPE_THROWN " (thrown)"
/* Tells whether a type has a name of an undescribed record. */
bool hs_type_is_opaque(const char *name, unsigned form);

enum { HS_TAG_HIDDEN = 1 }; /* of Python's types: the collector does not look into these objects */

struct hs_type {
    hs_str name; /* "closure Stm.observe", "block tag 0, 3 fields", "string", "struct dict",
                    "dictEntry *[]", "block of 48 bytes" */
    uint16_t tag;
    uint8_t form;
    uint64_t stride_bytes; /* of an array: size of an element, to which members belong; else 0 */
};

/* A member at an offset of a block of a type: "ht_table[0]", "next", "entry.key". Members of one
 * type stand in ascending offset; several may share one (a union): then the first names it. */
struct hs_member {
    uint32_t type;         /* index of the type; ascending */
    uint64_t offset_bytes; /* below stride_bytes when that is not 0 */
    hs_str name;
    hs_str type_name; /* as declared: "dictEntry **"; may be 0: where a container or a smart pointer
                         of C++ owns what it leads to, too; "weak Session *" of a weak pointer */
};

/* The beginning of the type of a member that is a weak (non-owning) reference, and the end of the
 * name of the variable's node (level HS_LEVEL_VARIABLE) above a slot that is one. */
#define HS_MEMBER_WEAK "weak "
#define HS_ROOT_WEAK " (weak)"

enum hs_sample_state { HS_SAMPLE_LIVE, HS_SAMPLE_PROMOTED, HS_N_SAMPLE_STATES };

/* "live", "promoted"; NULL for a state out of range. */
const char *hs_sample_state_name(unsigned state);

/* The samplers that choose the allocations which are samples. */
enum hs_sampler_kind {
    HS_SAMPLER_MEMPROF,  /* Gc.Memprof: each word is one with the same probability */
    HS_SAMPLER_JEMALLOC, /* jemalloc's profiler: a block is one or is none */
    HS_SAMPLER_RECORD,   /* heapsnap record: points on the line of all bytes allocated */
    HS_SAMPLER_GO,       /* Go's heap profile: an object is one or is none */
    HS_N_SAMPLER_KINDS
};
/* "memprof", "jemalloc", "record", "go"; NULL for a kind out of range. */
const char *hs_sampler_kind_name(unsigned kind);

struct hs_sampler {
    uint8_t kind;
    double period_words; /* mean distance of two samples, in words allocated; 0: unknown. Finite,
                            not negative */
    uint64_t begun_ns;   /* since 1970, when sampling began; 0: unknown */
    uint64_t n_lost;     /* samples that it had no room for */
    hs_str trace;        /* the file it writes to, as the process calls it; may be 0 */
};

/* A sampled allocation that was alive in the process. What it stands for: hs_sample_words of
 * analysis/estimate.h. */
struct hs_sample {
    uint64_t id;  /* what the sampler calls it. Two samplers may use the same ids */
    hs_node node; /* HS_NO_NODE when the block was not found */
    uint64_t n_samples;
    uint64_t words; /* as the sampler recorded it, header included */
    uint8_t state;
    uint32_t sampler; /* index of the sampler */
    uint32_t site;    /* where it was allocated: number of a site, or HS_NO_SITE */
};
#define HS_NO_SITE UINT32_MAX

/* One function of a backtrace. Frames of one site stand together, the innermost first, the sites
 * from 0 on without a gap; a function that was inlined stands before the one it was inlined into.
 * No two sites are alike. */
struct hs_site_frame {
    uint32_t site;
    hs_str function; /* "Stm.observe", "server::handle(int)"; 0: unknown */
    hs_str file;     /* source file; 0: unknown */
    hs_str module;   /* binary that the code is of; 0: unknown */
    uint32_t line;   /* 0: unknown */
    uint64_t offset; /* of the code in the binary, in bytes as its ELF file counts addresses */
};

/* The states that the process's memory was in. Rows' resident bytes add up to
 * facts.resident_bytes. */
enum hs_memory_state {
    HS_MEMORY_LIVE,     /* blocks in use */
    HS_MEMORY_CACHED,   /* freed, kept ready by a thread cache or fast list */
    HS_MEMORY_FREE,     /* freed, in the allocator's lists; the unused end of a heap */
    HS_MEMORY_DIRTY,    /* whole unused pages that the allocator has not given back */
    HS_MEMORY_INTERNAL, /* the allocator's own: headers, tables, padding */
    HS_MEMORY_DAMAGED,  /* could not be made sense of */
    HS_MEMORY_OTHER,    /* no heap: code, data of binaries, stacks, unclaimed mappings */
    HS_N_MEMORY_STATES
};
const char *hs_memory_state_name(unsigned state);

/* Owners of memory that no allocator claims; state HS_MEMORY_OTHER. */
#define HS_MEMORY_OF_STACKS "stacks"
#define HS_MEMORY_OF_ENDED "stacks of ended threads"
#define HS_MEMORY_OF_UNJOINED "stacks of threads never joined" /* n_blocks: so many */
#define HS_MEMORY_OF_DATA "data of binaries"
#define HS_MEMORY_OF_CODE "code and constants of binaries"
#define HS_MEMORY_OF_FILES "mapped files"
#define HS_MEMORY_OF_SHARED "shared memory"
#define HS_MEMORY_OF_NOBODY "unclaimed"  /* private and writable: some heap that was not read */
#define HS_MEMORY_OF_RESERVES "reserved" /* private, not accessible, no file */
#define HS_MEMORY_OF_KERNEL "vdso and others"
/* Tells whether an owner's memory is the process's own: neither of a file nor shared. */
bool hs_memory_is_private(const char *owner);
/* The share of private memory that may be unclaimed before every look tells it; less where a
 * runtime or an allocator is recognised whose heap it is. */
enum { HS_UNREAD_MOST_PERCENT = 50, HS_UNREAD_KNOWN_PERCENT = 10 };
struct hs_unread_sum {
    uint64_t unread_bytes, private_bytes; /* resident: nobody's, and all of the process's own */
};
void hs_unread_add(struct hs_unread_sum *sum, const char *owner, uint64_t resident_bytes);
/* Rounded down; 0 of nothing. */
unsigned hs_unread_percent(const struct hs_unread_sum *sum);
/* The commands by which such a runtime writes a heap dump of its own that `import` reads, as in
 * "jcmd PID GC.heap_dump FILE, then heapsnap import FILE"; NULL where it has none. `name` is that
 * of a runtime fact, or several in a sentence. */
const char *hs_unread_own_dump(const char *name);

struct hs_memory_row {
    hs_str owner; /* "glibc", "jemalloc", "cpython", "stacks", "data of binaries", "code", ... */
    uint8_t state;
    uint64_t n_bytes, resident_bytes, n_blocks;
};

struct hs_proof {
    hs_str what;
    uint64_t expected, found;
    bool holds;
};

struct hs_runtime_fact {
    hs_str name, version;
    uint8_t certainty;
};

struct hs_range {
    hs_addr begin, end; /* half-open */
};

struct hs_binary {
    hs_str path, build_id;
    hs_addr begin; /* lowest mapped address */
    bool has_symtab, has_debug_info;
    hs_str debug_file; /* the separate one that was used; 0: none */
};

/* The end of a note that says why no leak is certain. */
#define HS_NOTE_NOT_CERTAIN "; what only it holds is possibly leaked"
/* The beginning of such a note about blocks of one size alone. */
#define HS_NOTE_BLOCKS_OF "blocks of "
#define HS_NOTE_OF_SIZE HS_NOTE_BLOCKS_OF "%llu bytes"

/* A class that is one plain pointer, of which no rule says whether it owns: its pattern, and the
 * type that it leads to. */
#define HS_NOTE_WRAPPER "no rule says whether it owns: "
#define HS_NOTE_WRAPPER_OF ", which leads to "

/* A reason that is a line of a file of rules: its number, the rule of snapshot/reasons.def that it
 * is a case of, and where it stands, as in "rule 64 is weak-pointer by rules.d/std.rules:7". */
#define HS_NOTE_LINE "rule "
#define HS_NOTE_LINE_IS " is "
#define HS_NOTE_LINE_BY " by "

/* The words of warning and of method that `info` prints: what was assumed, what is missing. */
struct hs_note {
    hs_str text;
    bool is_gap; /* something is missing or not exact */
};

/* The ways in which the process was kept still while it was read. */
enum hs_snap_way {
    HS_SNAP_WAY_UNKNOWN, /* also in files of version 1, and of what was imported */
    HS_SNAP_WAY_READ,    /* stopped until all was read */
    HS_SNAP_WAY_COPY,    /* stopped until a frozen copy of it was made */
    HS_SNAP_WAY_CORE,    /* a core: nothing was stopped */
    HS_SNAP_WAY_STOPPED, /* its user had stopped it */
    HS_N_SNAP_WAYS
};

/* Everything known before the first block is written. Arrays are borrowed. */
struct hs_snap_facts {
    uint32_t word_bytes;
    uint32_t pid;
    hs_str command, tool_version;
    uint64_t pause_ns; /* 0 when the target was already stopped by its user */
    uint64_t read_bytes;
    uint32_t n_stop_attempts;
    uint64_t resident_bytes; /* as the kernel counts it; 0 when unknown */
    uint32_t stop_way;       /* enum hs_snap_way */
    uint64_t predicted_ns;   /* the pause as foreseen; 0: it was not */
    uint64_t growth_bytes;   /* of the process while its copy was read */
    hs_str why_no_copy;      /* 0: there was one, or none was asked for */
    uint64_t taken_ns;       /* since 1970, when the process was stopped; 0: unknown */
    uint64_t started_ns;     /* since 1970, when the process began, to 10 ms; 0: unknown */
    const struct hs_sampler *samplers;
    size_t n_samplers;
    const struct hs_memory_row *memory;
    size_t n_memory;
    const struct hs_runtime_fact *runtimes;
    size_t n_runtimes;
    const struct hs_proof *proofs;
    size_t n_proofs;
    const struct hs_binary *binaries;
    size_t n_binaries;
    const struct hs_range *unreadable;
    size_t n_unreadable;
    const struct hs_note *notes;
    size_t n_notes;
};

#define HS_UNKNOWN_DOUBT UINT64_MAX

/* Known only at the end; the reader takes it from the trailer. */
struct hs_snap_totals {
    uint64_t n_tree, n_blocks, n_edges, n_extra_edges, n_static_blocks;
    uint64_t heap_words, static_words;
    uint64_t n_types, n_samples, n_strings, n_chunks;
    uint64_t n_members;        /* of all types; 0 in files of version 1 */
    uint64_t n_doubtful_edges; /* strong ones of a class that is not sure; HS_UNKNOWN_DOUBT in
                                  whole files of before version 3 */
    uint64_t checksum;         /* of the whole file: the key of its index */
    uint64_t file_bytes;
};

#endif
