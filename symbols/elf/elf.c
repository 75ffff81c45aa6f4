#include "symbols/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/processor.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "elf_private.h"

bool hs_elf_identify(const void *bytes, size_t n_bytes, struct hs_elf_identity *ret)
{
    if (n_bytes < EI_NIDENT + 4 || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    const uint8_t *ident = bytes;
    bool is_little = ident[EI_DATA] == ELFDATA2LSB;
    if (!is_little && ident[EI_DATA] != ELFDATA2MSB)
        return false;
    if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
        return false;
    struct hs_cursor c = hs_cursor_make(ident + EI_NIDENT, n_bytes - EI_NIDENT);
    uint16_t type = hs_cursor_u16(&c), machine = hs_cursor_u16(&c);
    if (!is_little) {
        type = __builtin_bswap16(type);
        machine = __builtin_bswap16(machine);
    }
    *ret = (struct hs_elf_identity){
        .address_bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : 32,
        .little_endian = is_little,
        .is_our_machine = machine == HS_ARCH_ELF_MACHINE,
        .type = type,
        .machine = machine,
    };
    return true;
}

bool hs_elf_identify_fd(int fd, struct hs_elf_identity *ret)
{
    uint8_t head[EI_NIDENT + 4];
    size_t n = 0;
    while (n < sizeof(head)) {
        ssize_t got = pread(fd, head + n, sizeof(head) - n, (off_t)n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    return hs_elf_identify(head, sizeof(head), ret);
}

/* Says why a file that is not ours is not, in the words a user would search for. */
static hs_status elf_check_identity(const struct hs_elf_identity *id, const char *name,
                                    bool is_linked, struct hs_error *err)
{
    if (id->address_bits != 64)
        return hs_fail(err, HS_FORMAT,
                       "'%s' is a 32-bit ELF file; only 64-bit " HS_ARCH_NAME " is supported",
                       name);
    if (!id->is_our_machine || !id->little_endian)
        return hs_fail(err, HS_FORMAT,
                       "'%s' is an ELF file for another machine (number %u); only " HS_ARCH_NAME
                       " is supported",
                       name, id->machine);
    if (id->type == ET_CORE)
        return hs_fail(err, HS_FORMAT, "'%s' is a core file, not a program or library", name);
    if (id->type != ET_EXEC && id->type != ET_DYN && (is_linked || id->type != ET_REL))
        return hs_fail(err, HS_FORMAT, "'%s' is not a linked program or library (ELF type %u)",
                       name, id->type);
    return HS_OK;
}

static int segment_order(const void *a, const void *b)
{
    const struct hs_elf_segment *s = a, *t = b;
    return (s->vaddr > t->vaddr) - (s->vaddr < t->vaddr);
}

static void segment_add(struct hs_elf *elf, const GElf_Phdr *ph)
{
    uint64_t end;
    if (!hs_add_fits(ph->p_vaddr, ph->p_memsz, &end) ||
        !hs_add_fits(ph->p_offset, ph->p_filesz, &end) || ph->p_memsz == 0)
        return;
    elf->segments[elf->n_segments++] = (struct hs_elf_segment){
        .vaddr = ph->p_vaddr,
        .n_memory_bytes = ph->p_memsz,
        .file_offset = ph->p_offset,
        .n_file_bytes = ph->p_filesz < ph->p_memsz ? ph->p_filesz : ph->p_memsz,
        .readable = (ph->p_flags & PF_R) != 0,
        .writable = (ph->p_flags & PF_W) != 0,
        .executable = (ph->p_flags & PF_X) != 0,
    };
}

static void tls_set(struct hs_elf *elf, const GElf_Phdr *ph)
{
    uint64_t end, align = ph->p_align == 0 ? 1 : ph->p_align;
    if ((align & (align - 1)) != 0 || !hs_add_fits(ph->p_vaddr, ph->p_memsz, &end) ||
        ph->p_filesz > ph->p_memsz)
        return;
    elf->has_tls = true;
    elf->tls = (struct hs_elf_tls){ph->p_vaddr, ph->p_memsz, ph->p_filesz, align};
}

hs_status hs_elf_load_segments_(struct hs_elf *elf, struct hs_error *err)
{
    size_t n = 0;
    if (elf_getphdrnum(elf->elf, &n) != 0)
        return hs_fail(err, HS_FORMAT, "'%s' has damaged program headers", elf->name);
    if (n > ELF_MAX_SEGMENTS)
        return hs_fail(err, HS_LIMIT, "'%s' claims %zu program headers", elf->name, n);
    HS_TRY(HS_ALLOC(&elf->segments, n, err));
    HS_TRY(HS_ALLOC(&elf->segment_contents, n, err));
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr ph;
        if (gelf_getphdr(elf->elf, (int)i, &ph) == NULL)
            return hs_fail(err, HS_FORMAT, "'%s' has damaged program headers", elf->name);
        if (ph.p_type == PT_LOAD)
            segment_add(elf, &ph);
        else if (ph.p_type == PT_TLS)
            tls_set(elf, &ph);
        else if (ph.p_type == PT_INTERP)
            elf->has_interpreter = true;
    }
    /* The specification has them ascending; a hostile file need not. */
    qsort(elf->segments, elf->n_segments, sizeof(*elf->segments), segment_order);
    return HS_OK;
}

static hs_status elf_load(struct hs_elf *elf, struct hs_error *err)
{
    GElf_Ehdr head;
    if (gelf_getehdr(elf->elf, &head) == NULL)
        return hs_fail(err, HS_FORMAT, "'%s' has a damaged ELF header", elf->name);
    elf->is_dyn = head.e_type == ET_DYN;
    elf->entry = head.e_entry;
    HS_TRY(hs_elf_load_segments_(elf, err));
    HS_TRY(hs_elf_load_sections_(elf, err));
    hs_elf_load_build_id_(elf);
    return HS_OK;
}

/* The source of a file's bytes: behind a descriptor, or (-1) in memory. */
struct elf_source {
    int fd;
    const void *bytes;
    size_t n_bytes;
    bool no_symbols;
};

/* Opens a file without its symbols. The descriptor becomes the elf's in any case. */
static hs_status elf_open_parts(const struct elf_source *source, const char *name,
                                struct hs_elf **ret, struct hs_error *err)
{
    hs_auto(hs_elf) *elf = NULL;
    int fd = source->fd;
    hs_status status = HS_ALLOC(&elf, 1, err);
    if (status != HS_OK) {
        if (fd >= 0)
            close(fd);
        return status;
    }
    elf->fd = fd;
    elf->n_file_bytes = source->n_bytes;
    elf->effort = fd >= 0 ? hs_effort_of_file(fd) : hs_effort_of_bytes(source->n_bytes);
    HS_TRY(hs_strdup(name, &elf->name, err));
    struct hs_elf_identity id;
    bool is_elf = fd >= 0 ? hs_elf_identify_fd(fd, &id)
                          : hs_elf_identify(source->bytes, source->n_bytes, &id);
    if (!is_elf)
        return hs_fail(err, HS_FORMAT, "'%s' is not an ELF file", name);
    HS_TRY(elf_check_identity(&id, name, !source->no_symbols, err));
    elf_version(EV_CURRENT);
    /* Read, not mapped: a mapped file that is cut while in use kills us with SIGBUS. */
    elf->elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL)
                       : elf_memory((char *)(uintptr_t)source->bytes, source->n_bytes);
    if (elf->elf == NULL || elf_kind(elf->elf) != ELF_K_ELF)
        return hs_fail(err, HS_FORMAT, "'%s' is not a readable ELF file: %s", name, elf_errmsg(-1));
    HS_TRY(elf_load(elf, err));
    *ret = HS_STEAL(elf);
    return HS_OK;
}

/* Opens the file in .gnu_debugdata, as far as it is sound. */
static hs_status elf_open_mini(struct hs_elf *elf, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    size_t n_bytes;

    HS_TRY(hs_elf_unpack_mini_(elf, &n_bytes, err));
    if (n_bytes == 0)
        return HS_OK;
    const struct elf_source source = {-1, elf->mini_bytes, n_bytes, false};
    hs_status status = elf_open_parts(&source, elf->name, &elf->mini, &ignored);
    return status == HS_LIMIT ? hs_fail(err, HS_LIMIT, "%s", ignored.message) : HS_OK;
}

static hs_status elf_open(const struct elf_source *source, const char *name, struct hs_elf **ret,
                          struct hs_error *err)
{
    hs_auto(hs_elf) *elf = NULL;

    HS_TRY(elf_open_parts(source, name, &elf, err));
    if (!source->no_symbols) {
        HS_TRY(elf_open_mini(elf, err));
        HS_TRY(hs_elf_load_symbols_(elf, err));
    }
    *ret = HS_STEAL(elf);
    return HS_OK;
}

static hs_status elf_open_owned(int fd, const char *name, bool symbols, struct hs_elf **ret,
                                struct hs_error *err)
{
    struct stat st;
    hs_status status = HS_OK;
    if (fd < 0 || fstat(fd, &st) != 0)
        status = hs_fail_errno(err, HS_IO, "cannot open '%s'", name);
    else if (!S_ISREG(st.st_mode))
        status = hs_fail(err, HS_FORMAT, "'%s' is not a regular file", name);
    if (status != HS_OK) {
        if (fd >= 0)
            close(fd);
        return status;
    }
    const struct elf_source source = {fd, NULL, (size_t)st.st_size, !symbols};
    return elf_open(&source, name, ret, err);
}

hs_status hs_elf_open_path(const char *path, struct hs_elf **ret, struct hs_error *err)
{
    /* Without O_NONBLOCK a pipe under the name would hold us for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return elf_open_owned(fd, path, true, ret, err);
}

hs_status hs_elf_open_fd(int fd, const char *name, struct hs_elf **ret, struct hs_error *err)
{
    return elf_open_owned(fcntl(fd, F_DUPFD_CLOEXEC, 0), name, true, ret, err);
}

hs_status hs_elf_open_sections(int fd, const char *name, struct hs_elf **ret, struct hs_error *err)
{
    return elf_open_owned(fcntl(fd, F_DUPFD_CLOEXEC, 0), name, false, ret, err);
}

void hs_elf_let_go(struct hs_elf *elf)
{
    if (elf->fd < 0)
        return;
    (void)elf_cntl(elf->elf, ELF_C_FDDONE);
    for (size_t i = 0; i < elf->n_segments; i++)
        elf->segment_contents[i].view.fd = -1;
    close(elf->fd);
    elf->fd = -1;
}

hs_status hs_elf_open_memory(const void *bytes, size_t n_bytes, const char *name,
                             struct hs_elf **ret, struct hs_error *err)
{
    const struct elf_source source = {-1, bytes, n_bytes, false};
    return elf_open(&source, name, ret, err);
}

static void elf_free(struct hs_elf *elf)
{
    if (elf == NULL)
        return;
    elf_end(elf->elf);
    if (elf->fd >= 0)
        close(elf->fd);
    hs_free(elf->name);
    hs_free(elf->segments);
    for (size_t i = 0; i < elf->n_segments; i++)
        hs_elf_view_close_(&elf->segment_contents[i].view);
    hs_free(elf->segment_contents);
    for (size_t i = 0; i < elf->n_sections; i++)
        hs_pages_free(elf->sections[i].content.own, elf->sections[i].content.n_bytes, 1);
    hs_free(elf->sections);
    hs_free(elf->symbols);
    hs_table_fini(&elf->by_name);
    hs_pages_free(elf->mini_bytes, elf->n_mini_bytes, 1);
    hs_free(elf);
}

void hs_elf_close(struct hs_elf *elf)
{
    if (elf != NULL)
        elf_free(elf->mini);
    elf_free(elf);
}

void hs_elf_set_supplement(struct hs_elf *elf, struct hs_elf *supplement)
{
    uint64_t more = supplement->effort.left;

    elf->supplement = supplement;
    elf->effort.left += more < UINT64_MAX - elf->effort.left ? more : UINT64_MAX - elf->effort.left;
}

struct hs_elf *hs_elf_supplement_(const struct hs_elf *elf)
{
    return elf->supplement;
}

const char *hs_elf_name(const struct hs_elf *elf)
{
    return elf->name;
}

bool hs_elf_asked_too_much(const struct hs_elf *elf)
{
    return elf->effort.is_spent;
}

/* A program that is read from memory lends its bytes. */
uint64_t hs_elf_kept_bytes(const struct hs_elf *elf)
{
    uint64_t n_bytes = elf->by_name.n_slots * sizeof(uint64_t);

    n_bytes += (elf->n_symbols + elf->n_tls_symbols) * sizeof(struct hs_elf_symbol);
    for (size_t i = 0; i < elf->n_sections && elf->fd >= 0; i++)
        n_bytes += elf->sections[i].content.n_bytes;
    return n_bytes + elf->segments_total.n_resident;
}

bool hs_elf_is_dyn(const struct hs_elf *elf)
{
    return elf->is_dyn;
}

bool hs_elf_has_interpreter(const struct hs_elf *elf)
{
    return elf->has_interpreter;
}

hs_addr hs_elf_entry(const struct hs_elf *elf)
{
    return elf->entry;
}

const char *hs_elf_build_id(const struct hs_elf *elf)
{
    return elf->build_id;
}

const struct hs_elf_segment *hs_elf_segments(const struct hs_elf *elf, size_t *ret_n)
{
    *ret_n = elf->n_segments;
    return elf->segments;
}

bool hs_elf_extent(const struct hs_elf *elf, hs_addr *ret_lowest, hs_addr *ret_end)
{
    if (elf->n_segments == 0)
        return false;
    hs_addr end = 0;
    for (size_t i = 0; i < elf->n_segments; i++) {
        const struct hs_elf_segment *s = &elf->segments[i];
        if (s->vaddr + s->n_memory_bytes > end)
            end = s->vaddr + s->n_memory_bytes;
    }
    *ret_lowest = elf->segments[0].vaddr;
    *ret_end = end;
    return true;
}

bool hs_elf_tls(const struct hs_elf *elf, struct hs_elf_tls *ret)
{
    if (elf->has_tls)
        *ret = elf->tls;
    return elf->has_tls;
}

bool hs_elf_bias(const struct hs_elf *elf, hs_addr mapping_start, uint64_t mapping_file_offset,
                 uint64_t *ret)
{
    const uint64_t page = 4096;
    for (size_t i = 0; i < elf->n_segments; i++) {
        const struct hs_elf_segment *s = &elf->segments[i];
        uint64_t first = s->file_offset & ~(page - 1), end = s->file_offset + s->n_file_bytes;
        if (s->n_file_bytes == 0 || mapping_file_offset < first || mapping_file_offset >= end)
            continue;
        /* The kernel maps whole pages: vaddr and offset agree modulo the page. */
        *ret = mapping_start - (s->vaddr - s->file_offset + mapping_file_offset);
        return true;
    }
    return false;
}
