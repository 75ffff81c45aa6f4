/* A process whose malloc is glibc's, made by a test: module data with a main arena and `mp_`, a
 * break, two heaps of another arena, mappings, and threads with thread-local storage.
 *
 *   data   FAKE_DATA_AT   | ... | main_arena | ... | mp_ | ...      break   FAKE_BREAK_AT
 *   heaps  FAKE_HEAP_AT, FAKE_HEAP_AT + FAKE_HEAP_MAX               maps    FAKE_MAP_AT
 *   TLS    FAKE_TLS_AT: thread i has its fs_base at FAKE_TLS_AT + 4096 * (i + 1)
 *
 * Chunks are appended with a pen; then fake_glibc_run. */
#ifndef HS_TESTS_FAKE_GLIBC_H
#define HS_TESTS_FAKE_GLIBC_H

#include "heaps/glibc/heap.h"

#define FAKE_DATA_AT ((hs_addr)0x550000000000)
#define FAKE_BREAK_AT ((hs_addr)0x560000000000)
#define FAKE_HEAP_AT ((hs_addr)0x7f0000000000)
#define FAKE_HEAP_MAX ((uint64_t)1 << 20) /* heaps begin at multiples of this */
#define FAKE_MAP_AT ((hs_addr)0x7f4000000000)
#define FAKE_TLS_AT ((hs_addr)0x7f6000000000)
#define FAKE_ARENA_AT (FAKE_DATA_AT + 0x1000)
#define FAKE_PARAMS_AT (FAKE_DATA_AT + 0x2000)
#define FAKE_TCACHE_SLOT ((uint64_t)0x48) /* below fs_base */

enum {
    FAKE_DATA_BYTES = 0x4000,
    FAKE_BREAK_BYTES = 0x20000,
    FAKE_HEAP_BYTES = 0x10000,
    FAKE_MAP_BYTES = 0x40000,
    FAKE_THREADS = 3,
    FAKE_TLS_BYTES = 4096 * FAKE_THREADS,
};

/* How much of the areas there is, in bytes: multiples of a page. */
struct fake_sizes {
    uint64_t brk, heap, maps;
};

struct fake_glibc {
    struct fake_sizes sizes;
    uint64_t data[FAKE_DATA_BYTES / 8], brk[FAKE_BREAK_BYTES / 8];
    uint64_t heaps[2][FAKE_HEAP_BYTES / 8], maps[FAKE_MAP_BYTES / 8], tls[FAKE_TLS_BYTES / 8];
    struct hs_mapping mappings[7]; /* one more than there are: a test may split one */
    struct hs_thread threads[FAKE_THREADS];
    char paths[64];
    struct hs_target target;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
    struct hs_heap_map map;
    struct hs_ledger ledger;
    void *state;
    const struct glibc_layout *layout;
    unsigned params_kind; /* 0: 2.35 to 2.42, 1: up to 2.34, 2: after 2.42 */
};

/* Writes chunks upwards. */
struct fake_pen {
    struct fake_glibc *fake;
    hs_addr at, arena;
    bool previous_is_free, is_main;
};

/* With an empty main arena of this layout (number in hs_glibc_layouts) and an mp_. */
struct fake_glibc *fake_glibc_new(unsigned layout);
/* The same with less in its areas than there is room for. */
struct fake_glibc *fake_glibc_sized(unsigned layout, const struct fake_sizes *sizes);
void fake_glibc_free(struct fake_glibc *fake);

/* The word at an address of any of the areas, to read or to damage. */
uint64_t *fake_glibc_word(struct fake_glibc *fake, hs_addr address);

/* A main arena with one block, where only other areas are of interest. */
struct fake_glibc *fake_glibc_with_main(unsigned layout);

struct fake_pen fake_pen_main(struct fake_glibc *fake, hs_addr at);
/* A chunk in use; its user address. `bytes` is the chunk's size. */
hs_addr fake_used(struct fake_pen *pen, uint64_t bytes);
/* A free chunk in the unsorted list of the pen's arena; the chunk's address. */
hs_addr fake_freed(struct fake_pen *pen, uint64_t bytes);
/* The end of a segment of a main arena, as sysmalloc leaves it. */
void fake_fence(struct fake_pen *pen);
/* The top of the pen's arena, up to `end`. */
void fake_top(struct fake_pen *pen, hs_addr end);

/* An arena in heap 0 that is on the ring; a pen behind it. */
struct fake_pen fake_arena(struct fake_glibc *fake, uint64_t info_bytes);
/* Its second heap, after the first; a pen in it. The first one has to be closed. */
struct fake_pen fake_second_heap(struct fake_glibc *fake, uint64_t info_bytes);
void fake_heap_fence(struct fake_pen *pen); /* 16 + 0 bytes at the pen */

/* mp_'s counters. */
void fake_params(struct fake_glibc *fake, uint64_t n_mmaps, uint64_t mmapped_bytes);
void fake_system_mem(struct fake_glibc *fake, hs_addr arena, uint64_t bytes);
/* The slot of a thread's cache. */
uint64_t *fake_tcache_slot(struct fake_glibc *fake, unsigned thread);
hs_addr fake_safe_link(hs_addr at, hs_addr target);

/* Open to index. state stays NULL when malloc is unused. */
hs_status fake_glibc_run(struct fake_glibc *fake, struct hs_error *err);
/* The same where it has to go well and to find malloc. */
void fake_glibc_must_run(struct fake_glibc *fake);
/* Forgets the result, so that it can run again. */
void fake_glibc_forget(struct fake_glibc *fake);

/* The size of the live block at `address`; 0 when there is none. */
uint64_t fake_live(const struct fake_glibc *fake, hs_addr address);
bool fake_glibc_proofs_hold(const struct fake_glibc *fake);
bool fake_glibc_has_note(const struct fake_glibc *fake, const char *text);
/* Bytes that malloc has in this state. */
uint64_t fake_booked(const struct fake_glibc *fake, enum hs_memory_state state);

#endif
