/* The finalisers of OCaml 5: each domain has a struct caml_final_info, and those of domains that
 * have ended hang on a list until another domain adopts them.
 *
 *   first {table, old, young, size}, updated_first, last {...}, updated_last, todo_head, todo_tail,
 *   running, next (of the list)
 *
 * Sources: runtime/caml/finalise.h, finalise.c, major_gc.c of 5.1.1, 5.2.0 and 5.3. */
#include "finalisers.h"
#include "ocaml5.h"

enum { FINAL_LAST = 40, FINAL_TODO = 80, FINAL_NEXT = 104, ORPHANS_FINAL = 8 };

static hs_status walk_info(struct hs_root_walk *walk, hs_addr info)
{
    HS_TRY(hs_finalisers_walk_set(walk, "Gc.finalise", info));
    HS_TRY(hs_finalisers_walk_set(walk, "Gc.finalise_last", info + FINAL_LAST));
    return hs_finalisers_walk_to_do(walk, info + FINAL_TODO);
}

static hs_status walk_orphans(struct hs_root_walk *walk)
{
    struct hs_cycle cycle = {0};
    uint64_t info = 0, next;
    if (walk->rt->five->orphans == 0)
        return hs_walk_is_copying(walk)
                   ? HS_OK
                   : hs_findings_note(&walk->rt->findings, true, walk->err,
                                      "finalisers that ended domains left were not scanned: their "
                                      "list was not found");
    if (!hs_walk_u64(walk, walk->rt->five->orphans + ORPHANS_FINAL, &info))
        return HS_OK;
    for (; !hs_walk_list_ends(walk, &cycle, info); info = next) {
        HS_TRY(walk_info(walk, info));
        if (!hs_walk_u64(walk, info + FINAL_NEXT, &next))
            return HS_OK;
    }
    return HS_OK;
}

hs_status hs_ocaml5_walk_finalisers(struct hs_root_walk *walk)
{
    const struct hs_ocaml5 *five = walk->rt->five;
    for (size_t i = 0; i < five->n_domains; i++) {
        uint64_t info = hs_ocaml5_word(&five->domains[i], five->layout.final_info);
        if (info != 0) /* a domain that begins has none yet */
            HS_TRY(walk_info(walk, info));
    }
    return walk_orphans(walk);
}
