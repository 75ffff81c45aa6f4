/* The static memory that code mentions, also through registers that hold an address of it.
 *
 * A harvest of operands (arch/operands.h) knows what one instruction says; this follows addresses
 * that `lea` or a constant put into a register, in order of address, until the register is written,
 * a call may change it, or a jump or return ends the run. So it tells that two accesses are of one
 * object. Any bytes may be given: what is no instruction is passed over byte by byte. Nothing is
 * executed or allocated. */
#ifndef HS_ARCH_FOLLOWED_H
#define HS_ARCH_FOLLOWED_H

#include "base/types.h"

enum hs_mention_kind {
    HS_MENTION_TAKEN,        /* the address itself: lea, or a constant that is moved */
    HS_MENTION_DIRECT,       /* bytes at it, by an instruction that says the address */
    HS_MENTION_INDEXED,      /* the same with an index: an array begins at `base` */
    HS_MENTION_MEMBER,       /* bytes at `at`, through a register that holds `base` */
    HS_MENTION_MEMBER_TAKEN, /* the address `at`, likewise: it may be an end */
};

struct hs_mention {
    hs_addr base, at;        /* vaddr, never checked to exist; the same but for members */
    uint16_t n_access_bytes; /* 0 where an address is taken */
    uint8_t kind;            /* enum hs_mention_kind */
};

struct hs_mention_taker {
    /* Tells whether a mention of an address is asked for. What is not is not decoded, and may be
     * passed over. */
    bool (*matters)(const void *context, hs_addr address);
    /* Takes a mention. Returns whether an address that is taken shall be followed. */
    bool (*take)(void *context, const struct hs_mention *mention);
    void *context;
    hs_addr low, high;  /* nothing outside [low, high) matters */
    bool has_constants; /* code that is never moved: its constants may be addresses */
};

/* Tells whether code of this processor is followed at all. */
bool hs_code_is_followed(void);

/* Goes through code[0, n_bytes) of one function at `vaddr`. Some 3 ns for an
 * instruction that mentions nothing that matters, else 15 to 50. */
void hs_code_follow(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                    const struct hs_mention_taker *mentions);

#endif
