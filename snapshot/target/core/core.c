/* A core file as a target. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "core_private.h"
#include "target_private.h"

void hs_core_close(struct hs_core *core)
{
    if (core == NULL)
        return;
    hs_core_binaries_fini(core);
    if (core->owns_file)
        hs_core_file_close((struct hs_core_file *)core->file);
    hs_free(core->segments);
    hs_free(core->notes);
    hs_free(core->rows);
    hs_free(core->paths);
    hs_free(core->sources);
    hs_free(core->buffer);
    hs_free(core->exe);
    hs_free(core->sysroot);
    hs_free(core);
}

static hs_status core_copy_options(struct hs_core *core, const struct hs_core_options *options,
                                   struct hs_error *err)
{
    if (options->exe != NULL)
        HS_TRY(hs_strdup(options->exe, &core->exe, err));
    if (options->sysroot != NULL)
        HS_TRY(hs_strdup(options->sysroot, &core->sysroot, err));
    core->file = options->file;
    if (core->file != NULL)
        return HS_OK;
    struct hs_core_file *file;
    HS_TRY(hs_core_file_open(options, &file, err));
    core->file = file;
    core->owns_file = true;
    return HS_OK;
}

static hs_status core_fill(const struct hs_core_options *options, struct hs_target *target,
                           struct hs_error *err)
{
    void *memory;

    HS_TRY(hs_alloc(1, sizeof *target->core, &memory, err));
    struct hs_core *core = target->core = memory;
    core->program = HS_CORE_NONE;
    HS_TRY(HS_ALLOC(&core->buffer, HS_CORE_BUFFER_BYTES, err));
    HS_TRY(core_copy_options(core, options, err));
    HS_TRY(hs_core_read_headers(core, err));
    HS_TRY(hs_core_read_notes(core, target, err));
    HS_TRY(hs_core_make_mappings(core, target, err));
    HS_TRY(hs_core_check_exe(core, err));
    HS_TRY(hs_core_take_command(target, err));
    target->uid = core->file->uid;
    target->gid = core->file->gid;
    target->identity.exe_inode = core->program != HS_CORE_NONE ? (uint64_t)core->program + 1 : 0;
    target->was_stopped_already = true;
    target->report.way = HS_WAY_CORE;
    return HS_OK;
}

hs_status hs_core_open(const struct hs_core_options *options, struct hs_target *ret,
                       struct hs_error *err)
{
    struct hs_target target = {.pidfd = -1, .live = HS_MEMORY_INIT};
    hs_status status = core_fill(options, &target, err);

    if (status != HS_OK) {
        hs_core_close(target.core);
        hs_process_close(&target);
        return status;
    }
    *ret = target;
    return HS_OK;
}

/* ---- what is missing ---- */

struct core_note {
    char *text;
    size_t n, capacity;
};

__attribute__((format(printf, 2, 3))) static void note_add(struct core_note *note,
                                                           const char *format, ...)
{
    va_list args;
    size_t room = note->capacity - note->n, begin = note->n;

    if (note->n != 0)
        note->n += (size_t)snprintf(note->text + note->n, room, "; ");
    if (note->n >= note->capacity)
        note->n = note->capacity - 1;
    va_start(args, format);
    int n = vsnprintf(note->text + note->n, note->capacity - note->n, format, args);
    va_end(args);
    if (n > 0)
        note->n += (size_t)n;
    if (note->n >= note->capacity)
        note->n = note->capacity - 1;
    for (char *c = note->text + begin; *c != '\0'; c++) /* a path may hold any bytes: one line */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

/* Notes the files that were wanted and not to be had, and a program that is taken on trust. Why
 * each could not be had is told by whoever wanted it. */
static void note_binaries(struct core_note *note, const struct hs_core *core)
{
    const char *first = NULL;
    size_t n = 0;

    for (uint32_t i = 0; i < core->n_binaries; i++) {
        const struct hs_core_binary *b = &core->binaries[i];
        if (b->proof == HS_CORE_BELIEVED)
            note_add(note, "'%.80s' is taken on trust: the core has nothing to compare it with",
                     core->exe);
        if (!b->is_wanted || b->proof < HS_CORE_MISSING || b->proof > HS_CORE_UNPROVEN)
            continue;
        if (first == NULL || i == core->program)
            first = hs_core_path(core, i);
        n++;
    }
    if (n == 1)
        note_add(note, "'%.80s' is not to be had, its names are missing (--exe, --sysroot)", first);
    else if (n != 0)
        note_add(note,
                 "%zu files are not to be had, their names are missing (--exe, --sysroot): "
                 "'%.80s' and others",
                 n, first);
}

const char *hs_core_note(const struct hs_target *target)
{
    struct hs_core *core = target->core;
    struct core_note note = {core->note, 0, sizeof core->note};
    char size[HS_UNIT_TEXT_BYTES];

    core->note[0] = '\0';
    if (core->n_lost_bytes != 0 || core->file->is_cut) {
        hs_format_bytes(core->n_lost_bytes, size);
        note_add(&note, "the core is cut: %s of memory are missing", size);
    }
    if (core->is_unread)
        note_add(&note, "the core cannot be read in places: its file system failed, or it was cut");
    if (core->n_damaged != 0)
        note_add(&note, "the core is damaged: %llu of its headers and notes make no sense",
                 (unsigned long long)core->n_damaged);
    if (core->lacks_anonymous)
        note_add(&note, "the core was written without private memory (coredump_filter)");
    note_binaries(&note, core);
    return core->note;
}

/* ---- files ---- */

/* Returns the number of the binary that is mapped there; HS_CORE_NONE: none. */
static uint32_t core_binary_of(const struct hs_target *target, const struct hs_mapping *mapping)
{
    const struct hs_core *core = target->core;

    if (mapping->inode == 0 || mapping->inode > core->n_binaries)
        return HS_CORE_NONE;
    return (uint32_t)(mapping->inode - 1);
}

hs_status hs_core_file_path(const struct hs_target *target, const struct hs_mapping *mapping,
                            char *path, size_t path_bytes, struct hs_error *err)
{
    struct hs_core *core = target->core;
    uint32_t binary = core_binary_of(target, mapping);

    if (binary != HS_CORE_NONE)
        core->binaries[binary].is_wanted = true;
    else
        return hs_fail(err, HS_TARGET, "no file is mapped at 0x%llx",
                       (unsigned long long)mapping->begin);
    if (hs_core_binary_open(core, binary)) {
        const char *found = core->binaries[binary].known->path;
        if (strlen(found) >= path_bytes)
            return hs_fail(err, HS_LIMIT, "cannot keep the path of '%s': too long", found);
        memcpy(path, found, strlen(found) + 1);
        return HS_OK;
    }
    const struct hs_core_known *known = core->binaries[binary].known;
    const char *mapped = hs_core_path(core, binary);
    if (core->binaries[binary].proof == HS_CORE_OTHER && known != NULL)
        (void)hs_fail(err, HS_TARGET,
                      "cannot use '%.100s': it is another build (build-id %s, the core's is %s)",
                      mapped, known->found_id[0] != '\0' ? known->found_id : "none",
                      known->wanted_id[0] != '\0' ? known->wanted_id : "none");
    else if (core->binaries[binary].proof == HS_CORE_UNPROVEN)
        (void)hs_fail(err, HS_TARGET, "cannot tell whether '%.200s' is what was mapped", mapped);
    else
        (void)hs_fail(err, HS_TARGET, "cannot find '%.200s', which the core names", mapped);
    return binary == core->program
               ? hs_hint(err, "name the program by --exe FILE, or where its files are by "
                              "--sysroot DIR")
               : hs_hint(err, "name the directory with the files of its system by --sysroot DIR");
}

const char *hs_core_sysroot(const struct hs_target *target)
{
    return target->core->sysroot != NULL ? target->core->sysroot : "";
}

static const char *core_binary_path(struct hs_core *core, uint32_t binary)
{
    if (binary == HS_CORE_NONE || !hs_core_binary_open(core, binary))
        return NULL;
    return core->binaries[binary].known->path;
}

const char *hs_core_found_path(const struct hs_target *target, hs_addr address)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(target, address);
    return mapping != NULL ? core_binary_path(target->core, core_binary_of(target, mapping)) : NULL;
}

const char *hs_core_program_path(const struct hs_target *target)
{
    return core_binary_path(target->core, target->core->program);
}
