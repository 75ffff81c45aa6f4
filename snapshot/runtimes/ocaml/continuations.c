/* Names of suspended continuations (OCaml 5): the call that they wait in.
 *
 * "continuation of Server.handle (server.ml:11)": of the frames of its own stack the innermost
 * that is no effect library's. A scheduler's own frames say nothing of the task. */
#include <stdio.h>
#include <string.h>

#include "frame_label.h"
#include "symbols/demangle.h"
#include "types.h"
#include "v5/ocaml5.h"

enum { NAME_BYTES = 512, FRAMES_MAX = 256 };

struct innermost {
    const struct hs_ocaml *rt;
    hs_addr pc, last; /* the call that was chosen, 0: none; the frame that came last */
    bool is_library;
    unsigned n_frames;
};

/* Tells whether a function is of a library that suspends what others have written. */
static bool is_library(const char *function)
{
    static const char *const libraries[] = {"Stdlib", "Eio",      "Lwt",       "Miou",
                                            "Picos",  "Moonpool", "Domainslib"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        size_t n = strlen(libraries[i]);
        if (strncmp(function, libraries[i], n) == 0 && (function[n] == '.' || function[n] == '_'))
            return true;
    }
    return false;
}

static bool function_of(const struct hs_ocaml *rt, hs_addr pc, char *name, size_t n_bytes)
{
    struct hs_live_symbol symbol;

    if (!hs_objects_at(rt->objects, pc, &symbol) || !symbol.is_code)
        return false;
    (void)hs_demangle(symbol.name, name, n_bytes);
    return true;
}

static void take_frame(void *context, uint64_t value, hs_addr pc)
{
    struct innermost *in = context;
    char name[NAME_BYTES];

    (void)value;
    if (pc == 0 || pc == in->last || (in->pc != 0 && !in->is_library) ||
        in->n_frames++ >= FRAMES_MAX)
        return;
    in->last = pc;
    if (!function_of(in->rt, pc, name, sizeof name))
        return;
    bool is_of_library = is_library(name);
    if (in->pc == 0 || !is_of_library) {
        in->pc = pc;
        in->is_library = is_of_library;
    }
}

hs_addr hs_ocaml_continuation_call(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                                   hs_addr block)
{
    struct innermost in = {.rt = rt};
    size_t n;

    if (rt->five == NULL || frames == NULL)
        return 0;
    const struct hs_ocaml5_fiber *fibers = hs_ocaml5_fibers_of(rt->five, block, &n);
    for (size_t i = 0; i < n && (in.pc == 0 || in.is_library); i++)
        if (!fibers[i].is_damaged)
            (void)hs_ocaml5_stack_slots(rt, frames, fibers[i].stack, take_frame, &in);
    return in.pc;
}

void hs_ocaml_continuation_name(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                                hs_addr pc, char *name, size_t n_bytes)
{
    char function[NAME_BYTES / 2], file[NAME_BYTES / 2];
    struct hs_frame_place place;
    const struct hs_frame_entry *entry = pc == 0 ? NULL : hs_frame_table_find(frames, pc);

    if (entry == NULL || !function_of(rt, pc, function, sizeof function)) {
        (void)snprintf(name, n_bytes, "continuation");
        return;
    }
    if (!hs_frame_own_place(rt, entry, file, sizeof file, &place)) {
        (void)snprintf(name, n_bytes, "continuation of %s", function);
        return;
    }
    const char *slash = strrchr(file, '/');
    (void)snprintf(name, n_bytes, "continuation of %s (%s:%u)", function,
                   slash == NULL ? file : slash + 1, place.line);
}
