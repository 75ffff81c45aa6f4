#include "growth.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/series.h"
#include "base/alloc.h"
#include "compare/verdict.h"
#include "names.h"

enum { MOST_TABLES = 48, KEYS_NAME_BYTES = HS_WATCH_NAME_BYTES + 8 };

struct kept {
    char name[KEYS_NAME_BYTES];
    uint64_t number;
};

struct growth {
    int dir_fd;
    uint64_t first_number;
    struct kept *files; /* owned: by number */
    size_t n, capacity;
    struct hs_snap_keys tables[MOST_TABLES];
    const struct hs_snap_keys *borrowed[MOST_TABLES];
    char names[MOST_TABLES][KEYS_NAME_BYTES];
    size_t n_tables;
};

static bool is_ours(int dir_fd, const char *name)
{
    struct stat about;
    return fstatat(dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode) &&
           about.st_uid == geteuid();
}

/* heap-....snap.keys, to the letter. */
static bool parse_name(const char *name, uint64_t *ret_number)
{
    char snap[KEYS_NAME_BYTES];
    size_t n = strlen(name), n_end = strlen(HS_KEY_FILE_END);
    if (n <= n_end || n >= sizeof snap || strcmp(name + n - n_end, HS_KEY_FILE_END) != 0)
        return false;
    memcpy(snap, name, n - n_end);
    snap[n - n_end] = '\0';
    return hs_watch_name_parse(snap, ret_number);
}

static hs_status add_file(struct growth *growth, const char *name, struct hs_error *err)
{
    uint64_t number;
    if (!parse_name(name, &number) || number < growth->first_number ||
        !is_ours(growth->dir_fd, name))
        return HS_OK;
    HS_TRY(HS_GROW(&growth->files, &growth->capacity, growth->n + 1, err));
    struct kept *file = &growth->files[growth->n++];
    file->number = number;
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    return HS_OK;
}

static int by_number(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return strcmp(a->name, b->name);
}

static hs_status list_files(struct growth *growth, struct hs_error *err)
{
    int fd = openat(growth->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        hs_status status = hs_fail_errno(err, HS_IO, "cannot list the directory of the snapshots");
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    hs_status status = HS_OK;
    for (struct dirent *entry; status == HS_OK && (entry = readdir(dir)) != NULL;)
        status = add_file(growth, entry->d_name, err);
    (void)closedir(dir);
    if (growth->n > 1)
        qsort(growth->files, growth->n, sizeof *growth->files, by_number);
    return status;
}

/* The newest ones that can be read. */
static void read_tables(struct growth *growth)
{
    size_t first = growth->n > MOST_TABLES ? growth->n - MOST_TABLES : 0;
    for (size_t i = first; i < growth->n; i++) {
        struct hs_error ignored = HS_ERROR_INIT;
        char path[KEYS_NAME_BYTES + 40];
        struct hs_snap_keys *table = &growth->tables[growth->n_tables];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", growth->dir_fd,
                       growth->files[i].name);
        if (hs_key_file_read(path, table, &ignored) != HS_OK)
            continue;
        (void)snprintf(growth->names[growth->n_tables], KEYS_NAME_BYTES, "%s",
                       growth->files[i].name);
        growth->borrowed[growth->n_tables++] = table;
    }
}

static void tell(const struct hs_series *series, const char *event, const char *since,
                 struct hs_watch_log *log)
{
    struct hs_watch_line line;
    char text[HS_VERDICT_BYTES], key[HS_KEY_TEXT_BYTES];
    hs_watch_line_begin(&line, (int64_t)time(NULL), event);
    hs_watch_line_text(&line, "since", since);
    hs_watch_line_u64(&line, "snapshots", series->n);
    hs_watch_line_text(&line, "growth", hs_growth_name(series->growth));
    if (series->n_found != 0) {
        const struct hs_series_row *row = &series->rows[series->found[0]];
        hs_series_text(series, series->found[0], key, sizeof key);
        key[128] = '\0'; /* a line has room for the sentence, too */
        hs_watch_line_text(&line, "key", key);
        hs_watch_line_u64(&line, "grew_bytes",
                          (uint64_t)fmax(row->growth_words, 0) * series->word_bytes);
    }
    hs_verdict_text(series, /* are_same= */ false, text, sizeof text);
    hs_watch_line_text(&line, "verdict", text);
    hs_watch_log_put(log, &line);
}

static hs_status compare(const struct growth *growth, size_t first, const char *event,
                         struct hs_watch_log *log, struct hs_error *err)
{
    struct hs_series series;
    HS_TRY(hs_series_find(growth->borrowed + first, growth->n_tables - first, NULL, &series, err));
    tell(&series, event, growth->names[first], log);
    hs_series_fini(&series);
    return HS_OK;
}

static hs_status look(struct growth *growth, struct hs_watch_log *log, struct hs_error *err)
{
    HS_TRY(list_files(growth, err));
    read_tables(growth);
    if (growth->n_tables < 2)
        return HS_OK;
    HS_TRY(compare(growth, growth->n_tables - 2, "diff", log, err));
    return growth->n_tables == 2 ? HS_OK : compare(growth, 0, "growth", log, err);
}

hs_status hs_watch_growth_tell(int dir_fd, uint64_t first_number, struct hs_watch_log *log,
                               struct hs_error *err)
{
    struct growth *growth;
    HS_TRY(HS_ALLOC(&growth, 1, err));
    growth->dir_fd = dir_fd;
    growth->first_number = first_number;
    hs_status status = look(growth, log, err);
    for (size_t i = 0; i < growth->n_tables; i++)
        hs_snap_keys_fini(&growth->tables[i]);
    hs_free(growth->files);
    hs_free(growth);
    return status;
}
