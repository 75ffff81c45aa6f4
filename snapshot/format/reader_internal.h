/* The open snapshot, shared by the sources of the reader. */
#ifndef HS_FORMAT_READER_INTERNAL_H
#define HS_FORMAT_READER_INTERNAL_H

#include "base/file.h"
#include "chunk_codec.h"
#include "section_reader.h"
#include "snapshot/reader.h"

struct hs_snap {
    struct hs_map map; /* owned; empty when the bytes are borrowed */
    struct hs_file_bytes file;
    struct hs_header header;
    bool is_cut;
    bool has_types; /* the table was read; false in a file cut before it */
    uint64_t cut_offset;
    struct hs_snap_facts facts; /* its arrays are owned */
    struct hs_snap_totals totals;
    struct hs_section *sections; /* owned; the trailer is not among them */
    size_t n_sections, sections_capacity;
    struct hs_chunk_info *chunks; /* owned */
    size_t n_chunks;
    char *text; /* owned: all strings, NUL-terminated */
    size_t text_bytes, text_capacity;
    uint64_t *string_begin; /* owned: of string id - 1 */
    size_t n_strings, string_capacity;
    struct hs_root *roots; /* owned */
    size_t n_roots;
    struct hs_type *types; /* owned */
    size_t n_types;
    struct hs_member *members; /* owned */
    size_t n_members;
    struct hs_sample *samples; /* owned */
    size_t n_samples;
    struct hs_site_frame *site_frames; /* owned */
    size_t n_site_frames;
    uint32_t n_sites;
    uint64_t *in_degrees; /* owned */
    size_t n_in_degrees;
};

/* An array of a chunk and how many elements it has room for. */
struct hs_chunk_storage {
    struct hs_unpacker unpacker;
    hs_addr *address;
    uint64_t *words;
    uint8_t *state;
    uint32_t *type;
    uint64_t *edge_begin;
    hs_node *target;
    uint64_t *offset_words;
    uint8_t *edge_class;
    uint8_t *edge_reason;
    struct hs_extra_edge *extra;
    struct hs_block_count *counts;
    size_t address_capacity, words_capacity, state_capacity, type_capacity, edge_begin_capacity;
    size_t target_capacity, offset_capacity, class_capacity, reason_capacity, extra_capacity;
    size_t counts_capacity;
};

/* The small tables, from sections[] that are known to be in the right order. n_chunks is the number
 * of whole chunks; `whole_tables` says that the sections after the chunks are there. */
hs_status hs_snap_read_tables(struct hs_snap *snap, bool whole_tables, struct hs_error *err);

/* Totals and directory from the trailer of a whole file. */
hs_status hs_snap_read_trailer(struct hs_snap *snap, const struct hs_footer *footer,
                               struct hs_error *err);

/* The result of a walk from head to head: where it ended. */
struct hs_walk {
    uint64_t n_whole;          /* sections that are all there */
    uint64_t cut_offset;       /* where the first one that is not begins, or would begin */
    bool is_damaged;           /* an impossible head stands there, though there is room for one */
    struct hs_section damaged; /* that head */
};

/* Walks from the front; collects the whole sections into snap->sections. */
hs_status hs_snap_walk(struct hs_snap *snap, struct hs_walk *ret, struct hs_error *err);

/* Opens what is whole of a file without an end. */
hs_status hs_snap_open_cut(struct hs_snap *snap, const struct hs_walk *walk, struct hs_error *err);

/* The section of a chunk's column. */
const struct hs_section *hs_snap_chunk_section(const struct hs_snap *snap, uint64_t chunk,
                                               enum hs_section_kind kind);

#endif
