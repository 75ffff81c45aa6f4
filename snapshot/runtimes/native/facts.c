#include "facts.h"

#include "base/alloc.h"
#include "symbols/elf.h"
#include "symbols/lines.h"
#include "target/core.h"

enum { NOTE_BYTES = 128, MISSING_BYTES = 640, MISSING_MAX = 64 };

void hs_native_facts_fini(struct hs_native_facts *facts)
{
    if (facts == NULL)
        return;
    hs_free(facts->runtimes);
    hs_free(facts->binaries);
    hs_free(facts->unreadable);
    *facts = (struct hs_native_facts){0};
}

/* One per allocator in use. */
static hs_status facts_runtimes(struct hs_native *native, struct hs_native_facts *ret,
                                struct hs_error *err)
{
    void *array;

    HS_TRY(hs_alloc(HS_N_ALLOCATORS, sizeof *ret->runtimes, &array, err));
    ret->runtimes = array;
    native->facts.runtimes = array;
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_allocator *allocator = hs_allocators[i];
        if (native->heaps.states[i] == NULL || allocator->has_no_blocks)
            continue;
        struct hs_runtime *runtime = &ret->runtimes[native->facts.n_runtimes++];
        runtime->certainty = HS_CONSERVATIVE; /* words are taken for pointers */
        HS_TRY(hs_strtab_add(&native->strings, allocator->name, &runtime->name, err));
        HS_TRY(hs_strtab_add(&native->strings, allocator->version(native->heaps.states[i]),
                             &runtime->version, err));
    }
    return HS_OK;
}

/* How to get more names than there are. */
static hs_status facts_note_names(struct hs_native *native, struct hs_error *err)
{
    const struct hs_object *program = &native->objects.objects[0];
    bool has_types = hs_dwarf_present(program->elf) ||
                     (program->debug != NULL && hs_dwarf_present(program->debug));

    if (native->options->no_names || has_types)
        return HS_OK;
    return hs_findings_note(&native->findings, false, err,
                            "'%s' has no debug information: fields and types of C are unknown; "
                            "install its debug package, or give --debug-path",
                            program->name);
}

/* Files that could not be read as they were loaded. */
static hs_status facts_note_missing(struct hs_native *native, struct hs_error *err)
{
    char text[MISSING_BYTES];

    for (size_t i = 0;
         i < MISSING_MAX && hs_objects_missing(&native->objects, i, text, sizeof text); i++)
        HS_TRY(hs_findings_note(&native->findings, false, err, "%s", text));
    return HS_OK;
}

static hs_status facts_note_types(struct hs_native *native, const struct hs_flow *flow,
                                  struct hs_error *err)
{
    HS_TRY(facts_note_names(native, err));
    HS_TRY(facts_note_missing(native, err));
    for (size_t i = 0; i < native->n_debug_notes; i++)
        HS_TRY(hs_findings_note(&native->findings, false, err, "%s",
                                hs_strtab_get(&native->strings, native->debug_notes[i])));
    if (flow->n_typed != 0)
        HS_TRY(hs_findings_note(
            &native->findings, false, err,
            "types: %llu of %llu blocks have one (%llu by C++ run-time types, %llu by the shape of "
            "containers, %llu Python objects)",
            (unsigned long long)flow->n_typed, (unsigned long long)flow->n_blocks,
            (unsigned long long)flow->n_by_rtti, (unsigned long long)flow->n_by_shape,
            (unsigned long long)flow->n_python));
    uint64_t n_damaged = native->ctypes == NULL ? 0 : hs_ctypes_n_damaged(native->ctypes);
    if (n_damaged == 0)
        return HS_OK;
    return hs_findings_note(&native->findings, true, err,
                            "debug information: %llu damaged entries were left out",
                            (unsigned long long)n_damaged);
}

static hs_status facts_note_marks(struct hs_native *native, const struct hs_scan *scan,
                                  struct hs_error *err)
{
    char text[NOTE_BYTES];

    if (scan->n_interior_only != 0)
        HS_TRY(hs_findings_note(&native->findings, false, err,
                                "%llu blocks are reached by pointers into their middle only",
                                (unsigned long long)scan->n_interior_only));
    if (hs_dump_plan_tell(&native->plan, text, sizeof text))
        HS_TRY(hs_findings_note(&native->findings, false, err, "%s", text));
    const char *core_note = native->target.core != NULL ? hs_core_note(&native->target) : "";
    if (core_note[0] != '\0')
        HS_TRY(hs_findings_note(&native->findings, true, err, "%s", core_note));
    if (native->findings.n_torn == 0)
        return HS_OK;
    if (native->target.core != NULL)
        return hs_findings_note(&native->findings, true, err,
                                "inconsistent: the core was taken while an allocator was in the "
                                "middle of a change, at %llu place%s",
                                (unsigned long long)native->findings.n_torn,
                                native->findings.n_torn == 1 ? "" : "s");
    return hs_findings_note(&native->findings, true, err,
                            "inconsistent: an allocator was in the middle of a change at %llu "
                            "place%s, in each of %u stops",
                            (unsigned long long)native->findings.n_torn,
                            native->findings.n_torn == 1 ? "" : "s", native->n_attempts);
}

static hs_status facts_memory(struct hs_native *native, struct hs_error *err)
{
    struct hs_ledger *ledger = &native->heaps.ledger;

    HS_TRY(hs_residency_parse(&native->residency, err));
    HS_TRY(hs_ledger_close(ledger, &native->scene, &native->residency,
                           &native->facts.resident_bytes, err));
    native->facts.memory = ledger->rows;
    native->facts.n_memory = ledger->n_rows;
    return HS_OK;
}

hs_status hs_native_make_facts(struct hs_native *native, const struct hs_flow *flow,
                               const struct hs_scan *scan, struct hs_native_facts *ret,
                               struct hs_error *err)
{
    struct hs_snap_facts *facts = &native->facts;

    *facts = (struct hs_snap_facts){
        .word_bytes = HS_WORD_BYTES,
        .pid = (uint32_t)native->target.pid,
        .read_bytes = native->target.read_bytes,
        .n_stop_attempts = native->n_attempts,
    };
    HS_TRY(hs_dump_stop_facts(&native->target, &native->strings, facts, err));
    HS_TRY(hs_strtab_add(&native->strings, native->target.command, &facts->command, err));
    HS_TRY(
        hs_strtab_add(&native->strings, native->options->tool_version, &facts->tool_version, err));
    HS_TRY(facts_runtimes(native, ret, err));
    HS_TRY(facts_note_types(native, flow, err));
    HS_TRY(facts_note_marks(native, scan, err));
    HS_TRY(hs_dump_list_binaries(&native->objects, &native->strings, &ret->binaries, err));
    HS_TRY(hs_dump_list_unreadable(&native->image, &ret->unreadable, err));
    facts->binaries = ret->binaries;
    facts->n_binaries = native->objects.n;
    facts->unreadable = ret->unreadable;
    facts->n_unreadable = native->image.n_gaps;
    HS_TRY(facts_memory(native, err));
    facts->proofs = native->findings.proofs;
    facts->n_proofs = native->findings.n_proofs;
    facts->notes = native->findings.notes;
    facts->n_notes = native->findings.n_notes;
    return HS_OK;
}
