#include "elf_view.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_private.h"

/* Larger is no section but a sparse file. */
#define VIEW_MAX_BYTES (UINT64_C(1) << 36)

enum { VIEW_READ_STEPS = 32, VIEW_LARGE_BYTES = 1 << 20 };

static size_t view_n_chunks(const struct elf_view *view)
{
    return (view->n_bytes + ELF_VIEW_CHUNK - 1) / ELF_VIEW_CHUNK;
}

struct hs_effort *hs_elf_effort_(struct hs_elf *elf)
{
    return &elf->effort;
}

static bool view_comes_in_pieces(const struct hs_elf *elf, const struct hs_elf_section *section)
{
    return section->is_in_file && elf->fd >= 0 && !section->is_compressed &&
           section->n_bytes > ELF_VIEW_WHOLE_BYTES;
}

uint64_t hs_elf_claimed_bytes_(const struct hs_elf *elf, const struct hs_elf_section *section)
{
    Elf64_Chdr head;

    if (!section->is_compressed || elf->fd < 0)
        return elf->fd < 0 ? 0 : section->n_bytes;
    if (pread(elf->fd, &head, sizeof head, (off_t)section->file_offset) != (ssize_t)sizeof head ||
        !hs_elf_claim_is_possible_(head.ch_size, section->n_bytes))
        return 0;
    return head.ch_size;
}

void hs_elf_view_foresee_(struct hs_elf *elf, const char *name, uint64_t *ret_whole_bytes,
                          uint64_t *ret_piece_bytes)
{
    struct hs_elf_section section;

    *ret_whole_bytes = 0;
    *ret_piece_bytes = 0;
    if (!hs_elf_section_named(elf, name, &section) || !section.is_in_file)
        return;
    if (view_comes_in_pieces(elf, &section))
        *ret_piece_bytes = section.n_bytes < VIEW_MAX_BYTES ? section.n_bytes : VIEW_MAX_BYTES;
    else
        *ret_whole_bytes = hs_elf_claimed_bytes_(elf, &section);
}

/* Makes room for pieces of n_bytes that are read from view->fd. */
static hs_status view_reserve(struct elf_view *view, uint64_t n_bytes, struct hs_error *err)
{
    view->n_bytes = (size_t)n_bytes;
    size_t n = view_n_chunks(view);
    void *pages = NULL;
    HS_TRY(HS_ALLOC(&view->filled, n / 64 + 1, err));
    hs_status status = hs_pages_alloc(n, ELF_VIEW_CHUNK, &pages, err);
    if (status != HS_OK) {
        hs_free(view->filled);
        view->filled = NULL;
        return status;
    }
    (void)madvise(pages, n * ELF_VIEW_CHUNK, MADV_NOHUGEPAGE); /* 2 MiB for one entry */
    view->bytes = pages;
    return HS_OK;
}

static hs_status view_unpack(struct hs_elf *elf, const struct hs_elf_section *section,
                             struct elf_view *view, struct hs_error *err)
{
    HS_TRY(hs_elf_unpack_(elf, section, view->total->unpack, &view->unpacked, err));
    view->fd = view->unpacked.fd;
    hs_status status = view_reserve(view, view->unpacked.n_bytes, err);
    if (status != HS_OK)
        hs_spill_close(&view->unpacked);
    return status;
}

hs_status hs_elf_view_open_(struct hs_elf *elf, const char *name, struct elf_view_total *total,
                            struct elf_view *ret, struct hs_error *err)
{
    struct hs_elf_section section;
    struct elf_view view = {.total = total, .effort = &elf->effort, .fd = elf->fd};
    bool is_there = hs_elf_section_named(elf, name, &section);
    if (is_there && section.is_in_file && section.is_compressed && total->unpack != NULL &&
        hs_elf_claimed_bytes_(elf, &section) > ELF_VIEW_WHOLE_BYTES) {
        HS_TRY(view_unpack(elf, &section, &view, err));
    } else if (!is_there || !view_comes_in_pieces(elf, &section)) {
        HS_TRY(hs_elf_section_bytes_named(elf, name, &view.bytes, &view.n_bytes, err));
    } else {
        if (section.n_bytes > VIEW_MAX_BYTES)
            return hs_fail(err, HS_LIMIT, "section '%s' of '%s' is larger than 64 GiB", name,
                           elf->name);
        view.file_offset = section.file_offset;
        HS_TRY(view_reserve(&view, section.n_bytes, err));
    }
    *ret = view;
    return HS_OK;
}

hs_status hs_elf_view_open_range_(struct hs_elf *elf, uint64_t file_offset, uint64_t n_bytes,
                                  struct elf_view_total *total, struct elf_view *ret,
                                  struct hs_error *err)
{
    struct elf_view view = {
        .total = total, .effort = &elf->effort, .fd = elf->fd, .file_offset = file_offset};
    HS_TRY(view_reserve(&view, n_bytes, err));
    *ret = view;
    return HS_OK;
}

/* Gives the memory of a part back, which is read by offset from then on. */
static void view_empty(struct elf_view *part)
{
    hs_elf_view_drop_(part);
    if (part->filled != NULL) {
        hs_pages_free((void *)(uintptr_t)part->bytes, view_n_chunks(part), ELF_VIEW_CHUNK);
        part->bytes = NULL;
    }
}

hs_status hs_elf_view_join_(struct elf_view *view, struct elf_view *more, struct hs_error *err)
{
    struct elf_view joined = {.total = more->total, .effort = view->effort, .fd = -1};
    hs_status status = HS_OK;

    assert(view->n_bytes == 0 || more->n_bytes == 0 ||
           (view->parts == NULL && more->parts == NULL));
    if (more->n_bytes == 0 || view->n_bytes == 0) {
        if (view->n_bytes == 0) {
            hs_elf_view_close_(view);
            *view = *more;
        } else {
            hs_elf_view_close_(more);
        }
        *more = (struct elf_view){.bytes = NULL};
        return HS_OK;
    }
    if (view->n_bytes > VIEW_MAX_BYTES || more->n_bytes > VIEW_MAX_BYTES)
        status = hs_fail(err, HS_LIMIT, "debug information is larger than 64 GiB");
    if (status == HS_OK)
        status = HS_ALLOC(&joined.parts, 2, err);
    if (status == HS_OK)
        status = view_reserve(&joined, (uint64_t)view->n_bytes + more->n_bytes, err);
    if (status != HS_OK) {
        hs_free(joined.parts);
        hs_elf_view_close_(more);
        return status;
    }
    view_empty(view);
    view_empty(more);
    joined.parts[0] = *view;
    joined.parts[1] = *more;
    *view = joined;
    *more = (struct elf_view){.bytes = NULL};
    return HS_OK;
}

/* Closes a view but for the parts that it was joined of. */
static void view_close_own(struct elf_view *view)
{
    if (view->filled != NULL) {
        view->total->n_resident -= view->n_resident;
        if (view->bytes != NULL)
            hs_pages_free((void *)(uintptr_t)view->bytes, view_n_chunks(view), ELF_VIEW_CHUNK);
        hs_free(view->filled);
    }
    hs_spill_close(&view->unpacked);
    *view = (struct elf_view){.bytes = NULL};
}

void hs_elf_view_close_(struct elf_view *view)
{
    struct elf_view *parts = view->parts;

    view_close_own(view);
    for (int i = 0; parts != NULL && i < 2; i++)
        view_close_own(&parts[i]);
    hs_free(parts);
}

static bool view_has(const struct elf_view *view, size_t chunk)
{
    return (view->filled[chunk / 64] >> chunk % 64 & 1) != 0;
}

static size_t view_read_file(const struct elf_view *view, uint64_t at, uint8_t *ret, size_t n_bytes)
{
    size_t done = 0;
    while (done < n_bytes) {
        ssize_t n =
            pread(view->fd, ret + done, n_bytes - done, (off_t)(view->file_offset + at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    view->total->has_lost |= done < n_bytes && view->unpacked.is_open;
    return done;
}

/* Reads what there is from `at` on of one of the parts that a view was joined of. */
static size_t view_read_part(const struct elf_view *part, uint64_t at, uint8_t *ret, size_t n_bytes)
{
    size_t n = at < part->n_bytes ? part->n_bytes - (size_t)at : 0;

    n = n < n_bytes ? n : n_bytes;
    if (part->filled != NULL)
        return view_read_file(part, at, ret, n);
    memcpy(ret, part->bytes + (n == 0 ? 0 : at), n);
    return n;
}

static size_t view_read(const struct elf_view *view, uint64_t at, uint8_t *ret, size_t n_bytes)
{
    const struct elf_view *parts = view->parts;

    if (parts == NULL)
        return view_read_file(view, at, ret, n_bytes);
    size_t done = view_read_part(&parts[0], at, ret, n_bytes);
    if (done == n_bytes || at + done < parts[0].n_bytes)
        return done;
    return done +
           view_read_part(&parts[1], at + done - parts[0].n_bytes, ret + done, n_bytes - done);
}

/* Returns the steps (base/effort.h) that a read costs. A byte of a large piece costs more: it stays
 * in memory, and what comes in little by little is given back. */
static uint64_t view_steps(size_t n_bytes)
{
    return VIEW_READ_STEPS + n_bytes / (n_bytes <= VIEW_LARGE_BYTES ? 64 : 4);
}

/* Chunks [first, end), none of which is there. What cannot be read stays zero. */
static void view_fill_run(struct elf_view *view, size_t first, size_t end)
{
    size_t at = first * ELF_VIEW_CHUNK, n = (end - first) * ELF_VIEW_CHUNK;
    if (!hs_effort_take(view->effort, view_steps(n)))
        return;
    if (n > view->n_bytes - at)
        n = view->n_bytes - at;
    if (view_read(view, at, (uint8_t *)(uintptr_t)view->bytes + at, n) < n)
        view->total->n_failed++;
    for (size_t i = first; i < end; i++)
        view->filled[i / 64] |= UINT64_C(1) << i % 64;
    view->n_resident += (end - first) * ELF_VIEW_CHUNK;
    view->total->n_resident += (end - first) * ELF_VIEW_CHUNK;
}

void hs_elf_view_fill_(struct elf_view *view, uint64_t at, uint64_t n_bytes)
{
    if (at >= view->n_bytes || n_bytes == 0)
        return;
    if (n_bytes > view->n_bytes - at)
        n_bytes = view->n_bytes - at;
    size_t end = (size_t)((at + n_bytes - 1) / ELF_VIEW_CHUNK) + 1;
    for (size_t first = (size_t)(at / ELF_VIEW_CHUNK); first < end; first++) {
        if (view_has(view, first))
            continue;
        size_t run = first + 1;
        while (run < end && !view_has(view, run))
            run++;
        view_fill_run(view, first, run);
        first = run - 1;
    }
}

bool hs_elf_view_has_(const struct elf_view *view, uint64_t at, uint64_t n_bytes)
{
    if (at > view->n_bytes || n_bytes > view->n_bytes - at)
        return false;
    if (view->filled == NULL || n_bytes == 0)
        return true;
    size_t last = (size_t)((at + n_bytes - 1) / ELF_VIEW_CHUNK);
    for (size_t chunk = (size_t)(at / ELF_VIEW_CHUNK); chunk <= last; chunk++)
        if (!view_has(view, chunk))
            return false;
    return true;
}

size_t hs_elf_view_copy_(const struct elf_view *view, uint64_t at, void *ret, size_t n_bytes)
{
    if (at >= view->n_bytes)
        return 0;
    if (n_bytes > view->n_bytes - at)
        n_bytes = view->n_bytes - (size_t)at;
    if (view->filled != NULL)
        return view_read(view, at, ret, n_bytes);
    memcpy(ret, view->bytes + at, n_bytes);
    return n_bytes;
}

size_t hs_elf_view_peek_(const struct elf_view *view, uint64_t at, void *ret, size_t n_bytes)
{
    uint64_t n = at >= view->n_bytes ? 0 : view->n_bytes - at;

    n = n < n_bytes ? n : n_bytes;
    if (view->filled != NULL && !hs_effort_take(view->effort, view_steps(n)))
        return 0;
    return hs_elf_view_copy_(view, at, ret, (size_t)n);
}

void hs_elf_view_drop_(struct elf_view *view)
{
    if (view->filled == NULL || view->n_resident == 0)
        return;
    hs_pages_discard((void *)(uintptr_t)view->bytes, view_n_chunks(view) * ELF_VIEW_CHUNK);
    memset(view->filled, 0, (view_n_chunks(view) / 64 + 1) * sizeof(uint64_t));
    view->total->n_resident -= view->n_resident;
    view->n_resident = 0;
}
