#include "heaps/ledger.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "ledger_sums.h"

#define LEDGER_NO_ROW UINT32_MAX

void hs_ledger_init(struct hs_ledger *ledger, struct hs_strtab *strings,
                    const struct hs_image *image)
{
    *ledger = (struct hs_ledger){.strings = strings, .image = image};
}

void hs_ledger_fini(struct hs_ledger *ledger)
{
    if (ledger == NULL)
        return;
    hs_free(ledger->rows);
    hs_free(ledger->moved);
    hs_free(ledger->claims);
    hs_free(ledger->parts);
    hs_free(ledger->open);
    *ledger = (struct hs_ledger){0};
}

/* ---- rows */

/* Looks up the rows of `owner`, unless it did so last: allocators come one after another. */
static hs_status ledger_select(struct hs_ledger *ledger, const char *owner, struct hs_error *err)
{
    hs_str id;

    if (ledger->last_owner != 0 &&
        strcmp(hs_strtab_get(ledger->strings, ledger->last_owner), owner) == 0)
        return HS_OK;
    HS_TRY(hs_strtab_add(ledger->strings, owner, &id, err));
    for (size_t state = 0; state < HS_N_MEMORY_STATES; state++)
        ledger->of_last[state] = LEDGER_NO_ROW;
    for (size_t i = 0; i < ledger->n_rows; i++)
        if (ledger->rows[i].owner == id)
            ledger->of_last[ledger->rows[i].state] = (uint32_t)i;
    ledger->last_owner = id;
    return HS_OK;
}

hs_status hs_ledger_row(struct hs_ledger *ledger, const char *owner, enum hs_memory_state state,
                        uint32_t *ret, struct hs_error *err)
{
    assert(state < HS_N_MEMORY_STATES && owner[0] != '\0');
    HS_TRY(ledger_select(ledger, owner, err));
    if (ledger->of_last[state] == LEDGER_NO_ROW) {
        size_t n = ledger->n_rows + 1;
        HS_TRY(HS_GROW(&ledger->rows, &ledger->rows_capacity, n, err));
        HS_TRY(HS_GROW(&ledger->moved, &ledger->moved_capacity, n, err));
        ledger->rows[n - 1] =
            (struct hs_memory_row){.owner = ledger->last_owner, .state = (uint8_t)state};
        ledger->moved[n - 1] = (struct hs_ledger_moved){0};
        ledger->of_last[state] = (uint32_t)(n - 1);
        ledger->n_rows = n;
    }
    *ret = ledger->of_last[state];
    return HS_OK;
}

static int64_t ledger_plus(int64_t sum, uint64_t n)
{
    return (int64_t)((uint64_t)sum + n);
}

static void ledger_shift(struct hs_ledger *ledger, uint32_t from, uint32_t to,
                         const struct hs_ledger_moved *what)
{
    struct hs_ledger_moved *out = &ledger->moved[from], *in = &ledger->moved[to];
    out->n_bytes = ledger_plus(out->n_bytes, -(uint64_t)what->n_bytes);
    out->resident_bytes = ledger_plus(out->resident_bytes, -(uint64_t)what->resident_bytes);
    out->n_blocks = ledger_plus(out->n_blocks, -(uint64_t)what->n_blocks);
    in->n_bytes = ledger_plus(in->n_bytes, (uint64_t)what->n_bytes);
    in->resident_bytes = ledger_plus(in->resident_bytes, (uint64_t)what->resident_bytes);
    in->n_blocks = ledger_plus(in->n_blocks, (uint64_t)what->n_blocks);
}

static hs_status ledger_transfer(struct hs_ledger *ledger, const char *owner,
                                 const enum hs_memory_state from_to[2],
                                 const struct hs_ledger_moved *what, struct hs_error *err)
{
    uint32_t from, to;

    HS_TRY(hs_ledger_row(ledger, owner, from_to[0], &from, err));
    HS_TRY(hs_ledger_row(ledger, owner, from_to[1], &to, err));
    ledger_shift(ledger, from, to, what);
    return HS_OK;
}

hs_status hs_ledger_hand_over(struct hs_ledger *ledger, const char *from, const char *to,
                              hs_addr begin, hs_addr end, struct hs_error *err)
{
    struct hs_ledger_moved what = {0};
    uint32_t row, row_to;

    HS_TRY(hs_ledger_row(ledger, from, HS_MEMORY_LIVE, &row, err));
    HS_TRY(hs_ledger_row(ledger, to, HS_MEMORY_INTERNAL, &row_to, err));
    if (begin >= end)
        return HS_OK;
    what.n_bytes = (int64_t)(end - begin);
    what.resident_bytes = (int64_t)hs_image_resident_bytes(ledger->image, begin, end);
    ledger_shift(ledger, row, row_to, &what);
    return HS_OK;
}

hs_status hs_ledger_move(struct hs_ledger *ledger, const char *owner, enum hs_memory_state from,
                         enum hs_memory_state to, hs_addr begin, hs_addr end, uint64_t n_blocks,
                         struct hs_error *err)
{
    struct hs_ledger_moved what = {.n_blocks = (int64_t)n_blocks};

    if (begin < end) {
        what.n_bytes = (int64_t)(end - begin);
        what.resident_bytes = (int64_t)hs_image_resident_bytes(ledger->image, begin, end);
    }
    return ledger_transfer(ledger, owner, (enum hs_memory_state[]){from, to}, &what, err);
}

hs_status hs_ledger_move_bytes(struct hs_ledger *ledger, const char *owner,
                               enum hs_memory_state from, enum hs_memory_state to, uint64_t n_bytes,
                               uint64_t n_blocks, struct hs_error *err)
{
    struct hs_ledger_moved what = {(int64_t)n_bytes, (int64_t)n_bytes, (int64_t)n_blocks};
    return ledger_transfer(ledger, owner, (enum hs_memory_state[]){from, to}, &what, err);
}

hs_status hs_ledger_set_blocks(struct hs_ledger *ledger, const char *owner,
                               enum hs_memory_state state, uint64_t n_blocks, struct hs_error *err)
{
    uint32_t row;

    HS_TRY(hs_ledger_row(ledger, owner, state, &row, err));
    ledger->rows[row].n_blocks = n_blocks;
    ledger->moved[row].n_blocks = 0;
    return HS_OK;
}

/* ---- claims */

/* Makes room for so many claims, and for what seal makes of them. */
static hs_status ledger_make_room(struct hs_ledger *ledger, size_t n, struct hs_error *err)
{
    enum { PARTS = 2 }; /* of a claim, at most */

    HS_TRY(HS_GROW(&ledger->claims, &ledger->claims_capacity, n, err));
    HS_TRY(HS_GROW(&ledger->parts, &ledger->parts_capacity, PARTS * n, err));
    return HS_GROW(&ledger->open, &ledger->open_capacity, n, err);
}

hs_status hs_ledger_claim(struct hs_ledger *ledger, const char *owner, enum hs_memory_state state,
                          hs_addr begin, hs_addr end, uint64_t n_blocks, struct hs_error *err)
{
    struct hs_ledger_range claim = {.begin = begin, .end = end};

    HS_TRY(hs_ledger_row(ledger, owner, state, &claim.row, err));
    if (begin < end) {
        if (ledger->n_claims == UINT32_MAX)
            return hs_fail(err, HS_LIMIT, "cannot keep more than %zu pieces of memory",
                           ledger->n_claims);
        claim.order = (uint32_t)ledger->n_claims;
        HS_TRY(ledger_make_room(ledger, ledger->n_claims + 1, err));
        ledger->claims[ledger->n_claims++] = claim;
        ledger->is_sealed = false;
    }
    ledger->rows[claim.row].n_blocks += n_blocks;
    return HS_OK;
}

static int ledger_compare(const void *left, const void *right)
{
    const struct hs_ledger_range *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The claims that the sweep is within, by their numbers, as a heap: the one that was made first is
 * its root. */
struct ledger_open {
    const struct hs_ledger_range *claims;
    uint32_t *at;
    size_t n;
};

static bool ledger_is_older(const struct ledger_open *open, size_t i, size_t j)
{
    return open->claims[open->at[i]].order < open->claims[open->at[j]].order;
}

static void ledger_swap(struct ledger_open *open, size_t i, size_t j)
{
    uint32_t kept = open->at[i];
    open->at[i] = open->at[j];
    open->at[j] = kept;
}

static void ledger_push(struct ledger_open *open, size_t claim)
{
    size_t at = open->n++;

    for (open->at[at] = (uint32_t)claim; at > 0 && ledger_is_older(open, at, (at - 1) / 2);
         at = (at - 1) / 2)
        ledger_swap(open, at, (at - 1) / 2);
}

static void ledger_pop(struct ledger_open *open)
{
    open->at[0] = open->at[--open->n];
    for (size_t at = 0, below; (below = 2 * at + 1) < open->n; at = below) {
        below += below + 1 < open->n && ledger_is_older(open, below + 1, below);
        if (!ledger_is_older(open, below, at))
            return;
        ledger_swap(open, at, below);
    }
}

/* Appends a part, or makes the last one longer. A part is older than any claim still to come. */
static size_t ledger_append(struct hs_ledger_range *parts, size_t n, hs_addr begin, hs_addr end,
                            uint32_t row)
{
    if (n > 0 && parts[n - 1].end == begin && parts[n - 1].row == row) {
        parts[n - 1].end = end;
        return n;
    }
    parts[n] = (struct hs_ledger_range){.begin = begin, .end = end, .row = row};
    return n + 1;
}

/* Cuts n claims, in order of where they begin, into parts that are disjoint: each goes to the claim
 * that was made first of those that want it, also behind one that lies within. Returns how many:
 * where one begins or ends a part may begin, and so fewer than 2 * n. */
static size_t ledger_cut(const struct hs_ledger_range *claims, size_t n, uint32_t *room,
                         struct hs_ledger_range *parts)
{
    struct ledger_open open = {.claims = claims, .at = room};
    size_t next = 0, n_parts = 0;
    hs_addr at = 0;

    while (next < n || open.n > 0) {
        if (open.n == 0 && claims[next].begin > at)
            at = claims[next].begin;
        while (next < n && claims[next].begin <= at)
            ledger_push(&open, next++);
        const struct hs_ledger_range *first = &claims[open.at[0]];
        if (first->end <= at) {
            ledger_pop(&open);
            continue;
        }
        hs_addr end = next < n && claims[next].begin < first->end ? claims[next].begin : first->end;
        n_parts = ledger_append(parts, n_parts, at, end, first->row);
        at = end;
    }
    return n_parts;
}

void hs_ledger_seal(struct hs_ledger *ledger)
{
    const size_t n = ledger->n_claims, capacity = ledger->claims_capacity;
    struct hs_ledger_range *claims = ledger->claims;

    if (ledger->is_sealed)
        return;
    if (n > 1)
        qsort(claims, n, sizeof *claims, ledger_compare);
    ledger->n_claims = ledger_cut(claims, n, ledger->open, ledger->parts);
    ledger->claims = ledger->parts;
    ledger->claims_capacity = ledger->parts_capacity;
    ledger->parts = claims;
    ledger->parts_capacity = capacity;
    ledger->is_sealed = true;
}

size_t hs_ledger_lower(const struct hs_ledger *ledger, hs_addr address)
{
    assert(ledger->is_sealed || ledger->n_claims == 0);
    return HS_FIRST_ABOVE(ledger->claims, ledger->n_claims, end, address);
}

bool hs_ledger_next_unclaimed(const struct hs_ledger *ledger, hs_addr begin, hs_addr end,
                              hs_addr *ret_begin, hs_addr *ret_end)
{
    size_t at = hs_ledger_lower(ledger, begin);

    for (; at < ledger->n_claims && ledger->claims[at].begin <= begin; at++)
        begin = ledger->claims[at].end;
    if (begin >= end)
        return false;
    *ret_begin = begin;
    *ret_end =
        at < ledger->n_claims && ledger->claims[at].begin < end ? ledger->claims[at].begin : end;
    return true;
}

hs_str hs_ledger_owner_at(const struct hs_ledger *ledger, hs_addr address)
{
    size_t at = hs_ledger_lower(ledger, address);

    if (at == ledger->n_claims || ledger->claims[at].begin > address)
        return 0;
    return ledger->rows[ledger->claims[at].row].owner;
}
