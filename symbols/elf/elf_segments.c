/* File-backed bytes of a hs_elf by their addresses, brought in piece by piece: of a program with
 * 50 MB of constants some names are wanted. */
#include <string.h>

#include "elf_private.h"

/* Returns the bytes of a segment that are in the file; what the file is too short for is left off
 * the end. 0 for a segment that is too large to be read. */
static uint64_t segment_in_file(const struct hs_elf *elf, const struct hs_elf_segment *s)
{
    if (s->file_offset >= elf->n_file_bytes)
        return 0;
    uint64_t n = elf->n_file_bytes - s->file_offset;
    n = n < s->n_file_bytes ? n : s->n_file_bytes;
    return n <= ELF_MAX_CONTENT ? n : 0;
}

static void segment_lend(struct hs_elf *elf, uint64_t offset, uint64_t n, struct elf_view *ret)
{
    if (!hs_effort_hold(&elf->effort, n))
        return;
    const Elf_Data *data = elf_getdata_rawchunk(elf->elf, (int64_t)offset, (size_t)n, ELF_T_BYTE);
    if (data == NULL || data->d_buf == NULL || data->d_size != n)
        return;
    ret->bytes = data->d_buf;
    ret->n_bytes = (size_t)n;
}

static struct elf_segment_content *segment_content(struct hs_elf *elf, size_t number)
{
    struct elf_segment_content *content = &elf->segment_contents[number];
    const struct hs_elf_segment *s = &elf->segments[number];
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t n = segment_in_file(elf, s);

    if (content->tried)
        return content;
    content->tried = true;
    if (n != 0 && elf->fd < 0)
        segment_lend(elf, s->file_offset, n, &content->view);
    else if (n != 0 && hs_elf_view_open_range_(elf, s->file_offset, n, &elf->segments_total,
                                               &content->view, &ignored) != HS_OK)
        elf->has_no_room = true;
    return content;
}

/* The content of the segment that has a byte for `vaddr` in the file, or NULL. */
static struct elf_segment_content *segment_with(struct hs_elf *elf, hs_addr vaddr, uint64_t *ret_at)
{
    for (size_t i = 0; i < elf->n_segments; i++) {
        const struct hs_elf_segment *s = &elf->segments[i];
        if (vaddr < s->vaddr || vaddr - s->vaddr >= s->n_file_bytes)
            continue;
        struct elf_segment_content *content = segment_content(elf, i);
        *ret_at = vaddr - s->vaddr;
        return *ret_at < content->view.n_bytes && !content->is_lost ? content : NULL;
    }
    return NULL;
}

/* Brings a segment into memory; of a file that has become shorter nothing more is believed. */
static bool segment_bring(struct hs_elf *elf, struct elf_segment_content *content, uint64_t at,
                          size_t n)
{
    uint64_t n_failed = elf->segments_total.n_failed;

    if (content->view.filled == NULL)
        return true;
    hs_elf_view_fill_(&content->view, at, n);
    content->is_lost |= elf->segments_total.n_failed != n_failed;
    return !content->is_lost && hs_elf_view_has_(&content->view, at, n);
}

const uint8_t *hs_elf_bytes_from(struct hs_elf *elf, hs_addr vaddr, size_t n_most,
                                 size_t *ret_n_bytes)
{
    uint64_t at;
    struct elf_segment_content *content = segment_with(elf, vaddr, &at);

    *ret_n_bytes = 0;
    if (content == NULL)
        return NULL;
    size_t n = content->view.n_bytes - (size_t)at;
    n = n < n_most ? n : n_most;
    if (!segment_bring(elf, content, at, n))
        return NULL;
    *ret_n_bytes = n;
    return content->view.bytes + at;
}

const uint8_t *hs_elf_bytes_at(struct hs_elf *elf, hs_addr vaddr, size_t n_bytes)
{
    uint64_t at;
    struct elf_segment_content *content = segment_with(elf, vaddr, &at);

    if (content == NULL || content->view.n_bytes - (size_t)at < n_bytes ||
        !segment_bring(elf, content, at, n_bytes))
        return NULL;
    return content->view.bytes + at;
}

size_t hs_elf_copy_at(struct hs_elf *elf, hs_addr vaddr, void *ret, size_t n_bytes)
{
    uint64_t at;
    const struct elf_segment_content *content = segment_with(elf, vaddr, &at);

    return content == NULL ? 0 : hs_elf_view_copy_(&content->view, at, ret, n_bytes);
}

uint64_t hs_elf_data_bytes(const struct hs_elf *elf)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < elf->n_segments; i++)
        n_bytes += elf->segments[i].writable ? segment_in_file(elf, &elf->segments[i]) : 0;
    return n_bytes < elf->n_file_bytes ? n_bytes : elf->n_file_bytes;
}

bool hs_elf_had_no_room(const struct hs_elf *elf)
{
    return elf->has_no_room;
}

const struct hs_elf_segment *hs_elf_segment_at(const struct hs_elf *elf, hs_addr vaddr)
{
    for (size_t i = 0; i < elf->n_segments; i++) {
        const struct hs_elf_segment *s = &elf->segments[i];
        if (vaddr >= s->vaddr && vaddr - s->vaddr < s->n_memory_bytes)
            return s;
    }
    return NULL;
}
