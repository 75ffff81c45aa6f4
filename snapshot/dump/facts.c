/* What the snapshot says before its first block, put together from what each runtime says. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "parts.h"

void hs_dump_facts_fini(struct hs_dump_facts *facts)
{
    if (facts == NULL)
        return;
    hs_free(facts->runtimes);
    hs_free(facts->proofs);
    hs_free(facts->notes);
    hs_free(facts->samplers);
    hs_free(facts->binaries);
    hs_free(facts->unreadable);
    *facts = (struct hs_dump_facts){0};
}

/* Where the memory is; none is said where the allocators were not asked. */
static hs_status facts_memory(struct hs_dump *dump, struct hs_dump_facts *ret, struct hs_error *err)
{
    struct hs_ledger *ledger = &dump->heaps.ledger;

    HS_TRY(hs_residency_parse(&dump->residency, err));
    HS_TRY(
        hs_ledger_close(ledger, &dump->process, &dump->residency, &ret->facts.resident_bytes, err));
    ret->facts.memory = ledger->rows;
    ret->facts.n_memory = ledger->n_rows;
    return HS_OK;
}

/* Copies behind what is there already. */
static void *facts_append(void *to, size_t *n, const void *more, size_t n_more, size_t size)
{
    if (n_more != 0)
        memcpy((char *)to + *n * size, more, n_more * size);
    *n += n_more;
    return to;
}

static hs_status facts_join(const struct hs_runtime_facts *parts, size_t n_parts,
                            struct hs_dump_facts *ret, struct hs_error *err)
{
    struct hs_snap_facts *facts = &ret->facts;
    size_t n_runtimes = 0, n_proofs = 0, n_notes = 0, n_samplers = 0;

    for (size_t i = 0; i < n_parts; i++) {
        ret->first_sampler[i] = (uint32_t)n_samplers;
        n_runtimes += parts[i].n_runtimes;
        n_proofs += parts[i].findings->n_proofs;
        n_notes += parts[i].findings->n_notes;
        n_samplers += parts[i].n_samplers;
    }
    HS_TRY(HS_ALLOC(&ret->runtimes, n_runtimes, err));
    facts->runtimes = ret->runtimes;
    HS_TRY(HS_ALLOC(&ret->proofs, n_proofs, err));
    facts->proofs = ret->proofs;
    HS_TRY(HS_ALLOC(&ret->notes, n_notes, err));
    facts->notes = ret->notes;
    HS_TRY(HS_ALLOC(&ret->samplers, n_samplers, err));
    facts->samplers = ret->samplers;
    for (size_t i = 0; i < n_parts; i++) {
        const struct hs_findings *findings = parts[i].findings;
        facts_append(ret->runtimes, &facts->n_runtimes, parts[i].runtimes, parts[i].n_runtimes,
                     sizeof *ret->runtimes);
        facts_append(ret->proofs, &facts->n_proofs, findings->proofs, findings->n_proofs,
                     sizeof *ret->proofs);
        facts_append(ret->notes, &facts->n_notes, findings->notes, findings->n_notes,
                     sizeof *ret->notes);
        facts_append(ret->samplers, &facts->n_samplers, parts[i].samplers, parts[i].n_samplers,
                     sizeof *ret->samplers);
    }
    return HS_OK;
}

hs_status hs_dump_facts_gather(struct hs_dump *dump, struct hs_dump_facts *ret,
                               struct hs_error *err)
{
    struct hs_runtime_facts parts[HS_N_RUNTIMES] = {{0}};
    bool has_heaps = false;

    for (size_t i = 0; i < dump->n_serving; i++) {
        const struct hs_serving *serving = &dump->serving[i];
        HS_TRY(serving->runtime->facts(serving->state, &parts[i], &ret->facts, err));
        has_heaps |= serving->runtime->reads_heaps;
    }
    HS_TRY(hs_dump_list_binaries(dump, &ret->binaries, err));
    HS_TRY(hs_dump_list_unreadable(&dump->image, &ret->unreadable, err));
    ret->facts.binaries = ret->binaries;
    ret->facts.n_binaries = dump->objects.n;
    ret->facts.unreadable = ret->unreadable;
    ret->facts.n_unreadable = dump->image.n_gaps;
    if (has_heaps)
        HS_TRY(facts_memory(dump, ret, err));
    return facts_join(parts, dump->n_serving, ret, err);
}

void hs_dump_facts_tell(const struct hs_snap_facts *facts, const struct hs_strtab *strings,
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
