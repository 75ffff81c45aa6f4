/* The OCaml threads of each domain.
 *
 * With systhreads every thread has a caml_thread_struct, those of one domain hang on one ring, and
 * each kernel thread has the address of its own among its pthread-specific data. The state of the
 * domain has the truth of one of them: of the one that holds the domain, or, while none does, of
 * the one that released it last, whose structure then says the same.
 *
 * The table of active threads is static and of another form in each version, so the rings are
 * found from the kernel threads: glibc keeps specific data in struct pthread (at the thread
 * pointer), as pairs of a sequence number and the value.
 *
 * Source: otherlibs/systhreads/st_stubs.c of 5.1.1, 5.2.0 and 5.3. */
#include <stdlib.h>

#include "base/alloc.h"
#include "ocaml5.h"

enum {
    THREAD_DESCR = 0, /* words of caml_thread_struct */
    THREAD_NEXT = 1,
    THREAD_PREV = 2,
    THREAD_DOMAIN_ID = 3,
    THREAD_CURRENT_STACK = 4,
    THREAD_LOCAL_ROOTS = 6,
    THREAD_LAST_EXN = 9,
    THREAD_GC_REGS = 10,
    THREAD_WORDS = 11,
    MAX_THREADS = 1 << 20,
    PTHREAD_BYTES = 0x900, /* of struct pthread; specific_1stblock begins at 0x310 */
    PTHREAD_SHORT_BYTES = 0x520,
    SPECIFIC_OFFSET = 0x310,
    SPECIFIC_BYTES = 16,
    N_FIRST_KEYS = 32,
};

/* A structure that a kernel thread leads to. */
struct known {
    hs_addr info;
    pid_t tid;
    uint32_t domain_id;
};

struct finder {
    struct hs_ocaml *rt;
    struct hs_ocaml_stops *stops;
    struct hs_error *err;
    struct known *known; /* owned; by_info once all are known */
    size_t n_known, known_capacity;
};

static bool read_words(struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    const struct hs_mapping *mapping = hs_target_mapping_at(rt->target, address);
    return address % HS_WORD == 0 && mapping != NULL && mapping->readable &&
           hs_target_read(rt->target, address, words, n * sizeof *words, &ignored) == HS_OK;
}

static const struct hs_ocaml5_domain *domain_of(const struct hs_ocaml *rt, uint32_t id,
                                                uint32_t *ret_number)
{
    for (uint32_t i = 0; i < rt->five->n_domains; i++) {
        if (rt->five->domains[i].id == id) {
            *ret_number = i;
            return &rt->five->domains[i];
        }
    }
    return NULL;
}

/* Tells whether it is a caml_thread_struct: its neighbours on the ring know it, and it is of a
 * domain. */
static bool is_thread(struct hs_ocaml *rt, hs_addr info, uint64_t *words)
{
    uint64_t next[THREAD_WORDS], prev[THREAD_WORDS];
    uint32_t number;
    return read_words(rt, info, words, THREAD_WORDS) &&
           domain_of(rt, (uint32_t)words[THREAD_DOMAIN_ID], &number) != NULL &&
           read_words(rt, words[THREAD_NEXT], next, THREAD_WORDS) && next[THREAD_PREV] == info &&
           read_words(rt, words[THREAD_PREV], prev, THREAD_WORDS) && prev[THREAD_NEXT] == info &&
           (uint32_t)next[THREAD_DOMAIN_ID] == (uint32_t)words[THREAD_DOMAIN_ID];
}

static hs_status add_known(struct finder *f, hs_addr info, const uint64_t *words, pid_t tid)
{
    HS_TRY(HS_GROW(&f->known, &f->known_capacity, f->n_known + 1, f->err));
    f->known[f->n_known++] = (struct known){info, tid, (uint32_t)words[THREAD_DOMAIN_ID]};
    return HS_OK;
}

/* Finds where the value of caml_thread_key would be among `n` words of struct pthread; `n` when it
 * is not known. */
static size_t place_of_key(struct hs_ocaml *rt, size_t n)
{
    struct hs_live_symbol symbol;
    uint32_t key;
    if (!hs_objects_find(rt->objects, "caml_thread_key", &symbol) ||
        !hs_image_u32(rt->image, symbol.address, &key) || key >= N_FIRST_KEYS)
        return n;
    return (SPECIFIC_OFFSET + SPECIFIC_BYTES * key) / HS_WORD + 1;
}

/* Looks for the structure of a kernel thread: at the key's place first; then, another libc may have
 * it elsewhere, in any word that leads there. */
static hs_status look_into(struct finder *f, const struct hs_thread *kernel)
{
    uint64_t words[PTHREAD_BYTES / HS_WORD], thread[THREAD_WORDS];
    size_t n = PTHREAD_BYTES / HS_WORD;
    if (!read_words(f->rt, hs_regs_thread_pointer(&kernel->regs), words, n)) {
        n = PTHREAD_SHORT_BYTES / HS_WORD;
        if (!read_words(f->rt, hs_regs_thread_pointer(&kernel->regs), words, n))
            return HS_OK;
    }
    size_t first = place_of_key(f->rt, n);
    if (first < n && words[first] != 0 && is_thread(f->rt, words[first], thread))
        return add_known(f, words[first], thread, kernel->tid);
    for (size_t i = 0; i < n; i++) {
        if (words[i] != 0 && is_thread(f->rt, words[i], thread))
            return add_known(f, words[i], thread, kernel->tid);
    }
    return HS_OK;
}

static int by_info(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    return x->info < y->info ? -1 : x->info > y->info;
}

static pid_t tid_of(const struct finder *f, hs_addr info)
{
    const struct known wanted = {.info = info};
    const struct known *found =
        f->n_known == 0 ? NULL : bsearch(&wanted, f->known, f->n_known, sizeof wanted, by_info);
    return found == NULL ? 0 : found->tid;
}

static hs_status add_thread(struct finder *f, const struct hs_ocaml_thread *thread)
{
    struct hs_ocaml_stops *stops = f->stops;
    HS_TRY(HS_GROW(&stops->threads, &stops->capacity, stops->n + 1, f->err));
    stops->threads[stops->n++] = *thread;
    return HS_OK;
}

/* Sets the thread's place by its stack: nowhere when it has no frames yet. */
static void set_by_stack(struct hs_ocaml *rt, struct hs_ocaml_thread *thread)
{
    uint64_t words[HS_STACK5_BYTES / HS_WORD], pc;
    if (thread->stack == 0 || !read_words(rt, thread->stack, words, sizeof words / sizeof *words))
        return;
    hs_addr sp = words[HS_STACK5_SP / HS_WORD];
    if (sp == words[HS_STACK5_HANDLER / HS_WORD] || !read_words(rt, sp, &pc, 1))
        return;
    thread->sp = sp + HS_WORD;
    thread->pc = pc;
}

static void set_by_state(struct hs_ocaml *rt, struct hs_ocaml_thread *thread)
{
    const struct hs_ocaml5_domain *domain = &rt->five->domains[thread->domain];
    thread->is_current = true;
    thread->stack = domain->words[HS_STATE5_CURRENT_STACK];
    thread->gc_regs = domain->words[HS_STATE5_GC_REGS];
    thread->local_roots = hs_ocaml5_word(domain, rt->five->layout.local_roots);
    set_by_stack(rt, thread);
}

/* Adds all threads of the ring that `info` is on. */
static hs_status add_ring(struct finder *f, uint32_t domain, hs_addr info)
{
    hs_addr at = info, previous = 0;
    do {
        uint64_t w[THREAD_WORDS];
        if (f->stops->n == MAX_THREADS || !read_words(f->rt, at, w, THREAD_WORDS) ||
            (previous != 0 && w[THREAD_PREV] != previous)) {
            f->stops->lacks_threads = true;
            return HS_OK;
        }
        struct hs_ocaml_thread thread = {.info = at,
                                         .tid = tid_of(f, at),
                                         .domain = domain,
                                         .stack = w[THREAD_CURRENT_STACK],
                                         .gc_regs = w[THREAD_GC_REGS],
                                         .local_roots = w[THREAD_LOCAL_ROOTS]};
        HS_TRY(add_thread(f, &thread));
        previous = at;
        at = w[THREAD_NEXT];
    } while (at != info);
    return HS_OK;
}

static bool holds(const struct hs_ocaml5_domain *domain, pid_t tid)
{
    for (uint32_t i = 0; i < domain->n_holders; i++) {
        if (tid != 0 && domain->holders[i] == tid)
            return true;
    }
    return false;
}

/* Chooses, among the kernel threads that seem to hold the domain, the one that has a structure of
 * its own. */
static void choose_holder(struct finder *f, struct hs_ocaml5_domain *domain, size_t first)
{
    uint32_t n = 0;
    if (f->stops->n == first)
        return; /* no systhreads: nobody sends ticks */
    domain->holder = 0;
    for (size_t i = first; i < f->stops->n; i++) {
        pid_t tid = f->stops->threads[i].tid;
        if (holds(domain, tid) && n++ == 0)
            domain->holder = tid;
    }
    domain->has_rival = n > 1;
}

/* Sets the places of the threads from `first` on. The one whose truth is in the domain's state is
 * the holder, or the one whose stack it has; one without a structure is added when none fits: there
 * are no systhreads, or the domain begins or ends. */
static hs_status set_current(struct finder *f, uint32_t number, size_t first)
{
    struct hs_ocaml5_domain *domain = &f->rt->five->domains[number];
    struct hs_ocaml_thread *threads = f->stops->threads, *current = NULL;
    choose_holder(f, domain, first);
    for (size_t i = first; i < f->stops->n && current == NULL; i++) {
        if (domain->holder != 0 ? threads[i].tid == domain->holder
                                : threads[i].stack == domain->words[HS_STATE5_CURRENT_STACK])
            current = &threads[i];
    }
    for (size_t i = first; i < f->stops->n; i++) {
        if (&threads[i] == current)
            set_by_state(f->rt, &threads[i]);
        else
            set_by_stack(f->rt, &threads[i]);
    }
    if (current != NULL)
        return HS_OK;
    struct hs_ocaml_thread thread = {.tid = domain->holder != 0 ? domain->holder : domain->first,
                                     .domain = number};
    set_by_state(f->rt, &thread);
    return add_thread(f, &thread);
}

/* Adds the threads of a domain, which has one ring: who is not on it is lost. */
static hs_status add_domain(struct finder *f, uint32_t number)
{
    size_t first = f->stops->n, n_known = 0, n_found = 0;
    for (size_t i = 0; i < f->n_known; i++) {
        if (f->known[i].domain_id != f->rt->five->domains[number].id)
            continue;
        if (n_known++ == 0)
            HS_TRY(add_ring(f, number, f->known[i].info));
    }
    for (size_t i = first; i < f->stops->n; i++)
        n_found += f->stops->threads[i].tid != 0;
    if (n_found < n_known)
        f->stops->lacks_threads = true;
    return set_current(f, number, first);
}

static int by_domain_and_tid(const void *a, const void *b)
{
    const struct hs_ocaml_thread *x = a, *y = b;
    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->info < y->info ? -1 : x->info > y->info;
}

static hs_status find_all(struct finder *f)
{
    const struct hs_target *target = f->rt->target;
    for (size_t i = 0; i < target->n_threads; i++)
        HS_TRY(look_into(f, &target->threads[i]));
    if (f->n_known > 1)
        qsort(f->known, f->n_known, sizeof *f->known, by_info);
    for (uint32_t i = 0; i < f->rt->five->n_domains; i++)
        HS_TRY(add_domain(f, i));
    if (f->stops->n > 1)
        qsort(f->stops->threads, f->stops->n, sizeof *f->stops->threads, by_domain_and_tid);
    return HS_OK;
}

hs_status hs_ocaml5_find_threads(struct hs_ocaml *rt, struct hs_ocaml_stops *stops,
                                 struct hs_error *err)
{
    struct finder f = {.rt = rt, .stops = stops, .err = err};
    struct hs_live_symbol hook;
    uint64_t function = 0;
    hs_status status = find_all(&f);
    bool has_hook = hs_objects_find(rt->objects, "caml_scan_roots_hook", &hook) &&
                    read_words(rt, hook.address, &function, 1) && function != 0;
    if (has_hook && f.n_known == 0 && hs_objects_find(rt->objects, "caml_thread_initialize", &hook))
        stops->lacks_threads = true;
    hs_free(f.known);
    return status;
}

hs_status hs_ocaml5_walk_threads(struct hs_root_walk *walk)
{
    const struct hs_ocaml_stops *stops = walk->roots->stops;
    bool has_threads = false;
    for (size_t i = 0; i < stops->n; i++) {
        if (stops->threads[i].info == 0)
            continue;
        has_threads = true;
        HS_TRY(
            hs_walk_add_of_thread(walk, &stops->threads[i], THREAD_DESCR * HS_WORD, "descriptor"));
        HS_TRY(hs_walk_add_of_thread(walk, &stops->threads[i], THREAD_LAST_EXN * HS_WORD,
                                     "last exception"));
    }
    struct hs_live_symbol hook;
    uint64_t function = 0;
    if (has_threads || hs_walk_is_copying(walk) ||
        !hs_objects_find(walk->rt->objects, "caml_scan_roots_hook", &hook) ||
        !hs_walk_u64(walk, hook.address, &function) || function == 0)
        return HS_OK;
    return hs_findings_note(&walk->rt->findings, true, walk->err,
                            "roots of a scan hook other than systhreads were not scanned");
}
