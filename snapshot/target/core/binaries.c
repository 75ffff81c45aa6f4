/* The files that were mapped: which of ours is the same build?
 *
 *   the core has the file's first page    by the build-id in both; of a file without one, by its
 *                                         program headers
 *   it has not                            by the dynamic section, which the core has of everything
 *                                         that was relocated
 *
 * Paths are the core's to choose: only regular files are opened, only to be read, and nothing of
 * them is used that is not proven. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core_private.h"
#include "symbols/elf.h"

enum {
    BINARY_DYNAMIC_MIN = 8,
    BINARY_DYNAMIC_MAX = 256,
    BINARY_PHDR_BYTES = 56,
    BINARY_ROWS = 64,    /* pieces that a file is mapped in */
    BINARIES_MAX = 4096, /* looked at; a core may name files without end */
};

const char *hs_core_path(const struct hs_core *core, uint32_t binary)
{
    return core->paths + core->binaries[binary].path_at;
}

/* ---- opening ---- */

static int binary_regular(int fd)
{
    struct stat found;

    if (fd >= 0 && (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Below the sysroot, links that lead out of it included: they are of the other system. */
static int binary_open_below(const char *sysroot, const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int root = open(sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return -1;
    long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd < 0 && errno == ENOSYS) {
        char joined[PATH_MAX];
        int n = snprintf(joined, sizeof joined, "%s%s", sysroot, path);
        if (n > 0 && (size_t)n < sizeof joined)
            fd = open(joined, (int)how.flags);
    }
    close(root);
    return binary_regular((int)fd);
}

static int binary_open(const char *sysroot, const char *path)
{
    if (path[0] != '/')
        return -1;
    if (sysroot != NULL)
        return binary_open_below(sysroot, path);
    return binary_regular(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

/* Returns the path of an open file, to be freed, for messages and for whoever opens it again. */
static hs_status binary_keep_path(int fd, char **ret, struct hs_error *err)
{
    char link[64], path[PATH_MAX];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return hs_strdup(path[0] == '/' ? path : link, ret, err);
}

/* ---- what the core says of it ---- */

static const struct hs_core_row *binary_row(const struct hs_core *core, uint32_t binary,
                                            bool is_first_page)
{
    size_t first = core->binaries[binary].first_row;

    for (size_t i = first; i < core->n_rows && i < first + BINARY_ROWS; i++)
        if (core->rows[i].binary == binary && (!is_first_page || core->rows[i].file_offset == 0))
            return &core->rows[i];
    return NULL;
}

static void binary_take_loads(struct hs_core_known *known, const struct hs_elf *elf)
{
    size_t n;
    const struct hs_elf_segment *segments = hs_elf_segments(elf, &n);

    known->n_loads = 0;
    for (size_t i = 0; i < n && known->n_loads < HS_CORE_LOADS_MAX; i++) {
        const struct hs_elf_segment *s = &segments[i];
        known->loads[known->n_loads++] =
            (struct hs_core_load){.begin = s->file_offset & ~(HS_CORE_PAGE - 1),
                                  .end = s->file_offset + s->n_file_bytes,
                                  .address = s->vaddr & ~(HS_CORE_PAGE - 1),
                                  .flags = (s->readable ? PF_R : 0u) | (s->writable ? PF_W : 0u) |
                                           (s->executable ? PF_X : 0u)};
    }
    if (!hs_elf_extent(elf, &known->memory_begin, &known->memory_end))
        known->memory_begin = known->memory_end = 0;
}

static void binary_keep_id(char *kept, const char *id)
{
    snprintf(kept, HS_CORE_ID_BYTES, "%.40s", id);
}

/* The first page as the core has it; its segments and build-id. */
static hs_status binary_read_header(const struct hs_core *core, uint32_t binary,
                                    struct hs_core_known *known, struct hs_error *err)
{
    const struct hs_core_row *row = binary_row(core, binary, true);
    hs_auto_free void *bytes = NULL;
    hs_auto(hs_elf) *elf = NULL;
    struct hs_error ignored = HS_ERROR_INIT;

    if (row == NULL)
        return HS_OK;
    HS_TRY(hs_alloc(1, HS_CORE_PAGE, &bytes, err));
    if (hs_core_own_bytes(core, row->begin, bytes, HS_CORE_PAGE) != HS_CORE_PAGE)
        return HS_OK;
    hs_status status =
        hs_elf_open_memory(bytes, HS_CORE_PAGE, hs_core_path(core, binary), &elf, &ignored);
    if (status != HS_OK)
        return status == HS_LIMIT ? hs_fail(err, HS_LIMIT, "%s", ignored.message) : HS_OK;
    binary_take_loads(known, elf);
    binary_keep_id(known->wanted_id, hs_elf_build_id(elf));
    hs_elf_close(HS_STEAL(elf));
    known->header = HS_STEAL(bytes);
    return HS_OK;
}

/* ---- proofs ---- */

/* Program headers lie in the first page of every file that a linker makes. Section headers may have
 * been stripped since. */
static enum hs_core_proof binary_compare_headers(const uint8_t *header, int fd)
{
    uint8_t bytes[HS_CORE_PAGE];

    if (pread(fd, bytes, sizeof bytes, 0) < (ssize_t)sizeof(Elf64_Ehdr))
        return HS_CORE_OTHER;
    struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
    hs_cursor_seek(&c, offsetof(Elf64_Ehdr, e_phoff));
    uint64_t at = hs_cursor_u64(&c);
    hs_cursor_seek(&c, offsetof(Elf64_Ehdr, e_phnum));
    size_t n = hs_cursor_u16(&c) * (size_t)BINARY_PHDR_BYTES;
    if (at > sizeof bytes || n > sizeof bytes - at || n == 0)
        return HS_CORE_UNPROVEN;
    bool is_same = memcmp(header, bytes, offsetof(Elf64_Ehdr, e_shoff)) == 0 &&
                   memcmp(header + at, bytes + at, n) == 0;
    return is_same ? HS_CORE_PROVEN : HS_CORE_OTHER;
}

/* Entries hold numbers or addresses; the linker adds the bias to some of the latter. */
static bool binary_is_same_entry(const uint64_t *ours, const uint64_t *theirs, uint64_t bias)
{
    if (ours[0] != theirs[0])
        return false;
    return ours[0] == DT_DEBUG || ours[1] == theirs[1] || ours[1] + bias == theirs[1];
}

static enum hs_core_proof binary_compare_dynamic(const struct hs_core *core, uint32_t binary,
                                                 struct hs_elf *elf)
{
    const struct hs_core_row *row = binary_row(core, binary, false);
    struct hs_elf_section dynamic;
    uint64_t bias;

    if (row == NULL || !hs_elf_section_named(elf, ".dynamic", &dynamic) || dynamic.vaddr == 0 ||
        !hs_elf_bias(elf, row->begin, row->file_offset, &bias))
        return HS_CORE_UNPROVEN;
    for (size_t i = 0; i < BINARY_DYNAMIC_MAX; i++) {
        uint64_t ours[2], theirs[2], at = dynamic.vaddr + i * sizeof ours;
        const uint8_t *bytes = hs_elf_bytes_at(elf, at, sizeof ours);
        if (bytes == NULL ||
            hs_core_own_bytes(core, at + bias, theirs, sizeof theirs) != sizeof theirs)
            return HS_CORE_UNPROVEN;
        memcpy(ours, bytes, sizeof ours);
        if (!binary_is_same_entry(ours, theirs, bias))
            return HS_CORE_OTHER;
        if (ours[0] == DT_NULL)
            return i >= BINARY_DYNAMIC_MIN ? HS_CORE_PROVEN : HS_CORE_UNPROVEN;
    }
    return HS_CORE_UNPROVEN;
}

static enum hs_core_proof binary_judge(const struct hs_core *core, uint32_t binary,
                                       struct hs_core_known *known, int fd)
{
    hs_auto(hs_elf) *elf = NULL;
    struct hs_error ignored = HS_ERROR_INIT;

    if (hs_elf_open_fd(fd, hs_core_path(core, binary), &elf, &ignored) != HS_OK)
        return known->header != NULL ? HS_CORE_OTHER : HS_CORE_UNPROVEN;
    binary_keep_id(known->found_id, hs_elf_build_id(elf));
    enum hs_core_proof proof;
    if (known->header == NULL)
        proof = binary_compare_dynamic(core, binary, elf);
    else if (known->wanted_id[0] != '\0')
        proof = strcmp(known->wanted_id, known->found_id) == 0 ? HS_CORE_PROVEN : HS_CORE_OTHER;
    else
        proof = binary_compare_headers(known->header, fd);
    if (known->n_loads == 0)
        binary_take_loads(known, elf);
    return proof;
}

/* ---- one file ---- */

/* Tries one place; keeps what is proven, and the most telling failure. */
static hs_status binary_try(const struct hs_core *core, uint32_t binary, int fd, bool is_believed,
                            struct hs_error *err)
{
    struct hs_core_binary *b = &core->binaries[binary];

    if (fd < 0)
        return HS_OK;
    enum hs_core_proof proof = binary_judge(core, binary, b->known, fd);
    if (proof == HS_CORE_UNPROVEN && is_believed)
        proof = HS_CORE_BELIEVED;
    if (b->proof == HS_CORE_MISSING || proof >= HS_CORE_PROVEN)
        b->proof = (uint8_t)proof;
    hs_status status = binary_keep_path(fd, &b->known->path, err);
    if (proof >= HS_CORE_PROVEN && status == HS_OK) {
        b->known->fd = fd;
        return HS_OK;
    }
    hs_free(HS_STEAL(b->known->path));
    close(fd);
    return status;
}

static hs_status binary_try_path(const struct hs_core *core, uint32_t binary, const char *sysroot,
                                 struct hs_error *err)
{
    static const char deleted[] = " (deleted)";
    const char *path = hs_core_path(core, binary);
    size_t n = strlen(path), k = sizeof deleted - 1;
    hs_auto_free char *cut = NULL;

    HS_TRY(binary_try(core, binary, binary_open(sysroot, path), false, err));
    if (core->binaries[binary].known->fd >= 0 || n <= k || strcmp(path + n - k, deleted) != 0)
        return HS_OK;
    HS_TRY(hs_strdup(path, &cut, err));
    cut[n - k] = '\0';
    return binary_try(core, binary, binary_open(sysroot, cut), false, err);
}

/* The program as the user names it, below the sysroot, at its own place. */
static hs_status binary_find(struct hs_core *core, uint32_t binary, struct hs_error *err)
{
    struct hs_core_binary *b = &core->binaries[binary];

    if (b->known == NULL) {
        HS_TRY(HS_ALLOC(&b->known, 1, err));
        b->known->fd = -1;
        HS_TRY(binary_read_header(core, binary, b->known, err));
    }
    b->proof = HS_CORE_MISSING;
    if (++core->n_looked_at > BINARIES_MAX)
        return HS_OK;
    if (binary == core->program && core->exe != NULL) {
        int fd = open(core->exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return binary_try(core, binary, binary_regular(fd), true, err);
    }
    if (core->sysroot != NULL)
        HS_TRY(binary_try_path(core, binary, core->sysroot, err));
    if (b->known->fd < 0)
        HS_TRY(binary_try_path(core, binary, NULL, err));
    return HS_OK;
}

bool hs_core_binary_open(struct hs_core *core, uint32_t binary)
{
    struct hs_core_binary *b = &core->binaries[binary];
    struct hs_error ignored = HS_ERROR_INIT;

    if (b->proof == HS_CORE_UNTRIED && binary_find(core, binary, &ignored) != HS_OK)
        b->proof = HS_CORE_MISSING;
    return b->known != NULL && b->known->fd >= 0;
}

const char *hs_core_next_missing(const struct hs_target *target, size_t *at)
{
    struct hs_core *core = target->core;

    while (*at < core->n_binaries) {
        const struct hs_core_binary *b = &core->binaries[(*at)++];
        if (!hs_core_binary_open(core, (uint32_t)(*at - 1)) && b->known != NULL &&
            b->known->wanted_id[0] != '\0')
            return b->known->wanted_id;
    }
    return NULL;
}

hs_status hs_core_offer(const struct hs_target *target, size_t at, const char *path,
                        struct hs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return binary_try(target->core, (uint32_t)(at - 1), binary_regular(fd), false, err);
}

static bool load_has(const struct hs_core_load *load, uint64_t file_offset)
{
    return file_offset >= load->begin && file_offset < load->end;
}

/* The load whose place behind that of the first one is the row's behind `head`. */
static const struct hs_core_load *load_placed(const struct hs_core_known *known,
                                              const struct hs_core_row *head,
                                              const struct hs_core_row *row)
{
    const struct hs_core_load *first = &known->loads[0];

    for (size_t i = 0; i < known->n_loads && load_has(first, head->file_offset); i++) {
        const struct hs_core_load *load = &known->loads[i];
        hs_addr at = load->address + (row->file_offset - load->begin),
                head_at = first->address + (head->file_offset - first->begin);
        if (load_has(load, row->file_offset) && at - head_at == row->begin - head->begin)
            return load;
    }
    return NULL;
}

/* Linkers let segments share pages of the file (lld, unless told otherwise: the last one of the
 * constants is the first one of the code, too): where a row lies behind the first of its file tells
 * which of them it maps. */
const struct hs_core_load *hs_core_load_of(const struct hs_core *core,
                                           const struct hs_core_row *row)
{
    const struct hs_core_known *known = core->binaries[row->binary].known;
    const struct hs_core_load *found = NULL;
    size_t n_found = 0;

    for (size_t i = 0; known != NULL && i < known->n_loads; i++)
        if (load_has(&known->loads[i], row->file_offset) && n_found++ == 0)
            found = &known->loads[i];
    size_t n_before = n_found > 1 ? (size_t)(row - core->rows) : 0;
    for (size_t i = n_before < BINARY_ROWS ? n_before : BINARY_ROWS; i > 0; i--) {
        const struct hs_core_load *placed =
            (row - i)->binary == row->binary ? load_placed(known, row - i, row) : NULL;
        if (placed != NULL)
            return placed;
    }
    return found;
}

hs_addr hs_core_memory_end(struct hs_core *core, uint32_t binary, hs_addr begin)
{
    (void)hs_core_binary_open(core, binary);
    const struct hs_core_known *known = core->binaries[binary].known;
    uint64_t end;

    if (known == NULL || known->memory_end == 0 ||
        __builtin_add_overflow(
            begin, known->memory_end - (known->memory_begin & ~(HS_CORE_PAGE - 1)), &end) ||
        end > UINT64_MAX - HS_CORE_PAGE)
        return 0;
    return (end + HS_CORE_PAGE - 1) & ~(HS_CORE_PAGE - 1);
}

hs_status hs_core_check_exe(struct hs_core *core, struct hs_error *err)
{
    if (core->exe == NULL)
        return HS_OK;
    if (core->program == HS_CORE_NONE) {
        (void)hs_fail(err, HS_TARGET, "cannot use '%s': the core does not say where its program is",
                      core->exe);
        return hs_hint(err, "dump without --exe, or take another core");
    }
    if (hs_core_binary_open(core, core->program))
        return HS_OK;
    const struct hs_core_binary *b = &core->binaries[core->program];
    if (b->proof == HS_CORE_MISSING || b->known == NULL)
        return hs_fail(err, HS_TARGET, "cannot open '%s' as the program", core->exe);
    (void)hs_fail(err, HS_TARGET,
                  "cannot use '%s': it is another build than the program of the core (build-id %s, "
                  "that of '%.100s' was %s)",
                  core->exe, b->known->found_id[0] != '\0' ? b->known->found_id : "none",
                  hs_core_path(core, core->program),
                  b->known->wanted_id[0] != '\0' ? b->known->wanted_id : "not there");
    return hs_hint(err, "give the file that ran, or one with the same build-id");
}

void hs_core_binaries_fini(struct hs_core *core)
{
    for (size_t i = 0; i < core->n_binaries; i++) {
        struct hs_core_known *known = core->binaries[i].known;
        if (known == NULL)
            continue;
        if (known->fd >= 0)
            close(known->fd);
        hs_free(known->header);
        hs_free(known->path);
        hs_free(known);
    }
    hs_free(core->binaries);
}
