/* What a heap walker looks at: the copy of a process made during one stop, and what is learnt of it
 * on the way. The process runs again: nothing here reads it.
 *
 * All of it is hostile input. A walker reads memory through the image's bounds-checked accessors
 * alone, bounds every loop by what the copy can hold, and turns damage into notes, never into a
 * failed dump. */
#ifndef HS_HEAPS_SCENE_H
#define HS_HEAPS_SCENE_H

#include "base/strtab.h"
#include "process/image.h"
#include "process/objects.h"
#include "snapshot/model.h"

#define HS_WORD_BYTES 8

/* Proofs and notes gathered on the way, for the snapshot. */
struct hs_findings {
    struct hs_strtab *strings; /* borrowed */
    struct hs_proof *proofs;   /* owned */
    size_t n_proofs, proofs_capacity;
    struct hs_note *notes; /* owned */
    size_t n_notes, notes_capacity;
    uint64_t n_torn; /* structures caught in the middle of a change: another stop may be better */
};

void hs_findings_fini(struct hs_findings *findings);
/* It holds when both are equal. */
hs_status hs_findings_proof(struct hs_findings *findings, const char *what, uint64_t expected,
                            uint64_t found, struct hs_error *err);
/* is_gap: something is missing or inexact. A text is kept once; at most 4096 notes, and as many
 * proofs, are. */
hs_status hs_findings_note(struct hs_findings *findings, bool is_gap, struct hs_error *err,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

struct hs_scene {
    const struct hs_target *target; /* borrowed: mappings, threads, registers as at the stop */
    const struct hs_image *image;   /* borrowed: all private writable memory that is present */
    struct hs_objects *objects;     /* borrowed: executable and libraries with symbols */
    struct hs_findings *findings;   /* borrowed */
};

#endif
