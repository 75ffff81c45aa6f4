/* The length and the constants of an instruction, without what it does: some 3 ns, where decoding
 * it takes 15 to 50. Source: Intel's manual, volume 2, appendix A, for code of 64 bits. */
#ifndef HS_X86_64_SHAPE_H
#define HS_X86_64_SHAPE_H

#include "base/types.h"

struct insn_shape {
    uint8_t n_bytes;
    bool is_rip;           /* the displacement is from the next instruction on */
    bool has_displacement; /* one of 4 bytes */
    bool has_immediate;    /* one of 4 or 8 bytes: also how far a jump or a call goes */
    int32_t displacement;
    uint64_t immediate;
};

/* Reads the shape of the instruction that code[0, n) begins with. Returns false where it is a rare
 * one, none, or does not end in there: another has to decode it. An instruction that no processor
 * has may be taken for one. */
bool hs_insn_shape_(const uint8_t *code, size_t n, struct insn_shape *ret);

/* Passes over the common instructions of code[0, n) at `vaddr` none of which has a displacement
 * from the next one on that leads into [low, high), reads or writes a register of the bits `known`,
 * or goes elsewhere while there are any. Returns the offset of the first other one, or n. */
size_t hs_insn_pass_(const uint8_t *code, size_t n, hs_addr vaddr, hs_addr low, hs_addr high,
                     unsigned known);

/* An instruction that mentions one address, from the next instruction on, and leaves registers
 * alone that hold one. */
struct insn_plain {
    uint8_t n_bytes, reg, n_access_bytes;
    bool is_lea; /* into `reg` */
    hs_addr target;
};

/* Reads one with which code[0, n) at `vaddr` begins. Returns false where it has to be decoded. */
bool hs_insn_plain_(const uint8_t *code, size_t n, hs_addr vaddr, unsigned known,
                    struct insn_plain *ret);

#endif
