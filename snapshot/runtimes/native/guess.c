#include "guess.h"

#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "base/alloc.h"
#include "flow.h"
#include "guess_evidence.h"
#include "guess_place.h"

enum { WORD = 8, NAME_BYTES = 1024 };
enum { SIZES = 1 << 12, SIZE_SHIFT = 52, UNTYPED_ONE_IN = 8 };
enum { SITE_TYPED_LEAST = 2, SITE_ODD_ONE_IN = 8 };
enum {
    SOLE_SIZES = HS_HELD_GUESSES,
    SOLE_LEAST = 8,
    SOLE_TYPED_ONE_IN = 64, /* blocks of the size that may have a type */
    SOLE_HEAP_ONE_IN = 1000,
    SOLE_LOOK = 64,
    SOLE_PERCENT = 60,
    SOLE_FITS_PERCENT = 20, /* of blocks that none denies */
    SOLE_DENIED_ONE_IN = 32
};
#define GUESS_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct guess_size {
    uint64_t n_lost;  /* blocks without a type */
    uint64_t n_bytes; /* 0: none yet */
    uint64_t most_bytes;
    hs_ntype type;    /* of all blocks of this size */
    hs_ntype guessed; /* the name for what may be such; 0: not needed yet */
    uint64_t n_typed, n_untyped;
    bool is_mixed;
};

/* The types that the samples of one place of allocation have. */
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
    uint64_t heap_bytes;
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

/* Counts a block for its size. Sizes that share a place in the table are taken for one, of several
 * types. */
static void learn(struct guess *g, const struct hs_heap_block *block)
{
    hs_ntype type = hs_flow_type(g->flow, block->rank);
    struct guess_size *size = size_of(g, block->n_bytes);

    g->heap_bytes += block->n_bytes;
    if (size->most_bytes < block->n_bytes)
        size->most_bytes = block->n_bytes;
    if ((block->span->states & HS_BLOCK_STATIC) != 0)
        return;
    if (type == 0 && is_lost(g, block)) {
        size->n_lost++;
        return;
    }
    size->is_mixed |= size->n_bytes != 0 && size->n_bytes != block->n_bytes;
    size->n_bytes = block->n_bytes;
    size->n_untyped += type == 0;
    if (type == 0)
        return;
    size->is_mixed |= size->type != 0 && size->type != type;
    size->type = type;
    size->n_typed++;
}

static bool is_candidate(const struct guess *g, const struct guess_size *size)
{
    return !size->is_mixed && size->type != 0 &&
           size->n_untyped <= size->n_typed / UNTYPED_ONE_IN &&
           hs_guess_fills(hs_native_type_of(&g->flow->types, size->type), size->n_bytes);
}

enum agreement { DISAGREES, MAY_BE, AGREES };

static enum agreement judge(const struct guess *g, const struct hs_heap_block *block, hs_ntype type)
{
    const struct hs_agree_by by = {g->native, g->flow, &g->scan->reached};
    const struct hs_agreement found =
        hs_native_agree(&by, block, hs_native_type_of(&g->flow->types, type), 0, 0);

    return found.disagrees ? DISAGREES : found.n_shown != 0 ? AGREES : MAY_BE;
}

/* Names what blocks of a size may be. */
static hs_status name_guess(struct guess *g, uint64_t n_bytes, hs_ntype type, hs_ntype *ret,
                            struct hs_error *err)
{
    char name[NAME_BYTES];
    hs_str said = hs_native_type_of(&g->flow->types, type)->type.name;

    snprintf(name, sizeof name, "block of %llu bytes" HS_TYPE_PERHAPS "%.900s",
             (unsigned long long)n_bytes, hs_strtab_get(g->flow->types.strings, said));
    return hs_native_types_of_name(&g->flow->types, name, HS_FORM_BYTES, ret, err);
}

/* Names the guess at its first use, and gives it to the block. */
static hs_status set_guess(struct guess *g, const struct hs_heap_block *block, hs_ntype type,
                           hs_ntype *guessed, struct hs_error *err)
{
    if (*guessed == 0)
        HS_TRY(name_guess(g, block->n_bytes, type, guessed, err));
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

/* Tells whether the type of a lost block may be guessed by its site: the site's blocks that have a
 * type are of one record, and all of them were allocated in its size (as asked for or, of a sampler
 * that tells that, as usable). */
static bool is_open_question(const struct guess *g, const struct guess_site *site,
                             const struct hs_heap_block *block)
{
    if (site->is_mixed || site->n_typed < SITE_TYPED_LEAST ||
        site->n_untyped > site->n_typed / UNTYPED_ONE_IN || !is_lost(g, block) ||
        hs_flow_type(g->flow, block->rank) != 0)
        return false;
    const struct hs_native_type *type = hs_native_type_of(&g->flow->types, site->type);
    return hs_guess_fills(type, block->n_bytes) &&
           (site->words == (type->n_bytes + WORD - 1) / WORD ||
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

/* Guesses by the place of allocation. The frames are in order of their sites: the last has the
 * largest number. */
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

/* ---- by the one record of its size */

/* A size of lost blocks of which hardly another block has a type, and the records that they may be.
 */
struct sole {
    uint64_t n_bytes, n_lost;
    hs_ntype records[HS_CTYPE_MAX_OF_SIZE];
    unsigned n_agree[HS_CTYPE_MAX_OF_SIZE];
    unsigned n_fits[HS_CTYPE_MAX_OF_SIZE]; /* blocks whose words fit, if they do not speak */
    unsigned n_denied[HS_CTYPE_MAX_OF_SIZE];
    unsigned n_said[HS_CTYPE_MAX_OF_SIZE]; /* by pointers of blocks whose record is found */
    size_t n_records;
    unsigned n_looked;
    hs_ntype guessed;
};

static struct sole *sole_of(struct sole *soles, size_t n, uint64_t n_bytes)
{
    for (size_t i = 0; i < n; i++)
        if (soles[i].n_bytes == n_bytes)
            return &soles[i];
    return NULL;
}

/* Finds the sizes of many lost blocks that together have a thousandth of the heap: the first such,
 * as few have as much. Sizes that share a place in the table count together; what they are is asked
 * of each. */
static size_t find_soles(const struct guess *g, struct sole soles[SOLE_SIZES])
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;
    size_t n = 0;

    while (n < SOLE_SIZES && hs_scan_next_unreached(g->scan, &it, &block)) {
        const struct guess_size *size = &g->sizes[block.n_bytes * GUESS_HASH_FACTOR >> SIZE_SHIFT];
        bool is_large = size->n_lost >= SOLE_LEAST &&
                        block.n_bytes >= g->heap_bytes / SOLE_HEAP_ONE_IN / size->n_lost;
        if (block.bytes != NULL && is_large && size->n_typed <= size->n_lost / SOLE_TYPED_ONE_IN &&
            hs_flow_type(g->flow, block.rank) == 0 && sole_of(soles, n, block.n_bytes) == NULL)
            soles[n++] = (struct sole){.n_bytes = block.n_bytes, .n_lost = size->n_lost};
    }
    return n;
}

static hs_ctype ctype_of(const struct guess *g, hs_ntype type)
{
    return hs_native_type_of(&g->flow->types, type)->ctype;
}

/* Adds the types of what a record's pointers lead to, for hs_guess_evidence. */
static hs_status add_pointees(struct guess *g, hs_ntype record, struct hs_error *err)
{
    const struct hs_native_type type = *hs_native_type_of(&g->flow->types, record);
    hs_ntype ignored;

    for (size_t i = 0; i < type.n_slots; i++)
        if (type.slots[i].pointee != 0)
            HS_TRY(hs_native_types_of_ctype(&g->flow->types, type.slots[i].pointee,
                                            /* is_array= */ false, &ignored, err));
    return HS_OK;
}

/* Lists the records that would fill such a block, of every file that says what it has. */
static hs_status list_records(struct guess *g, struct sole *sole, struct hs_error *err)
{
    const struct hs_native *native = g->native;
    hs_ctype found[HS_CTYPE_MAX_OF_SIZE];

    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_native_object *object = &native->of_object[i];
        if (object->types == 0 || !object->has_lists || object->is_system || object->is_runtime)
            continue;
        uint64_t least = sole->n_bytes < HS_SLACK_BYTES ? 1 : sole->n_bytes - HS_SLACK_BYTES + 1;
        size_t n = hs_ctypes_of_size(native->ctypes, object->types, least, sole->n_bytes, found);
        for (size_t k = 0; k < n && sole->n_records < HS_CTYPE_MAX_OF_SIZE; k++) {
            hs_ntype type;
            HS_TRY(hs_native_types_of_ctype(&g->flow->types, found[k], /* is_array= */ false, &type,
                                            err));
            bool is_new = type != 0;
            for (size_t r = 0; r < sole->n_records && is_new; r++)
                is_new = !hs_ctypes_same(native->ctypes, found[k], ctype_of(g, sole->records[r]));
            const struct hs_native_type *record = hs_native_type_of(&g->flow->types, type);
            if (!is_new || !(hs_guess_fills(record, sole->n_bytes) ||
                             hs_guess_fills_mute(record, sole->n_bytes)))
                continue;
            HS_TRY(add_pointees(g, type, err));
            sole->records[sole->n_records++] = type;
        }
    }
    return HS_OK;
}

/* Asks one block whether it may be each of the records of its size. */
static void ask_block(const struct guess *g, const struct hs_heap_block *block, struct sole *sole)
{
    const struct hs_agree_by by = {g->native, g->flow, &g->scan->reached};

    sole->n_looked++;
    for (size_t i = 0; i < sole->n_records; i++) {
        const struct hs_evidence found =
            hs_guess_evidence(&by, block, hs_native_type_of(&g->flow->types, sole->records[i]));
        sole->n_denied[i] += found.is_denied;
        sole->n_fits[i] += found.fits;
        sole->n_agree[i] += found.speaks;
    }
}

static void ask_records(const struct guess *g, struct sole *soles, size_t n)
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_scan_next_unreached(g->scan, &it, &block)) {
        struct sole *sole = sole_of(soles, n, block.n_bytes);
        if (sole == NULL || sole->n_looked == SOLE_LOOK || block.bytes == NULL ||
            hs_flow_type(g->flow, block.rank) != 0)
            continue;
        ask_block(g, &block, sole);
    }
}

/* Tells whether a record is nothing but another one: that is its only member, or its base class. */
static bool is_wrapper(const struct guess *g, hs_ntype outer, hs_ntype inner)
{
    struct hs_ctypes *ctypes = g->native->ctypes;

    return hs_native_type_of(&g->flow->types, outer)->n_bytes ==
               hs_native_type_of(&g->flow->types, inner)->n_bytes &&
           hs_ctypes_begins_with(ctypes, ctype_of(g, outer), ctype_of(g, inner)) &&
           !hs_ctypes_begins_with(ctypes, ctype_of(g, inner), ctype_of(g, outer));
}

/* Returns the one record that so many blocks at least speak for, or the outermost of records that
 * are each within the next one and as large; 0: none, or several. */
static hs_ntype one_of(const struct guess *g, const struct sole *sole, const unsigned *n_for,
                       unsigned least)
{
    hs_ntype found = 0;

    for (size_t i = 0; i < sole->n_records; i++) {
        if (n_for[i] < least || (found != 0 && is_wrapper(g, found, sole->records[i])))
            continue;
        if (found != 0 && !is_wrapper(g, sole->records[i], found))
            return 0;
        found = sole->records[i];
    }
    return found;
}

static bool is_standard(const struct guess *g, hs_ntype record)
{
    const char *name = hs_strtab_get(g->flow->types.strings,
                                     hs_native_type_of(&g->flow->types, record)->type.name);
    return strncmp(name, "std::", 5) == 0 || strncmp(name, "__gnu_cxx::", 11) == 0;
}

/* Returns the only record of no standard library that hardly a block denies, and that the words of
 * many fit. */
static hs_ntype undenied_record(const struct guess *g, const struct sole *sole)
{
    unsigned n_for[HS_CTYPE_MAX_OF_SIZE] = {0};

    for (size_t i = 0; i < sole->n_records; i++)
        if (sole->n_denied[i] <= sole->n_looked / SOLE_DENIED_ONE_IN &&
            !is_standard(g, sole->records[i]))
            n_for[i] = sole->n_fits[i];
    return one_of(g, sole, n_for, (sole->n_looked * SOLE_FITS_PERCENT + 99) / 100);
}

/* Returns the only record that would fill such blocks, when it has no pointers, so that no words of
 * theirs can speak for it. */
static hs_ntype mute_record(const struct guess *g, const struct sole *sole)
{
    hs_ntype record = sole->n_records == 1 ? sole->records[0] : 0;

    return record != 0 && sole->n_denied[0] == 0 && !is_standard(g, record) &&
                   hs_guess_fills_mute(hs_native_type_of(&g->flow->types, record), sole->n_bytes)
               ? record
               : 0;
}

/* Returns the record that most of the blocks are by their own words. */
static hs_ntype own_record(const struct guess *g, const struct sole *sole)
{
    if (sole->n_looked < SOLE_LEAST)
        return 0;
    hs_ntype found = one_of(g, sole, sole->n_agree, (sole->n_looked * SOLE_PERCENT + 99) / 100);
    if (found == 0)
        found = undenied_record(g, sole);
    return found != 0 ? found : mute_record(g, sole);
}

/* Returns the record that the blocks are by their own words, or else by pointers of blocks that are
 * known by theirs. */
static hs_ntype sole_record(const struct guess *g, const struct sole *sole)
{
    hs_ntype own = own_record(g, sole);
    return own != 0 ? own : one_of(g, sole, sole->n_said, SOLE_LEAST);
}

/* Counts, for the lost blocks that a block of a known record leads to, the records that its
 * pointers say. */
static void ask_pointers(const struct guess *g, const struct hs_heap_block *block, hs_ntype record,
                         struct sole *soles, size_t n)
{
    const struct hs_native_type *type = hs_native_type_of(&g->flow->types, record);
    struct hs_heap_block to;

    for (size_t i = 0; i < type->n_slots; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        if (slot->pointee == 0 || slot->may_be_pointer_only ||
            hs_flow_resolve(g->native, hs_load_u64(block->bytes + slot->offset_bytes), &to) !=
                HS_POINTER_START ||
            !is_lost(g, &to) || hs_flow_type(g->flow, to.rank) != 0)
            continue;
        struct sole *sole = sole_of(soles, n, to.n_bytes);
        for (size_t r = 0; sole != NULL && r < sole->n_records; r++)
            sole->n_said[r] +=
                hs_ctypes_same(g->native->ctypes, slot->pointee, ctype_of(g, sole->records[r]));
    }
}

static void ask_found(const struct guess *g, struct sole *soles, size_t n)
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;
    unsigned n_asked[SOLE_SIZES] = {0};

    while (hs_scan_next_unreached(g->scan, &it, &block)) {
        const struct sole *sole = sole_of(soles, n, block.n_bytes);
        hs_ntype record = sole == NULL || block.bytes == NULL ? 0 : own_record(g, sole);
        if (record != 0 && n_asked[sole - soles]++ < SOLE_LOOK)
            ask_pointers(g, &block, record, soles, n);
    }
}

static bool may_be(const struct guess *g, const struct hs_heap_block *block, hs_ntype type)
{
    const struct hs_native_type *record = hs_native_type_of(&g->flow->types, type);
    const struct hs_agree_by by = {g->native, g->flow, &g->scan->reached};
    const struct hs_agreement found = hs_native_agree(&by, block, record, 0, 0);

    return !hs_guess_denies(&found, record);
}

static hs_status guess_by_record(struct guess *g, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;
    struct sole soles[SOLE_SIZES];
    size_t n = find_soles(g, soles);

    for (size_t i = 0; i < n; i++)
        HS_TRY(list_records(g, &soles[i], err));
    ask_records(g, soles, n);
    ask_found(g, soles, n);
    while (n != 0 && hs_scan_next_unreached(g->scan, &it, &block)) {
        struct sole *sole = sole_of(soles, n, block.n_bytes);
        hs_ntype record = sole == NULL ? 0 : sole_record(g, sole);
        if (record != 0 && block.bytes != NULL && hs_flow_type(g->flow, block.rank) == 0 &&
            may_be(g, &block, record))
            HS_TRY(set_guess(g, &block, record, &sole->guessed, err));
    }
    return HS_OK;
}

/* ---- blocks that are held, by the one record of their size */

enum { HELD_LEAST = 64, HELD_HEAP_ONE_IN = 100, HELD_PERCENT = 80 };

/* Counts the words of a block that lead to the same place in another block of its size, the links
 * of lists that are in the records: at pointers of the record, which speak for it, and elsewhere.
 */
static void count_links(const struct guess *g, const struct hs_heap_block *block,
                        const struct hs_native_type *record, unsigned *ret_own, unsigned *ret_other)
{
    size_t slot = 0;
    *ret_own = *ret_other = 0;
    for (uint64_t at = WORD; at + WORD <= record->n_bytes; at += WORD) {
        uint64_t word = hs_load_u64(block->bytes + at);
        struct hs_heap_block to;
        while (slot < record->n_slots && record->slots[slot].offset_bytes < at)
            slot++;
        if (hs_flow_resolve(g->native, word, &to) != HS_POINTER_INTERIOR ||
            to.n_bytes != block->n_bytes || hs_flow_offset(g->native, word, &to) != at)
            continue;
        bool is_own = slot < record->n_slots && record->slots[slot].offset_bytes == at;
        *(is_own ? ret_own : ret_other) += 1;
    }
}

/* Tells whether the words of a held block speak for a record: two pointers that lead to blocks, to
 * code as the record says, or to the same place in another such block; of a large record one, as
 * few records have its size. */
static bool held_speaks_for(const struct guess *g, const struct hs_heap_block *block, hs_ntype type)
{
    const struct hs_native_type *record = hs_native_type_of(&g->flow->types, type);
    const struct hs_agree_by by = {g->native, g->flow, &g->scan->reached};
    const struct hs_agreement found = hs_native_agree(&by, block, record, 0, 0);
    unsigned n_links, n_other;
    bool is_denied;
    unsigned n_code = hs_guess_code(&by, block, record, &is_denied);

    if (hs_guess_denies(&found, record) || is_denied)
        return false;
    count_links(g, block, record, &n_links, &n_other);
    return n_other == 0 && found.n_leading + n_links + n_code >=
                               (record->n_bytes >= HS_GUESS_LARGE_BYTES ? 1U : 2U);
}

/* Tells whether so many blocks, lost or held ones, of at most so many bytes are worth a guess. */
static bool is_worth(const struct guess *g, uint64_t n, uint64_t n_bytes, bool of_lost)
{
    uint64_t share = of_lost ? SOLE_HEAP_ONE_IN : HELD_HEAP_ONE_IN;
    return n >= (of_lost ? SOLE_LEAST : HELD_LEAST) && n_bytes >= g->heap_bytes / share / n;
}

/* Tells whether find_held could find anything, which goes over all blocks. */
static bool may_be_held(const struct guess *g)
{
    for (size_t i = 0; i < SIZES; i++) {
        const struct guess_size *size = &g->sizes[i];
        if (is_worth(g, size->n_lost, size->most_bytes, true) ||
            is_worth(g, size->n_untyped, size->most_bytes, false))
            return true;
    }
    return false;
}

/* Asks where the words of a block lead, if it has no type and its size is large enough for a guess:
 * lost ones as by their record, held ones likewise. */
static hs_status ask_place(const struct guess *g, const struct hs_heap_block *block,
                           const struct guess_size *size, struct hs_place_votes *votes,
                           struct hs_error *err)
{
    if ((block->span->states & HS_BLOCK_STATIC) != 0 || hs_flow_type(g->flow, block->rank) != 0)
        return HS_OK;
    bool of_lost = is_lost(g, block);
    uint64_t n = of_lost ? size->n_lost : size->n_untyped;
    if (!is_worth(g, n, block->n_bytes, of_lost))
        return HS_OK;
    return hs_place_votes_add(votes, block, n, of_lost, err);
}

/* Finds the sizes of many held blocks without a type that together have a hundredth of the heap,
 * and of which hardly a block has one. In the same pass the votes for places are cast. */
static hs_status find_held(const struct guess *g, struct sole soles[SOLE_SIZES], size_t *ret_n,
                           struct hs_place_votes *votes, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;
    size_t n = 0;

    while (hs_heap_map_next(&it, &block)) {
        const struct guess_size *size = &g->sizes[block.n_bytes * GUESS_HASH_FACTOR >> SIZE_SHIFT];
        if (block.bytes == NULL)
            continue;
        HS_TRY(ask_place(g, &block, size, votes, err));
        bool is_large =
            n < SOLE_SIZES && is_worth(g, size->n_untyped, block.n_bytes, /* of_lost= */ false);
        if (is_large && size->n_typed <= size->n_untyped / SOLE_TYPED_ONE_IN &&
            sole_of(soles, n, block.n_bytes) == NULL)
            soles[n++] = (struct sole){.n_bytes = block.n_bytes};
    }
    *ret_n = n;
    return HS_OK;
}

static bool is_held_untyped(const struct guess *g, const struct hs_heap_block *block)
{
    return block->bytes != NULL && (block->span->states & HS_BLOCK_STATIC) == 0 &&
           hs_flow_type(g->flow, block->rank) == 0 && !is_lost(g, block);
}

/* Asks as many blocks of each size as are looked at, from one in so many of all on, so that not all
 * are of one time. */
static void ask_held(const struct guess *g, struct sole *soles, size_t n)
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        struct sole *sole = sole_of(soles, n, block.n_bytes);
        if (sole == NULL || sole->n_records == 0 || !is_held_untyped(g, &block))
            continue;
        const struct guess_size *size = size_of((struct guess *)g, block.n_bytes);
        if (sole->n_lost++ % (size->n_untyped / SOLE_LOOK) != 0 || sole->n_looked == SOLE_LOOK)
            continue;
        sole->n_looked++;
        for (size_t i = 0; i < sole->n_records; i++)
            sole->n_agree[i] += held_speaks_for(g, &block, sole->records[i]);
    }
}

static hs_status guess_held(struct guess *g, struct hs_place_votes *votes, struct hs_error *err)
{
    struct sole soles[SOLE_SIZES];
    size_t n = 0;

    if (may_be_held(g))
        HS_TRY(find_held(g, soles, &n, votes, err));
    HS_TRY(hs_place_votes_end(votes, g->flow, err));
    for (size_t i = 0; i < n; i++)
        HS_TRY(list_records(g, &soles[i], err));
    if (n != 0)
        ask_held(g, soles, n);
    for (size_t i = 0; i < n; i++) {
        const struct sole *sole = &soles[i];
        hs_ntype record = sole->n_looked < SOLE_LOOK / 2
                              ? 0
                              : one_of(g, sole, sole->n_agree, sole->n_looked * HELD_PERCENT / 100);
        if (record == 0)
            continue;
        struct hs_held_guess *held = &g->flow->held[g->flow->n_held++];
        *held = (struct hs_held_guess){.n_bytes = sole->n_bytes, .record = record};
        HS_TRY(name_guess(g, sole->n_bytes, record, &held->named, err));
    }
    return HS_OK;
}

hs_ntype hs_native_held_guess(const struct hs_flow *flow, const struct hs_heap_block *block)
{
    for (size_t i = 0; i < flow->n_held; i++)
        if (flow->held[i].n_bytes == block->n_bytes)
            return (block->span->states & HS_BLOCK_STATIC) == 0 ? flow->held[i].named : 0;
    return hs_place_name(flow, block);
}

/* Tells whether so many blocks have no type that held ones may be worth a guess. */
static bool has_untyped(const struct hs_flow *flow)
{
    uint64_t n = 0;

    for (uint64_t rank = 0; rank < flow->n_blocks; rank++)
        n += flow->small[rank] == 0;
    return n >= HELD_LEAST;
}

hs_status hs_native_guess(const struct hs_native *native, struct hs_flow *flow,
                          const struct hs_scan *scan, const struct hs_native_samples *samples,
                          struct hs_error *err)
{
    struct guess g = {.native = native, .flow = flow, .scan = scan, .samples = samples};
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    hs_auto_free struct guess_size *sizes = NULL;
    struct hs_heap_block block;

    if (native->ctypes == NULL || scan->interpreter.model != NULL ||
        (hs_scan_reaches_all(scan) && !has_untyped(flow)))
        return HS_OK;
    HS_TRY(HS_ALLOC(&sizes, SIZES, err));
    g.sizes = sizes;
    while (hs_heap_map_next(&it, &block))
        learn(&g, &block);
    struct hs_place_votes votes = {.native = native};
    hs_status status = guess_held(&g, &votes, err);
    hs_place_votes_fini(&votes);
    if (status != HS_OK || hs_scan_reaches_all(scan))
        return status;
    HS_TRY(guess_by_site(&g, err));
    HS_TRY(guess_by_size(&g, err));
    return guess_by_record(&g, err);
}
