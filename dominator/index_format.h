/* The bytes of an index file. A cache, not an exchange format: in the byte order and with the array
 * widths of the machine that wrote it; anything else is rebuilt.
 *
 *   | section | padding to 4096 | section | padding | ... | footer |
 *
 * The footer stands at the end, so that sections are written as they are finished. Arrays are
 * indexed by node unless said otherwise. */
#ifndef HS_INDEX_FORMAT_H
#define HS_INDEX_FORMAT_H

#include "dominator/weights.h"

#define INDEX_MAGIC 0x317864692e736e73ULL /* "sns.idx1" */
#define INDEX_VERSION 1
#define INDEX_PAGE 4096

enum index_section {
    INDEX_IDOM,              /* u32; HS_NONE for node 0 and unreached blocks */
    INDEX_PREDECESSOR_BEGIN, /* u32, n_nodes + 1 */
    INDEX_PREDECESSORS,      /* u32 */
    INDEX_DOMINATED_BEGIN,   /* u32, n_nodes + 1 */
    INDEX_DOMINATED,         /* u32 */
    INDEX_WORDS,             /* retained; u32 or u64, whichever holds the total */
    INDEX_OBJECTS,           /* u32 */
    INDEX_STATIC_BITS,       /* bitmap of u64: nodes that retain static data */
    INDEX_STATIC_WORDS,      /* of those nodes alone; u32 or u64 */
    INDEX_STATIC_OBJECTS,    /* of those nodes alone; u32 */
    INDEX_REACHABLE,         /* struct hs_sizes per tree node */
    INDEX_N_SECTIONS
};

struct index_extent {
    uint64_t offset, n_bytes;
    uint64_t checksum; /* XXH3, 64 bits */
};

struct index_footer {
    uint64_t magic;
    uint32_t version, n_sections;
    uint64_t snap_checksum, snap_bytes;
    uint32_t n_nodes, n_tree;
    uint64_t n_predecessors, n_dominated, n_static;
    struct hs_sizes reached, unreached;
    struct index_extent sections[INDEX_N_SECTIONS];
    uint64_t checksum; /* of all before it */
};

/* Bytes per value of a retained size in words, whose largest is the total. */
static inline uint64_t index_words_width(uint64_t total)
{
    return total <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* What a section must have, given the counts of the footer. */
uint64_t hs_index_section_bytes(const struct index_footer *footer, enum index_section section);

#endif
