/* A snapshot as tables for engines that look at many of them at once (DuckDB, ClickHouse, Spark):
 *
 *     DIR/host=H/service=S/time=T/{snapshots,keys,roots,sets,types,leaks,blocks}.parquet
 *
 * Engines take host, service and time from the path. Bytes of a name that could lead elsewhere or
 * mean something there are written %XX, as Hive does, "/" and a leading "." among them; T is the
 * moment of the dump in UTC to the nanosecond ("20261123T205912.000000000Z"), "unknown" where a
 * snapshot does not tell. docs/sql.md describes tables and columns.
 *
 * A table is whole under its name, or absent; of a snapshot that is damaged there is none. */
#ifndef HS_EXPORT_FLEET_H
#define HS_EXPORT_FLEET_H

#include "analysis/view.h"

enum hs_fleet_table {
    HS_FLEET_SNAPSHOTS, /* one row: the process, how it was dumped, sums */
    HS_FLEET_KEYS,
    HS_FLEET_ROOTS,
    HS_FLEET_SETS,
    HS_FLEET_TYPES,
    HS_FLEET_LEAKS,
    HS_FLEET_BLOCKS,
    HS_FLEET_N_TABLES
};
/* The tables as the choices of an option, in this order. */
#define HS_FLEET_TABLES "snapshots|keys|roots|sets|types|leaks|blocks"

/* Zeroed: all tables, names by default. Texts are borrowed. */
struct hs_fleet_options {
    const char *host;    /* NULL: the name of this machine */
    const char *service; /* NULL: the name of the program that was dumped */
    unsigned tables;     /* bit set of enum hs_fleet_table; 0: all */
    bool no_addresses;   /* columns of addresses are 0, and those in names are cut out */
};

struct hs_fleet_report {
    uint64_t n_bytes; /* of the files written */
    unsigned n_files;
};

/* Writes the name of the service that a snapshot is of into `text`: that of the options, which may
 * be NULL, or the program's, without directories, cut at 60 bytes. */
void hs_fleet_service(const struct hs_view *view, const struct hs_fleet_options *options,
                      char *text, size_t n_bytes);

/* Writes the tables below `directory`, which is there; what is missing below it is made. `options`
 * and `ret` may be NULL. HS_USAGE for a name that is empty or too long, HS_FORMAT, HS_IO, HS_LIMIT:
 * then nothing that was there has changed. Cost: `keys`, `leaks` and `types` are passes over the
 * blocks, `blocks` reads the index from front to end. */
hs_status hs_fleet_write(struct hs_view *view, const char *directory,
                         const struct hs_fleet_options *options, struct hs_fleet_report *ret,
                         struct hs_error *err);

#endif
