/* OCaml's frame descriptors: for each return address into OCaml code, how large the frame is, which
 * of its words and registers are live roots, and which source places the call has.
 *
 *   table:       u64 count, then `count` descriptors, each aligned to 8
 *   descriptor:  u64 return_address
 *                u16 frame_size     bytes | 1: has debug info | 2: is an allocation point
 *                u16 num_live       u16 live[num_live]: even = offset from sp, odd = register << 1
 *                [2] u8 n, u8 length[n]
 *                [1] align 4, u32 debug[n or 1]: offset from its own address, 0 = none
 *   frame_size 0xFFFF: a return into C, where the stack goes on at a saved link (amd64.S)
 *
 * Source places are two words and a name record; what the words hold changed with 5.2 (see
 * hs_frame_place_read).
 *
 * Source: runtime/caml/stack.h, roots_nat.c (next_frame_descr), backtrace_nat.c
 * (caml_debuginfo_location) of 4.13.1 and 4.14.2, caml/frame_descriptors.h, frame_descriptors.c and
 * backtrace_nat.c of 5.1.1, 5.2.0 and 5.3. The tables are data of the target, hence hostile: a
 * descriptor that leaves its range ends its table, and what was left out is counted.
 *
 * Resident: 24 to 32 bytes per descriptor. A lookup is one probe of a hash. */
#ifndef HS_OCAML_FRAME_TABLE_H
#define HS_OCAML_FRAME_TABLE_H

#include "base/table.h"
#include "process/image.h"

enum { HS_FRAME_LINK = 0xFFFF, HS_FRAME_MAX_INLINED = 64 };

struct hs_frame_entry {
    hs_addr return_address;
    hs_addr at; /* of the descriptor */
};

struct hs_frame_table {
    struct hs_frame_entry *entries; /* owned; in order of addition */
    size_t n_entries, capacity;
    struct hs_table by_address; /* of entries; built by hs_frame_table_seal */
    uint64_t n_damaged;         /* tables that end early or are not in the image */
};

/* A descriptor, read. Offsets are addresses in the image. */
struct hs_frame_descriptor {
    uint16_t frame_size; /* as stored; HS_FRAME_LINK for a return into C */
    uint16_t n_live;
    hs_addr live;  /* u16[n_live] */
    hs_addr debug; /* u32[n_debug]; 0 when it has none */
    uint16_t n_debug;
};

/* One source place. Several for one call: the innermost inlined function first. */
struct hs_frame_place {
    hs_addr file, function; /* NUL-terminated text in the image */
    /* Characters count from the beginning of the line that they are in. */
    uint32_t line, char_begin, char_end;
    bool is_raise, has_next;
    hs_addr next; /* of the next place record */
};

void hs_frame_table_fini(struct hs_frame_table *table);

/* Adds the descriptors of the table at `address`. A damaged table is counted, not an error. */
hs_status hs_frame_table_add(struct hs_frame_table *table, const struct hs_image *image,
                             hs_addr address, struct hs_error *err);

/* Builds the hash; of several descriptors with one return address the first added wins. */
hs_status hs_frame_table_seal(struct hs_frame_table *table, struct hs_error *err);

/* Finds the entry of a return address; NULL: there is none. Index of it: entry - table->entries. */
const struct hs_frame_entry *hs_frame_table_find(const struct hs_frame_table *table,
                                                 hs_addr return_address);

/* Returns the bytes of a frame, without its flags. */
static inline uint64_t hs_frame_bytes(const struct hs_frame_descriptor *d)
{
    return d->frame_size & 0xFFFC;
}

/* Reads a descriptor. False when it is not all in the image. */
bool hs_frame_descriptor_read(const struct hs_image *image, hs_addr at,
                              struct hs_frame_descriptor *ret);

/* Reads the i-th live slot, as stored. */
bool hs_frame_live(const struct hs_image *image, const struct hs_frame_descriptor *d, unsigned i,
                   uint16_t *ret);

/* The packings of source places: the compiler's format up to 5.1, or that since 5.2. */
enum hs_place_packing { HS_PLACES_UP_TO_5_1, HS_PLACES_FROM_5_2 };

/* Reads the first place of a descriptor (of an allocation point the first that has one); false when
 * it has none. Go on with hs_frame_place_read(image, packing, place.next) while has_next. */
bool hs_frame_first_place(const struct hs_image *image, enum hs_place_packing packing,
                          const struct hs_frame_descriptor *d, struct hs_frame_place *ret);
bool hs_frame_place_read(const struct hs_image *image, enum hs_place_packing packing, hs_addr at,
                         struct hs_frame_place *ret);

#endif
