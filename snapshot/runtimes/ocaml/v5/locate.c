/* Finds the domains of an OCaml 5 program in a stopped target.
 *
 * caml_state, the thread-local pointer to a domain's state, is NULL while a thread is in a blocking
 * section, which is the usual moment to be stopped. domain_self, a static thread-local pointer to
 * struct dom_internal {int id; caml_domain_state *state; ...}, stays, for backup threads too (5.4
 * has the thread between the two). So every word of the runtime's thread-local block is tested for
 * being the one or the other:
 *
 *   static TLS of the executable: [tp - roundup(n, align), tp); of a shared runtime: by
 *   the thread's DTV {counter, _, {block, to_free}...} at tp + 8.
 *
 * "s is a state": its minor heap lies inside of [caml_minor_heaps_start, caml_minor_heaps_end) and
 * its shared heap names s as its owner. The latter also tells the versions' layouts apart. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "locate.h"
#include "ocaml5.h"
#include "symbols/elf.h"

enum {
    HEAP_OWNER = 131, /* word of caml_heap_state */
    TLS_WORDS_MAX = 8192,
    DTV_MAX = 1024,        /* modules looked at */
    INTERNAL_WORDS = 33,   /* of dom_internal: of one in an array of them, no more than itself */
    INTERNAL_STATE_MAX = 2 /* the last of its words that may be the state */
};

/* The layouts by domain_state.tbl. The first that fits is taken, so 5.1 and 5.2 are one here. */
static const struct hs_ocaml5_layout layouts[] = {
    {.minor = 2,
     .n_words = 59,
     .local_roots = 19,
     .ephe_info = 20,
     .final_info = 21,
     .backtrace_last_exn = 25,
     .minor_heap_wsz = 33,
     .shared_heap = 34,
     .id = 35,
     .unique_id = 36,
     .dls_root = 37,
     .inside_stw_handler = 52,
     .memprof = 57},
    {.minor = 3,
     .n_words = 60,
     .local_roots = 20,
     .ephe_info = 21,
     .final_info = 22,
     .backtrace_last_exn = 26,
     .minor_heap_wsz = 34,
     .shared_heap = 35,
     .id = 36,
     .unique_id = 37,
     .dls_root = 38,
     .inside_stw_handler = 53,
     .memprof = 58},
    {.minor = 4,
     .n_words = 64,
     .local_roots = 24,
     .ephe_info = 25,
     .final_info = 26,
     .backtrace_last_exn = 30,
     .minor_heap_wsz = 38,
     .shared_heap = 39,
     .id = 40,
     .unique_id = 41,
     .dls_root = 42,
     .inside_stw_handler = 57,
     .memprof = 62},
};

struct locate {
    struct hs_ocaml *rt;
    struct hs_ocaml5 *five;
    const struct hs_object *runtime; /* that has the thread-local caml_state */
    struct hs_elf_tls tls;
    uint64_t state_offset; /* of caml_state in it */
    bool has_layout;
    uint64_t *block; /* owned: of one thread */
};

static bool locate_read(struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    return address != 0 && address % HS_WORD == 0 && address <= UINT64_MAX / 2 &&
           hs_target_read(rt->target, address, words, n * sizeof *words, &ignored) == HS_OK;
}

static bool locate_fits(struct locate *l, hs_addr state, const uint64_t *words,
                        const struct hs_ocaml5_layout *layout)
{
    uint64_t owner, start = words[HS_STATE5_YOUNG_START], end = words[HS_STATE5_YOUNG_END];

    return start < end && (start | end) % HS_WORD == 0 && start >= l->five->minor_start &&
           end <= l->five->minor_end && (uint32_t)words[layout->id] < HS_DOMAINS5_MAX &&
           locate_read(l->rt, words[layout->shared_heap] + HEAP_OWNER * HS_WORD, &owner, 1) &&
           owner == state;
}

/* Tells whether it is a domain state, whose words are in `words` then; the layout is chosen by the
 * first one. */
static bool locate_is_state(struct locate *l, hs_addr state, uint64_t *words)
{
    enum { LEAST_WORDS = 42 };

    if (state == 0 || !locate_read(l->rt, state, words, LEAST_WORDS))
        return false;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts && !l->has_layout; i++) {
        if (locate_fits(l, state, words, &layouts[i])) {
            l->five->layout = layouts[i];
            l->has_layout = true;
        }
    }
    return l->has_layout && locate_fits(l, state, words, &l->five->layout) &&
           locate_read(l->rt, state, words, l->five->layout.n_words);
}

static struct hs_ocaml5_domain *locate_known(const struct locate *l, hs_addr state)
{
    for (size_t i = 0; i < l->five->n_domains; i++) {
        if (l->five->domains[i].state == state)
            return &l->five->domains[i];
    }
    return NULL;
}

static hs_status locate_add(struct locate *l, hs_addr state, const uint64_t *words, bool *ret,
                            struct hs_error *err)
{
    const struct hs_ocaml5_layout *layout = &l->five->layout;

    *ret = l->five->n_domains < HS_DOMAINS5_MAX;
    if (!*ret)
        return HS_OK;
    HS_TRY(HS_GROW(&l->five->domains, &l->five->domains_capacity, l->five->n_domains + 1, err));
    struct hs_ocaml5_domain *d = &l->five->domains[l->five->n_domains++];
    *d = (struct hs_ocaml5_domain){.state = state,
                                   .id = (uint32_t)words[layout->id],
                                   .unique_id = (uint32_t)words[layout->unique_id],
                                   .young_start = words[HS_STATE5_YOUNG_START],
                                   .young_end = words[HS_STATE5_YOUNG_END],
                                   .young_ptr = words[HS_STATE5_YOUNG_PTR],
                                   .shared_heap = words[layout->shared_heap]};
    memcpy(d->words, words, layout->n_words * sizeof *words);
    return hs_image_copy(l->rt->image, l->rt->target, state, state + layout->n_words * HS_WORD,
                         err);
}

/* Finds the domain state that a dom_internal names; 0: it is none. pthread_t of glibc is the thread
 * pointer, and that of the backup thread stands behind the state. */
static hs_addr locate_internal(struct locate *l, hs_addr internal, const struct hs_thread *thread,
                               uint64_t *state_words, bool *ret_is_backup)
{
    uint64_t words[INTERNAL_WORDS];

    if (!locate_read(l->rt, internal, words, INTERNAL_WORDS))
        return 0;
    for (size_t i = 1; i <= INTERNAL_STATE_MAX; i++) {
        if (locate_known(l, words[i]) == NULL && !locate_is_state(l, words[i], state_words))
            continue;
        for (size_t k = i + 1; k < INTERNAL_WORDS; k++)
            *ret_is_backup |= words[k] == hs_regs_thread_pointer(&thread->regs);
        return words[i];
    }
    return 0;
}

/* The evidence in the words of one thread. */
struct locate_found {
    hs_addr state; /* of its domain; 0: it has none */
    hs_addr held;  /* its caml_state */
    bool is_backup;
};

static hs_status locate_word(struct locate *l, const struct hs_thread *thread, uint64_t offset,
                             uint64_t word, struct locate_found *found, struct hs_error *err)
{
    uint64_t words[HS_STATE5_WORDS];
    hs_addr state = word;
    bool has_room = true;
    bool is_state = locate_known(l, state) != NULL || locate_is_state(l, state, words);

    if (is_state && offset == l->state_offset)
        found->held = state;
    if (!is_state)
        state = locate_internal(l, word, thread, words, &found->is_backup);
    if (state == 0)
        return HS_OK;
    if (locate_known(l, state) == NULL)
        HS_TRY(locate_add(l, state, words, &has_room, err));
    if (has_room)
        found->state = state;
    return HS_OK;
}

/* Looks for domains in the words of one block of thread-local data. */
static hs_status locate_block(struct locate *l, const struct hs_thread *thread, hs_addr block,
                              struct hs_error *err)
{
    size_t n = (size_t)((l->tls.n_memory_bytes + HS_WORD - 1) / HS_WORD);
    struct locate_found found = {0};

    if (n > TLS_WORDS_MAX)
        n = TLS_WORDS_MAX;
    if (!locate_read(l->rt, block, l->block, n))
        return HS_OK;
    for (size_t i = 0; i < n; i++) {
        uint64_t word = l->block[i];
        if (word != 0 && word % HS_WORD == 0)
            HS_TRY(locate_word(l, thread, i * HS_WORD, word, &found, err));
    }
    struct hs_ocaml5_domain *domain = locate_known(l, found.state);
    if (domain == NULL)
        return HS_OK;
    if (domain->first == 0)
        domain->first = thread->tid;
    if (found.held != 0)
        domain = locate_known(l, found.held);
    if (found.held == 0 || domain == NULL)
        return HS_OK;
    if (found.is_backup)
        domain->backup = thread->tid;
    else if (domain->n_holders < HS_HOLDERS5_MAX)
        domain->holders[domain->n_holders++] = thread->tid;
    domain->holder = domain->holders[0];
    domain->has_rival = domain->n_holders > 1;
    return HS_OK;
}

/* Looks into the runtime's block of a thread: where the linker puts that of an executable, or any
 * of those that the thread's table has. */
static hs_status locate_thread(struct locate *l, const struct hs_thread *thread,
                               struct hs_error *err)
{
    hs_addr fs = hs_regs_thread_pointer(&thread->regs);
    uint64_t align = l->tls.align, n_bytes, dtv, counter, entry[2];

    if (fs == 0 || fs % HS_WORD != 0)
        return HS_OK;
    if (l->runtime->is_executable) {
        if (l->tls.n_memory_bytes > TLS_WORDS_MAX * HS_WORD || align == 0 || align > 1 << 16)
            return HS_OK;
        n_bytes = (l->tls.n_memory_bytes + align - 1) & -align;
        return fs > n_bytes ? locate_block(l, thread, fs - n_bytes, err) : HS_OK;
    }
    if (!locate_read(l->rt, fs + HS_WORD, &dtv, 1) || dtv < 2 * HS_WORD ||
        !locate_read(l->rt, dtv - 2 * HS_WORD, &counter, 1))
        return HS_OK;
    for (uint64_t i = 1; i <= counter && i <= DTV_MAX; i++) {
        if (locate_read(l->rt, dtv + 2 * i * HS_WORD, entry, 2) && entry[0] != 0)
            HS_TRY(locate_block(l, thread, entry[0], err));
    }
    return HS_OK;
}

static bool locate_runtime(struct locate *l)
{
    for (size_t i = 0; i < l->rt->objects->n; i++) {
        const struct hs_object *object = &l->rt->objects->objects[i];
        const struct hs_elf_symbol *symbol = hs_elf_find(object->elf, "caml_state");
        if (symbol == NULL || !hs_elf_tls(object->elf, &l->tls))
            continue;
        l->runtime = object;
        l->state_offset = symbol->vaddr;
        return true;
    }
    return false;
}

static int by_id(const void *a, const void *b)
{
    const struct hs_ocaml5_domain *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->state < y->state ? -1 : x->state > y->state;
}

static hs_status locate_domains(struct locate *l, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&l->block, TLS_WORDS_MAX, err));
    for (size_t i = 0; i < l->rt->target->n_threads; i++)
        HS_TRY(locate_thread(l, &l->rt->target->threads[i], err));
    if (l->five->n_domains > 1)
        qsort(l->five->domains, l->five->n_domains, sizeof *l->five->domains, by_id);
    return HS_OK;
}

/* Tells 5.1 from 5.2, whose layouts agree: compaction came back in 5.2. */
static void locate_minor(struct locate *l)
{
    struct hs_live_symbol symbol;

    if (l->five->layout.minor != 2 || hs_objects_find(l->rt->objects, "caml_compact_heap", &symbol))
        return;
    l->five->layout.minor = 1;
    l->five->layout.memprof = 0;
    l->five->layout.n_words = 57;
}

static hs_status locate_globals(struct locate *l, struct hs_error *err)
{
    struct hs_live_symbol colours;
    const char *name = l->rt->objects->objects[0].name;

    if (!hs_ocaml_symbol_word(l->rt, "caml_minor_heaps_start", &l->five->minor_start) ||
        !hs_ocaml_symbol_word(l->rt, "caml_minor_heaps_end", &l->five->minor_end) ||
        !hs_objects_find(l->rt->objects, "caml_global_heap_state", &colours) ||
        !hs_image_u64(l->rt->image, colours.address, &l->five->marked) ||
        !hs_image_u64(l->rt->image, colours.address + HS_WORD, &l->five->unmarked) ||
        !hs_image_u64(l->rt->image, colours.address + 2 * HS_WORD, &l->five->garbage) ||
        !locate_runtime(l))
        return hs_fail(err, HS_TARGET, "the OCaml 5 runtime of '%s' cannot be read", name);
    (void)hs_ocaml_symbol_word(l->rt, "caml_num_domains_running", &l->five->n_running);
    if (l->five->minor_start != 0 && l->five->minor_start < l->five->minor_end)
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "the OCaml runtime of '%s' has not started yet", name);
    return hs_hint(err, "try again in a moment");
}

static hs_status locate_all(struct locate *l, struct hs_error *err)
{
    HS_TRY(locate_globals(l, err));
    HS_TRY(locate_domains(l, err));
    if (l->five->n_domains == 0) {
        (void)hs_fail(err, HS_TARGET, "no domain of the OCaml 5 runtime of '%s' was found",
                      l->rt->objects->objects[0].name);
        return hs_hint(err, "try again in a moment; supported are OCaml 5.1 to 5.4");
    }
    locate_minor(l);
    l->rt->young_start = l->five->minor_start;
    l->rt->young_end = l->five->minor_end;
    return HS_OK;
}

hs_status hs_ocaml5_locate(struct hs_ocaml *rt, struct hs_error *err)
{
    struct locate l = {.rt = rt};
    void *five;

    HS_TRY(hs_alloc(1, sizeof *rt->five, &five, err));
    rt->five = five;
    l.five = five;
    hs_status status = rt->target == NULL ? HS_OK : locate_all(&l, err);
    hs_free(l.block);
    return status;
}

void hs_ocaml5_free(struct hs_ocaml5 *five)
{
    if (five == NULL)
        return;
    hs_free(five->domains);
    hs_free(five->fibers);
    hs_free(five);
}
