/* One sample with all that is known of it: the same in `paths` and `object`. */
#ifndef HS_LOOK_SAMPLE_PRINT_H
#define HS_LOOK_SAMPLE_PRINT_H

#include "analysis/sample_join.h"
#include "tool.h"

#define HS_SAMPLE_FRAMES_SHOWN 8 /* of a backtrace, as text */

/* Writes an object: id, sampler, state, words, what it stands for, site, how it stands to the
 * trace. */
hs_status hs_sample_put(struct hs_sink *sink, struct hs_sample_join *join,
                        const struct hs_sample *sample, struct hs_error *err);

/* Prints a line, and below it who allocated it. */
hs_status hs_sample_lines(struct hs_tool *tool, struct hs_sample_join *join,
                          const struct hs_sample *sample, struct hs_error *err);

#endif
