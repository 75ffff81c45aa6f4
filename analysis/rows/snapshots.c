/* Snapshots: one row, of the process, of how it was dumped, and the sums by which the other nouns
 * can be judged. Neither the program's arguments nor where the file lies. */
#include "analysis/set_rows.h"
#include "analysis/snapshot_figures.h"
#include "base/append.h"
#include "getters.h"

enum { RUNTIMES_BYTES = 512 };

static struct hs_row_value runtimes(struct hs_rows *rows)
{
    const struct hs_view *view = rows->view;
    const struct hs_snap_facts *facts = view->facts;
    char *room = hs_rows_room(rows, RUNTIMES_BYTES);
    for (size_t i = 0; i < facts->n_runtimes; i++) {
        hs_append_item(room, RUNTIMES_BYTES, ", ", hs_view_string(view, facts->runtimes[i].name));
        if (facts->runtimes[i].version != 0)
            hs_append(room, RUNTIMES_BYTES, " %s",
                      hs_view_string(view, facts->runtimes[i].version));
    }
    return text(room);
}

/* Returns the words that sets of several roots keep. */
static struct hs_row_value shared_words(struct hs_rows *rows)
{
    struct hs_set_rows sets = {0};
    rows->status = hs_set_rows_all(rows->view, &sets, &rows->error);
    uint64_t words = rows->status == HS_OK ? hs_set_rows_words(&sets) : 0;
    hs_set_rows_fini(&sets);
    return number(words);
}

static uint64_t n_that_hold(const struct hs_snap_facts *facts)
{
    uint64_t n = 0;
    for (size_t i = 0; i < facts->n_proofs; i++)
        n += facts->proofs[i].holds;
    return n;
}

static uint64_t unreadable_bytes(const struct hs_snap_facts *facts)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < facts->n_unreadable; i++)
        n_bytes += facts->unreadable[i].end - facts->unreadable[i].begin;
    return n_bytes;
}

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    const struct hs_view *view = rows->view;
    const struct hs_snap_facts *facts = view->facts;
    const struct hs_snap_totals *totals = view->totals;
    static const struct hs_binary no_binary;
    const struct hs_binary *binary = facts->n_binaries != 0 ? &facts->binaries[0] : &no_binary;
    (void)at;
    HS_ROWS_SWITCH(SNAPSHOTS)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    (void)err;
    rows->n = 1;
    return HS_OK;
}

HS_ROWS_COLUMNS(SNAPSHOTS);
const struct hs_noun hs_noun_snapshots = {HS_ROWS_NOUN(snapshots), .find = find};
