/* The roots that caml_scan_roots_hook adds: in practice systhreads, whose caml_thread_scan_roots
 * scans of each thread its descriptor and its last exception, and of all but the current one the
 * stack (those are in stack.c). Source: otherlibs/systhreads/st_stubs.c of 4.13.1 and 4.14.2. */
#include "roots.h"

enum { THREAD_DESCR = 0, THREAD_LAST_EXN = 96 };

static hs_status add_leaf(struct hs_root_walk *walk, const struct hs_ocaml_thread *thread,
                          unsigned offset, const char *what)
{
    uint64_t value;
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_HOOK);
    leaf.root.address = thread->info + offset;
    if (!hs_walk_u64(walk, leaf.root.address, &value) || hs_walk_is_copying(walk))
        return HS_OK;
    leaf.root.thread = (uint32_t)thread->tid;
    HS_TRY(hs_walk_name(walk, &leaf.root.name, "%s of thread %d", what, (int)thread->tid));
    HS_TRY(hs_walk_name(walk, &leaf.group_module, "thread %d", (int)thread->tid));
    HS_TRY(hs_walk_name(walk, &leaf.group_unit, "systhreads"));
    return hs_walk_add(walk, value, &leaf);
}

hs_status hs_ocaml_walk_threads(struct hs_root_walk *walk)
{
    const struct hs_ocaml_stops *stops = walk->roots->stops;
    bool has_threads = false;
    for (size_t i = 0; i < stops->n; i++) {
        const struct hs_ocaml_thread *thread = &stops->threads[i];
        if (thread->info == 0)
            continue;
        has_threads = true;
        HS_TRY(add_leaf(walk, thread, THREAD_DESCR, "descriptor"));
        HS_TRY(add_leaf(walk, thread, THREAD_LAST_EXN, "last exception"));
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
