/* An OCaml 4 heap made by a test: a chunk, a minor heap, static data, atoms and the few runtime
 * variables that the allocator's code reads, as an image at made-up addresses.
 *
 *   heap    blocks appended upwards         young   pushed downwards, newest first
 *   statics appended upwards, in the object atoms   256 headers
 *
 * Build with the functions below, then fake_heap_seal, then build a map of `rt`. */
#ifndef HS_TESTS_FAKE_HEAP_H
#define HS_TESTS_FAKE_HEAP_H

#include "elf_writer.h"
#include "ocaml/ocaml.h"

enum { FAKE_HEAP_WORDS = 1 << 16, FAKE_YOUNG_WORDS = 1 << 12, FAKE_STATIC_WORDS = 1 << 10 };

#define FAKE_HEAP_AT UINT64_C(0x7f0000001000)
#define FAKE_YOUNG_AT UINT64_C(0x7e0000000000)
#define FAKE_OBJECT_AT UINT64_C(0x550000000000)
#define FAKE_STATIC_AT (FAKE_OBJECT_AT + 0x3000)
#define FAKE_ATOM_AT UINT64_C(0x560000000000)
#define FAKE_UNIT_AT                                                                           \
    (FAKE_STATIC_AT + 5 * 8)                /* camlM: the first static block that a test makes \
                                             */
#define FAKE_NONE (FAKE_OBJECT_AT + 0x8000) /* what marks an empty ephemeron slot */

/* Code addresses with symbols. */
#define FAKE_CODE_F (FAKE_OBJECT_AT + 0x1000)     /* camlM__f_12: M.f */
#define FAKE_CODE_G (FAKE_OBJECT_AT + 0x1010)     /* camlM__g_13: M.g */
#define FAKE_CODE_CURRY (FAKE_OBJECT_AT + 0x1020) /* caml_curry2 */
#define FAKE_CUSTOM_OPS (FAKE_STATIC_AT + 8)      /* identifier "_fake" in the file's bytes */

struct fake_heap {
    uint64_t heap[FAKE_HEAP_WORDS], young[FAKE_YOUNG_WORDS], statics[FAKE_STATIC_WORDS];
    uint64_t atoms[257];
    size_t n_heap, n_young, n_statics;
    struct elf_writer writer;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_ocaml rt;
    struct hs_ocaml_roots roots;
};

struct fake_heap *fake_heap_new(void);
void fake_heap_free(struct fake_heap *fake);

hs_addr fake_block(struct fake_heap *fake, unsigned tag, size_t n, const uint64_t *fields);
hs_addr fake_young(struct fake_heap *fake, unsigned tag, size_t n, const uint64_t *fields);
hs_addr fake_static(struct fake_heap *fake, unsigned tag, size_t n, const uint64_t *fields);
/* A header and `n` words of anything. */
hs_addr fake_raw(struct fake_heap *fake, uint64_t header, size_t n);
uint64_t fake_header(size_t n, unsigned colour, unsigned tag);
/* The word at an address of the heap, the minor heap or static data; to read or to damage. */
uint64_t *fake_word(struct fake_heap *fake, hs_addr address);

/* Puts `block` at the head of the runtime's list of ephemerons (its field 0 becomes the link). */
void fake_ephemeron(struct fake_heap *fake, hs_addr block);
void fake_root(struct fake_heap *fake, hs_addr target, bool weak);

/* Closes the chunk and fills the image. */
void fake_heap_seal(struct fake_heap *fake);
/* Its note, or NULL when there is none that contains `text`. */
const char *fake_note(const struct fake_heap *fake, const char *text);
/* All proofs hold? */
bool fake_proofs_hold(const struct fake_heap *fake);

#endif
