/* What the enumerators of roots need, made by a test on top of a fake heap: a program with the
 * runtime's variables, a stack, and memory that stands for malloc's.
 *
 *   data    words of the program's .data; symbols at the fixed places below
 *   stack   words of one thread's stack          heap    words of "malloc memory"
 *
 * Fill in, then fake_roots_collect. */
#ifndef HS_TESTS_FAKE_ROOTS_H
#define HS_TESTS_FAKE_ROOTS_H

#include "fake_heap.h"
#include "ocaml/roots.h"

enum { FAKE_DATA_WORDS = 512, FAKE_STACK_WORDS = 4096, FAKE_MALLOC_WORDS = 4096 };

#define FAKE_PROGRAM_AT UINT64_C(0x5a0000000000)
#define FAKE_TEXT_AT (FAKE_PROGRAM_AT + 0x1000)
#define FAKE_DATA_AT (FAKE_PROGRAM_AT + 0x3000)
#define FAKE_STACK_AT UINT64_C(0x7ffd00000000)
#define FAKE_MALLOC_AT UINT64_C(0x5b0000000000)

/* Word numbers in `data`, and their symbols. */
enum {
    FAKE_GLOBALS = 0,        /* caml_globals */
    FAKE_GC_ROOTS = 8,       /* camlM__gc_roots */
    FAKE_MODULE_HEADER = 16, /* the block after it: camlM */
    FAKE_ROOTS_PLAIN = 40,   /* caml_global_roots */
    FAKE_ROOTS_YOUNG = 60,   /* caml_global_roots_young */
    FAKE_ROOTS_OLD = 80,     /* caml_global_roots_old */
    FAKE_FRAMETABLE = 100,   /* caml_frametable */
    FAKE_MAIN_CONTEXT = 120, /* caml_memprof_main_ctx */
    FAKE_C_VARIABLE = 140,   /* c_variable, 8 bytes; what follows has no name */
    FAKE_HOOK = 150,         /* caml_scan_roots_hook */
    FAKE_FREE = 160,         /* without symbols from here on */
    FAKE_RECORDER = 420,     /* but this: heapsnap_record_anchor */
};

struct fake_roots {
    struct fake_heap *heap;
    uint64_t data[FAKE_DATA_WORDS], stack[FAKE_STACK_WORDS], memory[FAKE_MALLOC_WORDS];
    uint8_t code[64];
    struct elf_writer writer;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_target target;
    struct hs_mapping mapping; /* a large one, so that root lists may be long */
    struct hs_block_map map;
    struct hs_ocaml_roots roots; /* with stops of one thread that has no OCaml frames */
};

struct fake_roots *fake_roots_new(void);
void fake_roots_free(struct fake_roots *fake);

static inline hs_addr fake_data_at(size_t word)
{
    return FAKE_DATA_AT + word * HS_WORD;
}

static inline hs_addr fake_stack_at(size_t word)
{
    return FAKE_STACK_AT + word * HS_WORD;
}

static inline hs_addr fake_memory_at(size_t word)
{
    return FAKE_MALLOC_AT + word * HS_WORD;
}

/* The thread whose stack is the fake one. */
struct hs_ocaml_thread *fake_thread(struct fake_roots *fake);
struct hs_ocaml_statics *fake_statics(struct fake_roots *fake);

/* Everything becomes the image; then all roots are collected. */
void fake_roots_seal(struct fake_roots *fake);
hs_status fake_roots_collect(struct fake_roots *fake, struct hs_error *err);

const char *fake_text(const struct fake_roots *fake, hs_str id);
/* The n-th leaf (from 0) of a kind, or NULL. */
const struct hs_root_leaf *fake_leaf(const struct fake_roots *fake, enum hs_root_kind kind,
                                     size_t n);
size_t fake_n_leaves(const struct fake_roots *fake, enum hs_root_kind kind);

#endif
