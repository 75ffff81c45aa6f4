/* Stacks of OCaml 5: fibers, each a piece of memory of its own, from the one that runs up to the
 * thread's first by their parents.
 *
 *   stack_info      sp, exception, handler, ...
 *   ...
 *   sp of it ->     return address of the innermost frame, when it does not run
 *                   frames, as in OCaml 4
 *                   a return into C or out of the fiber (LINK), at its frame's sp:
 *                      exception handler (2 words), place on the C stack, gc_regs
 *                   from sp + 32 on: the next chunk, its return address first
 *   handler ->      handle_value, handle_exn, handle_effect, parent
 *
 * The place on the C stack is where caml_start_program began: the C functions that the chunk below
 * called have their frames below it. Addresses rise within a stack, and parents that go in a circle
 * are found, so a damaged stack ends the walk.
 *
 * Sources: runtime/fiber.c (scan_stack_frames, caml_scan_stack), caml/fiber.h, caml/stack.h,
 * amd64.S of 5.1.1, 5.2.0 and 5.3. A runtime with frame pointers has one more word, the caller's
 * frame pointer, before a chunk's return address. */
#include "stack.h"
#include "ocaml5.h"

enum {
    LINK_C_STACK = 16,
    LINK_GC_REGS = 24,
    LINK_BYTES = 32,
    GC_REGS_BYTES = 29 * HS_WORD,
    N_HANDLERS = 3,
    THREAD_C_STACK = 40,
};

/* The stack that a walk is in. */
struct stack5 {
    hs_addr begin, end; /* frames lie between: after the stack_info, before the handler record */
    hs_addr saved_sp;
    uint64_t handlers[N_HANDLERS];
    hs_addr parent;
};

struct walk5 {
    struct hs_stack_walk s;
    struct stack5 stack;
    struct hs_stack_chunk chunk; /* that of the frame at sp; its `above` is not known yet */
    bool has_chunk;
};

/* Reads a stack's head and handler; false when it is no stack. */
static bool stack_read(struct hs_root_walk *walk, hs_addr stack, struct stack5 *ret)
{
    uint64_t end;
    *ret = (struct stack5){.begin = stack + HS_STACK5_BYTES};
    if (stack % HS_WORD != 0 || stack > UINT64_MAX / 2 ||
        !hs_walk_u64(walk, stack + HS_STACK5_SP, &ret->saved_sp) ||
        !hs_walk_u64(walk, stack + HS_STACK5_HANDLER, &end) || end % HS_WORD != 0 ||
        end < ret->begin || end > UINT64_MAX / 2)
        return false;
    ret->end = end;
    for (unsigned i = 0; i < N_HANDLERS; i++) {
        if (!hs_walk_u64(walk, end + i * HS_WORD, &ret->handlers[i]))
            return false;
    }
    return hs_walk_u64(walk, end + HS_HANDLER5_PARENT, &ret->parent);
}

static bool is_in_stack(const struct stack5 *stack, hs_addr sp)
{
    return sp % HS_WORD == 0 && sp >= stack->begin && sp <= stack->end;
}

/* Tells whether a stack is a fiber's: its frames end in caml_runstack, those of a thread's first
 * stack in caml_start_program. */
static bool is_fiber(const struct stack5 *stack)
{
    return (stack->handlers[2] & 1) == 0 && stack->handlers[2] != 0;
}

/* Finds the first frame of a chunk whose return address lies at `at`. */
static bool enter_chunk(const struct hs_image *image, const struct hs_frame_table *frames,
                        hs_addr at, hs_addr *ret_sp, hs_addr *ret_pc)
{
    uint64_t pc, beyond;
    if (!hs_image_u64(image, at, &pc))
        return false;
    bool has_frame_pointer = hs_frame_table_find(frames, pc) == NULL &&
                             hs_image_u64(image, at + HS_WORD, &beyond) &&
                             hs_frame_table_find(frames, beyond) != NULL;
    *ret_pc = has_frame_pointer ? beyond : pc;
    *ret_sp = at + (hs_addr)(has_frame_pointer ? 2 : 1) * HS_WORD;
    return true;
}

/* Begins a chunk at sp, unless one goes on: frames of a parent are of the same chunk, as no C is
 * between. */
static hs_status find_chunk(struct walk5 *w)
{
    if (w->has_chunk)
        return HS_OK;
    w->has_chunk = true;
    return hs_stack_chunk_here(&w->s, &w->chunk);
}

static hs_status begin_chunk(struct walk5 *w, hs_addr at)
{
    struct hs_stack_walk *s = &w->s;
    if (!enter_chunk(s->walk->rt->image, s->walk->roots->frames, at, &s->sp, &s->pc))
        return hs_stack_cut(s, "the stack cannot be read");
    return find_chunk(w);
}

/* Follows a return into C or out of the fiber. *ret_more: there is another chunk on this stack. */
static hs_status next_chunk(struct walk5 *w, bool *ret_more)
{
    struct hs_stack_walk *s = &w->s;
    uint64_t gc_regs, above;
    hs_addr next = s->sp + LINK_BYTES;
    *ret_more = false;
    if (next > w->stack.end || !hs_walk_u64(s->walk, s->sp + LINK_C_STACK, &above) ||
        !hs_walk_u64(s->walk, s->sp + LINK_GC_REGS, &gc_regs))
        return hs_stack_cut(s, "its callback link is damaged");
    bool is_last = next == w->stack.end;
    bool rises = s->n_chunks == 0 || above > s->chunks[s->n_chunks - 1].above;
    if (rises && !(is_last && is_fiber(&w->stack))) {
        w->chunk.above = above;
        w->has_chunk = false;
        HS_TRY(hs_stack_add_chunk(s, &w->chunk));
    }
    if (is_last)
        return HS_OK;
    s->gc_regs = gc_regs;
    *ret_more = true;
    return begin_chunk(w, next);
}

/* Walks the frames from sp to the end of the stack. */
static hs_status walk_frames(struct walk5 *w)
{
    struct hs_stack_walk *s = &w->s;
    struct hs_frame_descriptor d;
    for (bool more = true; more;) {
        const struct hs_frame_entry *entry = hs_frame_table_find(s->walk->roots->frames, s->pc);
        if (!is_in_stack(&w->stack, s->sp))
            return hs_stack_cut(s, "its frames leave the stack");
        if (entry == NULL)
            return hs_stack_cut(s, "it has no frame descriptor");
        if (!hs_frame_descriptor_read(s->walk->rt->image, entry->at, &d))
            return hs_stack_cut(s, "its frame descriptor is damaged");
        if (d.frame_size == HS_FRAME_LINK) {
            HS_TRY(next_chunk(w, &more));
        } else {
            HS_TRY(hs_stack_frame(s, entry, &d));
            HS_TRY(hs_stack_next_frame(s, &d, &more));
        }
    }
    return HS_OK;
}

static hs_status add_handlers(struct walk5 *w)
{
    static const char *const names[N_HANDLERS] = {"value", "exception", "effect"};
    struct hs_stack_walk *s = &w->s;
    struct hs_frame_label label = {0};
    for (unsigned i = 0; i < N_HANDLERS; i++) {
        struct hs_root_leaf leaf = hs_stack_leaf(s, HS_ROOT_STACK, &label);
        if (!hs_block_of_value(s->walk->blocks, w->stack.handlers[i], &leaf.target))
            continue;
        leaf.root.address = w->stack.end + i * HS_WORD;
        HS_TRY(hs_walk_name(s->walk, &leaf.root.name, "handler's %s function", names[i]));
        HS_TRY(hs_walk_name(s->walk, &leaf.group_unit, "#%u effect handler", s->frame));
        HS_TRY(hs_roots_add(&s->walk->roots->roots, &leaf, s->walk->err));
    }
    return HS_OK;
}

/* Walks a stack. The innermost one goes on at the thread's sp, which is 0 when it has no frames to
 * be walked. */
static hs_status walk_stack(struct walk5 *w, bool is_first)
{
    struct hs_stack_walk *s = &w->s;
    bool is_empty = is_first ? s->sp == 0 : w->stack.saved_sp == w->stack.end;
    if (is_empty)
        return add_handlers(w);
    if (!is_in_stack(&w->stack, is_first ? s->sp - HS_WORD : w->stack.saved_sp))
        return hs_stack_cut(s, "its stack pointer is not in its stack");
    if (is_first)
        HS_TRY(find_chunk(w));
    else
        HS_TRY(begin_chunk(w, w->stack.saved_sp));
    HS_TRY(walk_frames(w));
    return add_handlers(w);
}

static hs_status walk_stacks(struct walk5 *w)
{
    struct hs_cycle cycle = {0};
    struct hs_stack_walk *s = &w->s;
    hs_addr stack = s->thread->stack;
    for (bool is_first = true; !hs_walk_list_ends(s->walk, &cycle, stack); is_first = false) {
        if (!stack_read(s->walk, stack, &w->stack))
            return hs_stack_cut(s, "a stack is damaged");
        s->gc_regs = s->thread->gc_regs;
        HS_TRY(walk_stack(w, is_first));
        stack = w->stack.parent;
    }
    if (!w->has_chunk)
        return HS_OK;
    /* A callback cut the fiber off from its parent. */
    w->chunk.above = UINT64_MAX;
    return hs_stack_add_chunk(s, &w->chunk);
}

/* Copies the gc_regs of callbacks, which lie in malloc memory, by what leads to them on the stack:
 * a word that leads to the C stack has one after it. What lies beyond memory that cannot be read is
 * no stack. */
static void copy_registers(struct hs_root_walk *walk, hs_addr begin, hs_addr end,
                           const struct hs_span *c_stack)
{
    for (hs_addr at = begin; at + 2 * HS_WORD <= end; at += HS_WORD) {
        uint64_t word, gc_regs;
        if (!hs_walk_spend(walk, 1) || !hs_image_u64(walk->rt->image, at, &word))
            return;
        if (word < c_stack->begin || word >= c_stack->end || word % HS_WORD != 0)
            continue;
        if (hs_image_u64(walk->rt->image, at + HS_WORD, &gc_regs) && gc_regs != 0)
            hs_walk_need(walk, gc_regs, GC_REGS_BYTES);
    }
}

/* Finds the part of the C stack that holds what C functions called from OCaml left there. */
static struct hs_span c_stack_of(struct hs_root_walk *walk, const struct hs_ocaml_thread *thread)
{
    uint64_t link = 0;
    if (thread->is_current)
        link = walk->rt->five->domains[thread->domain].words[HS_STATE5_C_STACK];
    else if (thread->info == 0 || !hs_walk_u64(walk, thread->info + THREAD_C_STACK, &link))
        link = 0;
    const struct hs_mapping *mapping = hs_target_mapping_at(walk->rt->target, link);
    return mapping == NULL ? (struct hs_span){0}
                           : (struct hs_span){.begin = link, .end = mapping->end};
}

/* Returns where the used part of the stack begins: a word below the lowest of the addresses that
 * are inside of it. */
static hs_addr lowest_used(const struct stack5 *stack, const struct hs_ocaml_thread *thread)
{
    const hs_addr candidates[] = {stack->saved_sp, thread->sp, thread->words_begin};
    hs_addr lowest = stack->end;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        hs_addr sp = candidates[i] & ~(hs_addr)(HS_WORD - 1);
        if (is_in_stack(stack, sp) && sp < lowest)
            lowest = sp;
    }
    return lowest - stack->begin < HS_WORD ? stack->begin : lowest - HS_WORD;
}

static void copy_stacks(struct hs_root_walk *walk, const struct hs_ocaml_thread *thread)
{
    struct hs_cycle cycle = {0};
    struct stack5 stack;
    struct hs_span c_stack = c_stack_of(walk, thread);
    if (thread->gc_regs != 0)
        hs_walk_need(walk, thread->gc_regs, GC_REGS_BYTES);
    for (hs_addr at = thread->stack; !hs_walk_list_ends(walk, &cycle, at); at = stack.parent) {
        if (!stack_read(walk, at, &stack))
            return;
        hs_addr begin = lowest_used(&stack, thread);
        hs_walk_need(walk, begin, stack.end + HS_HANDLER5_BYTES - begin);
        if (c_stack.begin != 0)
            copy_registers(walk, begin, stack.end, &c_stack);
    }
}

static hs_status walk_thread(struct walk5 *w)
{
    struct hs_stack_walk *s = &w->s;
    const struct hs_ocaml5 *five = s->walk->rt->five;
    if (hs_walk_is_copying(s->walk)) {
        copy_stacks(s->walk, s->thread);
        return hs_stack_locals(s);
    }
    if (five->n_domains > 1)
        HS_TRY(hs_walk_name(s->walk, &s->module, "domain %u, thread %d",
                            five->domains[s->thread->domain].id, (int)s->thread->tid));
    else
        HS_TRY(hs_walk_name(s->walk, &s->module, "thread %d", (int)s->thread->tid));
    w->has_chunk = false;
    HS_TRY(hs_stack_interrupted(s));
    HS_TRY(walk_stacks(w));
    return hs_stack_locals(s);
}

hs_status hs_ocaml5_walk_stacks(struct hs_root_walk *walk)
{
    struct walk5 w = {.s = {.walk = walk}};
    const struct hs_ocaml_stops *stops = walk->roots->stops;
    hs_status status = HS_OK;
    for (size_t i = 0; i < stops->n && status == HS_OK; i++) {
        hs_stack_begin(&w.s, &stops->threads[i]);
        status = walk_thread(&w);
    }
    hs_stack_fini(&w.s);
    return status;
}
