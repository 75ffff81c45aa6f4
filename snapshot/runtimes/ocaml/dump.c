/* The order of a dump. Slow work stands before the stop or after the target has been let go. */
#include "ocaml/dump.h"

#include <time.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "dump_session.h"
#include "ocaml/ocaml_emit.h"
#include "target/freeze.h"
#include "target/procfs.h"

enum { PLAN_NOTE_BYTES = 128, MISSING_NOTE_BYTES = 640, MISSING_NOTES_MAX = 64 };
enum { STOPS_MAX = 50, CALM_STOPS = 8, FIRST_PAUSE_US = 1000, LAST_PAUSE_US = 5000 };

/* Forgets what was read in a stop that was no good, or before the stop. */
static void dump_forget(struct hs_dump_session *s)
{
    hs_ocaml_roots_fini(&s->roots);
    hs_ocaml_fini(&s->rt);
    hs_image_rewind(s->image);
    s->rt = (struct hs_ocaml){.target = s->target,
                              .image = s->image,
                              .objects = s->objects,
                              .strings = s->strings,
                              .findings.strings = s->strings};
}

static void dump_pause(unsigned attempt)
{
    long us = FIRST_PAUSE_US * (long)attempt;
    struct timespec pause = {.tv_nsec = (us < LAST_PAUSE_US ? us : LAST_PAUSE_US) * 1000};

    nanosleep(&pause, NULL); /* cut short by a signal: then the next attempt comes earlier */
}

/* Running C code may be the runtime half way through an allocation: a block without its header yet,
 * a new array without its elements. Nothing tells, so another moment is better. */
static bool dump_is_calm(const struct hs_dump_session *s)
{
    for (size_t i = 0; i < s->target->n_threads; i++) {
        const struct hs_regs *regs = &s->target->threads[i].regs;
        if (!hs_regs_in_call(regs) && hs_spans_find(&s->rt.code, hs_regs_pc(regs)) == NULL)
            return false; /* neither in a system call nor in OCaml code */
    }
    return true;
}

/* Stops, finds the runtime, and judges; *ret_is_good says whether to go on with this stop. */
static hs_status dump_stop(struct hs_dump_session *s, unsigned attempt, bool *ret_is_good,
                           struct hs_error *err)
{
    enum hs_stop_verdict verdict = HS_STOP_GOOD;
    const char *reason = "";

    dump_forget(s);
    s->n_attempts++;
    HS_TRY(hs_target_stop(s->target, err));
    HS_TRY(hs_objects_update(s->objects, s->target, err));
    bool is_last = attempt == STOPS_MAX || s->target->was_stopped_already;
    hs_status located = hs_ocaml_locate(&s->rt, err);
    if (located == HS_TARGET && s->was_located && !is_last) {
        *ret_is_good = false; /* in the middle of a change to the list of its chunks */
        return HS_OK;
    }
    HS_TRY(located);
    HS_TRY(hs_ocaml_judge(&s->rt, &verdict, &reason, err));
    *ret_is_good =
        is_last || (verdict == HS_STOP_GOOD && (attempt > CALM_STOPS || dump_is_calm(s)));
    if (verdict != HS_STOP_GOOD && *ret_is_good && s->target->core != NULL)
        return hs_findings_note(&s->rt.findings, true, err, "the core was taken %s", reason);
    if (verdict != HS_STOP_GOOD && *ret_is_good)
        HS_TRY(hs_findings_note(&s->rt.findings, true, err, "taken %s, after %u stop%s", reason,
                                s->n_attempts, s->n_attempts == 1 ? "" : "s"));
    return HS_OK;
}

/* Copies the heap once while the process runs, so that the copy under the stop finds its memory
 * ready. What is read may be torn: nothing of it is used, and a failure means nothing yet. */
static void dump_rehearse(struct hs_dump_session *s)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t read_bytes = s->target->read_bytes;

    dump_forget(s);
    s->was_located = hs_ocaml_locate(&s->rt, &ignored) == HS_OK;
    /* or the disk would take all of it twice; with a copy the process runs meanwhile */
    if (s->was_located && s->image->paged == NULL && !hs_copy_is_expected(s->target))
        (void)hs_ocaml_copy_heap(&s->rt, &ignored);
    s->image->is_full = false;
    s->target->read_bytes = read_bytes;
}

/* From the first stop to the last detach. */
static hs_status dump_copy_once(struct hs_dump_session *s, struct hs_error *err)
{
    bool is_good = false;

    if (s->target->core == NULL)
        dump_rehearse(s);
    for (unsigned attempt = 1; !is_good; attempt++) {
        HS_TRY(hs_progress_tell(s->options->progress, "stopping the process", attempt, 0, err));
        HS_TRY(dump_stop(s, attempt, &is_good, err));
        if (!is_good) {
            hs_target_resume(s->target);
            dump_pause(attempt);
        }
    }
    HS_TRY(hs_target_freeze(s->target, err));
    HS_TRY(hs_ocaml_copy_roots(&s->rt, &s->roots, err));
    HS_TRY(hs_ocaml_copy_heap(&s->rt, err));
    if (s->beside != NULL)
        HS_TRY(s->beside->copy(s->beside->context, err));
    hs_target_resume(s->target);
    return HS_OK;
}

static hs_status dump_copy(struct hs_dump_session *s, struct hs_error *err)
{
    uint64_t copy_bytes;
    hs_status status;
    bool falls_back;

    HS_TRY(hs_dump_copy_bytes(s->target, &copy_bytes, err));
    HS_TRY(hs_dump_plan_make(s->plan, s->image, s->options->budget, copy_bytes, err));
    do {
        status = dump_copy_once(s, err);
        falls_back = hs_freeze_falls_back(s->target, status);
        if (status != HS_OK)
            hs_target_resume(s->target);
    } while (falls_back || hs_dump_plan_retry(s->plan, &status, err));
    return status;
}

/* Marks, and what the tables come to: a bit per word each for what is reached, what waits, what
 * ephemerons wait for. */
static hs_status dump_mark(struct hs_dump_session *s, struct hs_error *err)
{
    uint64_t n_bytes = s->map.starts.n_bits / 8;

    HS_TRY(hs_dump_plan_adjust(s->plan, n_bytes + n_bytes / 8, err));
    HS_TRY(hs_dump_plan_reserve(s->plan, 3 * n_bytes, "the marks of blocks", err));
    HS_TRY(hs_ocaml_mark(&s->rt, &s->map, &s->roots, &s->marks, err));
    hs_dump_plan_release(s->plan, 2 * n_bytes);
    return HS_OK;
}

/* How the copy was made, as a note. */
static hs_status dump_note_plan(struct hs_dump_session *s, struct hs_error *err)
{
    char text[PLAN_NOTE_BYTES];
    const char *core_note = s->target->core != NULL ? hs_core_note(s->target) : "";

    if (core_note[0] != '\0')
        HS_TRY(hs_findings_note(&s->rt.findings, true, err, "%s", core_note));
    return hs_dump_plan_tell(s->plan, text, sizeof text)
               ? hs_findings_note(&s->rt.findings, false, err, "%s", text)
               : HS_OK;
}

/* Files that could not be read as they were loaded. */
static hs_status dump_note_missing(struct hs_dump_session *s, struct hs_error *err)
{
    char text[MISSING_NOTE_BYTES];

    for (size_t i = 0;
         i < MISSING_NOTES_MAX && hs_objects_missing(s->objects, i, text, sizeof text); i++)
        HS_TRY(hs_findings_note(&s->rt.findings, false, err, "%s", text));
    return HS_OK;
}

static hs_status dump_walk(struct hs_dump_session *s, struct hs_error *err)
{
    const struct hs_progress *progress = s->options->progress;

    HS_TRY(hs_progress_tell(progress, "listing blocks", 0, 0, err));
    HS_TRY(hs_block_map_build(&s->map, &s->rt, err));
    HS_TRY(hs_progress_tell(progress, "collecting roots", 0, 0, err));
    HS_TRY(hs_ocaml_collect_roots(&s->rt, &s->map, &s->roots, err));
    HS_TRY(hs_dump_apply_names(s, err));
    HS_TRY(hs_progress_tell(progress, "marking", 0, s->map.n_live_words, err));
    HS_TRY(dump_mark(s, err));
    HS_TRY(dump_note_plan(s, err));
    HS_TRY(dump_note_missing(s, err));
    if (s->map.n_live_words == 0)
        return hs_fail(err, HS_TARGET, "no block was found in the OCaml heap of '%s'",
                       s->objects->objects[0].name);
    return HS_OK;
}

/* A share of what a small process has would be used up by what it does in any second. */
#define DUMP_GROWTH_MIN_BYTES ((uint64_t)64 << 20)

static uint64_t dump_growth_bytes(uint64_t resident_bytes, unsigned percent)
{
    uint64_t n_bytes = resident_bytes / 100 * percent;

    return n_bytes < DUMP_GROWTH_MIN_BYTES ? DUMP_GROWTH_MIN_BYTES : n_bytes;
}

/* 0 when the system does not tell. */
static uint64_t dump_resident_bytes(pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t kilobytes = 0, n_bytes = 0;

    if (hs_proc_read_of(pid, "status", &text, &n, &ignored) != HS_OK ||
        !hs_proc_number(text, "VmRSS", 10, &kilobytes) || !hs_mul_fits(kilobytes, 1024, &n_bytes))
        return 0;
    return n_bytes;
}

hs_status hs_dump_open(const struct hs_dump_options *options, struct hs_target *ret,
                       struct hs_error *err)
{
    if (options->core != NULL) {
        HS_TRY(hs_core_open(options->core, ret, err));
        ret->options = options->stop;
        return HS_OK;
    }
    HS_TRY(hs_target_open(options->pid, ret, err));
    ret->options = options->stop;
    if (options->max_growth_percent != 0 && ret->options.max_growth_bytes == 0)
        ret->options.max_growth_bytes =
            dump_growth_bytes(dump_resident_bytes(options->pid), options->max_growth_percent);
    return HS_OK;
}

static hs_status dump_write(struct hs_dump_session *s, const struct hs_ocaml_emission *emission,
                            struct hs_dump_report *ret, struct hs_error *err)
{
    HS_TRY(hs_ocaml_emit(emission, &ret->totals, err));
    HS_TRY(hs_image_check(s->image, err));
    hs_dump_summarise(&s->facts, s->strings, ret);
    return HS_OK;
}

static hs_status dump_run(struct hs_dump_session *s, struct hs_out *out, struct hs_dump_report *ret,
                          struct hs_error *err)
{
    struct hs_dump_report report = {0};

    HS_TRY(hs_dump_open(s->options, s->target, err));
    HS_TRY(hs_objects_open(s->objects, s->target, err));
    hs_ocaml_prepare(s->objects);
    HS_TRY(hs_progress_tell(s->options->progress, "looking for source names", 0, 0, err));
    HS_TRY(hs_dump_find_names(s, err));
    HS_TRY(dump_copy(s, err));
    HS_TRY(dump_walk(s, err));
    HS_TRY(hs_dump_facts(s, err));
    struct hs_ocaml_emission emission = {.rt = &s->rt,
                                         .map = &s->map,
                                         .marks = &s->marks,
                                         .roots = &s->roots,
                                         .facts = &s->facts,
                                         .progress = s->options->progress,
                                         .out = out};
    if (s->beside != NULL)
        HS_TRY(s->beside->write(s->beside->context, &emission, &report, err));
    else
        HS_TRY(dump_write(s, &emission, &report, err));
    report.stop = s->target->report;
    *ret = report;
    return HS_OK;
}

/* Lets the target go if it is still stopped, whatever way the dump ends. */
static void dump_fini(struct hs_dump_session *s)
{
    hs_target_resume(s->target);
    hs_ocaml_marks_fini(&s->marks);
    hs_block_map_fini(&s->map);
    hs_ocaml_roots_fini(&s->roots);
    hs_ocaml_fini(&s->rt);
    hs_names_fini(&s->names);
    hs_free(s->binaries);
    hs_free(s->unreadable);
}

hs_status hs_dump_with(const struct hs_dump_options *options, const struct hs_dump_beside *beside,
                       struct hs_out *out, struct hs_dump_report *ret, struct hs_error *err)
{
    struct hs_dump_session session = {.options = options,
                                      .beside = beside->write != NULL ? beside : NULL,
                                      .target = beside->target,
                                      .objects = beside->objects,
                                      .image = beside->image,
                                      .plan = beside->plan,
                                      .strings = beside->strings};
    hs_status status = dump_run(&session, out, ret, err);

    if (session.target->pid != 0 &&
        options->core == NULL) /* opened: what is missing now was there */
        status = hs_refusal_if_ended(options->pid, status, err);
    dump_fini(&session);
    return status;
}

hs_status hs_dump(const struct hs_dump_options *options, struct hs_out *out,
                  struct hs_dump_report *ret, struct hs_error *err)
{
    struct hs_target target = {0};
    struct hs_objects objects = {0};
    struct hs_image image = {0};
    struct hs_dump_plan plan = {0};
    struct hs_strtab strings = {0};
    const struct hs_dump_beside alone = {.target = &target,
                                         .objects = &objects,
                                         .image = &image,
                                         .plan = &plan,
                                         .strings = &strings};
    hs_status status = hs_dump_with(options, &alone, out, ret, err);

    hs_dump_plan_fini(&plan);
    hs_image_fini(&image);
    hs_objects_close(&objects);
    hs_target_close(&target);
    hs_strtab_fini(&strings);
    return status;
}
