/* The words of an object's writable data that are in the copy (private to snapshot/heaps): where an
 * allocator or a library without symbols has its variables. */
#ifndef HS_HEAPS_DATA_WORDS_H
#define HS_HEAPS_DATA_WORDS_H

#include "heaps/process_copy.h"

struct hs_data_words {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_object *object;        /* borrowed */
    size_t mapping;                        /* private, like the rest: the next one */
    hs_addr end;                           /* of the mapping before */
    hs_addr part, part_end;                /* of it that is there */
    const uint8_t *bytes;                  /* at part */
};

/* The next word, in address order: `struct hs_data_words it = {process, object}; while (next)`.
 * False after the last one. Pages that were never touched are passed over. */
bool hs_data_words_next(struct hs_data_words *it, hs_addr *ret_address, uint64_t *ret_word);

#endif
