/* Short texts that are put together piece by piece in a buffer of fixed size. */
#ifndef HS_BASE_APPEND_H
#define HS_BASE_APPEND_H

#include <stddef.h>

/* Writes behind what stands in `text`, which is terminated and has n_bytes; what has no room is cut
 * away. */
void hs_append(char *text, size_t n_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for one of a list: behind `between`, unless it is the first. */
void hs_append_item(char *text, size_t n_bytes, const char *between, const char *item);

#endif
