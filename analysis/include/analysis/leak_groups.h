/* Lost blocks in groups of one certainty, type and size. */
#ifndef HS_ANALYSIS_LEAK_GROUPS_H
#define HS_ANALYSIS_LEAK_GROUPS_H

#include "analysis/leak_set.h"
#include "analysis/suppressions.h"

enum hs_leak_certainty { HS_LEAK_CERTAIN, HS_LEAK_POSSIBLE, HS_N_LEAK_CERTAINTIES };
const char *hs_leak_certainty_name(unsigned certainty); /* "certain", "possible" */

/* The reasons for which a leak is only possible: what leads to the blocks of the group. */
enum hs_leak_reason {
    HS_LEAK_PAST_END = 1 << 0, /* a word one past its end */
    HS_LEAK_GUESSED = 1 << 1,  /* an unaligned word, or one where no pointer is expected */
    HS_LEAK_UNSURE = 1 << 2,   /* its owner does not tell whether it is in use */
    HS_LEAK_BELOW = 1 << 3,    /* it hangs on blocks of such groups alone */
    HS_LEAK_STACK = 1 << 4,    /* a register or a stack slot where no variable is known to live */
    HS_LEAK_MAPPING = 1 << 5,  /* a mapping that nobody claims */
    HS_LEAK_WEAK = 1 << 6,     /* a weak reference, which does not keep its target alive */
};

struct hs_leak_group {
    uint32_t type;
    uint64_t words_each;
    uint8_t certainty;  /* enum hs_leak_certainty */
    uint8_t reasons;    /* enum hs_leak_reason; 0 when certain */
    bool is_suppressed; /* its type is */
    uint64_t count, words;
    uint64_t heads;      /* blocks of it that no other lost block leads to */
    uint64_t held_words; /* of all lost blocks that hang on these, their own included */
    hs_node first;       /* at the lowest address */
    hs_node weak_from;   /* of HS_LEAK_WEAK, one of them: a root, or else a block */
    size_t number;       /* hs_leak_report_find sets it: its place among them */
};

struct hs_leak_sum {
    uint64_t count, words;
};

struct hs_leak_groups {
    struct hs_leak_group
        *groups; /* owned; certain before possible, then by descending held words */
    size_t n_groups, capacity;
    struct hs_leak_sum totals[HS_N_LEAK_CERTAINTIES]; /* suppressed ones left out */
    struct hs_leak_sum on_stack; /* of the possible ones: held by stacks and registers alone */
    struct hs_leak_sum suppressed;
    uint64_t n_others; /* groups below the threshold or beyond the limit */
    struct hs_leak_sum others;
};

struct hs_leak_query {
    const struct hs_suppressions *suppressions; /* may be empty */
    unsigned certainties;                       /* bit set of enum hs_leak_certainty */
    uint64_t min_words, max_rows;               /* words of a group */
};

/* Finds the groups in two passes over the chunks; 4 bytes per lost block, lazily backed. Groups
 * without an unsuppressed block are left out. */
hs_status hs_leak_groups_find(struct hs_view *view, const struct hs_leak_set *set,
                              const struct hs_leak_query *query, struct hs_leak_groups *ret,
                              struct hs_error *err);
void hs_leak_groups_fini(struct hs_leak_groups *groups);

#endif
