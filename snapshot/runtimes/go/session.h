/* A dump of a Go program (private to snapshot/runtimes/go): its heap, what is reached, its blocks
 * as they are written. */
#ifndef HS_GO_SESSION_H
#define HS_GO_SESSION_H

#include "code.h"
#include "goroutines.h"
#include "masks.h"
#include "runtimes/runtime.h"
#include "samples.h"
#include "typing.h"

/* The goroutines that wait on what only another one can do: leaked.c. */
struct hs_go_waits {
    struct hs_go_wait {
        uint64_t slot;
        size_t goroutine;
    } * on, *own; /* owned, ascending: what they wait on; the records that they wait by */
    size_t n_on, on_capacity, n_own, own_capacity;
    uint64_t n_records;             /* of channels that were looked at */
    struct hs_bitmap is_on, is_own; /* the same by slot */
    size_t *woken;                  /* owned: goroutines whose stacks are to be marked */
    size_t n_woken, woken_capacity;
};

/* The order in which roots have what several of them reach: owners.c. */
enum hs_go_rank {
    HS_GO_RANK_MAIN,
    HS_GO_RANK_VARIABLES,
    HS_GO_RANK_GOROUTINES,
    HS_GO_RANK_TIMERS,
    HS_GO_N_RANKS /* all others: the runtime's own, goroutines that are leaked */
};
struct hs_go_owners {
    struct hs_bitmap of_rank[HS_GO_N_RANKS]; /* by slot */
    struct hs_bitmap named;                  /* by slot: what package variables lead to at once */
};

struct hs_go_session {
    struct hs_dump *dump; /* borrowed */
    const struct hs_go_layout *layout;
    struct hs_go_heap heap;
    struct hs_go_masks masks;
    struct hs_go_goroutines goroutines;
    struct hs_go_code code;
    struct hs_go_typing typing;
    struct hs_go_waits waits; /* while the heap is marked */
    uint64_t n_leaked;        /* goroutines */
    struct hs_findings findings;
    struct hs_runtime_fact fact;
    struct hs_go_samples samples;
    struct hs_roots roots;
    struct hs_go_finalized { /* owned: objects with a finalizer, and the types it says they are of
                              */
        hs_addr object, type;
    } * finalized;
    size_t n_finalized, finalized_capacity;
    struct hs_bitmap reached; /* by slot */
    struct hs_bitmap records; /* by slot: records of goroutines, threads and processors */
    struct hs_go_owners owners;
    struct hs_dict size_types; /* what a block without a known type is: by kind and size */
    struct hs_type *types;     /* owned */
    size_t n_types, types_capacity;
    struct hs_go_members members; /* of these */
    uint64_t slot;                /* the next, while blocks are written */
    size_t span_hint;
    struct hs_edge *edges; /* owned: of one block */
    size_t n_edges, edges_capacity;
    uint64_t reached_bytes, n_reached;
    uint64_t n_dangling; /* words of reached objects that lead to no object of the heap */
};

/* ---- statics.c: words of package variables that lead to objects */
hs_status hs_go_collect_statics(struct hs_go_session *s, struct hs_error *err);
/* ---- roots.c: goroutines, finalizers */
hs_status hs_go_collect_roots(struct hs_go_session *s, struct hs_error *err);
/* ---- timers.c */
hs_status hs_go_collect_timers(struct hs_go_session *s, struct hs_error *err);
/* ---- owners.c */
void hs_go_owners_fini(struct hs_go_owners *owners);
/* Prepares the bits, when all roots are known. */
hs_status hs_go_find_owners(struct hs_go_session *s, struct hs_error *err);
enum hs_go_rank hs_go_rank_of(const struct hs_go_session *s, const struct hs_root_leaf *leaf);
/* Tells whether a reference from one slot to another keeps it, as no root of another rank has it.
 */
bool hs_go_owns(const struct hs_go_session *s, uint64_t from, uint64_t to);
void hs_go_lower_roots(struct hs_go_session *s);
/* ---- leaked.c: before, while and after the heap is marked */
void hs_go_waits_fini(struct hs_go_waits *waits);
/* Finds what goroutines wait on; those that do are taken for leaked until it is reached. */
hs_status hs_go_find_waits(struct hs_go_session *s, struct hs_error *err);
/* Wakes those that wait on what is reached: adds them to `woken`. */
hs_status hs_go_wake(struct hs_go_session *s, uint64_t slot, struct hs_error *err);
/* Tells whether a block is the record of a goroutine that is taken for leaked, or one that it waits
 * by: lists of the runtime lead to these, whoever can reach what they wait on. */
bool hs_go_is_asleep(const struct hs_go_session *s, uint64_t slot);
/* Counts those that are left, and tells of them at their roots and in a note. */
hs_status hs_go_name_leaked(struct hs_go_session *s, struct hs_error *err);
/* ---- reach.c */
/* Marks all that the roots lead to. */
hs_status hs_go_reach(struct hs_go_session *s, struct hs_error *err);
/* Tells whether a block is the record of a goroutine, a thread or a processor. */
bool hs_go_is_record(const struct hs_go_session *s, const struct hs_go_block *block);
/* Tells whether a word of one object is left out as a reference: records of goroutines, threads and
 * processors lead to each other, so that whoever keeps one would keep all. The lists of all of them
 * lead there, and a stack to its goroutine; else nothing does. */
bool hs_go_is_cut(const struct hs_go_session *s, const struct hs_go_block *from,
                  uint64_t offset_words, const struct hs_go_block *to);
/* ---- proofs.c: what the runtime itself has counted */
hs_status hs_go_prove(struct hs_go_session *s, struct hs_error *err);
/* ---- c_calls.c: notes which functions call C, where any do */
hs_status hs_go_note_c_calls(struct hs_go_session *s, struct hs_error *err);
/* ---- claim.c: which memory is the collector's */
hs_status hs_go_claim(struct hs_go_session *s, struct hs_error *err);
/* ---- emit.c */
bool hs_go_peek(struct hs_go_session *s, hs_addr *ret);
hs_status hs_go_next(struct hs_go_session *s, struct hs_runtime_block *ret, struct hs_error *err);
hs_status hs_go_types(struct hs_go_session *s, struct hs_type_tables *ret, struct hs_error *err);

#endif
