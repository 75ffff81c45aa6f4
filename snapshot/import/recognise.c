/* Recognises the kind of a file by its first bytes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"

enum { HEAD_BYTES = 4096 };

static bool begins(const char *head, size_t n, const char *text)
{
    size_t length = strlen(text);
    return n >= length && memcmp(head, text, length) == 0;
}

/* An object of JSON whose first member is "snapshot", as V8 writes it; others may stand before. */
static bool is_v8(const char *head, size_t n)
{
    size_t at = strspn(head, " \t\r\n");
    return at < n && head[at] == '{' && memmem(head, n, "\"snapshot\"", 10) != NULL;
}

static hs_status recognise(const char *path, const char *head, size_t n, enum hs_import_from *ret,
                           struct hs_error *err)
{
    static const char hint[] = "say what it is: --from v8, hprof or graph";
    if (begins(head, n, "JAVA PROFILE 1.0"))
        *ret = HS_IMPORT_HPROF;
    else if (is_v8(head, n))
        *ret = HS_IMPORT_V8;
    else {
        (void)hs_fail(err, HS_FORMAT, "cannot tell what '%s' is", path);
        if (n == 0)
            return hs_hint(err, "it is empty");
        if (begins(head, n, "\x1f\x8b") || begins(head, n, "\x28\xb5\x2f\xfd"))
            return hs_hint(err, "it is compressed: unpack it first");
        if (begins(head, n, "id\taddress\t"))
            return hs_hint(err, "give the directory that it and edges.tsv stand in");
        return hs_hint(err, "%s", hint);
    }
    return HS_OK;
}

hs_status hs_import_recognise(const char *path, enum hs_import_from *ret, struct hs_error *err)
{
    char head[HEAD_BYTES + 1];
    struct stat found;
    if (strcmp(path, "-") == 0) {
        (void)hs_fail(err, HS_USAGE, "cannot look into standard input beforehand");
        return hs_hint(err, "say what it is: --from v8, hprof or graph");
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
    if (fd < 0 || fstat(fd, &found) != 0) {
        hs_status status = hs_fail_errno(err, HS_IO, "cannot open '%s'", path);
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    ssize_t n = S_ISREG(found.st_mode) ? pread(fd, head, HEAD_BYTES, 0) : 0;
    hs_status status = HS_OK;
    if (n < 0)
        status = hs_fail_errno(err, HS_IO, "cannot read '%s'", path);
    (void)close(fd);
    if (status != HS_OK)
        return status;
    if (S_ISDIR(found.st_mode)) {
        *ret = HS_IMPORT_GRAPH;
        return HS_OK;
    }
    if (!S_ISREG(found.st_mode)) {
        (void)hs_fail(err, HS_USAGE, "cannot look into '%s' beforehand: it is no plain file", path);
        return hs_hint(err, "say what it is: --from v8, hprof or graph");
    }
    head[n] = '\0';
    return recognise(path, head, (size_t)n, ret, err);
}
