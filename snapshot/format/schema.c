/* The tables, and the rules that no single column can state. */
#include "schema.h"

#include <assert.h>

#include "base/alloc.h"

enum {
    PLAIN = 0,
    DELTA = HS_COLUMN_DELTA,
    NONE = HS_COLUMN_NONE,
    STRING = HS_COLUMN_STRING,
    STRING_DELTA = HS_COLUMN_STRING | HS_COLUMN_DELTA,
    FIXED = HS_COLUMN_FIXED
};
#define ANY UINT64_MAX

#define SCHEMA(name, what_, record)                                                   \
    const struct hs_schema hs_schema_##name = {.what = (what_),                       \
                                               .columns = name##_columns,             \
                                               .n_columns = sizeof name##_columns /   \
                                                            sizeof name##_columns[0], \
                                               .record_bytes = sizeof(struct record)}

static const struct hs_column facts_columns[] = {
    HS_COLUMN(hs_snap_facts, pid, PLAIN, ANY),
    HS_COLUMN(hs_snap_facts, command, STRING, 0),
    HS_COLUMN(hs_snap_facts, tool_version, STRING, 0),
    HS_COLUMN(hs_snap_facts, pause_ns, PLAIN, ANY),
    HS_COLUMN(hs_snap_facts, read_bytes, PLAIN, ANY),
    HS_COLUMN(hs_snap_facts, n_stop_attempts, PLAIN, ANY),
    HS_COLUMN_SINCE(hs_snap_facts, resident_bytes, PLAIN, ANY, 2),
    HS_COLUMN_SINCE(hs_snap_facts, stop_way, PLAIN, HS_N_SNAP_WAYS - 1, 2),
    HS_COLUMN_SINCE(hs_snap_facts, predicted_ns, PLAIN, ANY, 2),
    HS_COLUMN_SINCE(hs_snap_facts, growth_bytes, PLAIN, ANY, 2),
    HS_COLUMN_SINCE(hs_snap_facts, why_no_copy, STRING, 0, 2),
    HS_COLUMN_SINCE(hs_snap_facts, taken_ns, PLAIN, ANY, 2),
    HS_COLUMN_SINCE(hs_snap_facts, started_ns, PLAIN, ANY, 2),
};
SCHEMA(facts, "facts", hs_snap_facts);

static const struct hs_column runtimes_columns[] = {
    HS_COLUMN(hs_runtime_fact, name, STRING, 0),
    HS_COLUMN(hs_runtime_fact, version, STRING, 0),
    HS_COLUMN(hs_runtime_fact, certainty, PLAIN, HS_UNREAD),
};
SCHEMA(runtimes, "runtime", hs_runtime_fact);

static const struct hs_column proofs_columns[] = {
    HS_COLUMN(hs_proof, what, STRING, 0),
    HS_COLUMN(hs_proof, expected, PLAIN, ANY),
    HS_COLUMN(hs_proof, found, PLAIN, ANY),
    HS_COLUMN(hs_proof, holds, PLAIN, 1),
};
SCHEMA(proofs, "proof", hs_proof);

static const struct hs_column binaries_columns[] = {
    HS_COLUMN(hs_binary, path, STRING, 0),
    HS_COLUMN(hs_binary, build_id, STRING, 0),
    HS_COLUMN(hs_binary, begin, DELTA, ANY),
    HS_COLUMN(hs_binary, has_symtab, PLAIN, 1),
    HS_COLUMN(hs_binary, has_debug_info, PLAIN, 1),
    HS_COLUMN_SINCE(hs_binary, debug_file, STRING, 0, 2),
};
SCHEMA(binaries, "binary", hs_binary);

static const struct hs_column unreadable_columns[] = {
    HS_COLUMN(hs_range, begin, DELTA, ANY),
    HS_COLUMN(hs_range, end, DELTA, ANY),
};
SCHEMA(unreadable, "unreadable range", hs_range);

static const struct hs_column notes_columns[] = {
    HS_COLUMN(hs_note, text, STRING, 0),
    HS_COLUMN(hs_note, is_gap, PLAIN, 1),
};
SCHEMA(notes, "note", hs_note);

static const struct hs_column memory_columns[] = {
    HS_COLUMN(hs_memory_row, owner, STRING, 0),
    HS_COLUMN(hs_memory_row, state, PLAIN, HS_N_MEMORY_STATES - 1),
    HS_COLUMN(hs_memory_row, n_bytes, PLAIN, ANY),
    HS_COLUMN(hs_memory_row, resident_bytes, PLAIN, ANY),
    HS_COLUMN(hs_memory_row, n_blocks, PLAIN, ANY),
};
SCHEMA(memory, "row of memory", hs_memory_row);

static const struct hs_column samplers_columns[] = {
    HS_COLUMN(hs_sampler, kind, PLAIN, HS_N_SAMPLER_KINDS - 1),
    HS_COLUMN(hs_sampler, period_words, FIXED, ANY),
    HS_COLUMN(hs_sampler, begun_ns, PLAIN, ANY),
    HS_COLUMN(hs_sampler, n_lost, PLAIN, ANY),
    HS_COLUMN(hs_sampler, trace, STRING, 0),
};
SCHEMA(samplers, "sampler", hs_sampler);

/* The leaves of version 1 stand at level 4: hs_roots_from_first. */
enum { FIRST_LEAF = HS_LEVEL_VARIABLE, FIRST_FORM_MAX = HS_FORM_OTHER };

static const struct hs_column roots_columns[] = {
    HS_COLUMN(hs_root, parent, DELTA, ANY),
    HS_COLUMN_GREW(hs_root, level, PLAIN, HS_N_LEVELS - 1, FIRST_LEAF),
    HS_COLUMN(hs_root, kind, PLAIN, HS_N_ROOT_KINDS - 1),
    HS_COLUMN(hs_root, certainty, PLAIN, HS_N_CERTAINTIES - 1),
    HS_COLUMN(hs_root, weak, PLAIN, 1),
    HS_COLUMN_SINCE(hs_root, edge_class, PLAIN, HS_EDGE_GUESSED, 2),
    HS_COLUMN_SINCE(hs_root, tier, PLAIN, HS_N_TIERS - 1, 3),
    HS_COLUMN(hs_root, target, DELTA | NONE, ANY),
    HS_COLUMN(hs_root, address, DELTA, ANY),
    HS_COLUMN(hs_root, offset, DELTA, ANY),
    HS_COLUMN(hs_root, field, NONE, ANY),
    HS_COLUMN(hs_root, line, DELTA, ANY),
    HS_COLUMN(hs_root, char_begin, PLAIN, ANY),
    HS_COLUMN(hs_root, char_end, PLAIN, ANY),
    HS_COLUMN(hs_root, thread, DELTA, ANY),
    HS_COLUMN(hs_root, frame, DELTA, ANY),
    HS_COLUMN(hs_root, name, STRING_DELTA, 0),
    HS_COLUMN(hs_root, module, STRING_DELTA, 0),
    HS_COLUMN(hs_root, symbol, STRING_DELTA, 0),
    HS_COLUMN(hs_root, file, STRING_DELTA, 0),
    HS_COLUMN(hs_root, function, STRING_DELTA, 0),
    HS_COLUMN_SINCE(hs_root, reason, PLAIN, HS_MAX_REASON, 4),
};
SCHEMA(roots, "root", hs_root);

static const struct hs_column types_columns[] = {
    HS_COLUMN(hs_type, name, STRING_DELTA, 0),
    HS_COLUMN(hs_type, tag, PLAIN, ANY),
    HS_COLUMN_GREW(hs_type, form, PLAIN, HS_N_FORMS - 1, FIRST_FORM_MAX),
    HS_COLUMN_SINCE(hs_type, stride_bytes, PLAIN, ANY, 2),
};
SCHEMA(types, "type", hs_type);

static const struct hs_column members_columns[] = {
    HS_COLUMN(hs_member, type, DELTA, ANY),
    HS_COLUMN(hs_member, offset_bytes, DELTA, ANY),
    HS_COLUMN(hs_member, name, STRING_DELTA, 0),
    HS_COLUMN(hs_member, type_name, STRING_DELTA, 0),
};
SCHEMA(members, "member", hs_member);

static const struct hs_column samples_columns[] = {
    HS_COLUMN(hs_sample, id, DELTA, ANY),
    HS_COLUMN(hs_sample, node, DELTA | NONE, ANY),
    HS_COLUMN(hs_sample, n_samples, PLAIN, ANY),
    HS_COLUMN(hs_sample, words, PLAIN, ANY),
    HS_COLUMN(hs_sample, state, PLAIN, HS_N_SAMPLE_STATES - 1),
    HS_COLUMN_SINCE(hs_sample, sampler, PLAIN, ANY, 2),
    HS_COLUMN_SINCE(hs_sample, site, NONE, ANY, 2),
};
SCHEMA(samples, "sample", hs_sample);

static const struct hs_column site_frames_columns[] = {
    HS_COLUMN(hs_site_frame, site, DELTA, ANY),
    HS_COLUMN(hs_site_frame, function, STRING_DELTA, 0),
    HS_COLUMN(hs_site_frame, file, STRING_DELTA, 0),
    HS_COLUMN(hs_site_frame, module, STRING_DELTA, 0),
    HS_COLUMN(hs_site_frame, line, DELTA, ANY),
    HS_COLUMN(hs_site_frame, offset, DELTA, ANY),
};
SCHEMA(site_frames, "frame of a site", hs_site_frame);

static const struct hs_column totals_columns[] = {
    HS_COLUMN(hs_snap_totals, n_tree, PLAIN, HS_MAX_BLOCKS),
    HS_COLUMN(hs_snap_totals, n_blocks, PLAIN, HS_MAX_BLOCKS),
    HS_COLUMN(hs_snap_totals, n_edges, PLAIN, ANY),
    HS_COLUMN(hs_snap_totals, n_extra_edges, PLAIN, ANY),
    HS_COLUMN(hs_snap_totals, n_static_blocks, PLAIN, HS_MAX_BLOCKS),
    HS_COLUMN(hs_snap_totals, heap_words, PLAIN, ANY),
    HS_COLUMN(hs_snap_totals, static_words, PLAIN, ANY),
    HS_COLUMN(hs_snap_totals, n_types, PLAIN, UINT32_MAX),
    HS_COLUMN(hs_snap_totals, n_samples, PLAIN, ANY),
    HS_COLUMN(hs_snap_totals, n_strings, PLAIN, UINT32_MAX),
    HS_COLUMN(hs_snap_totals, n_chunks, PLAIN, HS_MAX_BLOCKS),
    HS_COLUMN_SINCE(hs_snap_totals, n_members, PLAIN, ANY, 2),
    HS_COLUMN_SINCE(hs_snap_totals, n_doubtful_edges, PLAIN, HS_UNKNOWN_DOUBT - 1, 3),
};
SCHEMA(totals, "totals", hs_snap_totals);

static const struct hs_column chunks_columns[] = {
    HS_COLUMN(hs_chunk_info, n_edges, PLAIN, ANY),
    HS_COLUMN(hs_chunk_info, n_extra, PLAIN, ANY),
    HS_COLUMN(hs_chunk_info, first_address, DELTA, ANY),
};
SCHEMA(chunks, "chunk", hs_chunk_info);

static const struct hs_column sections_columns[] = {
    HS_COLUMN(hs_section, kind, PLAIN, HS_N_SECTION_KINDS - 1),
    HS_COLUMN(hs_section, flags, PLAIN, HS_SECTION_ZSTD),
    HS_COLUMN(hs_section, id, PLAIN, ANY),
    HS_COLUMN(hs_section, raw_bytes, PLAIN, ANY),
    HS_COLUMN(hs_section, stored_bytes, PLAIN, ANY),
    HS_COLUMN(hs_section, hash, FIXED, ANY),
};
SCHEMA(sections, "section", hs_section);

hs_status hs_facts_encode(const struct hs_snap_facts *f, const struct hs_column_limits *limits,
                          struct hs_buffer *out, struct hs_error *err)
{
    const struct {
        const struct hs_schema *schema;
        const void *records;
        size_t n;
    } lists[] = {
        {&hs_schema_runtimes, f->runtimes, f->n_runtimes},
        {&hs_schema_proofs, f->proofs, f->n_proofs},
        {&hs_schema_binaries, f->binaries, f->n_binaries},
        {&hs_schema_unreadable, f->unreadable, f->n_unreadable},
        {&hs_schema_notes, f->notes, f->n_notes},
        {&hs_schema_memory, f->memory, f->n_memory},
        {&hs_schema_samplers, f->samplers, f->n_samplers},
    };
    HS_TRY(hs_schema_encode(&hs_schema_facts, f, 1, limits, out, err));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        HS_TRY(
            hs_schema_encode_list(lists[i].schema, lists[i].records, lists[i].n, limits, out, err));
    return HS_OK;
}

static hs_status facts_decode_lists(struct hs_cursor *c, const struct hs_column_limits *limits,
                                    struct hs_snap_facts *f, struct hs_error *err)
{
    HS_TRY(
        hs_schema_decode_list(&hs_schema_runtimes, c, limits, &f->runtimes, &f->n_runtimes, err));
    HS_TRY(hs_schema_decode_list(&hs_schema_proofs, c, limits, &f->proofs, &f->n_proofs, err));
    HS_TRY(
        hs_schema_decode_list(&hs_schema_binaries, c, limits, &f->binaries, &f->n_binaries, err));
    HS_TRY(hs_schema_decode_list(&hs_schema_unreadable, c, limits, &f->unreadable, &f->n_unreadable,
                                 err));
    HS_TRY(hs_schema_decode_list(&hs_schema_notes, c, limits, &f->notes, &f->n_notes, err));
    if (limits->version >= 2) {
        HS_TRY(hs_schema_decode_list(&hs_schema_memory, c, limits, &f->memory, &f->n_memory, err));
        HS_TRY(hs_schema_decode_list(&hs_schema_samplers, c, limits, &f->samplers, &f->n_samplers,
                                     err));
        HS_TRY(hs_samplers_verify(f->samplers, f->n_samplers, err));
    }
    for (size_t i = 0; i < f->n_unreadable; i++)
        if (f->unreadable[i].begin > f->unreadable[i].end)
            return hs_fail(err, HS_FORMAT, "unreadable range %zu ends before it begins", i);
    return HS_OK;
}

hs_status hs_facts_decode(struct hs_cursor *c, const struct hs_column_limits *limits,
                          struct hs_snap_facts *ret, struct hs_error *err)
{
    struct hs_snap_facts facts = {0};
    HS_TRY(hs_schema_decode(&hs_schema_facts, c, &facts, 1, limits, err));
    hs_status status = facts_decode_lists(c, limits, &facts, err);
    if (status == HS_OK)
        *ret = facts;
    else
        hs_facts_fini(&facts);
    return status;
}

/* The facts point at arrays that only a reader owns: hence the lost const. */
static void facts_free(const void *array)
{
    hs_free((void *)(uintptr_t)array);
}

void hs_facts_fini(struct hs_snap_facts *facts)
{
    if (facts == NULL)
        return;
    facts_free(facts->runtimes);
    facts_free(facts->samplers);
    facts_free(facts->proofs);
    facts_free(facts->binaries);
    facts_free(facts->unreadable);
    facts_free(facts->notes);
    facts_free(facts->memory);
    *facts = (struct hs_snap_facts){0};
}

void hs_roots_from_first(struct hs_root *roots, uint64_t n_roots)
{
    for (uint64_t i = 0; i < n_roots; i++)
        if (roots[i].level == FIRST_LEAF)
            roots[i].level = HS_LEVEL_LEAF;
}

void hs_roots_tiers_from_second(struct hs_root *roots, uint64_t n_roots)
{
    for (uint64_t i = 0; i < n_roots; i++)
        if (roots[i].level == HS_LEVEL_LEAF &&
            (hs_edge_tier(roots[i].edge_class) != 0 || roots[i].kind == HS_ROOT_REGISTER))
            roots[i].tier = HS_TIER_DOUBTFUL;
}

/* Version 1 let levels be left out. */
static bool roots_is_below(unsigned level, unsigned parent, uint32_t version)
{
    if (version == 1)
        return parent < level;
    return parent + 1 == level || (level == HS_LEVEL_LEAF && parent == HS_LEVEL_UNIT);
}

static hs_status roots_verify_leaf(const struct hs_root *root, uint64_t at,
                                   const struct hs_root_limits *limits, struct hs_error *err)
{
    unsigned long long node = at;
    if (root->level != HS_LEVEL_LEAF && (root->target != HS_NO_NODE || root->edge_class != 0))
        return hs_fail(err, HS_FORMAT, "root %llu: only a leaf has a target", node);
    if (root->tier >= HS_N_TIERS || (root->level != HS_LEVEL_LEAF && root->tier != HS_TIER_FIRM))
        return hs_fail(err, HS_FORMAT, "root %llu: only a leaf has a tier", node);
    if (root->level != HS_LEVEL_LEAF && root->reason != HS_REASON_NONE)
        return hs_fail(err, HS_FORMAT, "root %llu: only a leaf has a reason", node);
    if (root->target != HS_NO_NODE &&
        (root->target < limits->n_roots || root->target - limits->n_roots >= limits->n_blocks))
        return hs_fail(err, HS_FORMAT, "root %llu: its target %llu is out of range", node,
                       (unsigned long long)root->target);
    return HS_OK;
}

static hs_status roots_verify_one(const struct hs_root *roots, uint64_t at,
                                  const struct hs_root_limits *limits, struct hs_error *err)
{
    const struct hs_root *root = &roots[at];
    unsigned long long node = at;
    if ((at == 0) != (root->level == HS_LEVEL_ALL))
        return hs_fail(err, HS_FORMAT, "root %llu: node 0 alone stands at level 0", node);
    if (at == 0 ? root->parent != 0 : root->parent >= at)
        return hs_fail(err, HS_FORMAT, "root %llu: its parent %llu does not stand before it", node,
                       (unsigned long long)root->parent);
    if (at != 0 && !roots_is_below(root->level, roots[root->parent].level, limits->version))
        return hs_fail(err, HS_FORMAT, "root %llu: level %u cannot stand below level %u", node,
                       root->level, roots[root->parent].level);
    return roots_verify_leaf(root, at, limits, err);
}

hs_status hs_roots_verify(const struct hs_root *roots, const struct hs_root_limits *limits,
                          struct hs_error *err)
{
    assert(limits->n_blocks <= HS_MAX_BLOCKS);
    if (limits->n_roots == 0)
        return hs_fail(err, HS_FORMAT, "the tree of roots lacks node 0");
    for (uint64_t i = 0; i < limits->n_roots; i++)
        HS_TRY(roots_verify_one(roots, i, limits, err));
    return HS_OK;
}

hs_status hs_members_verify(const struct hs_member *members, size_t n_members,
                            const struct hs_type *types, size_t n_types, struct hs_error *err)
{
    for (size_t i = 0; i < n_members; i++) {
        const struct hs_member *member = &members[i];
        if (member->type >= n_types)
            return hs_fail(err, HS_FORMAT, "member %zu is of type %u of %zu", i, member->type,
                           n_types);
        if (i > 0 &&
            (member[-1].type > member->type ||
             (member[-1].type == member->type && member[-1].offset_bytes > member->offset_bytes)))
            return hs_fail(err, HS_FORMAT, "member %zu is out of order", i);
        uint64_t stride = types[member->type].stride_bytes;
        if (stride != 0 && member->offset_bytes >= stride)
            return hs_fail(err, HS_FORMAT, "member %zu at %llu lies beyond its element of %llu", i,
                           (unsigned long long)member->offset_bytes, (unsigned long long)stride);
    }
    return HS_OK;
}
