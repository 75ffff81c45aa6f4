/* The record tables of heap.snap: which members of the model are stored, in which order and form.
 * docs/format.md lists the same tables. */
#ifndef HS_FORMAT_SCHEMA_H
#define HS_FORMAT_SCHEMA_H

#include "column.h"
#include "layout.h"
#include "snapshot/model.h"

extern const struct hs_schema hs_schema_facts; /* one record: the scalars of hs_snap_facts */
extern const struct hs_schema hs_schema_runtimes;
extern const struct hs_schema hs_schema_proofs;
extern const struct hs_schema hs_schema_binaries;
extern const struct hs_schema hs_schema_unreadable;
extern const struct hs_schema hs_schema_notes;
extern const struct hs_schema hs_schema_memory; /* since version 2 */
extern const struct hs_schema hs_schema_roots;
extern const struct hs_schema hs_schema_types;
extern const struct hs_schema hs_schema_members; /* since version 2 */
extern const struct hs_schema hs_schema_samples;
extern const struct hs_schema hs_schema_samplers;    /* since version 2 */
extern const struct hs_schema hs_schema_site_frames; /* since version 2 */
extern const struct hs_schema hs_schema_totals;      /* one record */
extern const struct hs_schema hs_schema_chunks;
extern const struct hs_schema hs_schema_sections;

/* The META section. Decoding allocates the six lists into `ret`, which hs_facts_fini frees; on
 * failure nothing is left allocated. */
hs_status hs_facts_encode(const struct hs_snap_facts *facts, const struct hs_column_limits *limits,
                          struct hs_buffer *out, struct hs_error *err);
hs_status hs_facts_decode(struct hs_cursor *c, const struct hs_column_limits *limits,
                          struct hs_snap_facts *ret, struct hs_error *err);
void hs_facts_fini(struct hs_snap_facts *facts);

/* The rules of the tree and of the targets: [n_tree, n_tree + n_blocks) or none. HS_FORMAT names
 * the first node that breaks one. */
struct hs_root_limits {
    uint32_t version; /* in version 1 levels may be left out */
    uint64_t n_roots, n_blocks;
};
hs_status hs_roots_verify(const struct hs_root *roots, const struct hs_root_limits *limits,
                          struct hs_error *err);

/* Translates the levels of version 1, which has none of variables, before they are verified. */
void hs_roots_from_first(struct hs_root *roots, uint64_t n_roots);
/* Gives roots of versions before 3, which had no tiers, the doubtful tier where their words or
 * registers are surely in doubt. */
void hs_roots_tiers_from_second(struct hs_root *roots, uint64_t n_roots);

/* The rules of members: of types that exist, ascending, within the element. */
hs_status hs_members_verify(const struct hs_member *members, size_t n_members,
                            const struct hs_type *types, size_t n_types, struct hs_error *err);

/* ---- sites.c */
/* Periods are numbers, not negative. HS_FORMAT names the first that is not. */
hs_status hs_samplers_verify(const struct hs_sampler *samplers, size_t n, struct hs_error *err);

struct hs_samples_limits {
    uint64_t n_roots, n_blocks, n_samplers, n_sites;
};
/* Nodes, samplers and sites exist; order by id, then sampler. */
hs_status hs_samples_verify(const struct hs_sample *samples, size_t n,
                            const struct hs_samples_limits *limits, struct hs_error *err);

/* Numbered from 0 on without a gap. */
hs_status hs_site_frames_verify(const struct hs_site_frame *frames, size_t n, uint32_t *ret_n_sites,
                                struct hs_error *err);

#endif
