#include "guess.h"

#include <stdio.h>

#include "agree.h"
#include "base/alloc.h"

enum { WORD = 8, MOST_SLOTS = 256, NAME_BYTES = 1024 };
enum { SIZES = 1 << 12, SIZE_SHIFT = 52, UNTYPED_ONE_IN = 8 };
enum { SITE_TYPED_LEAST = 2, SITE_ODD_ONE_IN = 8 };
#define GUESS_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct guess_size {
    uint64_t n_bytes; /* 0: none yet */
    hs_ntype type;    /* of all blocks of this size */
    hs_ntype guessed; /* the name for what may be such; 0: not needed yet */
    uint64_t n_typed, n_untyped;
    bool is_mixed;
};

/* What the samples of one place of allocation tell. */
struct guess_site {
    uint64_t words; /* of each; 0: none yet */
    hs_ntype type;  /* of all that have one */
    hs_ntype guessed;
    uint64_t n_typed, n_untyped;  /* the latter of those that are reached */
    uint64_t n_agree, n_disagree; /* of the lost ones with `type` */
    bool is_mixed;
};

struct guess {
    const struct hs_native *native;
    struct hs_flow *flow;
    const struct hs_scan *scan;
    const struct hs_native_samples *samples;
    struct guess_size *sizes; /* owned */
    struct guess_site *sites; /* owned; by the number of the site */
};

static struct guess_size *size_of(struct guess *g, uint64_t n_bytes)
{
    return &g->sizes[n_bytes * GUESS_HASH_FACTOR >> SIZE_SHIFT];
}

static bool is_lost(const struct guess *g, const struct hs_heap_block *block)
{
    return (block->span->states & HS_BLOCK_STATIC) == 0 &&
           !hs_bitmap_get(&g->scan->reached, block->rank);
}

/* Sizes that share a place are taken for one, which is of several types then. */
static void learn(struct guess *g, const struct hs_heap_block *block)
{
    hs_ntype type = hs_flow_type(g->flow, block->rank);
    struct guess_size *size = size_of(g, block->n_bytes);

    if ((block->span->states & HS_BLOCK_STATIC) != 0 || (type == 0 && is_lost(g, block)))
        return;
    size->is_mixed |= size->n_bytes != 0 && size->n_bytes != block->n_bytes;
    size->n_bytes = block->n_bytes;
    size->n_untyped += type == 0;
    if (type == 0)
        return;
    size->is_mixed |= size->type != 0 && size->type != type;
    size->type = type;
    size->n_typed++;
}

/* A record whose words are known, as large as a block of n_bytes. */
static bool fills(const struct hs_native_type *type, uint64_t n_bytes)
{
    return type->ctype != 0 && type->type.form == HS_FORM_RECORD && !type->is_array &&
           !type->is_open && !type->is_open_text && type->listed_as == 0 && type->n_slots != 0 &&
           type->n_slots <= MOST_SLOTS && type->said_bytes == type->n_bytes &&
           type->n_bytes <= n_bytes && n_bytes - type->n_bytes < HS_SLACK_BYTES;
}

static bool is_candidate(const struct guess *g, const struct guess_size *size)
{
    return !size->is_mixed && size->type != 0 &&
           size->n_untyped <= size->n_typed / UNTYPED_ONE_IN &&
           fills(hs_native_type_of(&g->flow->types, size->type), size->n_bytes);
}

enum agreement { DISAGREES, MAY_BE, AGREES };

static enum agreement judge(const struct guess *g, const struct hs_heap_block *block, hs_ntype type)
{
    const struct hs_agree_by by = {g->native, g->flow, &g->scan->reached};
    const struct hs_agreement found =
        hs_native_agree(&by, block, hs_native_type_of(&g->flow->types, type), 0, 0);

    return found.disagrees ? DISAGREES : found.n_shown != 0 ? AGREES : MAY_BE;
}

/* Names the guess at its first use, and gives it to the block. */
static hs_status set_guess(struct guess *g, const struct hs_heap_block *block, hs_ntype type,
                           hs_ntype *guessed, struct hs_error *err)
{
    char name[NAME_BYTES];

    if (*guessed == 0) {
        hs_str said = hs_native_type_of(&g->flow->types, type)->type.name;
        snprintf(name, sizeof name, "block of %llu bytes" HS_TYPE_PERHAPS "%.900s",
                 (unsigned long long)block->n_bytes, hs_strtab_get(g->flow->types.strings, said));
        HS_TRY(hs_native_types_of_name(&g->flow->types, name, HS_FORM_BYTES, guessed, err));
    }
    hs_flow_set_type(g->flow, block->rank, *guessed);
    return HS_OK;
}

/* ---- by the place of allocation */

typedef hs_status guess_visit(struct guess *g, const struct hs_sample *sample,
                              const struct hs_heap_block *block, struct hs_error *err);

static hs_status each_sample(struct guess *g, guess_visit *visit, struct hs_error *err)
{
    struct hs_heap_block block;

    for (size_t i = 0; i < g->samples->n_samples; i++) {
        const struct hs_sample *sample = &g->samples->samples[i];
        struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
        if (sample->node == HS_NO_NODE || sample->site == HS_NO_SITE)
            continue;
        hs_heap_map_seek(&it, sample->node);
        if (hs_heap_map_next(&it, &block) && block.bytes != NULL)
            HS_TRY(visit(g, sample, &block, err));
    }
    return HS_OK;
}

static hs_status learn_sample(struct guess *g, const struct hs_sample *sample,
                              const struct hs_heap_block *block, struct hs_error *err)
{
    struct guess_site *site = &g->sites[sample->site];
    hs_ntype type = hs_flow_type(g->flow, block->rank);
    (void)err;

    site->is_mixed |= site->words != 0 && site->words != sample->words;
    site->words = sample->words;
    site->n_untyped += type == 0 && !is_lost(g, block);
    if (type == 0)
        return HS_OK;
    site->is_mixed |= site->type != 0 && site->type != type;
    site->type = type;
    site->n_typed++;
    return HS_OK;
}

/* Of a site whose blocks that have a type are of one record, of which each of its blocks has the
 * size: what was asked for, or for a sampler that tells the usable size, that. */
static bool is_open_question(const struct guess *g, const struct guess_site *site,
                             const struct hs_heap_block *block)
{
    if (site->is_mixed || site->n_typed < SITE_TYPED_LEAST ||
        site->n_untyped > site->n_typed / UNTYPED_ONE_IN || !is_lost(g, block) ||
        hs_flow_type(g->flow, block->rank) != 0)
        return false;
    const struct hs_native_type *type = hs_native_type_of(&g->flow->types, site->type);
    return fills(type, block->n_bytes) && (site->words == (type->n_bytes + WORD - 1) / WORD ||
                                           site->words == block->n_bytes / WORD);
}

static hs_status count_sample(struct guess *g, const struct hs_sample *sample,
                              const struct hs_heap_block *block, struct hs_error *err)
{
    struct guess_site *site = &g->sites[sample->site];
    (void)err;

    if (!is_open_question(g, site, block))
        return HS_OK;
    enum agreement found = judge(g, block, site->type);
    site->n_agree += found == AGREES;
    site->n_disagree += found == DISAGREES;
    return HS_OK;
}

static hs_status guess_sample(struct guess *g, const struct hs_sample *sample,
                              const struct hs_heap_block *block, struct hs_error *err)
{
    struct guess_site *site = &g->sites[sample->site];

    if (site->n_agree == 0 || site->n_disagree > site->n_agree / SITE_ODD_ONE_IN ||
        !is_open_question(g, site, block) || judge(g, block, site->type) != AGREES)
        return HS_OK;
    return set_guess(g, block, site->type, &site->guessed, err);
}

/* Sites are numbered by their frames. */
static hs_status guess_by_site(struct guess *g, struct hs_error *err)
{
    const struct hs_native_samples *samples = g->samples;
    hs_auto_free struct guess_site *sites = NULL;

    if (samples->n_frames == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&sites, (size_t)samples->frames[samples->n_frames - 1].site + 1, err));
    g->sites = sites;
    HS_TRY(each_sample(g, learn_sample, err));
    HS_TRY(each_sample(g, count_sample, err));
    return each_sample(g, guess_sample, err);
}

/* ---- by the size */

static hs_status guess_by_size(struct guess *g, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_scan_next_unreached(g->scan, &it, &block)) {
        struct guess_size *size = size_of(g, block.n_bytes);
        if (block.bytes == NULL || block.n_bytes != size->n_bytes ||
            hs_flow_type(g->flow, block.rank) != 0 || !is_candidate(g, size) ||
            judge(g, &block, size->type) != AGREES)
            continue;
        HS_TRY(set_guess(g, &block, size->type, &size->guessed, err));
    }
    return HS_OK;
}

hs_status hs_native_guess(const struct hs_native *native, struct hs_flow *flow,
                          const struct hs_scan *scan, const struct hs_native_samples *samples,
                          struct hs_error *err)
{
    struct guess g = {.native = native, .flow = flow, .scan = scan, .samples = samples};
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    hs_auto_free struct guess_size *sizes = NULL;
    struct hs_heap_block block;

    if (native->ctypes == NULL || scan->python.model != NULL || hs_scan_reaches_all(scan))
        return HS_OK;
    HS_TRY(HS_ALLOC(&sizes, SIZES, err));
    g.sizes = sizes;
    while (hs_heap_map_next(&it, &block))
        learn(&g, &block);
    HS_TRY(guess_by_site(&g, err));
    return guess_by_size(&g, err);
}
