/* libheapsnap: asks a heap.snap who keeps what alive, from a program of your own.
 *
 *     struct heapsnap *snap;
 *     struct heapsnap_error err;
 *     if (heapsnap_open("heap.snap", NULL, &snap, &err) != HEAPSNAP_OK)
 *         errx(1, "%s", err.message);
 *     ... ask ...
 *     heapsnap_close(snap);
 *
 * It reads snapshots; it never looks at a process (`heapsnap dump` does that), never prints and
 * never exits. Link it with pkg-config: `cc x.c $(pkg-config --cflags --libs heapsnap)`.
 *
 * Nodes. Every block of the heap and every root is a node, called by a number below n_nodes:
 *
 *     0 ........... n_tree | n_tree ........... n_nodes
 *     the tree of roots    | the blocks, in address order
 *
 * Node 0 stands above all roots; below it stand kinds, binaries or threads, units or frames,
 * variables and their slots. HEAPSNAP_NO_NODE stands for none.
 *
 * Sizes are in words of the process (word_bytes of them each), headers included. *Reachable* is all
 * that can be reached and does not add up; *retained* is what would be freed if the node went away
 * and adds up: what roots retain, what several share and what none reaches is the heap.
 *
 * Errors. What can fail returns HEAPSNAP_OK or the status that it also writes to the caller's
 * `err`, which must not be NULL; then what it would have returned is untouched. The heap may be
 * damaged or made to mislead: that is HEAPSNAP_FORMAT, never a crash. Numbers of nodes are checked
 * (HEAPSNAP_USAGE).
 *
 * Ownership. Strings and what is said to be borrowed live until heapsnap_close. Arrays that a call
 * returns are the caller's, to be freed with heapsnap_free; of no rows the array may be NULL.
 * Strings come from the process that was dumped: do not print them to a terminal as they are.
 *
 * Threads. One handle is used by one thread at a time; handles do not share anything.
 *
 * Versions. Symbols carry the version of the library that brought them (HEAPSNAP_0.1, 0.2).
 * Structures of rows do not change for a symbol's version; `struct heapsnap_options` may grow at
 * its end and tells its size. Until 1.0 the library's major version may change with any release. */
#ifndef HEAPSNAP_HEAPSNAP_H
#define HEAPSNAP_HEAPSNAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPSNAP_NO_NODE UINT64_MAX
#define HEAPSNAP_NO_OFFSET UINT64_MAX

enum heapsnap_status {
    HEAPSNAP_OK = 0,
    HEAPSNAP_USAGE = 1,  /* asked for something that does not exist or make sense */
    HEAPSNAP_FORMAT = 3, /* no snapshot, or a damaged, cut or too new one */
    HEAPSNAP_IO = 4,     /* the system failed to read or write */
    HEAPSNAP_LIMIT = 5,  /* over the memory limit, out of memory, or ended by `progress` */
    HEAPSNAP_BUG = 6     /* an error of the library */
};

struct heapsnap_error {
    int status;        /* enum heapsnap_status */
    int sys_errno;     /* errno of the call that failed, or 0 */
    char message[384]; /* what failed and why, without a final stop */
    char hint[256];    /* what to do next; may be empty */
};

/* All zeroes but `struct_bytes` is the default. */
struct heapsnap_options {
    size_t struct_bytes;   /* sizeof (struct heapsnap_options) */
    uint64_t memory_bytes; /* not to be exceeded; 0: a quarter of what is available, at least 256
                              MiB. What has no room is done by passes over temporary files */
    const char *spill_dir; /* where these go; NULL: TMPDIR or /var/tmp. Borrowed until close */
    unsigned n_threads;    /* 0: as many as there are processors, at most 8 */
    /* Is called now and then during long work: done <= total, or total is 0. Not 0 ends the work
     * with HEAPSNAP_LIMIT. May be NULL. */
    int (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
};

struct heapsnap; /* an open snapshot and its index */

/* Opens a snapshot and its index (`path`.idx, or in ~/.cache/heapsnap). An index that is missing,
 * damaged or of another snapshot is computed and kept, which takes seconds for some ten million
 * blocks. `options` may be NULL. *ret is the caller's, to be closed. */
int heapsnap_open(const char *path, const struct heapsnap_options *options, struct heapsnap **ret,
                  struct heapsnap_error *err);
/* Takes NULL. */
void heapsnap_close(struct heapsnap *snap);
/* Frees an array that a call returned. Takes NULL. */
void heapsnap_free(void *array);

/* ---- the whole */

struct heapsnap_summary {
    const char *command, *tool_version; /* borrowed; "" when unknown */
    uint32_t word_bytes, pid;
    uint64_t taken_ns;       /* since 1970; 0: unknown */
    uint64_t resident_bytes; /* of the process; 0: unknown */
    uint64_t n_nodes, n_tree, n_blocks, n_edges, n_types;
    uint64_t heap_words, static_words;       /* blocks of the heap; static data is counted apart */
    uint64_t reached_words, unreached_words; /* of the heap: by some root, by none */
};
void heapsnap_get_summary(const struct heapsnap *snap, struct heapsnap_summary *ret);

/* ---- roots */

struct heapsnap_root {
    uint64_t node;
    const char *name; /* "server.db", "#2 main sp+16" */
    const char *kind; /* "global", "stack", "register", ... as `heapsnap roots` has them */
    const char *module, *file, *function; /* "" when unknown; the function of the frame, or one that
                                             uses a variable without a name (".bss+0x748") */
    uint32_t line, thread;                /* 0 when unknown or none */
    uint64_t reachable_words, reachable_objects;
    uint64_t retained_words, retained_objects; /* static data left out */
};
/* Lists the roots, those that retain most first; all strings are borrowed. *ret_shared_words is
 * what several roots keep together; it may be NULL. Cost: the tree of roots, no block is read. */
int heapsnap_roots(struct heapsnap *snap, struct heapsnap_root **ret, size_t *ret_n,
                   uint64_t *ret_shared_words, struct heapsnap_error *err);

/* ---- nodes, and what stands around them */

struct heapsnap_node {
    uint64_t node;
    int is_root;        /* a node of the tree of roots */
    int is_static;      /* static data */
    uint64_t address;   /* in the process; of a root that of its slot, or 0 */
    uint64_t words;     /* its own; 0 for roots */
    const char *name;   /* a block's type, a root's name. Borrowed */
    uint64_t dominator; /* HEAPSNAP_NO_NODE: of node 0, or not reached */
    uint64_t retained_words, retained_objects; /* static data left out */
};
int heapsnap_get_node(struct heapsnap *snap, uint64_t node, struct heapsnap_node *ret,
                      struct heapsnap_error *err);

/* Finds the node that `text` names as the commands do: "0xADDR" (inside of a block is fine),
 * "#NODE", "root:NAME", "type:NAME" (the instance that retains most), "sample:ID". HEAPSNAP_USAGE
 * when there is none, or when the name is that of several; the hint lists these. */
int heapsnap_find(struct heapsnap *snap, const char *text, uint64_t *ret,
                  struct heapsnap_error *err);

/* A pointer from or to another node. */
struct heapsnap_edge {
    uint64_t other;
    uint64_t offset_words;  /* in the source; HEAPSNAP_NO_OFFSET when it has none, as of a root */
    const char *edge_class; /* "exact", "interior", "past_end", "guessed", "weak", ... Borrowed */
};
/* Finds where a node points, by offset; weak pointers too. */
int heapsnap_targets(struct heapsnap *snap, uint64_t node, struct heapsnap_edge **ret,
                     size_t *ret_n, struct heapsnap_error *err);
/* Finds who points at a block: at most `most` sources (0: all) are looked into; a hub has
 * millions. */
int heapsnap_sources(struct heapsnap *snap, uint64_t node, uint64_t most,
                     struct heapsnap_edge **ret, size_t *ret_n, struct heapsnap_error *err);

struct heapsnap_child {
    uint64_t node;
    uint64_t retained_words;
};
/* Lists the children in the dominator tree that retain most, at most `most` (0: all). */
int heapsnap_dominated(struct heapsnap *snap, uint64_t node, uint64_t most,
                       struct heapsnap_child **ret, size_t *ret_n, struct heapsnap_error *err);

/* Finds the shortest path from a root to a block: a root's slot, then blocks, the block itself
 * last. No nodes when no root reaches it. */
int heapsnap_path(struct heapsnap *snap, uint64_t node, uint64_t **ret, size_t *ret_n,
                  struct heapsnap_error *err);

/* ---- types and leaks */

struct heapsnap_type {
    const char *name;        /* borrowed */
    uint64_t objects, words; /* that a root reaches, static data left out */
    uint64_t retained_words; /* freed if all objects of the type went away */
};
/* Lists the types that a root reaches, those that retain most first. A pass over the blocks. */
int heapsnap_types(struct heapsnap *snap, struct heapsnap_type **ret, size_t *ret_n,
                   struct heapsnap_error *err);

/* The blocks that nothing surely keeps. `certain`: nothing leads to them at all; `possible`: only
 * words that may be no pointers. */
struct heapsnap_leaks {
    uint64_t certain_blocks, certain_words;
    uint64_t possible_blocks, possible_words;
};
/* Sums up the leaks in a few passes over the blocks. */
int heapsnap_get_leaks(struct heapsnap *snap, struct heapsnap_leaks *ret,
                       struct heapsnap_error *err);

/* ---- since 0.2: what several roots keep, keys, groups of leaks, all blocks */

/* A set of several roots with what they keep together: by the exact set of those that reach it. */
struct heapsnap_set {
    uint32_t id; /* from 1 on */
    uint64_t n_roots;
    uint64_t retained_words, retained_objects;
};
/* Finds the sets, those that retain most first. */
int heapsnap_sets(struct heapsnap *snap, struct heapsnap_set **ret, size_t *ret_n,
                  struct heapsnap_error *err);
/* Lists the nodes of a set's roots; none of a set whose roots were too many to list. */
int heapsnap_set_roots(struct heapsnap *snap, uint32_t set, uint64_t **ret, size_t *ret_n,
                       struct heapsnap_error *err);

/* A key: who keeps what, by names that are the same in the next dump, after a restart and on
 * another host: "cache > struct entry > char[]". */
struct heapsnap_key {
    const char *key;  /* borrowed; "" for the first, which is the whole heap */
    const char *form; /* "all", "root", "type", "unreached" */
    uint64_t parent;  /* place of the key above it in the array; HEAPSNAP_NO_NODE for the first */
    uint64_t root;    /* the first of the roots that are called so; HEAPSNAP_NO_NODE: none */
    uint32_t set;     /* that most of it is kept by; 0: one root, or none */
    uint32_t steps;   /* types on the way */
    uint64_t objects, words;         /* of its own */
    uint64_t all_objects, all_words; /* with those of all keys below it */
};
/* Lists the keys; parents stand before their children. The first call is a search over all edges, 4
 * bytes a node. */
int heapsnap_keys(struct heapsnap *snap, struct heapsnap_key **ret, size_t *ret_n,
                  struct heapsnap_error *err);

struct heapsnap_leak_group {
    const char *certainty; /* "certain", "possible" */
    const char *type;      /* borrowed */
    uint64_t words_each, objects, words;
    uint64_t heads;      /* of these, how many hang on no other lost block */
    uint64_t held_words; /* of all lost blocks that hang on them, their own included */
    uint64_t first;      /* the node at the lowest address */
};
/* Finds the groups of leaks: certain ones first, then those that hold most. A few passes over the
 * blocks. */
int heapsnap_leak_groups(struct heapsnap *snap, struct heapsnap_leak_group **ret, size_t *ret_n,
                         struct heapsnap_error *err);

/* A piece of all blocks, as columns of n values that are borrowed until the next call for a piece
 * or heapsnap_close. */
struct heapsnap_blocks {
    uint64_t first; /* node of the first */
    size_t n;
    const uint64_t *address, *words;
    const uint32_t *type;      /* see heapsnap_type_name */
    const uint64_t *dominator; /* HEAPSNAP_NO_NODE: of what nothing reaches */
    const uint64_t *retained_words;
    const uint8_t *is_static, *is_reached;
};
/* Finds the piece with this number, from 0 on; n is 0 behind the last. */
int heapsnap_get_blocks(struct heapsnap *snap, uint64_t chunk, struct heapsnap_blocks *ret,
                        struct heapsnap_error *err);
/* Returns the name of a type; "" for a number that is no type's. Borrowed. */
const char *heapsnap_type_name(const struct heapsnap *snap, uint32_t type);

#ifdef __cplusplus
}
#endif

#endif
