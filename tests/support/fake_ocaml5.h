/* A made OCaml 5 process in a core file, as plain words that a test fills and damages.
 *
 *   states, heaps, malloc memory, threads' blocks, a C stack | pools, large block | stacks |
 *   minor heaps | a program: code, read-only data, data
 *
 * The heap alone (fake_ocaml5_heap), or all that the runtime's code reads (fake_ocaml5_process):
 * two domains of two threads each, fibers, frames, C locals and roots, finalisers, memprof,
 * ephemerons, and what an ended domain has left. */
#ifndef HS_TESTS_FAKE_OCAML5_H
#define HS_TESTS_FAKE_OCAML5_H

#include "core_writer.h"
#include "elf_writer.h"
#include "ocaml/emit.h"
#include "ocaml/v5/ocaml5.h"

#define FAKE5_AT UINT64_C(0x7f0010000000)
#define FAKE5_STATE(i) (FAKE5_AT + (uint64_t)(i)*0x800)
#define FAKE5_HEAP(i) (FAKE5_AT + 0x1000 + (uint64_t)(i)*0x800)
#define FAKE5_MALLOC (FAKE5_AT + 0x4000)
#define FAKE5_FIRST_THREAD (FAKE5_MALLOC + 0x960)                  /* its structure */
#define FAKE5_THREAD(i) (FAKE5_AT + 0x8000 + (uint64_t)(i)*0x1000) /* its thread-local block */
#define FAKE5_C_STACK (FAKE5_AT + 0xc000)
#define FAKE5_POOL(i) (FAKE5_AT + 0x10000 + (uint64_t)(i)*FAKE5_POOL_BYTES)
#define FAKE5_LARGE (FAKE5_AT + 0x60000)
#define FAKE5_STACK(i) (FAKE5_AT + 0x70000 + (uint64_t)(i)*0x1000)
#define FAKE5_STACK_END(i) (FAKE5_STACK(i) + 0x900) /* its handler */
#define FAKE5_YOUNG(i) (FAKE5_AT + 0x80000 + (uint64_t)(i)*0x1000)
#define FAKE5_PROGRAM (FAKE5_AT + 0x90000)
#define FAKE5_DATA (FAKE5_PROGRAM + 0x3000)
#define FAKE5_ENDED (FAKE5_DATA + 0x800) /* pool_freelist */

enum {
    FAKE5_POOL_BYTES = 0x8000,
    FAKE5_BYTES = 0x98000,
    FAKE5_CLASS_3 = 2, /* slots of three words, and of five */
    FAKE5_CLASS_5 = 4,
    FAKE5_HEAP_STATS = 132, /* words of the heap's head, and of pool_freelist */
    FAKE5_ENDED_STATS = 6,
    FAKE5_LARGE_WOSIZE = 200,
    FAKE5_YOUNG_WORDS = 8, /* in use, at the end of a minor heap */
    FAKE5_DOMAINS = 2,
    FAKE5_THREADS = 4,
};

/* How the first thread of the first domain stands. */
enum fake5_stand {
    FAKE5_BLOCKED,
    FAKE5_IN_C,     /* called through the runtime, and cannot be unwound */
    FAKE5_IN_OCAML, /* where there is no frame descriptor */
    FAKE5_IN_CALL,  /* in C, straight from there */
    FAKE5_STANDS
};

/* Its file; opened when first needed. */
struct fake5_program {
    struct elf_writer elf;
    uint8_t frames[128];
    struct hs_object object;
};

struct fake_ocaml5 {
    uint64_t memory[FAKE5_BYTES / HS_WORD];
    unsigned minor; /* of the version */
    struct core_writer writer;
    struct fake5_program programs[2];
    int fd; /* the core, to be written again */
    struct hs_target target;
    struct hs_objects objects;
    /* Of one walk: */
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_ocaml rt;
    struct hs_ocaml_roots roots;
    struct hs_block_map map;
    struct hs_ocaml_marks marks;
};

/* Opens the core, whose memory is all zero; aborts when it cannot. */
struct fake_ocaml5 *fake_ocaml5_new(void);
void fake_ocaml5_free(struct fake_ocaml5 *fake);

uint64_t *fake5_word(struct fake_ocaml5 *fake, hs_addr at);
/* The header's place of slot number `i`. */
hs_addr fake5_slot(const struct fake_ocaml5 *fake, unsigned pool, unsigned i);
void fake5_stack(struct fake_ocaml5 *fake, unsigned i, hs_addr parent);
/* A continuation by its header's place. */
void fake5_continuation(struct fake_ocaml5 *fake, hs_addr at, hs_addr stack);

/* Memory is cleared and filled: version 5.`minor`. Two pools and a large block of the first domain,
 * a pool of one that ended, a fiber with a parent. */
void fake_ocaml5_heap(struct fake_ocaml5 *fake, unsigned minor);
/* All of it; registers too. */
void fake_ocaml5_process(struct fake_ocaml5 *fake, unsigned minor, enum fake5_stand stand);

/* What is in `memory` becomes the core's. Ends what the last walk has left. */
void fake_ocaml5_seal(struct fake_ocaml5 *fake);
/* What a dump does of a sealed process, the snapshot to `out`. */
hs_status fake_ocaml5_walk(struct fake_ocaml5 *fake, struct hs_out *out, struct hs_error *err);

/* All proofs hold, and there is one? A note contains `text`? */
bool fake5_proofs_hold(const struct fake_ocaml5 *fake);
bool fake5_has_note(const struct fake_ocaml5 *fake, const char *text);

#endif
