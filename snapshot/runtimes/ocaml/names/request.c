/* The request to heapsnap-ocaml-names: see the head of heapsnap_ocaml_names.ml. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "private.h"
#include "symbols/elf.h"
#include "target/core.h"
#include "target/procfs.h"

#define REQUEST_UNIT_BYTES 200
#define REQUEST_STRING_TAG 252 /* String_tag, runtime/caml/mlvalues.h */

__attribute__((format(printf, 3, 4))) static hs_status request_put(struct hs_buffer *out,
                                                                   struct hs_error *err,
                                                                   const char *format, ...)
{
    char line[PATH_MAX + 64];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line)
        return HS_OK; /* a path beyond PATH_MAX cannot be searched */
    HS_TRY(hs_buffer_reserve(out, (size_t)n, err));
    hs_buffer_put_bytes(out, line, (size_t)n);
    return HS_OK;
}

static hs_status request_put_dir(struct hs_buffer *out, const char *root, const char *dir,
                                 struct hs_error *err)
{
    if (strchr(dir, '\n') != NULL)
        return HS_OK; /* cannot be said in a line */
    return request_put(out, err, "dir %s%s\n", root, dir);
}

/* Finds where the target's root can be reached; "" when it sees the same file system as we do. */
static void request_root(const struct hs_target *target, char *root, size_t n)
{
    char path[HS_PROC_PATH_BYTES];
    struct stat ours, theirs;

    root[0] = '\0';
    if (target->core != NULL)
        return; /* its program was found among our files */
    snprintf(path, sizeof path, "/proc/%d/root", target->live.pid);
    if (stat("/", &ours) == 0 && stat(path, &theirs) == 0 &&
        (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino))
        snprintf(root, n, "%s", path);
}

static bool request_read_link(const struct hs_target *target, const char *name, char *path)
{
    char link[HS_PROC_PATH_BYTES];

    if (target->core != NULL) { /* of its links, that to the program is known */
        const char *found = strcmp(name, "exe") == 0 ? hs_core_program_path(target) : NULL;
        if (found != NULL)
            snprintf(path, PATH_MAX, "%s", found);
        return found != NULL && found[0] == '/';
    }
    snprintf(link, sizeof link, "/proc/%d/%s", target->live.pid, name);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return path[0] == '/';
}

/* Tells whether a path, as a link of the process has it, leads to the same file here: so it does
 * for a process in a changed root, and not for one in a container. */
static bool request_is_ours(const struct hs_target *target, const char *name, const char *path)
{
    char link[HS_PROC_PATH_BYTES];
    struct stat ours, theirs;

    if (target->core != NULL)
        return true;
    snprintf(link, sizeof link, "/proc/%d/%s", target->live.pid, name);
    return stat(path, &ours) == 0 && stat(link, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

static bool request_exists(const char *root, const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s%s", root, dir, name);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

static hs_status request_put_lib(struct hs_buffer *out, const char *root, const char *prefix,
                                 const char *lib, struct hs_error *err)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s%s", prefix, lib);
    return request_put_dir(out, root, path, err);
}

/* Adds the directories of an installation that are called like its program: "frama-c-gui.byte" is
 * of frama-c. */
static hs_status request_by_name(struct hs_buffer *out, const char *root, const char *prefix,
                                 const char *program, struct hs_error *err)
{
    static const char *const libraries[] = {"/lib/", "/lib/" HS_ARCH_LIBRARIES "/", "/share/"};
    char name[NAME_MAX + 1], path[PATH_MAX + 64];
    char *border = name;

    snprintf(name, sizeof name, "%s", program);
    while (border != NULL && name[0] != '\0') {
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
            snprintf(path, sizeof path, "%s%s", libraries[i], name);
            if (request_exists(root, prefix, path))
                HS_TRY(request_put_lib(out, root, prefix, path, err));
        }
        border = strpbrk(name, ".-_");
        for (char *next = border; next != NULL; next = strpbrk(border + 1, ".-_"))
            border = next;
        if (border != NULL)
            *border = '\0';
    }
    return HS_OK;
}

/* Adds the executable's own directory; the whole of dune's build context when it lies in one; and
 * of the installation that its bin/ is of, what has the program's name, and the libraries. */
static hs_status request_beside(struct hs_buffer *out, const char *root, char *exe,
                                struct hs_error *err)
{
    /* Debian has the second since its release 13. */
    static const char *const libraries[] = {"/lib/ocaml", "/lib/" HS_ARCH_LIBRARIES "/ocaml"};
    char *slash = strrchr(exe, '/');
    const char *program;
    char *build = strstr(exe, "/_build/");

    if (build != NULL) {
        char *context_end = strchr(build + strlen("/_build/"), '/');
        if (context_end != NULL)
            slash = context_end;
    }
    *slash = '\0';
    HS_TRY(request_put_dir(out, root, exe, err));
    program = build != NULL ? "" : slash + 1;
    slash = strrchr(exe, '/');
    if (slash == NULL || strcmp(slash, "/bin") != 0)
        return HS_OK;
    *slash = '\0';
    HS_TRY(request_by_name(out, root, exe, program, err));
    if (request_exists(root, exe, "/.opam-switch"))
        return request_put_lib(out, root, exe, "/lib", err);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (request_exists(root, exe, libraries[i]))
            HS_TRY(request_put_lib(out, root, exe, libraries[i], err));
    }
    return HS_OK;
}

/* Adds the directories of plugins, which lie beside their interfaces. */
static hs_status request_plugins(struct hs_buffer *out, const char *root,
                                 const struct hs_objects *objects, struct hs_error *err)
{
    char path[PATH_MAX], last[PATH_MAX] = "";

    for (size_t i = 0; i < objects->n; i++) {
        if (hs_elf_find(objects->objects[i].elf, "caml_plugin_header") == NULL)
            continue;
        snprintf(path, sizeof path, "%s", objects->objects[i].path);
        char *slash = strrchr(path, '/');
        if (path[0] != '/' || slash == path)
            continue;
        *slash = '\0';
        if (strcmp(path, last) != 0) /* ascending by address: those of one directory are together */
            HS_TRY(request_put_dir(out, root, path, err));
        memcpy(last, path, sizeof last);
    }
    return HS_OK;
}

static hs_status request_dirs(const struct hs_names_request *request,
                              const struct hs_target *target, const struct hs_objects *objects,
                              struct hs_buffer *out, struct hs_error *err)
{
    char root[HS_PROC_PATH_BYTES], path[PATH_MAX];
    const char *seen;

    for (size_t i = 0; i < request->n_dirs; i++)
        HS_TRY(request_put_dir(out, "", request->dirs[i], err));
    request_root(target, root, sizeof root);
    if (request_read_link(target, "exe", path)) {
        seen = request_is_ours(target, "exe", path) ? "" : root;
        HS_TRY(request_beside(out, seen, path, err));
        HS_TRY(request_plugins(out, seen, objects, err));
    }
    if (request_read_link(target, "cwd", path) && strcmp(path, "/") != 0) {
        seen = request_is_ours(target, "cwd", path) ? "" : root;
        HS_TRY(request_put_dir(out, seen, path, err));
    }
    return HS_OK;
}

/* Returns the header word before a static OCaml block, as the file has it; 0 when it has none. */
static uint64_t request_header(struct hs_elf *elf, hs_addr vaddr)
{
    const uint8_t *bytes = vaddr >= 8 ? hs_elf_bytes_at(elf, vaddr - 8, 8) : NULL;
    if (bytes == NULL)
        return 0;
    struct hs_cursor cursor = hs_cursor_make(bytes, 8);
    return hs_cursor_u64(&cursor);
}

/* Finds the unit of a symbol: "Stm" from "camlStm__gc_roots" (or ".gc_roots" from 5.1 on). */
static bool request_unit_of(const char *symbol, char *unit)
{
    static const char *const ends[] = {"__gc_roots", ".gc_roots", "$gc_roots"};
    size_t n = strlen(symbol);

    if (strncmp(symbol, "caml", 4) != 0)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n <= 4 + k || n - 4 - k >= REQUEST_UNIT_BYTES || strcmp(symbol + n - k, ends[i]) != 0)
            continue;
        memcpy(unit, symbol + 4, n - 4 - k);
        unit[n - 4 - k] = '\0';
        return strpbrk(unit, " \n\t") == NULL;
    }
    return false;
}

/* Writes the sizes of the units' blocks, in fields. */
static hs_status request_slots(struct hs_elf *elf, struct hs_buffer *out, struct hs_error *err)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(elf, &n);

    for (size_t i = 0; i < n; i++) {
        char unit[REQUEST_UNIT_BYTES], name[REQUEST_UNIT_BYTES + 8];
        if (!request_unit_of(symbols[i].name, unit))
            continue;
        snprintf(name, sizeof name, "caml%s", unit);
        const struct hs_elf_symbol *block = hs_elf_find(elf, name);
        uint64_t header = block != NULL ? request_header(elf, block->vaddr) : 0;
        if (header != 0)
            HS_TRY(
                request_put(out, err, "slots %s %llu\n", unit, (unsigned long long)(header >> 10)));
    }
    return HS_OK;
}

/* Writes the contents of a static OCaml string: its last byte says how many of the last word's are
 * padding. */
static hs_status request_string(struct hs_elf *elf, const char *symbol, const char *verb,
                                struct hs_buffer *out, struct hs_error *err)
{
    const struct hs_elf_symbol *found = hs_elf_find(elf, symbol);
    uint64_t header = found != NULL ? request_header(elf, found->vaddr) : 0;
    uint64_t n_words = header >> 10;

    if (n_words == 0 || n_words > SIZE_MAX / 16 || (header & 255) != REQUEST_STRING_TAG)
        return HS_OK;
    size_t n = (size_t)n_words * 8;
    const uint8_t *bytes = hs_elf_bytes_at(elf, found->vaddr, n);
    if (bytes == NULL || bytes[n - 1] > 7)
        return HS_OK;
    n -= (size_t)bytes[n - 1] + 1;
    HS_TRY(request_put(out, err, "%s %zu\n", verb, n));
    HS_TRY(hs_buffer_reserve(out, n, err));
    hs_buffer_put_bytes(out, bytes, n);
    return HS_OK;
}

hs_status hs_names_write_request(const struct hs_names_request *request,
                                 const struct hs_target *target, const struct hs_objects *objects,
                                 struct hs_buffer *out, struct hs_error *err)
{
    HS_TRY(request_dirs(request, target, objects, out, err));
    for (size_t i = 0; i < objects->n; i++) {
        const struct hs_object *object = &objects->objects[i];
        bool is_plugin = hs_elf_find(object->elf, "caml_plugin_header") != NULL;
        if (!object->is_executable && !is_plugin)
            continue;
        HS_TRY(request_slots(object->elf, out, err));
        if (is_plugin)
            HS_TRY(request_string(object->elf, "caml_plugin_header", "plugin", out, err));
        else
            HS_TRY(request_string(object->elf, "caml_globals_map", "map", out, err));
    }
    return HS_OK;
}
