/* The facts of a snapshot: which process, which files, how it was read, what is missing. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "runtimes/dump.h"
#include "symbols/elf.h"
#include "symbols/lines.h"

#define NS_PER_S UINT64_C(1000000000)
enum { MISSING_NOTE_BYTES = 640, MISSING_NOTES_MAX = 64 };

/* Returns the path of a file by the name that the program goes by, where a link beside it has that
 * name: /usr/bin/redis-server, which is a link to redis-check-rdb. Else its own. */
static const char *facts_called(const struct hs_object *object, char *text, size_t n_bytes)
{
    const char *slash = strrchr(object->path, '/');
    struct stat file, link;

    if (!object->is_executable || slash == NULL || strcmp(slash + 1, object->name) == 0 ||
        snprintf(text, n_bytes, "%.*s%s", (int)(slash + 1 - object->path), object->path,
                 object->name) >= (int)n_bytes ||
        stat(object->path, &file) != 0 || stat(text, &link) != 0 || file.st_dev != link.st_dev ||
        file.st_ino != link.st_ino)
        return object->path;
    return text;
}

static hs_status facts_binary(const struct hs_object *object, struct hs_strtab *strings,
                              struct hs_binary *binary, struct hs_error *err)
{
    char path[PATH_MAX];

    HS_TRY(hs_strtab_add(strings, facts_called(object, path, sizeof path), &binary->path, err));
    HS_TRY(hs_strtab_add(strings, hs_elf_build_id(object->elf), &binary->build_id, err));
    binary->begin = object->begin;
    binary->has_symtab = hs_elf_has_symtab(object->elf);
    binary->has_debug_info = hs_dwarf_present(object->elf);
    if (object->debug == NULL)
        return HS_OK;
    binary->has_symtab |= hs_elf_has_symtab(object->debug);
    binary->has_debug_info |= hs_dwarf_present(object->debug);
    return hs_strtab_add(strings, hs_elf_name(object->debug), &binary->debug_file, err);
}

hs_status hs_dump_list_binaries(struct hs_dump *dump, struct hs_binary **ret, struct hs_error *err)
{
    const struct hs_objects *objects = &dump->objects;
    hs_auto_free struct hs_binary *binaries = NULL;

    HS_TRY(HS_ALLOC(&binaries, objects->n, err));
    for (size_t i = 0; i < objects->n; i++)
        HS_TRY(facts_binary(&objects->objects[i], &dump->strings, &binaries[i], err));
    *ret = HS_STEAL(binaries);
    return HS_OK;
}

hs_status hs_dump_list_unreadable(const struct hs_image *image, struct hs_range **ret,
                                  struct hs_error *err)
{
    struct hs_range *ranges;
    HS_TRY(HS_ALLOC(&ranges, image->n_gaps, err));
    for (size_t i = 0; i < image->n_gaps; i++)
        ranges[i] = (struct hs_range){image->gaps[i].begin, image->gaps[i].end};
    *ret = ranges;
    return HS_OK;
}

static_assert((int)HS_WAY_READ == (int)HS_SNAP_WAY_READ &&
                  (int)HS_WAY_COPY == (int)HS_SNAP_WAY_COPY &&
                  (int)HS_WAY_CORE == (int)HS_SNAP_WAY_CORE &&
                  (int)HS_WAY_STOPPED == (int)HS_SNAP_WAY_STOPPED,
              "the format's numbers");

static bool facts_clock(clockid_t clock, uint64_t *ret_ns)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0 || now.tv_sec < 0)
        return false;
    *ret_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    return true;
}

/* Returns the nanoseconds since 1970 at which `clock` stood at ns; 0: not known. */
static uint64_t facts_since_1970(clockid_t clock, uint64_t ns)
{
    uint64_t now_ns, clock_ns;

    if (ns == 0 || !facts_clock(clock, &clock_ns) || !facts_clock(CLOCK_REALTIME, &now_ns))
        return 0;
    if (ns > clock_ns || clock_ns - ns > now_ns)
        return 0;
    return now_ns - (clock_ns - ns);
}

/* Sets the times of the stop and of the process's begin; of a core neither is known. The kernel
 * counts the latter in ticks since boot, with the time that the machine slept. */
static void facts_times(const struct hs_target *target, struct hs_snap_facts *facts)
{
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    uint64_t started_ns;

    if (target->core != NULL)
        return;
    facts->taken_ns = facts_since_1970(CLOCK_MONOTONIC, target->stopped_at_ns);
    if (ticks_per_s <= 0)
        return;
    uint64_t tick_ns = NS_PER_S / (uint64_t)ticks_per_s;
    if (!hs_mul_fits(target->identity.start_time, tick_ns, &started_ns))
        return;
    /* to a tick, so that all dumps of one process say the same */
    started_ns = facts_since_1970(CLOCK_BOOTTIME, started_ns);
    facts->started_ns = (started_ns + tick_ns / 2) / tick_ns * tick_ns;
}

static hs_status facts_stop(struct hs_dump *dump, struct hs_snap_facts *facts, struct hs_error *err)
{
    const struct hs_target *target = &dump->target;
    const struct hs_stop_report *report = &target->report;

    /* one that its user had stopped would have stood still without us */
    facts->pause_ns = target->was_stopped_already ? 0 : target->pause_ns;
    facts->stop_way = report->way;
    facts->predicted_ns = facts->pause_ns == 0 ? 0 : report->predicted_ns;
    facts->growth_bytes = report->growth_bytes;
    facts_times(target, facts);
    if (report->why_no_copy[0] == '\0')
        return HS_OK;
    return hs_strtab_add(&dump->strings, report->why_no_copy, &facts->why_no_copy, err);
}

hs_status hs_dump_own_facts(struct hs_dump *dump, struct hs_snap_facts *facts, struct hs_error *err)
{
    facts->word_bytes = HS_WORD_BYTES;
    facts->pid = (uint32_t)dump->target.pid;
    facts->read_bytes = dump->target.read_bytes;
    facts->n_stop_attempts = dump->n_stops;
    HS_TRY(facts_stop(dump, facts, err));
    HS_TRY(hs_strtab_add(&dump->strings, dump->target.command, &facts->command, err));
    return hs_strtab_add(&dump->strings, dump->options->tool_version, &facts->tool_version, err);
}

hs_status hs_dump_note_missing(const struct hs_dump *dump, struct hs_findings *findings,
                               struct hs_error *err)
{
    char text[MISSING_NOTE_BYTES];

    for (size_t i = 0;
         i < MISSING_NOTES_MAX && hs_objects_missing(&dump->objects, i, text, sizeof text); i++)
        HS_TRY(hs_findings_note(findings, false, err, "%s", text));
    return HS_OK;
}
