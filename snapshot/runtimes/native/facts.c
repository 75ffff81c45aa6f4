#include "facts.h"

#include "base/alloc.h"
#include "rule_lines.h"
#include "rules/rules.h"
#include "symbols/elf.h"
#include "symbols/lines.h"
#include "target/core.h"

enum { NOTE_BYTES = 128, RULES_BYTES = 480 }; /* a note has 512 */

hs_status hs_native_list_allocators(struct hs_native *native, struct hs_native_allocators *ret,
                                    struct hs_error *err)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_allocator *allocator = hs_allocators[i];
        const void *state = native->dump->heaps.states[i];
        if (state == NULL || allocator->has_no_blocks)
            continue;
        struct hs_runtime_fact *fact = &ret->facts[ret->n++];
        fact->certainty = HS_CONSERVATIVE; /* words are taken for pointers */
        HS_TRY(hs_strtab_add(&native->dump->strings, allocator->name, &fact->name, err));
        HS_TRY(
            hs_strtab_add(&native->dump->strings, allocator->version(state), &fact->version, err));
    }
    return HS_OK;
}

/* Notes that the program has no debug information, and how to get it. */
static hs_status facts_note_names(struct hs_native *native, struct hs_error *err)
{
    const struct hs_object *program = &native->dump->objects.objects[0];
    bool has_types = hs_dwarf_present(program->elf) ||
                     (program->debug != NULL && hs_dwarf_present(program->debug));

    if (native->dump->options->no_names || has_types)
        return HS_OK;
    return hs_findings_note(&native->dump->findings, false, err,
                            "'%s' has no debug information: fields and types of C are unknown; "
                            "install its debug package, give --debug-path, or name a symbol "
                            "server in DEBUGINFOD_URLS",
                            program->name);
}

static hs_status facts_note_effort(struct hs_native *native, const struct hs_elf *elf,
                                   const char *path, struct hs_error *err)
{
    if (elf == NULL || !hs_elf_asked_too_much(elf))
        return HS_OK;
    return hs_findings_note(&native->dump->findings, true, err,
                            "names of '%s' are incomplete: it claims more than its bytes on the "
                            "disk can hold",
                            path);
}

static hs_status facts_note_types(struct hs_native *native, const struct hs_flow *flow,
                                  struct hs_error *err)
{
    HS_TRY(facts_note_names(native, err));
    HS_TRY(hs_dump_note_missing(native->dump, &native->dump->findings, err));
    for (size_t i = 0; i < native->dump->n_debug_notes; i++)
        HS_TRY(
            hs_findings_note(&native->dump->findings, false, err, "%s",
                             hs_strtab_get(&native->dump->strings, native->dump->debug_notes[i])));
    if (flow->n_typed != 0)
        HS_TRY(hs_findings_note(
            &native->dump->findings, false, err,
            "types: %llu of %llu blocks have one (%llu by run-time types of C++ or GObject, %llu "
            "by the shape of containers, %llu Python objects)",
            (unsigned long long)flow->n_typed, (unsigned long long)flow->n_blocks,
            (unsigned long long)flow->n_by_rtti, (unsigned long long)flow->n_by_shape,
            (unsigned long long)flow->n_by_interpreter));
    if (native->ctypes != NULL && hs_ctypes_was_full(native->ctypes))
        HS_TRY(hs_findings_note(&native->dump->findings, false, err,
                                "types: --memory leaves no room to list all records that have "
                                "others within them: members that lists are linked by may lack"));
    if (flow->reserves.was_full)
        HS_TRY(hs_findings_note(&native->dump->findings, false, err,
                                "types: %s to keep how much of each array is in use: all of some "
                                "counts, with pointers that elements left behind",
                                native->n_reserves_without_room != 0
                                    ? "--memory leaves no room"
                                    : "there are too many vectors"));
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        HS_TRY(facts_note_effort(native, object->elf, object->path, err));
        if (object->debug != NULL)
            HS_TRY(facts_note_effort(native, object->debug, hs_elf_name(object->debug), err));
    }
    uint64_t n_damaged = native->ctypes == NULL ? 0 : hs_ctypes_n_damaged(native->ctypes);
    if (n_damaged == 0)
        return HS_OK;
    return hs_findings_note(&native->dump->findings, true, err,
                            "debug information: %llu damaged entries were left out",
                            (unsigned long long)n_damaged);
}

static hs_status facts_note_marks(struct hs_native *native, const struct hs_scan *scan,
                                  struct hs_error *err)
{
    char text[NOTE_BYTES];

    if (scan->n_interior_only != 0)
        HS_TRY(hs_findings_note(&native->dump->findings, false, err,
                                "%llu blocks are reached by pointers into their middle only",
                                (unsigned long long)scan->n_interior_only));
    if (scan->n_signal_stacks != 0)
        HS_TRY(hs_findings_note(&native->dump->findings, false, err,
                                "a block of 2 KiB or more may be an alternate signal stack, whose "
                                "address the kernel does not tell" HS_NOTE_NOT_CERTAIN));
    if (scan->n_computed != 0)
        HS_TRY(hs_findings_note(&native->dump->findings, false, err,
                                "two words together (neighbours by xor, or a base and an offset) "
                                "may lead to some blocks" HS_NOTE_NOT_CERTAIN));
    if (hs_dump_plan_tell(&native->dump->plan, text, sizeof text))
        HS_TRY(hs_findings_note(&native->dump->findings, false, err, "%s", text));
    const char *core_note =
        native->dump->target.core != NULL ? hs_core_note(&native->dump->target) : "";
    if (core_note[0] != '\0')
        HS_TRY(hs_findings_note(&native->dump->findings, true, err, "%s", core_note));
    if (native->dump->findings.n_torn == 0)
        return HS_OK;
    if (native->dump->target.core != NULL)
        return hs_findings_note(&native->dump->findings, true, err,
                                "inconsistent: in the core an allocator's lists and counters do "
                                "not agree at %llu place%s, as in the middle of a change",
                                (unsigned long long)native->dump->findings.n_torn,
                                native->dump->findings.n_torn == 1 ? "" : "s");
    return hs_findings_note(&native->dump->findings, true, err,
                            "inconsistent: an allocator's lists and counters do not agree at %llu "
                            "place%s, in each of %u stops, as in the middle of a change",
                            (unsigned long long)native->dump->findings.n_torn,
                            native->dump->findings.n_torn == 1 ? "" : "s", native->dump->n_stops);
}

/* Notes the rules that counted: the same dump with others may say something else. */
static hs_status facts_note_rules(struct hs_native *native, struct hs_error *err)
{
    char names[RULES_BYTES];

    for (unsigned reason = 1; reason < 64; reason++)
        if ((native->dump->options->reasons_off >> reason & 1) != 0)
            HS_TRY(hs_findings_note(&native->dump->findings, true, err,
                                    "words are counted as if there were no rule %s (--rules)",
                                    hs_reason_name(reason)));
    if (native->dump->options->rules == NULL)
        return HS_OK;
    hs_rules_tell(native->dump->options->rules, names, sizeof names);
    return hs_findings_note(&native->dump->findings, false, err, "%s", names);
}

hs_status hs_native_note(struct hs_native *native, const struct hs_flow *flow,
                         const struct hs_scan *scan, struct hs_error *err)
{
    HS_TRY(facts_note_rules(native, err));
    HS_TRY(hs_native_note_lines(native, err));
    HS_TRY(facts_note_types(native, flow, err));
    HS_TRY(hs_native_note_wrappers(native, flow, err));
    return facts_note_marks(native, scan, err);
}
