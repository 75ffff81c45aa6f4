/* The headers of the collector's blocks, and the marks in them. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "boehm/parts.h"
#include "symbols/elf.h"

/* The offsets in a header (struct hblkhdr), and flags. */
enum {
    HEADER_BLOCK = 16,
    HEADER_FLAGS = 25,
    HEADER_SWEPT = 26,
    HEADER_SIZE = 32,
    HEADER_DESCR = 40
};
enum { FLAG_FREE = 4 };

/* A chain has one bottom index for each place, a multiple of 8 GiB from the others, that has a part
 * of the heap: of a longer one the rest is left out. */
enum { BOTTOMS_IN_CHAIN = 16 };

static const uint8_t *header_at(const struct boehm *boehm, hs_addr at)
{
    return at % HS_WORD_BYTES != 0 || at >= HS_USER_END
               ? NULL
               : hs_image_bytes(boehm->process->image, at, BOEHM_HEADER_BYTES);
}

/* Makes a block of its header; false: it cannot be one. */
static bool block_of(const struct boehm *boehm, hs_addr header, hs_addr page,
                     struct boehm_block *ret)
{
    const uint8_t *bytes = header_at(boehm, header);

    if (bytes == NULL)
        return false;
    const uint64_t size = hs_load_u64(bytes + HEADER_SIZE), of = hs_load_u64(bytes + HEADER_BLOCK);
    const bool is_free = (bytes[HEADER_FLAGS] & FLAG_FREE) != 0;
    if (of != page && (!is_free || of != 0)) /* free memory was perhaps never a block */
        return false;
    if (size == 0 || size % BOEHM_GRANULE_BYTES != 0 || size >= HS_USER_END - page ||
        (is_free && size % BOEHM_PAGE_BYTES != 0))
        return false;
    *ret = (struct boehm_block){
        .begin = page,
        .n_bytes = (size + BOEHM_PAGE_BYTES - 1) & ~(uint64_t)(BOEHM_PAGE_BYTES - 1),
        .object_bytes = is_free ? 0 : size,
        .header = header,
        .swept = (uint16_t)(bytes[HEADER_SWEPT] | bytes[HEADER_SWEPT + 1] << 8),
        .is_atomic = !is_free && hs_load_u64(bytes + HEADER_DESCR) == 0};
    return true;
}

static hs_status read_bottom(struct boehm *boehm, hs_addr bottom, uint64_t key,
                             struct hs_error *err)
{
    struct boehm_block block;
    uint64_t header;

    for (uint64_t i = 0; i < BOEHM_BOTTOM_WORDS; i++) {
        const hs_addr page = (key << BOEHM_BOTTOM_SHIFT) + (i << BOEHM_PAGE_SHIFT);
        if (!hs_image_u64(boehm->process->image, bottom + i * HS_WORD_BYTES, &header) ||
            header < BOEHM_PAGE_BYTES) /* none, or the block begins so many pages before */
            continue;
        if (boehm->n_blocks == boehm->most_blocks || !block_of(boehm, header, page, &block)) {
            boehm->n_damaged++;
            continue;
        }
        HS_TRY(HS_GROW(&boehm->blocks, &boehm->blocks_capacity, boehm->n_blocks + 1, err));
        boehm->blocks[boehm->n_blocks++] = block;
    }
    HS_TRY(HS_GROW(&boehm->bottoms, &boehm->bottoms_capacity, boehm->n_bottoms + 1, err));
    boehm->bottoms[boehm->n_bottoms++] = bottom;
    return HS_OK;
}

/* Reads the bottom indices of one word of the top index. */
static hs_status read_chain(struct boehm *boehm, uint64_t number, struct hs_error *err)
{
    const struct hs_image *image = boehm->process->image;
    uint64_t bottom, key, last = UINT64_MAX;

    if (!hs_image_u64(image, boehm->top + number * HS_WORD_BYTES, &bottom))
        return HS_OK;
    for (unsigned i = 0; bottom != boehm->nils; i++) {
        if (i == BOTTOMS_IN_CHAIN || bottom % 8 != 0 || bottom >= HS_USER_END ||
            !hs_image_u64(image, bottom + BOEHM_BOTTOM_KEY, &key) || key == last ||
            key % BOEHM_TOP_WORDS != number || key >= HS_USER_END >> BOEHM_BOTTOM_SHIFT) {
            boehm->n_damaged++;
            return HS_OK;
        }
        HS_TRY(read_bottom(boehm, bottom, key, err));
        last = key;
        if (!hs_image_u64(image, bottom + BOEHM_BOTTOM_KEY + HS_WORD_BYTES, &bottom))
            return HS_OK;
    }
    return HS_OK;
}

static int by_begin(const void *left, const void *right)
{
    const struct boehm_block *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Leaves out what overlaps a block before it. */
static void leave_out(struct boehm *boehm)
{
    size_t n = 0;

    if (boehm->n_blocks == 0)
        return;
    qsort(boehm->blocks, boehm->n_blocks, sizeof *boehm->blocks, by_begin);
    for (size_t i = 0; i < boehm->n_blocks; i++) {
        const struct boehm_block *last = n == 0 ? NULL : &boehm->blocks[n - 1];
        if (last == NULL || boehm->blocks[i].begin >= last->begin + last->n_bytes)
            boehm->blocks[n++] = boehm->blocks[i];
    }
    boehm->n_damaged += boehm->n_blocks - n;
    boehm->n_blocks = n;
}

/* ---- marks */

uint64_t hs_boehm_n_objects(const struct boehm_block *block)
{
    return block->object_bytes > BOEHM_SMALL_BYTES ? 1 : BOEHM_PAGE_BYTES / block->object_bytes;
}

/* Tells whether one of a header's marks is set, which are bytes or bits. */
static bool has_mark(const struct boehm *boehm, hs_addr header, bool bytes, uint64_t granule)
{
    const hs_addr marks = header + BOEHM_MARKS_AT;
    const hs_addr at = marks + (bytes ? granule : granule / 64 * HS_WORD_BYTES);
    const uint8_t *byte = hs_image_bytes(boehm->process->image, at, bytes ? 1 : HS_WORD_BYTES);

    if (byte == NULL)
        return false;
    return bytes ? *byte == 1 : (hs_load_u64(byte) >> (granule % 64) & 1) != 0;
}

bool hs_boehm_is_marked(const struct boehm *boehm, const struct boehm_block *block, uint64_t object)
{
    return has_mark(boehm, block->header, boehm->has_bytes,
                    object * (block->object_bytes / BOEHM_GRANULE_BYTES));
}

/* Finds whether marks are bytes or bits: the one behind a block's last object is always set. False:
 * they are neither. */
static bool find_marks(struct boehm *boehm)
{
    uint64_t n[2] = {0, 0}, n_blocks = 0;

    for (size_t i = 0; i < boehm->n_blocks; i++) {
        const struct boehm_block *block = &boehm->blocks[i];
        if (block->object_bytes == 0)
            continue;
        const uint64_t behind =
            block->object_bytes > BOEHM_SMALL_BYTES
                ? BOEHM_GRANULES
                : hs_boehm_n_objects(block) * block->object_bytes / BOEHM_GRANULE_BYTES;
        n_blocks++;
        for (unsigned k = 0; k < 2; k++)
            n[k] += has_mark(boehm, block->header, k == 1, behind);
    }
    boehm->has_bytes = n[1] > n[0];
    return n_blocks != 0 && n[boehm->has_bytes] * 100 >= n_blocks * 99;
}

static bool has_any_mark(const struct boehm *boehm, const struct boehm_block *block)
{
    for (uint64_t i = 0; i < hs_boehm_n_objects(block); i++)
        if (hs_boehm_is_marked(boehm, block, i))
            return true;
    return false;
}

/* Finds the number of the last collection, and whether marks are of it: a block in which none is
 * set is freed when marking has ended. */
static void find_collection(struct boehm *boehm)
{
    const struct hs_elf_symbol *symbol =
        boehm->object->elf == NULL ? NULL : hs_elf_find(boehm->object->elf, "GC_gc_no");
    uint64_t number;

    if (symbol == NULL ||
        !hs_image_u64(boehm->process->image, boehm->object->bias + symbol->vaddr, &number))
        return;
    boehm->collection = (uint16_t)number;
    boehm->knows_swept = true;
    for (size_t i = 0; i < boehm->n_blocks && boehm->knows_swept; i++) {
        const struct boehm_block *block = &boehm->blocks[i];
        boehm->knows_swept = block->object_bytes == 0 || block->swept == boehm->collection ||
                             has_any_mark(boehm, block);
    }
}

hs_status hs_boehm_blocks(struct boehm *boehm, struct hs_error *err)
{
    boehm->most_blocks =
        hs_image_resident_bytes(boehm->process->image, 0, UINT64_MAX) / BOEHM_HEADER_BYTES;
    for (uint64_t i = 0; i < BOEHM_TOP_WORDS; i++)
        HS_TRY(read_chain(boehm, i, err));
    leave_out(boehm);
    if (find_marks(boehm))
        find_collection(boehm);
    else
        boehm->n_blocks = 0;
    return HS_OK;
}

const struct boehm_block *hs_boehm_block_at(const struct boehm *boehm, hs_addr address)
{
    size_t at = HS_FIRST_ABOVE(boehm->blocks, boehm->n_blocks, begin, address);

    return at != 0 && address - boehm->blocks[at - 1].begin < boehm->blocks[at - 1].n_bytes
               ? &boehm->blocks[at - 1]
               : NULL;
}
