/* The one door to memory. Every allocation is checked for overflow, counted, and can be told to
 * fail, so that tests reach every out-of-memory path. Nothing outside base/ calls malloc. */
#ifndef HS_BASE_ALLOC_H
#define HS_BASE_ALLOC_H

#include "base/error.h"

/* Allocates n * size zeroed bytes. Fails with HS_LIMIT; n * size == 0 gives a valid pointer.
 * The caller frees with hs_free. */
hs_status hs_alloc(size_t n, size_t size, void **ret, struct hs_error *err);

/* Resizes `*array` so that `needed` elements fit, at least doubling. New elements are zeroed.
 * `*array` may be NULL with `*capacity` 0. On failure both stay as they were. */
hs_status hs_grow(void **array, size_t *capacity, size_t needed, size_t size, struct hs_error *err);

/* The same for typed arrays: `p` is the address of the pointer, whose type tells the size; it stays
 * as it was on failure.
 *
 *   struct hs_range *ranges;
 *   HS_TRY(HS_ALLOC(&ranges, n, err)); */
#define HS_ALLOC(p, n, err) HS_ALLOC_BY_(hs_alloc, p, n, err)
#define HS_PAGES_ALLOC(p, n, err) HS_ALLOC_BY_(hs_pages_alloc, p, n, err)
#define HS_GROW(p, capacity, needed, err)                                                      \
    ({                                                                                         \
        void *hs_memory_ = *(p);                                                               \
        hs_status hs_grown_ = hs_grow(&hs_memory_, (capacity), (needed), sizeof **(p), (err)); \
        if (hs_grown_ == HS_OK)                                                                \
            *(p) = hs_memory_;                                                                 \
        hs_grown_;                                                                             \
    })
#define HS_ALLOC_BY_(how, p, n, err)                                     \
    ({                                                                   \
        void *hs_memory_ = NULL;                                         \
        hs_status hs_made_ = how((n), sizeof **(p), &hs_memory_, (err)); \
        if (hs_made_ == HS_OK)                                           \
            *(p) = hs_memory_;                                           \
        hs_made_;                                                        \
    })

hs_status hs_strdup(const char *text, char **ret, struct hs_error *err);
void hs_free(void *memory);

/* Maps anonymous zeroed pages for arrays that grow with the heap: returned to the system on free,
 * lazily backed, so that a generous upper bound costs only what is touched. */
hs_status hs_pages_alloc(size_t n, size_t size, void **ret, struct hs_error *err);
void hs_pages_free(void *memory, size_t n, size_t size);

/* Makes the whole pages of [memory, memory + n_bytes), a part of such an array, zero and unpaid
 * again. `memory` is page-aligned; a last part of a page is zeroed by hand. */
void hs_pages_discard(void *memory, size_t n_bytes);

/* Injects faults: the nth allocation from now (1 = the next) fails, and with `sticky` all after it;
 * 0 switches it off. */
void hs_alloc_fail_at(uint64_t nth, bool sticky);

/* Counts allocations since the program began, for the loop that fails each in turn. */
uint64_t hs_alloc_count(void);

/* Counts allocations that were not freed yet: where it stays the same, nothing leaked. */
uint64_t hs_alloc_live(void);

/* hs_auto_free char *x = NULL;  frees at the end of the scope. */
void hs_auto_free_(void *pointer_to_pointer);
#define hs_auto_free __attribute__((cleanup(hs_auto_free_)))

/* Calls `type##_free(pointer)` for `hs_auto(type) *x`: declare with HS_DEFINE_AUTO(hs_thing, free).
 */
#define HS_DEFINE_AUTO(type, verb)                   \
    static inline void type##_auto_(struct type **p) \
    {                                                \
        type##_##verb(*p);                           \
    }
#define hs_auto(type) __attribute__((cleanup(type##_auto_))) struct type

/* Takes a value out of a scoped pointer: `*ret = HS_STEAL(x);` */
#define HS_STEAL(p)                     \
    ({                                  \
        __typeof__(p) hs_stolen_ = (p); \
        (p) = NULL;                     \
        hs_stolen_;                     \
    })

#endif
