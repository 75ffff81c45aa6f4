/* A native process made by a test, as a copy at made-up addresses: a program with data, 256 blocks
 * of 64 bytes that are all alive, a stack, room for thread-local storage.
 *
 *   0x550000001000 text   0x550000003000 .data   0x550000004000 .bss   (of "prog")
 *   0x7f3000000000 blocks   0x7f4000000000 TLS   0x7ffd00000000 [stack]
 *
 * Fill the words, add symbols, mappings and threads, then seal. */
#ifndef HS_TESTS_FAKE_NATIVE_H
#define HS_TESTS_FAKE_NATIVE_H

#include "elf_writer.h"
#include "native/native.h"

#define FAKE_N_BIAS UINT64_C(0x550000000000)
#define FAKE_N_TEXT_AT (FAKE_N_BIAS + 0x1000)
#define FAKE_N_DATA_AT (FAKE_N_BIAS + 0x3000)
#define FAKE_N_BLOCKS_AT UINT64_C(0x7f3000000000)
#define FAKE_N_TLS_AT UINT64_C(0x7f4000000000)
#define FAKE_N_TCB_AT (FAKE_N_TLS_AT + 0x1000)
#define FAKE_N_STACK_AT UINT64_C(0x7ffd00000000)

enum {
    FAKE_N_BLOCKS = 256,
    FAKE_N_BLOCK_WORDS = 8,
    FAKE_N_DATA_WORDS = 1024,
    FAKE_N_STACK_WORDS = 4096,
    FAKE_N_TLS_WORDS = 1024,
    FAKE_N_PID = 7,
};

struct fake_native {
    struct hs_native native;
    struct hs_dump dump;
    struct hs_dump_options options;
    uint64_t blocks[FAKE_N_BLOCKS * FAKE_N_BLOCK_WORDS];
    uint64_t data[FAKE_N_DATA_WORDS], tls[FAKE_N_TLS_WORDS], stack[FAKE_N_STACK_WORDS];
    uint8_t text[4096];
    struct elf_writer writer;
    size_t text_section, data_section, bss_section;
    struct hs_object object;
    struct hs_native_object of_object;
    struct hs_thread threads[8];
    struct hs_mapping mappings[32];
    char paths[1024];
    bool has_tls; /* PT_TLS of 0x40 bytes */
};

struct fake_native *fake_native_new(void);
void fake_native_free(struct fake_native *fake);

/* Start of block number i. */
hs_addr fake_native_block(size_t i);
/* A variable of the program; `at` is an index into data. */
void fake_native_symbol(struct fake_native *fake, const char *name, size_t at, size_t n_words,
                        unsigned bind);
struct hs_thread *fake_native_thread(struct fake_native *fake, int tid);
/* A private mapping; `words` NULL: not in the copy (a guard when it is not readable). Ascending
 * within the test's own; kept in order. */
void fake_native_map(struct fake_native *fake, hs_addr begin, const void *bytes, size_t n_bytes,
                     const char *rights, const char *path);
/* Opens the program, adds the blocks; after this words may change, addresses may not. */
void fake_native_seal(struct fake_native *fake);
/* The same in two steps, for what adds spans of its own. */
void fake_native_open(struct fake_native *fake);
void fake_native_mark(struct fake_native *fake);

/* The leaf whose name is `name`, or NULL. */
const struct hs_root_leaf *fake_native_leaf(const struct fake_native *fake, const char *name);
const char *fake_native_text(const struct fake_native *fake, hs_str id);
/* A note that contains `text`? */
bool fake_native_notes(const struct fake_native *fake, const char *text);

#endif
