/* A heap of any size whose rows are computed one by one, without any of it in memory: for graphs of
 * hundreds of millions of blocks. The same recipe gives the same rows.
 *
 * Blocks have an index before they have an address. Every other one is a cell, the next its
 * payload, which points nowhere. Cells form lists, doubly linked lists, binary trees (with and
 * without parent pointers) and records in arrays, of 4 to half a million cells; each run of 65,536
 * blocks has a directory that holds its structures, and a root that holds the directory. Four cells
 * of five point at a shared payload, by a Zipf-like law; one of four at one of sixteen descriptors;
 * one of forty at some structure nearby or far away. One directory of 500 is held by nobody.
 * Addresses are indices shuffled in windows of 4096, and one of ten swapped with one at the other
 * end of the heap, as the reuse of free blocks does. */
#ifndef HS_BENCH_HEAP_STREAM_H
#define HS_BENCH_HEAP_STREAM_H

#include "snapshot/writer.h"

#define HEAP_STREAM_RUN ((uint64_t)65536)
#define HEAP_STREAM_MAX_ROW 65536

struct heap_stream {
    uint64_t n_blocks; /* a multiple of HEAP_STREAM_RUN */
    uint64_t seed;
};

/* Blocks [0, n_blocks) in address order; *ret_n targets, ascending, none twice, none the block
 * itself, in targets[HEAP_STREAM_MAX_ROW]. */
void heap_stream_row(const struct heap_stream *stream, uint64_t block, uint64_t *targets,
                     uint32_t *ret_n);
/* The directories that have a root, as blocks. */
uint64_t heap_stream_n_held(const struct heap_stream *stream);
/* of directory `run`, or UINT64_MAX when nobody holds it. */
uint64_t heap_stream_held(const struct heap_stream *stream, uint64_t run);
uint32_t heap_stream_words(const struct heap_stream *stream, uint64_t block);

#endif
