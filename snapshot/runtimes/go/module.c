/* The tables of the module: the table of functions, which no strip takes away, and the record that
 * leads to all others. */
#include <string.h>

#include "base/load.h"
#include "heap.h"
#include "symbols/elf.h"

/* symtab.go: pcHeader {magic, two zeros, least instruction, bytes of a pointer, ...}. */
static const uint8_t magic_118[8] = {0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8};
static const uint8_t magic_120[8] = {0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8};
enum {
    FUNCNAME_AT = 32,
    WINDOW_BYTES = 1 << 16,
    STEP = 8,        /* it stands at a multiple of 32, and of 8 in 1.27 */
    TABLES_MAX = 16, /* places that look like a table of functions */
    MODULE_BYTES_MAX = 1 << 30,
    FUNCTIONS_MAX = 1 << 24
};
#define TABLE_PAGE UINT64_C(4096)

struct tables {
    hs_addr at[TABLES_MAX];
    size_t n;
};

static const struct hs_object *program(const struct hs_go_heap *heap)
{
    return &heap->dump->objects.objects[0];
}

static void tables_search(const struct hs_go_heap *heap, const struct hs_elf_segment *segment,
                          const uint8_t *magic, struct tables *ret)
{
    const struct hs_object *object = program(heap);
    uint8_t window[WINDOW_BYTES];

    for (uint64_t at = 0; at < segment->n_file_bytes; at += sizeof window) {
        size_t n = hs_elf_copy_at(object->elf, segment->vaddr + at, window, sizeof window);
        for (size_t i = 0; i + sizeof magic_118 <= n && ret->n < TABLES_MAX; i += STEP)
            if (memcmp(window + i, magic, sizeof magic_118) == 0)
                ret->at[ret->n++] = segment->vaddr + at + i + object->bias;
        if (n < sizeof window)
            return;
    }
}

static void tables_find(const struct hs_go_heap *heap, struct tables *ret)
{
    static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
    const struct hs_object *object = program(heap);
    struct hs_elf_section section;
    size_t n;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hs_elf_section_named(object->elf, names[i], &section))
            ret->at[ret->n++] = section.vaddr + object->bias;
    if (ret->n != 0)
        return;
    const struct hs_elf_segment *segments = hs_elf_segments(object->elf, &n);
    for (size_t i = 0; i < n; i++)
        tables_search(heap, &segments[i], heap->layout->minor < 20 ? magic_118 : magic_120, ret);
}

/* Finds the record whose first words lead to the table and to the names in it. */
static bool find_in_segment(const struct hs_go_heap *heap, const struct hs_elf_segment *segment,
                            hs_addr table, hs_addr names, hs_addr *ret)
{
    hs_addr begin = segment->vaddr + program(heap)->bias;
    hs_addr end = begin + segment->n_memory_bytes;
    uint64_t word;

    for (hs_addr at = begin & ~(uint64_t)(HS_WORD_BYTES - 1); at < end;) {
        hs_addr stop = (at | (TABLE_PAGE - 1)) + 1 < end ? (at | (TABLE_PAGE - 1)) + 1 : end;
        size_t n = (stop - at) / HS_WORD_BYTES * HS_WORD_BYTES;
        const uint8_t *bytes = hs_go_bytes(heap, at, n);
        for (size_t i = 0; bytes != NULL && i < n; i += HS_WORD_BYTES)
            if (hs_load_u64(bytes + i) == table && hs_go_u64(heap, at + i + HS_WORD_BYTES, &word) &&
                word == names) {
                *ret = at + i;
                return true;
            }
        at = stop;
    }
    return false;
}

static bool find_record(const struct hs_go_heap *heap, const struct tables *tables, hs_addr *ret)
{
    size_t n;
    const struct hs_elf_segment *segments = hs_elf_segments(program(heap)->elf, &n);
    uint64_t offset;

    for (unsigned writable = 2; writable-- > 0;)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; segments[i].writable == writable && k < tables->n; k++)
                if (hs_go_u64(heap, tables->at[k] + FUNCNAME_AT, &offset) &&
                    find_in_segment(heap, &segments[i], tables->at[k], tables->at[k] + offset, ret))
                    return true;
    return false;
}

/* ---- its members */

static bool is_range(hs_addr begin, hs_addr end)
{
    return begin <= end && end - begin <= MODULE_BYTES_MAX && end < HS_USER_END;
}

static bool read_data(const struct hs_go_heap *heap, unsigned which, int32_t begin_at,
                      int32_t end_at, int32_t mask_at, struct hs_go_module *m)
{
    struct hs_go_data *data = &m->data[which];
    uint32_t n_bits = 0;

    if (!hs_go_u64(heap, m->address + (uint64_t)begin_at, &data->begin) ||
        !hs_go_u64(heap, m->address + (uint64_t)end_at, &data->end) ||
        !is_range(data->begin, data->end))
        return false;
    data->begin = (data->begin + HS_WORD_BYTES - 1) & ~(uint64_t)(HS_WORD_BYTES - 1);
    if (mask_at < 0)
        return true;
    if (!hs_go_u32(heap, m->address + (uint64_t)mask_at, &n_bits) ||
        !hs_go_u64(heap, m->address + (uint64_t)mask_at + HS_WORD_BYTES, &data->mask))
        return false;
    data->n_mask_bits = n_bits;
    if (n_bits > MODULE_BYTES_MAX / HS_WORD_BYTES)
        return false;
    return n_bits <= (data->end - data->begin) / HS_WORD_BYTES + 1;
}

static bool read_words(const struct hs_go_heap *heap, struct hs_go_module *m)
{
    const struct hs_go_layout *l = heap->layout;
    const struct {
        int32_t at;
        hs_addr *ret;
    } words[] = {
        {l->moduledata_text, &m->text},
        {l->moduledata_etext, &m->etext},
        {l->moduledata_types, &m->types},
        {l->moduledata_etypes, &m->etypes},
        {l->moduledata_rodata, &m->rodata},
        {l->moduledata_gofunc, &m->gofunc},
        {l->moduledata_funcnametab, &m->funcnametab},
        {l->moduledata_cutab, &m->cutab},
        {l->moduledata_filetab, &m->filetab},
        {l->moduledata_pctab, &m->pctab},
        {l->moduledata_pctab + HS_WORD_BYTES, &m->n_pctab},
        {l->moduledata_pclntable, &m->pclntable},
        {l->moduledata_pclntable + HS_WORD_BYTES, &m->n_pclntable},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!hs_go_u64(heap, m->address + (uint64_t)words[i].at, words[i].ret))
            return false;
    return is_range(m->text, m->etext) && is_range(m->types, m->etypes) && m->text < m->etext &&
           m->types < m->etypes && m->n_pctab < MODULE_BYTES_MAX &&
           m->n_pclntable < MODULE_BYTES_MAX;
}

/* Reads the table of functions, which ends with the end of the text. */
static bool read_functions(const struct hs_go_heap *heap, struct hs_go_module *m)
{
    hs_addr table;
    uint64_t n;

    if (!hs_go_u64(heap, m->address + (uint64_t)heap->layout->moduledata_ftab, &table) ||
        !hs_go_u64(heap, m->address + (uint64_t)heap->layout->moduledata_ftab + HS_WORD_BYTES,
                   &n) ||
        n < 2 || n > FUNCTIONS_MAX)
        return false;
    m->ftab = hs_go_bytes(heap, table, n * 2 * sizeof(uint32_t));
    m->n_functions = n - 1;
    return m->ftab != NULL;
}

hs_status hs_go_find_module(struct hs_go_heap *heap, struct hs_error *err)
{
    const struct hs_go_layout *l = heap->layout;
    struct hs_go_module m = {.address = 0};
    struct tables tables = {.n = 0};
    const char *name = program(heap)->name;

    tables_find(heap, &tables);
    if (!find_record(heap, &tables, &m.address))
        return hs_fail(err, HS_TARGET, "the tables of the Go program '%s' were not found", name);
    if (!read_words(heap, &m) || !read_functions(heap, &m) ||
        !read_data(heap, HS_GO_DATA, l->moduledata_data, l->moduledata_edata,
                   l->moduledata_gcdatamask, &m) ||
        !read_data(heap, HS_GO_BSS, l->moduledata_bss, l->moduledata_ebss, l->moduledata_gcbssmask,
                   &m) ||
        !read_data(heap, HS_GO_NOPTRDATA, l->moduledata_noptrdata, l->moduledata_enoptrdata, -1,
                   &m) ||
        !read_data(heap, HS_GO_NOPTRBSS, l->moduledata_noptrbss, l->moduledata_enoptrbss, -1, &m))
        return hs_fail(err, HS_TARGET,
                       "the tables of the Go program '%s' are not those of Go %s, or damaged", name,
                       l->name);
    heap->module = m;
    return HS_OK;
}
