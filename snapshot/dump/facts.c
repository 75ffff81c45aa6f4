/* Gathers what the snapshot says before its first block, from what each runtime says. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"
#include "base/units.h"
#include "heaps/allocator.h"
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

/* Closes the ledger: its rows say where the memory is. */
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

/* ---- what was not read */

enum { UNREAD_NAMES_BYTES = 512, UNREAD_NAMES_MAX = 8 };

/* Takes out the lines of heaps that a runtime has read. */
static void facts_drop_read(const struct hs_dump *dump, char *text)
{
    for (size_t i = 0; i < dump->n_serving; i++) {
        const char *known_as = dump->serving[i].runtime->known_as;
        size_t n = known_as == NULL ? 0 : strlen(known_as);
        for (char *line = text; n != 0 && *line != '\0';) {
            char *end = strchrnul(line, '\n'), *next = *end == '\0' ? end : end + 1;
            if (strncmp(line, known_as, n) == 0)
                memmove(line, next, strlen(next) + 1);
            else
                line = next;
        }
    }
}

/* "Ruby (libruby-3.1.so.3.1)", "V8 (node)": a line each, runtimes first, then allocators. */
static void facts_unread_names(const struct hs_dump *dump, char *text, size_t n_bytes)
{
    const uint64_t in_use = hs_heaps_in_use(&dump->heaps);
    size_t n;

    hs_heaps_recognise_runtimes(&dump->process, dump->options->rules, in_use, text, n_bytes);
    n = strlen(text);
    hs_heaps_recognise(&dump->process, dump->options->rules, in_use, text + n, n_bytes - n);
    facts_drop_read(dump, text);
}

static hs_status facts_note_unread(struct hs_dump *dump, const struct hs_snap_facts *facts,
                                   struct hs_error *err)
{
    char names[UNREAD_NAMES_BYTES], unread[HS_UNIT_TEXT_BYTES];
    struct hs_unread_sum sum = {0};

    for (size_t i = 0; i < facts->n_memory; i++)
        hs_unread_add(&sum, hs_strtab_get(&dump->strings, facts->memory[i].owner),
                      facts->memory[i].resident_bytes);
    unsigned percent = hs_unread_percent(&sum);
    facts_unread_names(dump, names, sizeof names);
    hs_heaps_join_names(names, sizeof names);
    if (percent < (names[0] != '\0' ? HS_UNREAD_KNOWN_PERCENT : HS_UNREAD_MOST_PERCENT))
        return HS_OK;
    hs_format_bytes(sum.unread_bytes, unread);
    return hs_findings_note(
        &dump->findings, percent >= HS_UNREAD_MOST_PERCENT, err,
        "%u %% of its own memory (%s) is not read as blocks: %s%s%s; what only it keeps is "
        "possibly leaked",
        percent, unread, names[0] != '\0' ? "the heap of " : "no allocator that is known has it",
        names, names[0] != '\0' ? " is not supported yet" : "");
}

/* A row for each runtime and allocator whose heap is not read. */
static hs_status facts_unread_runtimes(struct hs_dump *dump,
                                       struct hs_runtime_fact rows[UNREAD_NAMES_MAX], size_t *ret_n,
                                       struct hs_error *err)
{
    char names[UNREAD_NAMES_BYTES];

    *ret_n = 0;
    facts_unread_names(dump, names, sizeof names);
    for (char *at = names; *at != '\0' && *ret_n < UNREAD_NAMES_MAX;) {
        char *end = strchrnul(at, '\n'), *next = *end == '\0' ? end : end + 1;
        *end = '\0';
        struct hs_runtime_fact *row = &rows[(*ret_n)++];
        *row = (struct hs_runtime_fact){.certainty = HS_UNREAD};
        HS_TRY(hs_strtab_add(&dump->strings, at, &row->name, err));
        at = next;
    }
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
                            const struct hs_runtime_fact *unread, size_t n_unread,
                            struct hs_dump_facts *ret, struct hs_error *err)
{
    struct hs_snap_facts *facts = &ret->facts;
    size_t n_runtimes = n_unread, n_proofs = 0, n_notes = 0, n_samplers = 0;

    for (size_t i = 0; i < n_parts; i++) {
        ret->first_sampler[i] = (uint32_t)n_samplers;
        n_runtimes += parts[i].n_runtimes;
        n_proofs += parts[i].findings->n_proofs;
        n_notes += parts[i].findings->n_notes;
        n_samplers += parts[i].n_samplers;
        if (ret->remark == 0)
            ret->remark = parts[i].remark;
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
    facts_append(ret->runtimes, &facts->n_runtimes, unread, n_unread, sizeof *unread);
    return HS_OK;
}

hs_status hs_dump_facts_gather(struct hs_dump *dump, struct hs_dump_facts *ret,
                               struct hs_error *err)
{
    struct hs_runtime_facts parts[HS_N_RUNTIMES] = {{0}};
    struct hs_runtime_fact unread[UNREAD_NAMES_MAX];
    size_t n_unread = 0;
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
    if (has_heaps) {
        HS_TRY(facts_memory(dump, ret, err));
        HS_TRY(facts_note_unread(dump, &ret->facts, err));
        HS_TRY(facts_unread_runtimes(dump, unread, &n_unread, err));
    } else if (dump->target.core == NULL) {
        ret->facts.resident_bytes = hs_dump_resident_bytes(dump->options->pid);
    }
    return facts_join(parts, dump->n_serving, unread, n_unread, ret, err);
}

void hs_dump_facts_tell(const struct hs_dump_facts *found, const struct hs_strtab *strings,
                        struct hs_dump_report *ret)
{
    const struct hs_snap_facts *facts = &found->facts;

    ret->note[0] = '\0';
    ret->is_exact = true;
    for (size_t i = 0; i < facts->n_notes; i++) {
        if (!facts->notes[i].is_gap)
            continue;
        ret->is_exact = false;
        hs_append_item(ret->note, sizeof ret->note, "; ",
                       hs_strtab_get(strings, facts->notes[i].text));
    }
    (void)snprintf(ret->remark, sizeof ret->remark, "%s", hs_strtab_get(strings, found->remark));
    ret->pause_ns = facts->pause_ns;
    ret->read_bytes = facts->read_bytes;
    ret->n_stop_attempts = facts->n_stop_attempts;
}
