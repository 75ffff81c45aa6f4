/* Values that OCaml has written with Marshal (output_value), as objects with fields.
 *
 *   magic 0x8495A6BE | bytes | objects | words in 32 and in 64 bits | codes
 *   magic 0x8495A6BF | 0 | bytes | objects | words | codes            more than 4 GiB
 *
 * A code is a number, a block that its fields follow, a text, or how many objects back one was that
 * is meant again. The bytes are foreign: sizes are bounded by what is left of them. Numbers are
 * big-endian. Floats and custom blocks are refused. Source: runtime/intern.c, caml/intext.h; the
 * same in 4.13 to 5.4, but for compression, which is refused. */
#ifndef HS_BYTECODE_MARSHAL_H
#define HS_BYTECODE_MARSHAL_H

#include "base/error.h"

enum { HS_MARSHAL_TEXT = 252 /* the tag of a text */ };

struct hs_marshal_object {
    uint32_t first; /* of its fields, or of its text's bytes */
    uint32_t n;     /* fields, or bytes */
    uint8_t tag;
};

struct hs_marshal {
    const uint8_t *bytes;              /* borrowed */
    struct hs_marshal_object *objects; /* owned; in the order of their codes */
    size_t n_objects, objects_capacity;
    uint64_t *fields; /* owned: the number of an object, twice; or an integer, twice, plus 1 */
    size_t n_fields, fields_capacity;
};

void hs_marshal_fini(struct hs_marshal *value);

/* Reads a value. HS_FORMAT where it is none, or one that is not read. O(bytes); resident: at most
 * 24 bytes for each. */
hs_status hs_marshal_read(struct hs_marshal *value, const void *bytes, size_t n_bytes,
                          struct hs_error *err);

/* Finds the object that a field leads to, or NULL. */
const struct hs_marshal_object *hs_marshal_at(const struct hs_marshal *value, uint64_t field);

#endif
