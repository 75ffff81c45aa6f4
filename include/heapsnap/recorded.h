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
    char trace_path[HS_RECORD_PATH_BYTES]; /* NUL-terminated; "" when it goes elsewhere */
};

/* Open addressing from hs_record_hash(address) & (n_slots - 1) on, step 1. */
struct hs_record_slot {
    uint64_t address; /* of the block as the program has it; 0: free; 1: was used */
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

static inline uint64_t hs_record_hash(uint64_t address)
{
    return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

#endif
