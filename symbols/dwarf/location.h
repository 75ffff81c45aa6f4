/* The location of a variable at one instruction: DWARF location expressions over one frame.
 *
 * Pure. Bounded: LOCATION_MAX_OPERATIONS whatever branches say, the stack of expression.h,
 * LOCATION_MAX_PIECES. What cannot be evaluated is "not known" and has no pieces. */
#ifndef HS_DWARF_LOCATION_H
#define HS_DWARF_LOCATION_H

#include "symbols/cfi.h"
#include "types/entry.h"

enum { LOCATION_MAX_OPERATIONS = 1024, LOCATION_MAX_PIECES = 16 };

struct location_frame {
    struct debug_info *info; /* with `unit` for indexed addresses; both may be NULL */
    const struct debug_unit *unit;
    const struct hs_registers *registers, *caller; /* the latter may be NULL */
    const struct hs_memory_reader *memory;
    uint64_t bias, frame_base;
    hs_addr cfa;
    bool has_frame_base;
    uint64_t n_operations_left; /* over all expressions of a frame; what is over it is not known */
};

enum location_kind {
    LOCATION_NOWHERE,  /* optimised out: it has neither place nor value */
    LOCATION_MEMORY,   /* at `address` */
    LOCATION_REGISTER, /* in `reg`, one of enum hs_register */
    LOCATION_VALUE,    /* a value without a place, or in a register that holds no pointers */
    LOCATION_ENTRY,    /* the same, made of what an argument was at entry */
};

struct location_piece {
    uint64_t offset_bytes, n_bytes; /* part of the variable; n_bytes 0: all of it */
    hs_addr address;                /* run-time */
    uint8_t kind, reg;
};

struct location {
    struct location_piece pieces[LOCATION_MAX_PIECES];
    size_t n_pieces; /* at least 1 when known */
    bool is_known;
};

void hs_location_evaluate_(struct location_frame *frame, const uint8_t *bytes, size_t n_bytes,
                           struct location *ret);

/* Computes the value of DW_AT_frame_base: a register's content or a computed address. */
bool hs_location_frame_base_(struct location_frame *frame, const uint8_t *bytes, size_t n_bytes,
                             uint64_t *ret);

#endif
