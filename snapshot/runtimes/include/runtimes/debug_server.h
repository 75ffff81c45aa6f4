/* Debug files, or the programs themselves, from symbol servers, by build-id: asked of the helper
 * heapsnap-debuginfod, which has libdebuginfod and a process of its own. It asks the servers of
 * DEBUGINFOD_URLS, several files at a time, and keeps what it got in libdebuginfod's cache. */
#ifndef HS_RUNTIMES_DEBUG_SERVER_H
#define HS_RUNTIMES_DEBUG_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/progress.h"

/* The most that one file may have. */
#define HS_DEBUG_SERVER_FILE_BYTES ((uint64_t)4 << 30)

struct hs_debug_answer {
    const char *build_id; /* borrowed: lower-case hexadecimal */
    size_t object;        /* the asker's */
    char *path;           /* owned: a file that is said to be it; NULL: none was got */
    uint64_t done_bytes, total_bytes;
    bool is_answered;
};

struct hs_debug_answers {
    struct hs_debug_answer *list; /* owned */
    size_t n, capacity;
    bool of_programs;  /* the programs and libraries are wanted, not their debug files */
    uint64_t spent_ns; /* of the limit, on questions before */
    char note[512];    /* why names may be missing; "" where every server said what it has */
};

/* Adds a question. `build_id` is borrowed until hs_debug_answers_fini. HS_LIMIT. */
hs_status hs_debug_answers_add(struct hs_debug_answers *answers, const char *build_id,
                               size_t object, struct hs_error *err);
void hs_debug_answers_fini(struct hs_debug_answers *answers);

/* Asks until all is answered, or for so long (0: 60 s), when the rest is given up and the note says
 * so. Nothing that a server does is a failure: HS_LIMIT when memory is short or the work was
 * interrupted. The files are not believed here: hs_debugfile_open_file. */
hs_status hs_debug_server_ask(const char *helper, uint64_t limit_ns,
                              const struct hs_progress *progress, struct hs_debug_answers *answers,
                              struct hs_error *err);

#endif
