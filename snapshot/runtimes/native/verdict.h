/* One verdict for each word that leads to a block: is it a reference that owns, and if not, by
 * which rule?
 *
 * The rules stand in one table, in the order in which they are asked (verdict.def). Of a block, the
 * rules that can hold for any of its words are chosen once; each of its words that leads to a block
 * is then asked those alone, and the first that holds decides. A word for which none holds is a
 * reference: exact, or interior. Rules only lower what a word is worth. */
#ifndef HS_NATIVE_VERDICT_H
#define HS_NATIVE_VERDICT_H

#include "said.h"

struct hs_word_verdict {
    uint8_t edge_class; /* enum hs_edge_class */
    uint8_t reason;     /* enum hs_reason; 0 of a reference */
};

#define RULE(symbol, edge_class, judge) HS_RULE_AT_##symbol,
enum hs_rule_place { /* in the table; a set of rules is a bit for each */
#include "verdict.def"
                     HS_N_RULES
};
#undef RULE
static_assert(HS_N_RULES <= 32);
#define HS_RULE_BIT(symbol) (UINT32_C(1) << HS_RULE_AT_##symbol)

/* The rules by what names of Python's, and tasks, own. Who finds out what is reached without these
 * leaves them out (firm.c). */
#define HS_RULES_OF_NAMES \
    (HS_RULE_BIT(PYTHON_NAMED) | HS_RULE_BIT(PYTHON_PART) | HS_RULE_BIT(TOKIO_TASK))
#define HS_RULES_ALL UINT32_MAX

/* Chooses the rules that can hold for words of a block, of those in `among`. */
uint32_t hs_verdict_rules(const struct hs_said *said, uint32_t among);
/* Judges the aligned word at `at` of said->block, which leads to `target`. */
struct hs_word_verdict hs_verdict_of(const struct hs_said *said, uint64_t at, enum hs_pointer how,
                                     const struct hs_heap_block *target);
/* Judges an unaligned pointer of a packed type. */
struct hs_word_verdict hs_verdict_of_packed(const struct hs_scan *scan,
                                            const struct hs_heap_block *block, enum hs_pointer how,
                                            const struct hs_heap_block *target);
/* Judges an edge that no word stands for: by a distance, by what an allocator says of owners. */
struct hs_word_verdict hs_verdict_of_edge(const struct hs_scan *scan,
                                          const struct hs_heap_block *target);

/* Returns the set of all rules without those whose reasons are in `off` (a bit for each number
 * below 64). */
uint32_t hs_verdict_without(uint64_t off);

#endif
