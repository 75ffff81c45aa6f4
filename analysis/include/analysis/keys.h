/* Keys: what a block is called in a way that survives a restart, a moving collector and another
 * host. A key is the name of a root and the types on the way from it to the block, runs and
 * recurrences folded:
 *
 *   server.sessions > struct session > char[]
 *
 * Every block has one key. The way is that of the *owner tree*, which is not the dominator tree: a
 * second reference would move whole regions there. It is a search breadth first, in rounds: from
 * the program's own names, then thread-local variables, then stacks and registers; all that is firm
 * first, then a runtime's own, then what nothing but doubtful words hold. So a block belongs to the
 * nearest of those that hold it, and of several equally near to the one whose key comes first.
 * Neither addresses nor numbers of nodes decide anything: the same heap at other addresses has the
 * same keys.
 *
 *   number:   0 all | keys of roots | keys below them, nearest first | [unreached] | its types
 *
 * Folded: a type that stands on the way already is that step again, so that a list, a tree and
 * types that refer to each other by turns are one step. At most HS_KEY_STEPS types, and
 * HS_KEYS_MOST keys in all, the largest of four times as many: what would be more belongs to the
 * key above it. Blocks of which nothing is known but their size are "block". Constructors of an
 * OCaml type are one step. Of names of roots what changes from run to run is left out: places in an
 * array, on a stack, numbers of frames and threads. */
#ifndef HS_ANALYSIS_KEYS_H
#define HS_ANALYSIS_KEYS_H

#include "analysis/view.h"
#include "base/strtab.h"
#include "dominator/weights.h"

enum { HS_KEY_STEPS = 9, HS_KEY_TEXT_BYTES = 1024 };
#define HS_KEYS_MOST ((uint32_t)1 << 16)
#define HS_NO_KEY UINT32_MAX
#define HS_KEY_UNREACHED_NAME "[unreached]"

enum hs_key_form {
    HS_KEY_ALL,       /* number 0: the whole heap */
    HS_KEY_ROOT,      /* of a root */
    HS_KEY_TYPE,      /* of blocks of a type, below the key above it */
    HS_KEY_UNREACHED, /* what no root reaches; its types stand below it */
};

struct hs_key {
    uint32_t parent; /* a smaller number; HS_NO_KEY for number 0 */
    hs_str name;     /* of hs_keys.names: this step alone */
    uint8_t form;    /* enum hs_key_form */
    uint8_t steps;   /* types on the way */
    uint8_t kind;    /* enum hs_root_kind, of the root */
    uint8_t tier;    /* enum hs_tier, of the root; HS_TIER_NONE when not reached */
    hs_node root;  /* the first of the roots that are called so; HS_NO_NODE above and beside them */
    uint32_t type; /* of HS_KEY_TYPE: the first type of the step; HS_UNTYPED for "block" */
    /* The owner set that most of it is kept by, as the index counts them; 0: kept by one root, or
     * by none. Of a key whose blocks all hang on those of the key above: that one's. */
    uint32_t set;
    struct hs_sizes own; /* of its blocks */
    struct hs_sizes all; /* with those of all keys below it */
};

struct hs_keys {
    struct hs_key *keys; /* owned; number 0's `all` is the heap */
    size_t n, capacity;
    struct hs_strtab names;
    bool is_cut; /* there were more than HS_KEYS_MOST */
    /* The key of each block, HS_NO_KEY where no root reaches it. NULL unless asked for. */
    uint32_t *of_block; /* owned pages */
    uint64_t n_blocks;
    struct hs_budget *budget; /* borrowed: what it was taken from */
    uint64_t reserved_bytes;
};

struct hs_keys_query {
    bool with_blocks; /* keep `of_block` */
    bool in_file;     /* search in a file even where there is room for memory: for tests */
};

/* Finds the keys by the view's index. O(n + m). Resident beside the budget's base: 4 bytes a node
 * and some MiB; with room for 4 bytes per node and edge more it searches in memory, else in a file.
 * The same keys either way. HS_LIMIT, before anything is read, when there is not so much. */
hs_status hs_keys_find(struct hs_view *view, const struct hs_keys_query *query, struct hs_keys *ret,
                       struct hs_error *err);
void hs_keys_fini(struct hs_keys *keys);

/* Writes "server.sessions > struct session > char[]", cut at n bytes; "" for number 0. */
void hs_key_text(const struct hs_keys *keys, uint32_t key, char *text, size_t n);

/* Returns "all", "root", "type" or "unreached" of enum hs_key_form. */
const char *hs_key_form_name(unsigned form);

/* Writes the name that a root has in its key: its name without what changes from run to run. */
void hs_key_root_name(const struct hs_view *view, hs_node leaf, char *text, size_t n);

#endif
