/* The state that the enumerators of OCaml 4 roots share.
 *
 * Each kind of root has one walk that runs twice: while the target is stopped, to copy every word
 * it will need (`blocks` is NULL then and nothing is named or recorded), and afterwards on the
 * copy, to record leaves. So what is copied and what is read cannot drift apart.
 *
 * Lists and tables of the target are hostile: lengths are bounded, cycles are found, a word that
 * cannot be read ends its list, is counted, and becomes a note; never a failed dump. */
#ifndef HS_OCAML_ROOTS_H
#define HS_OCAML_ROOTS_H

#include "ocaml.h"

#include "frame_table.h"

/* Word index of the fields of Caml_state that roots need (runtime/caml/domain_state.tbl). */
enum {
    HS_STATE_YOUNG_PTR = 1,
    HS_STATE_IN_MINOR = 11,
    HS_STATE_BOTTOM_OF_STACK = 26,
    HS_STATE_LAST_RETURN = 27,
    HS_STATE_GC_REGS = 28,
    HS_STATE_LAST_EXN = 32,
    HS_STATE_LOCAL_ROOTS = 36,
    HS_STATE_WORDS = 52,
};

/* ---- statics.c: C static variables of the runtime, by .symtab or by operand harvest.
 * Each is a run-time address, or 0 when it could not be found and validated. */
struct hs_ocaml_statics {
    hs_addr finalisable_first, finalisable_last, to_do_hd;
    hs_addr entries_global;
    hs_addr dyn_globals;  /* link *caml_dyn_globals */
    hs_addr curr_thread;  /* caml_thread_t curr_thread; 0 without systhreads */
    hs_addr named_values; /* struct named_value *named_value_table[13] */
};

/* Reads code from the files and data from the image; touches nothing else. */
void hs_ocaml_find_statics(const struct hs_ocaml *rt, struct hs_ocaml_statics *ret);

/* The precise part of one thread's stack, and the part above it. */
struct hs_ocaml_thread {
    pid_t tid;               /* 0: no kernel thread was found for it */
    hs_addr info;            /* caml_thread_struct; 0 without systhreads */
    bool is_current;         /* Caml_state holds its truth, not `info` */
    hs_addr sp, pc, gc_regs; /* first precise frame; sp 0: no OCaml frame */
    hs_addr local_roots;
    hs_addr stack_begin, stack_end; /* to be copied: from its stack pointer up */
    hs_addr words_begin, words_end; /* to be scanned conservatively; empty when all is precise */
    bool registers;                 /* scan the registers of `tid` too */
    /* OCaml 5: words of the C stack below it, to be scanned conservatively too; mostly none */
    hs_addr c_words_begin, c_words_end;
    uint32_t domain;     /* OCaml 5: number in hs_ocaml5.domains */
    hs_addr stack;       /* OCaml 5: its current stack_info; sp and pc are of that one */
    hs_addr interrupted; /* code address whose frame the words belong to; 0 when C */
};

struct hs_ocaml_stops {
    struct hs_ocaml_thread *threads; /* owned */
    size_t n, capacity;
    struct hs_ocaml_statics statics;
    hs_addr young_ptr;    /* the true one */
    bool lacks_unwinding; /* a stack was accepted by the runtime's own words only */
    bool lacks_stack;     /* a stack could not be delimited: scanned whole */
    bool lacks_threads;   /* there are systhreads but their list was not found */
};

void hs_ocaml_stops_fini(struct hs_ocaml_stops *stops);

/* Finds the OCaml threads and judges where they stand. On HS_STOP_RETRY *ret_reason says why and
 * `stops` is the best that can be done. Stopped only. */
hs_status hs_ocaml_find_stops(struct hs_ocaml *rt, struct hs_ocaml_stops *stops,
                              enum hs_stop_verdict *ret, const char **ret_reason,
                              struct hs_error *err);

/* ---- v4/threads.c: adds every thread of systhreads, or the one thread that runs OCaml, with
 * what its structure (or Caml_state, for the current one) says of its stack. */
struct hs_ocaml_state {
    uint64_t words[HS_STATE_WORDS]; /* of Caml_state, read while stopped */
};
hs_status hs_ocaml_find_threads(struct hs_ocaml *rt, const struct hs_ocaml_state *state,
                                struct hs_ocaml_stops *stops, struct hs_error *err);
/* Finds the stopped kernel thread `tid`, or NULL. */
const struct hs_thread *hs_ocaml_kernel_thread(const struct hs_ocaml *rt, pid_t tid);

/* ---- walk.c: reading, naming, adding */
struct hs_root_walk {
    struct hs_ocaml *rt;
    struct hs_ocaml_roots *roots;
    const struct hs_block_map *blocks; /* NULL while copying */
    hs_status status;                  /* the first failure of a copy; sticky */
    struct hs_error *err;
    uint64_t n_unreadable;       /* words that roots needed and the copy lacks */
    uint64_t n_damaged;          /* lists and tables that were cut or left out */
    uint64_t n_fields;           /* of module blocks, seen so far: overlapping tables end here */
    uint64_t n_spent, allowance; /* words looked at, and how many may be */
};

static inline bool hs_walk_is_copying(const struct hs_root_walk *walk)
{
    return walk->blocks == NULL;
}

/* Sets the allowance of a walk. Structures of a sound program lie side by side, so all their words
 * together are no more than the program has. A walk that wants many more goes in circles or through
 * tables laid over each other: from then on nothing can be read, and every list ends. */
void hs_walk_allow(struct hs_root_walk *walk);
/* Takes n from the allowance; false when it is used up. */
bool hs_walk_spend(struct hs_root_walk *walk, uint64_t n);

/* Reads a word of the target; false when it cannot be had. */
bool hs_walk_u64(struct hs_root_walk *walk, hs_addr address, uint64_t *ret);
bool hs_walk_u32(struct hs_root_walk *walk, hs_addr address, uint32_t *ret);
/* Makes sure that [address, address + n_bytes) is in the copy, as far as it is readable. */
void hs_walk_need(struct hs_root_walk *walk, hs_addr address, uint64_t n_bytes);

/* Interns a name; cut at 1 KiB. */
hs_status hs_walk_name(struct hs_root_walk *walk, hs_str *ret, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes an empty leaf of a kind: exact, strong, no field. */
struct hs_root_leaf hs_walk_leaf(enum hs_root_kind kind);

/* Adds `leaf` when `value` points to a block; otherwise it is no root and HS_OK. */
hs_status hs_walk_add(struct hs_root_walk *walk, uint64_t value, struct hs_root_leaf *leaf);
/* Adds what systhreads keeps for a thread: the word so many bytes behind its caml_thread_struct,
 * named "WHAT of thread N". */
hs_status hs_walk_add_of_thread(struct hs_root_walk *walk, const struct hs_ocaml_thread *thread,
                                unsigned offset_bytes, const char *what);

/* Brent's cycle detection over list cells. */
struct hs_cycle {
    hs_addr saved;
    uint64_t steps, power;
};
/* Tells whether `cell` was seen before (within twice the cycle's length) or the list is absurdly
 * long. */
bool hs_cycle_found(struct hs_cycle *cycle, hs_addr cell);
/* Tells whether the list is at its end, or damaged, which is counted. */
bool hs_walk_list_ends(struct hs_root_walk *walk, struct hs_cycle *cycle, hs_addr cell);

/* ---- The kinds. Each runs in both phases. */
hs_status hs_ocaml_walk_globals(struct hs_root_walk *walk);
hs_status hs_ocaml_walk_c_roots(struct hs_root_walk *walk);
hs_status hs_ocaml_walk_finalisers(struct hs_root_walk *walk);
hs_status hs_ocaml_walk_memprof(struct hs_root_walk *walk);
hs_status hs_ocaml_walk_threads(struct hs_root_walk *walk);
hs_status hs_ocaml_walk_stacks(struct hs_root_walk *walk);

/* ---- frames.c: the frame tables of the executable and its plugins. */
hs_status hs_ocaml_load_frames(struct hs_ocaml *rt, struct hs_frame_table *frames,
                               struct hs_error *err);

#endif
