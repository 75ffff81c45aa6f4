/* Roots that each domain of OCaml 5 has in its state: its local storage and its last exception. The
 * runtime registers both as C global roots, by their address; they are named here instead.
 *
 * Source: runtime/domain.c (domain_create), backtrace.c of 5.1.1, 5.2.0 and 5.3. */
#include "ocaml5.h"

static hs_status add_word(struct hs_root_walk *walk, const struct hs_ocaml5_domain *domain,
                          unsigned index, const char *what)
{
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_C_ROOT);
    leaf.root.address = domain->state + (hs_addr)index * HS_WORD;
    if (index == 0)
        return HS_OK;
    HS_TRY(hs_walk_name(walk, &leaf.root.name, "%s of domain %u", what, domain->id));
    HS_TRY(hs_walk_name(walk, &leaf.group_module, "domain %u", domain->id));
    HS_TRY(hs_walk_name(walk, &leaf.group_unit, "%s", what));
    return hs_walk_add(walk, domain->words[index], &leaf);
}

hs_status hs_ocaml5_walk_domains(struct hs_root_walk *walk)
{
    const struct hs_ocaml5 *five = walk->rt->five;
    if (hs_walk_is_copying(walk))
        return HS_OK;
    for (size_t i = 0; i < five->n_domains; i++) {
        const struct hs_ocaml5_domain *domain = &five->domains[i];
        HS_TRY(add_word(walk, domain, five->layout.dls_root, "Domain.DLS"));
        HS_TRY(add_word(walk, domain, five->layout.backtrace_last_exn, "last exception"));
    }
    return HS_OK;
}

bool hs_ocaml5_is_domain_root(const struct hs_ocaml5 *five, hs_addr address)
{
    for (size_t i = 0; i < five->n_domains; i++) {
        hs_addr state = five->domains[i].state;
        if (address == state + (hs_addr)five->layout.dls_root * HS_WORD ||
            address == state + (hs_addr)five->layout.backtrace_last_exn * HS_WORD)
            return true;
    }
    return false;
}
