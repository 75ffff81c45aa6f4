/* The runtime of OCaml native programs, 4.13, 4.14 and 5.1 to 5.4: what its parts share. What only
 * OCaml 5 has is in ocaml5.h.
 *
 *   while stopped:  locate -> judge the stop -> copy the heap -> copy what roots need
 *   afterwards:     enumerate blocks -> collect roots -> mark -> emit
 *
 * Sources: runtime/caml/domain_state.tbl, major_gc.h, memory.c, minor_gc.c, roots_nat.c, stack.h,
 * finalise.c, memprof.c, weak.c and otherlibs/systhreads/st_stubs.c of the tags 4.13.1 and 4.14.2.
 */
#ifndef HS_OCAML_OCAML_H
#define HS_OCAML_OCAML_H

#include "base/bitmap.h"
#include "process/findings.h"
#include "process/image.h"
#include "process/objects.h"
#include "process/ranges.h"
#include "process/roots.h"
#include "snapshot/model.h"

#define HS_WORD 8

/* Half-open spans of target addresses and how blocks lie in them; whoever adds them sees to it that
 * they are ascending and disjoint. */
struct hs_span {
    hs_addr begin, end;
    uint64_t first_bit; /* position of `begin` in the block bitmap (one bit per word) */
    uint8_t slot_words; /* OCaml 5: of a pool, whose slots are all alike; 0: blocks in a row */
    /* Only in a block map: */
    uint8_t area;         /* enum hs_area */
    const uint8_t *bytes; /* borrowed from the image: the byte at `begin` */
};

struct hs_spans {
    struct hs_span *spans; /* owned */
    size_t n, capacity;
};

hs_status hs_spans_add(struct hs_spans *spans, hs_addr begin, hs_addr end, struct hs_error *err);
void hs_spans_fini(struct hs_spans *spans);
const struct hs_span *hs_spans_find(const struct hs_spans *spans, hs_addr address);

enum hs_area { HS_AREA_NONE, HS_AREA_HEAP, HS_AREA_YOUNG, HS_AREA_STATIC, HS_AREA_ATOM };

struct hs_ocaml5;

/* The facts learnt of the runtime; filled by hs_ocaml_locate. */
struct hs_ocaml {
    struct hs_target *target;   /* borrowed */
    struct hs_image *image;     /* borrowed */
    struct hs_objects *objects; /* borrowed: executable and plugins with symbols */
    struct hs_strtab *strings;  /* borrowed: names of roots and types */
    struct hs_ocaml5 *five;     /* owned: NULL in OCaml 4 */
    bool is_bytecode;           /* OCaml 4: it is interpreted (bytecode/) */
    char version[32];           /* "4.13.1", or "4.13" when the program does not say */
    uint32_t chunk_head_words;  /* 6 in 4.13, 7 in 4.14 */
    hs_addr state;              /* Caml_state */
    hs_addr young_start, young_end, young_alloc_start, young_alloc_end;
    hs_addr young_ptr;    /* the true one: from a register while OCaml code runs */
    uint64_t heap_words;  /* stat_heap_wsz: the proof of the chunk list */
    uint64_t heap_chunks; /* stat_heap_chunks */
    uint64_t heap_blocks; /* OCaml 5, where heap_words is of them alone: the same for blocks */
    /* OCaml 5: chunks are the slots of each pool, and large blocks; disjoint, but not joined */
    struct hs_spans chunks;
    struct hs_range_set statics, code; /* merged */
    hs_addr atoms_begin, atoms_end;    /* caml_atom_table: 256 headers */
    hs_addr ephe_none;                 /* the word that marks an empty ephemeron slot */
    struct hs_findings findings;       /* proofs and notes gathered on the way, for the snapshot */
    /* The recorder's anchor (heaps/recorder.h), with blocks that it gave the runtime; 0: none */
    hs_addr recorder;
};

/* ---- locate.c (stopped) */
/* Finds the runtime, or fails with HS_TARGET saying what the program is (bytecode, no OCaml, a
 * version that is not supported). Copies writable data of the executable and plugins first. */
hs_status hs_ocaml_locate(struct hs_ocaml *rt, struct hs_error *err);
void hs_ocaml_fini(struct hs_ocaml *rt);
/* Copies the chunks and the live part [young_ptr, young_alloc_end) of the minor heap. */
hs_status hs_ocaml_copy_heap(struct hs_ocaml *rt, struct hs_error *err);

/* ---- stop.c (stopped) */
/* Reads the unwind tables and runtime code that judging a stop needs, before it, so that the stop
 * is short. What cannot be read is passed over. */
void hs_ocaml_prepare(struct hs_objects *objects);
enum hs_stop_verdict { HS_STOP_GOOD, HS_STOP_RETRY };
/* Judges whether roots and heap are well-defined at this stop. HS_STOP_RETRY with a reason literal
 * inside a minor collection, a compaction, or transition code. Sets rt->young_ptr. */
hs_status hs_ocaml_judge(struct hs_ocaml *rt, enum hs_stop_verdict *ret, const char **ret_reason,
                         struct hs_error *err);

/* ---- roots.c and its parts: the stacks, C roots, finalisers, memprof, threads */
struct hs_ocaml_sample {
    struct hs_sample sample; /* node unset */
    hs_addr block;
};

struct hs_ocaml_roots {
    struct hs_roots roots;
    struct hs_ocaml_sample *samples; /* owned */
    size_t n_samples, samples_capacity;
    bool has_period;     /* of sampling: it was found */
    double period_words; /* mean distance of two samples; 0: unknown, or several */
    /* The calls that allocated them, as the recorder has them; owned, by site */
    struct hs_site_frame *site_frames;
    size_t n_site_frames, site_frames_capacity;
    bool is_recorded; /* they are the recorder's, of which `recorder` says what is known */
    struct hs_sampler recorder;
    struct hs_frame_table *frames; /* owned: descriptors by return address */
    struct hs_ocaml_stops *stops;  /* owned: where each thread's precise stack begins */
    /* Owned, ascending: static blocks whose fields are root leaves (caml_globals, gc_roots). Their
     * own out-edges are not to be marked nor written: the leaves stand for them. */
    hs_addr *module_blocks;
    size_t n_module_blocks, module_blocks_capacity;
    /* Owned, ascending: cells of the lists of registered C roots, in memory of malloc. Their first
     * word is the address of a root, which keeps nothing. */
    hs_addr *cells;
    size_t n_cells, cells_capacity;
};

/* Tells whether `block` is one of roots->module_blocks. O(log n). */
bool hs_ocaml_is_module_block(const struct hs_ocaml_roots *roots, hs_addr block);

/* Copies, while stopped, stacks (above each stack pointer), root tables, lists, thread structures.
 */
hs_status hs_ocaml_copy_roots(struct hs_ocaml *rt, struct hs_ocaml_roots *roots,
                              struct hs_error *err);
/* Collects every root of every kind, and the samples, after the stop. Needs the block map. */
struct hs_block_map;
hs_status hs_ocaml_collect_roots(struct hs_ocaml *rt, const struct hs_block_map *blocks,
                                 struct hs_ocaml_roots *roots, struct hs_error *err);
void hs_ocaml_roots_fini(struct hs_ocaml_roots *roots);

/* ---- blocks.c: which words are block starts.
 * One bit per word over chunks, live minor heap, static data and atoms; a block's address is that
 * of its first field (value address), its header is the word before. Heap blocks are enumerated
 * linearly; static ones are found by following pointers (their data is not linear). */
struct hs_granule {
    uint64_t key;            /* address >> 20, plus 1; 0 = empty */
    uint32_t first, n_spans; /* the spans that reach into it */
};

struct hs_block_map {
    const struct hs_ocaml *rt;   /* borrowed */
    bool is_large;               /* marking goes by region, whatever memory there is */
    struct hs_spans spans;       /* all areas, with first_bit; only what is in the copy */
    struct hs_granule *granules; /* owned: open addressing, from address to spans */
    size_t n_granules;           /* a power of two */
    uint64_t granule_factor;     /* odd, and of this process alone: hashes by multiplication */
    struct hs_bitmap starts;
    uint64_t n_blocks;     /* valid after hs_block_map_index */
    uint64_t n_live_words; /* of heap and young blocks, headers included, garbage too */
    uint64_t n_free_words, n_fragment_words, n_damaged_words, n_resyncs;
    uint64_t n_unborn_words; /* at the young pointer: allocated, not yet initialised */
    uint64_t n_forwarded;    /* young blocks that a minor collection has already moved */
};

/* Lays out the areas and enumerates the blocks of the chunks and of the live minor heap, with
 * proofs and notes in `rt`. Damaged headers are skipped and counted, never an error. Fails with
 * HS_LIMIT, or HS_TARGET when the areas overlap. About 10 ns per block; resident: 1/64 of the
 * words. */
hs_status hs_block_map_build(struct hs_block_map *map, struct hs_ocaml *rt, struct hs_error *err);
void hs_block_map_fini(struct hs_block_map *map);

/* Builds the index when no more starts will be added: ranks. */
hs_status hs_block_map_index(struct hs_block_map *map, struct hs_error *err);
/* Returns how many blocks lie below `block`, or HS_NO_NODE when none starts there. Needs the index.
 */
uint64_t hs_block_map_rank(const struct hs_block_map *map, hs_addr block);

/* Returns the area of any address, from the runtime's own bounds. Young is the whole minor heap. */
enum hs_area hs_ocaml_area(const struct hs_ocaml *rt, hs_addr address);

/* Finds the block that the OCaml value `value` points to, after infix resolution: false for
 * immediates, foreign pointers, free blocks and addresses that are no block's start. Static blocks
 * count when their header is sane, known yet or not. */
bool hs_block_of_value(const struct hs_block_map *map, uint64_t value, hs_addr *ret_block);

/* Returns the header of a block that the map knows; 0 when its bytes are not in the copy. */
uint64_t hs_block_header(const struct hs_block_map *map, hs_addr block);

/* Runtime tags, mlvalues.h. */
enum {
    HS_TAG_CONT = 245, /* OCaml 5 */
    HS_TAG_LAZY = 246,
    HS_TAG_CLOSURE = 247,
    HS_TAG_OBJECT = 248,
    HS_TAG_INFIX = 249,
    HS_TAG_FORWARD = 250,
    HS_TAG_NO_SCAN = 251, /* this and higher ones hold no values */
    HS_TAG_ABSTRACT = 251,
    HS_TAG_STRING = 252,
    HS_TAG_DOUBLE = 253,
    HS_TAG_DOUBLE_ARRAY = 254,
    HS_TAG_CUSTOM = 255
};

enum { HS_WHITE, HS_GRAY, HS_BLUE, HS_BLACK };

/* ---- mark.c: what lives, precisely; finds the static blocks on the way */
struct hs_ocaml_ephemeron {
    hs_addr block;
    bool is_reached, is_active; /* active: reached, and so are all its keys */
};

struct hs_ocaml_marks {
    struct hs_bitmap reached;              /* as block_map.starts */
    struct hs_ocaml_ephemeron *ephemerons; /* owned; ascending */
    size_t n_ephemerons, ephemerons_capacity;
    uint64_t n_reached_blocks, n_reached_words; /* heap and young */
    /* The number of these that have fields of any values: tag below HS_TAG_LAZY, not empty. */
    uint64_t n_structured_blocks, n_structured_words;
    /* The first functions whose closures captured something: code address to how many of them. */
    struct hs_dict functions;
    uint64_t n_dangling;      /* fields of reached blocks that lead into the heap but to no block */
    uint64_t n_free_reached;  /* of these, to free ones */
    uint64_t n_unborn_fields; /* of the newest young blocks: not counted above */
    uint64_t n_dangling_garbage;
    uint64_t n_foreign; /* fields of reached blocks that lead to none of the areas */
};

/* Marks from the strong leaves, runs ephemerons to their fixed point, then adds the static targets
 * of all other blocks to the map, and takes the free list's remnants out of it. Proofs and notes go
 * to `rt`. Resident: 1 bit per word, and 8 bytes per pending block. */
hs_status hs_ocaml_mark(struct hs_ocaml *rt, struct hs_block_map *map,
                        const struct hs_ocaml_roots *roots, struct hs_ocaml_marks *ret,
                        struct hs_error *err);
void hs_ocaml_marks_fini(struct hs_ocaml_marks *marks);

#define HS_HEADER_WOSIZE(header) ((header) >> 10)
#define HS_HEADER_TAG(header) ((unsigned)((header)&255))
#define HS_HEADER_COLOUR(header) ((unsigned)((header) >> 8 & 3))

/* ---- refuse.c */
/* Tells whether a program is OCaml's: one that is dumped, or that is refused by name (bytecode,
 * other versions). By symbols alone. */
bool hs_is_ocaml(const struct hs_objects *objects);
/* Tells whether it is interpreted. By symbols alone. */
bool hs_ocaml_is_bytecode(const struct hs_objects *objects);
/* Recognises an OCaml program: the minor version, 13 or 14 of OCaml 4, 0 of OCaml 5, when it can be
 * dumped; else HS_TARGET with what it is. By symbols alone, without a stop. */
hs_status hs_ocaml_recognise(const struct hs_objects *objects, unsigned *ret_minor,
                             struct hs_error *err);

#endif
