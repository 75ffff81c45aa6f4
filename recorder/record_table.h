/* The table of sampled blocks, with the backtraces of their allocations: what table.h describes,
 * kept by the process itself. A filter in front of it says in a few instructions, and without a
 * lock, that a block is no sample.
 *
 * Everything lives in anonymous mappings of bounded size. All but hs_record_maybe is called under
 * the recorder's lock. */
#ifndef HS_RECORD_TABLE_H
#define HS_RECORD_TABLE_H

#include <heapsnap/recorded.h>

#include <stdbool.h>
#include <stddef.h>

#define HS_RECORD_SLOTS_MIN 256U
#define HS_RECORD_SLOTS_MAX (1U << 22)
#define HS_RECORD_STACKS_BYTES (UINT64_C(256) << 20) /* of address space, touched as it is used */
#define HS_RECORD_STACK_HEADS (1U << 16)
#define HS_RECORD_PAGE_BITS 16
#define HS_RECORD_FILTER_BITS 18

/* The counters of samples for each page of address space, modulo 256 MiB: a byte for 4 KiB of heap,
 * so that it stays in the innermost cache. And behind it for each 64 bytes, modulo 16 MiB. */
extern uint8_t hs_record_pages[1U << HS_RECORD_PAGE_BITS] __attribute__((visibility("hidden")));
extern uint8_t hs_record_filter[1U << HS_RECORD_FILTER_BITS] __attribute__((visibility("hidden")));

static inline uint8_t *hs_record_page_of(uint64_t address)
{
    return &hs_record_pages[address >> 12 & ((1U << HS_RECORD_PAGE_BITS) - 1)];
}

static inline uint8_t *hs_record_filter_of(uint64_t address)
{
    return &hs_record_filter[address >> 6 & ((1U << HS_RECORD_FILTER_BITS) - 1)];
}

static inline bool hs_record_maybe(const void *block)
{
    uint64_t address = (uint64_t)(uintptr_t)block;

    if (__builtin_expect(__atomic_load_n(hs_record_page_of(address), __ATOMIC_RELAXED) == 0, 1))
        return false;
    return __atomic_load_n(hs_record_filter_of(address), __ATOMIC_RELAXED) != 0;
}

/* Makes every later question about this address end in the table: for blocks that are special. */
void hs_record_filter_mark(const void *address);

struct hs_record_table {
    struct hs_record_anchor
        *anchor;          /* slots, n_slots, stacks and stacks_bytes are kept up to date */
    uint64_t n_live;      /* slots with an address */
    uint64_t n_used;      /* and those that were used */
    uint64_t stacks_room; /* bytes mapped */
    uint32_t *heads;      /* of the chains of stacks */
};

/* Maps the first slots and the stacks; false without memory, then nothing is mapped. */
bool hs_record_table_init(struct hs_record_table *table, struct hs_record_anchor *anchor);
/* Unmaps everything and clears the filter. */
void hs_record_table_fini(struct hs_record_table *table);

/* Finds the offset of these frames in the stacks / 8; the same one for the same frames. 0 when
 * there are none, or no room. */
uint32_t hs_record_table_stack(struct hs_record_table *table, const uint64_t *frames,
                               unsigned n_frames);

/* Puts a new sample; false when there is no room. An entry of the same address must be taken
 * before. */
bool hs_record_table_put(struct hs_record_table *table, const struct hs_record_slot *slot);
/* Takes the entry of an address out; false when it is no sample. */
bool hs_record_table_take(struct hs_record_table *table, uint64_t address,
                          struct hs_record_slot *ret);
/* Takes out all blocks that move. */
void hs_record_table_forget_moving(struct hs_record_table *table);

#endif
