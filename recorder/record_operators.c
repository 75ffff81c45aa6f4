/* C++'s operators new and delete. Those of the C++ library call malloc and free, which is where
 * they are recorded: then these hand on, no more. An allocator that brings its own (jemalloc,
 * tcmalloc) does not come by malloc: then they are recorded here. */
#include "record_interpose.h"

#include <dlfcn.h>
#include <stdlib.h>

#define EXPORT HS_RECORD_EXPORT
#define SLOW HS_RECORD_SLOW

/* All of them take at most three words, and none minds words that it does not take. */
typedef void *maker(size_t n_bytes, size_t second, size_t third);
typedef void unmaker(void *block, size_t second, size_t third);

#define MAKERS(X)                            \
    X(_Znwm, 0)                              \
    X(_Znam, 0)                              \
    X(_ZnwmRKSt9nothrow_t, 0)                \
    X(_ZnamRKSt9nothrow_t, 0)                \
    X(_ZnwmSt11align_val_t, 1)               \
    X(_ZnamSt11align_val_t, 1)               \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t, 1) \
    X(_ZnamSt11align_val_tRKSt9nothrow_t, 1)
#define UNMAKERS(X)                        \
    X(_ZdlPv)                              \
    X(_ZdaPv)                              \
    X(_ZdlPvm)                             \
    X(_ZdaPvm)                             \
    X(_ZdlPvRKSt9nothrow_t)                \
    X(_ZdaPvRKSt9nothrow_t)                \
    X(_ZdlPvSt11align_val_t)               \
    X(_ZdaPvSt11align_val_t)               \
    X(_ZdlPvmSt11align_val_t)              \
    X(_ZdaPvmSt11align_val_t)              \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t) \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

static void find_operators(void);
static bool is_counted; /* the operators beneath do not come by malloc */

/* At first each one finds all of them. */
#define NEXT_MAKER(name, is_aligned)                                       \
    static void *first##name(size_t n_bytes, size_t second, size_t third); \
    static maker *next##name = first##name;                                \
    static void *first##name(size_t n_bytes, size_t second, size_t third)  \
    {                                                                      \
        find_operators();                                                  \
        return next##name(n_bytes, second, third);                         \
    }
#define NEXT_UNMAKER(name)                                             \
    static void first##name(void *block, size_t second, size_t third); \
    static unmaker *next##name = first##name;                          \
    static void first##name(void *block, size_t second, size_t third)  \
    {                                                                  \
        find_operators();                                              \
        next##name(block, second, third);                              \
    }
MAKERS(NEXT_MAKER)
UNMAKERS(NEXT_UNMAKER)

/* Allocates for a C++ library that nobody can find, as one inside of a plugin. */
static void *make(size_t n_bytes, size_t second, size_t third)
{
    void *block = hs_record_next.malloc(n_bytes != 0 ? n_bytes : 1);

    (void)second, (void)third;
    if (block == NULL)
        __builtin_trap();
    return block;
}

static void *make_aligned(size_t n_bytes, size_t alignment, size_t third)
{
    void *block = hs_record_next.memalign(alignment, n_bytes != 0 ? n_bytes : 1);

    (void)third;
    if (block == NULL)
        __builtin_trap();
    return block;
}

static void unmake(void *block, size_t second, size_t third)
{
    (void)second, (void)third;
    hs_record_next.free(block);
}

/* A library that was loaded for a plugin alone is not among the next ones. */
static void *find_one(const char *name)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1"};
    void *found = dlsym(RTLD_NEXT, name);

    for (unsigned i = 0; found == NULL && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

        if (library != NULL)
            found = dlsym(library, name);
    }
    return found;
}

static bool is_of_allocator(void *operator_new)
{
    Dl_info mine, theirs;

    return operator_new != NULL && dladdr(operator_new, &mine) != 0 &&
           dladdr((void *)(uintptr_t)hs_record_next.malloc, &theirs) != 0 &&
           mine.dli_fbase == theirs.dli_fbase;
}

static void find_operators(void)
{
    void *found, *block;

    block = hs_record_next.malloc(1); /* so that the allocator beneath is known */
    hs_record_next.free(block);
#define FIND_MAKER(name, is_aligned) \
    found = find_one(#name);         \
    next##name = found != NULL ? (maker *)(uintptr_t)found : is_aligned ? make_aligned : make;
#define FIND_UNMAKER(name)   \
    found = find_one(#name); \
    next##name = found != NULL ? (unmaker *)(uintptr_t)found : unmake;
    MAKERS(FIND_MAKER)
    UNMAKERS(FIND_UNMAKER)
    found = find_one("_Znwm");
    __atomic_store_n(&is_counted, found == NULL || is_of_allocator(found), __ATOMIC_RELEASE);
}

#define MAKER(name, is_aligned)                                                              \
    SLOW static void *slow##name(size_t n_bytes, size_t second, size_t third)                \
    {                                                                                        \
        uint32_t n_samples = hs_record_decide(n_bytes);                                      \
        void *block = next##name(n_bytes, second, third);                                    \
                                                                                             \
        if (n_samples != 0 && block != NULL)                                                 \
            hs_record_allocated(block, n_bytes, n_samples, hs_record_caller());              \
        return block;                                                                        \
    }                                                                                        \
    EXPORT void *name(size_t n_bytes, size_t second, size_t third);                          \
    void *name(size_t n_bytes, size_t second, size_t third)                                  \
    {                                                                                        \
        return is_counted && hs_record_passes(n_bytes) ? slow##name(n_bytes, second, third)  \
                                                       : next##name(n_bytes, second, third); \
    }
#define UNMAKER(name)                                                     \
    SLOW static void slow##name(void *block, size_t second, size_t third) \
    {                                                                     \
        hs_record_freed(block);                                           \
        next##name(block, second, third);                                 \
    }                                                                     \
    EXPORT void name(void *block, size_t second, size_t third);           \
    void name(void *block, size_t second, size_t third)                   \
    {                                                                     \
        if (is_counted && hs_record_maybe(block))                         \
            slow##name(block, second, third);                             \
        else                                                              \
            next##name(block, second, third);                             \
    }
MAKERS(MAKER)
UNMAKERS(UNMAKER)
