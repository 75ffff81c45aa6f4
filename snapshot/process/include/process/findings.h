/* The findings about a process that are made on the way and that its snapshot must tell: proofs,
 * which hold or not, and notes in words. Kept in the order in which they come. */
#ifndef HS_PROCESS_FINDINGS_H
#define HS_PROCESS_FINDINGS_H

#include "base/strtab.h"
#include "snapshot/model.h"

struct hs_findings {
    struct hs_strtab *strings; /* borrowed */
    struct hs_proof *proofs;   /* owned */
    size_t n_proofs, proofs_capacity;
    struct hs_note *notes; /* owned */
    size_t n_notes, notes_capacity;
    uint64_t
        rule_lines[4]; /* of numbers of rules in files (hs_rule): a bit for each that decided */
    uint64_t n_torn;   /* structures caught in the middle of a change: another stop may be better */
};

void hs_findings_fini(struct hs_findings *findings);
/* Adds a proof, which holds when both are equal. */
hs_status hs_findings_proof(struct hs_findings *findings, const char *what, uint64_t expected,
                            uint64_t found, struct hs_error *err);
/* is_gap: something is missing or inexact (the dump is then not exact). A text is kept once; at
 * most 4096 notes, and as many proofs, are. */
hs_status hs_findings_note(struct hs_findings *findings, bool is_gap, struct hs_error *err,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
