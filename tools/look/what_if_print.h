/* roots --without and --best: what would be freed. */
#ifndef HS_LOOK_WHAT_IF_PRINT_H
#define HS_LOOK_WHAT_IF_PRINT_H

#include "analysis/reserve.h"
#include "tool.h"

struct hs_what_if_answers {
    bool has_without;
    struct hs_what_if without;
    struct hs_what_if_reserve reserve; /* of that */
    char *alias; /* owned: one that refers to what they own by convention; may be NULL */
    const char *names[HS_MAX_REPEATED]; /* as given */
    size_t n_names;
    unsigned n_best; /* 0: not asked for */
    struct hs_best best[HS_BEST_MOST];
};

/* Finds the answers. HS_USAGE for a name that is no root, set or group of roots, and for a number
 * out of range. */
hs_status hs_what_if_answer(struct hs_view *view, const struct hs_invocation *inv,
                            struct hs_what_if_answers *ret, struct hs_error *err);
void hs_what_if_answers_fini(struct hs_what_if_answers *answers);

/* Prints sentences for a table. */
hs_status hs_what_if_sentences(struct hs_tool *tool, const struct hs_view *view,
                               const struct hs_what_if_answers *answers, struct hs_error *err);

/* The members "without" and "best" of JSON. Do not move it. */
struct hs_what_if_pairs {
    const struct hs_view *view;
    const struct hs_what_if_answers *answers;
    struct hs_list names, best;
    struct hs_pair without_members[8], best_members[2];
};
void hs_what_if_pairs_init(const struct hs_view *view, const struct hs_what_if_answers *answers,
                           struct hs_what_if_pairs *ret);

#endif
