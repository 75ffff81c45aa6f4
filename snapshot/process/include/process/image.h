/* A copy of parts of a target's memory, made during the stop and used after it.
 *
 *   ranges:  [begin, end) -> bytes     ascending, disjoint, whole words
 *
 * Every read is bounds-checked and says whether the address is in the copy: the target's memory is
 * hostile input. The copy is page-guided: pages that were never touched (zero page, not present)
 * cost nothing.
 *
 * A copy that does not fit in memory lies in a file, of which a part is resident at a time
 * (base/paged.h): borrowed bytes stay valid all the same, and are read from the file when they are
 * touched. Going over a copy in address order is cheap; going from word to word anywhere is not. */
#ifndef HS_PROCESS_IMAGE_H
#define HS_PROCESS_IMAGE_H

#include <string.h>

#include "base/paged.h"
#include "target/target.h"

struct hs_image_range {
    hs_addr begin, end;
    const uint8_t *bytes; /* owned pages or borrowed file bytes */
    size_t owned_bytes;   /* 0 when borrowed; else in a shadow */
    size_t shadow;        /* of owned bytes: its number */
};

/* A lazily backed reservation in which target bytes stand at their own distances. */
struct hs_image_shadow {
    hs_addr begin, end;
    uint8_t *bytes;
    uint64_t *present; /* owned: a bit per page that was present when it was copied */
    uint64_t *groups;  /* part of it: a bit per page of these bits that has any */
    bool is_part;      /* of what lies in one piece in the target: there was no room for all */
};

struct hs_image {
    struct hs_image_range *ranges; /* owned */
    size_t n_ranges, capacity;
    struct hs_range_gap {
        hs_addr begin, end;
    } * gaps; /* owned: asked for but unreadable */
    size_t n_gaps, gaps_capacity;
    struct hs_image_shadow *shadows; /* owned: where owned ranges keep their bytes */
    size_t n_shadows, shadows_capacity;
    size_t n_lone_runs; /* of pages, copied one by one since the last rewind */
    bool lacks_runs;    /* there were more of them than are copied */
    bool lacks_memory;  /* what is no file's could not be read */
    bool lacks_shared;  /* shared memory that others may have filled could not be looked into */
    const struct hs_image_file *file; /* private: what is read in the place of the target */
    size_t *by_address;               /* owned: numbers of shadows that do not overlap, ascending */
    size_t n_by_address, by_address_capacity;
    struct hs_image_piece { /* of the target's mappings: the last that was asked for */
        uint64_t n_refreshes;
        size_t first, past; /* mappings that touch */
    } piece;
    bool shadows_are_used;  /* by an earlier copy: what is not read must be made zero */
    struct hs_paged *paged; /* owned: what the shadows' bytes are areas of; NULL: plain memory */
    uint8_t *bounce;        /* owned pages: on the way there */
    uint64_t kept_bytes;    /* copied since the last rewind into plain memory */
    uint64_t limit_bytes;   /* of kept_bytes; 0: none. HS_LIMIT when a copy does not fit */
    bool is_full;           /* one did not */
};

void hs_image_fini(struct hs_image *image);

/* Forgets what was copied but keeps the memory that it lay in, so that the next copy of the same
 * places does not wait for fresh pages: clearing them takes two thirds of a first copy's time. */
void hs_image_rewind(struct hs_image *image);

/* Sends copies to a temporary file from now on, with at most resident_bytes of them resident (see
 * hs_paged_new), and forgets what was copied. On failure all stays as it was. */
hs_status hs_image_spill(struct hs_image *image, struct hs_budget *budget, uint64_t resident_bytes,
                         struct hs_error *err);

/* HS_IO when any byte of a spilled copy could not be read back: then nothing that came of it is to
 * be believed. */
hs_status hs_image_check(const struct hs_image *image, struct hs_error *err);

/* Copies [begin, end) from the stopped target in large runs. Parts already in the image are not
 * read again. Unreadable pages become gaps, not failures; so do the pages that are not there of
 * shared memory (whose contents are those of the moment of reading, copy or no) and of memory that
 * the program may not read itself: of these the first 4,096 runs of pages are copied. Shared memory
 * without a disk is read by its file where that may be opened, whoever has filled it. HS_TARGET
 * when the target is gone, HS_IO when the disk is full. */
hs_status hs_image_copy(struct hs_image *image, struct hs_target *target, hs_addr begin,
                        hs_addr end, struct hs_error *err);

/* Returns how many bytes of [begin, end) are of pages that were present in the target (not merely
 * mapped, not swapped out). O(log ranges + present pages / 64 + pages / 2 million). What was added
 * by hs_image_add counts as present, and so does what was copied from a file's mapping or without a
 * page map; what is not in the copy does not. Pages of zeros that were only read count where the
 * system does not tell them from others. */
uint64_t hs_image_resident_bytes(const struct hs_image *image, hs_addr begin, hs_addr end);

/* The first run of such bytes in [begin, end), inside of one range; false when there is none. What
 * goes over memory that was perhaps never touched goes from run to run: reading the copy of such a
 * page costs a page. O(log ranges), and pages passed over / 2 million. */
bool hs_image_next_present(const struct hs_image *image, hs_addr begin, hs_addr end,
                           hs_addr *ret_begin, hs_addr *ret_end);

/* Adds borrowed bytes (file-backed read-only data, tests) at an address. */
hs_status hs_image_add(struct hs_image *image, hs_addr begin, const void *bytes, size_t n_bytes,
                       struct hs_error *err);

/* The range that holds `address`, or NULL. O(log ranges); `*hint` (may be NULL) is tried first. */
const struct hs_image_range *hs_image_find(const struct hs_image *image, hs_addr address,
                                           size_t *hint);

/* n bytes at `address` inside one range, or NULL. */
const uint8_t *hs_image_bytes(const struct hs_image *image, hs_addr address, size_t n_bytes);

/* Little-endian reads; false (and *ret untouched) when not in the copy. */
bool hs_image_u64(const struct hs_image *image, hs_addr address, uint64_t *ret);
bool hs_image_u32(const struct hs_image *image, hs_addr address, uint32_t *ret);
bool hs_image_u16(const struct hs_image *image, hs_addr address, uint16_t *ret);
bool hs_image_u8(const struct hs_image *image, hs_addr address, uint8_t *ret);
/* A NUL-terminated string of at most n - 1 bytes into text[n]; false when it does not end. */
bool hs_image_string(const struct hs_image *image, hs_addr address, char *text, size_t n);

#endif
