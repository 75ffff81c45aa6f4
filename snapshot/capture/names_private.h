/* The steps behind hs_names_run_helper. */
#ifndef HS_CAPTURE_NAMES_PRIVATE_H
#define HS_CAPTURE_NAMES_PRIVATE_H

#include "base/buffer.h"
#include "capture/names.h"

/* ---- names_request.c */
/* Writes what the helper reads: directories, sizes of the units' blocks, the linker's unit lists.
 */
hs_status hs_names_write_request(const struct hs_names_request *request,
                                 const struct hs_target *target, const struct hs_objects *objects,
                                 struct hs_buffer *out, struct hs_error *err);

/* ---- names_run.c */
struct hs_names_process {
    const char *program;
    const void *input;
    size_t n_input_bytes;
    uint32_t uid, gid; /* whose files are read; run as them when we are root */
    uint64_t timeout_ns;
};

/* Runs a program without a shell, gives it the input, and collects its output into `out`. `note`
 * (of note_bytes) says what went wrong after the start; empty when nothing did. */
hs_status hs_names_run(const struct hs_names_process *process, struct hs_buffer *out, char *note,
                       size_t note_bytes, struct hs_error *err);

#endif
