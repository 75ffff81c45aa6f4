/* Puts a function of ours before one of the program's, by a jump in place of its first
 * instructions, which are moved. For the start of a program, before others may run them: nothing
 * else changes code. */
#ifndef HS_RECORD_HOOK_H
#define HS_RECORD_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#define HS_RECORD_HOOK_BYTES 5U   /* that are written into the function */
#define HS_RECORD_MOVED_BYTES 64U /* the most that a moved beginning takes */

/* The beginning of a function: whole instructions, of those that functions begin with. */
struct hs_record_beginning {
    unsigned skipped;  /* bytes before that have to stay: a landing pad of indirect calls */
    unsigned n;        /* bytes behind these, at least HS_RECORD_HOOK_BYTES */
    unsigned distance; /* where in them a distance from the instruction's end stands, 4 bytes; 0:
                          they mean the same at any address */
    unsigned end;      /* of that instruction */
};
/* Reads it from n_bytes of code; false: it begins otherwise. */
bool hs_record_hook_read(const uint8_t *code, unsigned n_bytes, struct hs_record_beginning *ret);

/* Has `function` jump to `to`. *ret_rest: what does what the function did. False: its code is not
 * as it has to be, or cannot be changed; then nothing is. */
bool hs_record_hook(void *function, void (*to)(void), void **ret_rest);

#endif
