/* A listing of roots with the allocation sites of what each retains. */
#ifndef HS_LOOK_ROOT_SITES_PRINT_H
#define HS_LOOK_ROOT_SITES_PRINT_H

#include "analysis/root_sites.h"
#include "tool.h"

struct hs_invocation;

/* The members "sampled_words", "sampled_error_words", "n_samples" and "sites" of a root's object;
 * nothing more than null figures where the periods are not known. */
struct hs_root_sites_pairs {
    struct hs_sample_join *join;
    const struct hs_root_sites *sites;
    size_t row;
    struct hs_list list;
    struct hs_pair members[5];
};
void hs_root_sites_pairs_init(struct hs_sample_join *join, const struct hs_root_sites *sites,
                              size_t row, struct hs_root_sites_pairs *ret);

/* Prints the table (with indented rows) or TSV; `shared_words` and the rest of the sum as in
 * roots. */
hs_status hs_root_sites_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, const struct hs_root_rows *rows,
                              const struct hs_root_sites *sites, struct hs_error *err);

#endif
