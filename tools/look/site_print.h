/* Where samples were allocated, as JSON, and what a trace said of them, as talk. */
#ifndef HS_LOOK_SITE_PRINT_H
#define HS_LOOK_SITE_PRINT_H

#include "analysis/sample_join.h"
#include "report/json.h"
#include "tool.h"

/* One object on a line: function, file, line, module, offset. */
void hs_frame_json(struct hs_json *json, const char *key, const struct hs_frame *frame);
/* An array of them, the innermost first. */
void hs_frames_json(struct hs_json *json, const char *key, const struct hs_frame *frames, size_t n);

/* "site": an array of frames, or null for HS_NO_SITE. */
hs_status hs_sample_join_site_json(struct hs_json *json, const char *key,
                                   struct hs_sample_join *join, uint32_t site,
                                   struct hs_error *err);

/* Says on standard error what was joined, and what to do where no site is known. */
void hs_sample_join_talk(struct hs_tool *tool, const struct hs_sample_join *join);

#endif
