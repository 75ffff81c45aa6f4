/* The line of a file of rules that lowered a word: a snapshot gives each line that decided a reason
 * of its own, and a note that says what it is (HS_NOTE_LINE). */
#ifndef HS_NATIVE_RULE_LINES_H
#define HS_NATIVE_RULE_LINES_H

#include "native.h"

/* Returns the reason of a word that rule `base` lowers, by the line with this number (hs_rule);
 * `base` itself for 0. Notes that the line decided. */
static inline uint8_t hs_native_line(const struct hs_native *native, enum hs_reason base,
                                     uint8_t number)
{
    if (number == 0)
        return (uint8_t)base;
    native->dump->findings.rule_lines[number / 64] |= UINT64_C(1) << number % 64;
    return (uint8_t)(HS_FIRST_LINE_REASON - 1 + number);
}

/* Adds a note to the findings for each line that decided. */
hs_status hs_native_note_lines(struct hs_native *native, struct hs_error *err);

/* Tells whether a rule is asked: it is not switched off (--rules=-NAME). */
static inline bool hs_native_asks(const struct hs_native *native, enum hs_reason reason)
{
    return (native->dump->options->reasons_off >> reason & 1) == 0;
}

/* Gives back the tiers that rules took which are switched off, so that code which lowers roots need
 * not ask. */
void hs_native_raise_roots(struct hs_native *native);

#endif
