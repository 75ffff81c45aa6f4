/* The file behind paged memory. Private to base. */
#ifndef HS_BASE_PAGED_FILE_H
#define HS_BASE_PAGED_FILE_H

#include "base/paged.h"

hs_status hs_paged_file_open(struct hs_paged *paged, struct hs_error *err);

/* Writes pages at `begin` of an area, all but those of zeros. */
hs_status hs_paged_write(struct hs_paged *paged, struct hs_paged_area *area, uint64_t begin,
                         const uint8_t *bytes, size_t n_bytes, struct hs_error *err);

/* Notes which pages the file is to have of a piece of one window, and finds it a place. */
hs_status hs_paged_note(struct hs_paged *paged, struct hs_paged_area *area, uint64_t begin,
                        const uint8_t *bytes, size_t n_bytes, struct hs_error *err);

/* Writes what a resident window has of the pages that were noted, as hs_paged_read reports. */
void hs_paged_write_back(struct hs_paged *paged, const struct hs_paged_area *area, uint64_t window);

/* Fills windows [first, first + n), whose memory may be written and is zero. A failure is kept in
 * paged->failed_errno. Called by a signal's handler: system calls alone. */
void hs_paged_read(struct hs_paged *paged, const struct hs_paged_area *area, uint64_t first,
                   size_t n);

#endif
