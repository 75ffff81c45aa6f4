/* links: hs_import hs_format */
#include "import_bytes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    perror(what);
    abort();
}

static int file_of(const void *bytes, size_t n_bytes)
{
    int fd = memfd_create("import", MFD_CLOEXEC);
    must(fd >= 0, "memfd_create");
    must(n_bytes == 0 || write(fd, bytes, n_bytes) == (ssize_t)n_bytes, "write");
    return fd;
}

static hs_status buffer_of(int fd, struct hs_buffer *ret, struct hs_error *err)
{
    struct stat about;
    must(fstat(fd, &about) == 0, "fstat");
    ret->n_bytes = 0;
    hs_status status = hs_buffer_reserve(ret, (size_t)about.st_size, err);
    if (status != HS_OK)
        return status;
    must(pread(fd, ret->bytes, (size_t)about.st_size, 0) == about.st_size, "pread");
    ret->n_bytes = (size_t)about.st_size;
    return HS_OK;
}

hs_status hs_import_path(const char *path, enum hs_import_from from,
                         const struct hs_import_policy *policy, uint64_t limit_bytes,
                         struct hs_buffer *ret, struct hs_error *err)
{
    struct hs_budget budget;
    hs_budget_init(limit_bytes, NULL, 1, &budget);
    const struct hs_import_options options = {
        .from = from,
        .path = path,
        .policy = *policy,
        .tool_version = "test",
        .budget = &budget,
    };
    struct hs_import_report report;
    struct hs_out out = {.fd = -1};
    int fd = file_of("", 0);
    uint64_t used = budget.used_bytes;
    hs_status status = hs_out_open_fd(fd, "the test", &out, err);
    if (status == HS_OK)
        status = hs_import(&options, &out, &report, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    if (status == HS_OK)
        status = buffer_of(fd, ret, err);
    hs_out_close(&out);
    (void)close(fd);
    must(budget.used_bytes == used, "the budget is not given back");
    return status;
}

/* A directory with the two tables, by their descriptors. */
static void directory_make(char *path, const uint8_t *bytes, size_t n_bytes)
{
    static const char *const names[2] = {"nodes.tsv", "edges.tsv"};
    char name[512];
    const uint8_t *cut = n_bytes == 0 ? NULL : memchr(bytes, 1, n_bytes);
    size_t n_first = cut == NULL ? n_bytes : (size_t)(cut - bytes);
    const uint8_t *parts[2] = {bytes, bytes + n_first + (cut != NULL)};
    size_t sizes[2] = {n_first, n_bytes - n_first - (cut != NULL)};
    must(mkdtemp(path) != NULL, "mkdtemp");
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name, "%s/%s", path, names[i]);
        FILE *file = fopen(name, "wb");
        must(file != NULL, name);
        must(fwrite(parts[i], 1, sizes[i], file) == sizes[i] && fclose(file) == 0, name);
    }
}

static void directory_remove(const char *path)
{
    char name[512];
    (void)snprintf(name, sizeof name, "%s/nodes.tsv", path);
    (void)unlink(name);
    (void)snprintf(name, sizeof name, "%s/edges.tsv", path);
    (void)unlink(name);
    (void)rmdir(path);
}

hs_status hs_import_bytes(const void *bytes, size_t n_bytes, enum hs_import_from from,
                          const struct hs_import_policy *policy, uint64_t limit_bytes,
                          struct hs_buffer *ret, struct hs_error *err)
{
    char path[256];
    const char *where = getenv("TMPDIR");
    if (from == HS_IMPORT_GRAPH) {
        (void)snprintf(path, sizeof path, "%.200s/import-XXXXXX", where != NULL ? where : "/tmp");
        directory_make(path, bytes, n_bytes);
        hs_status status = hs_import_path(path, from, policy, limit_bytes, ret, err);
        directory_remove(path);
        return status;
    }
    int fd = file_of(bytes, n_bytes);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    hs_status status = hs_import_path(path, from, policy, limit_bytes, ret, err);
    (void)close(fd);
    return status;
}

static void hold_sound(const struct hs_buffer *snapshot)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    bool is_sound =
        hs_snap_open_bytes(snapshot->bytes, snapshot->n_bytes, 0, &snap, &err) == HS_OK &&
        hs_snap_check(snap, NULL, &err) == HS_OK;
    if (!is_sound) {
        (void)fprintf(stderr, "not sound: %s\n", err.message);
        abort();
    }
    hs_snap_close(snap);
}

void hs_import_hold(const void *bytes, size_t n_bytes, enum hs_import_from from)
{
    enum { LIMIT_BYTES = 96 << 20 };
    struct hs_buffer snapshot = {0};
    for (unsigned preset = 0; preset < HS_N_POLICIES; preset++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_import_policy policy;
        if (hs_import_policy_init(from, (enum hs_import_preset)preset, &policy, &err) != HS_OK)
            continue;
        hs_status status =
            hs_import_bytes(bytes, n_bytes, from, &policy, LIMIT_BYTES, &snapshot, &err);
        if (status == HS_OK)
            hold_sound(&snapshot);
        else if (status != HS_FORMAT && status != HS_LIMIT) {
            (void)fprintf(stderr, "status %d: %s\n", (int)status, err.message);
            abort();
        }
    }
    hs_buffer_fini(&snapshot);
}

void hs_import_kept(const char *path, struct hs_buffer *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0, path);
    must(buffer_of(fd, ret, &err) == HS_OK, path);
    (void)close(fd);
}

size_t hs_import_hold_cuts(const struct hs_buffer *bytes, enum hs_import_from from)
{
    enum { LIMIT_BYTES = 96 << 20 };
    struct hs_buffer snapshot = {0};
    struct hs_import_policy policy;
    struct hs_error err = HS_ERROR_INIT;
    size_t n_taken = 0;
    must(hs_import_policy_init(from, hs_import_default(from), &policy, &err) == HS_OK, "policy");
    for (size_t n = 0; n <= bytes->n_bytes; n++) {
        hs_status status =
            hs_import_bytes(bytes->bytes, n, from, &policy, LIMIT_BYTES, &snapshot, &err);
        must(status == HS_OK || status == HS_FORMAT, err.message);
        if (status == HS_OK)
            hold_sound(&snapshot);
        n_taken += status == HS_OK;
    }
    hs_buffer_fini(&snapshot);
    return n_taken;
}

void hs_import_hold_failures(const struct hs_buffer *bytes, enum hs_import_from from,
                             const struct hs_import_policy *policy)
{
    enum { LIMIT_BYTES = 96 << 20 };
    struct hs_buffer snapshot = {0};
    uint64_t nth = 0;
    hs_status status;
    bool has_failed;
    do {
        struct hs_error err = HS_ERROR_INIT;
        uint64_t before = hs_alloc_count();
        hs_alloc_fail_at(++nth, false);
        status = hs_import_bytes(bytes->bytes, bytes->n_bytes, from, policy, LIMIT_BYTES, &snapshot,
                                 &err);
        hs_alloc_fail_at(0, false);
        must(status == HS_OK || status == HS_LIMIT, err.message);
        has_failed = hs_alloc_count() - before >= nth; /* how much there is may be asked in vain */
    } while (has_failed && nth < 100000);
    must(status == HS_OK && nth > 10, "allocations");
    hs_buffer_fini(&snapshot);
}
