/* Reads heap.snap. The file is hostile: everything is bounds-checked and every section's checksum
 * is verified before its bytes are used. No function of this header returns an unchecked number:
 * node numbers are below n_tree + n_blocks, strings and types exist.
 *
 * Of a file that is cut, the totals are those of its whole chunks. Pointers to blocks that are
 * missing are left out, and roots of such blocks have no target. Unless only its last section is
 * missing, it has no samples, one nameless type for all, no histogram, and checksum 0.
 *
 * Thread rule: an open snapshot is read-only and may be shared; each thread has its own chunk. */
#ifndef HS_SNAPSHOT_READER_H
#define HS_SNAPSHOT_READER_H

#include "base/progress.h"
#include "snapshot/model.h"

#define HS_FORMAT_VERSION 5 /* the one that is written; all from 1 on are read */
#define HS_CHUNK_BLOCKS 65536

struct hs_snap;

enum hs_snap_open_flags {
    HS_SNAP_ALLOW_CUT = 1 << 0, /* open what is whole of a file that ends early */
};

/* Opens a file ("-" = standard input). HS_FORMAT with a message that tells apart: not a snapshot,
 * empty, cut (at which byte), damaged, too new. Cost: the root tree, types, strings and samples in
 * memory; blocks are decoded on demand. */
hs_status hs_snap_open(const char *path, unsigned flags, struct hs_snap **ret,
                       struct hs_error *err);
/* The same over borrowed bytes (tests, fuzzing). */
hs_status hs_snap_open_bytes(const void *bytes, size_t n_bytes, unsigned flags,
                             struct hs_snap **ret, struct hs_error *err);
void hs_snap_close(struct hs_snap *snap);

/* All borrowed until close; numbers out of range are a bug of the caller's. */
bool hs_snap_is_cut(const struct hs_snap *snap);
uint32_t hs_snap_format_version(const struct hs_snap *snap);
const struct hs_snap_facts *hs_snap_facts(const struct hs_snap *snap);
const struct hs_snap_totals *hs_snap_totals(const struct hs_snap *snap);
const char *hs_snap_string(const struct hs_snap *snap, hs_str id); /* "" for 0 */
const struct hs_root *hs_snap_root(const struct hs_snap *snap, hs_node tree_node);
const struct hs_type *hs_snap_type(const struct hs_snap *snap, uint32_t type);
/* The members of a type, ascending by offset; NULL with *ret_n 0 when it has none. O(log n). */
const struct hs_member *hs_snap_members(const struct hs_snap *snap, uint32_t type, size_t *ret_n);
/* The member in which an offset of a block of the type lies: the first of those that begin nearest
 * at or before it. In an array the offset counts within its element, whose number is *ret_element
 * (else 0; may be NULL). NULL when none begins there or before. O(log n). */
const struct hs_member *hs_snap_member_at(const struct hs_snap *snap, uint32_t type,
                                          uint64_t offset_bytes, uint64_t *ret_element);
/* at < n_samples, ascending by id, then sampler. */
const struct hs_sample *hs_snap_sample(const struct hs_snap *snap, size_t at);
/* The samples with this id, of different samplers, side by side; NULL with *ret_n 0 when there is
 * none. O(log n). */
const struct hs_sample *hs_snap_find_samples(const struct hs_snap *snap, uint64_t id,
                                             size_t *ret_n);
uint32_t hs_snap_n_sites(const struct hs_snap *snap);
/* The frames of a site, the innermost first; at least one. site < n_sites. O(log n). */
const struct hs_site_frame *hs_snap_site(const struct hs_snap *snap, uint32_t site, size_t *ret_n);

/* In-degree of each run of 1024 blocks: strong edges, duplicates counted, and leaves of the root
 * tree that are not weak. *ret_n is 0 when the file is cut before it. */
const uint64_t *hs_snap_in_degrees(const struct hs_snap *snap, size_t *ret_n);

enum hs_columns {
    HS_COL_SIZES = 1 << 0,   /* address[], words[], state[] */
    HS_COL_TYPES = 1 << 1,   /* type[] */
    HS_COL_EDGES = 1 << 2,   /* edge_begin[], target[] */
    HS_COL_FIELDS = 1 << 3,  /* offset_words[], edge_class[]; brings HS_COL_EDGES too */
    HS_COL_EXTRA = 1 << 4,   /* extra[] */
    HS_COL_CLASSES = 1 << 5, /* edge_class[] alone, at a fraction of the cost; brings
                                HS_COL_EDGES too */
    HS_COL_REASONS = 1 << 6, /* edge_reason[]; brings HS_COL_FIELDS too */
    HS_COL_COUNTS = 1 << 7,  /* counts[]; brings HS_COL_TYPES too */
    HS_COL_ALL = (1 << 8) - 1
};

struct hs_extra_edge {
    hs_node source, target;
    uint64_t offset_words;
    uint8_t edge_class; /* HS_EDGE_EPHEMERON and above */
    uint8_t reason;     /* enum hs_reason; 0 before version 4 */
};

/* A block that is the body of a container: its elements, and how many there is room for. */
struct hs_block_count {
    uint32_t at;            /* of the chunk's blocks; ascending */
    uint64_t entries, room; /* room HS_NO_ROOM: it is not known */
};
#define HS_NO_ROOM UINT64_MAX

/* One decoded chunk. Zero it first; load reuses its arrays; fini frees them. */
struct hs_chunk {
    hs_node first; /* node number of the first block */
    uint32_t n_blocks;
    uint64_t n_edges, n_extra;
    hs_addr *address;
    uint64_t *words;
    uint8_t *state;
    uint32_t *type;
    uint64_t *edge_begin; /* n_blocks + 1 offsets into target[], first 0 */
    hs_node *target;      /* ascending within a block; duplicates kept */
    bool has_plain_rows;  /* it is known that target[] has no duplicates and no self loops */
    uint64_t *offset_words;
    uint8_t *edge_class;
    uint8_t *edge_reason;          /* enum hs_reason: 0 of sure edges, and before version 4 */
    struct hs_extra_edge *extra;   /* ascending by source, target */
    struct hs_block_count *counts; /* of few blocks; none before version 5 */
    uint32_t n_counts;
    struct hs_chunk_storage *storage; /* owned */
};

/* Decodes the asked columns of chunk `at` < n_chunks. HS_FORMAT when damaged. */
hs_status hs_snap_load_chunk(const struct hs_snap *snap, uint64_t at, unsigned columns,
                             struct hs_chunk *chunk, struct hs_error *err);
/* The same for a chunk that was loaded with the columns `had` (0: it was not), which stay: only
 * what is missing is decoded. After a failure it has none. */
hs_status hs_snap_load_more(const struct hs_snap *snap, uint64_t at, unsigned had, unsigned columns,
                            struct hs_chunk *chunk, struct hs_error *err);
void hs_chunk_fini(struct hs_chunk *chunk);
/* The most memory that chunk `at` takes while and after these columns of it are decoded, as the
 * trailer has it: bytes of the file that are looked at included. O(1), without reading it. */
uint64_t hs_snap_chunk_bytes(const struct hs_snap *snap, uint64_t at, unsigned columns);
/* Returns how many edges the chunk has at most, and extra edges, as the trailer has it. O(1). */
uint64_t hs_snap_chunk_edges(const struct hs_snap *snap, uint64_t at, uint64_t *ret_extra);

/* The only chunk that can have a block which contains the address, by the table of first addresses:
 * *ret < n_chunks, or false where none can. */
bool hs_snap_address_chunk(const struct hs_snap *snap, hs_addr address, uint64_t *ret);
/* The block of a chunk with HS_COL_SIZES that contains it, or HS_NO_NODE. */
hs_node hs_chunk_find_address(const struct hs_chunk *chunk, uint32_t word_bytes, hs_addr address);

/* The block that contains a target address: its node, or HS_NO_NODE in *ret. Cost: one chunk. */
hs_status hs_snap_find_address(const struct hs_snap *snap, hs_addr address, hs_node *ret,
                               struct hs_error *err);

/* Reads and verifies everything: each section's checksum, each number's range, orders, totals,
 * tree, histogram. Cost: one decode of all columns, 8 bytes per 1024 blocks. */
hs_status hs_snap_check(const struct hs_snap *snap, const struct hs_progress *progress,
                        struct hs_error *err);

#endif
