#include "record_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/strtab.h"
#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/lines.h"
#include "target/procfs.h"

enum {
    MAX_MODULES = 1024, /* of hostile packets, too */
    MAX_DIRECTORIES = 33,
    MAX_NAMES = 32, /* at one place */
    NAME_BYTES = 8192,
};

struct namer_module {
    hs_str path;
    struct hs_elf *elf, *debug; /* owned; NULL: gives no names */
    struct hs_lines *lines;     /* owned; NULL: no debug information */
};

struct hs_namer {
    struct hs_dwarf_box *box;
    const char *directories[MAX_DIRECTORIES];
    size_t n_directories;
    pid_t pid;
    uint64_t begun_us;
    struct hs_strtab strings; /* of paths and notes */
    struct namer_module *modules;
    size_t n_modules, modules_capacity;
    hs_str *notes;
    size_t n_notes, notes_capacity;
    struct hs_place_name names[MAX_NAMES];
    char texts[MAX_NAMES][HS_PACKET_TEXT_BYTES];
    char file[HS_PACKET_TEXT_BYTES];
    char whole[NAME_BYTES];
};

bool hs_namer_address(const char *function, uint64_t *ret)
{
    const char *at = function + 3, *end = function + strlen(function);
    return strncmp(function, "+0x", 3) == 0 && hs_proc_digits(&at, end, 16, ret) && at == end;
}

hs_status hs_namer_new(const char *const *debug_dirs, size_t n_debug_dirs, struct hs_namer **ret,
                       struct hs_error *err)
{
    hs_auto(hs_namer) *namer = NULL;
    HS_TRY(hs_alloc(1, sizeof *namer, (void **)&namer, err));
    HS_TRY(hs_dwarf_box_new(NULL, &namer->box, err));
    for (size_t i = 0; i < n_debug_dirs && i + 1 < MAX_DIRECTORIES; i++)
        namer->directories[namer->n_directories++] = debug_dirs[i];
    namer->directories[namer->n_directories++] = HS_DEBUG_DIRECTORY;
    *ret = HS_STEAL(namer);
    return HS_OK;
}

void hs_namer_free(struct hs_namer *namer)
{
    if (namer == NULL)
        return;
    for (size_t i = 0; i < namer->n_modules; i++) {
        hs_lines_close(namer->modules[i].lines);
        hs_elf_close(namer->modules[i].debug);
        hs_elf_close(namer->modules[i].elf);
    }
    hs_free(namer->modules);
    hs_free(namer->notes);
    hs_strtab_fini(&namer->strings);
    hs_dwarf_box_free(namer->box);
    hs_free(namer);
}

void hs_namer_process(struct hs_namer *namer, pid_t pid, uint64_t begun_us)
{
    namer->pid = pid;
    namer->begun_us = begun_us;
}

size_t hs_namer_n_notes(const struct hs_namer *namer)
{
    return namer->n_notes + hs_dwarf_box_n_notes(namer->box);
}

const char *hs_namer_note(const struct hs_namer *namer, size_t number)
{
    return number < namer->n_notes ? hs_strtab_get(&namer->strings, namer->notes[number])
                                   : hs_dwarf_box_note(namer->box, number - namer->n_notes);
}

static hs_status add_note(struct hs_namer *namer, const char *path, const char *why,
                          struct hs_error *err)
{
    char text[PATH_MAX + 128];
    hs_str note;
    (void)snprintf(text, sizeof text, "no names of '%s': %s", path, why);
    HS_TRY(hs_strtab_add(&namer->strings, text, &note, err));
    HS_TRY(hs_grow((void **)&namer->notes, &namer->notes_capacity, namer->n_notes + 1, sizeof note,
                   err));
    namer->notes[namer->n_notes++] = note;
    return HS_OK;
}

/* ---- is it the file that the program has loaded? ---- */

/* A line of maps: "begin-end rwxp offset major:minor inode   path". */
static bool mapped_file(const char *line, size_t n_line, const char *path, dev_t *ret_device,
                        uint64_t *ret_inode)
{
    unsigned major, minor;
    unsigned long inode;
    int at = 0;
    if (sscanf(line, "%*s %*s %*s %x:%x %lu %n", &major, &minor, &inode, &at) != 3 || at == 0 ||
        (size_t)at > n_line)
        return false;
    size_t n = n_line - (size_t)at;
    if (n != strlen(path) || memcmp(line + at, path, n) != 0)
        return false;
    *ret_device = makedev(major, minor);
    *ret_inode = inode;
    return true;
}

/* The process says so, as long as it lives; 0 where it does not tell. */
static int process_agrees(const struct hs_namer *namer, const char *path, const struct stat *about)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *maps = NULL;
    size_t n_bytes;
    if (namer->pid == 0 || hs_proc_read_of(namer->pid, "maps", &maps, &n_bytes, &ignored) != HS_OK)
        return 0;
    for (const char *line = maps; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        dev_t device;
        uint64_t inode;
        if (mapped_file(line, n, path, &device, &inode))
            return device == about->st_dev && inode == about->st_ino ? 1 : -1;
        line += n + (line[n] == '\n');
    }
    return 0;
}

/* Else by when the file was last made, moved or written. */
static bool is_same_file(const struct hs_namer *namer, const char *path, const struct stat *about)
{
    int says = process_agrees(namer, path, about);
    uint64_t changed_us =
        (uint64_t)about->st_ctim.tv_sec * 1000000 + (uint64_t)about->st_ctim.tv_nsec / 1000;
    return says != 0 ? says > 0 : namer->begun_us == 0 || changed_us <= namer->begun_us;
}

/* ---- opening ---- */

/* Debug information of its own, or of its debug file; without it symbols are all there is. */
static hs_status open_debug(struct hs_namer *namer, struct namer_module *module, const char *path,
                            struct hs_error *err)
{
    struct hs_error why = HS_ERROR_INIT;
    if (!hs_elf_has_symtab(module->elf) || !hs_dwarf_present(module->elf))
        HS_TRY(hs_debugfile_open(module->elf, path, namer->directories, namer->n_directories,
                                 &module->debug, err));
    struct hs_elf *with_lines =
        module->debug != NULL && hs_dwarf_present(module->debug) ? module->debug : module->elf;
    if (!hs_dwarf_present(with_lines) ||
        hs_lines_open(namer->box, with_lines, path, &module->lines, &why) == HS_OK)
        return HS_OK;
    return why.status == HS_LIMIT ? hs_fail(err, HS_LIMIT, "%s", why.message)
                                  : add_note(namer, path, why.message, err);
}

static hs_status open_elf(struct hs_namer *namer, struct namer_module *module, const char *path,
                          int fd, struct hs_error *err)
{
    struct hs_error why = HS_ERROR_INIT;
    struct stat about;
    if (fd < 0)
        return add_note(namer, path, strerror(errno), err);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return add_note(namer, path, "it is no regular file", err);
    if (!is_same_file(namer, path, &about))
        return add_note(namer, path, "the file was replaced or changed since the program began",
                        err);
    hs_status status = hs_elf_open_fd(fd, path, &module->elf, &why);
    if (status == HS_LIMIT)
        return hs_fail(err, HS_LIMIT, "%s", why.message);
    if (status != HS_OK)
        return add_note(namer, path, why.message, err);
    return open_debug(namer, module, path, err);
}

static hs_status open_module(struct hs_namer *namer, const char *path, struct namer_module **ret,
                             struct hs_error *err)
{
    hs_str id;
    HS_TRY(hs_strtab_add(&namer->strings, path, &id, err));
    for (size_t i = 0; i < namer->n_modules; i++)
        if (namer->modules[i].path == id) {
            *ret = &namer->modules[i];
            return HS_OK;
        }
    *ret = NULL;
    if (namer->n_modules == MAX_MODULES || path[0] != '/')
        return HS_OK;
    HS_TRY(hs_grow((void **)&namer->modules, &namer->modules_capacity, namer->n_modules + 1,
                   sizeof *namer->modules, err));
    struct namer_module module = {.path = id};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    hs_status status = open_elf(namer, &module, path, fd, err);
    if (fd >= 0)
        (void)close(fd); /* was only read */
    namer->modules[namer->n_modules++] = module;
    *ret = &namer->modules[namer->n_modules - 1];
    return status;
}

/* ---- finding ---- */

/* Symbols of the debug file are all, those of the program what stripping left. */
static const struct hs_elf_symbol *find_symbol(const struct namer_module *module, hs_addr vaddr)
{
    const struct hs_elf_symbol *symbol = NULL;
    if (module->debug != NULL)
        symbol = hs_elf_symbol_at(module->debug, vaddr, NULL);
    if (symbol == NULL)
        symbol = hs_elf_symbol_at(module->elf, vaddr, NULL);
    return symbol;
}

static void set_name(struct hs_namer *namer, size_t at, const char *function, const char *file,
                     uint32_t line)
{
    (void)snprintf(namer->texts[at], sizeof namer->texts[at], "%s", function);
    namer->names[at] = (struct hs_place_name){namer->texts[at], file, line};
}

hs_status hs_namer_find(struct hs_namer *namer, const char *module, uint64_t vaddr,
                        const struct hs_place_name **ret, size_t *ret_n, struct hs_error *err)
{
    struct namer_module *found = NULL;
    char unnamed[32];
    HS_TRY(open_module(namer, module, &found, err));
    (void)snprintf(unnamed, sizeof unnamed, "+0x%lx", (unsigned long)vaddr);
    set_name(namer, 0, unnamed, module, 0);
    *ret = namer->names;
    *ret_n = 1;
    if (found == NULL || found->elf == NULL || vaddr == 0)
        return HS_OK;
    hs_addr call = vaddr - 1; /* the call ends there, and with it, perhaps, the function */
    const struct hs_elf_symbol *symbol = find_symbol(found, call);
    struct hs_source source = {"", "", 0};
    if (found->lines != NULL)
        source = hs_lines_find_code(found->lines, call);
    if (symbol == NULL && source.name[0] == '\0')
        return HS_OK;
    if (source.line != 0)
        (void)snprintf(namer->file, sizeof namer->file, "%s", source.file);
    else
        (void)snprintf(namer->file, sizeof namer->file, "%s", module);
    (void)hs_demangle(symbol != NULL ? symbol->name : source.name, namer->whole,
                      sizeof namer->whole);
    set_name(namer, 0, namer->whole, namer->file, source.line);
    return HS_OK;
}
