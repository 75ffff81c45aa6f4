/* Extended regular expressions of POSIX, with GNU's \w \W \s \S \b \B \< \> \` \', without
 * references back: whether there is a match, not where.
 *
 * An expression becomes a program for a nondeterministic automaton, all of whose states are stepped
 * together over the text (K. Thompson, Regular Expression Search Algorithm, CACM 1968). So what it
 * costs is known before: 8 bytes for each state, twice 8 for stepping, and at most states times
 * bytes of the text in steps, whatever is asked of whatever text. The C library's regcomp takes
 * gigabytes for nested +, and for ever for nested *.
 *
 *   BYTE b    ANY    SET n      eat one byte and go on with the next instruction
 *   SPLIT x   JUMP x            go on here and x further, only x further; x may be negative
 *   ^ $ \b \B \< \>             go on when it holds here
 *   MATCH                                                                              */
#ifndef HS_STATS_EXPRESSION_H
#define HS_STATS_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "stats/pattern.h"

/* States of a program, and the largest count of {n,m} that is read. */
#define HS_EXPRESSION_MAX_STATES HS_PATTERN_MAX_STATES
#define HS_EXPRESSION_MAX_COUNT 32767

enum expression_op {
    EXPRESSION_MATCH,
    EXPRESSION_BYTE,
    EXPRESSION_ANY,
    EXPRESSION_SET,
    EXPRESSION_SPLIT,
    EXPRESSION_JUMP,
    EXPRESSION_BEGIN,
    EXPRESSION_END,
    EXPRESSION_WORD_EDGE,
    EXPRESSION_NO_WORD_EDGE,
    EXPRESSION_WORD_BEGIN,
    EXPRESSION_WORD_END,
};

struct expression_step {
    uint8_t op;
    int32_t operand; /* byte, number of the set, or how far */
};

struct expression_set {
    uint64_t bits[4]; /* a bit per byte */
};

struct hs_expression {
    struct expression_step *program; /* owned */
    size_t n_steps, steps_capacity;
    struct expression_set *sets; /* owned */
    size_t n_sets, sets_capacity;
    uint32_t *scratch; /* owned: four arrays of n_steps, for stepping */
};

/* Compiles an expression. On failure `*ret_why` says what is wrong with the text, as regerror
 * would, and the status is HS_USAGE, or it is NULL and the status HS_LIMIT for want of memory. The
 * caller frees. */
hs_status hs_expression_new(const char *text, struct hs_expression **ret, const char **ret_why,
                            struct hs_error *err);
void hs_expression_free(struct hs_expression *expression);
HS_DEFINE_AUTO(hs_expression, free)

/* Tells whether a text matches; by one thread at a time. O(states * bytes). */
bool hs_expression_matches(const struct hs_expression *expression, const char *text);

/* Tells whether a byte is part of a word, as GNU has it. */
bool hs_expression_is_word_(uint8_t byte);

#endif
