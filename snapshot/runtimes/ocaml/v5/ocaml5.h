/* The parts of OCaml 5.1 to 5.4 that OCaml 4 has not: domains, each with a state, a minor heap,
 * pools and large blocks of its own, and stacks on the heap (fibers). Reached by hs_ocaml.five; the
 * rest of the runtime's code is shared.
 *
 *   TLS of each kernel thread --> caml_domain_state --> minor heap  [young_ptr, young_end)
 *                                        |          --> current_stack: stack_info -> parent ...
 *                                        v
 *                                  caml_heap_state    pools (4 x 32 lists), large blocks (2 lists)
 *                                        ^
 *   pool_freelist (static): pools and large blocks of ended domains
 *
 * In order:  locate (domains, layout) -> find the threads -> judge the stop -> copy roots ->
 *            copy the heap (pools, large blocks, minor heaps, fibers of continuations)
 *
 * Sources: runtime/domain.c, shared_heap.c, fiber.c, amd64.S, caml/domain_state.tbl, fiber.h,
 * shared_heap.h, sizeclasses.h of 5.1.1, 5.2.0 and 5.3; headers of 5.4.1. */
#ifndef HS_V5_OCAML5_H
#define HS_V5_OCAML5_H

#include "roots.h"

enum {
    HS_STATE5_WORDS = 65,    /* of the longest caml_domain_state without extra_params */
    HS_STATE5_YOUNG_PTR = 1, /* the same in all versions: */
    HS_STATE5_YOUNG_START = 2,
    HS_STATE5_YOUNG_END = 3,
    HS_STATE5_CURRENT_STACK = 5,
    HS_STATE5_EXN_HANDLER = 6,
    HS_STATE5_C_STACK = 8,
    HS_STATE5_GC_REGS = 11,
    HS_HOLDERS5_MAX = 8,
    HS_DOMAINS5_MAX = 4096, /* caml_params->max_domains is 128 by default, at most this */
};

/* Word indexes of caml_domain_state that differ between versions; 0: there is none. Chosen by which
 * one makes a domain's shared heap name that domain as its owner; 5.1 and 5.2 are alike there and
 * are told apart by symbols. */
struct hs_ocaml5_layout {
    uint8_t minor; /* of the version: 1, 2, 3 or 4 */
    uint8_t n_words;
    uint8_t local_roots, ephe_info, final_info;
    uint8_t backtrace_last_exn;
    uint8_t minor_heap_wsz, shared_heap, id, unique_id, dls_root;
    uint8_t inside_stw_handler;
    uint8_t memprof; /* 5.2 has the field, 5.3 uses it */
};

struct hs_ocaml5_domain {
    hs_addr state;                   /* caml_domain_state */
    uint64_t words[HS_STATE5_WORDS]; /* of it, as read during the stop; 0 beyond layout.n_words */
    uint32_t id, unique_id;          /* id is used again, unique_id never */
    hs_addr young_start, young_end;  /* of its minor heap */
    hs_addr young_ptr;               /* the true one: from a register while its OCaml code runs */
    hs_addr shared_heap;             /* caml_heap_state */
    /* The kernel thread that holds the domain (its caml_state is this one); 0: all its threads are
     * in blocking sections, and what the state and the threads' own structures have saved is true.
     */
    pid_t holder;
    /* The kernel threads whose caml_state this is: with systhreads the one that sends ticks, too.
     * It is told apart by having no thread structure, so hs_ocaml5_find_threads chooses `holder`.
     */
    pid_t holders[HS_HOLDERS5_MAX];
    uint32_t n_holders;
    pid_t first;    /* lowest kernel thread that belongs to it; 0: none */
    pid_t backup;   /* the one that serves collections while the others block; 0: none yet */
    bool has_rival; /* two seem to hold it: a thread is starting */
};

/* A stack that a suspended continuation owns: its own, or one of its parents. */
struct hs_ocaml5_fiber {
    hs_addr stack;   /* stack_info */
    hs_addr block;   /* the continuation, as a value */
    uint32_t order;  /* 0: its own, 1: the parent of that, ... */
    bool is_damaged; /* no stack is there, or one that shares memory with another */
};

struct hs_ocaml5 {
    struct hs_ocaml5_layout layout;
    struct hs_ocaml5_domain *domains; /* owned; ascending id */
    size_t n_domains, domains_capacity;
    hs_addr minor_start, minor_end; /* the reservation for all minor heaps */
    uint64_t n_running;             /* caml_num_domains_running */
    /* caml_global_heap_state: colours as they stand in a header (bits 8, 9) */
    uint64_t marked, unmarked, garbage;
    /* C static variables; 0 when they were not found */
    hs_addr pool_freelist; /* {mutex, free, stats, avail[32], full[32], large}: of ended domains */
    hs_addr orphans;       /* orph_structs {ephe_list_live, final_info}: likewise */
    /* Owned; ascending by block, a block's own stack first, then its parents. No stack has two
     * owners: what else a damaged heap says is left out. Filled when the heap is copied. */
    struct hs_ocaml5_fiber *fibers;
    size_t n_fibers, fibers_capacity;
    uint64_t n_shared_fibers; /* left out as said */
};

void hs_ocaml5_free(struct hs_ocaml5 *five);

/* Returns a word of a domain's state; 0 for a field that the version has not. */
static inline uint64_t hs_ocaml5_word(const struct hs_ocaml5_domain *domain, unsigned index)
{
    return index == 0 ? 0 : domain->words[index];
}

/* struct stack_info, struct stack_handler (fiber.h): byte offsets, the same in all versions. */
enum {
    HS_STACK5_SP = 0,
    HS_STACK5_EXN = 8,
    HS_STACK5_HANDLER = 16,
    HS_STACK5_BUCKET = 24, /* int: -1, or the number of a list of free stacks */
    HS_STACK5_ID = 48,
    HS_STACK5_BYTES = 56,
    HS_HANDLER5_PARENT = 24,
    HS_HANDLER5_BYTES = 32,
};

/* ---- locate.c (stopped): the domains, by thread-local storage. Sets rt->five. */
hs_status hs_ocaml5_locate(struct hs_ocaml *rt, struct hs_error *err);

/* ---- statics.c (stopped): the atoms, and the C static variables of rt->five. */
hs_status hs_ocaml5_find_statics(struct hs_ocaml *rt, struct hs_error *err);

/* ---- copy.c (stopped): pools, large blocks, minor heaps; fibers of continuations. */
hs_status hs_ocaml5_copy_heap(struct hs_ocaml *rt, struct hs_error *err);

/* Returns the bytes of the heaps of rt->five as the runtime counts them: pools, large blocks and
 * minor heaps, in use or not. What cannot be read counts nothing. */
uint64_t hs_ocaml5_heap_bytes(struct hs_ocaml *rt);

/* ---- fibers.c (stopped) */
/* Tells whether `info`, the words at `stack`, is like a stack_info. Only debug runtimes set its
 * magic. */
bool hs_ocaml5_is_stack(hs_addr stack, const uint64_t info[HS_STACK5_BYTES / HS_WORD]);
hs_status hs_ocaml5_copy_fibers(struct hs_ocaml *rt, struct hs_error *err);
/* Copies one stack from `from` on (0: from where it was left), its head and its handler. Not sane:
 * no stack is there, nothing was copied. *ret_parent is 0 at the end. */
hs_status hs_ocaml5_copy_stack(struct hs_ocaml *rt, hs_addr stack, hs_addr from, bool *ret_is_sane,
                               hs_addr *ret_parent, struct hs_error *err);

/* ---- threads.c (stopped): one hs_ocaml_thread per OCaml thread of each domain, with its
 * `domain`, `stack`, `local_roots` and what was saved of where it stands: sp, pc and gc_regs of its
 * first frame (sp is past the return address pc, as in OCaml 4). `is_current`: the state of its
 * domain has its truth; exactly one per domain, with the domain's holder as its tid when there is
 * one. The judge then corrects sp, pc and the conservative part where they are stale. */
hs_status hs_ocaml5_find_threads(struct hs_ocaml *rt, struct hs_ocaml_stops *stops,
                                 struct hs_error *err);

/* ---- The kinds of roots that differ; both phases, dispatched by walk_all of ocaml/roots.c. The
 * stacks of continuations are none: they are edges of their blocks. */
hs_status hs_ocaml5_walk_stacks(struct hs_root_walk *walk);  /* stack.c; C locals too */
hs_status hs_ocaml5_walk_domains(struct hs_root_walk *walk); /* DLS, last exception */
/* Tells whether a word is one that hs_ocaml5_walk_domains adds: it is no other root. */
bool hs_ocaml5_is_domain_root(const struct hs_ocaml5 *five, hs_addr address);
hs_status hs_ocaml5_walk_finalisers(struct hs_root_walk *walk); /* of each domain; orphans */
hs_status hs_ocaml5_walk_memprof(struct hs_root_walk *walk);    /* 5.3 on */
hs_status hs_ocaml5_walk_threads(struct hs_root_walk *walk);    /* systhreads: descr, last exn */

/* Calls slot(context, value, pc) for every live slot of one suspended stack, with the return
 * address that its frame goes on at, and for the three values of its handler, with 0; parents are
 * fibers of their own. On the copy, after roots were collected (`frames` is sealed then). Bounded
 * by the stack's length. False when the stack is damaged: what came before that was told. */
typedef void (*hs_ocaml5_slot_fn)(void *context, uint64_t value, hs_addr pc);
bool hs_ocaml5_stack_slots(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                           hs_addr stack, hs_ocaml5_slot_fn slot, void *context);

/* Returns the stacks that a continuation owns: *ret_n of them from the returned one on; NULL when
 * none. */
const struct hs_ocaml5_fiber *hs_ocaml5_fibers_of(const struct hs_ocaml5 *five, hs_addr block,
                                                  size_t *ret_n);

#endif
