/* links: hs_boxed hs_symbols hs_base */
/* Any bytes as an ELF file: symbols, sections, frames, lines, operands, names. */
#include <stdlib.h>
#include <string.h>

#include "arch/operands.h"
#include "base/load.h"
#include "boxed/frames.h"
#include "boxed/line_reader.h"
#include "symbols/demangle.h"
#include "symbols/dwarf/frame_row.h"
#include "symbols/elf.h"
#include "symbols/elf_objects.h"
#include "symbols/elf_users.h"
#include "symbols/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static bool read_pattern(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    (void)context;
    memset(ret, (int)(at & 0xff), n_bytes);
    return at % 64 != 0; /* some memory cannot be read */
}

static void fuzz_symbols(struct hs_elf *elf)
{
    size_t n, total = 0;
    char name[64];
    const struct hs_elf_symbol *symbols = hs_elf_symbols(elf, &n);
    for (size_t i = 0; i < n && i < 256; i++) {
        uint64_t offset = 0;
        total += hs_demangle(symbols[i].name, name, sizeof(name));
        if (hs_elf_find(elf, symbols[i].name) == NULL)
            __builtin_trap();
        if (hs_elf_symbol_at(elf, symbols[i].vaddr, &offset) != NULL && offset > symbols[i].vaddr)
            __builtin_trap();
        struct hs_operand operands[16];
        size_t n_code = 0;
        const uint8_t *code = hs_elf_bytes_from(elf, symbols[i].vaddr, 256, &n_code);
        if (code != NULL)
            total += hs_operands_harvest(code, n_code, symbols[i].vaddr, operands, 16).n_operands;
    }
    hs_elf_tls_symbols(elf, &n);
    for (size_t i = 0; i < n; i++)
        total += strlen(symbols[i].name);
    if (total == SIZE_MAX)
        __builtin_trap();
}

static void fuzz_sections(struct hs_elf *elf, struct hs_error *err)
{
    size_t n_segments;
    for (size_t i = 0; i < hs_elf_n_sections(elf) && i < 256; i++) {
        struct hs_elf_section section;
        const uint8_t *contents;
        size_t n;
        volatile uint8_t last = 0;
        if (hs_elf_section(elf, i, &section) &&
            hs_elf_section_bytes(elf, i, &contents, &n, err) == HS_OK && n != 0)
            last = contents[n - 1];
        (void)last;
    }
    const struct hs_elf_segment *segments = hs_elf_segments(elf, &n_segments);
    for (size_t i = 0; i < n_segments && i < 64; i++) {
        size_t n;
        const uint8_t *contents = hs_elf_bytes_from(elf, segments[i].vaddr, SIZE_MAX, &n);
        volatile uint8_t last = contents != NULL && n != 0 ? contents[n - 1] : 0;
        (void)last;
        const char *name = hs_elf_imported_at(elf, segments[i].vaddr);
        if (name != NULL && strnlen(name, UINT8_MAX + 1) > UINT8_MAX)
            abort();
    }
    struct hs_elf_section plt;
    if (hs_elf_section_named(elf, ".rela.plt", &plt) && plt.n_bytes != 0) {
        const uint8_t *entry = hs_elf_bytes_at(elf, plt.vaddr, sizeof(uint64_t));
        if (entry != NULL)
            (void)hs_elf_imported_at(elf, hs_load_u64(entry));
    }
}

static void fuzz_users(struct hs_elf *elf, struct hs_error *err)
{
    enum { PLACES = 64 };
    hs_addr places[PLACES];
    struct hs_elf_user users[PLACES];
    size_t n_segments;
    const struct hs_elf_segment *segments = hs_elf_segments(elf, &n_segments);
    for (size_t i = 0; i < n_segments && i < 4; i++) {
        for (size_t j = 0; j < PLACES; j++)
            places[j] = segments[i].vaddr + j * 8;
        if (segments[i].vaddr > UINT64_MAX - PLACES * 8 ||
            hs_elf_users(elf, elf, places, PLACES, users, err) != HS_OK)
            continue;
        for (size_t j = 0; j < PLACES; j++)
            if ((users[j].function == NULL) != (users[j].n_mentions == 0))
                __builtin_trap();
    }
}

static void fuzz_objects(struct hs_elf *elf, struct hs_error *err)
{
    enum { PLACES = 64 };
    hs_addr places[PLACES];
    struct hs_elf_objects objects;
    size_t n_segments;
    const struct hs_elf_segment *segments = hs_elf_segments(elf, &n_segments);
    for (size_t i = 0; i < n_segments && i < 4; i++) {
        for (size_t j = 0; j < PLACES; j++)
            places[j] = segments[i].vaddr + j * 24;
        if (segments[i].vaddr > UINT64_MAX - PLACES * 24 ||
            hs_elf_objects_find(elf, elf, places, PLACES, &objects, err) != HS_OK)
            continue;
        for (size_t j = 0; objects.of != NULL && j < PLACES; j++)
            if (objects.of[j].begin > places[j])
                __builtin_trap();
        hs_elf_objects_fini(&objects);
    }
}

static void fuzz_cfi(struct hs_elf *elf, struct hs_error *err)
{
    struct hs_frame_tables *tables = NULL;
    struct hs_memory_reader memory = {read_pattern, NULL};
    if (hs_frame_tables_open(elf, &tables, err) != HS_OK)
        return;
    size_t n;
    const struct hs_elf_segment *segments = hs_elf_segments(elf, &n);
    for (size_t i = 0; i < n && i < 8; i++)
        for (hs_addr at = 0; at < segments[i].n_memory_bytes && at < 4096; at += 7) {
            struct hs_registers r = {.known = HS_ALL_REGISTERS};
            struct hs_frame frame;
            struct frame_row row;
            uint8_t expressions[FRAME_ROW_EXPRESSION_BYTES];
            r.value[HS_RIP] = segments[i].vaddr + at;
            r.value[HS_RSP] = UINT64_C(0x7ffc00000008);
            hs_frame_tables_row(tables, segments[i].vaddr + at, &row, expressions);
            if (!hs_frame_row_is_sound_(&row, segments[i].vaddr + at))
                __builtin_trap();
            if (hs_frame_row_step_(&row, expressions, &r, &memory, "fuzz", &frame, err) != HS_OK)
                continue;
        }
    hs_frame_tables_close(tables);
}

static void fuzz_lines(struct hs_elf *elf, struct hs_error *err)
{
    struct hs_dwarf *dwarf = NULL;
    if (!hs_dwarf_present(elf) || hs_dwarf_open(elf, &dwarf, err) != HS_OK)
        return;
    size_t n;
    struct hs_dwarf_source source;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(elf, &n);
    for (size_t i = 0; i < n && i < 64; i++) {
        hs_status status = symbols[i].kind == HS_SYMBOL_DATA
                               ? hs_dwarf_find_variable(dwarf, symbols[i].vaddr, &source, err)
                               : hs_dwarf_find_code(dwarf, symbols[i].vaddr, &source, err);
        if (status == HS_OK && strlen(hs_dwarf_text(dwarf, source.name)) > 1 << 16)
            __builtin_trap();
    }
    hs_dwarf_close(dwarf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    if (hs_elf_open_memory(bytes, n_bytes, "fuzz", &elf, &err) != HS_OK)
        return 0;
    fuzz_symbols(elf);
    fuzz_sections(elf, &err);
    fuzz_users(elf, &err);
    fuzz_objects(elf, &err);
    fuzz_cfi(elf, &err);
    fuzz_lines(elf, &err);
    hs_elf_close(elf);
    return 0;
}
