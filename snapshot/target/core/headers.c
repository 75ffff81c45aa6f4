/* The ELF header and the program headers of a core.
 *
 * Every number is the file's own to choose. A header that makes no sense is passed over and
 * counted; what lies behind the end of the file is lost, and counted as that. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "core_private.h"

enum {
    HEADERS_BATCH = 256,
    HEADERS_MAX = 1 << 22, /* of vm.max_map_count a process has 65,530 */
    EHDR_BYTES = 64,
    PHDR_BYTES = 56,
    SHDR_INFO_AT = 44,
};

struct headers_table {
    uint64_t at, n, n_there;
};

static hs_status headers_refuse(const struct hs_core *core, struct hs_error *err, const char *what)
{
    (void)hs_fail(err, HS_FORMAT, "cannot use '%s' as a core: it is %s", core->file->name, what);
    return hs_hint(err, "give the core of a 64-bit x86 program, as the kernel or gcore writes it");
}

static const char *headers_type_name(uint16_t type)
{
    return type == ET_EXEC || type == ET_DYN ? "a program or library"
           : type == ET_REL                  ? "an object file"
                                             : "of an unknown kind of ELF file";
}

static hs_status headers_check_identity(const struct hs_core *core, const uint8_t *bytes,
                                        struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, EHDR_BYTES);

    hs_cursor_seek(&c, 16);
    uint16_t type = hs_cursor_u16(&c), machine = hs_cursor_u16(&c);
    if (bytes[EI_DATA] != ELFDATA2LSB)
        return headers_refuse(core, err, "of a big-endian machine");
    if (type != ET_CORE)
        return headers_refuse(core, err, headers_type_name(type));
    if (bytes[EI_CLASS] != ELFCLASS64)
        return headers_refuse(core, err, "of a 32-bit program");
    if (machine != HS_ARCH_ELF_MACHINE) {
        (void)hs_fail(err, HS_FORMAT,
                      "cannot use '%s' as a core: it is of machine %u, not " HS_ARCH_NAME,
                      core->file->name, machine);
        return hs_hint(err, "cores of other architectures are not supported");
    }
    return HS_OK;
}

/* More than 65,534 segments: their number stands in section 0 (elf(5), PN_XNUM). */
static hs_status headers_count(const struct hs_core *core, uint64_t sections_at, uint64_t *n,
                               struct hs_error *err)
{
    uint8_t bytes[4];
    uint64_t at;

    if (!hs_add_fits(sections_at, SHDR_INFO_AT, &at) || sections_at == 0 ||
        hs_core_file_read(core->file, at, bytes, sizeof bytes, err) != HS_OK)
        return headers_refuse(core, err, "damaged: the number of its segments is missing");
    struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
    *n = hs_cursor_u32(&c);
    return HS_OK;
}

static hs_status headers_find_table(const struct hs_core *core, struct headers_table *ret,
                                    struct hs_error *err)
{
    uint8_t bytes[EHDR_BYTES];

    if (core->file->n_bytes < EHDR_BYTES ||
        hs_core_file_read(core->file, 0, bytes, sizeof bytes, err) != HS_OK ||
        memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return headers_refuse(core, err, "no ELF file");
    HS_TRY(headers_check_identity(core, bytes, err));
    struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
    hs_cursor_seek(&c, 32);
    ret->at = hs_cursor_u64(&c);
    uint64_t sections_at = hs_cursor_u64(&c);
    hs_cursor_skip(&c, 6); /* flags, the size of this header */
    uint16_t n_each = hs_cursor_u16(&c);
    ret->n = hs_cursor_u16(&c);
    if (ret->n == PN_XNUM)
        HS_TRY(headers_count(core, sections_at, &ret->n, err));
    if (ret->n == 0 || n_each != PHDR_BYTES || ret->at >= core->file->n_bytes)
        return headers_refuse(core, err, "damaged: it has no program headers");
    ret->n_there = (core->file->n_bytes - ret->at) / PHDR_BYTES;
    if (ret->n_there > ret->n)
        ret->n_there = ret->n;
    if (ret->n_there > HEADERS_MAX)
        return headers_refuse(core, err, "damaged: it has too many program headers");
    return HS_OK;
}

/* Only whole pages count, and all of a last one that the segment itself ends in. */
static uint64_t headers_bytes_there(const struct hs_core *core, uint64_t at, uint64_t n_claimed)
{
    uint64_t left = at < core->file->n_bytes ? core->file->n_bytes - at : 0;
    return n_claimed <= left ? n_claimed : left - left % HS_CORE_PAGE;
}

/* Is it more than an address space has? */
static bool headers_is_endless(hs_addr begin, uint64_t n_bytes)
{
    hs_addr last;
    return hs_add_fits(begin, n_bytes - 1, &last) && last >= HS_CORE_USER_END &&
           (begin != HS_CORE_VSYSCALL || n_bytes > HS_CORE_PAGE);
}

static hs_status headers_add_segment(struct hs_core *core, struct hs_core_segment segment,
                                     uint64_t n_memory_bytes, struct hs_error *err)
{
    uint64_t rounded, last;

    if (n_memory_bytes == 0)
        return HS_OK;
    if (headers_is_endless(segment.begin, n_memory_bytes)) {
        core->n_damaged++;
        if (segment.n_claimed_bytes == 0 || n_memory_bytes <= segment.n_claimed_bytes)
            return HS_OK;
        n_memory_bytes = segment.n_claimed_bytes; /* that much may be true */
        if (headers_is_endless(segment.begin, n_memory_bytes))
            return HS_OK;
    }
    if (segment.begin % HS_CORE_PAGE != 0 ||
        !hs_add_fits(n_memory_bytes, HS_CORE_PAGE - 1, &rounded) ||
        !hs_add_fits(segment.begin, rounded - rounded % HS_CORE_PAGE, &segment.end) ||
        !hs_add_fits(segment.file_at, segment.n_claimed_bytes, &last)) {
        core->n_damaged++;
        return HS_OK;
    }
    if (segment.n_claimed_bytes > n_memory_bytes)
        segment.n_claimed_bytes = n_memory_bytes;
    segment.n_bytes = headers_bytes_there(core, segment.file_at, segment.n_claimed_bytes);
    HS_TRY(HS_GROW(&core->segments, &core->segments_capacity, core->n_segments + 1, err));
    core->segments[core->n_segments++] = segment;
    return HS_OK;
}

static hs_status headers_take(struct hs_core *core, struct hs_cursor *c, struct hs_error *err)
{
    struct hs_core_segment segment = {0};

    uint32_t type = hs_cursor_u32(c);
    segment.flags = hs_cursor_u32(c);
    segment.file_at = hs_cursor_u64(c);
    segment.begin = hs_cursor_u64(c);
    hs_cursor_skip(c, 8);
    segment.n_claimed_bytes = hs_cursor_u64(c);
    uint64_t n_memory_bytes = hs_cursor_u64(c);
    hs_cursor_skip(c, 8);
    if (type == PT_LOAD)
        return headers_add_segment(core, segment, n_memory_bytes, err);
    if (type != PT_NOTE)
        return HS_OK;
    HS_TRY(HS_GROW(&core->notes, &core->notes_capacity, core->n_notes + 1, err));
    uint64_t left =
        segment.file_at < core->file->n_bytes ? core->file->n_bytes - segment.file_at : 0;
    core->notes[core->n_notes++] = (struct hs_core_span){
        segment.file_at, segment.n_claimed_bytes < left ? segment.n_claimed_bytes : left};
    return HS_OK;
}

static int headers_compare(const void *a, const void *b)
{
    const struct hs_core_segment *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->file_at != y->file_at)
        return x->file_at < y->file_at ? -1 : 1;
    return 0;
}

/* Sorts the segments and cuts those that overlap: what two of them claim is the first one's. */
static void headers_disjoin(struct hs_core *core)
{
    size_t n = 0;
    hs_addr end = 0;

    if (core->n_segments != 0)
        qsort(core->segments, core->n_segments, sizeof *core->segments, headers_compare);
    for (size_t i = 0; i < core->n_segments; i++) {
        struct hs_core_segment s = core->segments[i];
        core->n_damaged += s.begin < end;
        if (s.end <= end)
            continue;
        uint64_t cut = s.begin < end ? end - s.begin : 0;
        s.begin += cut;
        s.file_at += cut;
        s.n_claimed_bytes -= cut < s.n_claimed_bytes ? cut : s.n_claimed_bytes;
        s.n_bytes -= cut < s.n_bytes ? cut : s.n_bytes;
        core->n_lost_bytes += s.n_claimed_bytes - s.n_bytes;
        end = s.end;
        core->segments[n++] = s;
    }
    core->n_segments = n;
}

hs_status hs_core_read_headers(struct hs_core *core, struct hs_error *err)
{
    uint8_t bytes[HEADERS_BATCH * PHDR_BYTES];
    struct headers_table table = {0};

    HS_TRY(headers_find_table(core, &table, err));
    for (uint64_t i = 0; i < table.n_there; i += HEADERS_BATCH) {
        uint64_t n = table.n_there - i < HEADERS_BATCH ? table.n_there - i : HEADERS_BATCH;
        HS_TRY(
            hs_core_file_read(core->file, table.at + i * PHDR_BYTES, bytes, n * PHDR_BYTES, err));
        struct hs_cursor c = hs_cursor_make(bytes, n * PHDR_BYTES);
        for (uint64_t j = 0; j < n; j++)
            HS_TRY(headers_take(core, &c, err));
    }
    core->n_damaged += table.n - table.n_there;
    headers_disjoin(core);
    return HS_OK;
}
