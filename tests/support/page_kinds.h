/* What is there of a target, page by page. */
#ifndef HS_TESTS_PAGE_KINDS_H
#define HS_TESTS_PAGE_KINDS_H

#include <string.h>

#include "target/target.h"

/* The kinds of n pages from that of `begin` on, 0 for what is not there; how many are told. */
static inline size_t page_kinds(const struct hs_target *target, hs_addr begin, uint64_t *kinds,
                                size_t n)
{
    hs_addr first = begin & ~(hs_addr)4095, end = first + n * 4096, at = first, told;
    struct hs_page_run runs[7]; /* few, so that it takes several requests */

    memset(kinds, 0, n * sizeof *kinds);
    for (; at < end; at = told) {
        size_t n_runs = hs_target_page_runs(target, at, end, runs, 7, &told);
        for (size_t i = 0; i < n_runs; i++)
            for (hs_addr page = runs[i].begin; page < runs[i].end && page < end; page += 4096)
                kinds[(page - first) / 4096] = runs[i].kind;
        if (told <= at)
            break;
    }
    return at < end ? (size_t)(at - first) / 4096 : n;
}

#endif
