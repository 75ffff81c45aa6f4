/* The kernel's counts of every mapping's resident bytes, all of one moment.
 *
 * Read while the target is stopped: then the figures belong to the same moment as the copy, and the
 * resident size of the process is their sum. (The figure of statm is no such sum: the kernel keeps
 * it in parts and lets them lag behind.) The text is only parsed later, when the target runs again.
 *
 * Reading walks the page tables: about 20 ms per GB that is resident. */
#ifndef HS_TARGET_RESIDENCY_H
#define HS_TARGET_RESIDENCY_H

#include "target/target.h"

struct hs_residency_entry {
    hs_addr begin, end;
    uint64_t resident_bytes;
};

struct hs_residency {
    char *text; /* owned: /proc/PID/smaps; NULL: the system does not offer it */
    size_t n_bytes;
    struct hs_residency_entry *entries; /* owned; ascending */
    size_t n_entries, entries_capacity;
    uint64_t total_bytes; /* of all entries */
};

/* Replaces what was read before. A system that does not tell is no failure: then nothing is known.
 * Fails with HS_LIMIT. */
hs_status hs_residency_read(struct hs_residency *residency, const struct hs_target *target,
                            struct hs_error *err);
/* Any time after. Of lines that contradict each other the later ones count, because a process that
 * shares the target's memory can change it meanwhile. */
hs_status hs_residency_parse(struct hs_residency *residency, struct hs_error *err);
void hs_residency_fini(struct hs_residency *residency);

/* Any time after: does userfaultfd have pages to bring into some mapping that are not there yet? */
bool hs_residency_awaits_pages(const struct hs_residency *residency);

/* After parsing: false when nothing is known of a mapping with these borders. O(log n). */
bool hs_residency_of(const struct hs_residency *residency, hs_addr begin, hs_addr end,
                     uint64_t *ret_bytes);

#endif
