/* Finding the few pages of a large mapping where the kernel does not list them. */
#ifndef HS_LIVE_PAGE_SEARCH_H
#define HS_LIVE_PAGE_SEARCH_H

#include "target/target.h"

/* The pages that were found last, of one mapping. */
struct hs_page_search {
    hs_addr begin, end;       /* of the mapping; empty: of none */
    bool is_whole;            /* all of its pages were found */
    struct hs_page_run *runs; /* owned; ascending */
    size_t n, capacity;
    uint64_t until_ns; /* by hs_now_ns(): then it is given up; 0: never */
};

/* NULL when there is no memory: then nothing is searched. */
struct hs_page_search *hs_page_search_new(void);
void hs_page_search_free(struct hs_page_search *search);
/* The pages may be others now. */
void hs_page_search_forget(struct hs_page_search *search);

/* Finds runs of whole pages as hs_memory_page_runs does. False when the kernel cannot tell them in
 * this way: the page map is to be read. */
bool hs_page_search_runs(const struct hs_memory *memory, hs_addr begin, hs_addr end,
                         struct hs_page_run *runs, size_t n, size_t *ret_n, hs_addr *ret_told);

/* page_map.c: by the page map alone. */
size_t hs_page_map_runs(const struct hs_memory *memory, hs_addr begin, hs_addr end,
                        struct hs_page_run *runs, size_t n, hs_addr *ret_told);

#endif
