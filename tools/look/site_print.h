/* The sites of samples as JSON, and the outcome of a trace as talk. */
#ifndef HS_LOOK_SITE_PRINT_H
#define HS_LOOK_SITE_PRINT_H

#include "analysis/sample_join.h"
#include "tool.h"

/* Writes one object: function, file, line, module, offset. */
hs_status hs_frame_put(struct hs_sink *sink, const struct hs_frame *frame, struct hs_error *err);

/* The context of the rows below. */
struct hs_site_of {
    struct hs_sample_join *join;
    uint32_t site;
};
/* Writes the backtrace, the innermost frame first; not of HS_NO_SITE. */
hs_status hs_site_frames(void *context, struct hs_sink *sink, struct hs_error *err);
/* Writes the one frame that gave the place its name; none of HS_NO_SITE. */
hs_status hs_site_frame(void *context, struct hs_sink *sink, struct hs_error *err);

/* Says on standard error what was joined, and what to do where no site is known. */
void hs_sample_join_talk(struct hs_tool *tool, const struct hs_sample_join *join);

#endif
