/* Stacks of OCaml 4: frames by descriptor, in chunks between which C is.
 *
 *   sp ->  | live slots, spills | return address |   frame of `size` bytes, descriptor of `pc`
 *          | ...                                 |   next: sp += size, pc = [sp - 8]
 *   a return into C (LINK): saved {bottom_of_stack, last_retaddr, gc_regs} at sp + 16:
 *   the next chunk
 *
 * Stack addresses only rise, from frame to frame and from chunk to chunk, so a damaged stack ends
 * the walk: time is linear in what was copied. Source: caml_do_local_roots_nat of
 * runtime/roots_nat.c, runtime/caml/stack.h, amd64.S. */
#include "stack.h"

enum { LINK_OFFSET = 16 };

static hs_status begin_chunk(struct hs_stack_walk *s)
{
    struct hs_stack_chunk chunk;
    HS_TRY(hs_stack_chunk_here(s, &chunk));
    return hs_stack_add_chunk(s, &chunk);
}

/* Follows the link of a return into C. *ret_more: there is another chunk. */
static hs_status next_chunk(struct hs_stack_walk *s, bool *ret_more)
{
    uint64_t sp, pc, gc_regs;
    hs_addr link = s->sp + LINK_OFFSET;
    *ret_more = false;
    if (!hs_walk_u64(s->walk, link, &sp) || !hs_walk_u64(s->walk, link + HS_WORD, &pc) ||
        !hs_walk_u64(s->walk, link + 2 * HS_WORD, &gc_regs))
        return hs_stack_cut(s, "its callback link cannot be read");
    if (sp == 0)
        return HS_OK;
    if (sp <= s->sp)
        return hs_stack_cut(s, "its callback link leads down");
    s->sp = sp;
    s->pc = pc;
    s->gc_regs = gc_regs;
    *ret_more = true;
    return begin_chunk(s);
}

static hs_status walk_precise(struct hs_stack_walk *s)
{
    struct hs_frame_descriptor d;
    bool more = s->sp != 0;
    if (more)
        HS_TRY(begin_chunk(s));
    while (more) {
        const struct hs_frame_entry *entry = hs_frame_table_find(s->walk->roots->frames, s->pc);
        if (entry == NULL)
            return hs_stack_cut(s, "it has no frame descriptor");
        if (!hs_frame_descriptor_read(s->walk->rt->image, entry->at, &d))
            return hs_stack_cut(s, "its frame descriptor is damaged");
        if (d.frame_size == HS_FRAME_LINK) {
            HS_TRY(next_chunk(s, &more));
        } else {
            HS_TRY(hs_stack_frame(s, entry, &d));
            HS_TRY(hs_stack_next_frame(s, &d, &more));
        }
    }
    return HS_OK;
}

static hs_status walk_thread(struct hs_stack_walk *s)
{
    if (hs_walk_is_copying(s->walk))
        return hs_stack_locals(s);
    HS_TRY(hs_walk_name(s->walk, &s->module, "thread %d", (int)s->thread->tid));
    HS_TRY(hs_stack_interrupted(s));
    HS_TRY(walk_precise(s));
    return hs_stack_locals(s);
}

hs_status hs_ocaml_walk_stacks(struct hs_root_walk *walk)
{
    struct hs_stack_walk s = {.walk = walk};
    const struct hs_ocaml_stops *stops = walk->roots->stops;
    hs_status status = HS_OK;
    for (size_t i = 0; i < stops->n && status == HS_OK; i++) {
        hs_stack_begin(&s, &stops->threads[i]);
        status = walk_thread(&s);
    }
    hs_stack_fini(&s);
    return status;
}
