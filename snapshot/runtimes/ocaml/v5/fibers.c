/* The stacks of suspended continuations, which nothing else leads to.
 *
 *   block of tag 245: field 0 = stack_info | 1, or 1 when it was resumed
 *   stack_info ... | frames of OCaml, from sp up | stack_handler {value, exn, effect, parent}
 *
 * Such a block has one field (5.1) or two, so only pools of two size classes can hold one; in the
 * minor heap every word that looks like its header counts. Each is copied with all its parents.
 * Source: runtime/caml/fiber.h, fiber.c. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "map.h"
#include "ocaml5.h"

enum { STACKS_MAX = 1 << 20, STACK_BYTES_MAX = 1 << 30, BUCKETS_MAX = 64 };

static bool fiber_words(struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    return address % HS_WORD == 0 && address != 0 && address <= UINT64_MAX / 2 &&
           hs_target_read(rt->target, address, words, n * sizeof *words, &ignored) == HS_OK;
}

bool hs_ocaml5_is_stack(hs_addr stack, const uint64_t info[HS_STACK5_BYTES / HS_WORD])
{
    hs_addr sp = info[HS_STACK5_SP / HS_WORD], handler = info[HS_STACK5_HANDLER / HS_WORD];
    int32_t bucket = (int32_t)(uint32_t)info[HS_STACK5_BUCKET / HS_WORD];

    return handler % HS_WORD == 0 && handler > stack && handler - stack <= STACK_BYTES_MAX &&
           sp % HS_WORD == 0 && sp >= stack + HS_STACK5_BYTES && sp <= handler && bucket >= -1 &&
           bucket < BUCKETS_MAX;
}

hs_status hs_ocaml5_copy_stack(struct hs_ocaml *rt, hs_addr stack, hs_addr from, bool *ret_is_sane,
                               hs_addr *ret_parent, struct hs_error *err)
{
    uint64_t info[HS_STACK5_BYTES / HS_WORD];
    hs_addr parent = 0, handler, begin;

    *ret_is_sane = false;
    *ret_parent = 0;
    if (!fiber_words(rt, stack, info, HS_STACK5_BYTES / HS_WORD))
        return HS_OK;
    handler = info[HS_STACK5_HANDLER / HS_WORD];
    begin = from == 0 ? info[HS_STACK5_SP / HS_WORD] : from;
    if (begin > stack + HS_STACK5_BYTES + HS_RED_ZONE_BYTES)
        begin -= HS_RED_ZONE_BYTES;
    if (!hs_ocaml5_is_stack(stack, info) || begin < stack || begin > handler ||
        !fiber_words(rt, handler + HS_HANDLER5_PARENT, &parent, 1))
        return HS_OK;
    *ret_is_sane = true;
    *ret_parent = parent;
    HS_TRY(hs_image_copy(rt->image, rt->target, stack, stack + HS_STACK5_BYTES, err));
    return hs_image_copy(rt->image, rt->target, begin & -(hs_addr)HS_WORD,
                         handler + HS_HANDLER5_BYTES, err);
}

static hs_status fibers_add(struct hs_ocaml5 *five, hs_addr block, hs_addr stack,
                            struct hs_error *err)
{
    HS_TRY(HS_GROW(&five->fibers, &five->fibers_capacity, five->n_fibers + 1, err));
    five->fibers[five->n_fibers++] = (struct hs_ocaml5_fiber){.stack = stack, .block = block};
    return HS_OK;
}

/* Tells whether `header` followed by `field` is the beginning of a continuation that owns a stack.
 */
static bool fibers_is_one(uint64_t header, uint64_t field)
{
    uint64_t wosize = HS_HEADER_WOSIZE(header);
    return HS_HEADER_TAG(header) == HS_TAG_CONT && (wosize == 1 || wosize == 2) &&
           (field & 7) == 1 && field != 1;
}

/* Looks at every `step`th word of a part of the heap. */
static hs_status fibers_scan(struct hs_ocaml *rt, hs_addr begin, hs_addr end, uint64_t step,
                             struct hs_error *err)
{
    while (begin < end) {
        const struct hs_image_range *range = hs_image_find(rt->image, begin, NULL);
        if (range == NULL)
            return HS_OK; /* counted when the blocks are */
        hs_addr stop = range->end < end ? range->end : end;
        for (; stop - begin >= 2 * HS_WORD && begin < stop; begin += step * HS_WORD) {
            const uint8_t *at = range->bytes + (begin - range->begin);
            if (fibers_is_one(hs_load_u64(at), hs_load_u64(at + HS_WORD)))
                HS_TRY(fibers_add(rt->five, begin + HS_WORD, hs_load_u64(at + HS_WORD) - 1, err));
            if (stop - begin <= step * HS_WORD)
                return HS_OK;
        }
        begin = stop;
    }
    return HS_OK;
}

static hs_status fibers_find(struct hs_ocaml *rt, struct hs_error *err)
{
    for (size_t i = 0; i < rt->chunks.n; i++) {
        const struct hs_span *span = &rt->chunks.spans[i];
        if (span->slot_words == 2 || span->slot_words == 3)
            HS_TRY(fibers_scan(rt, span->begin, span->end, span->slot_words, err));
    }
    for (size_t d = 0; d < rt->five->n_domains; d++)
        HS_TRY(fibers_scan(rt, rt->five->domains[d].young_ptr, rt->five->domains[d].young_end, 1,
                           err));
    return HS_OK;
}

static int by_stack(const void *a, const void *b)
{
    const struct hs_ocaml5_fiber *x = a, *y = b;
    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static int by_block(const void *a, const void *b)
{
    const struct hs_ocaml5_fiber *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Keeps one owner of each stack. A sound heap has no other. */
static void fibers_unique(struct hs_ocaml5 *five)
{
    size_t n = 0;

    if (five->n_fibers > 1)
        qsort(five->fibers, five->n_fibers, sizeof *five->fibers, by_stack);
    for (size_t i = 0; i < five->n_fibers; i++) {
        if (n == 0 || five->fibers[n - 1].stack != five->fibers[i].stack)
            five->fibers[n++] = five->fibers[i];
        else
            five->n_shared_fibers++;
    }
    five->n_fibers = n;
}

/* Copies all stacks, and adds the parents of each to its block. A chain ends at a stack that is
 * already somebody's, which also ends what goes in circles: parents are few, found by search. */
static hs_status fibers_copy(struct hs_ocaml *rt, struct hs_error *err)
{
    struct hs_ocaml5 *five = rt->five;
    size_t n_owned = five->n_fibers, n_left = STACKS_MAX;

    for (size_t i = 0; i < n_owned; i++) {
        hs_addr stack = five->fibers[i].stack, block = five->fibers[i].block;
        struct hs_cycle cycle = {0};
        for (uint32_t order = 0; stack != 0 && n_left != 0; order++, n_left--) {
            bool is_sane;
            hs_addr parent;
            size_t at = HS_FIRST_FROM(five->fibers, n_owned, stack, stack);
            bool is_owned = at < n_owned && five->fibers[at].stack == stack;
            if ((order != 0 && is_owned) || hs_cycle_found(&cycle, stack))
                break;
            HS_TRY(hs_ocaml5_copy_stack(rt, stack, 0, &is_sane, &parent, err));
            if (order != 0)
                HS_TRY(fibers_add(five, block, stack, err));
            five->fibers[order == 0 ? i : five->n_fibers - 1].order = order;
            five->fibers[order == 0 ? i : five->n_fibers - 1].is_damaged = !is_sane;
            stack = parent;
        }
    }
    return HS_OK;
}

/* Takes stacks that share memory with one before them as damaged: those of a sound heap lie apart.
 * Each is walked to its end, so many laid over each other would take for ever. */
static void fibers_part(struct hs_ocaml *rt)
{
    struct hs_ocaml5 *five = rt->five;
    hs_addr end = 0;

    if (five->n_fibers > 1)
        qsort(five->fibers, five->n_fibers, sizeof *five->fibers, by_stack);
    for (size_t i = 0; i < five->n_fibers; i++) {
        struct hs_ocaml5_fiber *fiber = &five->fibers[i];
        uint64_t handler;
        if (fiber->is_damaged)
            continue;
        fiber->is_damaged = fiber->stack < end ||
                            !hs_image_u64(rt->image, fiber->stack + HS_STACK5_HANDLER, &handler);
        if (!fiber->is_damaged)
            end = handler + HS_HANDLER5_BYTES;
    }
}

hs_status hs_ocaml5_copy_fibers(struct hs_ocaml *rt, struct hs_error *err)
{
    rt->five->n_fibers = 0;
    HS_TRY(fibers_find(rt, err));
    fibers_unique(rt->five);
    HS_TRY(fibers_copy(rt, err));
    fibers_part(rt);
    if (rt->five->n_fibers > 1)
        qsort(rt->five->fibers, rt->five->n_fibers, sizeof *rt->five->fibers, by_block);
    return HS_OK;
}

const struct hs_ocaml5_fiber *hs_ocaml5_fibers_of(const struct hs_ocaml5 *five, hs_addr block,
                                                  size_t *ret_n)
{
    size_t first = HS_FIRST_FROM(five->fibers, five->n_fibers, block, block), n = 0;

    while (first + n < five->n_fibers && five->fibers[first + n].block == block)
        n++;
    *ret_n = n;
    return n == 0 ? NULL : &five->fibers[first];
}
