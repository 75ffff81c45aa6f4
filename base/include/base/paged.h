/* Memory of which only a part is resident, the rest being in an unnamed temporary file: for a copy
 * of a process that is larger than what we may use.
 *
 *   area:   | window | window | window | ...     reserved addresses; a page stands at its place
 *   file:   | slot | slot | ...                  one per window that something was stored in
 *
 * Bytes are stored page by page, past the page cache where the file system lets us (O_DIRECT; else
 * what is written is pushed to disk and dropped). What was not stored, and stored pages of zeros,
 * read as zero and take no disk.
 *
 * Reading needs no call: touching a window that is not there raises SIGSEGV, whose handler reads it
 * from the file and makes room by dropping the window that came first (as in GNU libsigsegv). So
 * pointers into an area stay valid, whatever is resident, and the bound holds however the memory is
 * used. Windows that are touched one after the other are read ahead, in several places at once. A
 * system call must not be given such memory: it fails with EFAULT.
 *
 * A window is the least that is read for one word: as small as the number of mappings permits that
 * a process may have, from 16 KiB where up to 256 MiB may be resident to 256 KiB for 4 GiB.
 *
 * One thread at a time: two that touch such memory at once end as by a stray access. The handler is
 * in place while any object is alive; faults elsewhere, and signals that somebody sent, do what
 * they would have done without it. A fault within the handler ends the process. When the disk fails
 * within it the window is zeros and hs_paged_check says so; when the system gives no memory for it,
 * the process ends as by a stray access.
 *
 * Cost: about 5 us and the reading of it per window that is not resident; 13 bytes per window of
 * reserved addresses that was ever stored to. */
#ifndef HS_BASE_PAGED_H
#define HS_BASE_PAGED_H

#include "base/budget.h"
#include "base/spill.h"

#define HS_PAGED_PAGE_BYTES ((size_t)4096)
#define HS_PAGED_MAX_WINDOW_BYTES (64 * HS_PAGED_PAGE_BYTES) /* a bit of a word for each page */
#define HS_PAGED_MIN_WINDOW_BYTES (4 * HS_PAGED_PAGE_BYTES)
#define HS_PAGED_MIN_BYTES (31 * HS_PAGED_MAX_WINDOW_BYTES)
#define HS_PAGED_STREAMS 8

struct hs_paged_area {
    uint8_t *bytes; /* owned pages */
    uint64_t n_bytes;
    size_t window_bytes; /* as of what it belongs to */
    uint64_t *stored;    /* owned pages: a word per window, a bit per page that is in the file */
    uint64_t *resident;  /* owned pages: a bit per window */
    uint64_t *dirty; /* owned pages: a bit per window that goes to the file when it is dropped */
    uint32_t *slots; /* owned pages: of each window, plus 1; 0: none */
};

struct hs_paged {
    struct hs_spill file;
    bool is_direct;
    struct hs_paged_area *areas; /* owned */
    size_t n_areas, areas_capacity;
    struct hs_paged_entry {
        uint64_t window;
        uint32_t area;
    } * ring; /* owned pages: windows in the order in which they came */
    size_t ring_capacity, ring_begin, ring_n;
    size_t most; /* windows that may be resident: the capacity, less when it was shrunk */
    size_t window_bytes;
    uint32_t n_slots;
    struct hs_paged_stream {
        struct hs_paged_entry next; /* behind the last that came: when it is touched, it goes on */
        uint64_t used_at;           /* of n_faults */
        size_t n_ahead;             /* windows that were brought at once; 0: none yet */
    } streams[HS_PAGED_STREAMS];
    uint64_t n_faults, read_bytes, written_bytes;
    uint64_t unsynced_bytes;  /* written through the page cache and still there */
    uint64_t reserved_bytes;  /* of the budget */
    struct hs_budget *budget; /* borrowed */
    int failed_errno;         /* of the first window that was lost; EIO when the file was short */
    struct hs_paged *next;    /* private: all that are alive */
};

/* Opens areas of which at most resident_bytes (at least HS_PAGED_MIN_BYTES, at most 4 GiB) are
 * resident together; these are reserved in the budget, which also says where the file lies. HS_IO
 * when no file can be made, HS_LIMIT. */
hs_status hs_paged_new(struct hs_budget *budget, uint64_t resident_bytes, struct hs_paged **ret,
                       struct hs_error *err);
void hs_paged_free(struct hs_paged *paged);

/* Reserves addresses, page-aligned; until hs_paged_free. n_bytes below 2^50. HS_LIMIT. */
hs_status hs_paged_reserve(struct hs_paged *paged, uint64_t n_bytes, uint8_t **ret,
                           struct hs_error *err);

/* Stores whole pages at `at`, which lies page-aligned in an area with all of them; `bytes` is
 * page-aligned too. Pieces of less than a window stay resident until there is no more room. HS_IO
 * when the disk is full: what was stored before stays. */
hs_status hs_paged_store(struct hs_paged *paged, uint8_t *at, const uint8_t *bytes, size_t n_bytes,
                         struct hs_error *err);

/* Makes all areas zero again. What the file has on disk is kept for what is stored next. */
void hs_paged_clear(struct hs_paged *paged);

/* Gives n_bytes of the budget back, or what can be given: HS_PAGED_MIN_BYTES are kept. */
void hs_paged_shrink(struct hs_paged *paged, uint64_t n_bytes);
/* Returns by how many bytes it can be shrunk. */
uint64_t hs_paged_spare_bytes(const struct hs_paged *paged);

/* Makes [at, at + n_bytes) of an area resident by few large reads, as far as half of the bound
 * goes. */
void hs_paged_expect(struct hs_paged *paged, const uint8_t *at, uint64_t n_bytes);

/* Returns HS_IO when any window could not be written late or read back: such a window was given as
 * zeros, and what came of it must be thrown away. */
hs_status hs_paged_check(const struct hs_paged *paged, struct hs_error *err);

#endif
