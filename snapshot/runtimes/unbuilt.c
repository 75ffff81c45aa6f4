/* Runtimes that this build was made without: a program that one of them would serve is told by
 * names that its library exports. */
#include "base/parts.h"
#include "runtimes/dump.h"

enum { SYMBOLS = 10 };

static const struct unbuilt {
    struct hs_unbuilt_runtime runtime;
    const char *symbols[SYMBOLS]; /* any of them */
} unbuilt[] = {
#if !HS_WITH_OCAML
    {{"an OCaml program", "ocaml", "HS_WITH_OCAML", true},
     {"Caml_state", "caml_heap_start", "caml_alloc_shr", "caml_globals", "caml_minor_heaps_start",
      "caml_global_heap_state", "caml_num_domains_running", "caml_interprete", "caml_start_code",
      "caml_prog"}},
#endif
#if !HS_WITH_GO
    {{"a program of Go", "go", "HS_WITH_GO", true}, {"runtime.mheap_"}},
#endif
#if !HS_WITH_PYTHON
    {{"a Python interpreter", "python", "HS_WITH_PYTHON", false}, {"_PyRuntime", "Py_Initialize"}},
#endif
    {{NULL, NULL, NULL, false}, {NULL}}};

const struct hs_unbuilt_runtime *hs_unbuilt_runtime(const struct hs_objects *objects)
{
    struct hs_live_symbol symbol;

    for (const struct unbuilt *u = unbuilt; u->runtime.what != NULL; u++)
        for (size_t i = 0; i < SYMBOLS && u->symbols[i] != NULL; i++)
            if (hs_objects_find(objects, u->symbols[i], &symbol))
                return &u->runtime;
    return NULL;
}
