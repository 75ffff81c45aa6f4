/* One native dump: what its parts share. Private to snapshot/runtimes/native.
 *
 *   before the stop   prepare.c: objects, debug files, frame tables; a rehearsal of the copy
 *   stopped           copy.c: registers, mappings, all private writable memory
 *   afterwards        heaps/ lists the blocks -> unclaimed.c adds mappings
 *                     globals.c, tls.c, stacks.c ... collect the roots
 *                     flow.c: types flow from typed roots to blocks
 *                     scan.c: words become edges; emit.c writes
 */
#ifndef HS_NATIVE_NATIVE_H
#define HS_NATIVE_NATIVE_H

#include "choose.h"
#include "counts.h"
#include "process/ranges.h"
#include "process/roots.h"
#include "reserve.h"
#include "runtimes/runtime.h"
#include "symbols/ctypes.h"
#include "symbols/locals.h"
#include "tasks.h"
#include "types.h"
#include "unions.h"
#include "wrappers.h"

/* A place from which types begin to flow: a root's slot that is a typed pointer. */
struct hs_native_seed {
    hs_addr at;    /* of the slot; 0: it is in no memory */
    hs_addr block; /* start of the block that it leads to */
    hs_addr word;  /* what the slot holds */
    hs_ctype pointee;
    uint8_t used_by; /* of an array: see struct hs_native_chosen */
    uint64_t used, used_from;
    bool is_of_call; /* of a call's variable, which may not be written yet, or no more used */
    bool is_bare;    /* the variable is a plain pointer */
};

/* A loaded object with what is known of it; same index as objects.objects. */
struct hs_native_object {
    hs_type_file types;  /* 0: no debug information */
    bool has_lists;      /* there is room for what debug information lists */
    uint64_t tls_module; /* its number in each thread's DTV, from 1; 0: unknown or no TLS */
    uint64_t tls_offset; /* its block begins so far below each thread pointer; 0: not static */
    bool is_system;      /* the loader, libc, an allocator: their own group of roots */
    bool is_runtime;     /* its data is a runtime's own: of tier runtime */
    uint8_t runtime_by;  /* number of the rule that says so */
    bool is_interpreter; /* of a language: likewise, but for what leads to the program's objects */
};

struct hs_native {
    struct hs_dump *dump;               /* borrowed */
    struct hs_ctypes *ctypes;           /* owned; NULL with --no-names */
    uint64_t debug_bytes;               /* reserved for them */
    uint64_t list_bytes;                /* of that: what they may list */
    struct hs_native_object *of_object; /* owned; dump->objects.n */
    struct hs_native_told told;         /* see choose.h */
    struct hs_native_tasks tasks;       /* of tokio */
    struct hs_native_wrappers wrappers;
    struct hs_unions unions; /* see unions.h */
    struct hs_native_counts counts;
    struct hs_roots roots;
    struct hs_native_seed *seeds; /* owned */
    size_t n_seeds, seeds_capacity;
    bool is_blind;          /* to a place that may hold any block: no leak is certain */
    bool has_signal_stacks; /* the program may have set some */
    bool has_names;         /* of a language: its own roots come before those of its interpreter */
    bool is_interpreter;    /* and the program is that interpreter */
    struct hs_range_set root_ranges; /* owned: see hs_native_is_root_memory */
    struct hs_native_ended { /* owned: threads that have ended and whose stacks are still there */
        hs_addr tcb;
        bool awaits_join;
    } * ended;
    size_t n_ended, ended_capacity;
    uint64_t tcb_bytes;               /* of a thread's control block, by libc; 0: not asked yet */
    uint64_t n_frames;                /* unwound so far, of all stacks */
    uint64_t n_reserves_without_room; /* see reserve.h */
    bool is_large;                    /* blocks are gone through by region: see queue.h */
    struct hs_native_foreign {
        struct hs_range_set ranges; /* owned: see foreign.h */
        hs_str name;                /* "heap of Ruby" */
    } foreign;
    uint64_t n_copy_looks; /* for the library that a variable was copied from */
};

/* ---- roots (all on the copy, after hs_heaps_mark) */

/* Resolves a word that may be a root and, when it leads to a block, adds the leaf (target, edge
 * class, certainty filled in here) and the seed. `leaf` says the rest. */
hs_status hs_native_add_word(struct hs_native *native, uint64_t word, struct hs_root_leaf *leaf,
                             hs_ctype pointee, struct hs_error *err);

/* Tells whether a block's words are roots by themselves (thread-local variables in memory that the
 * dynamic linker allocated): a scan of it must give no edges, or what they lead to would hang on
 * two roots. After hs_native_collect_tls. */
bool hs_native_is_root_memory(const struct hs_native *native, const struct hs_heap_block *block);

/* Collects the writable data of every object: one variable per symbol (DWARF's name, file and line
 * where there are; else the ELF symbol; else section+offset), one leaf per slot that leads to a
 * block. The loader's, libc's and the allocator's own go to a module group "system: libc.so.6"
 * each; memory that an allocator claims in the ledger is left out. */
hs_status hs_native_collect_globals(struct hs_native *native, struct hs_error *err);
/* Collects the thread-local variables of every thread and module, static and dynamic, and the
 * thread control blocks. */
hs_status hs_native_collect_tls(struct hs_native *native, struct hs_error *err);
/* Collects stacks by frame (unwound on the copy) and registers; locals and arguments by DWARF. */
hs_status hs_native_collect_stacks(struct hs_native *native, struct hs_error *err);
/* Collects the ranges that the program registered. */
hs_status hs_native_collect_registered(struct hs_native *native, struct hs_error *err);

/* Collects the words that the kernel holds (target/kernel_words.h): data of epoll and of timers as
 * roots of kind registered, vector registers as doubtful roots of their threads. Asks once more for
 * what may have come since the stop. */
hs_status hs_native_collect_kernel(struct hs_native *native, struct hs_error *err);

/* Adds, before hs_heaps_mark, the private mappings that nobody claims as spans (pieces of at most 1
 * MiB), leaving out data of objects, stacks, static TLS, the loader's, and claims of allocators. */
hs_status hs_native_add_unclaimed(struct hs_native *native, struct hs_error *err);
/* Adds, after the other roots, a root of kind unclaimed for each mapping that no root reaches (in
 * address order, what is reached from one before counts as reached). One bit per block. */
hs_status hs_native_collect_unclaimed(struct hs_native *native, struct hs_error *err);

/* The extent of a thread's own stack: what the thread library made for it, [stack] of the first
 * thread, else the mapping that it runs in. [begin, end) is what it uses: from its stack pointer
 * (from mapping_begin when it runs elsewhere: a handler or a coroutine with a stack of its own) to
 * the end, the static TLS and control block at the top of a pthread stack left out. False when
 * there is none, or when an allocator claims its memory: then it is a part of a block like any
 * other. */
struct hs_stack_extent {
    hs_addr mapping_begin, begin, end;
};
bool hs_native_stack_extent(const struct hs_native *native, const struct hs_thread *thread,
                            struct hs_stack_extent *ret);
/* Finds [begin, end) of a thread's static TLS block with its control block. False when its thread
 * pointer leads to no control block. */
bool hs_native_static_tls(const struct hs_native *native, const struct hs_thread *thread,
                          hs_addr *ret_begin, hs_addr *ret_end);

/* ---- flow.c: what type each block has, after the roots are collected.
 *
 * Resident: 2 bytes per block; 4 more where a block has type number 32767 or above. Blocks without
 * a type cost nothing where there are many. */
enum { HS_HELD_GUESSES = 32, HS_PLACE_GUESSES = 32 };
struct hs_flow {
    uint16_t *small; /* owned pages: by rank; see hs_flow_type */
    uint32_t *large; /* owned pages: of those that are HS_FLOW_IS_LARGE */
    uint64_t n_blocks;
    struct hs_native_types types;
    uint64_t n_typed, n_by_rtti, n_by_shape, n_by_interpreter;
    struct hs_native_reserves reserves;
    struct hs_bitmap owned_alone; /* by rank: blocks that one list owns, whoever else leads to them;
                                     empty when there are none */
    struct hs_bitmap sole; /* by rank: blocks that one smart pointer owns: sole.h; may be empty */
    struct hs_dict shared_counters; /* by the address of the counter that weak pointers to an object
                                       have before it: the object */
    struct hs_held_guess {
        uint64_t n_bytes;
        hs_ntype record, named;
    } held[HS_HELD_GUESSES]; /* what held blocks of a size may be: see guess.h */
    size_t n_held;
    struct hs_place_guess {
        uint64_t n_bytes, offset_bytes;
        hs_addr begin, end; /* where the word at this offset leads */
        hs_ntype named;
    } places[HS_PLACE_GUESSES]; /* whose blocks of a size may be: see guess_place.h */
    size_t n_places;
};
/* While types flow, a block's type may be tentative, still to be tried: flow.c's own. */
#define HS_FLOW_IS_TENTATIVE ((hs_ntype)1 << 31)
#define HS_FLOW_IS_LARGE ((uint16_t)0x7fff)
/* Returns the type of a block by its rank; 0: unknown. */
static inline hs_ntype hs_flow_type(const struct hs_flow *flow, uint64_t rank)
{
    uint16_t small = flow->small[rank];
    if (small == HS_FLOW_IS_LARGE)
        return flow->large[rank];
    return small < HS_FLOW_IS_LARGE ? small : (small & HS_FLOW_IS_LARGE) | HS_FLOW_IS_TENTATIVE;
}
static inline void hs_flow_set_type(struct hs_flow *flow, uint64_t rank, hs_ntype type)
{
    hs_ntype number = type & ~HS_FLOW_IS_TENTATIVE;
    bool is_large = number >= HS_FLOW_IS_LARGE;
    if (is_large)
        flow->large[rank] = type;
    flow->small[rank] = is_large ? HS_FLOW_IS_LARGE : (uint16_t)(number | type >> 16);
}
/* Tells whether a block is a list whose elements nobody else owns. */
static inline bool hs_flow_owns_alone(const struct hs_flow *flow, const struct hs_heap_block *block)
{
    hs_ntype type = hs_flow_type(flow, block->rank);
    return type != 0 && hs_native_type_of(&flow->types, type)->owns_alone;
}
hs_status hs_native_flow(struct hs_native *native, struct hs_flow *ret, struct hs_error *err);
void hs_flow_fini(struct hs_flow *flow);

#endif
