/* The goroutines of a program: who they are, where they wait, and which words of their stacks are
 * pointers (private to snapshot/runtimes/go): runtime2.go, traceback.go, mgcmark.go, mgcstack.go.
 *
 * Words of frames are taken by the compiler's stack maps; stack objects count only where a live
 * word leads to them. Frames that were interrupted anywhere are taken word by word. */
#ifndef HS_GO_GOROUTINES_H
#define HS_GO_GOROUTINES_H

#include "base/table.h"
#include "functions.h"

struct hs_go_goroutine {
    hs_addr g;
    hs_addr stack_begin, stack_end;
    uint64_t id;
    uint8_t status, wait_reason;
    bool is_leaked;            /* nothing that may run again reaches what it waits on: leaked.c */
    bool is_runtime;           /* the runtime's own: its collector, its finalizers */
    hs_str function;           /* that it runs: "main.stuck"; 0: unknown */
    hs_str made_by, made_file; /* the go statement */
    uint32_t made_line;
    hs_str waits_in; /* the innermost call that is not the runtime's; 0: unknown */
};

/* The place of a frame's words, by the address of its instruction. */
struct hs_go_frame_map {
    struct hs_go_function function;
    int32_t depth; /* bytes of the frame, without the return address; < 0: unknown */
    const uint8_t *locals, *arguments; /* borrowed bits; NULL: none */
    uint32_t n_locals, n_arguments;    /* words */
    hs_addr objects;                   /* its table of stack objects; 0: none */
    uint32_t n_objects;
    uint8_t kind;       /* private to stacks.c */
    bool is_of_runtime; /* a function of the runtime, or a lock */
};

struct hs_go_goroutines {
    const struct hs_go_heap *heap;
    struct hs_go_goroutine *goroutines; /* owned: in the order of runtime.allgs */
    size_t n, capacity;
    hs_addr main;           /* the record of the goroutine that main.main runs in; 0: none */
    hs_addr all_gs, all_ps; /* the arrays that lead to all of them */
    hs_addr *ps, *ms;       /* owned: the records of processors and of threads */
    size_t n_ps, ps_capacity, n_ms, ms_capacity;
    struct hs_dict by_g;            /* g -> number */
    struct hs_dict frame_of_pc;     /* -> number of a frame map */
    struct hs_go_frame_map *frames; /* owned */
    size_t n_frames, frames_capacity;
    struct hs_go_stack_object { /* owned: of the stack that is walked */
        hs_addr begin;
        uint64_t n_bytes, n_pointer_bytes;
        hs_addr bits; /* of its words, those that are pointers */
        bool is_seen;
        hs_addr entry, sp; /* of its frame: the function, and where its stack ends */
    } * objects;
    size_t n_objects, objects_capacity;
    size_t *waiting; /* owned: objects that are to be looked into */
    size_t n_waiting, waiting_capacity;
    /* The frame whose words are visited: its function and where its stack ends; 0: none. */
    hs_addr frame_entry, frame_sp;
    uint64_t n_exact, n_interrupted; /* frames of all walks */
    uint64_t n_cut;                  /* stacks whose frames could not be followed to their end */
};

void hs_go_goroutines_fini(struct hs_go_goroutines *gs);

/* Finds the lists of goroutines, processors and threads in the module's data, reads them and adds
 * the stacks to the heap, before it is sealed. HS_TARGET when there is no such list. */
hs_status hs_go_find_goroutines(struct hs_go_heap *heap, struct hs_go_goroutines *ret,
                                struct hs_error *err);
/* Names them, and says where they wait. */
hs_status hs_go_name_goroutines(struct hs_go_goroutines *gs, struct hs_error *err);

/* The frames of a stack that name it. */
struct hs_go_outline {
    char outer[HS_GO_NAME_BYTES]; /* the outermost function that the compiler did not make up,
                                     inlined or not; "": none */
    char inner[HS_GO_NAME_BYTES]; /* the innermost that is not the runtime's */
};
hs_status hs_go_outline(struct hs_go_goroutines *gs, const struct hs_go_goroutine *g,
                        struct hs_go_outline *ret, struct hs_error *err);

/* Visits the words of a stack that may be pointers, those that are 0 left out. Again and again:
 * what was learnt of frames is kept. */
hs_status hs_go_walk_stack(struct hs_go_goroutines *gs, const struct hs_go_goroutine *g,
                           hs_status (*visit)(void *context, hs_addr at, uint64_t word,
                                              bool is_exact, struct hs_error *err),
                           void *context, struct hs_error *err);

#endif
