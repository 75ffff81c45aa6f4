/* The destination of the bytes of a new index: appended once, patched at few places, readable
 * meanwhile.
 *
 *   named     a file that gets its name when it is whole. Meanwhile it is `NAME.part`, locked,
 *             which stays when the work is interrupted and is found by the next; or, when another
 *             process has that, a neighbour of NAME that goes when we do
 *   unnamed   a spill file, for when nothing may be kept
 *   memory    pages, reserved in the budget as they are written
 *
 * What is written to a file is pushed to disk and out of the page cache piece by piece. */
#ifndef HS_INDEX_OUTPUT_H
#define HS_INDEX_OUTPUT_H

#include "base/file.h"
#include "base/spill.h"

struct index_output {
    struct hs_spill file;               /* not open: into memory */
    char *path;                         /* owned; NULL: it has no name */
    char *temporary;                    /* owned; its name until it is committed */
    bool is_part;                       /* `temporary` is NAME.part */
    const struct hs_out_access *access; /* borrowed */
    bool failed;                      /* a write failed: the fault is the place's, not the work's */
    struct hs_budget *budget;         /* borrowed */
    uint8_t *memory;                  /* owned pages */
    uint64_t capacity;                /* bytes of them that may be used */
    uint64_t n_bytes, reserved_bytes; /* of memory: written, reserved in the budget */
};

/* Opens a named output. HS_IO when no such file can be written. `access` is kept, may be NULL, and
 * is given when the file is whole: until then it is for its owner alone. */
hs_status index_output_open_named(const char *path, bool resume, const struct hs_out_access *access,
                                  struct index_output *ret, struct hs_error *err);
hs_status index_output_open_unnamed(const struct hs_budget *budget, struct index_output *ret,
                                    struct hs_error *err);
/* Opens an output in memory; `capacity` is address space: only what is written is resident. */
hs_status index_output_open_memory(uint64_t capacity, struct hs_budget *budget,
                                   struct index_output *ret, struct hs_error *err);
/* Closes an output. An uncommitted file is removed, but a part file when it is to be kept. */
void index_output_close(struct index_output *out, bool keep_part);

/* Returns the bytes so far. */
uint64_t index_output_size(const struct index_output *out);
hs_status index_output_append(struct index_output *out, const void *bytes, uint64_t n_bytes,
                              struct hs_error *err);
/* Appends zeros up to `size`. */
hs_status index_output_pad(struct index_output *out, uint64_t size, struct hs_error *err);
/* Overwrites bytes that are there. */
hs_status index_output_patch(struct index_output *out, uint64_t at, const void *bytes,
                             uint64_t n_bytes, struct hs_error *err);
/* Forgets what comes behind `size`. */
hs_status index_output_cut(struct index_output *out, uint64_t size, struct hs_error *err);

/* Gives [begin, end), written, for reading; `begin` a multiple of the system's page. A map of a
 * file is returned in *ret_map, for hs_map_close; memory needs none, then it is zero. */
hs_status index_output_view(struct index_output *out, uint64_t begin, uint64_t end,
                            struct hs_map *ret_map, const uint8_t **ret, struct hs_error *err);

/* Flushes to disk and gives the file its name. Only close may follow. */
hs_status index_output_commit(struct index_output *out, struct hs_error *err);

#endif
