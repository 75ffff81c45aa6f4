/* The facts that decide whether a copy can be made, taken from texts of /proc. */
#ifndef HS_COPY_FORESEE_H
#define HS_COPY_FORESEE_H

#include "copy_private.h"
#include "smaps.h"

/* The time that the machine takes for one of each, in ns. */
struct hs_copy_costs {
    uint64_t page_ns;     /* to copy the entry of a small page */
    uint64_t child_ns;    /* to make a child, and to see its end */
    uint64_t mib_read_ns; /* to read a MiB of another process */
};

struct hs_copy_facts {
    bool is_filtered, may_suspend_filter;
    bool lacks_main_thread; /* the one that would call for us */
    bool is_first;          /* pid 1 of its namespace */
    bool has_shadow_stack, has_own_faults, commits_strictly, has_code;
    uint64_t small_bytes, huge_bytes; /* private, resident or swapped, by the size of pages */
    uint64_t saved_bytes;             /* of the areas */
    uint64_t own_room_bytes;          /* that we may take to save them in */
    uint64_t table_bytes;             /* of page tables */
    uint64_t n_threads, n_mappings;
    unsigned n_readers; /* of ours */
    uint64_t smaps_ns;  /* reading smaps took so long, which a stopped read does again */
    struct hs_copy_costs costs;
    uint64_t crowd_percent;     /* hs_forecast_crowd */
    uint64_t lent_bytes;        /* private, that other processes share by a fork */
    uint64_t room_bytes;        /* that it may still grow by */
    struct hs_copy_area *areas; /* owned; ascending: what a copy would lack */
    size_t n_areas, areas_capacity;
};

/* Takes facts from the text of a status file; false when it is none. */
bool hs_copy_facts_status(struct hs_copy_facts *facts, const char *text);
/* Adds the facts in the text of an smaps file: sizes, and the areas that a copy would lack.
 * HS_LIMIT. */
hs_status hs_copy_facts_smaps(struct hs_copy_facts *facts, const char *text, size_t n_bytes,
                              struct hs_error *err);
void hs_copy_facts_judge(const struct hs_copy_facts *facts, struct hs_copy_outlook *ret);
void hs_copy_facts_fini(struct hs_copy_facts *facts);

#endif
