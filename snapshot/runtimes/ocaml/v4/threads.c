/* The threads that run OCaml, and the one that holds the runtime.
 *
 * With systhreads, curr_thread is the thread that took the master lock last: Caml_state holds its
 * truth whether or not it has released the lock since, and every other thread's truth is in its
 * structure. All structures hang on one ring; each kernel thread has the address of its own among
 * its pthread-specific data, which glibc keeps in struct pthread (at the thread pointer).
 *
 * Source: otherlibs/systhreads/st_stubs.c of 4.13.1 and 4.14.2. */
#include <stdlib.h>

#include "base/alloc.h"
#include "roots.h"

enum {
    THREAD_NEXT = 1, /* words of caml_thread_struct */
    THREAD_PREV = 2,
    THREAD_BOTTOM_OF_STACK = 4,
    THREAD_LAST_RETADDR = 5,
    THREAD_GC_REGS = 6,
    THREAD_LOCAL_ROOTS = 8,
    THREAD_WORDS = 14,
    MAX_THREADS = 1 << 20,
    PTHREAD_BYTES = 0x900, /* glibc 2.36's struct pthread; specific_1stblock begins at 0x310 */
    PTHREAD_SHORT_BYTES = 0x520,
};

const struct hs_thread *hs_ocaml_kernel_thread(const struct hs_ocaml *rt, pid_t tid)
{
    for (size_t i = 0; i < rt->target->n_threads; i++) {
        if (rt->target->threads[i].tid == tid)
            return &rt->target->threads[i];
    }
    return NULL;
}

static bool read_words(struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    return address % HS_WORD == 0 &&
           hs_target_read(rt->target, address, words, n * sizeof *words, &ignored) == HS_OK;
}

static hs_status add_thread(struct hs_ocaml_stops *stops, const struct hs_ocaml_thread *thread,
                            struct hs_error *err)
{
    HS_TRY(HS_GROW(&stops->threads, &stops->capacity, stops->n + 1, err));
    stops->threads[stops->n++] = *thread;
    return HS_OK;
}

static void set_by_state(struct hs_ocaml_thread *thread, const struct hs_ocaml_state *state)
{
    thread->is_current = true;
    thread->sp = state->words[HS_STATE_BOTTOM_OF_STACK];
    thread->pc = state->words[HS_STATE_LAST_RETURN];
    thread->gc_regs = state->words[HS_STATE_GC_REGS];
    thread->local_roots = state->words[HS_STATE_LOCAL_ROOTS];
}

/* Walks the ring from the current thread. The ring is whole when every next leads back by prev. */
static hs_status add_ring(struct hs_ocaml *rt, hs_addr current, const struct hs_ocaml_state *state,
                          struct hs_ocaml_stops *stops, struct hs_error *err)
{
    hs_addr at = current, previous = 0;
    do {
        uint64_t w[THREAD_WORDS];
        if (stops->n == MAX_THREADS || !read_words(rt, at, w, THREAD_WORDS) ||
            (previous != 0 && w[THREAD_PREV] != previous)) {
            stops->lacks_threads = true;
            return HS_OK;
        }
        struct hs_ocaml_thread thread = {.info = at,
                                         .sp = rt->is_bytecode ? 0 : w[THREAD_BOTTOM_OF_STACK],
                                         .pc = w[THREAD_LAST_RETADDR],
                                         .gc_regs = w[THREAD_GC_REGS],
                                         .local_roots = w[THREAD_LOCAL_ROOTS]};
        if (at == current)
            set_by_state(&thread, state);
        HS_TRY(add_thread(stops, &thread, err));
        previous = at;
        at = w[THREAD_NEXT];
    } while (at != current);
    return HS_OK;
}

static int by_info(const void *a, const void *b)
{
    const struct hs_ocaml_thread *x = a, *y = b;
    return x->info < y->info ? -1 : x->info > y->info;
}

/* Gives the number of a kernel thread to the thread of `stops` (sorted by info) whose structure its
 * own data mention. */
static void match_specific(struct hs_ocaml *rt, struct hs_ocaml_stops *stops,
                           const struct hs_thread *kernel)
{
    uint64_t words[PTHREAD_BYTES / HS_WORD];
    size_t n = PTHREAD_BYTES / HS_WORD;
    if (!read_words(rt, hs_regs_thread_pointer(&kernel->regs), words, n)) {
        n = PTHREAD_SHORT_BYTES / HS_WORD;
        if (!read_words(rt, hs_regs_thread_pointer(&kernel->regs), words, n))
            return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct hs_ocaml_thread wanted = {.info = words[i]};
        struct hs_ocaml_thread *found =
            words[i] == 0 ? NULL
                          : bsearch(&wanted, stops->threads, stops->n, sizeof wanted, by_info);
        if (found != NULL && found->tid == 0) {
            found->tid = kernel->tid;
            return;
        }
    }
}

static bool stack_holds(const struct hs_ocaml *rt, const struct hs_thread *kernel, hs_addr sp)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(rt->target, hs_regs_sp(&kernel->regs));
    return mapping != NULL && sp >= hs_regs_sp(&kernel->regs) && sp < mapping->end;
}

/* Returns the kernel thread on whose stack `sp` lies, or 0. */
static pid_t tid_of_stack(const struct hs_ocaml *rt, hs_addr sp)
{
    for (size_t i = 0; sp != 0 && i < rt->target->n_threads; i++) {
        if (stack_holds(rt, &rt->target->threads[i], sp))
            return rt->target->threads[i].tid;
    }
    return 0;
}

static void match_kernel_threads(struct hs_ocaml *rt, struct hs_ocaml_stops *stops)
{
    qsort(stops->threads, stops->n, sizeof *stops->threads, by_info);
    for (size_t i = 0; i < rt->target->n_threads; i++)
        match_specific(rt, stops, &rt->target->threads[i]);
    for (size_t i = 0; i < stops->n; i++) {
        if (stops->threads[i].tid == 0)
            stops->threads[i].tid = tid_of_stack(rt, stops->threads[i].sp);
    }
}

/* Adds the only thread of a program without systhreads: the one that is in OCaml code, else the one
 * on whose stack the runtime's last OCaml frame lies, else the first. */
static hs_status add_single(struct hs_ocaml *rt, const struct hs_ocaml_state *state,
                            struct hs_ocaml_stops *stops, struct hs_error *err)
{
    struct hs_ocaml_thread thread = {0};
    set_by_state(&thread, state);
    for (size_t i = 0; i < rt->target->n_threads && thread.tid == 0; i++) {
        if (hs_range_set_find(&rt->code, hs_regs_pc(&rt->target->threads[i].regs)) != NULL)
            thread.tid = rt->target->threads[i].tid;
    }
    if (thread.tid == 0)
        thread.tid = tid_of_stack(rt, thread.sp);
    if (thread.tid == 0)
        thread.tid = rt->target->pid;
    return add_thread(stops, &thread, err);
}

static int by_tid(const void *a, const void *b)
{
    const struct hs_ocaml_thread *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return by_info(a, b);
}

hs_status hs_ocaml_find_threads(struct hs_ocaml *rt, const struct hs_ocaml_state *state,
                                struct hs_ocaml_stops *stops, struct hs_error *err)
{
    struct hs_live_symbol symbol;
    hs_addr variable = stops->statics.curr_thread;
    uint64_t current = 0;
    if (variable != 0 && !read_words(rt, variable, &current, 1))
        current = 0;
    if (variable == 0 && hs_objects_find(rt->objects, "caml_thread_initialize", &symbol))
        stops->lacks_threads = true;
    if (current == 0)
        return add_single(rt, state, stops, err);
    HS_TRY(add_ring(rt, current, state, stops, err));
    if (stops->n == 0)
        return add_single(rt, state, stops, err);
    match_kernel_threads(rt, stops);
    qsort(stops->threads, stops->n, sizeof *stops->threads, by_tid);
    return HS_OK;
}
