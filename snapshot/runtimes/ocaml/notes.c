/* What the walker learns on the way and the snapshot must say: proofs and notes. */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "v5/ocaml5.h"

hs_status hs_ocaml_proof(struct hs_ocaml *rt, const char *what, uint64_t expected, uint64_t found,
                         struct hs_error *err)
{
    void *array = rt->proofs;
    hs_str text;

    HS_TRY(hs_grow(&array, &rt->proofs_capacity, rt->n_proofs + 1, sizeof *rt->proofs, err));
    rt->proofs = array;
    HS_TRY(hs_strtab_add(rt->strings, what, &text, err));
    rt->proofs[rt->n_proofs++] = (struct hs_proof){
        .what = text, .expected = expected, .found = found, .holds = expected == found};
    return HS_OK;
}

hs_status hs_ocaml_note(struct hs_ocaml *rt, bool is_gap, struct hs_error *err, const char *format,
                        ...)
{
    void *array = rt->notes;
    char line[512];
    hs_str text;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    HS_TRY(hs_grow(&array, &rt->notes_capacity, rt->n_notes + 1, sizeof *rt->notes, err));
    rt->notes = array;
    HS_TRY(hs_strtab_add(rt->strings, line, &text, err));
    rt->notes[rt->n_notes++] = (struct hs_note){.text = text, .is_gap = is_gap};
    return HS_OK;
}

void hs_ocaml_fini(struct hs_ocaml *rt)
{
    if (rt == NULL)
        return;
    hs_free(rt->proofs);
    hs_free(rt->notes);
    hs_ocaml5_free(rt->five);
    hs_spans_fini(&rt->chunks);
    hs_spans_fini(&rt->statics);
    hs_spans_fini(&rt->code);
    *rt = (struct hs_ocaml){0};
}
