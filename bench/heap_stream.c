#include "heap_stream.h"

#include <stdlib.h>

#define WINDOW 4096
#define LEVEL_MIN 3
#define LEVEL_MAX 20
#define N_DESCRIPTORS 16
#define POOL_SHARE 12 /* one payload in so many is a shared string or a descriptor, too */

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): the mixer. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

static uint64_t draw(const struct heap_stream *stream, uint64_t index, unsigned purpose)
{
    return mix(stream->seed + mix(index * 64 + purpose));
}

enum purpose {
    FOR_LEVEL = 1, /* and the levels above it */
    FOR_SHAPE = 32,
    FOR_STRING,
    FOR_STRING_RANK,
    FOR_DESCRIPTOR,
    FOR_CROSS,
    FOR_CROSS_TO,
    FOR_WORDS,
    FOR_HELD
};

/* ---- index and address: both ways the same, as each step undoes itself ---- */

static uint64_t far_swap(const struct heap_stream *stream, uint64_t at)
{
    uint64_t n = stream->n_blocks / 10;
    return at % 10 == 3 && at / 10 < n ? 10 * (n - 1 - at / 10) + 3 : at;
}

static uint64_t address_of(const struct heap_stream *stream, uint64_t index)
{
    uint64_t low = index & (WINDOW - 1);
    return far_swap(stream, index - low + (low * 1365 & (WINDOW - 1)));
}

static uint64_t index_of(const struct heap_stream *stream, uint64_t address)
{
    uint64_t at = far_swap(stream, address), low = at & (WINDOW - 1);
    return at - low + (low * 4093 & (WINDOW - 1)); /* 1365 * 4093 = 1 modulo 4096 */
}

/* ---- structures: of cells, the even indices; the odd ones are their payloads ---- */

struct structure {
    uint64_t first;
    uint64_t n;
};

/* Of an index outside the directory's place: the widest aligned range around it that was chosen. */
static struct structure structure_of(const struct heap_stream *stream, uint64_t index)
{
    for (unsigned level = LEVEL_MAX; level > LEVEL_MIN; level--) {
        uint64_t first = index >> level << level;
        uint64_t chance = level > 16 ? 40 : 1u << (17 - level); /* of 65,536 */
        bool fits = first + ((uint64_t)1 << level) <= stream->n_blocks;
        if (fits && draw(stream, first, FOR_LEVEL + level) % 65536 < chance * 6)
            return (struct structure){first, (uint64_t)1 << level};
    }
    return (struct structure){index >> LEVEL_MIN << LEVEL_MIN, 1 << LEVEL_MIN};
}

struct row {
    const struct heap_stream *stream;
    uint64_t *targets;
    uint32_t n;
};

static void row_add(struct row *row, uint64_t index)
{
    if (index < row->stream->n_blocks && row->n < HEAP_STREAM_MAX_ROW)
        row->targets[row->n++] = address_of(row->stream, index);
}

enum shape { SHAPE_A_LIST, SHAPE_DOUBLE, SHAPE_TREE, SHAPE_PARENTED, SHAPE_RECORDS, N_SHAPES };

static void row_add_structure(struct row *row, uint64_t index)
{
    struct structure s = structure_of(row->stream, index);
    uint64_t at = (index - s.first) / 2, n = s.n / 2;

    switch ((enum shape)(draw(row->stream, s.first, FOR_SHAPE) % N_SHAPES)) {
    case SHAPE_DOUBLE:
        if (at > 0)
            row_add(row, index - 2);
        [[fallthrough]];
    case SHAPE_A_LIST:
        if (at + 1 < n)
            row_add(row, index + 2);
        break;
    case SHAPE_PARENTED:
        if (at > 0)
            row_add(row, s.first + (at - 1) / 2 * 2);
        [[fallthrough]];
    case SHAPE_TREE:
        for (uint64_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            row_add(row, s.first + 2 * child);
        break;
    case SHAPE_RECORDS: /* the first cell holds 15 arrays; these hold the rest, which hold one back
                         */
    case N_SHAPES:
    default:
        if (at == 0)
            for (uint64_t i = 1; i < 16 && i < n; i++)
                row_add(row, s.first + 2 * i);
        else if (at < 16)
            for (uint64_t i = at + 15; i < n && i < at + 15 + 15 * 4000; i += 15)
                row_add(row, s.first + 2 * i);
        else
            row_add(row, s.first + 2 * (1 + at % 15));
        break;
    }
}

static void row_add_shared(struct row *row, uint64_t index)
{
    const struct heap_stream *stream = row->stream;
    uint64_t pool = stream->n_blocks / POOL_SHARE;

    if (draw(stream, index, FOR_STRING) % 5 < 4) { /* rank below 2^bits, bits uniform: Zipf-like */
        unsigned bits = 1;
        while (((uint64_t)1 << (bits + 1)) <= pool)
            bits++;
        uint64_t x = draw(stream, index, FOR_STRING_RANK);
        uint64_t rank = (x >> 8) & (((uint64_t)1 << (1 + (x & 255) % bits)) - 1);
        row_add(row, rank * POOL_SHARE + 7);
    }
    if (draw(stream, index, FOR_DESCRIPTOR) % 4 == 0)
        row_add(row, (draw(stream, index, FOR_DESCRIPTOR) >> 8) % N_DESCRIPTORS * POOL_SHARE + 9);
    if (draw(stream, index, FOR_CROSS) % 40 == 0) {
        uint64_t to = draw(stream, index, FOR_CROSS_TO), target = (to >> 8) % stream->n_blocks;
        if (to % 8 != 0) /* nearby */
            target = index + (to >> 8) % 8192;
        if (to % 8 != 0 && target >= 4096)
            target -= 4096;
        if (target < stream->n_blocks)
            row_add(row, structure_of(stream, target).first);
    }
}

/* The first block of a run holds the structures that begin in it. */
static void row_add_directory(struct row *row, uint64_t index)
{
    for (uint64_t at = index; at < index + HEAP_STREAM_RUN;) {
        struct structure s = structure_of(row->stream, at);
        if (s.first >= index && s.first != index)
            row_add(row, s.first);
        at = s.first + s.n;
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void heap_stream_row(const struct heap_stream *stream, uint64_t block, uint64_t *targets,
                     uint32_t *ret_n)
{
    struct row row = {stream, targets, 0};
    uint64_t index = index_of(stream, block);
    uint32_t n = 0;

    if (index % 2 == 0) {
        row_add(&row, index + 1);
        row_add_structure(&row, index);
        row_add_shared(&row, index);
    }
    if (index % HEAP_STREAM_RUN == 0)
        row_add_directory(&row, index);
    qsort(targets, row.n, sizeof *targets, compare);
    for (uint32_t i = 0; i < row.n; i++)
        if (targets[i] != block && (n == 0 || targets[n - 1] != targets[i]))
            targets[n++] = targets[i];
    *ret_n = n;
}

uint64_t heap_stream_held(const struct heap_stream *stream, uint64_t run)
{
    if (draw(stream, run, FOR_HELD) % 500 == 0)
        return UINT64_MAX;
    return address_of(stream, run * HEAP_STREAM_RUN);
}

uint64_t heap_stream_n_held(const struct heap_stream *stream)
{
    uint64_t n = 0;
    for (uint64_t run = 0; run < stream->n_blocks / HEAP_STREAM_RUN; run++)
        n += heap_stream_held(stream, run) != UINT64_MAX;
    return n;
}

uint32_t heap_stream_words(const struct heap_stream *stream, uint64_t block)
{
    return 2 + (uint32_t)(draw(stream, block, FOR_WORDS) % 7);
}
