/* The state that the parts of names.h share. */
#ifndef HS_NAMES_NAMES_PRIVATE_H
#define HS_NAMES_NAMES_PRIVATE_H

#include "names/names.h"
#include "native/later.h"
#include "runtimes/dump.h"
#include "snapshot/reader.h"

/* A place from which types begin to flow. */
struct names_seed {
    uint64_t rank;
    uint32_t pointee;
};

struct names_flow {
    uint32_t *words;     /* owned pages: by rank; NULL: types are left out */
    uint32_t *type;      /* owned pages: see flow.c */
    uint64_t *n_pending; /* owned: by chunk */
    uint32_t *stack;     /* owned: blocks of the chunk that is gone through, at most one each */
    size_t n_stack;
    uint64_t chunk;
    bool is_in_chunk;
    uint32_t *known;       /* owned: by type of the snapshot: the same, described; see flow.c */
    struct hs_dict blocks; /* by pointee and words: a type */
    uint64_t reserved_bytes;
};

struct names {
    const struct hs_names_options *options;
    struct hs_names_report *report;
    struct hs_snap *snap; /* owned */
    struct hs_dump_options dump_options;
    struct hs_dump dump; /* without a target: the strings of the new snapshot, and its objects, as
                            many as the snapshot has binaries and in their order */
    hs_str *strings;     /* owned: by number in the old snapshot; [0] is 0 */
    bool *is_found;      /* owned: by object: names are had from its file */
    struct hs_later *later; /* owned */
    struct hs_roots roots;  /* owned; the target of a leaf is the rank of its block, plus 1 */
    struct names_seed *seeds;
    size_t n_seeds, seeds_capacity;
    struct hs_root *tree; /* owned */
    uint64_t n_tree;
    struct names_flow flow;
};

/* ---- files.c: opens what there is of debug files, as dump.objects. Fails with HS_LIMIT. */
hs_status hs_names_find_files(struct names *names, struct hs_error *err);

/* ---- tree.c: calls the objects as the roots of the snapshot do, a program by what it was started
 * as; before names are had of them. */
hs_status hs_names_call_objects(struct names *names, struct hs_error *err);
/* Makes the leaves, the seeds and the tree. */
hs_status hs_names_make_tree(struct names *names, struct hs_error *err);

/* ---- flow.c: finds the types of blocks. */
hs_status hs_names_flow(struct names *names, struct hs_error *err);
/* Returns the type of a block in the new snapshot, where `old` is that in the old one. */
uint32_t hs_names_type(const struct names *names, uint64_t rank, uint32_t old);
void hs_names_flow_fini(struct names *names);

/* ---- copy.c: writes the new snapshot. */
hs_status hs_names_copy(struct names *names, struct hs_out *out, struct hs_error *err);

static inline const char *hs_names_text(const struct names *names, hs_str string)
{
    return hs_strtab_get(&names->dump.strings, string);
}

#endif
