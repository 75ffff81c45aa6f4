/* Keeps a stopped process still while it is read: in which way, a frozen copy or a stopped read,
 * and within which limits. */
#include "target/freeze.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/units.h"
#include "copy/copy_private.h"
#include "target/procfs.h"
#include "witness.h"

static hs_status freeze_over_limit(const struct hs_target *target, uint64_t predicted_ns,
                                   const char *why, struct hs_error *err)
{
    char predicted[HS_UNIT_TEXT_BYTES], limit[HS_UNIT_TEXT_BYTES];

    hs_format_duration(predicted_ns, predicted);
    hs_format_duration(target->options.max_pause_ns, limit);
    (void)hs_fail(err, HS_LIMIT, "it would be stopped for about %s, %s are allowed%s%s", predicted,
                  limit, why[0] == '\0' ? "" : "; no copy can be made: ", why);
    return hs_hint(err, "allow more with --max-pause");
}

static hs_status freeze_check_prediction(struct hs_target *target, uint64_t predicted_ns,
                                         uint64_t busy_ns, const char *why, struct hs_error *err)
{
    uint64_t limit_ns = target->options.max_pause_ns;

    target->report.predicted_ns = predicted_ns;
    target->report.busy_ns = busy_ns;
    uint64_t spent_ns = hs_now_ns() - target->stopped_at_ns;
    return limit_ns == 0 || spent_ns + predicted_ns <= limit_ns
               ? HS_OK
               : freeze_over_limit(target, predicted_ns, why, err);
}

static hs_status freeze_no_copy(const struct hs_target *target, const char *why,
                                struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET, "cannot copy process '%d': %s", target->pid, why);
    return hs_hint(err, "--stop read reads it while it is stopped");
}

/* Tells whether its user has stopped the process: then a stop of ours takes nothing from it. */
static bool freeze_is_still(const struct hs_target *target)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;

    return hs_proc_stat_of(target->pid, 0, &stat, &ignored) == HS_OK && stat.state == 'T';
}

/* A stop that would be too long, or in vain, is not begun. */
static hs_status freeze_foresee(struct hs_target *target, struct hs_error *err)
{
    const struct hs_copy_outlook *outlook = &target->copy_plan->outlook;
    enum hs_stop_mode mode = target->options.mode;
    bool has_copy = mode != HS_STOP_READ && outlook->variant != HS_COPY_NONE;
    const char *why = mode == HS_STOP_READ || has_copy ? "" : outlook->why;
    uint64_t predicted_ns = has_copy ? outlook->copy_pause_ns : outlook->read_pause_ns;
    bool is_vain = mode == HS_STOP_COPY && !has_copy;
    bool is_long = target->options.max_pause_ns != 0 && predicted_ns > target->options.max_pause_ns;

    if ((!is_vain && !is_long) || freeze_is_still(target))
        return HS_OK;
    target->report.predicted_ns = predicted_ns;
    return is_vain ? freeze_no_copy(target, why, err)
                   : freeze_over_limit(target, predicted_ns, why, err);
}

/* Raises our priority between the stop and the copy: that is short, and all stand still for it, so
 * others that want the processor wait. Not for a read, which may take long. */
static void freeze_hurry(struct hs_target *target)
{
    struct hs_copy_plan *plan = target->copy_plan;

    if (target->options.mode == HS_STOP_READ || plan->outlook.variant == HS_COPY_NONE)
        return;
    hs_priority_raise(&plan->hurry);
    plan->is_hurried = true;
}

static void freeze_end_hurry(struct hs_target *target)
{
    struct hs_copy_plan *plan = target->copy_plan;

    if (plan == NULL || !plan->is_hurried)
        return;
    hs_priority_restore(&plan->hurry);
    plan->is_hurried = false;
}

hs_status hs_target_stop(struct hs_target *target, struct hs_error *err)
{
    if (target->core != NULL)
        return HS_OK; /* stopped for good */
    assert(!target->is_stopped && target->copy == NULL);
    target->report = (struct hs_stop_report){.n_restarted = target->report.n_restarted,
                                             .n_shortened = target->report.n_shortened,
                                             .n_late = target->report.n_late,
                                             .n_broken_off = target->report.n_broken_off,
                                             .n_cut = target->report.n_cut,
                                             .n_unsent = target->report.n_unsent,
                                             .n_anew = target->report.n_anew};
    hs_deadman_expect(target->options.max_pause_ns);
    target->is_over_limit = false;
    target->pace_ns = target->pace_bytes = 0;
    HS_TRY(hs_copy_plan_make(target, err));
    HS_TRY(freeze_foresee(target, err));
    HS_TRY(hs_copy_plan_prepare(target, err));
    freeze_hurry(target);
    hs_status status = hs_stop_all(target, err);
    if (status != HS_OK || target->was_stopped_already)
        freeze_end_hurry(target);
    return status;
}

void hs_target_resume(struct hs_target *target)
{
    freeze_end_hurry(target);
    if (!target->is_stopped && target->copy == NULL)
        return;
    hs_stop_let_go(target);
    hs_copy_end(target);
    hs_deadman_disarm();
}

bool hs_copy_is_expected(struct hs_target *target)
{
    struct hs_error ignored = HS_ERROR_INIT;

    return target->core == NULL && hs_copy_plan_make(target, &ignored) == HS_OK &&
           target->options.mode != HS_STOP_READ &&
           target->copy_plan->outlook.variant != HS_COPY_NONE;
}

bool hs_freeze_falls_back(struct hs_target *target, hs_status status)
{
    struct hs_copy *copy = target->copy;

    if (status != HS_LIMIT || copy == NULL || copy->failure.status != HS_LIMIT ||
        target->options.mode != HS_STOP_AUTO || target->copy_plan == NULL)
        return false;
    struct hs_copy_outlook *outlook = &target->copy_plan->outlook;
    outlook->variant = HS_COPY_NONE;
    snprintf(outlook->why, sizeof outlook->why, "%.*s", (int)sizeof outlook->why - 1,
             copy->why_given_up);
    target->copy_plan->is_final = true;
    hs_target_resume(target);
    return true;
}

/* Leaves the process stopped for a read, unless only a copy was asked for or it would take too
 * long. */
static hs_status freeze_for_reading(struct hs_target *target, const char *why, struct hs_error *err)
{
    const struct hs_copy_outlook *outlook = &target->copy_plan->outlook;
    struct hs_stop_report *report = &target->report;

    if (target->options.mode == HS_STOP_COPY)
        return freeze_no_copy(target, why, err);
    report->way = HS_WAY_READ;
    snprintf(report->why_no_copy, sizeof report->why_no_copy, "%s", why);
    return freeze_check_prediction(target, outlook->read_pause_ns, outlook->read_busy_ns, why, err);
}

/* The copy is there: the process may go on. */
static void freeze_let_go(struct hs_target *target, struct hs_copy *copy)
{
    target->report.way = HS_WAY_COPY;
    target->report.copying_ns = copy->copying_ns;
    hs_stop_let_go(target);
    target->copy = copy;
    hs_copy_watch_begin(target);
    hs_witness_guard_room(copy->watch.reserve_bytes);
    hs_memory_open(copy->memory.pid, &copy->memory);
    /* Through the file: process_vm_readv pins pages, and the kernel gives whoever pins a page that
     * two processes share one of its own first (mm/gup.c, gup_must_unshare): a copy so read would
     * come to take as much memory as the process. */
    copy->memory.reads_by_file = copy->memory.mem_fd >= 0;
    hs_copy_pass(HS_COPY_AT_LET_GO);
}

static hs_status freeze_by_copy(struct hs_target *target, struct hs_error *err)
{
    const struct hs_copy_outlook *outlook = &target->copy_plan->outlook;
    char why[sizeof target->report.why_no_copy];
    struct hs_copy *copy = NULL;

    HS_TRY(freeze_check_prediction(target, outlook->copy_pause_ns, outlook->copy_busy_ns, "", err));
    hs_status status = hs_copy_make(target, &copy, why, sizeof why, err);
    if (copy != NULL)
        freeze_let_go(target, copy);
    freeze_end_hurry(target);
    hs_deadman_within(UINT64_MAX);
    HS_TRY(status);
    return copy != NULL ? HS_OK : freeze_for_reading(target, why, err);
}

hs_status hs_target_freeze(struct hs_target *target, struct hs_error *err)
{
    assert(target->is_stopped || target->core != NULL);
    if (target->core != NULL) {
        target->report.way = HS_WAY_CORE;
        return HS_OK;
    }
    assert(target->copy == NULL && target->copy_plan != NULL);
    if (target->was_stopped_already) {
        target->report.way = HS_WAY_STOPPED;
        return HS_OK;
    }
    if (target->options.mode == HS_STOP_READ)
        return freeze_for_reading(target, "", err);
    if (target->copy_plan->outlook.variant == HS_COPY_NONE)
        return freeze_for_reading(target, target->copy_plan->outlook.why, err);
    return freeze_by_copy(target, err);
}

static hs_status freeze_too_long(const struct hs_target *target, struct hs_error *err)
{
    char limit[HS_UNIT_TEXT_BYTES];

    hs_format_duration(target->options.max_pause_ns, limit);
    (void)hs_fail(err, HS_LIMIT,
                  "it was not read within the pause of %s that is allowed; it runs again", limit);
    return hs_hint(err, "allow more with --max-pause");
}

/* Gives up reading and lets the process go on at once: what was read is of no use without the
 * rest. */
static void freeze_give_up(struct hs_target *target)
{
    hs_stop_let_go(target);
    freeze_end_hurry(target);
    hs_deadman_disarm();
    target->is_over_limit = true;
}

/* Gives up when the pace shows, long before the limit, that the forecast was too low. Always
 * fails. */
static hs_status freeze_too_slow(struct hs_target *target, uint64_t would_take_ns,
                                 struct hs_error *err)
{
    char would_take[HS_UNIT_TEXT_BYTES], limit[HS_UNIT_TEXT_BYTES], held[HS_UNIT_TEXT_BYTES];

    freeze_give_up(target);
    hs_format_duration(would_take_ns, would_take);
    hs_format_duration(target->options.max_pause_ns, limit);
    hs_format_duration(target->pause_ns, held);
    (void)hs_fail(err, HS_LIMIT,
                  "it is read so slowly that it would be stopped for about %s, %s are allowed; it "
                  "runs again, after %s",
                  would_take, limit, held);
    return hs_hint(err, "allow more with --max-pause");
}

hs_status hs_freeze_check(struct hs_target *target, struct hs_error *err)
{
    uint64_t would_take_ns;

    if (target->copy != NULL)
        return hs_copy_watch(target, err);
    if (target->is_over_limit)
        return freeze_too_long(target, err);
    hs_stop_look_for_continue(target);
    if (target->report.way == HS_WAY_READ && target->copy_plan != NULL &&
        hs_bound_is_hopeless(target, target->copy_plan->outlook.resident_bytes, &would_take_ns))
        return freeze_too_slow(target, would_take_ns, err);
    if (!hs_bound_is_late(target))
        return HS_OK;
    freeze_give_up(target);
    return freeze_too_long(target, err);
}
