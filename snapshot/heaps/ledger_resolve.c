/* From claims and moves to sums that can be: hostile memory makes an allocator's own structures
 * contradict each other, and what was moved twice would leave a row with less than nothing. Within
 * one owner moves cancel out, so what one row lacks another one has too much of. */
#include <assert.h>

#include "ledger_sums.h"

struct resolve_column {
    uint64_t *at;   /* a sum of row `row` */
    uint64_t limit; /* of the same row */
};

static struct resolve_column resolve_bytes(const struct hs_ledger *ledger, size_t row)
{
    return (struct resolve_column){&ledger->rows[row].n_bytes, INT64_MAX};
}

static struct resolve_column resolve_resident(const struct hs_ledger *ledger, size_t row)
{
    return (struct resolve_column){&ledger->rows[row].resident_bytes, ledger->rows[row].n_bytes};
}

/* Brings the sums of one owner into [0, limit] and leaves their total as it is, if it can be. Sums
 * are signed here. */
static void resolve_owner(struct hs_ledger *ledger, hs_str owner,
                          struct resolve_column (*column)(const struct hs_ledger *, size_t))
{
    uint64_t lacking = 0, spare = 0;

    for (size_t i = 0; i < ledger->n_rows; i++) {
        struct resolve_column c = column(ledger, i);
        if (ledger->rows[i].owner != owner)
            continue;
        if ((int64_t)*c.at < 0) {
            lacking += -*c.at;
            *c.at = 0;
        } else if (*c.at > c.limit) {
            spare += *c.at - c.limit;
            *c.at = c.limit;
        }
    }
    for (size_t i = 0; i < ledger->n_rows && lacking != spare; i++) {
        struct resolve_column c = column(ledger, i);
        if (ledger->rows[i].owner != owner)
            continue;
        if (lacking > spare) {
            uint64_t n = lacking - spare < *c.at ? lacking - spare : *c.at;
            *c.at -= n;
            spare += n;
        } else {
            uint64_t room = c.limit - *c.at;
            uint64_t n = spare - lacking < room ? spare - lacking : room;
            *c.at += n;
            lacking += n;
        }
    }
}

void hs_ledger_resolve(struct hs_ledger *ledger)
{
    for (size_t i = 0; i < ledger->n_rows; i++) {
        struct hs_memory_row *row = &ledger->rows[i];
        struct hs_ledger_moved *moved = &ledger->moved[i];
        row->n_bytes += (uint64_t)moved->n_bytes;
        row->resident_bytes += (uint64_t)moved->resident_bytes;
        row->n_blocks += (uint64_t)moved->n_blocks;
        if ((int64_t)row->n_blocks < 0)
            row->n_blocks = 0;
        *moved = (struct hs_ledger_moved){0};
    }
    for (size_t i = 0; i < ledger->n_rows; i++) { /* once per owner would do: it changes no more */
        resolve_owner(ledger, ledger->rows[i].owner, resolve_bytes);
        resolve_owner(ledger, ledger->rows[i].owner, resolve_resident);
    }
}
