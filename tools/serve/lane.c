#include "lane.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/block_file.h"
#include "ask.h"
#include "base/alloc.h"
#include "base/spill.h"
#include "look/open_view.h"
#include "lost_file.h"
#include "served.h"

/* The longest time of one question. Limit: an index that takes longer is to be computed before. */
#define LONGEST_NS ((uint64_t)300 * 1000000000)
/* A query that took so long may have had no time rather than no memory: it is not run again. */
#define SLOW_NS ((uint64_t)2 * 1000000000)

/* ---- views that stay open */

static bool lane_tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    const struct hs_lane *lane = context;
    (void)phase;
    (void)done;
    (void)total;
    return hs_tool_interrupted() == 0 && (lane->must_end == NULL || !*lane->must_end) &&
           hs_now_ns() < lane->deadline_ns;
}

static void close_lent(struct hs_lent_view *lent)
{
    if (lent->path == NULL || lent->is_out)
        return;
    hs_view_close(&lent->view);
    hs_free(lent->path);
    *lent = (struct hs_lent_view){0};
}

static void give_back(void *lender, const struct hs_view *view)
{
    struct hs_lent_view *lent = lender;
    lent->view = *view;
    lent->view.give_back = NULL;
    lent->is_out = false;
}

static struct hs_lent_view *find_lent(struct hs_lane *lane, const struct hs_served *served)
{
    for (size_t i = 0; i < HS_LANE_VIEWS; i++) {
        struct hs_lent_view *lent = &lane->lent[i];
        if (lent->path == NULL || lent->is_out || strcmp(lent->path, served->path) != 0)
            continue;
        if (lent->identity == served->identity)
            return lent;
        close_lent(lent); /* of the file that was there before */
    }
    return NULL;
}

/* The one that was not used for longest is closed. NULL: all are lent. */
static struct hs_lent_view *find_room(struct hs_lane *lane)
{
    struct hs_lent_view *oldest = NULL;
    for (size_t i = 0; i < HS_LANE_VIEWS; i++) {
        struct hs_lent_view *lent = &lane->lent[i];
        if (!lent->is_out && (oldest == NULL || lent->used_at < oldest->used_at))
            oldest = lent;
    }
    if (oldest != NULL)
        close_lent(oldest);
    return oldest;
}

/* Opens a view to be lent. Without an index that is kept, *ret is NULL when there must be one. */
static hs_status open_lent(struct hs_lane *lane, const struct hs_served *served, bool only_kept,
                           struct hs_lent_view **ret, struct hs_error *err)
{
    struct hs_lent_view *lent = find_room(lane);
    struct hs_session session = hs_tool_session(&lane->tool, served->path);
    HS_TRY(hs_strdup(served->path, &lent->path, err));
    hs_status status = hs_view_open(&session, lent->path, only_kept ? HS_VIEW_SNAP : HS_VIEW_INDEX,
                                    &lent->view, err);
    if (status == HS_OK && only_kept)
        status = hs_view_find_index(&lent->view, err);
    lent->identity = served->identity;
    bool is_open = status == HS_OK && lent->view.index != NULL;
    if (!is_open)
        close_lent(lent);
    *ret = is_open ? lent : NULL;
    return status;
}

/* Lends a view, for hs_view_lender. Other paths than the question's, and tools of commands that run
 * others, open their own: nobody would know when these change. */
static hs_status lend(void *context, struct hs_tool *tool, const char *path, struct hs_view *ret,
                      struct hs_error *err)
{
    struct hs_lane *lane = context;
    if (tool != &lane->tool || strcmp(path, lane->served->path) != 0) {
        struct hs_session session = hs_tool_session(tool, path);
        return hs_view_open(&session, path, HS_VIEW_INDEX, ret, err);
    }
    struct hs_lent_view *lent = find_lent(lane, lane->served);
    if (lent == NULL)
        HS_TRY(open_lent(lane, lane->served, false, &lent, err));
    lent->used_at = ++lane->clock;
    lent->is_out = true;
    *ret = lent->view;
    ret->give_back = give_back;
    ret->lender = lent;
    return HS_OK;
}

bool hs_lane_is_ready(struct hs_lane *lane, const struct hs_question *question)
{
    struct hs_error ignored = HS_ERROR_INIT; /* whoever asks again is told */
    struct hs_lent_view *lent = find_lent(lane, question->served);
    if (lent == NULL)
        (void)!open_lent(lane, question->served, true, &lent, &ignored);
    return lent != NULL;
}

/* Prepares a view for answers to come, a piece at a time; true when there is more to do. A view of
 * a file that turns out to be cut is closed. */
static bool prepare_view(struct hs_lane *lane, struct hs_lent_view *lent)
{
    struct hs_error ignored = HS_ERROR_INIT;
    bool has_more = false;
    lane->deadline_ns = hs_now_ns() + LONGEST_NS;
    (void)hs_lost_file_met();
    if (lent->view.blocks == NULL)
        hs_view_forget_chunks(&lent->view); /* for their room */
    (void)!hs_block_file_add(&lent->view, &has_more, &ignored);
    if (!has_more)
        hs_view_forget_chunks(&lent->view);
    lent->is_prepared = !has_more;
    if (hs_lost_file_met())
        close_lent(lent);
    return has_more;
}

bool hs_lane_prepare(struct hs_lane *lane)
{
    for (size_t i = 0; i < HS_LANE_VIEWS; i++) {
        struct hs_lent_view *lent = &lane->lent[i];
        if (lent->path != NULL && !lent->is_out && lent->used_at != 0 && !lent->is_prepared)
            return prepare_view(lane, lent);
    }
    return false;
}

void hs_lane_init(const struct hs_tool *tool, uint64_t least_bytes, const volatile bool *must_end,
                  struct hs_lane *lane)
{
    *lane = (struct hs_lane){.tool = *tool, .least_bytes = least_bytes, .must_end = must_end};
    struct hs_tool *own = &lane->tool;
    lane->most_bytes = tool->budget.limit_bytes;
    if (lane->least_bytes > lane->most_bytes)
        lane->least_bytes = lane->most_bytes;
    own->out = (struct hs_out){.fd = -1};
    own->terminal = (struct hs_terminal){0};
    own->spill_dir = NULL;
    if (!own->has_spill_dir)
        own->budget.spill_dir = NULL;
    own->budget.limit_bytes = lane->least_bytes;
    own->lender = &lane->lender;
    own->is_below = true;
    own->progress = (struct hs_progress){lane_tell, lane};
    lane->lender = (struct hs_view_lender){lend, lane};
}

void hs_lane_fini(struct hs_lane *lane)
{
    for (size_t i = 0; i < HS_LANE_VIEWS; i++)
        close_lent(&lane->lent[i]);
    hs_free(lane->tool.spill_dir);
    lane->tool.spill_dir = NULL;
}

/* ---- questions */

/* Opens the file for an answer: a large one is on a disk, so that it can leave memory. */
static hs_status open_file(struct hs_lane *lane, const struct hs_question *question, int *ret,
                           struct hs_error *err)
{
    struct hs_spill spill = {0};
    if (question->is_quick) {
        *ret = memfd_create("heapsnap answer", MFD_CLOEXEC);
    } else {
        HS_TRY(hs_spill_open(&lane->tool.budget, "an answer", &spill, err));
        *ret = dup(spill.fd);
        hs_spill_close(&spill);
    }
    return *ret >= 0 ? HS_OK : hs_fail_errno(err, HS_LIMIT, "cannot keep an answer");
}

static hs_status run_into(struct hs_lane *lane, const struct hs_question *question, int fd,
                          struct hs_error *err)
{
    struct hs_tool *tool = &lane->tool;
    HS_TRY(hs_out_open_fd(fd, "the answer", &tool->out, err));
    tool->hint[0] = '\0';
    hs_status status = hs_ask(tool, question, err);
    if (status == HS_OK)
        status = hs_out_commit(&tool->out, err);
    hs_out_close(&tool->out);
    tool->out = (struct hs_out){.fd = -1};
    return status;
}

static hs_status ask_once(struct hs_lane *lane, const struct hs_question *question,
                          struct hs_map *ret, struct hs_error *err)
{
    int fd = -1;
    HS_TRY(open_file(lane, question, &fd, err));
    hs_status status = run_into(lane, question, fd, err);
    if (status == HS_OK && lseek(fd, 0, SEEK_SET) != 0)
        status = hs_fail_errno(err, HS_IO, "cannot read an answer");
    if (status == HS_OK)
        status = hs_map_open_fd(fd, "an answer", ret, err);
    (void)close(fd);
    return status;
}

/* The files as they were when it was asked: of others the answer would be kept as theirs. */
static hs_status check_file(struct hs_lane *lane, hs_status status, struct hs_map *ret,
                            struct hs_error *err)
{
    const char *path = lane->served->path;
    bool was_cut = hs_lost_file_met();
    bool is_other = !hs_served_is_same(lane->served);
    if (status == HS_FORMAT || status == HS_IO || was_cut || is_other)
        for (size_t i = 0; i < HS_LANE_VIEWS; i++)
            close_lent(&lane->lent[i]);
    if (!was_cut && !is_other)
        return status;
    if (status == HS_OK)
        hs_map_close(ret);
    (void)hs_fail(err, HS_IO, "'%s' was %s while it was read", path,
                  was_cut ? "cut short" : "changed");
    return hs_hint(err, "replace a file by renaming, never by writing into it");
}

hs_status hs_lane_ask(struct hs_lane *lane, const struct hs_question *question, struct hs_map *ret,
                      struct hs_error *err)
{
    lane->served = question->served;
    uint64_t began_ns = hs_now_ns();
    lane->deadline_ns = began_ns + LONGEST_NS;
    lane->tool.budget.limit_bytes = lane->least_bytes;
    (void)hs_lost_file_met();
    hs_status status = ask_once(lane, question, ret, err);
    bool is_slow = question->kind == HS_QUESTION_SQL && hs_now_ns() - began_ns > SLOW_NS;
    if (status == HS_LIMIT && !is_slow && lane->most_bytes > lane->least_bytes &&
        lane_tell(lane, "", 0, 0)) {
        lane->tool.budget.limit_bytes = lane->most_bytes;
        *err = (struct hs_error)HS_ERROR_INIT;
        status = ask_once(lane, question, ret, err);
        lane->tool.budget.limit_bytes = lane->least_bytes;
    }
    return check_file(lane, status, ret, err);
}
