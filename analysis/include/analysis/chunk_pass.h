/* All blocks of a snapshot, a chunk at a time.
 *
 *     struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, "reading types");
 *     while (hs_chunk_pass_next(&pass, err))
 *         pass.status = look_at(&pass.chunk, err);      or nothing: it goes on
 *     return hs_chunk_pass_end(&pass);
 *
 * Each turn decodes one chunk, in order, and tells the view's progress of the one before it. A pass
 * that is left early is ended all the same. */
#ifndef HS_ANALYSIS_CHUNK_PASS_H
#define HS_ANALYSIS_CHUNK_PASS_H

#include "analysis/view.h"

struct hs_chunk_pass {
    const struct hs_view *view; /* borrowed */
    unsigned columns;
    const char *what; /* is told as progress; NULL: nothing is */
    uint64_t next;
    hs_status status;      /* what the caller sets ends the pass */
    struct hs_chunk chunk; /* owned */
};

struct hs_chunk_pass hs_chunk_pass_of(const struct hs_view *view, unsigned columns,
                                      const char *what);
/* Decodes the next chunk. False behind the last one, and when anything failed: HS_FORMAT, HS_LIMIT
 * also when interrupted. */
bool hs_chunk_pass_next(struct hs_chunk_pass *pass, struct hs_error *err);
/* Frees what the pass has; returns its status. */
hs_status hs_chunk_pass_end(struct hs_chunk_pass *pass);

#endif
