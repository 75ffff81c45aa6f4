/* The allocator beneath, and how a function of ours stands before it. */
#ifndef HS_RECORD_INTERPOSE_H
#define HS_RECORD_INTERPOSE_H

#include "record_core.h"

#define HS_RECORD_EXPORT __attribute__((visibility("default")))
#define HS_RECORD_SLOW __attribute__((noinline, cold))

/* First those that find the others. */
struct hs_record_next {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free)(void *);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    int (*dlclose)(void *);
};
extern struct hs_record_next hs_record_next __attribute__((visibility("hidden")));

/* Tells whether a block was made before the allocator beneath was known. */
bool hs_record_is_early(const void *block);

/* Returns the frame of the program's call: in a function of ours that is called, or jumped to with
 * the stack as it was. */
static inline __attribute__((always_inline)) const struct hs_record_frame *hs_record_caller(void)
{
    return __builtin_frame_address(0);
}

#endif
