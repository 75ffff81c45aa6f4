/* Reading the memory of a core: from the core, else from the file that was mapped there. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "core_private.h"
#include "target_private.h"

/* Behind what the core has of a mapping. A page of a file has zeros behind the file's end, further
 * pages are none. */
static size_t read_row(struct hs_core *core, const struct hs_core_row *row, hs_addr address,
                       uint8_t *bytes, size_t n_bytes)
{
    if (!hs_core_binary_open(core, row->binary))
        return 0;
    size_t got = hs_core_read_at(core->binaries[row->binary].known->fd,
                                 row->file_offset + (address - row->begin), bytes, n_bytes);
    if (got == 0 || got == n_bytes)
        return got;
    size_t end = (size_t)(((address + got + HS_CORE_PAGE - 1) & ~(HS_CORE_PAGE - 1)) - address);
    if (end > n_bytes)
        end = n_bytes;
    memset(bytes + got, 0, end - got);
    return end;
}

/* Bytes of the core's own file, which it had when it was opened: what is missing now is lost. */
static size_t read_own(struct hs_core *core, uint64_t at, uint8_t *bytes, size_t n_bytes)
{
    size_t got = hs_core_read_at(core->file->fd, at, bytes, n_bytes);
    core->is_unread |= got < n_bytes;
    return got;
}

enum read_way { READ_NOTHING, READ_CORE, READ_FILE, READ_ZERO };

/* Chooses how `address` in mapping number `at` is read, and up to where the same holds. */
static enum read_way read_judge(const struct hs_target *target, size_t at, hs_addr address,
                                hs_addr *ret_end)
{
    const struct hs_core *core = target->core;
    const struct hs_mapping *mapping = &target->mappings[at];
    const struct hs_core_source *source = &core->sources[at];
    bool has_row = source->row != HS_CORE_NONE;

    *ret_end = mapping->end;
    if (source->segment != HS_CORE_NONE) {
        const struct hs_core_segment *s = &core->segments[source->segment];
        hs_addr there = s->begin + s->n_bytes, claimed = s->begin + s->n_claimed_bytes;
        if (address < there) {
            *ret_end = there < mapping->end ? there : mapping->end;
            return READ_CORE;
        }
        if (address < claimed) { /* cut off: the file may do for what was never written to */
            *ret_end = claimed < mapping->end ? claimed : mapping->end;
            return has_row && !mapping->writable ? READ_FILE : READ_NOTHING;
        }
    }
    if (has_row)
        return READ_FILE;
    if (!mapping->readable || core->lacks_anonymous ||
        strncmp(hs_mapping_path(target, mapping), "[v", 2) == 0)
        return READ_NOTHING;
    return READ_ZERO; /* the kernel writes out what was ever written to */
}

hs_status hs_core_read_once(struct hs_target *target, hs_addr address, uint8_t *bytes,
                            size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    struct hs_core *core = target->core;
    const struct hs_mapping *mapping = hs_target_mapping_at(target, address);
    hs_addr end;

    (void)err; /* what is missing is no failure */
    *ret_n = 0;
    if (mapping == NULL)
        return HS_OK;
    size_t at = (size_t)(mapping - target->mappings);
    enum read_way way = read_judge(target, at, address, &end);
    if (n_bytes > end - address)
        n_bytes = (size_t)(end - address);
    if (way == READ_CORE) {
        const struct hs_core_segment *s = &core->segments[core->sources[at].segment];
        *ret_n = read_own(core, s->file_at + (address - s->begin), bytes, n_bytes);
    } else if (way == READ_FILE) {
        *ret_n = read_row(core, &core->rows[core->sources[at].row], address, bytes, n_bytes);
    } else if (way == READ_ZERO) {
        memset(bytes, 0, n_bytes);
        *ret_n = n_bytes;
    }
    return HS_OK;
}

/* Is file byte `at` in a hole, and up to where does the same hold? Where the system cannot tell,
 * all is data. */
static bool read_is_hole(struct hs_core *core, uint64_t at, uint64_t *ret_end)
{
    if (at < core->extent_begin || at >= core->extent_end) {
        off_t data = lseek(core->file->fd, (off_t)at, SEEK_DATA);
        off_t end = data < 0 ? -1 : lseek(core->file->fd, data, SEEK_HOLE);
        core->extent_begin = at;
        if (data < 0 && errno == ENXIO) { /* none up to the end */
            core->extent_data = core->extent_end = core->file->n_bytes;
        } else {
            core->extent_data = data < 0 ? at : (uint64_t)data;
            core->extent_end = end < 0 ? core->file->n_bytes : (uint64_t)end;
        }
        if (core->extent_end <= at)
            core->extent_end = at + 1;
    }
    bool is_hole = at < core->extent_data;
    *ret_end = is_hole ? core->extent_data : core->extent_end;
    return is_hole;
}

static bool read_is_zero(const uint8_t *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* The list of page runs that is being made: complete up to `address`. */
struct read_runs {
    struct hs_page_run *runs;
    size_t n, n_runs;
    hs_addr address;
};

/* The next n_pages are of one kind; 0: not there. False when there is no room for them. */
static bool read_add_run(struct read_runs *list, uint64_t n_pages, uint64_t kind)
{
    hs_addr end = list->address + n_pages * HS_CORE_PAGE;

    if (kind != 0 &&
        !hs_page_runs_add(list->runs, list->n, &list->n_runs, list->address, end, kind))
        return false;
    list->address = end;
    return true;
}

/* Pages from file byte `at` on, of which the core has n_bytes: a hole, or as many as fit the
 * buffer. */
static bool read_add_data(struct hs_core *core, uint64_t at, uint64_t n_bytes,
                          struct read_runs *list)
{
    uint64_t end, most = HS_CORE_BUFFER_BYTES / HS_CORE_PAGE * HS_CORE_PAGE;
    bool is_hole = read_is_hole(core, at, &end);
    uint64_t same = end - at < n_bytes ? end - at : n_bytes;

    if (is_hole && same >= HS_CORE_PAGE)
        return read_add_run(list, same / HS_CORE_PAGE, 0);
    size_t n_read = n_bytes < most ? (size_t)n_bytes : (size_t)most;
    size_t got = read_own(core, at, core->buffer, n_read);
    memset(core->buffer + got, 0, most - got);
    for (size_t i = 0; i * HS_CORE_PAGE < n_read; i++) {
        bool is_zero = read_is_zero(core->buffer + i * HS_CORE_PAGE, HS_CORE_PAGE);
        bool is_lost = got < n_read && (i + 1) * HS_CORE_PAGE > got; /* no zeros: not known */
        if (!read_add_run(list, 1, is_lost ? HS_PAGES_SWAPPED : is_zero ? 0 : HS_PAGES_PRESENT))
            return false;
    }
    return true;
}

/* From list->address on, in mapping number `at`: a part of it that is read in one way. */
static bool read_add_part(const struct hs_target *target, size_t at, hs_addr end,
                          struct read_runs *list)
{
    struct hs_core *core = target->core;
    hs_addr part_end;
    enum read_way way = read_judge(target, at, list->address, &part_end);

    if (part_end > end)
        part_end = end;
    if (way == READ_CORE) {
        const struct hs_core_segment *s = &core->segments[core->sources[at].segment];
        return read_add_data(core, s->file_at + (list->address - s->begin),
                             part_end - list->address, list);
    }
    uint64_t n_pages = (part_end - list->address - 1) / HS_CORE_PAGE + 1;
    return read_add_run(list, n_pages,
                        way == READ_ZERO      ? 0
                        : way == READ_NOTHING ? HS_PAGES_SWAPPED
                                              : HS_PAGES_PRESENT);
}

size_t hs_core_page_runs(const struct hs_target *target, hs_addr begin, hs_addr end,
                         struct hs_page_run *runs, size_t n, hs_addr *ret_told)
{
    struct read_runs list = {.runs = runs, .n = n, .address = begin & ~(HS_CORE_PAGE - 1)};

    if (end > UINT64_MAX - HS_CORE_PAGE)
        end = UINT64_MAX - HS_CORE_PAGE;
    while (list.address < end) {
        size_t at = HS_FIRST_ABOVE(target->mappings, target->n_mappings, end, list.address);
        if (at == target->n_mappings || target->mappings[at].begin >= end)
            list.address = end;
        else if (target->mappings[at].begin > list.address)
            list.address = target->mappings[at].begin;
        else if (!read_add_part(target, at, end, &list))
            break;
    }
    *ret_told = list.address;
    return list.n_runs;
}

uint64_t hs_core_data_bytes(const struct hs_target *target, hs_addr begin, hs_addr end)
{
    struct hs_core *core = target->core;
    uint64_t n_bytes = 0;

    while (begin < end) {
        const struct hs_core_segment *s = hs_core_segment_at(core, begin);
        if (s == NULL || begin - s->begin >= s->n_bytes)
            break;
        uint64_t at = s->file_at + (begin - s->begin), file_end = s->file_at + s->n_bytes, until;
        if (file_end - at > end - begin)
            file_end = at + (end - begin);
        bool is_hole = read_is_hole(core, at, &until);
        until = until < file_end ? until : file_end;
        n_bytes += is_hole ? 0 : until - at;
        begin += until - at;
    }
    return n_bytes;
}
