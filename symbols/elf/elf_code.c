#include "elf_code.h"

#include <unistd.h>

/* The part of a file's effort that is for code: the rest is for those who unwind and find types. */
enum { PART_OF_EFFORT = 4 };

hs_status hs_elf_code_init_(struct elf_code *code, struct hs_elf *elf, struct hs_error *err)
{
    *code = (struct elf_code){.elf = elf, .effort = {.left = elf->effort.left / PART_OF_EFFORT}};
    return HS_ALLOC(&code->window, ELF_CODE_WINDOW_BYTES, err);
}

void hs_elf_code_fini_(struct elf_code *code)
{
    hs_free(code->window);
    *code = (struct elf_code){0};
}

/* Returns the segment that the file has the code at `vaddr` in, or NULL. */
static const struct hs_elf_segment *code_segment(struct elf_code *c, hs_addr vaddr)
{
    const struct hs_elf_segment *s = c->segment;

    if (s == NULL || vaddr < s->vaddr || vaddr - s->vaddr >= s->n_file_bytes) {
        if (!hs_effort_take(&c->effort, 1 + c->elf->n_segments / ELF_CODE_BYTES_PER_STEP))
            return NULL;
        s = c->segment = hs_elf_segment_at(c->elf, vaddr);
    }
    return s != NULL && s->executable && vaddr - s->vaddr < s->n_file_bytes ? s : NULL;
}

/* Brings the code at `vaddr` in, as much as there is and fits. */
static void code_fill(struct elf_code *c, hs_addr vaddr, const struct hs_elf_segment *segment)
{
    uint64_t at = vaddr - segment->vaddr, n = segment->n_file_bytes - at;

    n = n < ELF_CODE_WINDOW_BYTES ? n : ELF_CODE_WINDOW_BYTES;
    c->window_at = vaddr;
    c->n_window = 0;
    if (!hs_effort_take(&c->effort, n / ELF_CODE_BYTES_PER_STEP))
        return;
    ssize_t got = pread(c->elf->fd, c->window, (size_t)n, (off_t)(segment->file_offset + at));
    c->n_window = got > 0 ? (size_t)got : 0;
}

const uint8_t *hs_elf_code_at_(struct elf_code *c, hs_addr vaddr, size_t *ret_n)
{
    const struct hs_elf_segment *segment = code_segment(c, vaddr);
    size_t n = *ret_n < ELF_CODE_WINDOW_BYTES ? *ret_n : ELF_CODE_WINDOW_BYTES;

    *ret_n = 0;
    if (segment == NULL)
        return NULL;
    if (c->elf->fd < 0) {
        const uint8_t *code = hs_elf_bytes_from(c->elf, vaddr, n, ret_n);
        return hs_effort_take(&c->effort, *ret_n / ELF_CODE_BYTES_PER_STEP) ? code : NULL;
    }
    if (vaddr < c->window_at || vaddr - c->window_at > c->n_window ||
        c->n_window - (vaddr - c->window_at) < n)
        code_fill(c, vaddr, segment);
    if (vaddr < c->window_at || vaddr - c->window_at > c->n_window)
        return NULL;
    uint64_t at = vaddr - c->window_at;
    *ret_n = c->n_window - at < n ? c->n_window - at : n;
    return c->window + at;
}
