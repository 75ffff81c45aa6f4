/* The share of what is reached that has an owner on which a person can act: a named root, or a set
 * of a few of them. The first measure of a snapshot's worth.
 *
 * A name is that of a variable, a field, a frame's live variable, a thread, something registered;
 * not of a place (hs_root_is_place: in a section, in thread-local storage, in the thread library's
 * own memory), an unclaimed mapping, a register or a slot without a variable. */
#ifndef HS_ANALYSIS_ATTRIBUTION_H
#define HS_ANALYSIS_ATTRIBUTION_H

#include "analysis/view.h"

/* The most roots of a set that still answers who owns something. */
#define HS_ATTRIBUTED_ROOTS 8

/* The words by owner; the four by the number of roots add up to the first. */
struct hs_attribution {
    uint64_t reached_words;
    uint64_t owned_words;      /* retained by one named root */
    uint64_t attributed_words; /* and by a set of at most HS_ATTRIBUTED_ROOTS, all named */
    uint64_t by_1_words, by_2_3_words, by_4_8_words, by_more_words; /* by the number of roots */
    /* The resident words of the process's private memory outside the heap that was read, which no
     * root owns. 0 below one percent of both together: every process has some pages of its own. */
    uint64_t unread_words;
};

/* Returns owned and attributed words in percent of what is reached and what was not read. */
double hs_owned_percent(const struct hs_attribution *attribution);
double hs_attributed_percent(const struct hs_attribution *attribution);

/* Tells whether a root (a variable, or a leaf below none) has a name in this sense. O(1). */
bool hs_root_is_named(const struct hs_view *view, hs_node root);

/* Sums the heap words of blocks of each tier: what hangs on a runtime's own tables and on borrowed
 * references, and what on doubt alone, by the policy of the index. O(n): decodes the sizes of all
 * chunks. */
hs_status hs_tier_words(const struct hs_view *view, uint64_t words[HS_N_TIERS],
                        struct hs_error *err);

/* Computes the attribution. O(tree + roots of small sets). */
void hs_attribution_find(const struct hs_view *view, struct hs_attribution *ret);

#endif
