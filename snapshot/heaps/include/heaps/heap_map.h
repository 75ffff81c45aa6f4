/* The map of the addresses that belong to a live block, in whatever allocator's heap.
 *
 * Memory is cut into *spans* of one form each. A span has one bit per possible start of a block:
 *
 *   headers   a run of glibc chunks: a bit every 16 bytes, a block's size is in its chunk header
 *   uniform   a slab or pool: a bit per region of unit_bytes, which is also the block's size
 *   single    one block that fills the span
 *   marked    blocks of any size: a bit every 8 bytes where one begins, another where it ends
 *
 *   spans:   | headers | uniform | headers | single | ...    ascending and disjoint after seal
 *   starts:  | 1000100 | 1101    | 0011    | 1      | ...    one bitmap in the same order, ranked
 *   pages:   address >> 12 -> the last span that begins at or before the end of the page
 *
 * A span may lie inside a block of another one (a pool carved out of malloc memory): the inner one
 * wins there. Seal cuts the outer span in two around it, so that the outer block ends where the
 * inner span begins, or is no block when nothing is left. Deeper nesting and other overlaps are
 * refused: of two spans the one that was added first stays.
 *
 * Order of use: add spans, seal, set live bits, index, then look up and iterate.
 * Resident: 2 bits per 16 bytes of chunk heaps, per 8 bytes of marked spans, and per region of
 * slabs (ranks an eighth more), 48 bytes per span, and 8 KB for every 8 MB of address space in
 * which a span begins: what lies inside one huge span costs nothing. A look-up is three steps to a
 * page's entry, a span, one or two words of the bitmaps: about 20 ns; where a marked block of more
 * than 8 KiB ends takes a search of O(log n). It does not touch the copy, but for the header of a
 * chunk of more than 16 KiB: what is resolved may be far from what is in memory. */
#ifndef HS_HEAPS_HEAP_MAP_H
#define HS_HEAPS_HEAP_MAP_H

#include "arch/processor.h"
#include "base/bitmap.h"
#include "heaps/allocators.h"
#include "process/image.h"
#include "snapshot/model.h"

enum hs_span_form { HS_SPAN_HEADERS, HS_SPAN_UNIFORM, HS_SPAN_SINGLE, HS_SPAN_MARKED };

/* The owner of a span: an allocator (heaps/allocators.h), by its number, or one of the two behind
 * them. */
#define HS_OWNER_NUMBER(name) HS_OWNER_##name,
enum hs_heap_owner {
    HS_ALLOCATORS(HS_OWNER_NUMBER) HS_N_ALLOCATORS,
    HS_OWNER_RUNTIME = HS_N_ALLOCATORS, /* a runtime's own blocks: none of this map is there */
    HS_OWNER_MAPPING, /* an unclaimed private mapping: one node per piece of at most 1 MiB */
    HS_N_OWNERS
};
const char *hs_heap_owner_name(unsigned owner); /* "glibc", "unclaimed", ...; NULL out of range */

struct hs_heap_span {
    hs_addr begin, end; /* of the blocks' own memory; of a HEADERS span: 16-aligned user addresses,
                           `end` is where the last block may end at most */
    const uint8_t *bytes; /* borrowed from the image, the byte at begin; NULL: not in one piece of
                             the copy (its blocks still may be); set by seal */
    uint64_t first_bit;   /* set by seal */
    uint64_t unit_bytes;  /* 16; 8 of a MARKED one; the size of each region, at least 8; of a SINGLE
                             span, set by add: its size before seal cut it */
    uint32_t tag;         /* the allocator's own: a size class, the number of a pool */
    uint8_t form, owner;
    uint8_t states; /* enum hs_block_state bits that all its blocks have */
};

struct hs_heap_map {
    const struct hs_image *image; /* borrowed */
    struct hs_heap_span *spans;   /* owned; ascending begin after seal */
    size_t n_spans, spans_capacity;
    struct hs_bitmap starts;
    struct hs_bitmap stops; /* where a marked block ends; after index: where a chunk ends and no
                               live one begins, so the size of most is known without headers */
    uint64_t n_blocks;      /* after index */
    uint64_t n_stops;       /* after index, where there are MARKED spans */
    uint64_t n_unfit;       /* added, but no spans: see hs_heap_map_add */
    struct hs_page_table *pages; /* owned; private to heap_map_pages.c */
    bool is_sealed, is_indexed;
};

void hs_heap_map_init(struct hs_heap_map *map, const struct hs_image *image);
void hs_heap_map_fini(struct hs_heap_map *map);

/* `first_bit` and `bytes` are ignored. The end of a UNIFORM span is lowered to whole regions. What
 * can be no span (empty, not below 2^47, chunks not aligned) is dropped and counted as refused by
 * seal. O(1). */
hs_status hs_heap_map_add(struct hs_heap_map *map, const struct hs_heap_span *span,
                          struct hs_error *err);
/* Sorts, refuses overlaps (*ret_n_refused counts), cuts outer spans, lays out the bits, builds the
 * page table. O(n log n) in spans. Fails with HS_LIMIT: out of memory, or over 2^38 bits (4 TB of
 * chunks). */
hs_status hs_heap_map_seal(struct hs_heap_map *map, uint64_t *ret_n_refused, struct hs_error *err);

/* A block starts at `address` and lives. False (and nothing set) when no span can have it there: no
 * start of a region, or a chunk header below 32 bytes. Sealed only, like the two below. */
bool hs_heap_map_set(struct hs_heap_map *map, hs_addr address);
/* The same for a block of a MARKED span, which ends at `end`; both lie at multiples of 8 bytes from
 * the beginning of one span. */
bool hs_heap_map_set_marked(struct hs_heap_map *map, hs_addr address, hs_addr end);
void hs_heap_map_clear(struct hs_heap_map *map, hs_addr address);
bool hs_heap_map_is_set(const struct hs_heap_map *map, hs_addr address);
/* Clears it, and says how many bytes the block that starts there had. False (and nothing done) when
 * none does. */
bool hs_heap_map_take(struct hs_heap_map *map, hs_addr address, uint64_t *ret_n_bytes);
/* The span that holds `address`, or NULL. */
const struct hs_heap_span *hs_heap_map_span_at(const struct hs_heap_map *map, hs_addr address);

/* Builds the index when all bits are set: ranks, and the ends of chunks by their headers, in
 * address order. Fails with HS_LIMIT. */
hs_status hs_heap_map_index(struct hs_heap_map *map, struct hs_error *err);

struct hs_heap_block {
    hs_addr begin;
    uint64_t n_bytes;     /* usable; not 0 */
    uint64_t rank;        /* how many live blocks begin below: node number minus n_tree */
    const uint8_t *bytes; /* n_bytes of the image; NULL when not in the copy */
    const struct hs_heap_span *span;
};

/* The ways in which a word leads to a block. */
enum hs_pointer {
    HS_POINTER_NONE,
    HS_POINTER_START,
    HS_POINTER_INTERIOR,
    HS_POINTER_PAST_END /* exactly at its end, and no live block holds that address; chunks only:
                           in a slab the next region begins there */
};

/* The live block that `word` leads to; *ret is untouched for HS_POINTER_NONE. Indexed only. O(1);
 * O(log n) for one deep inside a large block. */
enum hs_pointer hs_heap_map_resolve(const struct hs_heap_map *map, uint64_t word,
                                    struct hs_heap_block *ret);

/* A quick no for words that cannot lead into any span. */
static inline bool hs_heap_map_may_hold(const struct hs_heap_map *map, uint64_t word)
{
    return map->n_spans != 0 && word - map->spans[0].begin < HS_USER_END;
}

/* All live blocks in address order: `struct hs_heap_iterator it = {.map = map}; while (next)`. */
struct hs_heap_iterator {
    const struct hs_heap_map *map;
    size_t span;        /* private, like the rest */
    uint64_t bit, rank; /* of the next candidate */
};
bool hs_heap_map_next(struct hs_heap_iterator *it, struct hs_heap_block *ret);
/* Goes on with block number `rank`, which there must be. O(log n). */
void hs_heap_map_seek(struct hs_heap_iterator *it, uint64_t rank);
/* The same for one that is not before the next. O(1) where it is near. */
void hs_heap_map_forward(struct hs_heap_iterator *it, uint64_t rank);
/* Counts the live blocks that begin below an address, whatever is there. Indexed only. O(log n) in
 * spans. */
uint64_t hs_heap_map_below(const struct hs_heap_map *map, hs_addr address);
/* Bytes of all its tables. */
uint64_t hs_heap_map_table_bytes(const struct hs_heap_map *map);

#endif
