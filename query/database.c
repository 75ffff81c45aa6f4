/* The virtual tables written out: one statement a table. */
#include "query/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/spill.h"
#include "connection.h"
#include "kept.h"

enum { COPY_BYTES = 1 << 20, PATH_BYTES = 4096 };

/* The ways that need most memory come first: too little is told before much is written. */
static const char *const statements[] = {
    "PRAGMA page_size = 16384; PRAGMA journal_mode = memory; PRAGMA synchronous = off;"
    "PRAGMA locking_mode = exclusive; BEGIN",
    "CREATE TABLE keys AS SELECT * FROM s1.keys",
    "CREATE TABLE snapshots AS SELECT * FROM s1.snapshots",
    "CREATE TABLE roots AS SELECT * FROM s1.roots",
    "CREATE TABLE sets AS SELECT * FROM s1.sets",
    "CREATE TABLE types AS SELECT * FROM s1.types",
    "CREATE TABLE samples AS SELECT * FROM s1.samples",
    "CREATE TABLE sites AS SELECT * FROM s1.sites",
    "CREATE TABLE leaks AS SELECT * FROM s1.leaks",
    "CREATE TABLE type_names(id INTEGER PRIMARY KEY, type TEXT);"
    "INSERT INTO type_names WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
    " LIMIT (SELECT types FROM s1.snapshots)) SELECT i, type_name(i) FROM n",
    "CREATE TABLE block_data(id INTEGER PRIMARY KEY, address, words, static, young, type_id, idom,"
    " retained_words, retained_objects, static_retained_words, root_id, tier, reached);"
    "INSERT INTO block_data SELECT id, address, words, static, young, type_id, idom,"
    " retained_words, retained_objects, static_retained_words, root_id, tier, reached"
    " FROM s1.blocks",
    "CREATE TABLE edge_data(src, dst, offset, class);"
    "INSERT INTO edge_data SELECT src, dst, offset, class FROM s1.edges",
    "CREATE UNIQUE INDEX roots_id ON roots(id); CREATE UNIQUE INDEX keys_id ON keys(id);"
    "CREATE INDEX edges_src ON edge_data(src); CREATE INDEX edges_dst ON edge_data(dst);"
    "CREATE INDEX blocks_idom ON block_data(idom); CREATE INDEX blocks_type ON block_data(type_id);"
    "CREATE VIEW blocks AS SELECT b.id, address, words, static, young, type, type_id, idom,"
    " retained_words, retained_objects, static_retained_words, root_id, tier, reached"
    " FROM block_data b LEFT JOIN type_names t ON t.id = type_id;"
    "CREATE VIEW edges AS SELECT * FROM edge_data; COMMIT",
};

/* Reports a failure; the system's answer to a write is forgotten by SQLite when it has rolled back.
 */
static hs_status fail(const struct hs_sql *sql, int code, struct hs_error *err)
{
    int kind = code & 0xff;
    struct rlimit limit;
    if (kind != SQLITE_IOERR && kind != SQLITE_FULL)
        return hs_sql_fail(sql, code, err);
    bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    errno = kind == SQLITE_FULL ? ENOSPC : is_limited ? EFBIG : EIO;
    return hs_fail_errno(err, HS_IO, "cannot write a temporary file in '%s'",
                         hs_spill_directory(sql->hub->session.budget));
}

static hs_status write_tables(struct hs_sql *sql, struct hs_error *err)
{
    struct hs_sql_source *source = sql->hub->sources[0];
    sql->hub->is_setting_up = true;
    sql->hub->is_clean = true;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        hs_sql_hub_begin(sql->hub, 0);
        int code = sqlite3_exec(sql->db, statements[i], NULL, NULL, NULL);
        if (code != SQLITE_OK)
            return fail(sql, code, err);
        hs_sql_kept_free(source->kept); /* a table at a time */
        source->kept = NULL;
        HS_TRY(hs_sql_kept_new(&source->kept, err));
    }
    return hs_sql_hub_check(sql->hub, HS_OK, err);
}

static hs_status copy_out(int fd, struct hs_out *out, struct hs_error *err)
{
    hs_auto_free uint8_t *bytes = NULL;
    HS_TRY(HS_ALLOC(&bytes, COPY_BYTES, err));
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, bytes, COPY_BYTES, at);
        if (n < 0)
            return hs_fail_errno(err, HS_IO, "cannot read the database again");
        if (n == 0)
            return HS_OK;
        HS_TRY(hs_out_write(out, bytes, (size_t)n, err));
        at += n;
    }
}

static hs_status write_at(struct hs_view *view, const char *path, struct hs_error *err)
{
    const struct hs_sql_limits limits = {0};
    const struct hs_sql_place place = {.path = path,
                                       .least_bytes = 6 << 20,
                                       .most_bytes = 20 << 20,
                                       .part_of_memory = 4,
                                       .cache_percent = 25};
    struct hs_sql *sql = NULL;
    HS_TRY(hs_sql_open_at(&view->session, &place, &limits, &sql, err));
    (void)unlink(path); /* SQLite has it open */
    hs_status status = hs_sql_hub_lend(sql->hub, view, "s1", err);
    if (status == HS_OK)
        status = write_tables(sql, err);
    hs_sql_close(sql);
    return status;
}

hs_status hs_sql_write_database(struct hs_view *view, struct hs_out *out, struct hs_error *err)
{
    char path[PATH_BYTES];
    const char *directory = hs_spill_directory(view->session.budget);
    if (snprintf(path, sizeof path, "%s/heapsnap.XXXXXX", directory) >= (int)sizeof path)
        return hs_fail(err, HS_USAGE, "the path '%.80s...' is too long", directory);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot make a temporary file in '%s'", directory);
    hs_status status = write_at(view, path, err);
    (void)unlink(path); /* where it was not opened */
    if (status == HS_OK)
        status = copy_out(fd, out, err);
    (void)close(fd);
    return status;
}
