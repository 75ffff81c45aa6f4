#include "analysis/balance.h"

#include <stdio.h>
#include <string.h>

#include "analysis/unread.h"
#include "base/checked.h"

static enum hs_balance_part part_of_nobody(const char *owner)
{
    static const struct {
        const char *owner;
        enum hs_balance_part part;
    } parts[] = {
        {HS_MEMORY_OF_STACKS, HS_BALANCE_STACKS},     {HS_MEMORY_OF_DATA, HS_BALANCE_BINARIES},
        {HS_MEMORY_OF_ENDED, HS_BALANCE_STACKS},      {HS_MEMORY_OF_UNJOINED, HS_BALANCE_STACKS},
        {HS_MEMORY_OF_CODE, HS_BALANCE_BINARIES},     {HS_MEMORY_OF_FILES, HS_BALANCE_MAPPINGS},
        {HS_MEMORY_OF_SHARED, HS_BALANCE_MAPPINGS},   {HS_MEMORY_OF_NOBODY, HS_BALANCE_MAPPINGS},
        {HS_MEMORY_OF_RESERVES, HS_BALANCE_MAPPINGS},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(owner, parts[i].owner) == 0)
            return parts[i].part;
    return HS_BALANCE_OTHER;
}

static enum hs_balance_part part_of(const struct hs_memory_row *row, const char *owner)
{
    switch (row->state) {
    case HS_MEMORY_LIVE:
        return HS_BALANCE_LIVE;
    case HS_MEMORY_CACHED:
    case HS_MEMORY_FREE:
    case HS_MEMORY_DIRTY:
        return HS_BALANCE_FREE;
    case HS_MEMORY_INTERNAL:
        return HS_BALANCE_TABLES;
    case HS_MEMORY_OTHER:
        return part_of_nobody(owner);
    default:
        return HS_BALANCE_OTHER;
    }
}

/* Adds sizes that a file says, which may be any. */
static void add(uint64_t *sum, uint64_t bytes)
{
    *sum = bytes > HS_BALANCE_MOST_BYTES - *sum ? HS_BALANCE_MOST_BYTES : *sum + bytes;
}

/* Sums the free memory of one allocator: its rows of three states. */
static uint64_t free_of(const struct hs_snap_facts *facts, hs_str owner)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < facts->n_memory; i++) {
        const struct hs_memory_row *row = &facts->memory[i];
        if (row->owner == owner && part_of(row, "") == HS_BALANCE_FREE)
            add(&sum, row->resident_bytes);
    }
    return sum;
}

static void add_free(const struct hs_view *view, const struct hs_memory_row *row, uint64_t *most,
                     struct hs_balance *balance)
{
    enum { MOST_ROWS = 256 }; /* more than a dump writes: a made file does not cost n * n */
    uint64_t sum =
        view->facts->n_memory > MOST_ROWS ? row->resident_bytes : free_of(view->facts, row->owner);
    balance->n_free += row->n_blocks;
    if (row->state == HS_MEMORY_DIRTY)
        add(&balance->dirty_bytes, row->resident_bytes);
    if (sum > *most) {
        *most = sum;
        balance->allocator = hs_view_string(view, row->owner);
    }
}

/* Splits the memory of a dump of one collector's heap, of which only the whole size is known, into
 * what is live and what is absent from the dump. */
static void add_absent(const struct hs_view *view, struct hs_balance *balance)
{
    uint64_t all = view->facts->resident_bytes, live;
    if (all == 0 || !hs_mul_fits(view->totals->heap_words, view->facts->word_bytes, &live))
        return;
    add(&balance->resident_bytes, all);
    all = balance->resident_bytes;
    balance->bytes[HS_BALANCE_LIVE] = live < all ? live : all;
    balance->bytes[HS_BALANCE_ABSENT] = all - balance->bytes[HS_BALANCE_LIVE];
}

void hs_balance_find(const struct hs_view *view, struct hs_balance *ret)
{
    const struct hs_snap_facts *facts = view->facts;
    struct hs_balance balance = {.allocator = ""};
    struct hs_unread unread;
    uint64_t most_free = 0;

    for (size_t i = 0; i < facts->n_memory; i++) {
        const struct hs_memory_row *row = &facts->memory[i];
        const char *owner = hs_view_string(view, row->owner);
        enum hs_balance_part part = part_of(row, owner);
        add(&balance.bytes[part], row->resident_bytes);
        add(&balance.resident_bytes, row->resident_bytes);
        if (part == HS_BALANCE_LIVE)
            add(&balance.live_bytes, row->n_bytes);
        if (part == HS_BALANCE_FREE)
            add_free(view, row, &most_free, &balance);
        if (strcmp(owner, HS_MEMORY_OF_UNJOINED) == 0) {
            add(&balance.unjoined_bytes, row->n_bytes);
            balance.n_unjoined = row->n_blocks;
        }
        if (strcmp(owner, HS_MEMORY_OF_FILES) == 0 || strcmp(owner, HS_MEMORY_OF_SHARED) == 0)
            add(&balance.shared_bytes, row->resident_bytes);
    }
    hs_unread_find(view, &unread);
    if (unread.sum.unread_bytes > balance.bytes[HS_BALANCE_MAPPINGS] / 2)
        (void)snprintf(balance.runtime, sizeof balance.runtime, "%s", unread.runtime);
    if (facts->n_memory == 0)
        add_absent(view, &balance);
    *ret = balance;
}

enum hs_balance_part hs_balance_verdict(const struct hs_balance *balance)
{
    /* glibc keeps stacks for new threads: glibc.pthread.stack_cache_size, 40 MiB. */
    enum { LEAST_UNJOINED = 16, MOST_KEPT_BYTES = 40 << 20 };
    /* Memory that any dump leaves out: of binaries, and the runtime's own. */
    enum { MOST_ABSENT_BYTES = 16 << 20 };
    enum hs_balance_part largest = HS_BALANCE_LIVE;

    for (unsigned part = 0; part < HS_N_BALANCE_PARTS; part++)
        if (balance->bytes[part] > balance->bytes[largest])
            largest = part;
    if (balance->n_unjoined >= LEAST_UNJOINED && balance->unjoined_bytes > MOST_KEPT_BYTES)
        return HS_BALANCE_STACKS;
    if (largest == HS_BALANCE_BINARIES || largest == HS_BALANCE_OTHER)
        return HS_BALANCE_LIVE;
    if (largest == HS_BALANCE_ABSENT && balance->bytes[largest] < MOST_ABSENT_BYTES)
        return HS_BALANCE_LIVE;
    return balance->bytes[largest] >= HS_BALANCE_LEAST_BYTES ? largest : HS_BALANCE_LIVE;
}
