/* One mapping after the other of the text of an smaps file: what a fork of it means. Hostile text:
 * lines that are none are passed over. */
#ifndef HS_COPY_SMAPS_H
#define HS_COPY_SMAPS_H

#include "base/types.h"

struct hs_smaps_entry {
    hs_addr begin, end;
    bool writable, shared, has_file;
    uint64_t anonymous_bytes; /* resident, huge ones included */
    uint64_t huge_bytes;      /* of these, in huge pages */
    uint64_t shared_bytes;    /* resident, that other processes have mapped, too */
    uint64_t swap_bytes;
    uint64_t hugetlb_bytes; /* private ones of hugetlb */
    /* "dc", "wf", "ht", "uw um ui", "io pf" of VmFlags (Documentation/filesystems/proc.rst) */
    bool is_kept_from_children, is_wiped_in_children, is_hugetlb, has_own_faults, is_device;
};

struct hs_smaps_walk {
    const char *at, *end;
};

/* False at the end. */
bool hs_smaps_next(struct hs_smaps_walk *walk, struct hs_smaps_entry *ret);

#endif
