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
        HS_TRY(HS_GROW(&ledger->claims, &ledger->claims_capacity, ledger->n_claims + 1, err));
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

/* Appends `new` to claims[0 .. n), which are disjoint and begin no later than any that is still to
 * come; the number of claims then. Parts that both want go to the one that was made first. */
static size_t ledger_place(struct hs_ledger_range *claims, size_t n, struct hs_ledger_range new)
{
    while (n > 0 && new.begin < claims[n - 1].end) {
        struct hs_ledger_range *last = &claims[n - 1];
        if (last->order < new.order)
            new.begin = last->end;
        else if (last->begin < new.begin)
            last->end = new.begin;
        else
            n--;
        if (new.begin >= new.end)
            return n;
    }
    claims[n] = new;
    return n + 1;
}

void hs_ledger_seal(struct hs_ledger *ledger)
{
    struct hs_ledger_range *claims = ledger->claims;
    size_t n = 0, n_joined = 0;

    if (ledger->is_sealed)
        return;
    if (ledger->n_claims > 1)
        qsort(claims, ledger->n_claims, sizeof *claims, ledger_compare);
    for (size_t i = 0; i < ledger->n_claims; i++)
        n = ledger_place(claims, n, claims[i]);
    for (size_t i = 0; i < n; i++) {
        struct hs_ledger_range *last = n_joined > 0 ? &claims[n_joined - 1] : NULL;
        if (last != NULL && last->end == claims[i].begin && last->row == claims[i].row)
            last->end = claims[i].end;
        else
            claims[n_joined++] = claims[i];
    }
    for (size_t i = 0; i < n_joined; i++)
        claims[i].order = 0; /* older than any that is still to come */
    ledger->n_claims = n_joined;
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
