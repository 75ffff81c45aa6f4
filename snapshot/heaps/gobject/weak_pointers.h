/* Places that g_object_add_weak_pointer was given (private to snapshot/heaps): libgobject clears
 * them when the object ends, and they do not keep it. As GLib 2.74 and 2.84 have them, an object
 * with such places has a block of
 *
 *   object; how many (32 bits); { g_nullify_pointer, place } ...
 *
 * among whatever else is to be told of its end. Believed only of a place that leads to the object
 * which is named. Source: gobject/gobject.c (WeakRefStack). */
#ifndef HS_GOBJECT_WEAK_POINTERS_H
#define HS_GOBJECT_WEAK_POINTERS_H

#include "gobject/types.h"

struct gobject_weak {
    hs_addr *places; /* owned: ascending */
    size_t n, capacity;
};

/* `nullify`: where g_nullify_pointer is. Map indexed. One look at the beginning of each block.
 * Fails with HS_LIMIT. */
hs_status hs_gobject_read_weak(const struct hs_image *image, const struct hs_heap_map *map,
                               hs_addr nullify, struct gobject_weak *ret, struct hs_error *err);
void hs_gobject_weak_fini(struct gobject_weak *weak);

/* O(log n). */
bool hs_gobject_is_weak_at(const struct gobject_weak *weak, hs_addr at);
/* The block's first 64 words that are such places: bit i stands for word i. */
uint64_t hs_gobject_weak_words(const struct gobject_weak *weak, const struct hs_heap_block *block);

#endif
