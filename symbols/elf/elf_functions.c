/* Sources: the LSB's chapter on .eh_frame, DWARF 5, section 6.4.1. */
#include "elf_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/load.h"

enum {
    FRAME_PCREL_INT32 = 0x1b, /* DW_EH_PE_pcrel | DW_EH_PE_sdata4: what compilers write */
    FRAME_NOT_READ = 0xff,
    FRAME_BYTES_PER_STEP = 8,
    FUNCTIONS_MAX = 1 << 20,
    FRAME_COMMON_BYTES = 256, /* all that a common entry needs before its instructions */
};
#define FRAME_BYTES_MAX ((uint64_t)64 << 20)

struct frame_scan {
    const uint8_t *bytes;
    size_t n_bytes;
    hs_addr vaddr;
    size_t common;    /* the offset of the common entry that was read last */
    uint8_t encoding; /* of its functions' addresses */
};

/* Passes over the pointer of a personality routine. */
static void frame_skip_pointer(struct hs_cursor *c, uint8_t encoding)
{
    static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8, 0, 0, 0};

    if (sizes[encoding & 15] == 0)
        c->failed = true;
    hs_cursor_skip(c, sizes[encoding & 15]);
}

/* Returns the encoding of addresses that a common entry states; FRAME_NOT_READ: none that is read.
 */
static uint8_t frame_encoding(const uint8_t *entry, size_t n_bytes)
{
    struct hs_cursor c = hs_cursor_make(entry, n_bytes);
    uint8_t encoding = 0;
    uint32_t number = hs_cursor_u32(&c);
    uint8_t version = hs_cursor_u8(&c);
    const char *augmentation = hs_cursor_string(&c);

    if (number != 0 || (version != 1 && version != 3) || augmentation == NULL ||
        augmentation[0] != 'z')
        return FRAME_NOT_READ;
    (void)hs_cursor_varint(&c); /* of code */
    (void)hs_cursor_varint(&c); /* of data: as long, whatever its sign */
    (void)(version == 1 ? hs_cursor_u8(&c) : hs_cursor_varint(&c));
    (void)hs_cursor_varint(&c);
    for (const char *at = augmentation + 1; *at != '\0' && !c.failed; at++)
        if (*at == 'R')
            encoding = hs_cursor_u8(&c);
        else if (*at == 'P')
            frame_skip_pointer(&c, hs_cursor_u8(&c));
        else if (*at == 'L')
            (void)hs_cursor_u8(&c);
        else if (*at != 'S' && *at != 'B')
            return FRAME_NOT_READ;
    return c.failed ? FRAME_NOT_READ : encoding;
}

/* Finds the encoding by the common entry that the description at `at` leads back to. Descriptions
 * may lead to others in turn, so that no more of one is read than a step is worth. */
static uint8_t frame_encoding_of(struct frame_scan *scan, size_t at, uint32_t back)
{
    if (back > at)
        return FRAME_NOT_READ;
    size_t common = at - back; /* of its length */
    if (common == scan->common)
        return scan->encoding;
    if (scan->n_bytes - common < 2 * sizeof(uint32_t))
        return FRAME_NOT_READ;
    size_t n = hs_load_u32(scan->bytes + common), left = scan->n_bytes - common - sizeof(uint32_t);
    left = left < FRAME_COMMON_BYTES ? left : FRAME_COMMON_BYTES;
    scan->common = common;
    scan->encoding = frame_encoding(scan->bytes + common + sizeof(uint32_t), n < left ? n : left);
    return scan->encoding;
}

static hs_status function_add(struct elf_functions *functions, hs_addr begin, uint64_t n_bytes,
                              const struct hs_elf_symbol *symbol, struct hs_error *err)
{
    if (n_bytes == 0 || n_bytes > UINT32_MAX || functions->n == FUNCTIONS_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&functions->all, &functions->capacity, functions->n + 1, err));
    functions->all[functions->n++] =
        (struct elf_function){.begin = begin, .n_bytes = (uint32_t)n_bytes, .symbol = symbol};
    return HS_OK;
}

static hs_status frame_read(struct frame_scan *scan, struct hs_effort *effort,
                            struct elf_functions *ret, struct hs_error *err)
{
    enum { DESCRIPTION = 12 }; /* the way back, where the function begins, how long it is */

    for (size_t at = 0; scan->n_bytes - at >= sizeof(uint32_t) && hs_effort_take(effort, 1);) {
        uint32_t n = hs_load_u32(scan->bytes + at);
        const uint8_t *entry = scan->bytes + at + sizeof(uint32_t);
        if (n > scan->n_bytes - at - sizeof(uint32_t))
            break; /* 2^32 - 1: a longer form, which nobody writes here */
        size_t body = at + sizeof(uint32_t);
        at = body + n;
        if (n < DESCRIPTION)
            continue; /* the end mark of a part */
        uint32_t back = hs_load_u32(entry);
        if (back == 0 || frame_encoding_of(scan, body, back) != FRAME_PCREL_INT32)
            continue;
        hs_addr begin = scan->vaddr + body + sizeof(uint32_t) +
                        (uint64_t)(int64_t)(int32_t)hs_load_u32(entry + sizeof(uint32_t));
        HS_TRY(function_add(ret, begin, hs_load_u32(entry + 2 * sizeof(uint32_t)), NULL, err));
    }
    return HS_OK;
}

static hs_status frame_list(struct hs_elf *elf, struct hs_effort *effort, struct elf_functions *ret,
                            struct hs_error *err)
{
    struct hs_elf_section section;
    uint8_t *bytes = NULL;

    if (!hs_elf_section_named(elf, ".eh_frame", &section) || section.vaddr == 0 ||
        section.n_bytes == 0 || section.n_bytes > FRAME_BYTES_MAX || !section.is_in_file ||
        !hs_effort_take(effort, section.n_bytes / FRAME_BYTES_PER_STEP))
        return HS_OK;
    size_t n_bytes = (size_t)section.n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&bytes, n_bytes, err));
    struct frame_scan scan = {.bytes = bytes, .vaddr = section.vaddr, .common = SIZE_MAX};
    scan.n_bytes = hs_elf_copy_at(elf, section.vaddr, bytes, n_bytes);
    hs_status status = frame_read(&scan, effort, ret, err);
    hs_pages_free(bytes, n_bytes, sizeof *bytes);
    return status;
}

static hs_status symbols_list(const struct hs_elf *names, struct hs_effort *effort,
                              struct elf_functions *ret, struct hs_error *err)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(names, &n);

    for (size_t i = 0; i < n && hs_effort_take(effort, 1); i++)
        if (symbols[i].kind == HS_SYMBOL_CODE)
            HS_TRY(function_add(ret, symbols[i].vaddr, symbols[i].n_bytes, &symbols[i], err));
    return HS_OK;
}

/* Orders by begin, and those with a name first. */
static int function_order(const void *left, const void *right)
{
    const struct elf_function *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if ((a->symbol == NULL) != (b->symbol == NULL))
        return a->symbol == NULL ? 1 : -1;
    return a->symbol == NULL ? 0 : (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* Leaves one of each beginning, as long as the longest of them up to the next. */
static void functions_join(struct elf_functions *functions)
{
    struct elf_function *all = functions->all;
    size_t n = 0;

    for (size_t i = 0; i < functions->n; i++) {
        struct elf_function *last = n > 0 ? &all[n - 1] : NULL;
        if (last != NULL && last->begin == all[i].begin) {
            last->n_bytes = last->n_bytes > all[i].n_bytes ? last->n_bytes : all[i].n_bytes;
            continue;
        }
        if (last != NULL && all[i].begin - last->begin < last->n_bytes)
            last->n_bytes = (uint32_t)(all[i].begin - last->begin);
        all[n++] = all[i];
    }
    functions->n = n;
}

hs_status hs_elf_functions_find_(struct hs_elf *elf, const struct hs_elf *names,
                                 struct hs_effort *effort, struct elf_functions *ret,
                                 struct hs_error *err)
{
    HS_TRY(frame_list(elf, effort, ret, err));
    HS_TRY(symbols_list(names, effort, ret, err));
    if (ret->n > 1)
        qsort(ret->all, ret->n, sizeof *ret->all, function_order);
    functions_join(ret);
    return HS_OK;
}

void hs_elf_functions_fini_(struct elf_functions *functions)
{
    hs_free(functions->all);
    *functions = (struct elf_functions){0};
}
