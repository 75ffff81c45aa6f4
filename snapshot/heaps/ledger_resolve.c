/* Turns claims and moves into sums that are possible: hostile memory makes an allocator's own
 * structures contradict each other, and what was moved twice would leave a row with less than
 * nothing. Within one owner moves cancel out, so what one row lacks another one has too much of;
 * what was handed over from one to another cancels out in all of them. */
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

/* The two sums of a row, each of which is resolved by itself. */
enum resolve_what { RESOLVE_BYTES, RESOLVE_RESIDENT };
static struct resolve_column resolve_at(const struct hs_ledger *ledger, enum resolve_what what,
                                        size_t row)
{
    return what == RESOLVE_BYTES ? resolve_bytes(ledger, row) : resolve_resident(ledger, row);
}

/* The bytes that rows lacked, and those that they had too much. */
struct resolve_rest {
    uint64_t lacking, spare;
};

/* Evens out `rest` by rows of one owner; 0: of any. */
static void resolve_even(struct hs_ledger *ledger, hs_str owner, enum resolve_what what,
                         struct resolve_rest *rest)
{
    for (size_t i = 0; i < ledger->n_rows && rest->lacking != rest->spare; i++) {
        struct resolve_column c = resolve_at(ledger, what, i);
        if (owner != 0 && ledger->rows[i].owner != owner)
            continue;
        if (rest->lacking > rest->spare) {
            uint64_t missing = rest->lacking - rest->spare;
            uint64_t n = missing < *c.at ? missing : *c.at;
            *c.at -= n;
            rest->spare += n;
        } else {
            uint64_t room = c.limit - *c.at;
            uint64_t n = rest->spare - rest->lacking < room ? rest->spare - rest->lacking : room;
            *c.at += n;
            rest->lacking += n;
        }
    }
}

/* Brings the sums of one owner into [0, limit] and leaves their total as it is, if it can be: what
 * it handed over to another owner may have been more than it had. Sums are signed here. */
static void resolve_owner(struct hs_ledger *ledger, hs_str owner, enum resolve_what what,
                          struct resolve_rest *rest)
{
    struct resolve_rest own = {0};

    for (size_t i = 0; i < ledger->n_rows; i++) {
        struct resolve_column c = resolve_at(ledger, what, i);
        if (ledger->rows[i].owner != owner)
            continue;
        if ((int64_t)*c.at < 0) {
            own.lacking += -*c.at;
            *c.at = 0;
        } else if (*c.at > c.limit) {
            own.spare += *c.at - c.limit;
            *c.at = c.limit;
        }
    }
    resolve_even(ledger, owner, what, &own);
    rest->lacking += own.lacking;
    rest->spare += own.spare;
}

static void resolve_sums(struct hs_ledger *ledger, enum resolve_what what)
{
    struct resolve_rest rest = {0};

    for (size_t i = 0; i < ledger->n_rows; i++) /* once per owner would do: it changes no more */
        resolve_owner(ledger, ledger->rows[i].owner, what, &rest);
    resolve_even(ledger, 0, what, &rest);
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
    resolve_sums(ledger, RESOLVE_BYTES);
    resolve_sums(ledger, RESOLVE_RESIDENT);
}
