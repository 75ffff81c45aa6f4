/* Captures a process, from opening to the last detach: a copy at a moment that all runtimes and
 * allocators judge good, and the list of its blocks. */
#include <time.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/units.h"
#include "parts.h"
#include "target/freeze.h"
#include "target/procfs.h"

/* Stops until the moment is good; copies until nothing in them is torn. */
enum { STOPS_MAX = 50, COPIES_MAX = 6 };
/* Stops, of a few milliseconds at most, until a copy can be made: it spares a stopped read. */
enum { COPY_STOPS_MAX = 12 };
enum { FIRST_PAUSE_US = 1000, LAST_PAUSE_US = 5000, ALLOCATORS_BYTES = 256 };

/* ---- opening */

/* A share of what a small process has would be used up by what it does in any second. */
#define GROWTH_MIN_BYTES ((uint64_t)64 << 20)

static uint64_t capture_growth_bytes(uint64_t resident_bytes, unsigned percent)
{
    uint64_t n_bytes = resident_bytes / 100 * percent;

    return n_bytes < GROWTH_MIN_BYTES ? GROWTH_MIN_BYTES : n_bytes;
}

/* Reads a size of /proc/PID/status; 0: it is not told. */
static uint64_t status_bytes(pid_t pid, const char *key)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t kilobytes = 0, n_bytes = 0;

    if (hs_proc_read_of(pid, "status", &text, &n, &ignored) != HS_OK ||
        !hs_proc_number(text, key, 10, &kilobytes) || !hs_mul_fits(kilobytes, 1024, &n_bytes))
        return 0;
    return n_bytes;
}

uint64_t hs_dump_resident_bytes(pid_t pid)
{
    return status_bytes(pid, "VmRSS");
}

uint64_t hs_dump_anonymous_bytes(pid_t pid)
{
    return status_bytes(pid, "RssAnon");
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
    ret->options.n_threads = options->budget == NULL ? 1 : options->budget->n_threads;
    if (options->max_growth_percent != 0 && ret->options.max_growth_bytes == 0)
        ret->options.max_growth_bytes =
            capture_growth_bytes(hs_dump_resident_bytes(options->pid), options->max_growth_percent);
    return HS_OK;
}

/* ---- stopping */

static void capture_pause(unsigned attempt)
{
    long us = FIRST_PAUSE_US * (long)attempt;
    struct timespec pause = {.tv_nsec = (us < LAST_PAUSE_US ? us : LAST_PAUSE_US) * 1000};

    nanosleep(&pause, NULL); /* cut short by a signal: then the next attempt comes earlier */
}

/* Drops what was read in a stop that was no good, or before the stop. */
static void capture_forget(struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->n_serving; i++)
        dump->serving[i].runtime->forget(dump->serving[i].state);
    hs_heaps_close(&dump->heaps);
    hs_findings_fini(&dump->findings);
    dump->findings = (struct hs_findings){0};
    hs_dump_bind(dump);
    hs_image_rewind(&dump->image);
}

/* Copies once while the process runs, so that the copy under the stop finds its memory ready: not
 * to a disk, which would take all of it twice, and not when the process runs while its copy is
 * read. What is read may be torn: nothing of it is used, and a failure means nothing yet. */
static void capture_rehearse(struct hs_dump *dump)
{
    uint64_t read_bytes = dump->target.read_bytes;

    if (dump->target.core != NULL)
        return;
    bool copies = dump->image.paged == NULL && !hs_copy_is_expected(&dump->target);
    capture_forget(dump);
    for (size_t i = 0; i < dump->n_serving; i++)
        dump->serving[i].runtime->rehearse(dump->serving[i].state, copies);
    dump->image.is_full = false;
    dump->target.read_bytes = read_bytes;
}

/* Stops, and asks all runtimes whether to go on with this stop. */
static hs_status capture_stop(struct hs_dump *dump, struct hs_moment *moment, struct hs_error *err)
{
    HS_TRY(hs_progress_tell(dump->options->progress, "stopping the process", dump->n_stops + 1, 0,
                            err));
    capture_forget(dump);
    dump->n_stops++;
    HS_TRY(hs_target_stop(&dump->target, err));
    HS_TRY(hs_objects_update(&dump->objects, &dump->target, err));
    moment->is_last |= dump->target.was_stopped_already;
    moment->is_good = true;
    for (size_t i = 0; i < dump->n_serving && moment->is_good; i++)
        if (dump->serving[i].runtime->judge != NULL)
            HS_TRY(dump->serving[i].runtime->judge(dump->serving[i].state, moment, err));
    if (moment->is_good && !moment->is_last && moment->attempt < COPY_STOPS_MAX)
        moment->is_good = dump->target.core != NULL || hs_copy_suits(&dump->target);
    return HS_OK;
}

static bool capture_reads_heaps(const struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].runtime->reads_heaps)
            return true;
    return false;
}

/* Copies the process once, from the first stop to the last detach. */
static hs_status capture_copy_once(struct hs_dump *dump, struct hs_error *err)
{
    struct hs_moment moment = {.attempt = 0};

    while (!moment.is_good) {
        moment.is_last = ++moment.attempt == STOPS_MAX;
        HS_TRY(capture_stop(dump, &moment, err));
        if (!moment.is_good) {
            hs_target_resume(&dump->target);
            capture_pause(moment.attempt);
        }
    }
    HS_TRY(hs_target_freeze(&dump->target, err));
    for (size_t i = 0; i < dump->n_serving; i++)
        HS_TRY(dump->serving[i].runtime->copy(dump->serving[i].state, err));
    if (capture_reads_heaps(dump))
        HS_TRY(hs_residency_read(&dump->residency, &dump->target, err));
    hs_target_resume(&dump->target);
    return HS_OK;
}

/* Again when a frozen copy was given up, or did not fit in memory. */
static hs_status capture_copy(struct hs_dump *dump, struct hs_error *err)
{
    hs_status status;
    bool again;

    do {
        capture_rehearse(dump);
        status = capture_copy_once(dump, err);
        again = hs_freeze_falls_back(&dump->target, status);
        if (status != HS_OK)
            hs_target_resume(&dump->target);
    } while (again || hs_dump_plan_retry(&dump->plan, &status, err));
    return status;
}

/* ---- the list of blocks */

/* Runtimes first say what memory is theirs; then the allocators list what is in the rest. */
static hs_status capture_list(struct hs_dump *dump, struct hs_error *err)
{
    for (size_t i = 0; i < dump->n_serving; i++)
        HS_TRY(dump->serving[i].runtime->list(dump->serving[i].state, err));
    if (!capture_reads_heaps(dump))
        return HS_OK;
    HS_TRY(hs_heaps_open(&dump->heaps, &dump->process, err));
    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].runtime->claim != NULL)
            HS_TRY(dump->serving[i].runtime->claim(dump->serving[i].state, err));
    return hs_heaps_mark(&dump->heaps, &dump->process, err);
}

/* Does any allocator have a live block? */
static bool capture_has_block(const struct hs_heap_map *map)
{
    for (size_t i = 0; i < map->n_spans; i++) {
        uint64_t end = i + 1 < map->n_spans ? map->spans[i + 1].first_bit : map->starts.n_bits;
        if (map->spans[i].owner < HS_N_ALLOCATORS &&
            hs_bitmap_next(&map->starts, map->spans[i].first_bit) < end)
            return true;
    }
    return false;
}

/* Code that has yet to allocate anything has less, stacks and variables of libraries together. */
#define OWN_HEAP_BYTES ((uint64_t)8 << 20)

static hs_status capture_refuse(const struct hs_dump *dump, const char *seen, struct hs_error *err)
{
    const char *program = dump->objects.objects[0].name;

    if (seen[0] != '\0') {
        (void)hs_fail(err, HS_TARGET, "no heap block was found in '%s': its allocator is %s",
                      program, seen);
        return hs_hint(err,
                       "that allocator is recognised, not supported yet; glibc, jemalloc, "
                       "mimalloc 2, tcmalloc, CPython's and pools registered with register.h are");
    }
    (void)hs_fail(err, HS_TARGET, "no heap block was found in '%s'", program);
    if (dump->target.core != NULL && hs_core_note(&dump->target)[0] != '\0')
        return hs_hint(err, "%s", hs_core_note(&dump->target));
    uint64_t n_bytes = hs_image_resident_bytes(&dump->image, 0, UINT64_MAX);
    if (n_bytes < OWN_HEAP_BYTES)
        return hs_hint(err, "it has not allocated anything yet, or by an allocator of its own");
    char size[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(n_bytes, size);
    return hs_hint(err,
                   "it has %s of memory, from an allocator of its own: only what it registers as "
                   "heapsnap/register.h says can be listed",
                   size);
}

/* Objects in the allocators' blocks that a runtime would know more of. */
static hs_status capture_note_unbuilt(struct hs_dump *dump, struct hs_error *err)
{
    const struct hs_unbuilt_runtime *unbuilt = hs_unbuilt_runtime(&dump->objects);

    if (unbuilt == NULL)
        return HS_OK;
    return hs_findings_note(&dump->findings, true, err,
                            "it is %s: of its objects only what the memory shows is known, as this "
                            "heapsnap was built without the part %s (-D%s=ON)",
                            unbuilt->what, unbuilt->part, unbuilt->with);
}

/* A listing without a block is an error that says why; one beside an allocator that is not read
 * says that. A runtime with a heap of its own judges that itself. */
static hs_status capture_check(struct hs_dump *dump, struct hs_error *err)
{
    char seen[ALLOCATORS_BYTES];

    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].runtime->has_own_heap)
            return HS_OK;
    HS_TRY(capture_note_unbuilt(dump, err));
    hs_heaps_recognise(&dump->process, dump->options->rules, hs_heaps_in_use(&dump->heaps), seen,
                       sizeof seen);
    hs_heaps_join_names(seen, sizeof seen);
    if (!capture_has_block(&dump->heaps.map))
        return capture_refuse(dump, seen, err);
    if (seen[0] == '\0')
        return HS_OK;
    return hs_findings_note(&dump->findings, true, err,
                            "%s: recognised, not supported yet: its blocks are parts of "
                            "unclaimed mappings",
                            seen);
}

hs_status hs_dump_capture(struct hs_dump *dump, struct hs_error *err)
{
    struct hs_budget *budget = dump->options->budget;
    struct hs_dump_wants wants = {.has_types =
                                      !dump->options->no_names && capture_reads_heaps(dump)};
    struct hs_dump_load load;

    for (size_t i = 0; i < dump->n_serving; i++)
        hs_runtime_wants(dump->serving[i].runtime, &wants);
    HS_TRY(hs_dump_load_read(&dump->target, &dump->objects, budget, &wants, &load, err));
    HS_TRY(hs_dump_plan_make(&dump->plan, &dump->image, budget, &load, err));
    for (unsigned n_copies = 1;; n_copies++) {
        HS_TRY(capture_copy(dump, err));
        HS_TRY(capture_list(dump, err));
        HS_TRY(hs_image_check(&dump->image, err));
        if (dump->findings.n_torn == 0 || n_copies == COPIES_MAX ||
            dump->target.was_stopped_already)
            return capture_check(dump, err);
        capture_pause(1);
    }
}
