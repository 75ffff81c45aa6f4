#include "symbols/debugfile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"

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

static bool crc_of_fd(int fd, uint32_t *ret)
{
    uint8_t buffer[16384];
    uint32_t crc = 0;
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, buffer, sizeof(buffer), at);
        if (n < 0)
            return false;
        if (n == 0)
            break;
        crc = hs_debugfile_crc(crc, buffer, (size_t)n);
        at += n;
    }
    *ret = crc;
    return true;
}

/* Opens a candidate. What is not there, not ours or damaged is passed over: only running out of
 * memory is worth failing for. */
static hs_status candidate_open(const char *path, const char *build_id, const uint32_t *crc,
                                struct hs_elf **ret, struct hs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0)
        return HS_OK;
    uint32_t found = 0;
    bool fits = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (fits && crc != NULL)
        fits = crc_of_fd(fd, &found) && found == *crc;
    hs_auto(hs_elf) *elf = NULL;
    hs_status status = fits ? hs_elf_open_fd(fd, path, &elf, err) : HS_OK;
    close(fd);
    if (status == HS_LIMIT)
        return status;
    if (elf != NULL && (build_id == NULL || strcmp(hs_elf_build_id(elf), build_id) == 0))
        *ret = HS_STEAL(elf);
    return HS_OK;
}

static hs_status by_build_id(const struct hs_elf *elf, const char *directory, struct hs_elf **ret,
                             struct hs_error *err)
{
    char path[PATH_MAX];
    const char *id = hs_elf_build_id(elf);
    if (strlen(id) < 4)
        return HS_OK;
    int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", directory, id, id + 2);
    return n > 0 && (size_t)n < sizeof(path) ? candidate_open(path, id, NULL, ret, err) : HS_OK;
}

struct debuglink {
    const char *name;
    uint32_t crc;
};

/* .gnu_debuglink: a file name, NUL, padding to 4 bytes, CRC. A name with a slash would lead out of
 * the directories we were told to look in. */
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
        strcmp(name, "..") == 0)
        return false;
    *ret = (struct debuglink){name, crc};
    return true;
}

static hs_status by_debuglink(const struct debuglink *link, const char *before, const char *own,
                              const char *after, struct hs_elf **ret, struct hs_error *err)
{
    char path[PATH_MAX];
    size_t n_own = (size_t)(strrchr(own, '/') - own); /* callers pass a path with a slash */
    int n = snprintf(path, sizeof(path), "%s%.*s/%s%s", before, (int)n_own, own, after, link->name);
    if (*ret != NULL || n <= 0 || (size_t)n >= sizeof(path))
        return HS_OK;
    return candidate_open(path, NULL, &link->crc, ret, err);
}

hs_status hs_debugfile_open(struct hs_elf *elf, const char *own_path,
                            const char *const *directories, size_t n_directories,
                            struct hs_elf **ret, struct hs_error *err)
{
    struct hs_elf *found = NULL;
    for (size_t i = 0; i < n_directories && found == NULL; i++)
        HS_TRY(by_build_id(elf, directories[i], &found, err));
    struct debuglink link;
    bool has_place =
        own_path != NULL && strchr(own_path, '/') != NULL && strlen(own_path) < PATH_MAX;
    if (found == NULL && has_place && debuglink_read(elf, &link)) {
        HS_TRY(by_debuglink(&link, "", own_path, "", &found, err));
        HS_TRY(by_debuglink(&link, "", own_path, ".debug/", &found, err));
        for (size_t i = 0; i < n_directories && own_path[0] == '/'; i++)
            HS_TRY(by_debuglink(&link, directories[i], own_path, "", &found, err));
    }
    *ret = found;
    return HS_OK;
}
