/* A file system for SQLite, of temporary files alone. */
#include "sqlite_spill.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 64,
    SECTOR_BYTES = 4096,
    PAGE_BYTES = 16384,
    SORTER_LEAST = 250 * PAGE_BYTES,
    MEMORY_LEAST = 6 << 20,
    MEMORY_MOST = 20 << 20,
};

struct file {
    sqlite3_file base;
    struct hs_sqlite_spill *owner;
    struct hs_spill spill; /* only its descriptor is used */
};

static int file_fail(struct file *file, int result, const char *what)
{
    struct hs_error *err = &file->owner->error;
    if (err->status == HS_OK)
        (void)hs_fail_errno(err, HS_IO, "cannot %s a temporary file in '%s'", what,
                            file->spill.directory);
    return result;
}

static int file_close(sqlite3_file *base)
{
    struct file *file = (struct file *)base;
    if (file->owner->fd == file->spill.fd)
        file->owner->fd = -1;
    hs_spill_close(&file->spill);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
    struct file *file = (struct file *)base;
    size_t done = 0, wanted = (size_t)n;
    while (done < wanted) {
        ssize_t got = pread(file->spill.fd, (char *)to + done, wanted - done, at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_fail(file, SQLITE_IOERR_READ, "read");
        if (got == 0) {
            memset((char *)to + done, 0, wanted - done);
            return SQLITE_IOERR_SHORT_READ;
        }
        done += (size_t)got;
    }
    return SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
    struct file *file = (struct file *)base;
    size_t done = 0, wanted = (size_t)n;
    while (done < wanted) {
        ssize_t put =
            pwrite(file->spill.fd, (const char *)from + done, wanted - done, at + (off_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return file_fail(file, errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE, "write");
        done += (size_t)put;
        hs_spill_stored(&file->spill, (uint64_t)at + done);
    }
    return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct file *file = (struct file *)base;
    return ftruncate(file->spill.fd, size) == 0 ? SQLITE_OK
                                                : file_fail(file, SQLITE_IOERR_TRUNCATE, "cut");
}

static int file_size(sqlite3_file *base, sqlite3_int64 *ret)
{
    struct file *file = (struct file *)base;
    struct stat st;
    if (fstat(file->spill.fd, &st) != 0)
        return file_fail(file, SQLITE_IOERR_FSTAT, "ask for");
    *ret = st.st_size;
    return SQLITE_OK;
}

static int file_number(sqlite3_file *base, int number)
{
    (void)base, (void)number;
    return SQLITE_OK;
}

static int file_no_lock(sqlite3_file *base, int *ret)
{
    (void)base;
    *ret = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int what, void *argument)
{
    (void)base, (void)what, (void)argument;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
    (void)base;
    return SECTOR_BYTES;
}

static int file_traits(sqlite3_file *base)
{
    (void)base;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_number,
    .xFileSize = file_size,
    .xLock = file_number,
    .xUnlock = file_number,
    .xCheckReservedLock = file_no_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

/* The database has a name, the files for sorting have none. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *ret)
{
    struct hs_sqlite_spill *owner = vfs->pAppData;
    struct file *file = (struct file *)base;
    *file = (struct file){.owner = owner};
    if (hs_spill_open(owner->budget, "the database", &file->spill, &owner->error) != HS_OK)
        return SQLITE_CANTOPEN;
    if (name != NULL)
        owner->fd = file->spill.fd;
    file->base.pMethods = &methods;
    if (ret != NULL)
        *ret = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs, (void)name, (void)sync;
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    (void)vfs, (void)name, (void)flags;
    *ret = 0;
    return SQLITE_OK;
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int n, char *to)
{
    (void)vfs;
    (void)sqlite3_snprintf(n, to, "%s", name);
    return SQLITE_OK;
}

/* What is written must not depend on chance. */
static int vfs_randomness(sqlite3_vfs *vfs, int n, char *to)
{
    (void)vfs;
    memset(to, 0, (size_t)n);
    return n;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, double *ret)
{
    (void)vfs;
    *ret = 0;
    return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *vfs, int n, char *to)
{
    (void)vfs, (void)n, (void)to;
    return 0;
}

/* A sorter takes as much as the cache, and no less than SQLITE_SORTER_PMASZ pages, which
 * are 4 MB; a tenth of each is what SQLite needs around them. */
static hs_status set_memory(struct hs_sqlite_spill *spill, struct hs_error *err)
{
    char pragmas[96];
    uint64_t bytes = hs_budget_left_bytes(spill->budget) / 4;
    bytes = bytes < MEMORY_LEAST ? MEMORY_LEAST : bytes > MEMORY_MOST ? MEMORY_MOST : bytes;
    HS_TRY(hs_budget_reserve(spill->budget, bytes, "SQLite", err));
    spill->reserved_bytes = bytes;
    uint64_t sorter_bytes = bytes * 9 / 20;
    uint64_t cache_bytes =
        sorter_bytes < SORTER_LEAST ? bytes * 9 / 10 - SORTER_LEAST : sorter_bytes;
    (void)snprintf(pragmas, sizeof pragmas, "pragma page_size = %d; pragma cache_size = -%u",
                   PAGE_BYTES, (unsigned)(cache_bytes >> 10));
    return hs_sqlite_spill_exec(spill, pragmas, err);
}

hs_status hs_sqlite_spill_open(struct hs_sqlite_spill *spill, struct hs_budget *budget,
                               struct hs_error *err)
{
    *spill = (struct hs_sqlite_spill){.budget = budget, .fd = -1, .error = HS_ERROR_INIT};
    spill->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct file),
        .mxPathname = PATH_BYTES,
        .zName = "heapsnap-spill",
        .pAppData = spill,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
        .xGetLastError = vfs_error,
    };
    int result = sqlite3_vfs_register(&spill->vfs, 0);
    if (result == SQLITE_OK)
        result = sqlite3_open_v2("heap", &spill->db,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                 spill->vfs.zName);
    HS_TRY(hs_sqlite_spill_check(spill, result, err));
    return set_memory(spill, err);
}

void hs_sqlite_spill_close(struct hs_sqlite_spill *spill)
{
    (void)sqlite3_close(spill->db);
    (void)sqlite3_vfs_unregister(&spill->vfs);
    spill->db = NULL;
    hs_budget_release(spill->budget, spill->reserved_bytes);
    spill->reserved_bytes = 0;
}

hs_status hs_sqlite_spill_check(const struct hs_sqlite_spill *spill, int result,
                                struct hs_error *err)
{
    if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE)
        return HS_OK;
    if (spill->error.status != HS_OK) {
        *err = spill->error;
        return err->status;
    }
    if (result == SQLITE_NOMEM)
        return hs_fail(err, HS_LIMIT, "out of memory in SQLite");
    if (result == SQLITE_TOOBIG || result == SQLITE_FULL)
        return hs_fail(err, HS_LIMIT, "too large for a database: %s", sqlite3_errmsg(spill->db));
    return hs_fail(err, HS_BUG, "SQLite: %s", sqlite3_errmsg(spill->db));
}

hs_status hs_sqlite_spill_exec(const struct hs_sqlite_spill *spill, const char *sql,
                               struct hs_error *err)
{
    return hs_sqlite_spill_check(spill, sqlite3_exec(spill->db, sql, NULL, NULL, NULL), err);
}
