/* One row of a frame table, told without libdwarf: how to get from a frame to its caller at one
 * address. Made in the box from what libdwarf says, sent as it is, and hostile on arrival. */
#ifndef HS_DWARF_FRAME_ROW_H
#define HS_DWARF_FRAME_ROW_H

#include "symbols/cfi.h"

/* The most bytes of all expressions of a row together; compilers' have some 10 bytes, a signal
 * trampoline's 60. */
enum { FRAME_ROW_EXPRESSION_BYTES = 4096 };

enum frame_rule_kind {
    FRAME_RULE_UNKNOWN,
    FRAME_RULE_OUTERMOST,        /* of the pc only: nothing called this frame */
    FRAME_RULE_REGISTER,         /* register + offset */
    FRAME_RULE_SAVED,            /* in memory at the frame address + offset */
    FRAME_RULE_VALUE,            /* the frame address + offset */
    FRAME_RULE_SAVED_EXPRESSION, /* in memory where the expression says */
    FRAME_RULE_EXPRESSION,       /* what the expression says */
    FRAME_RULE_N_KINDS
};

struct frame_rule {
    uint8_t kind;         /* enum frame_rule_kind */
    uint8_t number;       /* FRAME_RULE_REGISTER: enum hs_register */
    uint16_t at, n_bytes; /* the expression, in the row's expression bytes */
    int64_t offset;
};

struct frame_row {
    hs_addr begin, end; /* the function; both 0: no function is described here */
    uint8_t has_rules;  /* 0: there is a function, but its program cannot be evaluated */
    uint8_t is_signal_frame;
    uint16_t n_expression_bytes;
    struct frame_rule cfa; /* UNKNOWN, REGISTER or EXPRESSION */
    struct frame_rule rules[HS_N_REGISTERS];
};

/* Tells whether every field of a row for `vaddr` is within its bounds: it can then be followed. */
bool hs_frame_row_is_sound_(const struct frame_row *row, hs_addr vaddr);

/* Follows a sound row from the frame `r`. Fails as hs_cfi_step; `name` is for messages. */
hs_status hs_frame_row_step_(const struct frame_row *row, const uint8_t *expressions,
                             const struct hs_registers *r, const struct hs_memory_reader *memory,
                             const char *name, struct hs_frame *ret, struct hs_error *err);

#endif
