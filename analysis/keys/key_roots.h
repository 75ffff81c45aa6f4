/* The keys of roots: roots of one kind and name are one. */
#ifndef HS_KEYS_KEY_ROOTS_H
#define HS_KEYS_KEY_ROOTS_H

#include "key_table.h"

/* The rounds of a tier, in the order in which its roots come. */
enum key_round { KEY_ROUND_NAMES, KEY_ROUND_OTHERS, KEY_ROUND_TLS, KEY_ROUND_STACKS, KEY_N_ROUNDS };
enum key_round key_roots_round(enum hs_root_kind kind);

/* A leaf of the root tree that keeps something. */
struct key_leaf {
    hs_node leaf;
    uint32_t key;
    uint8_t tier; /* enum hs_tier, of its own way */
    uint8_t kind; /* enum hs_root_kind */
};

struct key_roots {
    struct key_leaf *leaves; /* owned: ascending leaves */
    size_t n;
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

/* Adds the keys to the table and ranks them: by tier, round, name and kind. Where there are more
 * than half of HS_KEYS_MOST, the last are called "[other roots]". O(tree * log tree); 40 bytes a
 * leaf. */
hs_status key_roots_init(const struct hs_view *view, struct key_table *table, struct key_roots *ret,
                         struct hs_error *err);
void key_roots_fini(struct key_roots *roots);

#endif
