/* The variables that live in a frame: functions (inlined ones included), and where their variables
 * and arguments are at one instruction, by DWARF locations: registers, frame offsets, addresses,
 * location lists, pieces, entry values where the caller's registers tell.
 *
 * Pure: registers, frame address and a reader of memory go in. Expressions are hostile: each is
 * bounded in operations and stack, and one that cannot be evaluated gives no place. */
#ifndef HS_SYMBOLS_LOCALS_H
#define HS_SYMBOLS_LOCALS_H

#include "symbols/cfi.h"
#include "symbols/ctypes.h"

/* A frame, at run-time addresses; pc - bias is looked up, minus 1 when it is a return address. */
struct hs_frame_place {
    hs_type_file file;
    uint64_t bias;
    const struct hs_registers *registers; /* of this frame; its pc is known */
    bool is_return_address;
    hs_addr cfa;
    const struct hs_memory_reader *memory;
    const struct hs_registers *caller; /* of the frame below it, for entry values; may be NULL */
};

enum { HS_LOCALS_MAX = 512, HS_INLINED_MAX = 32, HS_UNPLACED_MAX = 64 };

/* A variable, or a piece of one that is in several places. Those that have none here (optimised
 * out, kept as a value only, in a vector register) are not listed, nor those of C and C++ that are
 * declared behind what executes. */
struct hs_local {
    const char *name, *function; /* the (inlined) function that declares it; "" when unknown */
    hs_ctype type;               /* of the whole variable */
    uint64_t n_bytes;            /* of the piece; 0 when the type is unknown */
    uint64_t offset_bytes;       /* of the piece in the variable; else 0 */
    hs_addr address;             /* when in memory, else 0; statics of the function too */
    uint8_t reg;       /* enum hs_register when in a (known) register, else HS_N_REGISTERS */
    uint8_t n_inlined; /* inlined functions around it: it is chain[n_chain - 1 - n_inlined]'s */
    bool is_argument;
    bool is_entry_value; /* known only by what an argument was at entry: neither address nor reg */
};

struct hs_inlined {
    const char *function; /* outermost, the real one, last; "" when unknown */
    const char *file;     /* of the place executing in it; "" when unknown */
    uint32_t line;        /* the innermost has the instruction's line; 0 when unknown */
};

struct hs_locals {
    struct hs_local locals[HS_LOCALS_MAX];
    size_t n_locals;
    /* Variables, no arguments, that have neither a place nor a constant here: neither `address` nor
     * `reg`. An optimiser that takes a smart pointer apart says of its word nothing. */
    struct hs_local unplaced[HS_UNPLACED_MAX];
    size_t n_unplaced;
    struct hs_inlined chain[HS_INLINED_MAX]; /* innermost first; at least one when is_known */
    size_t n_chain;
    bool is_known; /* the function has debug information */
    bool is_c;     /* it is written in C, where no type says that its values own anything */
    /* Every variable in scope has a place or a value by its description: always so without
     * optimisation, rarely with it. Even then a slot that no local covers may hold a temporary of
     * the compiler's (a value kept over a call, an unnamed object): dead is a guess. */
    bool is_complete;
};

/* Text borrowed from `types` until its end. Fails with HS_LIMIT only. Cost: the unit on first
 * touch, then the entries of one function and the unit's line program up to the instruction. 40 KB
 * of stack. */
hs_status hs_locals_at(struct hs_ctypes *types, const struct hs_frame_place *frame,
                       struct hs_locals *ret, struct hs_error *err);

#endif
