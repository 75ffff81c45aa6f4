/* A section's or segment's contents at fixed addresses, brought in piece by piece.
 *
 * Segments and large uncompressed sections of a file are not read whole: their bytes stand in pages
 * that are filled when needed and may all be given back at once. What is not there reads as zeros,
 * so a pointer into a view is safe until close, but says something only between `need` and the next
 * drop. Files are read, never mapped: one that is cut while in use gives zeros and is counted, and
 * raises no signal. Small and compressed sections, and those of files in memory, are there whole
 * (the hs_elf has them); compressed ones may be unpacked into a temporary file, of which there are
 * pieces then. */
#ifndef HS_ELF_ELF_VIEW_H
#define HS_ELF_ELF_VIEW_H

#include "base/effort.h"
#include "base/spill.h"
#include "symbols/elf.h"

enum {
    ELF_VIEW_CHUNK = 4096,          /* the unit of filling */
    ELF_VIEW_WHOLE_BYTES = 1 << 16, /* up to this size sections are read whole */
    ELF_VIEW_STEPS = 4,             /* that a look costs */
    ELF_VIEW_MOST_BYTES = 64 << 20, /* resident of several, unless told otherwise */
};

/* The total that several views share. */
struct elf_view_total {
    size_t n_resident; /* bytes filled in, of all */
    size_t most;       /* that are kept where they may be dropped; 0: ELF_VIEW_MOST_BYTES */
    /* Borrowed; not NULL: large compressed sections go to temporary files of it, and come from
     * there in pieces. */
    const struct hs_budget *unpack;
    uint64_t n_failed; /* reads that gave less than the file once had */
    bool has_lost;     /* the same of a temporary file, which nobody else can have changed */
};

static inline size_t hs_elf_view_most_(const struct elf_view_total *total)
{
    return total->most != 0 ? total->most : ELF_VIEW_MOST_BYTES;
}

struct elf_view {
    const uint8_t *bytes; /* [n_bytes] */
    size_t n_bytes;
    uint64_t *filled; /* owned: a bit per chunk; NULL: all is there */
    size_t n_resident;
    struct elf_view_total *total; /* borrowed */
    struct hs_effort *effort;     /* the hs_elf's; NULL: there is no such section */
    uint64_t file_offset;
    int fd;                   /* the hs_elf's, or that of `unpacked` */
    struct hs_spill unpacked; /* owned; may not be open */
    struct elf_view *parts;   /* owned: the two views that it is read from; NULL: of itself */
};

/* Unpacks a section of zlib's or zstd's (elf_unpack.c). Fails with HS_FORMAT for others and for
 * damaged ones, HS_IO where the temporary file cannot be written, HS_LIMIT. */
hs_status hs_elf_unpack_(struct hs_elf *elf, const struct hs_elf_section *section,
                         const struct hs_budget *budget, struct hs_spill *ret,
                         struct hs_error *err);

/* Returns the work that a file may still cause; borrowed. */
struct hs_effort *hs_elf_effort_(struct hs_elf *elf);

/* Returns the supplementary file of dwz, NULL where there is none; borrowed. */
struct hs_elf *hs_elf_supplement_(const struct hs_elf *elf);

/* Returns the length that a section of a file has, unpacked; 0 for a lie, which is not read. */
uint64_t hs_elf_claimed_bytes_(const struct hs_elf *elf, const struct hs_elf_section *section);

/* Opens a view. Fails as hs_elf_section_bytes_named does, without its limit for sections that are
 * not read whole. `elf` and `total` are borrowed until close. */
hs_status hs_elf_view_open_(struct hs_elf *elf, const char *name, struct elf_view_total *total,
                            struct elf_view *ret, struct hs_error *err);
/* Opens a view of a range of the file, which ends within it. Fails with HS_LIMIT alone. */
hs_status hs_elf_view_open_range_(struct hs_elf *elf, uint64_t file_offset, uint64_t n_bytes,
                                  struct elf_view_total *total, struct elf_view *ret,
                                  struct hs_error *err);
/* Puts the bytes of `more` behind those of a view, which reads from both from then on, in pieces.
 * Takes both over; on failure `view` is as it was, and `more` is closed. Fails with HS_LIMIT. */
hs_status hs_elf_view_join_(struct elf_view *view, struct elf_view *more, struct hs_error *err);
void hs_elf_view_close_(struct elf_view *view);

/* Foresees the memory that a view of this section is likely to take: *ret_whole_bytes for one that
 * is read or decompressed whole, *ret_piece_bytes for one that comes in pieces, at the most. Both
 * are 0 for one that is not there. */
void hs_elf_view_foresee_(struct hs_elf *elf, const char *name, uint64_t *ret_whole_bytes,
                          uint64_t *ret_piece_bytes);

/* Brings in [at, at + n_bytes), as far as the section goes, until the next drop. Each call takes
 * from the effort of the file; when that is spent nothing more is brought in, and loops end. */
void hs_elf_view_fill_(struct elf_view *view, uint64_t at, uint64_t n_bytes);
static inline void hs_elf_view_need_(struct elf_view *view, uint64_t at, uint64_t n_bytes)
{
    if (view->effort != NULL)
        (void)hs_effort_take(view->effort, ELF_VIEW_STEPS);
    if (view->filled != NULL)
        hs_elf_view_fill_(view, at, n_bytes);
}

/* Tells whether all of [at, at + n_bytes) is there. */
bool hs_elf_view_has_(const struct elf_view *view, uint64_t at, uint64_t n_bytes);

/* Copies from `at`, and brings nothing in; returns how much there is of the n_bytes wanted. */
size_t hs_elf_view_peek_(const struct elf_view *view, uint64_t at, void *ret, size_t n_bytes);
/* Copies bytes as above, and takes nothing from the effort of the file. */
size_t hs_elf_view_copy_(const struct elf_view *view, uint64_t at, void *ret, size_t n_bytes);

/* Gives everything back. */
void hs_elf_view_drop_(struct elf_view *view);

#endif
