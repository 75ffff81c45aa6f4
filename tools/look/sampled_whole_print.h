/* The estimate of all live words beside the exact heap, as text and as JSON. */
#ifndef HS_LOOK_SAMPLED_WHOLE_PRINT_H
#define HS_LOOK_SAMPLED_WHOLE_PRINT_H

#include "analysis/sampled_whole.h"
#include "report/json.h"
#include "tool.h"

/* Prints a line of text for each sampler that has samples. */
hs_status hs_sampled_wholes_print(struct hs_tool *tool, const struct hs_sample_join *join,
                                  struct hs_error *err);
/* The same as rows of JSON: one of each sampler. The context is the join. */
hs_status hs_sampled_wholes_rows(void *context, struct hs_sink *sink, struct hs_error *err);

#endif
