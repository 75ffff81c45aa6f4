/* Containers of OCaml's standard library, told by their shape.
 *
 * Where no .cmt file tells the types of a program, its blocks have nothing but a tag and a size.
 * Some of the library's containers keep numbers that must agree with what hangs on them, and by
 * these they are told: the height of a balanced tree, the length of a queue, the powers of two of a
 * hash table (map.ml, set.ml, queue.ml, stack.ml, hashtbl.ml; the same from 4.13 to 5.4). A list
 * has no such number: a chain of blocks is called one when it is long enough and ends as lists do.
 *
 * A shape is a type of the tables, so the rest of a container is found by pushing, as with types
 * that the source tells. */
#ifndef HS_SOURCE_TYPES_SHAPES_H
#define HS_SOURCE_TYPES_SHAPES_H

#include "push.h"

/* The shapes of containers, in the order of their types in the tables. */
enum hs_sshape {
    HS_SSHAPE_LIST,    /* field 1 leads to the next cell */
    HS_SSHAPE_MAP,     /* l, v, d, r, h */
    HS_SSHAPE_SET,     /* l, v, r, h */
    HS_SSHAPE_TABLE,   /* size, data, seed, initial_size */
    HS_SSHAPE_BUCKETS, /* the data of a hash table */
    HS_SSHAPE_ENTRY,   /* key, data, next */
    HS_SSHAPE_QUEUE,   /* length, first, last */
    HS_SSHAPE_STACK,   /* c, len */
    HS_N_SSHAPES
};

/* Three passes over the blocks in address order: what each may be by its own fields; what agrees
 * with those around it; which trees agree two levels deep. Of the others a byte is asked, not their
 * memory, so a copy that is larger than memory is read in order. Only chains are followed, of cells
 * each once, of entries by the push. */
enum { HS_SSHAPES_PASSES = 3 };

struct hs_sshapes {
    const struct hs_spush *push; /* borrowed */
    const struct hs_block_map *map;
    hs_stype first; /* the type of HS_SSHAPE_LIST */
    unsigned pass;
    uint8_t *classes; /* owned pages: by rank */
    uint64_t n_steps; /* blocks that may still be asked about; at 0 nothing is told any more */
};

/* Adds the types of the shapes to the tables of a push, which may be empty; not when these are
 * full. HS_LIMIT when out of memory. */
hs_status hs_sshapes_add(struct hs_spush *push, struct hs_error *err);

/* Begins to tell shapes, for a push that has types and shapes. Resident: a byte per block. */
hs_status hs_sshapes_open(struct hs_sshapes *shapes, const struct hs_spush *push,
                          const struct hs_block_map *map, struct hs_error *err);
void hs_sshapes_close(struct hs_sshapes *shapes);

/* Returns the shape of a block, as far as this pass tells; or HS_N_SSHAPES: it has a type, or is
 * none that could be told, or is a part (a leaf, an entry) that only the whole tells. About 20 ns;
 * at most 4,096 blocks are asked, for a pair of a list and a number. */
enum hs_sshape hs_sshapes_look(struct hs_sshapes *shapes, const struct hs_block *block,
                               uint64_t header);

/* Tells whether a block without a type may be of this shape, by what the first pass has seen. It is
 * not read. */
bool hs_sshapes_fits(const struct hs_sshapes *shapes, uint64_t rank, enum hs_sshape shape);
/* Tells whether a block that has this shape must be read for what hangs on it: not when it is
 * looked at anyway, or nothing does. */
bool hs_sshapes_leads_on(const struct hs_sshapes *shapes, uint64_t rank, enum hs_sshape shape);
/* Returns the words of a block of a shape, with the header. Only an array of buckets is read. */
uint64_t hs_sshapes_words(enum hs_sshape shape, const struct hs_block *block);

#endif
