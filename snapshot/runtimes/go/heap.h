/* The heap of a Go program: which objects it has, and where the runtime keeps what is known of them
 * (private to snapshot/runtimes/go).
 *
 *   mheap_ -> allspans -> mspan: pages of objects of one size       src/runtime/mheap.go
 *          -> arenas[i] -> heapArena: 64 MiB from i * 64 MiB - 2^47 on
 *
 *   spans:  | 48 bytes x 170 | stack | 32 bytes x 256 | ...    ascending, disjoint
 *   live:   | 1101...        | 1     | 0111...        |        a bit for each slot, ranked
 *   pages:  page of an arena -> the last span that begins at or before its end
 *
 * A slot is room for one object; a goroutine's stack is a span of one slot. Resident: 64 bytes a
 * span, 2.3 bits a slot, 4 bytes for each 8 KiB of arenas that are in use. */
#ifndef HS_GO_HEAP_H
#define HS_GO_HEAP_H

#include "base/bitmap.h"
#include "layouts.h"
#include "runtimes/dump.h"

#define HS_GO_ARENA_BYTES (UINT64_C(1) << 26)
#define HS_GO_PAGE_BYTES UINT64_C(8192)
enum { HS_GO_N_CLASSES = 68, HS_GO_STACK_MIN_BYTES = 2048, HS_GO_TINY_BYTES = 16 };

/* The tables of the main module: symtab.go, moduledata. Addresses at run time. */
struct hs_go_module {
    hs_addr address; /* of the moduledata */
    hs_addr text, etext, types, etypes, rodata, gofunc;
    hs_addr funcnametab, cutab, filetab, pctab, pclntable;
    uint64_t n_pctab, n_pclntable; /* bytes */
    const uint8_t *ftab;           /* borrowed: n_functions + 1 of {u32 entry, u32 offset} */
    uint64_t n_functions;
    struct hs_go_data {
        hs_addr begin, end;
        hs_addr mask; /* a bit per word that may be a pointer; 0: none is */
        uint64_t n_mask_bits;
    } data[4]; /* data, bss, noptrdata, noptrbss: those with pointers first */
};
enum { HS_GO_DATA, HS_GO_BSS, HS_GO_NOPTRDATA, HS_GO_NOPTRBSS, HS_GO_N_DATA };

struct hs_go_masks;

struct hs_go_arena {
    hs_addr begin;    /* of its 64 MiB */
    hs_addr metadata; /* its heapArena */
};

struct hs_go_span {
    hs_addr begin, end;  /* of the slots; end: of the last one */
    uint64_t elem_bytes; /* of each slot */
    uint64_t first_slot; /* number of its first bit */
    hs_addr specials;    /* list of finalizers and the like; 0: none */
    uint32_t n_elems;
    uint32_t n_pages;
    uint16_t alloc_count;  /* as the runtime has counted */
    uint16_t before_cache; /* of them, those that were there when a P took the span */
    uint8_t spanclass;     /* size class * 2, and 1 when nothing in it is a pointer */
    bool is_stack;
    hs_addr record; /* its mspan; of a stack its g */
};

struct hs_go_heap {
    struct hs_dump *dump; /* borrowed */
    const struct hs_go_layout *layout;
    struct hs_go_module module;
    struct hs_go_masks *masks;  /* borrowed: those of types that were met (masks.h) */
    hs_addr mheap, arena_map;   /* runtime.mheap_, and the array of arenas it leads to */
    struct hs_go_arena *arenas; /* owned: ascending */
    size_t n_arenas, arenas_capacity;
    struct hs_go_span *spans; /* owned: ascending, disjoint; stacks among them */
    size_t n_spans, spans_capacity;
    struct hs_range *manual; /* owned: memory that the runtime gave to stacks and to itself */
    size_t n_manual, manual_capacity;
    uint32_t *pages;       /* owned: n_arenas * 8192 numbers of spans + 1; 0: none before */
    struct hs_bitmap live; /* by slot */
    uint64_t n_live;
    uint64_t n_objects, object_bytes; /* of them, without stacks */
    uint64_t n_spans_in_use, span_bytes, manual_bytes;
    uint64_t n_miscounted; /* spans of which the runtime counts other objects than are listed */
    uint64_t n_damaged;    /* spans that make no sense, and are left out */
};

/* Leaves a heap that is zero but for `dump`, `layout` and `masks`. */
void hs_go_heap_fini(struct hs_go_heap *heap);

/* ---- words of the process, writable or not */
const uint8_t *hs_go_bytes(const struct hs_go_heap *heap, hs_addr address, size_t n);
bool hs_go_u64(const struct hs_go_heap *heap, hs_addr address, uint64_t *ret);
bool hs_go_u32(const struct hs_go_heap *heap, hs_addr address, uint32_t *ret);
/* The word at `address` + `offset`; 0 where there is none. */
uint64_t hs_go_member(const struct hs_go_heap *heap, hs_addr address, int64_t offset);

/* ---- module.c, locate.c: by structure alone; HS_TARGET with the reason when it is not found */
hs_status hs_go_find_module(struct hs_go_heap *heap, struct hs_error *err);
hs_status hs_go_find_heap(struct hs_go_heap *heap, struct hs_error *err);
/* Goes over the words of the module's data that may be triples of a slice {ptr, len, cap} with
 * 0 < len <= cap: `*at` is 0 at first. False behind the last. */
struct hs_go_slice {
    hs_addr address; /* of the triple */
    hs_addr begin;
    uint64_t n;
};
bool hs_go_next_slice(const struct hs_go_heap *heap, unsigned data, hs_addr *at,
                      struct hs_go_slice *ret);

/* ---- spans.c */
/* Reads all spans and which of their slots are in use; then stacks may be added. */
hs_status hs_go_read_spans(struct hs_go_heap *heap, struct hs_error *err);
/* Adds the stack of a goroutine, whose record is `g`. What is no part of memory that the runtime
 * gave to stacks, or overlaps another, is left out by seal. */
hs_status hs_go_add_stack(struct hs_go_heap *heap, hs_addr g, hs_addr begin, hs_addr end,
                          struct hs_error *err);
/* Puts spans in order, numbers the slots, sets their bits. Nothing is added afterwards. */
hs_status hs_go_seal(struct hs_go_heap *heap, struct hs_error *err);

/* An object, or a stack. */
struct hs_go_block {
    const struct hs_go_span *span;
    hs_addr begin;
    uint64_t slot; /* number of its bit */
};
/* Finds the live object that an address is in; stacks are none. O(1). */
bool hs_go_resolve(const struct hs_go_heap *heap, hs_addr address, struct hs_go_block *ret);
/* The same for any slot, live or not, stacks included. */
bool hs_go_slot(const struct hs_go_heap *heap, hs_addr address, struct hs_go_block *ret);

#endif
