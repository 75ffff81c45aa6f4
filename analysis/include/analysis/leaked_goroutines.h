/* Goroutines of Go that wait for ever: nothing that may run again reaches the channel or the lock
 * that they wait on. The dump has found them (snapshot/runtimes/go/leaked.c) and says so at their
 * roots, by the rule leaked-goroutine. */
#ifndef HS_ANALYSIS_LEAKED_GOROUTINES_H
#define HS_ANALYSIS_LEAKED_GOROUTINES_H

#include "analysis/view.h"
#include "base/table.h"

/* Those that run one function, were made at one line and wait alike. */
struct hs_leaked_group {
    hs_node root;      /* the variable of the tree of roots that they are slots of */
    hs_node first;     /* the leaf of the first */
    const char *waits; /* borrowed from the snapshot: "chan send in main.query"; "" */
    uint64_t n;        /* goroutines */
    uint64_t words; /* kept together where they are all of their root, else a sum of each alone */
};

struct hs_leaked_goroutines {
    struct hs_leaked_group *groups; /* owned: ranked by words, then by number */
    size_t n_groups, capacity;
    uint64_t n;     /* goroutines */
    uint64_t words; /* that their roots keep */
};

/* Finds them in one pass over the tree of roots; 48 bytes and a name's hash a group. */
hs_status hs_leaked_goroutines_find(const struct hs_view *view, struct hs_leaked_goroutines *ret,
                                    struct hs_error *err);
void hs_leaked_goroutines_fini(struct hs_leaked_goroutines *leaked);

/* Tells whether a root, or the first slot of a variable, is one of these. */
bool hs_is_leaked_goroutine(const struct hs_view *view, hs_node node);

#endif
