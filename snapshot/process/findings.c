/* Proofs and notes. */
#include "process/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define FINDINGS_NOTE_BYTES 512
/* The most findings of a kind: whoever shapes the target's memory chooses how many oddities there
 * are to tell of. */
#define FINDINGS_MOST ((size_t)4096)

void hs_findings_fini(struct hs_findings *findings)
{
    if (findings == NULL)
        return;
    hs_free(findings->proofs);
    hs_free(findings->notes);
    memset(findings, 0, sizeof *findings);
}

hs_status hs_findings_proof(struct hs_findings *findings, const char *what, uint64_t expected,
                            uint64_t found, struct hs_error *err)
{
    struct hs_proof proof = {.expected = expected, .found = found, .holds = expected == found};

    if (findings->n_proofs == FINDINGS_MOST)
        return HS_OK;
    HS_TRY(hs_strtab_add(findings->strings, what, &proof.what, err));
    HS_TRY(HS_GROW(&findings->proofs, &findings->proofs_capacity, findings->n_proofs + 1, err));
    findings->proofs[findings->n_proofs++] = proof;
    return HS_OK;
}

hs_status hs_findings_note(struct hs_findings *findings, bool is_gap, struct hs_error *err,
                           const char *format, ...)
{
    char text[FINDINGS_NOTE_BYTES];
    struct hs_note note = {.is_gap = is_gap};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    HS_TRY(hs_strtab_add(findings->strings, text, &note.text, err));
    for (size_t i = 0; i < findings->n_notes; i++)
        if (findings->notes[i].text == note.text) {
            findings->notes[i].is_gap |= is_gap;
            return HS_OK;
        }
    if (findings->n_notes == FINDINGS_MOST)
        return HS_OK;
    HS_TRY(HS_GROW(&findings->notes, &findings->notes_capacity, findings->n_notes + 1, err));
    findings->notes[findings->n_notes++] = note;
    return HS_OK;
}
