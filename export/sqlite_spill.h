/* A database of SQLite's in temporary files of ours: without names, on the disk that the budget
 * says, and gone however we end. SQLite seeks and writes as it likes; when it is done the file is
 * read from front to end. */
#ifndef HS_EXPORT_SQLITE_SPILL_H
#define HS_EXPORT_SQLITE_SPILL_H

#include <sqlite3.h>

#include "base/spill.h"

struct hs_sqlite_spill {
    sqlite3_vfs vfs;
    struct hs_budget *budget; /* borrowed */
    sqlite3 *db;
    uint64_t reserved_bytes;
    int fd;                /* of the database; -1: none yet */
    struct hs_error error; /* the first failure of a file */
};

/* Opens an empty database with pages of 16 KiB. What SQLite may take is reserved of the budget: a
 * quarter of what is left, 6 to 20 MiB, for its cache and for the sorter of an index. It must not
 * move in memory until it is closed. HS_IO, HS_LIMIT. */
hs_status hs_sqlite_spill_open(struct hs_sqlite_spill *spill, struct hs_budget *budget,
                               struct hs_error *err);
void hs_sqlite_spill_close(struct hs_sqlite_spill *spill);

/* What a result of SQLite's is to us, HS_OK of SQLITE_OK, SQLITE_ROW and SQLITE_DONE: HS_LIMIT
 * without memory, HS_IO for a file, else HS_BUG, with SQLite's words. */
hs_status hs_sqlite_spill_check(const struct hs_sqlite_spill *spill, int result,
                                struct hs_error *err);
hs_status hs_sqlite_spill_exec(const struct hs_sqlite_spill *spill, const char *sql,
                               struct hs_error *err);

#endif
