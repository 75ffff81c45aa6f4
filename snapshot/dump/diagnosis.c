/* The checks above those of the target. */
#include "dump/diagnosis.h"
#include "base/append.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/spill.h"
#include "base/units.h"
#include "parts.h"
#include "process/dump_plan.h"
#include "process/unwind.h"
#include "symbols/dwarf_box.h"
#include "symbols/elf.h"
#include "symbols/lines.h"
#include "target/freeze.h"

enum { FOUND_BYTES = 384, NAMES_BYTES = 256, MISSING_BYTES = 320 };

static void __attribute__((format(printf, 5, 6)))
add(struct hs_diagnosis *d, const char *name, enum hs_verdict verdict, const char *hint,
    const char *format, ...)
{
    char found[FOUND_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(found, sizeof found, format, args);
    va_end(args);
    hs_diagnosis_add(d, name, verdict, found, hint);
}

/* A failure as a check. Out of memory stays one. */
static hs_status add_failure(struct hs_diagnosis *d, const char *name, const struct hs_error *err)
{
    if (err->status == HS_LIMIT)
        return HS_LIMIT;
    hs_diagnosis_add(d, name, HS_VERDICT_REFUSED, err->message, err->hint);
    return HS_OK;
}

/* ---- can its heap be read */

static bool has_library(const struct hs_objects *objects, const char *beginning)
{
    for (size_t i = 0; i < objects->n; i++)
        if (strncmp(objects->objects[i].name, beginning, strlen(beginning)) == 0)
            return true;
    return false;
}

/* The runtime with a heap of its own that serves the process; NULL: none. */
static const struct hs_runtime *own_heap(const struct hs_objects *objects)
{
    for (size_t i = 0; i < HS_N_RUNTIMES; i++)
        if (hs_runtimes[i]->has_own_heap && hs_runtimes[i]->serves(objects))
            return hs_runtimes[i];
    return NULL;
}

static hs_status check_own_heap(const struct hs_dump *dump, const struct hs_runtime *runtime,
                                struct hs_diagnosis *d, struct hs_error *err)
{
    char what[NAMES_BYTES], heap[NAMES_BYTES];

    if (runtime->describe(&dump->objects, what, heap, sizeof what, err) != HS_OK)
        return add_failure(d, "runtime", err);
    add(d, "runtime", HS_VERDICT_OK, NULL, "%s", what);
    add(d, "allocator", HS_VERDICT_OK, NULL, "%s", heap);
    return HS_OK;
}

static void check_runtime(struct hs_dump *dump, struct hs_diagnosis *d)
{
    const struct hs_process_copy process = {.target = &dump->target, .objects = &dump->objects};
    const struct hs_objects *objects = &dump->objects;
    char unread[NAMES_BYTES], hint[NAMES_BYTES];

    hs_heaps_recognise_runtimes(&process, dump->options->rules, 0, unread, sizeof unread);
    hs_heaps_join_names(unread, sizeof unread);
    const char *kind = hs_program_kind(objects), *own_dump = hs_unread_own_dump(unread);
    snprintf(hint, sizeof hint, "for its objects: %s", own_dump == NULL ? "" : own_dump);
    if (unread[0] == '\0')
        add(d, "runtime", HS_VERDICT_OK, NULL, "%s", kind);
    else
        add(d, "runtime", HS_VERDICT_WARNING, own_dump == NULL ? NULL : hint,
            "%s; %s: its heap is not supported yet, only the memory of malloc is read", kind,
            unread);
}

static void check_unbuilt(const struct hs_unbuilt_runtime *unbuilt, struct hs_diagnosis *d)
{
    char hint[NAMES_BYTES];

    snprintf(hint, sizeof hint, "build heapsnap with -D%s=ON", unbuilt->with);
    add(d, "runtime", unbuilt->has_own_heap ? HS_VERDICT_REFUSED : HS_VERDICT_WARNING, hint,
        "%s, and this heapsnap was built without the part %s", unbuilt->what, unbuilt->part);
}

/* Has another one than libc, or its loader, the malloc that the program calls? */
static bool is_malloc_replaced(const struct hs_objects *objects)
{
    struct hs_live_symbol symbol;

    for (size_t i = 0; i < objects->n; i++) {
        const struct hs_object *object = &objects->objects[i];
        if (hs_object_find(object, "malloc", &symbol) &&
            !hs_object_find(object, "__libc_start_main", &symbol) &&
            strncmp(object->name, "ld-", 3) != 0)
            return true;
    }
    return false;
}

/* Finds by names of libraries and symbols which supported allocators there are, as a set: a dump
 * finds them by their structure, which needs a copy. */
static uint64_t find_supported(const struct hs_objects *objects)
{
    struct hs_live_symbol symbol;
    uint64_t found = 0;

    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_allocator *a = hs_allocators[i];
        bool is_there = a->library != NULL && has_library(objects, a->library);
        for (size_t k = 0; !is_there && k < HS_ALLOCATOR_SYMBOLS && a->symbols[k] != NULL; k++)
            is_there = hs_objects_find(objects, a->symbols[k], &symbol);
        found |= (uint64_t)is_there << i;
    }
    return found;
}

static void list_supported(uint64_t found, char *text, size_t n_bytes)
{
    text[0] = '\0';
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if ((found >> i & 1) != 0)
            hs_append_item(text, n_bytes, ", ", hs_allocators[i]->known_as);
}

static void check_allocator(struct hs_dump *dump, struct hs_diagnosis *d)
{
    const struct hs_process_copy process = {.target = &dump->target, .objects = &dump->objects};
    char known[NAMES_BYTES], other[NAMES_BYTES];
    uint64_t supported = find_supported(&dump->objects);

    hs_heaps_recognise(&process, dump->options->rules, supported, other, sizeof other);
    if (other[0] != '\0' && is_malloc_replaced(&dump->objects))
        supported &= ~HS_ALLOCATOR_BIT(glibc);
    list_supported(supported, known, sizeof known);
    hs_heaps_join_names(other, sizeof other);
    if (other[0] != '\0')
        add(d, "allocator", known[0] != '\0' ? HS_VERDICT_WARNING : HS_VERDICT_REFUSED,
            "supported are glibc, jemalloc, mimalloc 2, tcmalloc, CPython's, and what register.h "
            "registers",
            "%s: recognised, not supported yet%s%s", other, known[0] != '\0' ? "; also seen: " : "",
            known);
    else if (known[0] != '\0')
        add(d, "allocator", HS_VERDICT_OK, NULL, "%s", known);
    else
        add(d, "allocator", HS_VERDICT_UNKNOWN,
            "a dump looks for allocators by their structure, and says when it finds none",
            "none is known by name");
}

/* ---- how it would be stopped */

/* The longest pause that dump allows unless told otherwise. */
#define DIAGNOSIS_MAX_PAUSE_NS ((uint64_t)2000000000)

static hs_status check_stop(struct hs_dump *dump, struct hs_diagnosis *d, struct hs_error *err)
{
    struct hs_copy_outlook outlook;
    char pause[HS_FORESEEN_TEXT_BYTES], reading[HS_FORESEEN_TEXT_BYTES];
    char size[HS_UNIT_TEXT_BYTES];

    if (hs_copy_foresee(&dump->target, &outlook, err) != HS_OK)
        return add_failure(d, "stop", err);
    hs_foreseen_text(outlook.copy_pause_ns, outlook.copy_busy_ns, pause, sizeof pause);
    hs_foreseen_text(outlook.read_pause_ns, outlook.read_busy_ns, reading, sizeof reading);
    hs_format_bytes(outlook.resident_bytes, size);
    if (outlook.variant != HS_COPY_NONE)
        add(d, "stop", HS_VERDICT_OK, NULL,
            "for %s, until a frozen copy of its %s is made%s; reading them would take %s", pause,
            size, outlook.variant == HS_COPY_DIRECT ? " (directly: it would get the orphan)" : "",
            reading);
    else
        add(d, "stop",
            outlook.read_pause_ns > DIAGNOSIS_MAX_PAUSE_NS ? HS_VERDICT_WARNING : HS_VERDICT_OK,
            outlook.read_pause_ns > DIAGNOSIS_MAX_PAUSE_NS
                ? "longer than --max-pause allows (2s): give more, or take a core for --core"
                : NULL,
            "for %s, until its %s are read; no copy of it can be made: %s", reading, size,
            outlook.why);
    return HS_OK;
}

/* ---- what the dump needs */

static hs_status check_memory(struct hs_dump *dump, struct hs_diagnosis *d, struct hs_error *err)
{
    const struct hs_budget *budget = dump->options->budget;
    char copy[HS_UNIT_TEXT_BYTES], needs_text[HS_UNIT_TEXT_BYTES], has[HS_UNIT_TEXT_BYTES];
    struct hs_dump_needs needs;
    struct hs_dump_load load;
    struct hs_dump_wants wants = {.has_types = !dump->options->no_names};
    uint64_t left = hs_budget_left_bytes(budget);

    for (size_t i = 0; i < HS_N_RUNTIMES; i++)
        if (hs_runtimes[i]->serves(&dump->objects))
            hs_runtime_wants(hs_runtimes[i], &wants);
    if (hs_dump_load_read(&dump->target, &dump->objects, budget, &wants, &load, err) != HS_OK)
        return add_failure(d, "memory", err);
    hs_dump_foresee(budget, &load, &needs);
    hs_format_bytes(load.copy_bytes, copy);
    hs_format_bytes(needs.spills ? needs.least_bytes : needs.seen_bytes, needs_text);
    hs_format_bytes(left, has);
    struct hs_error refused = HS_ERROR_INIT;
    if (hs_dump_refuse(budget, &load, &refused) != HS_OK) {
        hs_diagnosis_add(d, "memory", HS_VERDICT_REFUSED, refused.message, refused.hint);
        return HS_OK;
    }
    add(d, "memory", HS_VERDICT_OK, NULL, "%s to copy, which takes %s%s%s%s", copy, needs_text,
        needs.spills ? " with the copy in a temporary file" : "",
        left == UINT64_MAX ? "" : "; allowed are ", left == UINT64_MAX ? "" : has);
    const char *directory = hs_spill_directory(budget);
    if (!needs.spills)
        add(d, "disk", HS_VERDICT_OK, NULL,
            "nothing but the snapshot goes to a disk, and for a while the pointers of blocks with "
            "more than a million");
    else if (hs_disk_need(directory, load.copy_bytes, err) != HS_OK)
        return add_failure(d, "disk", err);
    else
        add(d, "disk", HS_VERDICT_OK, NULL, "%s for a while in '%s', which has the room", copy,
            directory);
    return HS_OK;
}

/* ---- names and stacks */

static void check_binaries(struct hs_dump *dump, struct hs_diagnosis *d)
{
    const struct hs_objects *objects = &dump->objects;
    char first[MISSING_BYTES], more[48] = "";
    size_t n_missing = 0;

    while (hs_objects_missing(objects, n_missing, first, sizeof first))
        n_missing++;
    if (n_missing == 0) {
        add(d, "binaries", HS_VERDICT_OK, NULL,
            "%zu files with code, all readable and of the build that was loaded", objects->n);
        return;
    }
    (void)hs_objects_missing(objects, 0, first, sizeof first);
    if (n_missing > 1)
        snprintf(more, sizeof more, "; and %zu more", n_missing - 1);
    add(d, "binaries", HS_VERDICT_WARNING,
        geteuid() != 0
            ? "run heapsnap as root to read files that were deleted or are hidden; their debug "
              "files are found by build-id either way"
            : "what is read from memory has no local names but those of its debug file, which is "
              "found by build-id (--debug-path)",
        "%s%s", first, more);
}

static void check_debug_info(struct hs_dump *dump, struct hs_diagnosis *d)
{
    const struct hs_objects *objects = &dump->objects;
    const char *id = hs_elf_build_id(objects->objects[0].elf);
    size_t n_types = 0;
    bool program_has = false;

    for (size_t i = 0; i < objects->n; i++) {
        const struct hs_object *object = &objects->objects[i];
        bool has = hs_dwarf_present(object->elf) ||
                   (object->debug != NULL && hs_dwarf_present(object->debug));
        n_types += has;
        program_has |= has && object->is_executable;
    }
    if (program_has) {
        add(d, "debug_info", HS_VERDICT_OK, NULL,
            "the program has debug information, as %zu of %zu files have", n_types, objects->n);
        return;
    }
    add(d, "debug_info", HS_VERDICT_WARNING,
        "install the package of its debug files (Debian: PACKAGE-dbgsym), or give --debug-path, "
        "or name a symbol server in DEBUGINFOD_URLS",
        "'%s' has no debug information, %zu of %zu files have: names of types and local variables "
        "are missing (build-id %s)",
        objects->objects[0].name, n_types, objects->n, id[0] != '\0' ? id : "unknown");
}

static void check_unwind(struct hs_dump *dump, struct hs_diagnosis *d)
{
    struct hs_objects *objects = &dump->objects;
    const char *first = NULL;
    char how[HS_DWARF_BOX_HOW_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < objects->n; i++) {
        if (hs_unwind_cfi(objects, &objects->objects[i]) != NULL)
            continue;
        first = first == NULL ? objects->objects[i].name : first;
        n++;
    }
    hs_dwarf_box_how(objects->box, how);
    if (hs_dwarf_box_n_notes(objects->box) != 0)
        add(d, "unwind", HS_VERDICT_WARNING,
            "see that heapsnap-dwarf is installed beside heapsnap and may confine itself (capset, "
            "seccomp); the rest of a dump is sound",
            "%s", hs_dwarf_box_note(objects->box, 0));
    else if (n == 0)
        add(d, "unwind", HS_VERDICT_OK, NULL,
            "all %zu files have frame tables; their reader is "
            "%s%s",
            objects->n, how[0] != '\0' ? "a process confined: " : "not confined", how);
    else
        add(d, "unwind", HS_VERDICT_WARNING,
            "link it with -Wl,--eh-frame-hdr, and compile it with -fasynchronous-unwind-tables",
            "%zu of %zu files have no frame tables ('%s'%s): stacks are read without names from "
            "there on",
            n, objects->n, first, n > 1 ? ", ..." : "");
}

/* ---- all */

static hs_status check_opened(struct hs_dump *dump, struct hs_diagnosis *d, struct hs_error *err)
{
    HS_TRY(hs_dump_find_programs(dump, err));
    if (hs_objects_open(&dump->objects, &dump->target, err) != HS_OK)
        return add_failure(d, "binaries", err);
    const struct hs_runtime *runtime = own_heap(&dump->objects);
    const struct hs_unbuilt_runtime *unbuilt = hs_unbuilt_runtime(&dump->objects);
    if (unbuilt != NULL) {
        check_unbuilt(unbuilt, d);
        check_allocator(dump, d);
    } else if (runtime != NULL) {
        HS_TRY(check_own_heap(dump, runtime, d, err));
    } else {
        check_runtime(dump, d);
        check_allocator(dump, d);
    }
    HS_TRY(check_stop(dump, d, err));
    HS_TRY(hs_dump_find_debug(dump, err));
    HS_TRY(check_memory(dump, d, err));
    check_binaries(dump, d);
    check_debug_info(dump, d);
    check_unwind(dump, d);
    return HS_OK;
}

hs_status hs_diagnose_dump(const struct hs_dump_options *options, struct hs_diagnosis *ret,
                           struct hs_error *err)
{
    struct hs_dump dump = {.options = options};
    struct hs_diagnosis diagnosis;

    HS_TRY(hs_diagnose(options->pid, &diagnosis, err));
    if (hs_diagnosis_refusal(&diagnosis) != NULL) {
        *ret = diagnosis;
        return HS_OK;
    }
    hs_status status = hs_dump_open(options, &dump.target, err);
    if (status == HS_OK)
        status = check_opened(&dump, &diagnosis, err);
    else /* it has changed since */
        status = add_failure(&diagnosis, "process", err);
    hs_dump_fini(&dump);
    if (status == HS_OK)
        *ret = diagnosis;
    return status;
}
