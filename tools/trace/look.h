/* A trace that was read whole, with the objects that the options of the command line ask for
 * selected: what top, tree, live and lifetimes begin with. */
#ifndef HS_TRACE_LOOK_H
#define HS_TRACE_LOOK_H

#include "stats/filter.h"
#include "stats/trace_estimate.h"
#include "stats/trace_rows.h"
#include "tool.h"
#include "trace/trace.h"

struct hs_group_filter {
    bool has_allocations, has_leaked, has_interval;
    struct hs_stats_range allocations, leaked, interval;
};

struct hs_trace_look {
    const char *path;       /* borrowed */
    struct hs_trace *trace; /* owned */
    const struct hs_trace_info *info;
    struct hs_trace_objects objects;
    struct hs_places places;
    struct hs_trace_scale scale;
    struct hs_trace_filter filter;
    struct hs_group_filter groups;
    struct hs_name_pattern inside[HS_MAX_REPEATED], not_inside[HS_MAX_REPEATED];
    struct hs_name_pattern hide[HS_MAX_REPEATED];
    size_t n_hide;
    uint64_t n_selected; /* objects that the filter lets pass */
};

/* Reads the options first, then the file. Says on stderr what could not be read. On failure `ret`
 * can be closed, too. */
hs_status hs_trace_look_open(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_trace_look *ret, struct hs_error *err);
void hs_trace_look_close(struct hs_trace_look *look);

static inline bool hs_trace_look_is_filtered(const struct hs_trace_look *look)
{
    return !hs_trace_filter_is_empty(&look->filter) || look->groups.has_allocations ||
           look->groups.has_leaked || look->groups.has_interval;
}

/* Marks the rows that the group filters let pass; keeps[rows->n]. */
hs_status hs_trace_look_keep_rows(const struct hs_trace_look *look,
                                  const struct hs_trace_rows *rows, bool *keeps,
                                  struct hs_error *err);
/* Unselects, for what has no rows, the objects of sites that the group filters do not let pass. */
hs_status hs_trace_look_select_groups(struct hs_tool *tool, struct hs_trace_look *look,
                                      struct hs_error *err);

/* The beginning of the JSON document of each command: what was looked at, and which figures are
 * exact and which are sampled. */
struct hs_trace_head {
    struct hs_pair pairs[20];
};
struct hs_trace_head hs_trace_look_head(const struct hs_trace_look *look, const char *schema);

/* Writes a whole listing without TOTAL; below a table the same in words, after `legend`, if any. */
hs_status hs_trace_look_list(const struct hs_trace_look *look, struct hs_tool *tool,
                             const struct hs_invocation *inv, struct hs_listing listing,
                             const char *legend, struct hs_error *err);

/* Returns part / whole in hundredths of a percent, as a column of shares takes it. */
static inline uint64_t hs_trace_share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (uint64_t)(((__uint128_t)part * 10000 + whole / 2) / whole);
}

#endif
