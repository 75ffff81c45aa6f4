/* The tables of export/fleet.h, each a file fleet_NAME.c: columns, and rows one after another. */
#ifndef HS_EXPORT_FLEET_SHEET_H
#define HS_EXPORT_FLEET_SHEET_H

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
    const struct hs_parquet_column *columns;
    size_t n_columns;
    hs_status (*write)(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err);
};
#define FLEET_COLUMNS(array) .columns = (array), .n_columns = sizeof(array) / sizeof *(array)

extern const struct fleet_table fleet_snapshots, fleet_keys, fleet_roots, fleet_sets, fleet_types,
    fleet_leaks, fleet_blocks;

void fleet_number(struct fleet_sheet *sheet, uint64_t number);
/* 0 where no addresses are wanted. */
void fleet_address(struct fleet_sheet *sheet, hs_addr address);
/* Borrowed until the row ends. Where no addresses are wanted 0x7f01... becomes 0x?. */
void fleet_text(struct fleet_sheet *sheet, const char *text);
/* Ends the row: HS_IO, HS_LIMIT. */
hs_status fleet_row(struct fleet_sheet *sheet, struct hs_error *err);

#endif
