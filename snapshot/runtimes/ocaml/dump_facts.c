/* The facts of a snapshot: which process, which files, how it was read, what is missing. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "dump_session.h"
#include "symbols/elf.h"
#include "symbols/lines.h"

#define NS_PER_S UINT64_C(1000000000)

static hs_status facts_binary(const struct hs_object *object, struct hs_strtab *strings,
                              struct hs_binary *binary, struct hs_error *err)
{
    HS_TRY(hs_strtab_add(strings, object->path, &binary->path, err));
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

hs_status hs_dump_list_binaries(const struct hs_objects *objects, struct hs_strtab *strings,
                                struct hs_binary **ret, struct hs_error *err)
{
    hs_auto_free struct hs_binary *binaries = NULL;
    void *array;

    HS_TRY(hs_alloc(objects->n, sizeof *binaries, &array, err));
    binaries = array;
    for (size_t i = 0; i < objects->n; i++)
        HS_TRY(facts_binary(&objects->objects[i], strings, &binaries[i], err));
    *ret = HS_STEAL(binaries);
    return HS_OK;
}

hs_status hs_dump_list_unreadable(const struct hs_image *image, struct hs_range **ret,
                                  struct hs_error *err)
{
    void *array;

    HS_TRY(hs_alloc(image->n_gaps, sizeof **ret, &array, err));
    struct hs_range *ranges = array;
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

/* Since 1970: when `clock` stood at ns. 0: not known. */
static uint64_t facts_since_1970(clockid_t clock, uint64_t ns)
{
    uint64_t now_ns, clock_ns;

    if (ns == 0 || !facts_clock(clock, &clock_ns) || !facts_clock(CLOCK_REALTIME, &now_ns))
        return 0;
    if (ns > clock_ns || clock_ns - ns > now_ns)
        return 0;
    return now_ns - (clock_ns - ns);
}

/* When it was stopped and when it began; of a core neither is known. The kernel counts the latter
 * in ticks since boot, with the time that the machine slept. */
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

hs_status hs_dump_stop_facts(const struct hs_target *target, struct hs_strtab *strings,
                             struct hs_snap_facts *facts, struct hs_error *err)
{
    const struct hs_stop_report *report = &target->report;

    /* one that its user had stopped would have stood still without us */
    facts->pause_ns = target->was_stopped_already ? 0 : target->pause_ns;
    facts->stop_way = report->way;
    facts->predicted_ns = facts->pause_ns == 0 ? 0 : report->predicted_ns;
    facts->growth_bytes = report->growth_bytes;
    facts_times(target, facts);
    if (report->why_no_copy[0] == '\0')
        return HS_OK;
    return hs_strtab_add(strings, report->why_no_copy, &facts->why_no_copy, err);
}

hs_status hs_dump_facts(struct hs_dump_session *s, struct hs_error *err)
{
    HS_TRY(hs_strtab_add(s->strings, "ocaml", &s->runtime.name, err));
    HS_TRY(hs_strtab_add(s->strings, s->rt.version, &s->runtime.version, err));
    s->runtime.certainty = HS_EXACT;
    for (size_t i = 0; i < s->roots.roots.n_leaves; i++) {
        if (s->roots.roots.leaves[i].root.certainty == HS_CONSERVATIVE)
            s->runtime.certainty = HS_CONSERVATIVE;
    }
    s->facts = (struct hs_snap_facts){.word_bytes = HS_WORD,
                                      .pid = (uint32_t)s->target->pid,
                                      .read_bytes = s->target->read_bytes,
                                      .n_stop_attempts = s->n_attempts,
                                      .runtimes = &s->runtime,
                                      .n_runtimes = 1,
                                      .proofs = s->rt.findings.proofs,
                                      .n_proofs = s->rt.findings.n_proofs,
                                      .notes = s->rt.findings.notes,
                                      .n_notes = s->rt.findings.n_notes};
    if (s->roots.n_samples != 0) {
        s->sampler =
            (struct hs_sampler){.kind = HS_SAMPLER_MEMPROF, .period_words = s->roots.period_words};
        s->facts.samplers = &s->sampler;
        s->facts.n_samplers = 1;
    }
    HS_TRY(hs_dump_stop_facts(s->target, s->strings, &s->facts, err));
    HS_TRY(hs_strtab_add(s->strings, s->target->command, &s->facts.command, err));
    HS_TRY(hs_strtab_add(s->strings, s->options->tool_version, &s->facts.tool_version, err));
    HS_TRY(hs_dump_list_binaries(s->objects, s->strings, &s->binaries, err));
    s->facts.binaries = s->binaries;
    s->facts.n_binaries = s->objects->n;
    HS_TRY(hs_dump_list_unreadable(s->image, &s->unreadable, err));
    s->facts.unreadable = s->unreadable;
    s->facts.n_unreadable = s->image->n_gaps;
    return HS_OK;
}

void hs_dump_summarise(const struct hs_snap_facts *facts, const struct hs_strtab *strings,
                       struct hs_dump_report *ret)
{
    size_t n = 0;

    ret->note[0] = '\0';
    ret->is_exact = true;
    for (size_t i = 0; i < facts->n_notes; i++) {
        if (!facts->notes[i].is_gap)
            continue;
        ret->is_exact = false;
        int more = snprintf(ret->note + n, sizeof ret->note - n, "%s%s", n == 0 ? "" : "; ",
                            hs_strtab_get(strings, facts->notes[i].text));
        if (more < 0 || n + (size_t)more >= sizeof ret->note)
            break;
        n += (size_t)more;
    }
    ret->pause_ns = facts->pause_ns;
    ret->read_bytes = facts->read_bytes;
    ret->n_stop_attempts = facts->n_stop_attempts;
}
