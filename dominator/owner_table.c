/* Turns signatures into numbered sets. What does not fit the table at once is looked at range by
 * range of signatures, each in one scan over the top units and one over the condensed graph; the
 * largest so far stay. */
#include "owner_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "condensed_files.h"

#define ENTRIES_FIRST ((uint64_t)1024)
#define ENTRIES_GROWTH 4
#define ENTRIES_MAX ((uint64_t)1 << 18)
/* The least entries: those that stay, and as many of one range. */
#define ENTRIES_LEAST ((uint64_t)HS_OWNER_SETS_MAX + 4096)
#define WHAT "what roots share"

/* ---- the table ---- */

static uint64_t slots_for(uint64_t n_entries)
{
    uint64_t n = 64;
    while (n < 2 * n_entries)
        n *= 2;
    return n;
}

static uint64_t table_bytes(uint64_t n_entries)
{
    return n_entries * sizeof(struct owner_entry) + slots_for(n_entries) * sizeof(uint32_t);
}

uint64_t owner_table_bytes(uint64_t n_places)
{
    return table_bytes(n_places < ENTRIES_LEAST ? n_places : ENTRIES_LEAST);
}

/* Returns the memory kept for who takes the sets: signatures go before lists are made. */
static uint64_t keep_bytes(const struct hs_owners *owners)
{
    const struct hs_condensed *c = owners->condensed;
    uint64_t lists = owner_lists_bytes(c->n_nodes, c->ends.n), graph = 0;
    uint64_t signatures = hs_condensed_places(c) * sizeof *c->signature;

    if (!c->is_stored && !c->is_reversed)
        graph = hs_condensed_graph_bytes(c->n_nodes, c->graph.n_edges);
    lists = lists > graph ? lists : graph;
    return owners->sink_bytes + (lists > signatures ? lists - signatures : 0);
}

/* Returns the most entries that memory has room for; there are no more sets than places. */
static uint64_t capacity_most(const struct hs_owners *owners)
{
    const struct hs_condensed *condensed = owners->condensed;
    uint64_t n_places = hs_condensed_places(condensed), keep = keep_bytes(owners);
    uint64_t most = n_places < ENTRIES_MAX ? n_places : ENTRIES_MAX;
    uint64_t left = hs_budget_left_bytes(condensed->budget);
    uint64_t room = left > keep ? left - keep : 0;

    while (most > ENTRIES_LEAST && table_bytes(most) > room)
        most = most / 2 > ENTRIES_LEAST ? most / 2 : ENTRIES_LEAST;
    return most;
}

static hs_status table_init(struct owner_table *table, uint64_t capacity, struct hs_budget *budget,
                            struct hs_error *err)
{
    uint64_t n_bytes = table_bytes(capacity);

    *table = (struct owner_table){.capacity = capacity, .budget = budget};
    HS_TRY(hs_budget_reserve(budget, n_bytes, WHAT, err));
    table->reserved_bytes = n_bytes;
    table->n_slots = slots_for(capacity);
    HS_TRY(HS_PAGES_ALLOC(&table->entries, capacity, err));
    return HS_PAGES_ALLOC(&table->slots, table->n_slots, err);
}

void owner_table_fini(struct owner_table *table)
{
    hs_pages_free(table->entries, table->capacity, sizeof *table->entries);
    hs_pages_free(table->slots, table->n_slots, sizeof *table->slots);
    hs_budget_release(table->budget, table->reserved_bytes);
    *table = (struct owner_table){0};
}

/* Signatures are as good as random. */
static uint64_t slot_of(const struct owner_table *table, uint64_t signature)
{
    uint64_t at = signature & (table->n_slots - 1);
    while (table->slots[at] != 0 && table->entries[table->slots[at] - 1].signature != signature)
        at = (at + 1) & (table->n_slots - 1);
    return at;
}

const struct owner_entry *owner_table_find(const struct owner_table *table, uint64_t signature)
{
    uint32_t slot = table->slots[slot_of(table, signature)];
    return slot == 0 ? NULL : &table->entries[slot - 1];
}

/* ---- one range ---- */

struct range {
    struct hs_owners *owners;
    uint64_t low, high; /* signatures, both within */
    uint64_t n_kept;    /* entries before those of the range */
    bool overflowed;
};

static bool range_has(const struct range *range, uint64_t signature)
{
    return signature >= range->low && signature <= range->high;
}

static hs_status range_take_top(void *sink, hs_node top, uint64_t place, struct hs_error *err)
{
    struct range *range = sink;
    struct owner_table *table = &range->owners->table;
    uint64_t signature = range->owners->condensed->signature[place];

    (void)err;
    if (range->overflowed || !range_has(range, signature))
        return HS_OK;
    uint32_t *slot = &table->slots[slot_of(table, signature)];
    if (*slot != 0) {
        table->entries[*slot - 1].set.n_tops++;
        return HS_OK;
    }
    range->overflowed = table->n == table->capacity;
    if (range->overflowed)
        return HS_OK;
    table->entries[table->n++] = (struct owner_entry){
        .signature = signature, .place = place, .set = {.n_tops = 1, .first_top = top}};
    *slot = (uint32_t)table->n;
    return HS_OK;
}

/* Returns the sum that a place is added to; NULL when it is of no set of this range. */
static struct hs_sizes *range_sum(const struct range *range, uint64_t place)
{
    const struct owner_table *table = &range->owners->table;
    uint64_t signature = range->owners->condensed->signature[place];

    if (signature == 0 || !range_has(range, signature))
        return NULL;
    uint32_t slot = table->slots[slot_of(table, signature)];
    return slot == 0 ? NULL : &table->entries[slot - 1].set.retained;
}

static hs_status range_weigh_stored(const struct range *range, struct hs_spill_reader *reader,
                                    struct hs_error *err)
{
    const struct hs_condensed *condensed = range->owners->condensed;
    struct hs_sizes sizes, *sum;

    for (uint64_t at = 0; at < hs_condensed_places(condensed); at++) {
        HS_TRY(condensed_files_next(reader, &sizes, err));
        sum = range_sum(range, hs_condensed_turn(condensed, at));
        if (sum != NULL)
            hs_sizes_add(sum, &sizes);
    }
    return HS_OK;
}

static hs_status range_weigh(const struct range *range, struct hs_error *err)
{
    const struct hs_condensed *condensed = range->owners->condensed;
    struct hs_spill_reader reader = {0};
    struct hs_sizes *sum;

    if (condensed->is_stored) {
        hs_status status = condensed_files_sizes(condensed, true, true, &reader, err);
        if (status == HS_OK)
            status = range_weigh_stored(range, &reader, err);
        hs_spill_reader_close(&reader);
        return status;
    }
    for (uint64_t place = 0; place < hs_condensed_places(condensed); place++) {
        sum = range_sum(range, place);
        if (sum != NULL)
            hs_unit_sizes_sum(&condensed->sizes, place, sum);
    }
    return HS_OK;
}

static int by_rank(const void *left, const void *right)
{
    const struct hs_owner_set *a = &((const struct owner_entry *)left)->set;
    const struct hs_owner_set *b = &((const struct owner_entry *)right)->set;

    if (a->retained.words != b->retained.words)
        return a->retained.words > b->retained.words ? -1 : 1;
    if (a->retained.objects != b->retained.objects)
        return a->retained.objects > b->retained.objects ? -1 : 1;
    return a->first_top < b->first_top ? -1 : a->first_top > b->first_top;
}

/* The largest of those before and of the range stay. */
static void range_cut(const struct range *range)
{
    struct owner_table *table = &range->owners->table;

    qsort(table->entries, table->n, sizeof *table->entries, by_rank);
    for (uint64_t i = HS_OWNER_SETS_MAX; i < table->n; i++) {
        hs_sizes_add(&table->others, &table->entries[i].set.retained);
        table->n_others++;
    }
    if (table->n > HS_OWNER_SETS_MAX)
        table->n = HS_OWNER_SETS_MAX;
}

static void slots_clear(struct owner_table *table)
{
    memset(table->slots, 0, table->n_slots * sizeof *table->slots);
}

/* Ends before all of them where the table is full. */
static hs_status range_run(struct range *range, struct hs_error *err)
{
    const struct hs_owner_tops *tops = range->owners->tops;
    struct owner_table *table = &range->owners->table;

    range->n_kept = table->n;
    range->overflowed = false;
    slots_clear(table);
    HS_TRY(tops->run(tops->context, range_take_top, range, err));
    if (range->overflowed) {
        table->n = range->n_kept;
        return HS_OK;
    }
    HS_TRY(range_weigh(range, err));
    range_cut(range);
    return HS_OK;
}

/* ---- all of them ---- */

/* A larger table in place of an empty one; false where it is as large as it may be. */
static hs_status table_enlarge(struct hs_owners *owners, bool *ret, struct hs_error *err)
{
    struct owner_table *table = &owners->table;
    struct hs_budget *budget = owners->condensed->budget;
    uint64_t capacity = table->capacity;

    *ret = false;
    if (table->n != 0)
        return HS_OK;
    owner_table_fini(table);
    uint64_t most = capacity_most(owners);
    *ret = capacity < most;
    capacity = most / ENTRIES_GROWTH < capacity ? most : capacity * ENTRIES_GROWTH;
    return table_init(table, capacity, budget, err);
}

static hs_status ranges_run(struct hs_owners *owners, struct hs_error *err)
{
    struct range range = {.owners = owners, .high = UINT64_MAX};

    for (;;) {
        uint64_t width = range.high - range.low;
        bool larger;
        HS_TRY(hs_progress_tell(owners->progress, "telling owners apart", range.low >> 32,
                                (uint64_t)1 << 32, err));
        HS_TRY(range_run(&range, err));
        if (range.overflowed) {
            HS_TRY(table_enlarge(owners, &larger, err));
            range.high = larger ? range.high : range.low + width / 2;
            continue;
        }
        if (range.high == UINT64_MAX)
            return HS_OK;
        range.low = range.high + 1;
        range.high = width > UINT64_MAX - range.low ? UINT64_MAX : range.low + width;
    }
}

hs_status owner_table_make(struct hs_owners *owners, struct hs_error *err)
{
    struct owner_table *table = &owners->table;

    uint64_t most = capacity_most(owners);

    HS_TRY(table_init(table, most < ENTRIES_FIRST ? most : ENTRIES_FIRST, owners->condensed->budget,
                      err));
    HS_TRY(ranges_run(owners, err));
    slots_clear(table);
    for (uint32_t i = 0; i < table->n; i++)
        table->slots[slot_of(table, table->entries[i].signature)] = i + 1;
    return HS_OK;
}
