/* The compiler that made a program, told by its file alone, and the helper that reads that
 * compiler's files.
 *
 * Sys.ocaml_version is a constant, so the text of it is a static block among the data of
 * Stdlib.Sys: a header of a string, the text, and the padding that ends in its own length. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/load.h"
#include "private.h"
#include "symbols/elf.h"

enum {
    WORD = 8,
    MAX_WORDS = 3,
    STRING_TAG = 252,
    MAX_DATA_BYTES = 1 << 16,
};

/* Tells whether a text is a version: "5.3.0", "4.14.2+flambda", "5.4.0~rc1". */
static bool version_is_sane(const char *text, size_t n)
{
    static const char letters[] = "+~-.abcdefghijklmnopqrstuvwxyz0123456789";
    size_t n_major = strspn(text, "0123456789");
    return n_major != 0 && n_major <= 2 && text[n_major] == '.' && text[n_major + 1] >= '0' &&
           text[n_major + 1] <= '9' && strspn(text, letters) == n;
}

/* Reads the string block whose header lies at `at`; false when it is none that holds a version. */
static bool version_at(const uint8_t *at, size_t n_left, char *version, size_t n_version)
{
    uint64_t header = hs_load_u64(at), n_words = header >> 10;
    if ((header & 255) != STRING_TAG || n_words == 0 || n_words > MAX_WORDS ||
        n_left / WORD <= n_words)
        return false;
    const char *text = (const char *)at + WORD;
    size_t n_padding = at[WORD + n_words * WORD - 1];
    if (n_padding >= WORD)
        return false;
    size_t n = (size_t)n_words * WORD - 1 - n_padding;
    if (n < 4 || n >= n_version || strnlen(text, n + 1) != n || !version_is_sane(text, n))
        return false;
    memcpy(version, text, n + 1);
    return true;
}

static bool version_of(struct hs_elf *elf, char *version, size_t n)
{
    const struct hs_elf_symbol *begin = hs_elf_find(elf, "camlStdlib__Sys.data_begin");
    size_t n_bytes;
    if (begin == NULL)
        begin = hs_elf_find(elf, "camlStdlib__Sys__data_begin");
    if (begin == NULL)
        return false;
    const uint8_t *bytes = hs_elf_bytes_from(elf, begin->vaddr, MAX_DATA_BYTES, &n_bytes);
    if (bytes == NULL)
        return false;
    for (size_t at = 0; at + WORD <= n_bytes; at += WORD) {
        if (version_at(bytes + at, n_bytes - at, version, n))
            return true;
    }
    return false;
}

bool hs_names_version(const struct hs_objects *objects, char *version, size_t n)
{
    for (size_t i = 0; i < objects->n; i++) {
        if (version_of(objects->objects[i].elf, version, n))
            return true;
    }
    return false;
}

bool hs_names_version_of_file(const char *path, char *version, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_elf *elf;

    if (hs_elf_open_path(path, &elf, &ignored) != HS_OK)
        return false;
    bool is_found = version_of(elf, version, n);
    hs_elf_close(elf);
    return is_found;
}

/* Makes "BASE-5.3" for a version of 5.3; false where that is none, or there is no such program. */
static bool helper_at(const char *base, const char *version, char *path, size_t n)
{
    const char *dot = strchr(version, '.');
    size_t n_minor = dot == NULL ? 0 : strspn(dot + 1, "0123456789");
    if (n_minor == 0)
        return false;
    int n_path =
        snprintf(path, n, "%s-%.*s", base, (int)((size_t)(dot + 1 - version) + n_minor), version);
    return n_path > 0 && (size_t)n_path < n && access(path, X_OK) == 0;
}

bool hs_names_cached_helper(const char *helper, const char *version, char *path, size_t n)
{
    char directory[PATH_MAX], base[PATH_MAX];
    struct stat found;
    const char *slash = strrchr(helper, '/');

    if (!hs_cache_dir(directory, sizeof directory) ||
        (size_t)snprintf(base, sizeof base, "%s/%s", directory,
                         slash == NULL ? helper : slash + 1) >= sizeof base)
        return false;
    return stat(directory, &found) == 0 && found.st_uid == geteuid() &&
           (found.st_mode & (S_IWGRP | S_IWOTH)) == 0 && helper_at(base, version, path, n) &&
           stat(path, &found) == 0 && found.st_uid == geteuid();
}

void hs_names_choose_helper(const char *helper, const char *version, char *path, size_t n)
{
    if (!helper_at(helper, version, path, n) && !hs_names_cached_helper(helper, version, path, n))
        snprintf(path, n, "%s", helper);
}
