#include "symbols/debugfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "elf_private.h"

uint32_t hs_debugfile_crc(uint32_t crc, const void *bytes, size_t n_bytes)
{
    /* The reflected CRC-32, four bits at a time: sixteen words of table, no state to set up. */
    static const uint32_t nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < n_bytes; i++) {
        crc = crc >> 4 ^ nibble[(crc ^ at[i]) & 15];
        crc = crc >> 4 ^ nibble[(crc ^ at[i] >> 4) & 15];
    }
    return ~crc;
}

/* Computes the CRC of a file. False when it cannot be read, or is longer than its bytes on the disk
 * are worth (one of holes). */
static bool crc_of_fd(int fd, struct hs_effort effort, uint32_t *ret)
{
    uint8_t buffer[16384];
    uint32_t crc = 0;
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, buffer, sizeof(buffer), at);
        if (n < 0)
            return false;
        if (n == 0)
            break;
        if (!hs_effort_take(&effort, (uint64_t)n))
            return false;
        crc = hs_debugfile_crc(crc, buffer, (size_t)n);
        at += n;
    }
    *ret = crc;
    return true;
}

struct debugfile_search {
    struct hs_elf *elf;
    const char *own_path;
    struct stat own; /* of the file itself; st_ino 0 when it has none */
    struct hs_elf *found;
    struct hs_debugfile_search seen;
};

/* Ranks outcomes by how much they tell: one that was there, then one that was looked for. */
static int outcome_worth(uint8_t outcome)
{
    static const int8_t worth[] = {
        [HS_DEBUGFILE_FOUND] = 9,       [HS_DEBUGFILE_UNNAMED] = 0,
        [HS_DEBUGFILE_MISSING] = 1,     [HS_DEBUGFILE_UNREADABLE] = 2,
        [HS_DEBUGFILE_OTHER_BUILD] = 4, [HS_DEBUGFILE_OTHER_CONTENT] = 4,
        [HS_DEBUGFILE_ITSELF] = 3,      [HS_DEBUGFILE_OTHER_LAYOUT] = 5,
    };
    return worth[outcome];
}

static void search_note(struct debugfile_search *search, const char *path, uint8_t outcome)
{
    if (outcome_worth(outcome) <= outcome_worth(search->seen.outcome))
        return;
    search->seen.outcome = outcome;
    snprintf(search->seen.path, sizeof(search->seen.path), "%s", path);
}

/* A build-id can be chosen, copied or forgotten in a build. What is made of one program has the
 * same code and data at the same places: tools that change a program afterwards move other
 * sections.
 */
static bool layout_agrees(const struct hs_elf *program, const struct hs_elf *debug)
{
    static const char *const names[] = {".text", ".rodata", ".data", ".bss"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct hs_elf_section own, its;
        if (hs_elf_section_named(program, names[i], &own) &&
            hs_elf_section_named(debug, names[i], &its) &&
            (own.vaddr != its.vaddr || own.n_bytes != its.n_bytes))
            return false;
    }
    return true;
}

/* Judges whether an open file is the debug file: its outcome. Build-ids decide when both have one;
 * else the checksum, where there is a link that wants one. */
static uint8_t candidate_verdict(const struct debugfile_search *search, int fd,
                                 const struct hs_elf *elf, const uint32_t *crc)
{
    const char *wanted = hs_elf_build_id(search->elf), *id = hs_elf_build_id(elf);
    uint32_t found = 0;
    if (*wanted != '\0' && *id != '\0' && strcmp(wanted, id) != 0)
        return HS_DEBUGFILE_OTHER_BUILD;
    if (*wanted != '\0' && *id != '\0')
        return layout_agrees(search->elf, elf) ? HS_DEBUGFILE_FOUND : HS_DEBUGFILE_OTHER_LAYOUT;
    if (crc == NULL)
        return HS_DEBUGFILE_OTHER_BUILD;
    if (!crc_of_fd(fd, hs_effort_of_file(fd), &found))
        return HS_DEBUGFILE_UNREADABLE;
    return found == *crc ? HS_DEBUGFILE_FOUND : HS_DEBUGFILE_OTHER_CONTENT;
}

/* Judges an open candidate and keeps it when it is the one. */
static hs_status candidate_judge(struct debugfile_search *search, int fd, const char *path,
                                 const uint32_t *crc, uint8_t *ret_outcome, struct hs_error *err)
{
    struct stat st;
    hs_auto(hs_elf) *elf = NULL;
    *ret_outcome = HS_DEBUGFILE_UNREADABLE;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return HS_OK;
    if (search->own.st_ino != 0 && st.st_ino == search->own.st_ino &&
        st.st_dev == search->own.st_dev) {
        *ret_outcome = HS_DEBUGFILE_ITSELF;
        return HS_OK;
    }
    hs_status status = hs_elf_open_fd(fd, path, &elf, err);
    if (status != HS_OK)
        return status == HS_LIMIT ? status : HS_OK;
    *ret_outcome = candidate_verdict(search, fd, elf, crc);
    if (*ret_outcome == HS_DEBUGFILE_FOUND)
        search->found = HS_STEAL(elf);
    return HS_OK;
}

/* Tries a candidate; one that is not there, not ours or damaged is passed over: only running out of
 * memory is worth failing for. `crc` is NULL when the build-id decides. */
static hs_status candidate_try(struct debugfile_search *search, const char *path,
                               const uint32_t *crc, struct hs_error *err)
{
    uint8_t outcome = HS_DEBUGFILE_MISSING;
    hs_status status = HS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
        outcome = HS_DEBUGFILE_UNREADABLE;
    if (fd >= 0) {
        status = candidate_judge(search, fd, path, crc, &outcome, err);
        close(fd);
    }
    search_note(search, path, outcome);
    return status;
}

static hs_status by_build_id(struct debugfile_search *search, const char *directory,
                             struct hs_error *err)
{
    char path[PATH_MAX];
    const char *id = hs_elf_build_id(search->elf);
    if (search->found != NULL || strlen(id) < 4)
        return HS_OK;
    int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", directory, id, id + 2);
    return n > 0 && (size_t)n < sizeof(path) ? candidate_try(search, path, NULL, err) : HS_OK;
}

struct debuglink {
    const char *name;
    uint32_t crc;
};

/* Reads .gnu_debuglink: a file name, NUL, padding to 4 bytes, CRC. A name with a slash would lead
 * out of the directories we were told to look in. */
static bool debuglink_read(struct hs_elf *elf, struct debuglink *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    const uint8_t *bytes;
    size_t n;
    if (hs_elf_section_bytes_named(elf, ".gnu_debuglink", &bytes, &n, &ignored) != HS_OK)
        return false;
    struct hs_cursor c = hs_cursor_make(bytes, n);
    const char *name = hs_cursor_string(&c);
    hs_cursor_align(&c, 4);
    uint32_t crc = hs_cursor_u32(&c);
    if (name == NULL || c.failed || *name == '\0' || strchr(name, '/') != NULL ||
        strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    *ret = (struct debuglink){name, crc};
    return true;
}

/* Returns the length of "/proc/PID/root" in front of a path: the debug directories of another root
 * hold the paths as they are in there. */
static size_t other_root_length(const char *path)
{
    size_t n = strncmp(path, "/proc/", 6) == 0 ? 6 + strspn(path + 6, "0123456789") : 0;
    return n > 6 && strncmp(path + n,
                            "/"
                            "root/",
                            6) == 0
               ? n + 5
               : 0;
}

/* Tries BEFORE, the first n_own bytes of the own path, AFTER and the link's name. */
static hs_status by_debuglink(struct debugfile_search *search, const struct debuglink *link,
                              const char *before, size_t n_own, const char *after,
                              struct hs_error *err)
{
    char path[PATH_MAX];
    size_t n_root = *before == '\0' || n_own == 0 ? 0 : other_root_length(search->own_path);
    int n = snprintf(path, sizeof(path), "%s%.*s/%s%s", before, (int)(n_own - n_root),
                     n_own == 0 ? "" : search->own_path + n_root, after, link->name);
    if (search->found != NULL || n <= 0 || (size_t)n >= sizeof(path))
        return HS_OK;
    return candidate_try(search, path, &link->crc, err);
}

static hs_status search_links(struct debugfile_search *search, const char *const *directories,
                              size_t n_directories, struct hs_error *err)
{
    struct debuglink link;
    const char *own = search->own_path, *slash = own == NULL ? NULL : strrchr(own, '/');
    if (search->found != NULL || !debuglink_read(search->elf, &link))
        return HS_OK;
    if (slash != NULL && strlen(own) < PATH_MAX) {
        size_t n_own = (size_t)(slash - own);
        HS_TRY(by_debuglink(search, &link, "", n_own, "", err));
        HS_TRY(by_debuglink(search, &link, "", n_own, ".debug/", err));
        for (size_t i = 0; i < n_directories && own[0] == '/'; i++)
            HS_TRY(by_debuglink(search, &link, directories[i], n_own, "", err));
    }
    for (size_t i = 0; i < n_directories; i++)
        HS_TRY(by_debuglink(search, &link, directories[i], 0, "", err));
    return HS_OK;
}

hs_status hs_debugfile_find(struct hs_elf *elf, const char *own_path,
                            const char *const *directories, size_t n_directories,
                            struct hs_elf **ret, struct hs_debugfile_search *ret_search,
                            struct hs_error *err)
{
    struct debugfile_search search = {.elf = elf, .own_path = own_path};
    search.seen.outcome = HS_DEBUGFILE_UNNAMED;
    if (elf->fd < 0 || fstat(elf->fd, &search.own) != 0)
        search.own.st_ino = 0;
    for (size_t i = 0; i < n_directories; i++)
        HS_TRY(by_build_id(&search, directories[i], err));
    HS_TRY(search_links(&search, directories, n_directories, err));
    if (ret_search != NULL)
        *ret_search = search.seen;
    *ret = search.found;
    return HS_OK;
}

hs_status hs_debugfile_open_file(struct hs_elf *elf, const char *path, struct hs_elf **ret,
                                 struct hs_debugfile_search *ret_search, struct hs_error *err)
{
    struct debugfile_search search = {.elf = elf};
    search.seen.outcome = HS_DEBUGFILE_UNNAMED;
    if (elf->fd < 0 || fstat(elf->fd, &search.own) != 0)
        search.own.st_ino = 0;
    HS_TRY(candidate_try(&search, path, NULL, err));
    *ret_search = search.seen;
    *ret = search.found;
    return HS_OK;
}

hs_status hs_debugfile_open_build_id(const char *build_id, const char *path, struct hs_elf **ret,
                                     struct hs_error *err)
{
    struct stat st;
    hs_auto(hs_elf) *elf = NULL;
    hs_status status = HS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    *ret = NULL;
    if (fd < 0)
        return HS_OK;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        status = hs_elf_open_fd(fd, path, &elf, err);
    close(fd);
    if (elf != NULL && strcmp(hs_elf_build_id(elf), build_id) == 0)
        *ret = HS_STEAL(elf);
    return status == HS_LIMIT ? status : HS_OK;
}

hs_status hs_debugfile_open(struct hs_elf *elf, const char *own_path,
                            const char *const *directories, size_t n_directories,
                            struct hs_elf **ret, struct hs_error *err)
{
    return hs_debugfile_find(elf, own_path, directories, n_directories, ret, NULL, err);
}

size_t hs_debugfile_explain(const struct hs_debugfile_search *search, char *text, size_t n_text)
{
    static const char *const forms[] = {
        [HS_DEBUGFILE_FOUND] = "debug file '%s'",
        [HS_DEBUGFILE_UNNAMED] = "it has no build-id and names no debug file%s",
        [HS_DEBUGFILE_MISSING] = "no debug file, neither '%s' nor elsewhere",
        [HS_DEBUGFILE_UNREADABLE] = "its debug file '%s' cannot be read",
        [HS_DEBUGFILE_OTHER_BUILD] = "its debug file '%s' is of another build",
        [HS_DEBUGFILE_OTHER_CONTENT] = "its debug file '%s' has another checksum",
        [HS_DEBUGFILE_ITSELF] = "its debug file '%s' is the file itself",
        [HS_DEBUGFILE_OTHER_LAYOUT] = "its debug file '%s' has its build-id but not its layout",
    };
    assert(n_text > 0 && search->outcome < sizeof(forms) / sizeof(forms[0]));
    int n = snprintf(text, n_text, forms[search->outcome], search->path);
    if (n < 0)
        return 0;
    return (size_t)n < n_text ? (size_t)n : n_text - 1;
}

bool hs_debugfile_supplement(struct hs_elf *elf, struct hs_debugfile_link *ret)
{
    static const char digits[] = "0123456789abcdef";
    struct hs_error ignored = HS_ERROR_INIT;
    const uint8_t *bytes;
    size_t n;
    if (hs_elf_section_bytes_named(elf, ".gnu_debugaltlink", &bytes, &n, &ignored) != HS_OK)
        return false;
    struct hs_cursor c = hs_cursor_make(bytes, n); /* a path, NUL, a build-id */
    const char *path = hs_cursor_string(&c);
    size_t n_id = hs_cursor_left(&c);
    if (path == NULL || *path == '\0' || n_id < 2 || n_id > ELF_BUILD_ID_MAX)
        return false;
    ret->path = path;
    for (size_t i = 0; i < n_id; i++) {
        uint8_t byte = hs_cursor_u8(&c);
        ret->build_id[2 * i] = digits[byte >> 4];
        ret->build_id[2 * i + 1] = digits[byte & 15];
    }
    ret->build_id[2 * n_id] = '\0';
    return true;
}

hs_status hs_debugfile_try_supplement(const struct hs_debugfile_link *link, const char *path,
                                      struct hs_elf **ret, struct hs_error *err)
{
    struct stat st;
    hs_auto(hs_elf) *elf = NULL;
    hs_status status = HS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        return HS_OK;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        status = hs_elf_open_sections(fd, path, &elf, err);
    close(fd);
    if (elf != NULL && strcmp(hs_elf_build_id(elf), link->build_id) == 0)
        *ret = HS_STEAL(elf);
    return status == HS_LIMIT ? status : HS_OK;
}

hs_status hs_debugfile_open_supplement(struct hs_elf *elf, const struct hs_debugfile_link *link,
                                       const char *root, const char *const *directories,
                                       size_t n_directories, struct hs_elf **ret,
                                       struct hs_error *err)
{
    const char *own = hs_elf_name(elf), *slash = strrchr(own, '/');
    char path[PATH_MAX];

    *ret = NULL;
    for (size_t i = 0; i < n_directories && *ret == NULL; i++) {
        int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", directories[i],
                         link->build_id, link->build_id + 2);
        if (n > 0 && (size_t)n < sizeof(path))
            HS_TRY(hs_debugfile_try_supplement(link, path, ret, err));
    }
    if (*ret != NULL)
        return HS_OK;
    int n = link->path[0] == '/'
                ? snprintf(path, sizeof(path), "%s%s", root, link->path)
                : snprintf(path, sizeof(path), "%.*s/%s", slash == NULL ? 1 : (int)(slash - own),
                           slash == NULL ? "." : own, link->path);
    if (n <= 0 || (size_t)n >= sizeof(path))
        return HS_OK;
    return hs_debugfile_try_supplement(link, path, ret, err);
}
