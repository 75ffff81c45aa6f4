/* Reading the memory of a core: from the core, else from the file that was mapped there. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "core_private.h"
#include "target_private.h"

/* Bits of a page map entry: has a page; has one in swap, that is, must be read to be known. */
#define READ_PRESENT ((uint64_t)1 << 63)
#define READ_SWAPPED ((uint64_t)1 << 62)

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

enum read_way { READ_NOTHING, READ_CORE, READ_FILE, READ_ZERO };

/* How `address` in mapping number `at` is read, and up to where the same holds. */
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
        *ret_n = hs_core_read_at(core->file->fd, s->file_at + (address - s->begin), bytes, n_bytes);
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

/* Pages from file byte `at` on, of which the core has n_bytes: as many as fit the buffer. */
static size_t read_mark_data(struct hs_core *core, uint64_t at, uint64_t n_bytes, uint64_t *entries,
                             size_t n)
{
    uint64_t end;
    bool is_hole = read_is_hole(core, at, &end);
    uint64_t same = end - at < n_bytes ? end - at : n_bytes;

    if (is_hole && same >= HS_CORE_PAGE) {
        n = same / HS_CORE_PAGE < n ? (size_t)(same / HS_CORE_PAGE) : n;
        memset(entries, 0, n * sizeof *entries);
        return n;
    }
    if (n > HS_CORE_BUFFER_BYTES / HS_CORE_PAGE)
        n = HS_CORE_BUFFER_BYTES / HS_CORE_PAGE;
    size_t n_read = n_bytes < n * HS_CORE_PAGE ? (size_t)n_bytes : n * HS_CORE_PAGE;
    size_t got = hs_core_read_at(core->file->fd, at, core->buffer, n_read);
    memset(core->buffer + got, 0, n * HS_CORE_PAGE - got);
    n = (n_read + HS_CORE_PAGE - 1) / HS_CORE_PAGE;
    for (size_t i = 0; i < n; i++)
        entries[i] = read_is_zero(core->buffer + i * HS_CORE_PAGE, HS_CORE_PAGE) ? 0 : READ_PRESENT;
    return n;
}

size_t hs_core_pages(const struct hs_target *target, hs_addr begin, uint64_t *entries, size_t n)
{
    struct hs_core *core = target->core;
    hs_addr address = begin & ~(HS_CORE_PAGE - 1), end;
    size_t done = 0;

    while (done < n) {
        const struct hs_mapping *mapping = hs_target_mapping_at(target, address);
        if (mapping == NULL) {
            entries[done++] = 0;
            address += HS_CORE_PAGE;
            continue;
        }
        size_t at = (size_t)(mapping - target->mappings), took;
        enum read_way way = read_judge(target, at, address, &end);
        if (way == READ_CORE) {
            const struct hs_core_segment *s = &core->segments[core->sources[at].segment];
            took = read_mark_data(core, s->file_at + (address - s->begin), end - address,
                                  entries + done, n - done);
        } else {
            uint64_t n_pages = (end - address + HS_CORE_PAGE - 1) / HS_CORE_PAGE;
            took = n_pages < n - done ? (size_t)n_pages : n - done;
            for (size_t i = 0; i < took; i++)
                entries[done + i] = way == READ_ZERO      ? 0
                                    : way == READ_NOTHING ? READ_SWAPPED
                                                          : READ_PRESENT;
        }
        done += took;
        address += took * HS_CORE_PAGE;
    }
    return done;
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
