/* The spans of the page map, and the free blocks of each. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/load.h"
#include "tcmalloc/parts.h"

/* The places in a span's last word: 16 bits of how many blocks are in use, 8 of its class, 2 of
 * where it is. */
enum { BITS_CLASS = 16, BITS_LOCATION = 24 };

uint64_t hs_tcmalloc_n_blocks(const struct tcmalloc *tcmalloc, const struct tcmalloc_span *span)
{
    return span->class_number == 0
               ? 0
               : (span->end - span->begin) / tcmalloc->class_bytes[span->class_number];
}

bool hs_tcmalloc_span(const struct tcmalloc *tcmalloc, hs_addr address, struct tcmalloc_span *ret)
{
    const uint8_t *bytes =
        address % HS_WORD_BYTES != 0 || address >= HS_USER_END
            ? NULL
            : hs_image_bytes(tcmalloc->process->image, address, TCMALLOC_SPAN_BYTES);

    if (bytes == NULL)
        return false;
    const uint64_t most = HS_USER_END >> TCMALLOC_PAGE_SHIFT;
    uint64_t first = hs_load_u64(bytes), n = hs_load_u64(bytes + 8);
    uint32_t bits = hs_load_u32(bytes + 40);
    if (first == 0 || n == 0 || first >= most || n > most - first ||
        (bits >> BITS_CLASS & 255) >= tcmalloc->n_classes)
        return false;
    bool is_in_use = (bits >> BITS_LOCATION & 3) == 0;
    *ret =
        (struct tcmalloc_span){.address = address,
                               .begin = first << TCMALLOC_PAGE_SHIFT,
                               .end = (first + n) << TCMALLOC_PAGE_SHIFT,
                               .objects = hs_load_u64(bytes + 32),
                               .n_used = bits & 0xffff,
                               .class_number = is_in_use ? (uint8_t)(bits >> BITS_CLASS & 255) : 0,
                               .is_in_use = is_in_use};
    return true;
}

/* Returns where the page map says that the span of a page is described; 0: nowhere. */
static hs_addr spans_at(const struct tcmalloc *tcmalloc, uint64_t page)
{
    const struct hs_image *image = tcmalloc->process->image;
    hs_addr leaf, address = 0;

    if (hs_image_u64(image, tcmalloc->root + (page >> TCMALLOC_LEAF_SHIFT) * HS_WORD_BYTES, &leaf))
        (void)hs_image_u64(image, leaf + (page & (TCMALLOC_LEAF_PAGES - 1)) * HS_WORD_BYTES,
                           &address);
    return address;
}

/* Tells whether a span is sound: the page map has it for its last page, too, and as many blocks as
 * fit it are possible. */
static bool spans_is_sound(const struct tcmalloc *tcmalloc, const struct tcmalloc_span *span)
{
    const uint64_t n_blocks = hs_tcmalloc_n_blocks(tcmalloc, span);

    return spans_at(tcmalloc, (span->end >> TCMALLOC_PAGE_SHIFT) - 1) == span->address &&
           (span->class_number == 0 || (n_blocks != 0 && n_blocks <= TCMALLOC_MOST_BLOCKS));
}

/* One of the leaf's words: the first page of a span and the last one have it in any case. Others
 * may be left from spans that are no more, whose descriptions lead to nothing, or to another. */
static hs_status spans_add(struct tcmalloc *tcmalloc, uint64_t page, hs_addr address,
                           struct hs_error *err)
{
    const struct tcmalloc_span *last =
        tcmalloc->n_spans == 0 ? NULL : &tcmalloc->spans[tcmalloc->n_spans - 1];
    struct tcmalloc_span span;

    if (!hs_tcmalloc_span(tcmalloc, address, &span) || span.begin != page << TCMALLOC_PAGE_SHIFT)
        return HS_OK;
    if ((last != NULL && span.begin < last->end) || !spans_is_sound(tcmalloc, &span)) {
        tcmalloc->n_damaged++;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&tcmalloc->spans, &tcmalloc->spans_capacity, tcmalloc->n_spans + 1, err));
    tcmalloc->spans[tcmalloc->n_spans++] = span;
    return HS_OK;
}

static hs_status spans_of_leaf(struct tcmalloc *tcmalloc, const struct tcmalloc_leaf *leaf,
                               struct hs_error *err)
{
    const struct hs_image *image = tcmalloc->process->image;
    const hs_addr end = leaf->begin + TCMALLOC_LEAF_BYTES;
    hs_addr part, part_end = leaf->begin;
    uint64_t word;

    while (hs_image_next_present(image, part_end, end, &part, &part_end))
        for (hs_addr at = part; at + HS_WORD_BYTES <= part_end; at += HS_WORD_BYTES)
            if (hs_image_u64(image, at, &word) && word != 0)
                HS_TRY(spans_add(tcmalloc,
                                 (leaf->number << TCMALLOC_LEAF_SHIFT) +
                                     (at - leaf->begin) / HS_WORD_BYTES,
                                 word, err));
    return HS_OK;
}

/* ---- leaves */

static hs_status leaves_find(struct tcmalloc *tcmalloc, struct hs_error *err)
{
    const struct hs_image *image = tcmalloc->process->image;
    const hs_addr root = tcmalloc->root, end = root + TCMALLOC_LEAVES * HS_WORD_BYTES;
    hs_addr part, part_end = root;
    uint64_t word;

    while (hs_image_next_present(image, part_end, end, &part, &part_end))
        for (hs_addr at = part; at + HS_WORD_BYTES <= part_end; at += HS_WORD_BYTES) {
            if (!hs_image_u64(image, at, &word) || word == 0 || word % HS_WORD_BYTES != 0 ||
                word >= HS_USER_END - TCMALLOC_LEAF_BYTES)
                continue;
            HS_TRY(HS_GROW(&tcmalloc->leaves, &tcmalloc->leaves_capacity, tcmalloc->n_leaves + 1,
                           err));
            tcmalloc->leaves[tcmalloc->n_leaves++] =
                (struct tcmalloc_leaf){word, (at - root) / HS_WORD_BYTES};
        }
    return HS_OK;
}

static int leaves_by_begin(const void *left, const void *right)
{
    const struct tcmalloc_leaf *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int leaves_by_number(const void *left, const void *right)
{
    const struct tcmalloc_leaf *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Leaves that overlap another one: else a hostile root had 131,072 times the same to be read. */
static void leaves_leave_out(struct tcmalloc *tcmalloc)
{
    struct tcmalloc_leaf *leaves = tcmalloc->leaves;
    size_t n = 0;

    if (tcmalloc->n_leaves == 0)
        return;
    qsort(leaves, tcmalloc->n_leaves, sizeof *leaves, leaves_by_begin);
    for (size_t i = 0; i < tcmalloc->n_leaves; i++)
        if (n == 0 || leaves[i].begin - leaves[n - 1].begin >= TCMALLOC_LEAF_BYTES)
            leaves[n++] = leaves[i];
    tcmalloc->n_damaged += tcmalloc->n_leaves - n;
    tcmalloc->n_leaves = n;
    qsort(leaves, n, sizeof *leaves, leaves_by_number);
}

hs_status hs_tcmalloc_spans(struct tcmalloc *tcmalloc, struct hs_error *err)
{
    HS_TRY(leaves_find(tcmalloc, err));
    leaves_leave_out(tcmalloc);
    for (size_t i = 0; i < tcmalloc->n_leaves; i++)
        HS_TRY(spans_of_leaf(tcmalloc, &tcmalloc->leaves[i], err));
    return HS_OK;
}

/* ---- blocks */

bool hs_tcmalloc_free_blocks(const struct tcmalloc *tcmalloc, const struct tcmalloc_span *span,
                             uint64_t *free, uint64_t *ret_n)
{
    const uint64_t n_blocks = hs_tcmalloc_n_blocks(tcmalloc, span);
    const uint64_t block_bytes = tcmalloc->class_bytes[span->class_number];
    uint64_t n = 0, word;
    bool is_sound = true;

    for (hs_addr at = span->objects; at != 0 && is_sound; at = word) {
        uint64_t offset = at - span->begin, number = offset / block_bytes;
        is_sound = number < n_blocks && offset % block_bytes == 0 &&
                   (free[number / 64] >> (number % 64) & 1) == 0 &&
                   hs_image_u64(tcmalloc->process->image, at, &word);
        if (!is_sound)
            break;
        free[number / 64] |= UINT64_C(1) << (number % 64);
        n++;
    }
    *ret_n = n;
    return is_sound && span->n_used == n_blocks - n;
}
