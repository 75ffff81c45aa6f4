#include "switch.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "dump_run.h"
#include "symbols/elf.h"
#include "target/procfs.h"
#include <heapsnap/recorded.h>

enum { MAX_FILES = 1024 };

/* A line of maps that maps the beginning of a file; false for any other. */
static bool file_begins(const char *line, size_t n_line, hs_addr *ret_begin, char *path)
{
    unsigned long begin, offset;
    int at = 0;
    if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %n", &begin, &offset, &at) != 2 || at == 0 ||
        (size_t)at >= n_line || line[at] != '/' || offset != 0 || n_line - (size_t)at >= PATH_MAX)
        return false;
    memcpy(path, line + at, n_line - (size_t)at);
    path[n_line - (size_t)at] = '\0';
    *ret_begin = begin;
    return true;
}

/* Finds the anchor in the file mapped at `begin`, if it has one. */
static bool anchor_in(pid_t pid, const char *path, hs_addr begin, hs_addr *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    char inside[PATH_MAX + 32];
    uint64_t bias;
    (void)snprintf(inside, sizeof inside, "/proc/%d/root%s", pid, path);
    if (hs_elf_open_path(inside, &elf, &ignored) != HS_OK)
        return false;
    const struct hs_elf_symbol *symbol = hs_elf_find(elf, HS_RECORD_ANCHOR_NAME);
    if (symbol == NULL || !hs_elf_bias(elf, begin, 0, &bias))
        return false;
    *ret = symbol->vaddr + bias;
    return true;
}

static hs_status find_anchor(pid_t pid, hs_addr *ret, struct hs_error *err)
{
    hs_auto_free char *maps = NULL;
    char path[PATH_MAX];
    size_t n_bytes;
    hs_addr begin;
    unsigned n_files = 0;
    HS_TRY(hs_proc_read_of(pid, "maps", &maps, &n_bytes, err));
    for (const char *line = maps; *line != '\0' && n_files < MAX_FILES;) {
        size_t n = strcspn(line, "\n");
        if (file_begins(line, n, &begin, path)) {
            n_files++;
            if (anchor_in(pid, path, begin, ret))
                return HS_OK;
        }
        line += n + (line[n] == '\n');
    }
    (void)hs_fail(err, HS_TARGET, "the recorder's library is not loaded into it");
    return hs_hint(err, "heapsnap record --start off -- PROGRAM starts one that can be switched");
}

/* The last number of its line is the process's own view of itself. */
static uint64_t own_pid(pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *status = NULL;
    size_t n_bytes;
    if (hs_proc_read_of(pid, "status", &status, &n_bytes, &ignored) != HS_OK)
        return (uint64_t)pid;
    const char *line = strstr(status, "\nNSpid:");
    if (line == NULL)
        return (uint64_t)pid;
    line += 7;
    const char *end = line + strcspn(line, "\n");
    while (end > line && end[-1] != '\t')
        end--;
    return strtoull(end, NULL, 10);
}

static hs_status check_anchor(pid_t pid, hs_addr at, struct hs_error *err)
{
    struct hs_record_anchor anchor;
    struct iovec here = {&anchor, sizeof anchor};
    struct iovec there = {(void *)(uintptr_t)at, sizeof anchor};
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof anchor) {
        (void)hs_fail_errno(err, HS_TARGET, "its memory cannot be read");
        return hs_hint(err, "'heapsnap doctor %d' tells why", pid);
    }
    if (anchor.magic != HS_RECORD_MAGIC)
        return hs_fail(err, HS_TARGET, "it does not record, and cannot any more");
    if (anchor.version != HS_RECORD_VERSION)
        return hs_fail(err, HS_TARGET, "its recorder is of another version");
    if (anchor.pid != own_pid(pid))
        return hs_fail(err, HS_TARGET, "it was forked by a recorded process and does not record");
    return HS_OK;
}

static hs_status write_switch(pid_t pid, hs_addr at, bool is_on, struct hs_error *err)
{
    uint32_t word = is_on;
    hs_addr place = at + offsetof(struct hs_record_anchor, is_enabled);
    struct iovec here = {&word, sizeof word};
    struct iovec there = {(void *)(uintptr_t)place, sizeof word};
    if (process_vm_writev(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof word)
        return hs_fail_errno(err, HS_TARGET, "its memory cannot be written");
    return HS_OK;
}

hs_status hs_record_switch(const struct hs_invocation *inv, struct hs_error *err)
{
    hs_addr at;
    pid_t pid;
    if (inv->n_rest != 1)
        return hs_fail(err, HS_USAGE, "--switch takes one process id");
    HS_TRY(hs_pid_parse(inv->rest[0], &pid, err));
    hs_status status = find_anchor(pid, &at, err);
    if (status == HS_OK)
        status = check_anchor(pid, at, err);
    if (status == HS_OK)
        status = write_switch(pid, at, inv->number[HS_OPT_SWITCH] == 0, err);
    return status == HS_OK ? HS_OK : hs_context(err, "cannot switch process '%d'", pid);
}
