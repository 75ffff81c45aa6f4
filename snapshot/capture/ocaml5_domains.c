/* Roots that each domain of OCaml 5 has: its local storage, its last exception, its finalisers and
 * what Gc.Memprof tracks. */
#include "ocaml5.h"

static hs_status not_scanned(struct hs_root_walk *walk, const char *what)
{
    if (hs_walk_is_copying(walk))
        return HS_OK;
    return hs_ocaml_note(walk->rt, true, walk->err, "%s of OCaml 5 were not scanned", what);
}

static hs_status add_word(struct hs_root_walk *walk, const struct hs_ocaml5_domain *domain,
                          unsigned index, const char *what)
{
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_HOOK);
    leaf.root.address = domain->state + (hs_addr)index * HS_WORD;
    if (hs_walk_is_copying(walk))
        return HS_OK;
    HS_TRY(hs_walk_name(walk, &leaf.root.name, "%s of domain %u", what, domain->id));
    HS_TRY(hs_walk_name(walk, &leaf.group_module, "domain %u", domain->id));
    HS_TRY(hs_walk_name(walk, &leaf.group_unit, "%s", what));
    return hs_walk_add(walk, domain->words[index], &leaf);
}

hs_status hs_ocaml5_walk_domains(struct hs_root_walk *walk)
{
    const struct hs_ocaml5 *five = walk->rt->five;
    for (size_t i = 0; i < five->n_domains; i++) {
        HS_TRY(add_word(walk, &five->domains[i], five->layout.dls_root, "Domain.DLS"));
        HS_TRY(
            add_word(walk, &five->domains[i], five->layout.backtrace_last_exn, "last exception"));
    }
    return HS_OK;
}

hs_status hs_ocaml5_walk_finalisers(struct hs_root_walk *walk)
{
    return not_scanned(walk, "finalisers");
}

hs_status hs_ocaml5_walk_memprof(struct hs_root_walk *walk)
{
    return walk->rt->five->layout.minor < 3 ? HS_OK : not_scanned(walk, "tables of memprof");
}
