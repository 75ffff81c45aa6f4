/* The table that the recorder keeps in the memory of a process for `heapsnap dump` to find: which
 * blocks are samples, and the backtrace of each allocation.
 *
 *   anchor (exported symbol, and an ELF note as of heapsnap/register.h) --> slots[n_slots]
 *                                                                      \-> stacks[stacks_bytes]
 *
 * Written by threads of the process at any time, read from outside while it stands still or from a
 * copy: a slot is whole when its address is not 0; a writer fills the rest first. Every word is
 * hostile to the reader. Layout of 64-bit little-endian processes; nothing but this header is
 * shared by the two sides, and it includes nothing of the house. */
#ifndef HS_HEAPSNAP_RECORDED_H
#define HS_HEAPSNAP_RECORDED_H

#include <stdint.h>

/* Type of the ELF note of name "heapsnap" that leads to the anchor, for stripped programs that link
 * the recorder: u32 1, u32 0, then u64 the distance from that number's own place to the anchor. */
#define HS_RECORD_NOTE_TYPE 2
#define HS_RECORD_ANCHOR_NAME "heapsnap_record_anchor" /* default visibility */
#define HS_RECORD_MAGIC UINT64_C(0x31306365726e7368)   /* "hsnrec01" */
#define HS_RECORD_VERSION 1
#define HS_RECORD_PATH_BYTES 256
#define HS_RECORD_FRAMES_MAX 128
#define HS_RECORD_OCAML_WORDS 32

struct hs_record_anchor {
    uint64_t magic; /* HS_RECORD_MAGIC once the rest is there; 0 before */
    uint32_t version, bytes;
    uint32_t pid;          /* not the own one: of a forked child, which does not record */
    uint32_t is_enabled;   /* sampling now */
    uint64_t period_bytes; /* mean distance of two samples in bytes allocated */
    uint64_t begun_us;     /* since 1970: that of the trace too */
    uint64_t n_samples;    /* ever taken */
    uint64_t n_lost;       /* had no room here or in the trace */
    uint64_t slots;        /* address of slots[n_slots]; n_slots is a power of two */
    uint64_t n_slots;
    uint64_t stacks; /* address of the stacks, 8 bytes aligned */
    uint64_t stacks_bytes;
    char trace_path[HS_RECORD_PATH_BYTES];        /* NUL-terminated; "" when it goes elsewhere */
    uint32_t ocaml;                               /* enum hs_record_ocaml */
    uint32_t ocaml_generation;                    /* of the numbers that OCaml's runtime keeps */
    uint64_t ocaml_blocks[HS_RECORD_OCAML_WORDS]; /* given to that runtime: its own forms */
};

/* The outcome of sampling the heap of an OCaml runtime in the process. */
enum hs_record_ocaml {
    HS_RECORD_OCAML_NONE,       /* none was seen to start */
    HS_RECORD_OCAML_SAMPLES,    /* its samples are in the slots */
    HS_RECORD_OCAML_UNWANTED,   /* told to leave it alone */
    HS_RECORD_OCAML_BYTECODE,   /* its callbacks would have to be bytecode */
    HS_RECORD_OCAML_UNABLE,     /* 5.0 to 5.2: the runtime has no sampler */
    HS_RECORD_OCAML_UNKNOWN,    /* a version that is not known, or functions without symbols */
    HS_RECORD_OCAML_GUARDED,    /* its code cannot be changed to give way to the program */
    HS_RECORD_OCAML_REFUSED,    /* the runtime's sampler is in use already */
    HS_RECORD_OCAML_OF_PROGRAM, /* the program has begun to use the sampler itself */
    HS_RECORD_N_OCAML
};

/* Open addressing from hs_record_hash(address) & (n_slots - 1) on, step 1. */
struct hs_record_slot {
    uint64_t address; /* of the block as the program has it; 0: free; 1: was used; or the key of a
                         block that moves */
    uint64_t id;      /* of the trace's allocation */
    uint64_t bytes;   /* asked for */
    uint32_t stack;   /* offset in stacks / 8; 0: none */
    uint32_t n_samples;
};

/* At stacks + 8 * stack: */
struct hs_record_stack {
    uint32_t n_frames, next; /* 1..HS_RECORD_FRAMES_MAX; next: private to the writer */
    uint64_t hash;
    uint64_t frames[]; /* return addresses, the innermost first; or places of a script */
};

/* A bit that no return address has: the rest is then the offset / 8 in the stacks of a place in a
 * script, which is kept as a stack is. Its first word has the line in the low 32 bits, then 16 bits
 * each for the length of the name of the file and of the function; these follow, in UTF-8, without
 * anything between. */
#define HS_RECORD_SCRIPT (UINT64_C(1) << 47)
#define HS_RECORD_SCRIPT_BYTES (8 * (HS_RECORD_FRAMES_MAX - 1)) /* at most, of both names */
/* The versions of CPython whose frames are walked: 3.x. */
#define HS_RECORD_PYTHON_FIRST 11
#define HS_RECORD_PYTHON_LAST 14

/* Makes the key of a block of OCaml, whose address changes: the number that its runtime keeps for
 * it stands for it. No address of a program has this bit. Below the number is the trace's kind of
 * allocation: 0 minor heap, 1 major heap, 2 memory outside of the heap. */
#define HS_RECORD_MOVES (UINT64_C(1) << 62)
#define HS_RECORD_GENERATION_SHIFT 40 /* of a number: 16 bits above the id */
static inline uint64_t hs_record_key(uint64_t number, unsigned source)
{
    return HS_RECORD_MOVES | number << 4 | source;
}
static inline uint64_t hs_record_number(uint64_t key)
{
    return (key & ~HS_RECORD_MOVES) >> 4;
}
static inline int hs_record_is_key(uint64_t address)
{
    return address >> 62 == 1;
}

static inline uint64_t hs_record_hash(uint64_t address)
{
    return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

#endif
