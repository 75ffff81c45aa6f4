/* The list of allocators. A new one is a folder snapshot/heaps/NAME/ that defines
 * `const struct hs_allocator hs_allocator_NAME` (heaps/allocator.h), and a line here.
 *
 * Order matters where two claim the same memory: the first of this list keeps it. So malloc stands
 * before what has its blocks from malloc. */
#ifndef HS_HEAPS_ALLOCATORS_H
#define HS_HEAPS_ALLOCATORS_H

#define HS_ALLOCATORS(X) \
    X(glibc)             \
    X(jemalloc)          \
    X(mimalloc)          \
    X(tcmalloc)          \
    X(mozjemalloc)       \
    X(boehm)             \
    X(cpython)           \
    X(registered)        \
    X(recorded)          \
    X(gslice)            \
    X(gobject)           \
    X(fontconfig)        \
    X(gcontainers)       \
    X(postgres)          \
    X(talloc)            \
    X(apr)               \
    X(owners)            \
    X(cells)

#endif
