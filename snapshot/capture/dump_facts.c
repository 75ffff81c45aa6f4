/* The facts of a snapshot: which process, which files, how it was read, what is missing. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "dump_session.h"
#include "symbols/elf.h"
#include "symbols/lines.h"

static hs_status facts_binaries(struct hs_dump_session *s, struct hs_error *err)
{
    void *array;

    HS_TRY(hs_alloc(s->objects.n, sizeof *s->binaries, &array, err));
    s->binaries = array;
    for (size_t i = 0; i < s->objects.n; i++) {
        const struct hs_object *object = &s->objects.objects[i];
        struct hs_binary *binary = &s->binaries[i];
        HS_TRY(hs_strtab_add(&s->strings, object->path, &binary->path, err));
        HS_TRY(hs_strtab_add(&s->strings, hs_elf_build_id(object->elf), &binary->build_id, err));
        binary->begin = object->begin;
        binary->has_symtab = hs_elf_has_symtab(object->elf);
        binary->has_debug_info = hs_dwarf_present(object->elf);
    }
    s->facts.binaries = s->binaries;
    s->facts.n_binaries = s->objects.n;
    return HS_OK;
}

static hs_status facts_unreadable(struct hs_dump_session *s, struct hs_error *err)
{
    void *array;

    HS_TRY(hs_alloc(s->image.n_gaps, sizeof *s->unreadable, &array, err));
    s->unreadable = array;
    for (size_t i = 0; i < s->image.n_gaps; i++)
        s->unreadable[i] = (struct hs_range){s->image.gaps[i].begin, s->image.gaps[i].end};
    s->facts.unreadable = s->unreadable;
    s->facts.n_unreadable = s->image.n_gaps;
    return HS_OK;
}

hs_status hs_dump_facts(struct hs_dump_session *s, struct hs_error *err)
{
    HS_TRY(hs_strtab_add(&s->strings, "ocaml", &s->runtime.name, err));
    HS_TRY(hs_strtab_add(&s->strings, s->rt.version, &s->runtime.version, err));
    s->runtime.certainty = HS_EXACT;
    for (size_t i = 0; i < s->roots.roots.n_leaves; i++) {
        if (s->roots.roots.leaves[i].root.certainty == HS_CONSERVATIVE)
            s->runtime.certainty = HS_CONSERVATIVE;
    }
    s->facts = (struct hs_snap_facts){.word_bytes = HS_WORD,
                                      .pid = (uint32_t)s->target.pid,
                                      .pause_ns = s->target.pause_ns,
                                      .read_bytes = s->target.read_bytes,
                                      .n_stop_attempts = s->n_attempts,
                                      .runtimes = &s->runtime,
                                      .n_runtimes = 1,
                                      .proofs = s->rt.proofs,
                                      .n_proofs = s->rt.n_proofs,
                                      .notes = s->rt.notes,
                                      .n_notes = s->rt.n_notes};
    if (s->target.was_stopped_already)
        s->facts.pause_ns = 0; /* it would have stood still without us */
    HS_TRY(hs_strtab_add(&s->strings, s->target.command, &s->facts.command, err));
    HS_TRY(hs_strtab_add(&s->strings, s->options->tool_version, &s->facts.tool_version, err));
    HS_TRY(facts_binaries(s, err));
    return facts_unreadable(s, err);
}

void hs_dump_summary(const struct hs_dump_session *s, struct hs_dump_report *report)
{
    size_t n = 0;

    report->note[0] = '\0';
    report->is_exact = true;
    for (size_t i = 0; i < s->rt.n_notes; i++) {
        if (!s->rt.notes[i].is_gap)
            continue;
        report->is_exact = false;
        int more = snprintf(report->note + n, sizeof report->note - n, "%s%s", n == 0 ? "" : "; ",
                            hs_strtab_get(&s->strings, s->rt.notes[i].text));
        if (more < 0 || n + (size_t)more >= sizeof report->note)
            break;
        n += (size_t)more;
    }
    report->pause_ns = s->facts.pause_ns;
    report->read_bytes = s->facts.read_bytes;
    report->n_stop_attempts = s->n_attempts;
}
