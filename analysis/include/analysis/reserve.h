/* The reserve that "alone keeps", "together keep" and "would be freed" need, if any: why letting go
 * of a root may free something else than the figure says. docs/answers.md has what each phrase
 * means and when a reserve is due.
 *
 *   none         the figure is what is freed
 *   convention   Python: a name owns what it leads to by our convention, but other objects refer to
 *                it, too, and while they do it lives
 *   alias        plain pointers lead there from others as well, or are all that leads there in C++:
 *                no pointer says who frees
 *   doubtful     words count that may be no pointers
 *
 * A part below a thousandth of the figure needs none. */
#ifndef HS_ANALYSIS_RESERVE_H
#define HS_ANALYSIS_RESERVE_H

#include "analysis/what_if.h"

enum hs_reserve {
    HS_RESERVE_NONE,
    HS_RESERVE_ALIAS,
    HS_RESERVE_CONVENTION,
    HS_RESERVE_DOUBTFUL,
    HS_N_RESERVES
};
/* Returns the JSON name; NULL for none and out of range. */
const char *hs_reserve_name(unsigned reserve);

/* Tells whether `part` is more than a thousandth of `whole`: too much to be passed over. */
static inline bool hs_reserve_is_due(uint64_t part, uint64_t whole)
{
    return part > whole / 1000;
}

/* Tells whether more than a tenth is in blocks without a type, so that one of their words may be an
 * old address that keeps something else, or that keeps this where others let go. */
static inline bool hs_reserve_is_untyped(uint64_t untyped, uint64_t whole)
{
    return untyped > whole / 10;
}

/* Roots that let go together, as hs_view_root_of has them. */
struct hs_reserve_roots {
    const hs_node *roots; /* borrowed: ascending */
    size_t n;
};

/* References to what names of Python own. */
struct hs_name_aliases {
    uint64_t n_links; /* words of other objects that lead to what the roots' slots lead to */
    uint64_t words;   /* what these targets retain together */
    hs_node referrer; /* of the others the one with most such words; HS_NO_NODE: none */
    uint64_t most;    /* so many */
};

/* Finds these references for n groups of roots at once, ret[i] for the i-th. Looks at the referrers
 * of what their slots lead to, at most HS_ALIAS_SOURCES of each that the roots do not own, among
 * HS_ALIAS_LOOKS, in order of memory: each chunk is decoded once. */
#define HS_ALIAS_SOURCES 1000
#define HS_ALIAS_LOOKS (1 << 16)
#define HS_ALIAS_PAIRS ((size_t)1 << 20)
hs_status hs_name_aliases_find(struct hs_view *view, const struct hs_reserve_roots *groups,
                               size_t n, struct hs_name_aliases *ret, struct hs_error *err);

/* Tells whether every owner of a set counts as one in a count of references: objects of a collector
 * or of Python, and what shared_ptr, Rc, Arc and the like lead to. Looks at the set's largest top
 * units only. */
hs_status hs_set_is_counted(struct hs_view *view, uint32_t set, bool *ret, struct hs_error *err);

/* The reserve of what roots would free that let go: of `what_if` with its `freed` found. */
struct hs_what_if_reserve {
    uint8_t reserve; /* enum hs_reserve */
    uint64_t words; /* alias: that others keep with them, and may only refer to; doubtful: that they
                       may lead to besides */
    uint64_t plain_words;           /* alias: of what is freed, that hangs on plain pointers */
    uint64_t doubtful_words;        /* of what is freed, that hangs on doubtful words alone */
    uint64_t untyped_words;         /* and that is blocks without a type */
    struct hs_name_aliases aliases; /* convention */
};
/* Finds that reserve. O(tree), and what the referrers of names cost. */
hs_status hs_what_if_reserve(struct hs_view *view, struct hs_what_if *what_if,
                             struct hs_what_if_reserve *ret, struct hs_error *err);

#endif
