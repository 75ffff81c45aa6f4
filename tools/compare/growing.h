/* The growth as a suspect: when older snapshots are given. */
#ifndef HS_COMPARE_GROWING_H
#define HS_COMPARE_GROWING_H

#include "comparison.h"
#include "verdict.h"

struct hs_growing {
    bool is_there;
    char sentence[HS_VERDICT_BYTES], holder[HS_KEY_TEXT_BYTES], site[HS_KEY_TEXT_BYTES];
    const char *type; /* borrowed from `names`: the last step of the key; NULL: it is a root's */
    char command[4096];
    uint64_t words, objects; /* in the newest */
    struct hs_strtab names;
};

/* Compares `path` with older ones; nothing is there when nothing grew. HS_USAGE when one of them is
 * newer, and as hs_comparison_open. *ret: hs_growing_fini. */
hs_status hs_growing_find(struct hs_tool *tool, const char *path, const char *const *older,
                          size_t n, struct hs_growing *ret, struct hs_error *err);
void hs_growing_fini(struct hs_growing *growing);

#endif
