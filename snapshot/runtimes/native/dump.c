/* The order of a native dump. Slow work stands before the stop or after the target was let go. */
#include "native/native_dump.h"

#include <time.h>

#include "base/alloc.h"
#include "copy.h"
#include "emit.h"
#include "facts.h"
#include "flow.h"
#include "mixed.h"
#include "prepare.h"
#include "sites.h"
#include "target/freeze.h"

enum { STOPS_MAX = 6, PAUSE_US = 1000, ALLOCATORS_BYTES = 256 };
/* From here on order goes by region, whatever memory there is: the same heap gives the same types.
 */
#define LARGE_BYTES ((uint64_t)32 << 20)

/* Lets the target go if it is still stopped, whatever way the dump ends. */
void hs_native_fini(struct hs_native *native)
{
    hs_target_resume(&native->target);
    hs_heaps_close(&native->heaps);
    hs_findings_fini(&native->findings);
    hs_roots_fini(&native->roots);
    hs_range_set_fini(&native->root_ranges);
    hs_free(native->seeds);
    hs_free(native->debug_notes);
    hs_free(native->of_object);
    hs_ctypes_free(native->ctypes);
    hs_residency_fini(&native->residency);
    hs_dump_plan_fini(&native->plan);
    hs_image_fini(&native->image);
    hs_objects_close(&native->objects);
    hs_target_close(&native->target);
    hs_strtab_fini(&native->strings);
}

void hs_native_bind(struct hs_native *native)
{
    native->findings.strings = &native->strings;
    native->scene = (struct hs_scene){.target = &native->target,
                                      .image = &native->image,
                                      .objects = &native->objects,
                                      .findings = &native->findings};
}

static hs_status native_open(struct hs_native *native, struct hs_error *err)
{
    hs_native_bind(native);
    HS_TRY(hs_dump_open(native->options, &native->target, err));
    return hs_objects_open(&native->objects, &native->target, err);
}

/* Copies once while the process runs, so that the copy under the stop finds its memory ready. What
 * is read may be torn: nothing of it is used, and a failure means nothing yet. */
static void native_rehearse(struct hs_native *native)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t read_bytes = native->target.read_bytes;

    if (native->image.paged != NULL || native->target.core != NULL)
        return; /* the disk would have to take all of it twice */
    if (hs_copy_is_expected(&native->target))
        return; /* it runs while its copy is read */
    (void)hs_native_copy(native, &ignored);
    native->image.is_full = false;
    native->target.read_bytes = read_bytes;
}

/* From a stop to the detach. */
static hs_status native_stop(struct hs_native *native, struct hs_error *err)
{
    const struct hs_progress *progress = native->options->progress;

    HS_TRY(hs_progress_tell(progress, "stopping the process", native->n_attempts + 1, 0, err));
    hs_image_rewind(&native->image);
    native->n_attempts++;
    HS_TRY(hs_target_stop(&native->target, err));
    HS_TRY(hs_objects_update(&native->objects, &native->target, err));
    HS_TRY(hs_target_freeze(&native->target, err));
    HS_TRY(hs_native_copy(native, err));
    HS_TRY(hs_residency_read(&native->residency, &native->target, err));
    hs_target_resume(&native->target);
    return HS_OK;
}

static hs_status native_plan(struct hs_native *native, struct hs_error *err)
{
    uint64_t copy_bytes;

    HS_TRY(hs_dump_copy_bytes(&native->target, &copy_bytes, err));
    return hs_dump_plan_make(&native->plan, &native->image, native->options->budget, copy_bytes,
                             err);
}

/* Forgets what was found in a stop that was no good. */
static void native_forget(struct hs_native *native)
{
    hs_heaps_close(&native->heaps);
    native->heaps = (struct hs_heaps){0};
    hs_findings_fini(&native->findings);
    native->findings = (struct hs_findings){0};
    hs_free(native->of_object);
    native->of_object = NULL;
    hs_ctypes_free(native->ctypes);
    native->ctypes = NULL;
    hs_native_bind(native);
}

hs_status hs_native_list_blocks(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(hs_progress_tell(native->options->progress, "listing blocks", 0, 0, err));
    HS_TRY(hs_native_find_debug(native, err));
    HS_TRY(hs_native_prepare_objects(native, err));
    HS_TRY(hs_heaps_open(&native->heaps, &native->scene, err));
    if (native->ocaml != NULL)
        HS_TRY(hs_native_claim_ocaml(native, err));
    HS_TRY(hs_native_add_unclaimed(native, err));
    native->is_large = hs_image_resident_bytes(&native->image, 0, UINT64_MAX) >= LARGE_BYTES;
    return hs_heaps_mark(&native->heaps, &native->scene, err);
}

/* Stops until no allocator was caught half-way through a change, or often enough. */
static hs_status native_capture(struct hs_native *native, struct hs_error *err)
{
    struct timespec pause = {.tv_nsec = PAUSE_US * 1000L};

    HS_TRY(native_plan(native, err));
    native_rehearse(native);
    for (;;) {
        hs_status status = native_stop(native, err);
        if (hs_freeze_falls_back(&native->target, status))
            continue;
        if (hs_dump_plan_retry(&native->plan, &status, err)) {
            hs_target_resume(&native->target);
            continue;
        }
        HS_TRY(status);
        HS_TRY(hs_native_list_blocks(native, err));
        HS_TRY(hs_image_check(&native->image, err));
        if (native->findings.n_torn == 0 || native->n_attempts == STOPS_MAX ||
            native->target.was_stopped_already)
            return HS_OK;
        native_forget(native);
        nanosleep(&pause, NULL);
    }
}

/* Does any allocator have a live block? */
static bool native_has_block(const struct hs_heap_map *map)
{
    for (size_t i = 0; i < map->n_spans; i++) {
        uint64_t end = i + 1 < map->n_spans ? map->spans[i + 1].first_bit : map->starts.n_bits;
        if (map->spans[i].owner != HS_OWNER_MAPPING &&
            hs_bitmap_next(&map->starts, map->spans[i].first_bit) < end)
            return true;
    }
    return false;
}

/* A listing without a block is an error that says why; one beside an allocator that is not read
 * says that. */
static hs_status native_check_blocks(struct hs_native *native, struct hs_error *err)
{
    char seen[ALLOCATORS_BYTES];
    const char *program = native->objects.objects[0].name;

    hs_heaps_recognise(&native->scene, seen, sizeof seen);
    for (char *c = seen; *c != '\0'; c++)
        if (*c == '\n')
            *c = c[1] == '\0' ? '\0' : ',';
    if (native_has_block(&native->heaps.map)) {
        if (seen[0] == '\0')
            return HS_OK;
        return hs_findings_note(&native->findings, true, err,
                                "%s: recognised, not supported yet: its blocks are parts of "
                                "unclaimed mappings",
                                seen);
    }
    if (seen[0] != '\0') {
        (void)hs_fail(err, HS_TARGET, "no heap block was found in '%s': its allocator is %s",
                      program, seen);
        return hs_hint(err, "that allocator is recognised, not supported yet; glibc and jemalloc "
                            "are");
    }
    (void)hs_fail(err, HS_TARGET, "no heap block was found in '%s'", program);
    if (native->target.core != NULL && hs_core_note(&native->target)[0] != '\0')
        return hs_hint(err, "%s", hs_core_note(&native->target));
    return hs_hint(err, "it has not allocated anything yet, or by an allocator of its own");
}

hs_status hs_native_collect_roots(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(hs_progress_tell(native->options->progress, "collecting roots", 0, 0, err));
    HS_TRY(hs_native_collect_globals(native, err));
    HS_TRY(hs_native_collect_tls(native, err));
    HS_TRY(hs_native_collect_stacks(native, err));
    HS_TRY(hs_native_collect_registered(native, err));
    return hs_native_collect_unclaimed(native, err);
}

/* The walked heap becomes a snapshot. */
static hs_status native_write(struct hs_native *native, struct hs_out *out,
                              struct hs_dump_report *report, struct hs_error *err)
{
    const struct hs_progress *progress = native->options->progress;
    struct hs_flow flow = {0};
    struct hs_scan scan = {0};
    struct hs_native_facts facts = {0};
    struct hs_native_samples samples = {0};

    hs_status status = hs_progress_tell(progress, "naming types", 0, 0, err);
    if (status == HS_OK)
        status = hs_native_flow(native, &flow, err);
    if (status == HS_OK)
        status = hs_progress_tell(progress, "marking", 0, native->heaps.map.n_blocks, err);
    if (status == HS_OK)
        status = hs_scan_open(&scan, native, &flow, err);
    if (status == HS_OK)
        status = hs_native_collect_samples(native, &samples, err);
    if (status == HS_OK)
        status = hs_native_make_facts(native, &flow, &scan, &facts, err);
    native->facts.samplers = samples.samplers;
    native->facts.n_samplers = samples.n_samplers;
    if (status == HS_OK)
        status = hs_native_emit(native, &flow, &scan, &samples, out, &report->totals, err);
    if (status == HS_OK)
        status = hs_image_check(&native->image, err);
    if (status == HS_OK)
        hs_dump_summarise(&native->facts, &native->strings, report);
    report->stop = native->target.report;
    hs_native_samples_fini(&samples);
    hs_native_facts_fini(&facts);
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    return status;
}

/* Now that the blocks are known. A program without debug information, C++ or Python has no types.
 */
hs_status hs_native_take_tables(struct hs_native *native, struct hs_error *err)
{
    uint64_t n_blocks = native->heaps.map.n_blocks;

    uint64_t table_bytes = hs_heap_map_table_bytes(&native->heaps.map);

    if (native->ocaml != NULL) /* whose own tables were thought of first */
        HS_TRY(hs_dump_plan_reserve(&native->plan, table_bytes, "the table of blocks", err));
    else
        HS_TRY(hs_dump_plan_adjust(&native->plan, table_bytes, err));
    HS_TRY(
        hs_dump_plan_reserve(&native->plan, HS_MARK_BYTES(n_blocks), "the marks of blocks", err));
    if (native->ctypes == NULL && hs_heaps_interpreter(&native->heaps).model == NULL &&
        !hs_rtti_is_possible(&native->objects))
        return HS_OK;
    return hs_dump_plan_reserve(&native->plan, n_blocks * sizeof(uint16_t), "the types of blocks",
                                err);
}

static hs_status native_run(struct hs_native *native, struct hs_out *out,
                            struct hs_dump_report *ret, struct hs_error *err)
{
    struct hs_dump_report report = {0};

    HS_TRY(hs_progress_tell(native->options->progress, "looking for debug information", 0, 0, err));
    HS_TRY(hs_native_find_debug(native, err));
    HS_TRY(native_capture(native, err));
    HS_TRY(hs_native_take_tables(native, err));
    HS_TRY(native_check_blocks(native, err));
    HS_TRY(hs_native_note_uncopied(native, err));
    HS_TRY(hs_native_collect_roots(native, err));
    HS_TRY(native_write(native, out, &report, err));
    *ret = report;
    return HS_OK;
}

/* hs_dump opens the process anew: one that has become another program in between is said to have,
 * rather than refused for what it is now. */
static hs_status native_dump_ocaml(const struct hs_dump_options *options, struct hs_out *out,
                                   struct hs_dump_report *ret, struct hs_error *err)
{
    struct hs_native now = {.options = options};
    struct hs_error ignored = HS_ERROR_INIT;
    hs_status status = options->ocaml_alone ? hs_dump(options, out, ret, err)
                                            : hs_native_dump_mixed(options, out, ret, err);

    if (status != HS_TARGET || options->core != NULL)
        return status;
    bool is_other = native_open(&now, &ignored) == HS_OK && !hs_is_ocaml(&now.objects);
    hs_native_fini(&now);
    if (!is_other)
        return status;
    (void)hs_fail(err, HS_TARGET,
                  "cannot dump process '%d': it executed another program during the dump",
                  options->pid);
    return hs_hint(err, "try again");
}

/* `ocaml`: give OCaml programs to hs_dump. */
static hs_status native_dump(const struct hs_dump_options *options, bool ocaml, struct hs_out *out,
                             struct hs_dump_report *ret, struct hs_error *err)
{
    struct hs_native native = {.options = options};
    hs_status status = native_open(&native, err);
    bool was_opened = native.target.pid != 0;
    bool is_ocaml = status == HS_OK && ocaml && hs_is_ocaml(&native.objects);

    if (status == HS_OK && !is_ocaml)
        status = native_run(&native, out, ret, err);
    if (was_opened && options->core == NULL) /* what is missing now was there */
        status = hs_refusal_if_ended(options->pid, status, err);
    hs_native_fini(&native);
    return is_ocaml && status == HS_OK ? native_dump_ocaml(options, out, ret, err) : status;
}

/* What is opened twice is unpacked, or taken from the pipe, once. */
static hs_status native_dump_core(const struct hs_dump_options *options, bool ocaml,
                                  struct hs_out *out, struct hs_dump_report *ret,
                                  struct hs_error *err)
{
    struct hs_dump_options with_file = *options;
    struct hs_core_options core = *options->core;
    struct hs_core_file *file;

    HS_TRY(hs_progress_tell(options->progress, "opening the core", 0, 0, err));
    HS_TRY(hs_core_file_open(&core, &file, err));
    core.file = file;
    with_file.core = &core;
    hs_status status = native_dump(&with_file, ocaml, out, ret, err);
    hs_core_file_close(file);
    return status;
}

hs_status hs_dump_process(const struct hs_dump_options *options, struct hs_out *out,
                          struct hs_dump_report *ret, struct hs_error *err)
{
    return options->core != NULL ? native_dump_core(options, true, out, ret, err)
                                 : native_dump(options, true, out, ret, err);
}

hs_status hs_native_dump(const struct hs_dump_options *options, struct hs_out *out,
                         struct hs_dump_report *ret, struct hs_error *err)
{
    return options->core != NULL ? native_dump_core(options, false, out, ret, err)
                                 : native_dump(options, false, out, ret, err);
}
