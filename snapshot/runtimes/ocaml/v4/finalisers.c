/* The finalisers of OCaml 4: C static variables of runtime/finalise.c. */
#include "finalisers.h"

hs_status hs_ocaml_walk_finalisers(struct hs_root_walk *walk)
{
    const struct hs_ocaml_statics *s = &walk->roots->stops->statics;
    if (s->finalisable_first != 0)
        HS_TRY(hs_finalisers_walk_set(walk, "Gc.finalise", s->finalisable_first));
    if (s->finalisable_last != 0)
        HS_TRY(hs_finalisers_walk_set(walk, "Gc.finalise_last", s->finalisable_last));
    if (s->to_do_hd != 0)
        HS_TRY(hs_finalisers_walk_to_do(walk, s->to_do_hd));
    bool is_complete = s->finalisable_first != 0 && s->finalisable_last != 0 && s->to_do_hd != 0;
    if (is_complete || hs_walk_is_copying(walk))
        return HS_OK;
    return hs_findings_note(&walk->rt->findings, true, walk->err,
                            "finalisers were not scanned: their tables were not found");
}
