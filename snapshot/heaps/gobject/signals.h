/* Handlers of signals, as libgobject has them (private to snapshot/heaps): tables that find, and do
 * not keep. As GLib 2.74 and 2.84 have them:
 *
 *   g_handler_list_bsa_ht   GHashTable: instance -> array { n; HandlerList of 32 bytes ... }
 *   HandlerList             signal; handlers, two more of the chain
 *   Handler                 number; next, previous; ... closure at 40, instance at 48
 *   g_handlers              GHashTable: a set of all handlers
 *
 * An instance that ends takes its handlers with it, and what these have: so they are its own, and
 * no word of a table keeps anything. Believed only where each entry leads back to its instance.
 * Source: gobject/gsignal.c. */
#ifndef HS_GOBJECT_SIGNALS_H
#define HS_GOBJECT_SIGNALS_H

#include "base/table.h"
#include "gobject/types.h"

struct gobject_pair {
    hs_addr owner, block; /* where both begin */
};

enum { GOBJECT_ARRAYS = 6 };
#define GOBJECT_UNNAMED UINT64_MAX

struct gobject_signals {
    struct gobject_pair *pairs; /* owned: by owner */
    size_t n, capacity;
    struct hs_dict owner_of;        /* by block */
    struct hs_dict handlers;        /* by address: the name, or GOBJECT_UNNAMED */
    struct hs_dict first_of;        /* by owner: the number of its first pair */
    hs_addr arrays[GOBJECT_ARRAYS]; /* of the two tables: keys, hashes, values */
    size_t n_arrays;
};

/* Map indexed. Fails with HS_LIMIT. */
hs_status hs_gobject_read_signals(const struct gobject_types *types, const struct hs_heap_map *map,
                                  struct gobject_signals *ret, struct hs_error *err);
/* Reads the handlers of all instances in the table at `table`: none, unless all of it is sound. */
hs_status hs_gobject_read_lists(const struct hs_image *image, const struct hs_heap_map *map,
                                hs_addr table, struct gobject_signals *ret, struct hs_error *err);
void hs_gobject_signals_fini(struct gobject_signals *signals);

/* Names each handler by the function that its closure calls: "signal handler on_changed";
 * O(handlers) looks for symbols. Fails with HS_LIMIT. */
hs_status hs_gobject_name_handlers(const struct hs_process_copy *process,
                                   struct gobject_signals *signals, struct hs_error *err);
/* Tells whether a block is a handler that has a name. O(1). */
bool hs_gobject_handler_name(const struct gobject_signals *signals,
                             const struct hs_heap_block *block, hs_str *ret);

/* The three questions of struct hs_ownership. */
hs_addr hs_gobject_owner(const struct gobject_signals *signals, const struct hs_heap_block *block);
bool hs_gobject_owned(const struct gobject_signals *signals, const struct hs_heap_block *owner,
                      uint64_t *cursor, hs_addr *ret_begin, hs_addr *ret_end);
uint64_t hs_gobject_finds(const struct gobject_signals *signals, const struct hs_heap_block *block);

#endif
