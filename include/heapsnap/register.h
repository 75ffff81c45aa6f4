/* Tell heapsnap about memory that it cannot understand by itself: roots and pools of your own
 * allocator, arena, interpreter or collector.
 *
 *   #include <heapsnap/register.h>
 *
 *   static struct heapsnap_record stack_record, cell_record;
 *
 *   heapsnap_register_root(&stack_record, "vm stack", stack, sizeof stack, HEAPSNAP_PRECISE);
 *   heapsnap_register_pool(&cell_record, "cells", cells, N * sizeof *cells, sizeof *cells, in_use);
 *   ...
 *   heapsnap_unregister(&cell_record);
 *
 * A *root* is a range of memory whose pointers keep blocks alive. A *pool* is a range of memory
 * that holds blocks: of one size each, or one block as a whole.
 *
 * This header is all there is: no library, no constructor, no allocation, no system call.
 * Registering pushes a record of yours on a list; nobody ever walks that list but `heapsnap dump`,
 * which finds it through an ELF note and reads it from outside. A record is 128 bytes, is yours,
 * and must stay where it is until it is unregistered. Every program and shared library that
 * includes this header has a list of its own; source files of one of them share it. Unregister
 * before the memory of a record or the library that made it goes away.
 *
 * All functions may be called by any thread at any time, except by signal handlers, and by a child
 * between fork and exec when its parent had several threads: a lock is held for a few instructions.
 *
 * C (from C99 with GNU extensions) and C++ (from C++11); gcc and clang; ELF, 64 bits. The layout,
 * byte by byte, and how it may change: docs/rules.md. */
#ifndef HEAPSNAP_REGISTER_H
#define HEAPSNAP_REGISTER_H

#include <stddef.h>
#include <stdint.h>

#define HEAPSNAP_REGISTER_VERSION 1
#define HEAPSNAP_NAME_BYTES 64

enum heapsnap_kind { HEAPSNAP_NONE, HEAPSNAP_ROOT, HEAPSNAP_POOL };

enum heapsnap_flags {
    /* Every aligned word of the root is a pointer to the start of a block, or leads to none.
     * Without it (conservative) a word that leads into a block counts as well. */
    HEAPSNAP_PRECISE = 1
};

/* One root or pool. Zeroed (static storage will do) before it is first registered; then only
 * touched by the functions below. */
struct heapsnap_record {
    uint32_t kind;  /* enum heapsnap_kind; HEAPSNAP_NONE: not registered */
    uint32_t flags; /* enum heapsnap_flags */
    struct heapsnap_record *next;
    struct heapsnap_record **link; /* the pointer that leads here */
    const void *begin;
    uint64_t n_bytes;
    uint64_t block_bytes;  /* of a pool: the size of each block; 0: it is one block */
    const void *live_bits; /* of a pool: bit i % 8 of byte i / 8 says that block i is in use */
    uint64_t reserved;
    char name[HEAPSNAP_NAME_BYTES];
};

struct heapsnap_registry {
    char magic[8]; /* "heapsnap" */
    uint32_t version;
    uint32_t record_bytes;
    struct heapsnap_record *first;
    uint32_t lock;
    uint32_t reserved;
};

#ifdef __cplusplus
extern "C" {
#endif

/* One per program or library: hidden, so that each has its own; weak, so that its source files may
 * all define it. */
extern struct heapsnap_registry heapsnap_registry_v1 __attribute__((visibility("hidden")));
__attribute__((weak, used, visibility("hidden"))) struct heapsnap_registry heapsnap_registry_v1 = {
    {'h', 'e', 'a', 'p', 's', 'n', 'a', 'p'},
    HEAPSNAP_REGISTER_VERSION,
    sizeof(struct heapsnap_record),
    NULL,
    0,
    0};

/* The note that leads to it: name "heapsnap", type 1, and the distance from the number itself to
 * the registry, so that no relocation is needed at run time. */
__asm__(".pushsection .note.heapsnap,\"a\",%note\n"
        ".balign 4\n"
        ".long 9, 16, 1\n"
        ".asciz \"heapsnap\"\n"
        ".balign 4\n"
        ".long 1, 0\n"
        ".quad heapsnap_registry_v1 - .\n"
        ".popsection\n");

static inline void heapsnap_lock_(void)
{
    while (__atomic_exchange_n(&heapsnap_registry_v1.lock, 1U, __ATOMIC_ACQUIRE) != 0) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

static inline void heapsnap_unlock_(void)
{
    __atomic_store_n(&heapsnap_registry_v1.lock, 0U, __ATOMIC_RELEASE);
}

/* A stop may come between any two instructions: what the list leads to is complete at all times. */
static inline void heapsnap_push_(struct heapsnap_record *record, uint32_t kind, uint32_t flags,
                                  const char *name)
{
    size_t i = 0;

    for (; name != NULL && name[i] != '\0' && i < HEAPSNAP_NAME_BYTES - 1; i++)
        record->name[i] = name[i];
    record->name[i] = '\0';
    record->flags = flags;
    record->kind = kind;
    record->next = heapsnap_registry_v1.first;
    record->link = &heapsnap_registry_v1.first;
    if (record->next != NULL)
        record->next->link = &record->next;
    __atomic_store_n(&heapsnap_registry_v1.first, record, __ATOMIC_RELEASE);
}

/* Registers a root: [address, address + n_bytes) keeps blocks alive. `name` is what listings show;
 * it is copied, and cut after 63 bytes. Does nothing for a record that is registered. */
static inline void heapsnap_register_root(struct heapsnap_record *record, const char *name,
                                          const void *address, size_t n_bytes, unsigned flags)
{
    heapsnap_lock_();
    if (record->kind == HEAPSNAP_NONE) {
        record->begin = address;
        record->n_bytes = n_bytes;
        record->block_bytes = 0;
        record->live_bits = NULL;
        record->reserved = 0;
        heapsnap_push_(record, HEAPSNAP_ROOT, flags, name);
    }
    heapsnap_unlock_();
}

/* Registers a pool: [address, address + n_bytes) holds blocks of block_bytes (at least 8) each from
 * its start on; with block_bytes 0 all of it is one block. `live_bits` (may be NULL) is a bitmap
 * that the program keeps itself: which blocks are in use. Without it every block that has been
 * touched counts as in use, and none is ever called a leak. */
static inline void heapsnap_register_pool(struct heapsnap_record *record, const char *name,
                                          const void *address, size_t n_bytes, size_t block_bytes,
                                          const void *live_bits)
{
    heapsnap_lock_();
    if (record->kind == HEAPSNAP_NONE) {
        record->begin = address;
        record->n_bytes = n_bytes;
        record->block_bytes = block_bytes;
        record->live_bits = live_bits;
        record->reserved = 0;
        heapsnap_push_(record, HEAPSNAP_POOL, 0, name);
    }
    heapsnap_unlock_();
}

/* Sets the length of a root or pool that grows or shrinks in place. */
static inline void heapsnap_set_length(struct heapsnap_record *record, size_t n_bytes)
{
    uint64_t n = n_bytes;

    __atomic_store_n(&record->n_bytes, n, __ATOMIC_RELEASE);
}

/* Unregisters a record: afterwards it is the caller's again. Does nothing for one that is not
 * registered. */
static inline void heapsnap_unregister(struct heapsnap_record *record)
{
    heapsnap_lock_();
    if (record->kind != HEAPSNAP_NONE) {
        __atomic_store_n(record->link, record->next, __ATOMIC_RELEASE);
        if (record->next != NULL)
            record->next->link = record->link;
        record->next = NULL;
        record->link = NULL;
        record->kind = HEAPSNAP_NONE;
    }
    heapsnap_unlock_();
}

#ifdef __cplusplus
}
#endif

#endif
