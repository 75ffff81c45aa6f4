/* A thread's way to answers: commands are run one after the other, over views that stay open, and
 * what they print goes to a file without a name. */
#ifndef HS_SERVE_LANE_H
#define HS_SERVE_LANE_H

#include "analysis/view.h"
#include "server/exchange.h"
#include "tool.h"

enum { HS_LANE_VIEWS = 2 };

struct hs_lane {
    struct hs_tool tool;
    struct hs_view_lender lender;
    struct hs_lent_view {
        char *path; /* owned; NULL: empty */
        uint64_t identity, used_at;
        struct hs_view view;
        bool is_out;
        bool is_prepared; /* by hs_lane_prepare, as far as that goes */
    } lent[HS_LANE_VIEWS];
    const struct hs_served *served; /* of the question that is at work */
    uint64_t clock, deadline_ns;
    uint64_t least_bytes, most_bytes; /* of memory: the second when the first does not do */
    const volatile bool *must_end;    /* borrowed; NULL: it goes on */
    struct hs_progress progress;
};

/* Prepares a lane. `tool`, from which it has its options, stays borrowed. Memory: `least_bytes`,
 * and for what cannot be done in so few as many as `tool` may. The lane must not be moved. */
void hs_lane_init(const struct hs_tool *tool, uint64_t least_bytes, const volatile bool *must_end,
                  struct hs_lane *lane);
void hs_lane_fini(struct hs_lane *lane);

/* Tells whether the snapshot of the question is open here, or can be without long work: it has an
 * index that is kept. */
bool hs_lane_is_ready(struct hs_lane *lane, const struct hs_question *question);

/* Does a piece of the work by which single blocks of what was asked about are found faster from
 * then on, some milliseconds; true when there is more of it. For when nobody waits. */
bool hs_lane_prepare(struct hs_lane *lane);

/* Answers a question. *ret is what was printed: hs_map_close. HS_IO when the snapshot is another
 * one by then. */
hs_status hs_lane_ask(struct hs_lane *lane, const struct hs_question *question, struct hs_map *ret,
                      struct hs_error *err);

#endif
