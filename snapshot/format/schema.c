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
};
SCHEMA(facts, "facts", hs_snap_facts);

static const struct hs_column runtimes_columns[] = {
    HS_COLUMN(hs_runtime, name, STRING, 0),
    HS_COLUMN(hs_runtime, version, STRING, 0),
    HS_COLUMN(hs_runtime, certainty, PLAIN, HS_N_CERTAINTIES - 1),
};
SCHEMA(runtimes, "runtime", hs_runtime);

static const struct hs_column proofs_columns[] = {
    HS_COLUMN(hs_proof, what, STRING, 0),
    HS_COLUMN(hs_proof, expected, PLAIN, ANY),
    HS_COLUMN(hs_proof, found, PLAIN, ANY),
    HS_COLUMN(hs_proof, holds, PLAIN, 1),
};
SCHEMA(proofs, "proof", hs_proof);

static const struct hs_column binaries_columns[] = {
    HS_COLUMN(hs_binary, path, STRING, 0),          HS_COLUMN(hs_binary, build_id, STRING, 0),
    HS_COLUMN(hs_binary, begin, DELTA, ANY),        HS_COLUMN(hs_binary, has_symtab, PLAIN, 1),
    HS_COLUMN(hs_binary, has_debug_info, PLAIN, 1),
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

static const struct hs_column roots_columns[] = {
    HS_COLUMN(hs_root, parent, DELTA, ANY),
    HS_COLUMN(hs_root, level, PLAIN, HS_N_LEVELS - 1),
    HS_COLUMN(hs_root, kind, PLAIN, HS_N_ROOT_KINDS - 1),
    HS_COLUMN(hs_root, certainty, PLAIN, HS_N_CERTAINTIES - 1),
    HS_COLUMN(hs_root, weak, PLAIN, 1),
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
};
SCHEMA(roots, "root", hs_root);

static const struct hs_column types_columns[] = {
    HS_COLUMN(hs_type, name, STRING_DELTA, 0),
    HS_COLUMN(hs_type, tag, PLAIN, ANY),
    HS_COLUMN(hs_type, form, PLAIN, HS_N_FORMS - 1),
};
SCHEMA(types, "type", hs_type);

static const struct hs_column samples_columns[] = {
    HS_COLUMN(hs_sample, id, DELTA, ANY),
    HS_COLUMN(hs_sample, node, DELTA | NONE, ANY),
    HS_COLUMN(hs_sample, n_samples, PLAIN, ANY),
    HS_COLUMN(hs_sample, words, PLAIN, ANY),
    HS_COLUMN(hs_sample, state, PLAIN, HS_N_SAMPLE_STATES - 1),
};
SCHEMA(samples, "sample", hs_sample);

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

hs_status hs_facts_encode(const struct hs_snap_facts *f, uint64_t n_strings, struct hs_buffer *out,
                          struct hs_error *err)
{
    HS_TRY(hs_schema_encode(&hs_schema_facts, f, 1, n_strings, out, err));
    HS_TRY(hs_schema_encode_list(&hs_schema_runtimes, f->runtimes, f->n_runtimes, n_strings, out,
                                 err));
    HS_TRY(hs_schema_encode_list(&hs_schema_proofs, f->proofs, f->n_proofs, n_strings, out, err));
    HS_TRY(hs_schema_encode_list(&hs_schema_binaries, f->binaries, f->n_binaries, n_strings, out,
                                 err));
    HS_TRY(hs_schema_encode_list(&hs_schema_unreadable, f->unreadable, f->n_unreadable, n_strings,
                                 out, err));
    return hs_schema_encode_list(&hs_schema_notes, f->notes, f->n_notes, n_strings, out, err);
}

static hs_status facts_decode_lists(struct hs_cursor *c, uint64_t n_strings,
                                    struct hs_snap_facts *f, struct hs_error *err)
{
    HS_TRY(hs_schema_decode_list(&hs_schema_runtimes, c, n_strings, &f->runtimes, &f->n_runtimes,
                                 err));
    HS_TRY(hs_schema_decode_list(&hs_schema_proofs, c, n_strings, &f->proofs, &f->n_proofs, err));
    HS_TRY(hs_schema_decode_list(&hs_schema_binaries, c, n_strings, &f->binaries, &f->n_binaries,
                                 err));
    HS_TRY(hs_schema_decode_list(&hs_schema_unreadable, c, n_strings, &f->unreadable,
                                 &f->n_unreadable, err));
    HS_TRY(hs_schema_decode_list(&hs_schema_notes, c, n_strings, &f->notes, &f->n_notes, err));
    for (size_t i = 0; i < f->n_unreadable; i++)
        if (f->unreadable[i].begin > f->unreadable[i].end)
            return hs_fail(err, HS_FORMAT, "unreadable range %zu ends before it begins", i);
    return HS_OK;
}

hs_status hs_facts_decode(struct hs_cursor *c, uint64_t n_strings, struct hs_snap_facts *ret,
                          struct hs_error *err)
{
    struct hs_snap_facts facts = {0};
    HS_TRY(hs_schema_decode(&hs_schema_facts, c, &facts, 1, n_strings, err));
    hs_status status = facts_decode_lists(c, n_strings, &facts, err);
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
    facts_free(facts->proofs);
    facts_free(facts->binaries);
    facts_free(facts->unreadable);
    facts_free(facts->notes);
    *facts = (struct hs_snap_facts){0};
}

static hs_status roots_verify_one(const struct hs_root *roots, uint64_t at, uint64_t n_roots,
                                  uint64_t n_blocks, struct hs_error *err)
{
    const struct hs_root *root = &roots[at];
    unsigned long long node = at;
    if ((at == 0) != (root->level == HS_LEVEL_ALL))
        return hs_fail(err, HS_FORMAT, "root %llu: node 0 alone stands at level 0", node);
    if (at == 0 ? root->parent != 0 : root->parent >= at)
        return hs_fail(err, HS_FORMAT, "root %llu: its parent %llu does not stand before it", node,
                       (unsigned long long)root->parent);
    if (at != 0 && roots[root->parent].level >= root->level)
        return hs_fail(err, HS_FORMAT, "root %llu: its parent %llu is not above it", node,
                       (unsigned long long)root->parent);
    if (root->target == HS_NO_NODE)
        return HS_OK;
    if (root->level != HS_LEVEL_LEAF)
        return hs_fail(err, HS_FORMAT, "root %llu: only a leaf has a target", node);
    if (root->target < n_roots || root->target - n_roots >= n_blocks)
        return hs_fail(err, HS_FORMAT, "root %llu: its target %llu is out of range", node,
                       (unsigned long long)root->target);
    return HS_OK;
}

hs_status hs_roots_verify(const struct hs_root *roots, uint64_t n_roots, uint64_t n_blocks,
                          struct hs_error *err)
{
    assert(n_blocks <= HS_MAX_BLOCKS);
    if (n_roots == 0)
        return hs_fail(err, HS_FORMAT, "the tree of roots lacks node 0");
    for (uint64_t i = 0; i < n_roots; i++)
        HS_TRY(roots_verify_one(roots, i, n_roots, n_blocks, err));
    return HS_OK;
}
