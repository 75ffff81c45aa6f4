/* The parts of which suspects.c makes its list. */
#ifndef HS_ANALYSIS_SUSPECT_FINDS_H
#define HS_ANALYSIS_SUSPECT_FINDS_H

#include "analysis/leak_report.h"
#include "analysis/suspects.h"

/* Adds one more row, of which nothing is known but its list. Valid until the next one is added. */
hs_status hs_suspect_add(struct hs_suspects *suspects, enum hs_suspect_list list,
                         struct hs_suspect **ret, struct hs_error *err);

void hs_suspect_fini(struct hs_suspect *row);

/* Adds roots that are alike and keep enough together, and leaves out owners that are among them. */
hs_status hs_suspect_add_folds(const struct hs_view *view, const uint8_t *tiers,
                               struct hs_suspects *found, struct hs_error *err);

/* Finds where the memory of owners and joint owners has come together. */
hs_status hs_suspect_look_into(struct hs_view *view, const struct hs_suspect_query *query,
                               struct hs_suspects *found, struct hs_error *err);

/* Finds how many elements the container of an owner's members counts, and the array of records in
 * which they hang. After what has accumulated is known. O(1). */
hs_status hs_suspect_take_elements(struct hs_view *view, struct hs_suspect *suspect,
                                   struct hs_error *err);

/* Finds what has to be said beside what owners and joint owners keep. */
hs_status hs_suspect_find_reserves(struct hs_view *view, struct hs_suspects *found,
                                   struct hs_error *err);

/* Finds the binaries and the sources that have most of a set's roots: of more than
 * HS_SUSPECT_FEW_ROOTS, few of which have names. O(roots). */
hs_status hs_suspect_take_modules(const struct hs_view *view, struct hs_suspect *suspect,
                                  struct hs_error *err);

/* Finds the block that half of such a set's memory and more hangs on; of a set of OCaml's, of
 * however many roots, the only variable that has it as its own value instead, if there is one.
 * O(children of the groups of the tree of roots, and slots of its roots). */
hs_status hs_suspect_take_entry(struct hs_view *view, struct hs_suspect *suspect,
                                struct hs_error *err);

/* Finds the sites of samples that owners retain, and of lost ones. */
hs_status hs_suspect_find_sites(struct hs_view *view, struct hs_suspects *found,
                                struct hs_error *err);

/* Tells whether blocks are Python's objects. O(types). */
bool hs_suspect_has_python(const struct hs_view *view);

/* Finds among what is lost the class of Python that tells most, where what most of `words` hangs on
 * is a part of an object (the items of an array); NULL: it is none. */
const struct hs_leak_group *hs_suspect_lost_class(const struct hs_leak_report *report,
                                                  uint64_t words);

/* Finds what Python's collector has yet to find, among leaks of both certainties. */
hs_status hs_suspect_find_garbage(const struct hs_leak_report *report, struct hs_suspects *found,
                                  struct hs_error *err);

/* Adds what is wasted. One pass over types, sizes and edges; 32 bytes a type. */
hs_status hs_suspect_find_waste(struct hs_view *view, struct hs_suspects *found,
                                struct hs_error *err);

/* Gives owners the room of what they have, where it is all that is wasted of its type. After
 * hs_suspect_look_into. O(rows of waste * rows). */
void hs_suspect_take_room(struct hs_suspects *found);

#endif
