/* paths --cut: what has to go for an object to be freed, near the roots and near the object. */
#ifndef HS_LOOK_CUT_PRINT_H
#define HS_LOOK_CUT_PRINT_H

#include "analysis/cut.h"
#include "tool.h"

/* Prints the sentence that says it, below a heading. */
hs_status hs_cut_sentence(struct hs_tool *tool, struct hs_view *view, const struct hs_cut *cut,
                          struct hs_error *err);

/* The rows of both cuts, and the member "cut" of a document. `ret` stays where it is. */
struct hs_cut_pairs {
    struct hs_view *view;
    const struct hs_cut *cut;
    struct hs_list rows, near_roots, near_object;
    struct hs_pair members[10];
};
void hs_cut_pairs_init(struct hs_view *view, const struct hs_cut *cut, struct hs_cut_pairs *ret);

#endif
