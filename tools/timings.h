/* The table of --timings: time, memory and bytes of each stage of a command. A stage is what the
 * work itself says it does (base/progress.h); what comes before the first one is "beginning". */
#ifndef HS_TOOLS_TIMINGS_H
#define HS_TOOLS_TIMINGS_H

#include "base/error.h"

enum hs_timings_form { HS_TIMINGS_TEXT, HS_TIMINGS_JSON };
enum { HS_TIMINGS_STAGES_MOST = 64 }; /* names of stages: further ones count with the last */

/* The use of resources since the command began. */
struct hs_timings_mark {
    uint64_t wall_ns, user_ns, system_ns;
    uint64_t read_bytes, written_bytes; /* by calls, of files, pipes and sockets; not mapped ones */
    uint64_t peak_bytes;                /* resident at the most, until then */
};

struct hs_timings_stage {
    const char *name; /* borrowed: a literal */
    struct hs_timings_mark sum;
};

struct hs_timings {
    bool is_on;
    struct hs_timings_mark at; /* where the stage that goes on began */
    unsigned stage;            /* which that is */
    struct hs_timings_stage stages[HS_TIMINGS_STAGES_MOST];
    unsigned n_stages;
};

void hs_timings_begin(struct hs_timings *timings);
/* Ends the stage that goes on when it is another; nothing when it is not on. Cheap for the same. */
void hs_timings_enter(struct hs_timings *timings, const char *stage);

struct hs_timings_output {
    enum hs_timings_form form;
    const char *path;    /* of a file that is written anew; NULL: standard error */
    const char *command; /* its name */
};
/* Ends the last stage and writes all. HS_IO. */
hs_status hs_timings_end(struct hs_timings *timings, const struct hs_timings_output *output,
                         struct hs_error *err);

#endif
