/* A made-up native process whose memory is then damaged: whatever the copy of a process holds, what
 * reads it must come to an end. For fuzzing, and for tests of what a fuzzer has found.
 *
 * A valid process of one of several kinds is built at fixed addresses: glibc's malloc in three
 * versions with arenas, bins, fast lists, thread caches and mapped blocks; or jemalloc with a tree,
 * slabs and caches. Both have a program with symbols, notes of registered memory, a list of loaded
 * objects, thread-local storage, stacks, Python's pools and types, C++'s run-time types.
 *
 * Then operations change words, registers and mappings: half of them a word that meant something.
 */
#ifndef HS_TESTS_HOSTILE_PROCESS_H
#define HS_TESTS_HOSTILE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "elf_writer.h"
#include "fake_glibc.h"
#include "fake_jemalloc.h"
#include "native/native.h"

enum {
    HOSTILE_KINDS = 6, /* glibc's three layouts, one with Python; jemalloc 5.2, 5.3 */
    HOSTILE_AREAS = 8,
    HOSTILE_WORDS = 1 << 13, /* words that mean something */
    HOSTILE_STACK_BYTES = 0x4000,
    HOSTILE_THREADS = 4096, /* room for; three unless a test says otherwise */
    HOSTILE_OPERATION_BYTES = 6,
};
#define HOSTILE_STACK_AT ((hs_addr)0x7ffd00000000)
#define HOSTILE_RESERVE_AT ((hs_addr)0x100000000000)
#define HOSTILE_RESERVE_BYTES ((uint64_t)1 << 39)
#define HOSTILE_BSS_BYTES ((uint64_t)1 << 36) /* behind .data */

/* Bits of the second byte of an input. */
enum hostile_flags {
    HOSTILE_NO_NAMES = 1,
    HOSTILE_MASK = 2,
    HOSTILE_SPARSE =
        4,             /* with a large .bss and a large mapping, of each of which a page is there */
    HOSTILE_SMALL = 8, /* of everything no more than the readers need: to be made a million times */
};

struct hostile_process {
    struct hs_dump dump;      /* open and bound; served by the native runtime, nothing listed yet */
    struct hs_native *native; /* the runtime's state */
    struct hs_dump_options options;
    struct fake_glibc *glibc; /* one of the two */
    struct fake_jemalloc jemalloc;
    struct hostile_area {
        hs_addr at;
        uint64_t *words;
        size_t n_bytes;
    } areas[HOSTILE_AREAS];
    size_t n_areas;
    hs_addr words[HOSTILE_WORDS];
    size_t n_words;
    uint64_t stack[HOSTILE_STACK_BYTES / 8];
    uint8_t text[0x1000], note[64];
    struct elf_writer writer;
    struct hs_object object;
    struct hs_mapping mappings[14];
    char paths[96];
    bool is_sparse, is_small;
    hs_addr data_at; /* of what is made up in the program's data */
    struct hs_thread threads[];
};

/* Kind and options are the first two bytes; the rest are operations. */
struct hostile_process *hostile_process_new(const uint8_t *bytes, size_t n_bytes);
void hostile_process_free(struct hostile_process *process);

/* Lists blocks, collects roots, lets types flow, marks and writes into the descriptor `fd`; then
 * reads back what was written. HS_LIMIT and HS_TARGET are answers like others; a snapshot that
 * its own check refuses is not: this aborts. */
hs_status hostile_process_dump(struct hostile_process *process, int fd, struct hs_error *err);

#endif
