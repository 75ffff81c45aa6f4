/* The moves of code: which register takes what, one instruction after the other.
 *
 * For following a value through a few instructions of compiled code: a constant address that is
 * loaded before a call, the result of the call that is stored. Only what moves a whole word is
 * told; of all else, which registers it may change. Pure and allocation-free; any bytes may be
 * given. */
#ifndef HS_ARCH_MOVES_H
#define HS_ARCH_MOVES_H

#include "base/types.h"

enum hs_move_kind {
    HS_MOVE_OTHER,   /* `changed` alone says what it does */
    HS_MOVE_COPY,    /* reg takes base */
    HS_MOVE_LOAD,    /* reg takes the word at the place */
    HS_MOVE_STORE,   /* the place takes reg */
    HS_MOVE_ADDRESS, /* reg takes the address of the place */
    HS_MOVE_CALL,    /* of `target`; 0: of an address that is in no constant */
    HS_MOVE_BRANCH,  /* goes on, or at `target` */
    HS_MOVE_LEAVE,   /* what follows comes from elsewhere: a jump to `target`, a return (0) */
};

/* Registers have the numbers of instructions: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7
 * rdi, 8 to 15. */
enum { HS_MOVE_N_REGISTERS = 16, HS_MOVE_SP = 4, HS_MOVE_NONE = 0xff };

struct hs_move {
    uint8_t kind; /* enum hs_move_kind */
    uint8_t n_bytes;
    uint8_t reg;
    uint8_t base;         /* of the place; HS_MOVE_NONE: it is at `target` */
    int32_t displacement; /* of the place from base */
    hs_addr target;
    uint16_t changed; /* a bit for each register that is no longer what it was, reg's left out */
};

/* Reads the instruction that code[0, n) at `vaddr` begins with. False: none, or one that is not
 * known. */
bool hs_code_move(const uint8_t *code, size_t n, hs_addr vaddr, struct hs_move *ret);

#endif
