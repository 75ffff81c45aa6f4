#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/load.h"
#include "base/strtab.h"
#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/lines.h"
#include "symbols/locals.h"
#include "target/procfs.h"
#include <heapsnap/recorded.h>

enum {
    MAX_MODULES = 1024, /* of hostile packets, too */
    MAX_DIRECTORIES = 33,
    NAME_BYTES = 8192,
};

struct namer_module {
    hs_str path;
    struct hs_elf *elf, *debug; /* owned; NULL: gives no names */
    hs_type_file types;         /* its debug information; 0: none */
};

struct hs_namer {
    struct hs_ctypes *types; /* of all modules */
    struct hs_locals locals;
    const char *directories[MAX_DIRECTORIES];
    size_t n_directories;
    pid_t pid;
    uint64_t begun_us;
    struct hs_strtab strings; /* of paths and notes */
    struct namer_module *modules;
    size_t n_modules, modules_capacity;
    hs_str *notes;
    size_t n_notes, notes_capacity;
    struct hs_place_name names[HS_INLINED_MAX];
    char texts[HS_INLINED_MAX][HS_PACKET_TEXT_BYTES];
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
    HS_TRY(HS_ALLOC(&namer, 1, err));
    HS_TRY(hs_ctypes_new(&namer->types, err));
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
    hs_ctypes_free(namer->types); /* it reads from them */
    for (size_t i = 0; i < namer->n_modules; i++) {
        hs_elf_close(namer->modules[i].debug);
        hs_elf_close(namer->modules[i].elf);
    }
    hs_free(namer->modules);
    hs_free(namer->notes);
    hs_strtab_fini(&namer->strings);
    hs_free(namer);
}

void hs_namer_process(struct hs_namer *namer, pid_t pid, uint64_t begun_us)
{
    namer->pid = pid;
    namer->begun_us = begun_us;
}

size_t hs_namer_n_notes(const struct hs_namer *namer)
{
    return namer->n_notes;
}

const char *hs_namer_note(const struct hs_namer *namer, size_t number)
{
    return hs_strtab_get(&namer->strings, namer->notes[number]);
}

static hs_status add_text(struct hs_namer *namer, const char *text, struct hs_error *err)
{
    hs_str note;
    HS_TRY(hs_strtab_add(&namer->strings, text, &note, err));
    for (size_t i = 0; i < namer->n_notes; i++)
        if (namer->notes[i] == note)
            return HS_OK;
    HS_TRY(HS_GROW(&namer->notes, &namer->notes_capacity, namer->n_notes + 1, err));
    namer->notes[namer->n_notes++] = note;
    return HS_OK;
}

static hs_status add_note(struct hs_namer *namer, const char *path, const char *why,
                          struct hs_error *err)
{
    char text[PATH_MAX + 128];
    (void)snprintf(text, sizeof text, "no names of '%s': %s", path, why);
    return add_text(namer, text, err);
}

/* Since 3.11; 0: an older one, or one without the lock. */
static unsigned python_minor(struct hs_elf *elf)
{
    const struct hs_elf_symbol *version = hs_elf_find(elf, "Py_Version");
    const uint8_t *bytes =
        version == NULL ? NULL : hs_elf_bytes_at(elf, version->vaddr, sizeof(uint32_t));

    return bytes == NULL || hs_elf_find(elf, "_Py_DecRefShared") != NULL
               ? 0
               : hs_load_u32(bytes) >> 16 & 255;
}

/* The library finds the interpreter by its exported symbols, and knows frames of some versions. */
static hs_status note_python(struct hs_namer *namer, const struct namer_module *module,
                             struct hs_error *err)
{
    char text[160];

    if (module->elf == NULL || hs_elf_find(module->elf, "PyObject_Malloc") == NULL ||
        hs_elf_find(module->elf, "Py_BytesMain") == NULL)
        return HS_OK;
    unsigned minor = python_minor(module->elf);
    if (minor >= HS_RECORD_PYTHON_FIRST && minor <= HS_RECORD_PYTHON_LAST)
        return HS_OK;
    (void)snprintf(text, sizeof text,
                   "Python's own frames are known of CPython 3.%d to 3.%d alone: those of this one "
                   "are frames of C",
                   HS_RECORD_PYTHON_FIRST, HS_RECORD_PYTHON_LAST);
    return add_text(namer, text, err);
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

/* Opens the debug information of the module itself, or of its debug file; without it symbols are
 * all there is. */
static hs_status open_debug(struct hs_namer *namer, struct namer_module *module, const char *path,
                            struct hs_error *err)
{
    if (!hs_elf_has_symtab(module->elf) || !hs_dwarf_present(module->elf))
        HS_TRY(hs_debugfile_open(module->elf, path, namer->directories, namer->n_directories,
                                 &module->debug, err));
    struct hs_elf *with_types =
        module->debug != NULL && hs_dwarf_present(module->debug) ? module->debug : module->elf;
    return hs_dwarf_present(with_types)
               ? hs_ctypes_add(namer->types, with_types, &module->types, err)
               : HS_OK;
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
    HS_TRY(HS_GROW(&namer->modules, &namer->modules_capacity, namer->n_modules + 1, err));
    struct namer_module module = {.path = id};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    hs_status status = open_elf(namer, &module, path, fd, err);
    if (fd >= 0)
        (void)close(fd); /* was only read */
    if (status == HS_OK)
        status = note_python(namer, &module, err);
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
    (void)hs_demangle(function, namer->whole, sizeof namer->whole);
    (void)snprintf(namer->texts[at], sizeof namer->texts[at], "%s", namer->whole);
    namer->names[at] = (struct hs_place_name){namer->texts[at], file, line};
}

static bool read_nothing(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    (void)context, (void)at, (void)ret, (void)n_bytes;
    return false;
}

/* The functions by debug information, the innermost first; none where there is none. */
static hs_status find_chain(struct hs_namer *namer, const struct namer_module *module,
                            hs_addr vaddr, struct hs_error *err)
{
    const struct hs_registers registers = {.value = {[HS_REG_PC] = vaddr},
                                           .known = UINT64_C(1) << HS_REG_PC};
    const struct hs_memory_reader memory = {read_nothing, NULL};
    const struct hs_frame_place at = {.file = module->types,
                                      .registers = &registers,
                                      .is_return_address = true,
                                      .memory = &memory};
    namer->locals.n_chain = 0;
    if (module->types == 0)
        return HS_OK;
    HS_TRY(hs_locals_at(namer->types, &at, &namer->locals, err));
    if (!namer->locals.is_known)
        namer->locals.n_chain = 0;
    return HS_OK;
}

/* Names a chain of functions; the symbol says more of the real one: all of its name, also where the
 * linker merged. */
static size_t name_chain(struct hs_namer *namer, const struct hs_elf_symbol *symbol,
                         const char *module)
{
    size_t n = namer->locals.n_chain;
    for (size_t i = 0; i < n; i++) {
        const struct hs_inlined *inlined = &namer->locals.chain[n - 1 - i];
        bool is_nameless = inlined->function == NULL || inlined->function[0] == '\0';
        const char *function = is_nameless && symbol != NULL && i == 0 ? symbol->name
                               : is_nameless                           ? "?"
                                                                       : inlined->function;
        bool has_place = inlined->file != NULL && inlined->file[0] != '\0' && inlined->line != 0;
        set_name(namer, i, function, has_place ? inlined->file : module,
                 has_place ? inlined->line : 0);
    }
    return n;
}

hs_status hs_namer_find(struct hs_namer *namer, const char *module, uint64_t vaddr,
                        const struct hs_place_name **ret, size_t *ret_n, struct hs_error *err)
{
    struct namer_module *found = NULL;
    char unnamed[32];
    size_t n = 0;
    HS_TRY(open_module(namer, module, &found, err));
    if (found != NULL && found->elf != NULL && vaddr != 0) {
        /* The call ends before the return address, and with it, perhaps, the function. */
        const struct hs_elf_symbol *symbol = find_symbol(found, vaddr - 1);
        HS_TRY(find_chain(namer, found, vaddr, err));
        n = name_chain(namer, symbol, module);
        if (n == 0 && symbol != NULL) {
            set_name(namer, 0, symbol->name, module, 0);
            n = 1;
        }
    }
    if (n == 0) {
        (void)snprintf(unnamed, sizeof unnamed, "+0x%lx", (unsigned long)vaddr);
        set_name(namer, 0, unnamed, module, 0);
        n = 1;
    }
    *ret = namer->names;
    *ret_n = n;
    return HS_OK;
}
