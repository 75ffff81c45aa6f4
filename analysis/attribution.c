#include "analysis/attribution.h"

#include <string.h>

#include "analysis/balance.h"
#include "analysis/chunk_pass.h"
#include "analysis/reason.h"
#include "analysis/rows.h"
#include "analysis/unread.h"
#include "base/checked.h"
#include "graph/edges.h"

/* Tells whether a variable is a table of the loader, libc or an allocator, as rules say by its name
 * or its library. */
static bool is_table_of_system(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    bool has_slots = root->level == HS_LEVEL_VARIABLE && node + 1 < view->n_tree;
    const struct hs_root *leaf = has_slots ? hs_snap_root(view->snap, node + 1) : root;
    const char *place;

    return (root->kind == HS_ROOT_GLOBAL || root->kind == HS_ROOT_TLS) &&
           hs_root_firmest_tier(view, node) == HS_TIER_RUNTIME &&
           hs_reason_rule(view, leaf->reason, &place) == HS_REASON_RUNTIME_TABLE && place != NULL &&
           (strstr(place, "allocators.rules") != NULL || strstr(place, "libc.rules") != NULL);
}

bool hs_root_is_named(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    const char *name = hs_view_string(view, root->name);

    switch (root->kind) {
    case HS_ROOT_UNCLAIMED:
        return false;
    case HS_ROOT_REGISTER: /* one that a live variable is in */
    case HS_ROOT_STACK:    /* of a precise runtime: a slot that the frame needs */
        return root->tier != HS_TIER_DOUBTFUL && root->function != 0;
    default:
        return !hs_root_is_place(name) && !is_table_of_system(view, node);
    }
}

static void add_chunk(struct hs_index_in_order *tiers, const struct hs_chunk *chunk,
                      uint64_t *words)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        unsigned tier = hs_index_next(tiers, chunk->first + i);
        if (!(chunk->state[i] & HS_BLOCK_STATIC) && tier < HS_N_TIERS)
            words[tier] += chunk->words[i];
    }
}

hs_status hs_tier_words(const struct hs_view *view, uint64_t words[HS_N_TIERS],
                        struct hs_error *err)
{
    memset(words, 0, HS_N_TIERS * sizeof *words);
    if (!hs_snap_has_tiers(view->snap) || hs_index_policy(view->index) == HS_POLICY_CONSERVATIVE) {
        words[HS_TIER_FIRM] = hs_index_reached_total(view->index).words;
        return HS_OK;
    }
    struct hs_index_in_order tiers = {.index = view->index, .read = hs_index_run_tiers};
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_SIZES, "adding up tiers");
    while (hs_chunk_pass_next(&pass, err))
        add_chunk(&tiers, &pass.chunk, words);
    return hs_chunk_pass_end(&pass);
}

/* ---- owners of a set, told apart up to a few */

enum owners_by { BY_NAME, BY_FILE, BY_MODULE };

struct owners {
    uint64_t of[HS_ATTRIBUTED_ROOTS];
    unsigned n, most;
    bool is_other; /* one of them is nobody, or there are more */
};

/* Returns a number for who a root belongs to; 0: nobody. Numbers of different kinds differ. */
static uint64_t owner_of(const struct hs_view *view, hs_node node, enum owners_by by)
{
    enum { KIND_BITS = 2 };
    const struct hs_root *root = hs_snap_root(view->snap, node);
    uint64_t file = ((uint64_t)root->module << 32 | root->file) << KIND_BITS | 1;

    switch (by) {
    case BY_MODULE:
        if (root->thread != 0)
            return (uint64_t)root->thread << KIND_BITS | 2;
        return root->module == 0 ? 0 : (uint64_t)root->module << KIND_BITS | 1;
    case BY_FILE:
        if (root->kind == HS_ROOT_GLOBAL && root->file != 0)
            return file;
        break;
    case BY_NAME:
        break;
    }
    return hs_root_is_named(view, node) ? (uint64_t)node << KIND_BITS | 3 : 0;
}

static void owners_add(struct owners *owners, uint64_t owner)
{
    for (unsigned i = 0; i < owners->n; i++)
        if (owners->of[i] == owner)
            return;
    if (owner == 0 || owners->n == owners->most)
        owners->is_other = true;
    else
        owners->of[owners->n++] = owner;
}

static bool set_has_few(const struct hs_view *view, uint32_t set, enum owners_by by, unsigned most)
{
    struct hs_row roots = hs_index_set_roots(view->index, set);
    struct owners owners = {.most = most};

    for (hs_node root; !owners.is_other && hs_row_next(&roots, &root);)
        owners_add(&owners, owner_of(view, root, by));
    return owners.n != 0 && !owners.is_other;
}

static void add_root(const struct hs_view *view, hs_node node, struct hs_attribution *sum)
{
    uint64_t words = hs_index_retained(view->index, node).words;

    if (words == 0)
        return;
    sum->by_1_words += words;
    if (hs_root_is_named(view, node))
        sum->owned_words += words;
    if (owner_of(view, node, BY_FILE) != 0)
        sum->to_files_words += words;
    if (owner_of(view, node, BY_MODULE) != 0)
        sum->to_modules_words += words;
}

/* A bit for each set: more roots than a few keep it. A set is found in its page by reading those
 * before it, so that each is asked once. */
struct wide_sets {
    uint64_t bits[(HS_SET_OTHERS + 63) / 64];
};

static bool set_is_wide(const struct wide_sets *wide, uint32_t set)
{
    return set == HS_SET_OTHERS || (wide->bits[set / 64] >> (set % 64) & 1) != 0;
}

static void add_set(const struct hs_view *view, uint32_t id, struct hs_attribution *sum,
                    struct wide_sets *wide)
{
    const struct hs_owner_set set = hs_index_set(view->index, id);
    uint64_t words = set.retained.words;

    if (set.n_roots <= 3)
        sum->by_2_3_words += words;
    else if (set.n_roots <= HS_ATTRIBUTED_ROOTS)
        sum->by_4_8_words += words;
    else
        wide->bits[id / 64] |= (uint64_t)1 << (id % 64);
    if (set.n_roots <= HS_ATTRIBUTED_ROOTS && set_has_few(view, id, BY_NAME, HS_ATTRIBUTED_ROOTS))
        sum->attributed_words += words;
    if (set_has_few(view, id, BY_FILE, HS_ATTRIBUTED_ROOTS))
        sum->to_files_words += words;
    if (set_has_few(view, id, BY_MODULE, HS_ATTRIBUTED_MODULES))
        sum->to_modules_words += words;
}

/* ---- the blocks that most hangs on */

static void keep_largest(uint64_t largest[HS_ATTRIBUTED_ROOTS], uint64_t words)
{
    unsigned i = HS_ATTRIBUTED_ROOTS;

    for (; i > 0 && largest[i - 1] < words; i--)
        if (i < HS_ATTRIBUTED_ROOTS)
            largest[i] = largest[i - 1];
    if (i < HS_ATTRIBUTED_ROOTS)
        largest[i] = words;
}

/* Sums what hangs on the largest blocks of which more roots than a few keep each. */
static uint64_t largest_blocks_words(const struct hs_view *view, const struct wide_sets *wide)
{
    uint64_t largest[HS_ATTRIBUTED_ROOTS] = {0}, sum = 0;

    for (hs_node node = 0; node < view->n_tree; node++) {
        if (hs_view_root_of(view, node) != HS_NO_NODE)
            continue;
        struct hs_row row = hs_index_dominated(view->index, node);
        for (hs_node child; hs_row_next(&row, &child);) {
            uint32_t set = child < view->n_tree ? 0 : hs_index_set_of(view->index, child);
            if (set_is_wide(wide, set))
                keep_largest(largest, hs_index_retained(view->index, child).words);
        }
    }
    for (unsigned i = 0; i < HS_ATTRIBUTED_ROOTS; i++)
        sum += largest[i];
    return sum;
}

/* ---- all memory */

/* Adds sizes that a file says, which may be any. */
static void add_bytes(uint64_t *sum, uint64_t bytes)
{
    *sum = bytes > HS_BALANCE_MOST_BYTES - *sum ? HS_BALANCE_MOST_BYTES : *sum + bytes;
}

static uint64_t *part_of(struct hs_private_memory *memory, const struct hs_memory_row *row,
                         const char *owner, bool is_known)
{
    static const char *const stacks[] = {HS_MEMORY_OF_STACKS, HS_MEMORY_OF_ENDED,
                                         HS_MEMORY_OF_UNJOINED};

    if (row->state != HS_MEMORY_OTHER)
        return &memory->free_bytes;
    if (strcmp(owner, HS_MEMORY_OF_NOBODY) == 0)
        return is_known ? &memory->other_heaps_bytes : &memory->not_read_bytes;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        if (strcmp(owner, stacks[i]) == 0)
            return &memory->stacks_bytes;
    return &memory->mappings_bytes;
}

static void find_memory(const struct hs_view *view, uint64_t reached_words, bool is_known,
                        struct hs_private_memory *memory)
{
    const struct hs_snap_facts *facts = view->facts;
    uint64_t live_bytes = 0, reached_bytes;

    for (size_t i = 0; i < facts->n_memory; i++) {
        const struct hs_memory_row *row = &facts->memory[i];
        const char *owner = hs_view_string(view, row->owner);
        if (!hs_memory_is_private(owner))
            continue;
        if (row->state == HS_MEMORY_LIVE) {
            add_bytes(&live_bytes, row->n_bytes);
            if (row->n_bytes > row->resident_bytes)
                add_bytes(&memory->absent_bytes, row->n_bytes - row->resident_bytes);
            continue;
        }
        add_bytes(part_of(memory, row, owner, is_known), row->resident_bytes);
        add_bytes(&memory->all_bytes, row->resident_bytes);
    }
    if (facts->n_memory == 0 || !hs_mul_fits(reached_words, facts->word_bytes, &reached_bytes))
        return;
    live_bytes = live_bytes > reached_bytes ? live_bytes : reached_bytes;
    memory->reached_bytes = reached_bytes;
    memory->garbage_bytes = live_bytes - reached_bytes;
    add_bytes(&memory->all_bytes, live_bytes);
}

double hs_attribution_percent(const struct hs_attribution *of, uint64_t words)
{
    double all = (double)of->reached_words + (double)of->unread_words;

    return all > 0 ? 100.0 * (double)words / all : 0;
}

double hs_private_percent(const struct hs_attribution *of, uint64_t words, unsigned word_bytes)
{
    double all = (double)of->memory.all_bytes;

    return all > 0 ? 100.0 * (double)words * word_bytes / all : 0;
}

void hs_attribution_find(const struct hs_view *view, struct hs_attribution *ret)
{
    struct hs_attribution sum = {.reached_words = hs_index_reached_total(view->index).words};
    struct wide_sets wide = {0};
    struct hs_unread unread;

    for (hs_node node = 0; node < view->n_tree; node++)
        if (hs_view_root_of(view, node) == node)
            add_root(view, node, &sum);
    sum.attributed_words = sum.owned_words;
    for (uint32_t id = 1; id <= hs_index_n_sets(view->index); id++)
        add_set(view, id, &sum, &wide);
    sum.by_more_words = sum.reached_words - sum.by_1_words - sum.by_2_3_words - sum.by_4_8_words;
    sum.to_objects_words =
        sum.reached_words - sum.by_more_words + largest_blocks_words(view, &wide);
    hs_unread_find(view, &unread);
    sum.unread_words = unread.counted_words;
    find_memory(view, sum.reached_words, unread.runtime[0] != '\0', &sum.memory);
    *ret = sum;
}
