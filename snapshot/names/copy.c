/* The new snapshot: what stands in the old one, with the new tree of roots, types and facts. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "names_private.h"
#include "snapshot/writer.h"
#include "symbols/demangle.h"
#include "symbols/lines.h"

enum { PART_EDGES = 1 << 20, TEXT_BYTES = 1024 };

struct copy {
    struct names *names;
    uint64_t n_old_tree;
    struct hs_snap_writer *writer;
    struct hs_edge *edges; /* owned */
    size_t capacity;
    struct hs_binary *binaries; /* owned */
    struct hs_runtime_fact *runtimes;
    struct hs_proof *proofs;
    struct hs_note *notes;
    struct hs_memory_row *memory;
    struct hs_sampler *samplers;
    struct hs_type *types;
    struct hs_member *members;
    struct hs_sample *samples;
    struct hs_site_frame *frames;
    size_t n_notes, n_types, n_members, n_frames;
};

static void copy_fini(struct copy *c)
{
    hs_snap_writer_free(c->writer);
    hs_free(c->edges);
    hs_free(c->binaries);
    hs_free(c->runtimes);
    hs_free(c->proofs);
    hs_free(c->notes);
    hs_free(c->memory);
    hs_free(c->samplers);
    hs_free(c->types);
    hs_free(c->members);
    hs_free(c->samples);
    hs_free(c->frames);
}

static hs_str moved(const struct copy *c, hs_str old)
{
    return c->names->strings[old];
}

/* ---- facts */

static hs_status copy_binaries(struct copy *c, struct hs_snap_facts *facts, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&c->binaries, facts->n_binaries, err));
    for (size_t i = 0; i < facts->n_binaries; i++) {
        struct hs_binary *binary = &c->binaries[i];
        *binary = facts->binaries[i];
        binary->path = moved(c, binary->path);
        binary->build_id = moved(c, binary->build_id);
        binary->debug_file = moved(c, binary->debug_file);
        if (i >= c->names->dump.objects.n || !c->names->is_found[i])
            continue;
        const struct hs_elf *elf = c->names->dump.objects.objects[i].elf;
        binary->has_symtab |= hs_elf_has_symtab(elf);
        binary->has_debug_info |= hs_dwarf_present(elf);
        HS_TRY(hs_strtab_add(&c->names->dump.strings, hs_elf_name(elf), &binary->debug_file, err));
    }
    facts->binaries = c->binaries;
    return HS_OK;
}

/* Tells whether a note says that a binary has no debug information which is found now. */
static bool is_gone(const struct copy *c, const char *text)
{
    static const char after[] = "' has no debug information: fields";

    for (size_t i = 0; i < c->names->dump.objects.n; i++) {
        const char *name = c->names->dump.objects.objects[i].name;
        size_t n = strlen(name);
        if (c->names->is_found[i] && text[0] == '\'' && strncmp(text + 1, name, n) == 0 &&
            strncmp(text + 1 + n, after, sizeof after - 1) == 0)
            return true;
    }
    return false;
}

static hs_status add_note(struct copy *c, const char *text, struct hs_error *err)
{
    struct hs_note *note = &c->notes[c->n_notes++];

    *note = (struct hs_note){0};
    return hs_strtab_add(&c->names->dump.strings, text, &note->text, err);
}

/* Notes what came later, and what could not come. */
static hs_status copy_new_notes(struct copy *c, struct hs_error *err)
{
    const struct hs_names_report *report = c->names->report;
    char text[TEXT_BYTES];

    if (report->n_found == 0)
        return HS_OK;
    snprintf(text, sizeof text,
             "names came after the dump: of %llu words of variables, %llu of calls, %llu blocks of "
             "a type; local variables, alternatives of unions, the parts of arrays that are in use "
             "and counts of containers are told by the process's memory alone",
             (unsigned long long)report->n_slots, (unsigned long long)report->n_functions,
             (unsigned long long)report->n_typed);
    HS_TRY(add_note(c, text, err));
    return report->note[0] == '\0' ? HS_OK : add_note(c, report->note, err);
}

static hs_status copy_notes(struct copy *c, struct hs_snap_facts *facts, struct hs_error *err)
{
    static const char types[] = "types: ";

    HS_TRY(HS_ALLOC(&c->notes, facts->n_notes + 2, err));
    for (size_t i = 0; i < facts->n_notes; i++) {
        const char *text = hs_snap_string(c->names->snap, facts->notes[i].text);
        bool is_other =
            strncmp(text, types, sizeof types - 1) == 0 && c->names->report->n_found != 0;
        if (is_other || is_gone(c, text))
            continue;
        c->notes[c->n_notes++] =
            (struct hs_note){moved(c, facts->notes[i].text), facts->notes[i].is_gap};
    }
    HS_TRY(copy_new_notes(c, err));
    facts->notes = c->notes;
    facts->n_notes = c->n_notes;
    return HS_OK;
}

static hs_status copy_lists(struct copy *c, struct hs_snap_facts *facts, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&c->runtimes, facts->n_runtimes, err));
    for (size_t i = 0; i < facts->n_runtimes; i++)
        c->runtimes[i] = (struct hs_runtime_fact){moved(c, facts->runtimes[i].name),
                                                  moved(c, facts->runtimes[i].version),
                                                  facts->runtimes[i].certainty};
    HS_TRY(HS_ALLOC(&c->proofs, facts->n_proofs, err));
    for (size_t i = 0; i < facts->n_proofs; i++) {
        c->proofs[i] = facts->proofs[i];
        c->proofs[i].what = moved(c, c->proofs[i].what);
    }
    HS_TRY(HS_ALLOC(&c->memory, facts->n_memory, err));
    for (size_t i = 0; i < facts->n_memory; i++) {
        c->memory[i] = facts->memory[i];
        c->memory[i].owner = moved(c, c->memory[i].owner);
    }
    HS_TRY(HS_ALLOC(&c->samplers, facts->n_samplers, err));
    for (size_t i = 0; i < facts->n_samplers; i++) {
        c->samplers[i] = facts->samplers[i];
        c->samplers[i].trace = moved(c, c->samplers[i].trace);
    }
    facts->runtimes = c->runtimes;
    facts->proofs = c->proofs;
    facts->memory = c->memory;
    facts->samplers = c->samplers;
    return HS_OK;
}

static hs_status copy_facts(struct copy *c, struct hs_snap_facts *ret, struct hs_error *err)
{
    *ret = *hs_snap_facts(c->names->snap);
    ret->command = moved(c, ret->command);
    ret->tool_version = moved(c, ret->tool_version);
    ret->why_no_copy = moved(c, ret->why_no_copy);
    HS_TRY(copy_binaries(c, ret, err));
    HS_TRY(copy_lists(c, ret, err));
    return copy_notes(c, ret, err);
}

/* ---- blocks */

static hs_node node_of(const struct copy *c, hs_node old)
{
    return old - c->n_old_tree + c->names->n_tree;
}

/* Takes edges [from, to) of a chunk, which has at most PART_EDGES of them. */
static hs_status take_edges(struct copy *c, const struct hs_chunk *chunk, uint64_t from,
                            uint64_t to, struct hs_error *err)
{
    HS_TRY(HS_GROW(&c->edges, &c->capacity, (size_t)(to - from), err));
    for (uint64_t e = from; e < to; e++)
        c->edges[e - from] = (struct hs_edge){.target = node_of(c, chunk->target[e]),
                                              .offset_words = chunk->offset_words[e],
                                              .edge_class = chunk->edge_class[e],
                                              .reason = chunk->edge_reason[e]};
    return HS_OK;
}

/* Puts the extra edges of a block behind its n edges. `*at` is the first that is not taken yet. */
static hs_status take_extra(struct copy *c, const struct hs_chunk *chunk, hs_node node,
                            uint64_t *at, size_t *n, struct hs_error *err)
{
    for (; *at < chunk->n_extra && chunk->extra[*at].source == node; ++*at) {
        const struct hs_extra_edge *extra = &chunk->extra[*at];
        HS_TRY(HS_GROW(&c->edges, &c->capacity, *n + 1, err));
        c->edges[(*n)++] = (struct hs_edge){.target = node_of(c, extra->target),
                                            .offset_words = extra->offset_words,
                                            .edge_class = extra->edge_class,
                                            .reason = extra->reason};
    }
    return HS_OK;
}

static hs_status copy_block(struct copy *c, const struct hs_chunk *chunk, uint32_t i,
                            uint32_t *count, uint64_t *extra, struct hs_error *err)
{
    uint64_t from = chunk->edge_begin[i], to = chunk->edge_begin[i + 1];
    struct hs_block_record block = {
        .address = chunk->address[i],
        .words = chunk->words[i],
        .type = hs_names_type(c->names, chunk->first - c->n_old_tree + i, chunk->type[i]),
        .state = chunk->state[i],
    };

    if (*count < chunk->n_counts && chunk->counts[*count].at == i) {
        block.is_counted = true;
        block.entries = chunk->counts[*count].entries;
        block.room = chunk->counts[(*count)++].room;
    }
    for (; to - from > PART_EDGES; from += PART_EDGES) {
        HS_TRY(take_edges(c, chunk, from, from + PART_EDGES, err));
        HS_TRY(hs_snap_writer_part(c->writer, c->edges, PART_EDGES, to - from - PART_EDGES, err));
    }
    size_t n = (size_t)(to - from);
    HS_TRY(take_edges(c, chunk, from, to, err));
    HS_TRY(take_extra(c, chunk, chunk->first + i, extra, &n, err));
    return hs_snap_writer_block(c->writer, &block, c->edges, n, err);
}

static hs_status copy_chunk(struct copy *c, uint64_t number, struct hs_chunk *chunk,
                            struct hs_error *err)
{
    uint32_t count = 0;
    uint64_t extra = 0;

    HS_TRY(hs_snap_load_chunk(c->names->snap, number, HS_COL_ALL, chunk, err));
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        HS_TRY(copy_block(c, chunk, i, &count, &extra, err));
    return HS_OK;
}

static hs_status copy_blocks(struct copy *c, struct hs_error *err)
{
    uint64_t n_chunks = hs_snap_totals(c->names->snap)->n_chunks;
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;

    for (uint64_t i = 0; i < n_chunks && status == HS_OK; i++) {
        status = hs_progress_tell(c->names->options->progress, "writing", i, n_chunks, err);
        if (status == HS_OK)
            status = copy_chunk(c, i, &chunk, err);
    }
    hs_chunk_fini(&chunk);
    return status;
}

/* ---- what stands behind the blocks */

static hs_status copy_old_types(struct copy *c, size_t n_new_types, size_t n_new_members,
                                struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(c->names->snap);

    HS_TRY(HS_ALLOC(&c->types, totals->n_types + n_new_types, err));
    HS_TRY(HS_ALLOC(&c->members, totals->n_members + n_new_members, err));
    for (uint32_t i = 0; i < totals->n_types; i++) {
        size_t n;
        const struct hs_member *members = hs_snap_members(c->names->snap, i, &n);
        c->types[c->n_types] = *hs_snap_type(c->names->snap, i);
        c->types[c->n_types].name = moved(c, c->types[c->n_types].name);
        c->n_types++;
        for (size_t j = 0; j < n; j++)
            c->members[c->n_members++] =
                (struct hs_member){.type = i,
                                   .offset_bytes = members[j].offset_bytes,
                                   .name = moved(c, members[j].name),
                                   .type_name = moved(c, members[j].type_name)};
    }
    return HS_OK;
}

static hs_status copy_types(struct copy *c, struct hs_error *err)
{
    hs_auto_free struct hs_type *types = NULL;
    hs_auto_free struct hs_member *members = NULL;
    size_t n_types = 0, n_members = 0;

    HS_TRY(hs_later_types(c->names->later, &types, &n_types, &members, &n_members, err));
    HS_TRY(copy_old_types(c, n_types, n_members, err));
    for (size_t i = 0; i < n_members; i++) {
        c->members[c->n_members] = members[i];
        c->members[c->n_members++].type += (uint32_t)c->n_types;
    }
    for (size_t i = 0; i < n_types; i++)
        c->types[c->n_types++] = types[i];
    return HS_OK;
}

/* Names the function of a frame that has none, by the symbol at its place. */
static hs_status name_frame(struct copy *c, struct hs_site_frame *frame, struct hs_error *err)
{
    const char *module = hs_names_text(c->names, frame->module);
    char text[TEXT_BYTES];

    for (size_t i = 0; frame->function == 0 && module[0] != '\0' && i < c->names->dump.objects.n;
         i++) {
        const struct hs_object *object = &c->names->dump.objects.objects[i];
        if (!c->names->is_found[i] ||
            (strcmp(object->name, module) != 0 && strcmp(object->path, module) != 0))
            continue;
        const struct hs_elf_symbol *symbol = hs_elf_symbol_at(object->elf, frame->offset, NULL);
        if (symbol == NULL || symbol->kind != HS_SYMBOL_CODE)
            return HS_OK;
        hs_demangle(symbol->name, text, sizeof text);
        c->names->report->n_sites++;
        return hs_strtab_add(&c->names->dump.strings, text, &frame->function, err);
    }
    return HS_OK;
}

static hs_status copy_sites(struct copy *c, struct hs_error *err)
{
    uint32_t n_sites = hs_snap_n_sites(c->names->snap);
    size_t capacity = 0, n;

    for (uint32_t i = 0; i < n_sites; i++) {
        const struct hs_site_frame *frames = hs_snap_site(c->names->snap, i, &n);
        HS_TRY(HS_GROW(&c->frames, &capacity, c->n_frames + n, err));
        for (size_t j = 0; j < n; j++) {
            struct hs_site_frame *frame = &c->frames[c->n_frames++];
            *frame = frames[j];
            frame->function = moved(c, frame->function);
            frame->file = moved(c, frame->file);
            frame->module = moved(c, frame->module);
            HS_TRY(name_frame(c, frame, err));
        }
    }
    return HS_OK;
}

static hs_status copy_samples(struct copy *c, struct hs_error *err)
{
    uint64_t n = hs_snap_totals(c->names->snap)->n_samples;

    HS_TRY(HS_ALLOC(&c->samples, n, err));
    for (uint64_t i = 0; i < n; i++) {
        c->samples[i] = *hs_snap_sample(c->names->snap, i);
        if (c->samples[i].node != HS_NO_NODE)
            c->samples[i].node = node_of(c, c->samples[i].node);
    }
    return copy_sites(c, err);
}

static hs_status copy_run(struct copy *c, struct hs_out *out, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(c->names->snap);
    struct hs_snap_facts facts;

    HS_TRY(copy_facts(c, &facts, err));
    HS_TRY(hs_snap_writer_new(out, &c->names->dump.strings, &facts, c->names->tree,
                              c->names->n_tree, totals->n_blocks, &c->writer, err));
    hs_snap_writer_set_budget(c->writer, c->names->options->budget);
    HS_TRY(copy_blocks(c, err));
    HS_TRY(copy_types(c, err));
    HS_TRY(copy_samples(c, err));
    const struct hs_snap_ending ending = {.types = c->types,
                                          .n_types = c->n_types,
                                          .members = c->members,
                                          .n_members = c->n_members,
                                          .samples = c->samples,
                                          .n_samples = totals->n_samples,
                                          .site_frames = c->frames,
                                          .n_site_frames = c->n_frames};
    return hs_snap_writer_finish(c->writer, &ending, &c->names->report->totals, err);
}

hs_status hs_names_copy(struct names *names, struct hs_out *out, struct hs_error *err)
{
    struct copy copy = {.names = names, .n_old_tree = hs_snap_totals(names->snap)->n_tree};
    hs_status status = copy_run(&copy, out, err);

    copy_fini(&copy);
    return status;
}
