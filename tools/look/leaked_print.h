/* Goroutines that wait for ever, below what leaks and suspects print, and in their documents. */
#ifndef HS_LOOK_LEAKED_PRINT_H
#define HS_LOOK_LEAKED_PRINT_H

#include "analysis/leaked_goroutines.h"
#include "tool.h"

/* Prints how many there are and what they keep; nothing where there are none. */
hs_status hs_leaked_say(struct hs_tool *tool, const struct hs_view *view,
                        const struct hs_leaked_goroutines *leaked, struct hs_error *err);

/* Prints each function with the line that made its goroutines, and where they wait. */
hs_status hs_leaked_say_each(struct hs_tool *tool, const struct hs_view *view,
                             const struct hs_leaked_goroutines *leaked, struct hs_error *err);

/* The members of a document's object: count, words, groups. `ret` stays where it is. */
struct hs_leaked_pairs {
    const struct hs_view *view;
    const struct hs_leaked_goroutines *leaked;
    struct hs_list groups;
};
void hs_leaked_pairs_init(const struct hs_view *view, const struct hs_leaked_goroutines *leaked,
                          struct hs_leaked_pairs *ret);
#define HS_LEAKED_PAIRS(pairs)                                             \
    HS_OBJECT("leaked_goroutines"), HS_COUNT("count", (pairs)->leaked->n), \
        HS_COUNT("words", (pairs)->leaked->words), HS_ROWS("groups", &(pairs)->groups), HS_END

#endif
