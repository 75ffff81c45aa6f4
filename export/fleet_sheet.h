/* The tables of export/fleet.h while they are written. */
#ifndef HS_EXPORT_FLEET_SHEET_H
#define HS_EXPORT_FLEET_SHEET_H

#include "analysis/rows.h"
#include "base/buffer.h"
#include "export/fleet.h"
#include "parquet/writer.h"

enum { FLEET_COLUMNS_MAX = 40 };

struct fleet_names {
    const char *host, *service;
};

/* A table that is being written. A row is put value by value, then ended; what fails is told at its
 * end. */
struct fleet_sheet {
    const struct fleet_table *table;
    const struct fleet_names *names;
    bool no_addresses;
    struct hs_parquet_column columns[FLEET_COLUMNS_MAX];
    size_t n_columns;
    struct hs_out out;
    struct hs_parquet *writer; /* owned */
    struct hs_parquet_value row[FLEET_COLUMNS_MAX];
    struct hs_buffer texts[FLEET_COLUMNS_MAX]; /* owned: those that had to be changed */
    size_t n;                                  /* of the row */
    hs_status status;
    struct hs_error error;
};

struct fleet_table {
    const char *name, *schema;
    const struct hs_noun *noun; /* NULL: blocks, which are read chunk by chunk */
};

/* Sets the columns of the sheet's table, and writes all of its rows (fleet_rows.c). */
void hs_fleet_columns(struct fleet_sheet *sheet);
hs_status hs_fleet_write_rows(struct hs_view *view, struct fleet_sheet *sheet,
                              struct hs_error *err);

void hs_fleet_number(struct fleet_sheet *sheet, uint64_t number);
/* Puts an address; 0 where no addresses are wanted. */
void hs_fleet_address(struct fleet_sheet *sheet, hs_addr address);
/* Puts a text, borrowed until the row ends. Where no addresses are wanted 0x7f01... becomes 0x?. */
void hs_fleet_text(struct fleet_sheet *sheet, const char *text);
/* Ends the row: HS_IO, HS_LIMIT. */
hs_status hs_fleet_row(struct fleet_sheet *sheet, struct hs_error *err);

#endif
