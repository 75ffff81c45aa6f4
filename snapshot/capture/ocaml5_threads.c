/* The OCaml threads of each domain. */
#include "base/alloc.h"
#include "ocaml5.h"

static hs_status add_current(struct hs_ocaml *rt, uint32_t number, struct hs_ocaml_stops *stops,
                             struct hs_error *err)
{
    const struct hs_ocaml5_domain *domain = &rt->five->domains[number];
    struct hs_ocaml_thread thread = {.tid = domain->holder != 0 ? domain->holder : domain->first,
                                     .is_current = true,
                                     .domain = number,
                                     .stack = domain->words[HS_STATE5_CURRENT_STACK],
                                     .gc_regs = domain->words[HS_STATE5_GC_REGS],
                                     .local_roots =
                                         hs_ocaml5_word(domain, rt->five->layout.local_roots)};
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t sp, pc;

    if (thread.stack != 0 &&
        hs_target_read(rt->target, thread.stack + HS_STACK5_SP, &sp, sizeof sp, &ignored) ==
            HS_OK &&
        hs_target_read(rt->target, sp, &pc, sizeof pc, &ignored) == HS_OK) {
        thread.sp = sp + HS_WORD;
        thread.pc = pc;
    }
    HS_TRY(hs_grow((void **)&stops->threads, &stops->capacity, stops->n + 1, sizeof *stops->threads,
                   err));
    stops->threads[stops->n++] = thread;
    return HS_OK;
}

hs_status hs_ocaml5_find_threads(struct hs_ocaml *rt, struct hs_ocaml_stops *stops,
                                 struct hs_error *err)
{
    for (uint32_t i = 0; i < rt->five->n_domains; i++)
        HS_TRY(add_current(rt, i, stops, err));
    return HS_OK;
}

hs_status hs_ocaml5_walk_threads(struct hs_root_walk *walk)
{
    struct hs_live_symbol symbol;
    if (hs_walk_is_copying(walk) ||
        !hs_objects_find(walk->rt->objects, "caml_thread_initialize", &symbol))
        return HS_OK;
    return hs_ocaml_note(walk->rt, true, walk->err, "threads of OCaml 5 were not scanned");
}
