/* One thread's stack, being walked: what the walks of OCaml 4 and 5 share. */
#ifndef HS_OCAML_STACK_H
#define HS_OCAML_STACK_H

#include "frame_label.h"

/* A run of OCaml frames. The C functions that its innermost frame called have theirs below `above`:
 * that frame's own stack pointer in OCaml 4, a place of the C stack in OCaml 5. */
struct hs_stack_chunk {
    hs_addr above;
    uint32_t frame;
    hs_str function;
};

struct hs_stack_walk {
    struct hs_root_walk *walk;
    const struct hs_ocaml_thread *thread;
    struct hs_frame_labels labels;
    struct hs_stack_chunk *chunks; /* owned; of the current thread, ascending `above` */
    size_t n_chunks, chunks_capacity;
    hs_str module; /* "thread 4242" */
    hs_addr sp, pc, gc_regs;
    uint32_t frame; /* number of the frame at sp, from 1 */
};

/* Takes where `thread` stands. The caller sets `module` when names are wanted. */
void hs_stack_begin(struct hs_stack_walk *s, const struct hs_ocaml_thread *thread);
void hs_stack_fini(struct hs_stack_walk *s);

/* Adds the live slots of the frame at sp, whose descriptor is `d` of `entry`. */
hs_status hs_stack_frame(struct hs_stack_walk *s, const struct hs_frame_entry *entry,
                         const struct hs_frame_descriptor *d);
/* Goes to the caller's frame. *ret_more is false when the stack cannot be read there, which is then
 * noted. */
hs_status hs_stack_next_frame(struct hs_stack_walk *s, const struct hs_frame_descriptor *d,
                              bool *ret_more);
/* Notes that the rest of the stack is not seen. */
hs_status hs_stack_cut(struct hs_stack_walk *s, const char *why);

/* Adds what looks like values in the frame that was running and has no descriptor for where it
 * stands. */
hs_status hs_stack_interrupted(struct hs_stack_walk *s);

/* Makes the chunk that begins at sp and pc, and adds one to those that C locals are placed by. */
hs_status hs_stack_chunk_here(struct hs_stack_walk *s, struct hs_stack_chunk *ret);
hs_status hs_stack_add_chunk(struct hs_stack_walk *s, const struct hs_stack_chunk *chunk);

/* Walks the C local roots: the list of caml__roots_block of the thread. In both phases. */
hs_status hs_stack_locals(struct hs_stack_walk *s);

/* Makes a leaf of the frame at sp, without target and name. */
struct hs_root_leaf hs_stack_leaf(const struct hs_stack_walk *s, enum hs_root_kind kind,
                                  const struct hs_frame_label *label);

#endif
