/* The steps behind hs_names_run_helper. */
#ifndef HS_NAMES_PRIVATE_H
#define HS_NAMES_PRIVATE_H

#include "base/buffer.h"
#include "ocaml/names.h"

/* ---- request.c */
/* Writes what the helper reads: directories, sizes of the units' blocks, the linker's unit lists.
 */
hs_status hs_names_write_request(const struct hs_names_request *request,
                                 const struct hs_target *target, const struct hs_objects *objects,
                                 struct hs_buffer *out, struct hs_error *err);

/* ---- run.c */
struct hs_names_process {
    const char *program;
    const char *what; /* is searched for: "source names"; for notes */
    const void *input;
    size_t n_input_bytes;
    uint32_t uid, gid; /* whose files are read; run as them when we are root */
    uint64_t timeout_ns;
};

/* Runs a program without a shell, gives it the input, and collects its output into `out`. `note`
 * (of note_bytes) says what went wrong after the start; empty when nothing did. */
hs_status hs_names_run(const struct hs_names_process *process, struct hs_buffer *out, char *note,
                       size_t note_bytes, struct hs_error *err);

/* The same in two steps: hs_names_start starts the program, which works while others do, and
 * hs_names_collect takes its output. Of `process` only `what` must stay until the end. What the
 * program says before it is collected waits in a socket, so it must work first and talk then. What
 * it is asked `later` it reads from its output, to the end of that. */
struct hs_names_later {
    const uint8_t *bytes; /* borrowed */
    size_t n_bytes;
    bool is_over;
};

hs_status hs_names_start(const struct hs_names_process *process, struct hs_names_running *ret,
                         struct hs_error *err);
hs_status hs_names_collect(struct hs_names_running *running, struct hs_names_later later,
                           struct hs_buffer *out, char *note, size_t note_bytes,
                           struct hs_error *err);

/* ---- names.c */
/* Runs the helper of the program's compiler with a request that was written before. */
hs_status hs_names_run_written(const struct hs_names_request *request,
                               const struct hs_target *target, const struct hs_objects *objects,
                               const struct hs_buffer *question, struct hs_names *ret,
                               struct hs_error *err);
/* Takes a table that came otherwise; `helper` is who gave it, for messages. */
hs_status hs_names_take(struct hs_names *ret, const char *text, size_t n_bytes, const char *helper,
                        const struct hs_objects *objects, struct hs_error *err);

/* Finds the compiler's version as the program's file states it, "5.3.0": version.c. False when the
 * program does not have Stdlib.Sys. Reads files only. */
bool hs_names_version(const struct hs_objects *objects, char *version, size_t n);
/* Does the same for a program that does not run. */
bool hs_names_version_of_file(const char *path, char *version, size_t n);
/* Finds the helper for files of `version`: HELPER-5.3 when there is one, there or where such are
 * built, else HELPER itself. */
void hs_names_choose_helper(const char *helper, const char *version, char *path, size_t n);
/* Finds one that was built; of our own user only, where nobody else can write. */
bool hs_names_cached_helper(const char *helper, const char *version, char *path, size_t n);

/* ---- builder.c */
/* Builds the helper for files of `version`, unless `helper` reads these, where the PATH leads to an
 * ocamlopt of that version: some seconds, a minute at the most. False: there is none. */
bool hs_names_build_helper(const char *helper, const char *version, char *path, size_t n);

#endif
