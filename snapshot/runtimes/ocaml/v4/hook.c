/* The roots that caml_scan_roots_hook adds: in practice systhreads, whose caml_thread_scan_roots
 * scans of each thread its descriptor and its last exception, and of all but the current one the
 * stack (those are in stack.c). Source: otherlibs/systhreads/st_stubs.c of 4.13.1 and 4.14.2. */
#include "roots.h"

enum { THREAD_DESCR = 0, THREAD_LAST_EXN = 96 };

hs_status hs_ocaml_walk_threads(struct hs_root_walk *walk)
{
    const struct hs_ocaml_stops *stops = walk->roots->stops;
    bool has_threads = false;
    for (size_t i = 0; i < stops->n; i++) {
        const struct hs_ocaml_thread *thread = &stops->threads[i];
        if (thread->info == 0)
            continue;
        has_threads = true;
        HS_TRY(hs_walk_add_of_thread(walk, thread, THREAD_DESCR, "descriptor"));
        HS_TRY(hs_walk_add_of_thread(walk, thread, THREAD_LAST_EXN, "last exception"));
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
