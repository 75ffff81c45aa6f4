/* Boehm's collector: its objects, as another allocator's blocks. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "boehm/parts.h"
#include "carve.h"
#include "data_words.h"
#include "region_bits.h"
#include "symbols/elf.h"

static void boehm_close(void *state)
{
    struct boehm *boehm = state;

    if (boehm == NULL)
        return;
    hs_free(boehm->bottoms);
    hs_free(boehm->blocks);
    hs_free(boehm->stacks);
    hs_free(boehm);
}

static int by_address(const void *left, const void *right)
{
    const hs_addr *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static hs_status boehm_note_stacks(struct boehm *boehm, struct hs_error *err)
{
    const struct hs_target *target = boehm->process->target;

    if (target->n_threads == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&boehm->stacks, target->n_threads, err));
    for (; boehm->n_stacks < target->n_threads; boehm->n_stacks++)
        boehm->stacks[boehm->n_stacks] = hs_regs_sp(&target->threads[boehm->n_stacks].regs);
    qsort(boehm->stacks, boehm->n_stacks, sizeof *boehm->stacks, by_address);
    return HS_OK;
}

static hs_status boehm_open(const struct hs_process_copy *process, void **ret_state,
                            struct hs_error *err)
{
    struct boehm *boehm;
    hs_status status = HS_OK;

    if (process->target == NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&boehm, 1, err));
    boehm->process = process;
    hs_boehm_locate(boehm);
    if (boehm->object != NULL)
        status = hs_boehm_blocks(boehm, err);
    if (status == HS_OK && boehm->n_blocks != 0)
        status = boehm_note_stacks(boehm, err);
    if (status == HS_OK && boehm->n_blocks != 0)
        *ret_state = boehm;
    else
        boehm_close(boehm);
    return status;
}

static const char *boehm_version(const void *state)
{
    (void)state;
    return "8";
}

/* ---- spans and claims */

static struct hs_heap_span boehm_span(const struct boehm_block *block)
{
    const uint64_t n = hs_boehm_n_objects(block);

    return (struct hs_heap_span){.begin = block->begin,
                                 .end = block->begin + n * block->object_bytes,
                                 .unit_bytes = block->object_bytes,
                                 .tag = block->is_atomic,
                                 .form = n == 1 ? HS_SPAN_SINGLE : HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_boehm,
                                 .states = HS_BLOCK_UNSURE};
}

static hs_status boehm_claim(struct hs_ledger *ledger, enum hs_memory_state state, hs_addr begin,
                             uint64_t n_bytes, struct hs_error *err)
{
    return hs_ledger_claim(ledger, BOEHM_OWNER, state, begin, begin + n_bytes, 0, err);
}

/* ---- the collector's own tables, which it has from the system, too */

static bool is_stack(const struct boehm *boehm, const struct hs_mapping *m)
{
    size_t i = HS_FIRST_NOT(at, 0, boehm->n_stacks, boehm->stacks[at] < m->begin);

    return i != boehm->n_stacks && boehm->stacks[i] < m->end;
}

/* Claims a mapping in which it has tables: headers and indices, of which some are not in use, and a
 * stack of what it marked last, all of which lead to objects and keep none. */
static hs_status boehm_claim_tables(const struct boehm *boehm, hs_addr at, struct hs_ledger *ledger,
                                    hs_addr *last, struct hs_error *err)
{
    const struct hs_target *target = boehm->process->target;
    const struct hs_mapping *m = hs_target_mapping_at(target, at);

    if (m == NULL || m->begin == *last || m->inode != 0 || m->shared ||
        hs_mapping_path(target, m)[0] != '\0' || is_stack(boehm, m))
        return HS_OK;
    *last = m->begin;
    return boehm_claim(ledger, HS_MEMORY_INTERNAL, m->begin, m->end - m->begin, err);
}

/* Claims the stack of what it marked last, to whose two ends words of its data lead that stand
 * beside each other. The system may have put it behind the heap, in one mapping with it. */
static hs_status boehm_claim_marks(const struct boehm *boehm, hs_addr begin, hs_addr end,
                                   struct hs_ledger *ledger, struct hs_error *err)
{
    const struct hs_mapping *m = hs_target_mapping_at(boehm->process->target, begin);
    const uint64_t n_bytes = end - begin;

    if (begin >= end || n_bytes < BOEHM_MARKS_LEAST || (n_bytes & (n_bytes - 1)) != 0 ||
        m == NULL || end > m->end || m->inode != 0 || m->shared || is_stack(boehm, m))
        return HS_OK;
    return boehm_claim(ledger, HS_MEMORY_INTERNAL, begin, n_bytes, err);
}

/* Measures a list of the heap's parts: a beginning and a size of each. False: it is none. */
static bool boehm_is_parts(const struct boehm *boehm, hs_addr at, uint64_t *ret_n_bytes)
{
    uint64_t n = 0, begin, n_bytes;

    while (hs_image_u64(boehm->process->image, at + n, &begin) &&
           hs_image_u64(boehm->process->image, at + n + HS_WORD_BYTES, &n_bytes)) {
        const struct boehm_block *block = hs_boehm_block_at(boehm, begin);
        if (block == NULL || block->begin != begin || n_bytes < BOEHM_PAGE_BYTES ||
            n_bytes % BOEHM_PAGE_BYTES != 0)
            break;
        n += 2 * HS_WORD_BYTES;
    }
    *ret_n_bytes = n;
    return n != 0;
}

/* Claims all that, when what is in the heap is claimed. */
static hs_status boehm_claim_own(const struct boehm *boehm, struct hs_ledger *ledger,
                                 struct hs_error *err)
{
    struct hs_data_words words = {.process = boehm->process, .object = boehm->object};
    hs_addr address, last = 0;
    uint64_t word, before = 0, n_parts = 0;

    for (size_t i = 0; i < boehm->n_blocks; i++)
        HS_TRY(boehm_claim_tables(boehm, boehm->blocks[i].header, ledger, &last, err));
    for (; hs_data_words_next(&words, &address, &word); before = word) {
        const struct hs_mapping *m = word >= BOEHM_PAGE_BYTES && word % BOEHM_PAGE_BYTES == 0
                                         ? hs_target_mapping_at(boehm->process->target, word)
                                         : NULL;
        if (m != NULL && n_parts == 0 && boehm_is_parts(boehm, word, &n_parts))
            HS_TRY(boehm_claim(ledger, HS_MEMORY_INTERNAL, word, n_parts, err));
        if (m != NULL && m->begin == word)
            HS_TRY(boehm_claim_tables(boehm, word, ledger, &last, err));
        HS_TRY(boehm_claim_marks(boehm, before, word, ledger, err));
    }
    return HS_OK;
}

static hs_status boehm_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                 struct hs_error *err)
{
    const struct boehm *boehm = state;

    for (size_t i = 0; i < boehm->n_blocks; i++) {
        const struct boehm_block *block = &boehm->blocks[i];
        const struct hs_heap_span span =
            block->object_bytes == 0 ? (struct hs_heap_span){0} : boehm_span(block);
        HS_TRY(boehm_claim(ledger, HS_MEMORY_FREE, block->begin, block->n_bytes, err));
        HS_TRY(boehm_claim(ledger, HS_MEMORY_INTERNAL, block->header,
                           BOEHM_MARKS_AT + BOEHM_GRANULES + BOEHM_GRANULE_BYTES, err));
        if (block->object_bytes != 0)
            HS_TRY(hs_heap_map_add(map, &span, err));
    }
    for (size_t i = 0; i < boehm->n_bottoms; i++)
        HS_TRY(boehm_claim(ledger, HS_MEMORY_INTERNAL, boehm->bottoms[i], BOEHM_BOTTOM_BYTES, err));
    HS_TRY(boehm_claim(ledger, HS_MEMORY_INTERNAL, boehm->nils, BOEHM_BOTTOM_BYTES, err));
    return boehm_claim_own(boehm, ledger, err);
}

/* ---- live bits */

struct marking {
    const struct boehm *boehm;
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    uint64_t n_bytes, n_missing; /* of all blocks; those whose place another allocator has */
};

static hs_status mark_block(struct marking *m, const struct boehm_block *block,
                            struct hs_error *err)
{
    const struct boehm *boehm = m->boehm;
    const struct hs_heap_span expected = boehm_span(block);
    const uint64_t n = hs_boehm_n_objects(block);
    const bool by_marks = boehm->knows_swept && block->swept != boehm->collection && n > 1;
    uint64_t live[BOEHM_GRANULES / 64] = {0};
    struct hs_region_move move = {BOEHM_OWNER, HS_MEMORY_FREE, HS_MEMORY_LIVE, block->begin,
                                  block->object_bytes};

    if (!hs_carve_is_placed(m->map, &expected)) {
        m->n_missing++;
        return HS_OK;
    }
    for (uint64_t i = 0; i < n; i++)
        if (!by_marks || hs_boehm_is_marked(boehm, block, i))
            live[i / 64] |= UINT64_C(1) << (i % 64);
    hs_region_bits_set(&m->map->starts, hs_heap_map_span_at(m->map, block->begin)->first_bit, live,
                       (unsigned)n);
    return hs_region_bits_move(m->ledger, &move, live, (unsigned)n, err);
}

/* Tells whether the collector says of its heap that it is so large: a word of its data is that. */
static bool boehm_is_heap_size(const struct boehm *boehm, uint64_t n_bytes)
{
    const struct hs_elf_symbol *symbol =
        boehm->object->elf == NULL ? NULL : hs_elf_find(boehm->object->elf, "GC_arrays");
    uint64_t said;

    return symbol != NULL &&
           hs_image_u64(boehm->process->image, boehm->object->bias + symbol->vaddr, &said) &&
           said == n_bytes;
}

static hs_status boehm_report(const struct marking *m, const struct boehm_lists *lists,
                              struct hs_error *err)
{
    const struct boehm *boehm = m->boehm;
    struct hs_findings *findings = boehm->process->findings;
    const uint64_t n_all = boehm->n_blocks + boehm->n_damaged;
    const bool is_exported =
        boehm->object->elf != NULL && hs_elf_find(boehm->object->elf, "GC_arrays") != NULL;

    findings->n_torn += boehm->n_damaged;
    HS_TRY(hs_findings_proof(findings, BOEHM_NAME ": blocks that their headers lead back to", n_all,
                             boehm->n_blocks, err));
    HS_TRY(hs_findings_proof(findings, BOEHM_NAME ": lists of free objects that end",
                             lists->n_lists, lists->n_sound, err));
    if (is_exported)
        HS_TRY(hs_findings_proof(findings, BOEHM_NAME ": heaps as large as it says", 1,
                                 boehm_is_heap_size(boehm, m->n_bytes), err));
    if (m->n_missing != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                BOEHM_NAME ": %llu blocks overlap another allocator's: they are "
                                           "left out",
                                (unsigned long long)m->n_missing));
    if (boehm->knows_swept)
        return HS_OK;
    return hs_findings_note(findings, true, err,
                            BOEHM_NAME ": it was collecting, or does not say how often it has: "
                                       "garbage in blocks that were not swept counts as live");
}

static hs_status boehm_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                            struct hs_error *err)
{
    struct marking m = {.boehm = state, .map = map, .ledger = ledger};
    struct boehm_lists lists;

    for (size_t i = 0; i < m.boehm->n_blocks; i++) {
        m.n_bytes += m.boehm->blocks[i].n_bytes;
        if (m.boehm->blocks[i].object_bytes != 0)
            HS_TRY(mark_block(&m, &m.boehm->blocks[i], err));
    }
    HS_TRY(hs_boehm_lists(m.boehm, map, ledger, &lists, err));
    HS_TRY(hs_ledger_set_blocks(ledger, BOEHM_OWNER, HS_MEMORY_FREE, lists.n_free, err));
    return boehm_report(&m, &lists, err);
}

/* ---- objects without pointers */

static hs_addr boehm_owner(const void *state, const struct hs_heap_block *block)
{
    (void)state;
    (void)block;
    return 0;
}

static bool boehm_owned(const void *state, const struct hs_heap_block *owner, uint64_t *cursor,
                        hs_addr *ret_begin, hs_addr *ret_end)
{
    (void)state;
    (void)owner;
    (void)cursor;
    (void)ret_begin;
    (void)ret_end;
    return false;
}

static uint64_t boehm_finds(const void *state, const struct hs_heap_block *block)
{
    (void)state;
    return block->span->owner == HS_OWNER_boehm && block->span->tag != 0 ? UINT64_MAX : 0;
}

static const struct hs_ownership boehm_ownership = {
    .owner = boehm_owner, .owned = boehm_owned, .finds = boehm_finds};

/* Sizes are multiples of 16, of large objects of pages. */
static bool boehm_may_round(const struct hs_heap_block *block, uint64_t n_bytes)
{
    return block->n_bytes > BOEHM_SMALL_BYTES && block->n_bytes - n_bytes < BOEHM_PAGE_BYTES;
}

const struct hs_allocator hs_allocator_boehm = {
    .name = BOEHM_NAME,
    .open = boehm_open,
    .add_spans = boehm_add_spans,
    .mark = boehm_mark,
    .close = boehm_close,
    .version = boehm_version,
    .known_as = BOEHM_NAME,
    .library = "libgc.so",
    .symbols = {"GC_malloc"},
    .may_round = boehm_may_round,
    .ownership = &boehm_ownership,
};
