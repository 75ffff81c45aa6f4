/* The tables of export/fleet.h: the columns of analysis/rows.h, and rows one after another. Keys
 * have the process and the moment in each row, so that growth is asked without a join; a snapshot
 * has the names that it is filed under. A number that is unknown is -1, a text "". */
#include "analysis/chunk_pass.h"
#include "analysis/root_rows.h"
#include "fleet_sheet.h"

static const enum hs_parquet_kind kinds[] = {
    [HS_ROW_TEXT] = HS_PARQUET_TEXT,       [HS_ROW_COUNT] = HS_PARQUET_NUMBER,
    [HS_ROW_WORDS] = HS_PARQUET_NUMBER,    [HS_ROW_BYTES] = HS_PARQUET_NUMBER,
    [HS_ROW_NS] = HS_PARQUET_NUMBER,       [HS_ROW_TIME] = HS_PARQUET_TIME,
    [HS_ROW_ADDRESS] = HS_PARQUET_ADDRESS, [HS_ROW_NODE] = HS_PARQUET_NUMBER,
    [HS_ROW_SET] = HS_PARQUET_NUMBER,      [HS_ROW_NUMBER] = HS_PARQUET_NUMBER,
    [HS_ROW_BOOL] = HS_PARQUET_TRUTH,
};

static const struct hs_row_column filed_under[] = {{"host_name", HS_ROW_TEXT},
                                                   {"service_name", HS_ROW_TEXT}};
static const struct hs_row_column of_process[] = {{"pid", HS_ROW_NUMBER}, {"taken", HS_ROW_TIME}};
/* The columns of blocks that are worth their room in a file of all of them. */
static const enum hs_blocks_column of_block[] = {
    HS_BLOCKS_id,   HS_BLOCKS_address, HS_BLOCKS_words,          HS_BLOCKS_static,
    HS_BLOCKS_type, HS_BLOCKS_idom,    HS_BLOCKS_retained_words, HS_BLOCKS_tier,
};

static void add_columns(struct fleet_sheet *sheet, const struct hs_row_column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sheet->columns[sheet->n_columns++] =
            (struct hs_parquet_column){columns[i].name, kinds[columns[i].kind]};
}

static void put_blocks_columns(struct fleet_sheet *sheet)
{
    for (size_t i = 0; i < sizeof of_block / sizeof *of_block; i++)
        add_columns(sheet, &hs_block_columns[of_block[i]], 1);
    sheet->columns[0].kind = HS_PARQUET_ORDERED;
}

void hs_fleet_columns(struct fleet_sheet *sheet)
{
    const struct hs_noun *noun = sheet->table->noun;
    if (noun == NULL) {
        put_blocks_columns(sheet);
        return;
    }
    if (noun == &hs_noun_snapshots)
        add_columns(sheet, filed_under, 2);
    add_columns(sheet, noun->columns, noun->n_columns);
    if (noun == &hs_noun_keys)
        add_columns(sheet, of_process, 2);
}

/* ---- rows */

static hs_status put_row(struct hs_rows *rows, uint64_t at, struct fleet_sheet *sheet,
                         struct hs_error *err)
{
    const struct hs_noun *noun = rows->noun;
    const struct hs_snap_facts *facts = rows->view->facts;
    hs_rows_begin(rows);
    if (noun == &hs_noun_snapshots) {
        hs_fleet_text(sheet, sheet->names->host);
        hs_fleet_text(sheet, sheet->names->service);
    }
    for (unsigned i = 0; i < noun->n_columns; i++) {
        struct hs_row_value value;
        HS_TRY(hs_rows_get(rows, at, i, &value, err));
        if (noun->columns[i].kind == HS_ROW_TEXT)
            hs_fleet_text(sheet, value.is_known ? value.text : "");
        else if (noun->columns[i].kind == HS_ROW_ADDRESS)
            hs_fleet_address(sheet, value.number);
        else if (noun->columns[i].kind == HS_ROW_TIME)
            hs_fleet_number(sheet, value.number / 1000);
        else
            hs_fleet_number(sheet, value.is_known ? value.number : UINT64_MAX);
    }
    if (noun == &hs_noun_keys) {
        hs_fleet_number(sheet, facts->pid);
        hs_fleet_number(sheet, facts->taken_ns / 1000);
    }
    return hs_fleet_row(sheet, err);
}

/* The roots that `heapsnap roots` lists, in its order. */
static hs_status put_roots(struct hs_rows *all, struct fleet_sheet *sheet, struct hs_error *err)
{
    const struct hs_root_query query = {.kinds = UINT64_MAX, .max_rows = UINT64_MAX};
    struct hs_root_rows roots = {0};
    hs_status status = hs_root_rows_select(all->view, &query, &roots, err);
    for (size_t i = 0; i < roots.n_rows && status == HS_OK; i++)
        status = put_row(all, roots.rows[i].node, sheet, err);
    hs_root_rows_fini(&roots);
    return status;
}

static hs_status put_chunk(struct hs_view *view, const struct hs_chunk *chunk,
                           struct fleet_sheet *sheet, struct hs_error *err)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        const char *tier = hs_tier_name(hs_index_tier(view->index, node));
        hs_fleet_number(sheet, node);
        hs_fleet_address(sheet, chunk->address[i]);
        hs_fleet_number(sheet, chunk->words[i]);
        hs_fleet_number(sheet, chunk->state[i] & HS_BLOCK_STATIC);
        hs_fleet_text(sheet, hs_view_string(view, hs_snap_type(view->snap, chunk->type[i])->name));
        hs_fleet_number(sheet, hs_index_idom(view->index, node)); /* none: -1 */
        hs_fleet_number(sheet, hs_index_retained(view->index, node).words);
        hs_fleet_text(sheet, tier != NULL ? tier : "");
        HS_TRY(hs_fleet_row(sheet, err));
    }
    return HS_OK;
}

static hs_status write_blocks(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err)
{
    struct hs_chunk_pass pass =
        hs_chunk_pass_of(view, HS_COL_SIZES | HS_COL_TYPES, "exporting blocks");
    while (hs_chunk_pass_next(&pass, err))
        pass.status = put_chunk(view, &pass.chunk, sheet, err);
    return hs_chunk_pass_end(&pass);
}

hs_status hs_fleet_write_rows(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err)
{
    struct hs_rows rows;
    if (sheet->table->noun == NULL)
        return write_blocks(view, sheet, err);
    HS_TRY(hs_rows_find(view, sheet->table->noun, &rows, err));
    hs_status status = HS_OK;
    if (rows.noun == &hs_noun_roots)
        status = put_roots(&rows, sheet, err);
    else /* key 0 is the sum of all */
        for (uint64_t at = rows.noun == &hs_noun_keys; at < rows.n && status == HS_OK; at++)
            status = put_row(&rows, at, sheet, err);
    hs_rows_fini(&rows);
    return status;
}
