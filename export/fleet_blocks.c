/* The table `blocks`: a row for each block, in address order. */
#include "analysis/chunk_pass.h"
#include "fleet_sheet.h"

static const struct hs_parquet_column columns[] = {
    {"id", HS_PARQUET_ORDERED},
    {"address", HS_PARQUET_ADDRESS},
    {"words", HS_PARQUET_NUMBER},
    {"is_static", HS_PARQUET_TRUTH},
    {"type", HS_PARQUET_TEXT},
    {"dominator", HS_PARQUET_NUMBER},
    {"retained_words", HS_PARQUET_NUMBER},
    {"tier", HS_PARQUET_TEXT},
};

static hs_status put_chunk(struct hs_view *view, const struct hs_chunk *chunk,
                           struct fleet_sheet *sheet, struct hs_error *err)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        const char *tier = hs_tier_name(hs_index_tier(view->index, node));
        fleet_number(sheet, node);
        fleet_address(sheet, chunk->address[i]);
        fleet_number(sheet, chunk->words[i]);
        fleet_number(sheet, chunk->state[i] & HS_BLOCK_STATIC);
        fleet_text(sheet, hs_view_string(view, hs_snap_type(view->snap, chunk->type[i])->name));
        fleet_number(sheet, hs_index_idom(view->index, node)); /* none: -1 */
        fleet_number(sheet, hs_index_retained(view->index, node).words);
        fleet_text(sheet, tier != NULL ? tier : "unreached");
        HS_TRY(fleet_row(sheet, err));
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

const struct fleet_table fleet_blocks = {
    .name = "blocks",
    .schema = "heapsnap.blocks/1",
    FLEET_COLUMNS(columns),
    .write = write_blocks,
};
