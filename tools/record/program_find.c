#include "program_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/processor.h"
#include "symbols/elf.h"

enum { MAX_INTERPRETERS = 4, HEAD_BYTES = 256 };
#define LIBRARY_NAME "libheapsnap-record.so"
#define NO_LIBRARY "the recorder's library cannot be loaded into it"

/* ---- where it is ---- */

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static hs_status find_in_path(const char *name, char *path, struct hs_error *err)
{
    const char *at = getenv("PATH");
    for (at = at != NULL ? at : "/usr/bin:/bin"; *at != '\0';) {
        size_t n = strcspn(at, ":");
        int used = n == 0 ? snprintf(path, PATH_MAX, "./%s", name)
                          : snprintf(path, PATH_MAX, "%.*s/%s", (int)n, at, name);
        if (used > 0 && used < PATH_MAX && is_program(path))
            return HS_OK;
        at += n + (at[n] == ':');
    }
    (void)hs_fail(err, HS_USAGE, "cannot record '%s': no such program", name);
    return hs_hint(err, "it was looked for in PATH; write ./NAME for one in this directory");
}

static hs_status find(const char *name, char *path, struct hs_error *err)
{
    struct stat about;
    if (strchr(name, '/') == NULL)
        return find_in_path(name, path, err);
    if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
        return hs_fail(err, HS_USAGE, "cannot record '%.80s...': its name is too long", name);
    if (stat(path, &about) != 0)
        return hs_fail_errno(err, errno == ENOENT ? HS_USAGE : HS_TARGET, "cannot record '%s'",
                             path);
    if (S_ISDIR(about.st_mode))
        return hs_fail(err, HS_TARGET, "cannot record '%s': it is a directory", path);
    if (!is_program(path))
        return hs_fail(err, HS_TARGET, "cannot record '%s': it is not executable", path);
    return HS_OK;
}

/* ---- what it is ---- */

/* The loader ignores what is preloaded when a program gains privileges by being run. */
static hs_status check_privileges(const char *path, int fd, struct hs_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return hs_fail_errno(err, HS_TARGET, "cannot record '%s'", path);
    bool is_setuid = (about.st_mode & S_ISUID) != 0;
    bool is_setgid = (about.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    bool has_capabilities = fgetxattr(fd, "security.capability", NULL, 0) > 0;
    if (!is_setuid && !is_setgid && !has_capabilities)
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "cannot record '%s': it is %s, so that " NO_LIBRARY, path,
                  is_setuid   ? "setuid"
                  : is_setgid ? "setgid"
                              : "given capabilities by its file");
    return hs_hint(err, "record a copy of it without them: cp '%.180s' .", path);
}

static hs_status check_machine(const char *path, int fd, struct hs_error *err)
{
    struct hs_elf_identity identity;
    if (!hs_elf_identify_fd(fd, &identity))
        return hs_fail(err, HS_TARGET, "cannot record '%s': it is neither a program nor a script",
                       path);
    if (identity.address_bits != 64)
        return hs_fail(err, HS_TARGET, "cannot record '%s': it is a %u-bit program", path,
                       identity.address_bits);
    if (!identity.is_our_machine)
        return hs_fail(err, HS_TARGET, "cannot record '%s': it is not of " HS_ARCH_NAME, path);
    return HS_OK;
}

static hs_status check_dynamic(const char *path, int fd, struct hs_error *err)
{
    hs_auto(hs_elf) *elf = NULL;
    hs_status status = hs_elf_open_sections(fd, path, &elf, err);
    if (status == HS_FORMAT)
        err->status = status = HS_TARGET;
    if (status != HS_OK)
        return hs_context(err, "cannot record");
    if (hs_elf_has_interpreter(elf))
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "cannot record '%s': it is static, so that " NO_LIBRARY, path);
    return hs_hint(err, "link it with the static library: pkg-config --static --libs "
                        "heapsnap-record");
}

/* Reads the interpreter of "#! interpreter argument"; false when the file does not begin so. */
static bool script_interpreter(int fd, char *path)
{
    char head[HEAD_BYTES];
    ssize_t n = pread(fd, head, sizeof head - 1, 0);
    if (n < 3 || memcmp(head, "#!", 2) != 0)
        return false;
    head[n] = '\0';
    char *name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\r\n")] = '\0';
    (void)snprintf(path, PATH_MAX, "%s", name);
    return path[0] != '\0';
}

/* "#!/usr/bin/env python3" is judged as env: what it runs goes on being recorded. */
static hs_status check(const char *program, struct hs_error *err)
{
    char path[PATH_MAX], next[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s", program);
    for (int i = 0; i < MAX_INTERPRETERS; i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
            return hs_fail_errno(err, HS_TARGET, "cannot record '%s': cannot read it", path);
        bool is_script = script_interpreter(fd, next);
        hs_status status = HS_OK;
        if (!is_script) {
            status = check_machine(path, fd, err);
            if (status == HS_OK)
                status = check_dynamic(path, fd, err);
            if (status == HS_OK)
                status = check_privileges(path, fd, err);
        }
        (void)close(fd); /* was only read */
        if (!is_script)
            return status;
        (void)snprintf(path, sizeof path, "%s", next);
    }
    return hs_fail(err, HS_TARGET, "cannot record '%s': its interpreter is a script", program);
}

hs_status hs_program_find(const char *name, char *path, struct hs_error *err)
{
    HS_TRY(find(name, path, err));
    return check(path, err);
}

bool hs_program_is_ocaml(const char *path)
{
    hs_auto(hs_elf) *elf = NULL;
    struct hs_error ignored = HS_ERROR_INIT;
    return hs_elf_open_path(path, &elf, &ignored) == HS_OK &&
           hs_elf_find(elf, "caml_memprof_start") != NULL &&
           hs_elf_find(elf, "caml_globals") != NULL;
}

/* ---- the library ---- */

hs_status hs_program_library(char *path, struct hs_error *err)
{
    static const char *const places[] = {
        "",          "../lib/",          "../lib/" HS_ARCH_LIBRARIES "/",
        "../lib64/", "../lib/heapsnap/", "../recorder/",
    };
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0)
        return hs_fail_errno(err, HS_IO, "cannot tell where this program is");
    own[n] = '\0';
    *(strrchr(own, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char found[2 * PATH_MAX];
        (void)snprintf(found, sizeof found, "%s%s" LIBRARY_NAME, own, places[i]);
        /* Blanks and colons part the names in LD_PRELOAD. */
        if (realpath(found, path) != NULL && strpbrk(path, " :") == NULL)
            return HS_OK;
    }
    (void)hs_fail(err, HS_IO, "cannot find " LIBRARY_NAME);
    return hs_hint(err, "it belongs beside heapsnap or into ../lib, by a path without blanks and "
                        "colons");
}
