/* Where a new index goes: section by section into a file, or into memory when none can be written.
 * */
#ifndef HS_INDEX_SINK_H
#define HS_INDEX_SINK_H

#include "base/file.h"
#include "index_format.h"

struct index_sink {
    struct hs_out *out; /* borrowed; NULL: into memory */
    struct index_footer footer;
    void *memory[INDEX_N_SECTIONS]; /* owned pages of footer.sections[].n_bytes */
    enum index_section section;     /* being written */
    uint64_t n_written;             /* of it */
    void *hash;                     /* owned XXH3 state */
};

hs_status index_sink_init(struct hs_out *out, struct index_sink *ret, struct hs_error *err);
void index_sink_fini(struct index_sink *sink);

/* begin, write *, end: exactly n_bytes. */
hs_status index_sink_begin(struct index_sink *sink, enum index_section section, uint64_t n_bytes,
                           struct hs_error *err);
hs_status index_sink_write(struct index_sink *sink, const void *bytes, size_t n_bytes,
                           struct hs_error *err);
hs_status index_sink_end(struct index_sink *sink, struct hs_error *err);
/* All three at once. */
hs_status index_sink_put(struct index_sink *sink, enum index_section section, const void *bytes,
                         uint64_t n_bytes, struct hs_error *err);
/* Writes the footer; the caller commits the file. */
hs_status index_sink_finish(struct index_sink *sink, struct hs_error *err);

#endif
