/* The waste, memory taken and not used, as far as sizes, types and pointers tell. */
#include "analysis/chunk_pass.h"
#include "analysis/estimate.h"
#include "analysis/unread.h"
#include "base/alloc.h"
#include "suspect_finds.h"

enum {
    MANY_SLOTS = 16,     /* an array from here on is mostly empty rather than just small */
    FILLED_PART = 4,     /* and has pointers in less than a quarter of its slots */
    UNKNOWN_PERCENT = 5, /* of the heap, in blocks of one size and no type */
    UNKNOWN_BLOCKS = 8,  /* at least */
};

/* A larger room is not believed: a dump keeps 2^20 bodies, whose sum is below what is kept. */
#define ROOM_MOST (UINT64_C(1) << 35)

/* Blocks of one type that roots reach. */
struct usage {
    uint64_t n, words; /* of types that are unknown: all of them */
    uint64_t n_mostly_empty, empty_slots;
    uint64_t n_of_one, spare_slots;
    uint64_t largest_words; /* of those that are mostly empty, or that hold one element */
    hs_node largest;
    uint64_t n_bodies, entries, room, unused_words; /* of containers with little in much room */
};

/* Counts the body of a container, as the container says; false where it says nothing of its room.
 */
static bool count_body(struct usage *usage, hs_node node, uint64_t words,
                       const struct hs_block_count *body)
{
    if (body->room == 0 || body->room > ROOM_MOST) /* more is not known, or a lie */
        return false;
    if (words < MANY_SLOTS || body->entries >= body->room / FILLED_PART)
        return true;
    usage->n_bodies++;
    usage->entries += body->entries;
    usage->room += body->room;
    usage->unused_words +=
        words - (uint64_t)((double)words * (double)body->entries / (double)body->room);
    if (words > usage->largest_words) {
        usage->largest = node;
        usage->largest_words = words;
    }
    return true;
}

static void count_array(struct usage *usage, hs_node node, uint64_t words, uint64_t n_pointers)
{
    bool is_empty = words >= MANY_SLOTS && n_pointers < words / FILLED_PART;
    bool is_of_one = words > 1 && words < MANY_SLOTS && n_pointers == 1;
    if (is_empty) {
        usage->n_mostly_empty++;
        usage->empty_slots += words - n_pointers;
    } else if (is_of_one) {
        usage->n_of_one++;
        usage->spare_slots += words - 1;
    }
    if ((is_empty || is_of_one) && words > usage->largest_words) {
        usage->largest = node;
        usage->largest_words = words;
    }
}

static void count_chunk(const struct hs_view *view, const struct hs_chunk *chunk,
                        struct usage *usages)
{
    struct hs_index_in_order reached = {.index = view->index, .read = hs_index_run_reached};
    uint32_t count = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        struct usage *usage = &usages[chunk->type[i]];
        uint8_t form = hs_snap_type(view->snap, chunk->type[i])->form;
        hs_node node = chunk->first + i;
        while (count < chunk->n_counts && chunk->counts[count].at < i)
            count++;
        bool is_body = count < chunk->n_counts && chunk->counts[count].at == i;
        if ((!is_body && form != HS_FORM_POINTER && form != HS_FORM_BYTES) ||
            chunk->state[i] & HS_BLOCK_STATIC || hs_index_next(&reached, node) == 0)
            continue;
        if (is_body && count_body(usage, node, chunk->words[i], &chunk->counts[count]))
            continue;
        if (form == HS_FORM_POINTER)
            count_array(usage, node, chunk->words[i],
                        chunk->edge_begin[i + 1] - chunk->edge_begin[i]);
        if (usage->n++ == 0 && form == HS_FORM_BYTES)
            usage->largest = node;
        usage->words += chunk->words[i];
    }
}

static hs_status count_blocks(struct hs_view *view, struct usage *usages, struct hs_error *err)
{
    const unsigned columns = HS_COL_SIZES | HS_COL_EDGES | HS_COL_COUNTS;
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, columns, "looking for empty slots");
    while (hs_chunk_pass_next(&pass, err))
        count_chunk(view, &pass.chunk, usages);
    return hs_chunk_pass_end(&pass);
}

static hs_status add(struct hs_suspects *found, enum hs_suspect_waste waste, uint32_t type,
                     const struct usage *usage, struct hs_error *err)
{
    struct hs_suspect *suspect;
    HS_TRY(hs_suspect_add(found, HS_SUSPECT_WASTE, &suspect, err));
    bool is_empty = waste == HS_WASTE_EMPTY_SLOTS, is_unknown = waste == HS_WASTE_UNKNOWN;
    suspect->waste = waste;
    suspect->certainty = HS_EXACT;
    suspect->type = type;
    suspect->evidence = usage->largest;
    suspect->words = is_unknown ? usage->words : is_empty ? usage->empty_slots : usage->spare_slots;
    suspect->count = is_unknown ? usage->n : is_empty ? usage->n_mostly_empty : usage->n_of_one;
    return HS_OK;
}

static hs_status add_unused_room(struct hs_suspects *found, uint32_t type,
                                 const struct usage *usage, struct hs_error *err)
{
    struct hs_suspect *suspect;
    HS_TRY(hs_suspect_add(found, HS_SUSPECT_WASTE, &suspect, err));
    suspect->waste = HS_WASTE_UNUSED_ROOM;
    suspect->certainty = HS_EXACT;
    suspect->type = type;
    suspect->evidence = usage->largest;
    suspect->words = usage->unused_words;
    suspect->count = usage->n_bodies;
    suspect->entries = usage->entries;
    suspect->room = usage->room;
    return HS_OK;
}

/* Adds the type of unknown content that has most words, if it has enough of them. */
static hs_status add_unknown(const struct hs_view *view, const struct usage *usages,
                             struct hs_suspects *found, struct hs_error *err)
{
    uint32_t most = HS_UNTYPED;
    uint64_t all_words = hs_unread_whole(view);
    for (uint32_t type = 0; type < view->totals->n_types; type++)
        if (hs_snap_type(view->snap, type)->form == HS_FORM_BYTES &&
            usages[type].n >= UNKNOWN_BLOCKS &&
            usages[type].words > (most == HS_UNTYPED ? 0 : usages[most].words))
            most = type;
    if (most == HS_UNTYPED || usages[most].words <= all_words / 100 * UNKNOWN_PERCENT)
        return HS_OK;
    return add(found, HS_WASTE_UNKNOWN, most, &usages[most], err);
}

/* Adds the spare capacity that the allocator gave beyond what was asked for: of each sample's
 * block, times how many such blocks the sample stands for. Nothing is said where the sampler's
 * period is not known. */
static hs_status add_rounded_up(struct hs_view *view, struct hs_suspects *found,
                                struct hs_error *err)
{
    double more_words = 0, n_blocks = 0;
    for (uint64_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        const struct hs_sampler *sampler = &view->facts->samplers[sample->sampler];
        struct hs_node_facts facts;
        if (sample->node == HS_NO_NODE || sample->words == 0)
            continue;
        HS_TRY(hs_view_facts(view, sample->node, &facts, err));
        if (facts.words <= sample->words)
            continue;
        double n = hs_sample_words(sampler, sample, NULL) / (double)sample->words;
        n_blocks += n;
        more_words += n * (double)(facts.words - sample->words);
    }
    if (!(more_words >= (double)found->threshold_words) || !(more_words >= 1) ||
        more_words > (double)view->totals->heap_words)
        return HS_OK;
    struct hs_suspect *suspect;
    HS_TRY(hs_suspect_add(found, HS_SUSPECT_WASTE, &suspect, err));
    suspect->waste = HS_WASTE_ROUNDED_UP;
    suspect->certainty = HS_SAMPLED;
    suspect->words = (uint64_t)more_words;
    suspect->count = (uint64_t)n_blocks;
    return HS_OK;
}

static hs_status find_waste(struct hs_view *view, struct usage *usages, struct hs_suspects *found,
                            struct hs_error *err)
{
    HS_TRY(count_blocks(view, usages, err));
    for (uint32_t type = 0; type < view->totals->n_types; type++) {
        const struct usage *usage = &usages[type];
        if (usage->empty_slots > 0 && usage->empty_slots >= found->threshold_words)
            HS_TRY(add(found, HS_WASTE_EMPTY_SLOTS, type, usage, err));
        if (usage->spare_slots > 0 && usage->spare_slots >= found->threshold_words)
            HS_TRY(add(found, HS_WASTE_ONE_ELEMENT, type, usage, err));
        if (usage->unused_words > 0 && usage->unused_words >= found->threshold_words)
            HS_TRY(add_unused_room(found, type, usage, err));
    }
    HS_TRY(add_unknown(view, usages, found, err));
    return add_rounded_up(view, found, err);
}

/* Tells whether an owner's members hang on these bodies of containers, which have room for them:
 * elements that were cleared and are kept for the next use. Bodies without a type are one step with
 * all such blocks, half of which they must be. */
static bool is_room_of_members(const struct hs_suspect *row, const struct hs_suspect *waste)
{
    const struct hs_accumulation *at = &row->at;
    if (at->members == 0)
        return false;
    const struct hs_accumulated *above = &at->steps[at->members - 1];
    uint64_t n_members = at->steps[at->members].n_blocks;
    bool is_all = above->type == waste->type && above->n_blocks == waste->count;
    bool is_most = above->type == HS_UNTYPED && above->n_blocks / 2 <= waste->count &&
                   above->n_blocks >= waste->count;
    return (is_all || is_most) && n_members > waste->entries && n_members <= waste->room;
}

void hs_suspect_take_room(struct hs_suspects *found)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct hs_suspect *waste = &found->rows[i];
        for (size_t j = 0; j < found->n && waste->waste == HS_WASTE_UNUSED_ROOM; j++) {
            struct hs_suspect *row = &found->rows[j];
            const struct hs_accumulated *members = &row->at.steps[row->at.members];
            const struct hs_accumulated *bulk = &row->at.bulk;
            bool is_members = members->type == waste->type && members->n_blocks == waste->count;
            bool is_bulk = bulk->type == waste->type && bulk->n_blocks == waste->count;
            if (row->at.members != 0 && (is_members || is_bulk)) {
                row->entries = waste->entries;
                row->room = waste->room;
            } else if (is_room_of_members(row, waste)) {
                row->n_spare = waste->count;
                row->spare_entries = waste->entries;
            }
        }
    }
}

hs_status hs_suspect_find_waste(struct hs_view *view, struct hs_suspects *found,
                                struct hs_error *err)
{
    hs_auto_free struct usage *usages = NULL;
    uint64_t n_bytes = view->totals->n_types * sizeof *usages;
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "what types waste", err));
    hs_status status = HS_ALLOC(&usages, view->totals->n_types, err);
    if (status == HS_OK)
        status = find_waste(view, usages, found, err);
    hs_budget_release(view->session.budget, n_bytes);
    return status;
}
