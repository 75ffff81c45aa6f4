/* The table `snapshots`: one row, of the process, of how it was dumped, and the sums by which the
 * other tables can be judged. */
#include <stdio.h>

#include "analysis/root_rows.h"
#include "analysis/snapshot_figures.h"
#include "base/append.h"
#include "fleet_sheet.h"

static const struct hs_parquet_column columns[] = {
    {"host_name", HS_PARQUET_TEXT},
    {"service_name", HS_PARQUET_TEXT},
    {"taken", HS_PARQUET_TIME},
    {"taken_ns", HS_PARQUET_NUMBER},
    {"started_ns", HS_PARQUET_NUMBER},
    {"pid", HS_PARQUET_NUMBER},
    {"binary", HS_PARQUET_TEXT},
    {"build_id", HS_PARQUET_TEXT},
    {"runtimes", HS_PARQUET_TEXT},
    {"tool_version", HS_PARQUET_TEXT},
    {"format_version", HS_PARQUET_NUMBER},
    {"policy", HS_PARQUET_TEXT},
    {"word_bytes", HS_PARQUET_NUMBER},
    {"resident_bytes", HS_PARQUET_NUMBER},
    {"pause_ns", HS_PARQUET_NUMBER},
    {"read_bytes", HS_PARQUET_NUMBER},
    {"file_bytes", HS_PARQUET_NUMBER},
    {"objects", HS_PARQUET_NUMBER},
    {"edges", HS_PARQUET_NUMBER},
    {"roots", HS_PARQUET_NUMBER},
    {"types", HS_PARQUET_NUMBER},
    {"samples", HS_PARQUET_NUMBER},
    {"heap_words", HS_PARQUET_NUMBER},
    {"static_words", HS_PARQUET_NUMBER},
    {"reached_words", HS_PARQUET_NUMBER},
    {"shared_words", HS_PARQUET_NUMBER},
    {"unreached_words", HS_PARQUET_NUMBER},
    {"proofs", HS_PARQUET_NUMBER},
    {"proofs_that_hold", HS_PARQUET_NUMBER},
    {"unreadable_bytes", HS_PARQUET_NUMBER},
    {"is_cut", HS_PARQUET_TRUTH},
};

static void put_process(const struct hs_view *view, struct fleet_sheet *sheet, char *runtimes,
                        size_t n_bytes)
{
    const struct hs_snap_facts *facts = view->facts;
    const struct hs_binary *binary = facts->n_binaries != 0 ? &facts->binaries[0] : NULL;
    runtimes[0] = 0;
    for (size_t i = 0; i < facts->n_runtimes; i++) {
        hs_append_item(runtimes, n_bytes, ", ", hs_view_string(view, facts->runtimes[i].name));
        if (facts->runtimes[i].version != 0)
            hs_append(runtimes, n_bytes, " %s", hs_view_string(view, facts->runtimes[i].version));
    }
    fleet_text(sheet, sheet->names->host);
    fleet_text(sheet, sheet->names->service);
    fleet_number(sheet, facts->taken_ns / 1000);
    fleet_number(sheet, facts->taken_ns);
    fleet_number(sheet, facts->started_ns);
    fleet_number(sheet, facts->pid);
    fleet_text(sheet, binary != NULL ? hs_view_string(view, binary->path) : "");
    fleet_text(sheet, binary != NULL ? hs_view_string(view, binary->build_id) : "");
    fleet_text(sheet, runtimes);
}

static void put_dump(const struct hs_view *view, struct fleet_sheet *sheet)
{
    const struct hs_snap_facts *facts = view->facts;
    fleet_text(sheet, hs_view_string(view, facts->tool_version));
    fleet_number(sheet, hs_snap_format_version(view->snap));
    fleet_text(sheet, hs_policy_name(hs_index_policy(view->index)));
    fleet_number(sheet, facts->word_bytes);
    fleet_number(sheet, facts->resident_bytes);
    fleet_number(sheet, facts->pause_ns);
    fleet_number(sheet, facts->read_bytes);
    fleet_number(sheet, view->totals->file_bytes);
}

static void put_sums(const struct hs_view *view, uint64_t shared_words, struct fleet_sheet *sheet)
{
    const struct hs_snap_totals *totals = view->totals;
    fleet_number(sheet, totals->n_blocks);
    fleet_number(sheet, totals->n_edges);
    fleet_number(sheet, hs_view_n_roots(view));
    fleet_number(sheet, totals->n_types);
    fleet_number(sheet, totals->n_samples);
    fleet_number(sheet, totals->heap_words);
    fleet_number(sheet, totals->static_words);
    fleet_number(sheet, hs_index_reached_total(view->index).words);
    fleet_number(sheet, shared_words);
    fleet_number(sheet, hs_index_unreached_total(view->index).words);
}

static void put_quality(const struct hs_view *view, struct fleet_sheet *sheet)
{
    const struct hs_snap_facts *facts = view->facts;
    uint64_t n_hold = 0, unreadable_bytes = 0;
    for (size_t i = 0; i < facts->n_proofs; i++)
        n_hold += facts->proofs[i].holds;
    for (size_t i = 0; i < facts->n_unreadable; i++)
        unreadable_bytes += facts->unreadable[i].end - facts->unreadable[i].begin;
    fleet_number(sheet, facts->n_proofs);
    fleet_number(sheet, n_hold);
    fleet_number(sheet, unreadable_bytes);
    fleet_number(sheet, hs_snap_is_cut(view->snap));
}

static hs_status write_snapshot(struct hs_view *view, struct fleet_sheet *sheet,
                                struct hs_error *err)
{
    char runtimes[512];
    struct hs_set_rows sets = {0};
    HS_TRY(hs_set_rows_all(view, &sets, err));
    uint64_t shared_words = hs_set_rows_words(&sets);
    hs_set_rows_fini(&sets);
    put_process(view, sheet, runtimes, sizeof runtimes);
    put_dump(view, sheet);
    put_sums(view, shared_words, sheet);
    put_quality(view, sheet);
    return fleet_row(sheet, err);
}

const struct fleet_table fleet_snapshots = {
    .name = "snapshots",
    .schema = "heapsnap.snapshots/1",
    FLEET_COLUMNS(columns),
    .write = write_snapshot,
};
