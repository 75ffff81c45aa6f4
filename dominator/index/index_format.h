/* The bytes of an index file. A cache, not an exchange format: in the byte order of the machine
 * that wrote it; anything else is rebuilt. What it holds follows from the snapshot alone: every
 * engine writes the same bytes.
 *
 *   | header | section | padding to 4096 | section | padding | ... | section |
 *
 *   REACHABLE      struct hs_sizes per node of the root tree, then an XXH3 per INDEX_SIZES_PAGE of
 *                  them. Its place is known before anything else is.
 *   PREDECESSORS   packed rows (graph/packed.h): sources of strong and active ephemeron edges, the
 *                  node itself left out
 *   RETAINED       packed cells: words, objects << 1 | has_static, and when it has: static words,
 *                  static objects. Zeros for what is not reached
 *   IDOM           packed cells of one number: INDEX_IDOM_NONE for node 0 and unreached blocks,
 *                  INDEX_IDOM_ONLY for the only predecessor where the row above has one alone, else
 *                  INDEX_IDOM_FAR + zigzag(node - idom)
 *   OWNERS         packed cells of one number: tier (enum hs_tier, HS_TIER_NONE) | code << 2: 0 for
 * a node that is no top unit (dominator/owner_sets.h), the set's number, or INDEX_OWNER_OTHERS for
 * a set that has none SET_ROOTS      packed rows, one per set and an empty one before: nodes of the
 * root tree. A set that is not listed has an empty one SETS           packed cells, one per set and
 * one of zeros before: words, objects << 1 | has_static, [static words, static objects], top units,
 * roots, first top unit DOMINATED      packed rows: children in the dominator tree
 *
 * The header is rewritten after each section, so that what is finished of a file that is being
 * written (`heap.snap.idx.part`) can be used by the next run; sections without bytes are not there.
 * Nothing but a key and places stands in it: the sections carry their own hashes, page by page. */
#ifndef HS_INDEX_FORMAT_H
#define HS_INDEX_FORMAT_H

#include "dominator/owner_sets.h"
#include "dominator/weights.h"
#include "graph/packed.h"

#define INDEX_MAGIC 0x337864692e736e73ULL /* "sns.idx3" */
#define INDEX_VERSION 3
#define INDEX_PAGE 4096
#define INDEX_SIZES_PAGE 128

#define INDEX_IDOM_NONE 0
#define INDEX_IDOM_ONLY 1
#define INDEX_IDOM_FAR 2

#define INDEX_TIER_BITS 2
#define INDEX_OWNER_OTHERS ((uint64_t)HS_SET_OTHERS)

/* The sections, in the order of the file. */
enum index_section {
    INDEX_REACHABLE,
    INDEX_PREDECESSORS,
    INDEX_RETAINED,
    INDEX_IDOM,
    INDEX_OWNERS,
    INDEX_SET_ROOTS,
    INDEX_SETS,
    INDEX_DOMINATED,
    INDEX_N_SECTIONS
};

struct index_extent {
    uint64_t offset, n_bytes;
};

struct index_header {
    uint64_t magic;
    uint32_t version, n_sections;
    uint64_t snap_checksum, snap_bytes;
    uint64_t policy; /* struct index_policy: 0 firm, 1 conservative */
    uint64_t n_nodes, n_tree;
    uint64_t n_predecessors;            /* in all rows */
    struct hs_sizes reached, unreached; /* 0 before RETAINED is there */
    uint64_t n_sets, n_other_sets;      /* 0 before OWNERS is there; at most HS_OWNER_SETS_MAX */
    struct hs_sizes other_sets;
    struct index_extent sections[INDEX_N_SECTIONS];
    uint64_t checksum; /* XXH3 of all before it */
};

static inline uint64_t index_sizes_pages(uint64_t n_tree)
{
    return n_tree / INDEX_SIZES_PAGE + (n_tree % INDEX_SIZES_PAGE != 0);
}

static inline uint64_t index_reachable_bytes(uint64_t n_tree)
{
    return n_tree * sizeof(struct hs_sizes) + index_sizes_pages(n_tree) * sizeof(uint64_t);
}

static inline uint64_t index_page_end(uint64_t offset)
{
    return (offset + INDEX_PAGE - 1) / INDEX_PAGE * INDEX_PAGE;
}

/* Returns the most roots in all rows of SET_ROOTS: they take a part of the time and of the room
 * that all else takes. */
static inline uint64_t index_max_listed(uint64_t n_nodes)
{
    const uint64_t least = (uint64_t)1 << 20, most = (uint64_t)1 << 26;
    return n_nodes < least ? least : n_nodes > most ? most : n_nodes;
}

/* The cells of a packed section. */
static inline uint64_t index_n_cells(const struct index_header *header, enum index_section section)
{
    return section == INDEX_SETS || section == INDEX_SET_ROOTS ? header->n_sets + 1
                                                               : header->n_nodes;
}

/* Returns the bound of the values in a packed section. */
static inline uint64_t index_n_values(const struct index_header *header, enum index_section section)
{
    return section == INDEX_SET_ROOTS ? header->n_tree : header->n_nodes;
}

/* Returns the offset of the first packed section. */
static inline uint64_t index_packed_begin(uint64_t n_tree)
{
    return index_page_end(INDEX_PAGE + index_reachable_bytes(n_tree));
}

#endif
