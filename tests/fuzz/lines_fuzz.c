/* links: hs_boxed hs_symbols hs_base */
/* Any bytes as the debug information of a program that is otherwise sound: where in the source its
 * code and its variables are. The input is cut: u16 lengths of .debug_abbrev, .debug_line and
 * .debug_str, these, and the rest is .debug_info; .debug_line_str holds the same as .debug_str. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "boxed/line_reader.h"
#include "elf_writer.h"
#include "symbols/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { TEXT_AT = 0x1000, TEXT_BYTES = 0x200, DATA_AT = 0x3000, MAX_BYTES = 1 << 14, N_CUT = 3 };

static const uint8_t text[TEXT_BYTES];

static void check_source(const struct hs_dwarf *dwarf, const struct hs_dwarf_source *source)
{
    assert(strlen(hs_dwarf_text(dwarf, source->file)) < 1 << 16);
    assert(strlen(hs_dwarf_text(dwarf, source->name)) < 1 << 16);
}

/* The same question has the same answer, whatever was asked between; but for names, of which the
 * library finds fewer once it has met damage. */
static void fuzz_lookups(struct hs_dwarf *dwarf)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_source first[TEXT_BYTES / 8], source;
    for (uint64_t at = 0; at < TEXT_BYTES; at += 8) {
        struct hs_dwarf_source *s = &first[at / 8];
        *s = (struct hs_dwarf_source){0};
        if (hs_dwarf_find_code(dwarf, TEXT_AT + at, s, &err) == HS_OK)
            check_source(dwarf, s);
    }
    for (uint64_t at = 0; at < 0x40; at += 4)
        if (hs_dwarf_find_variable(dwarf, DATA_AT + at, &source, &err) == HS_OK)
            check_source(dwarf, &source);
    for (uint64_t at = 0; at < TEXT_BYTES; at += 8) {
        source = (struct hs_dwarf_source){0};
        if (hs_dwarf_find_code(dwarf, TEXT_AT + at, &source, &err) == HS_OK)
            assert(source.file == first[at / 8].file && source.line == first[at / 8].line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const char *const names[] = {".debug_abbrev", ".debug_line", ".debug_str"};
    static struct elf_writer w;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    struct hs_dwarf *dwarf = NULL;
    const uint8_t *at = bytes + 2 * N_CUT;
    const uint8_t *strings = at;
    if (n_bytes < 2 * N_CUT || n_bytes > MAX_BYTES)
        return 0;
    size_t n_left = n_bytes - 2 * N_CUT;
    elf_writer_init(&w);
    size_t code = elf_writer_section(&w, ".text", SHT_PROGBITS, TEXT_AT, text, sizeof text);
    elf_writer_segment(&w, PT_LOAD, PF_R | PF_X, TEXT_AT, sizeof text, code);
    for (size_t i = 0; i < N_CUT; i++) {
        size_t n = bytes[2 * i] | (size_t)bytes[2 * i + 1] << 8;
        n = n < n_left ? n : n_left;
        elf_writer_section(&w, names[i], SHT_PROGBITS, 0, at, n);
        strings = at;
        at += n;
        n_left -= n;
    }
    elf_writer_section(&w, ".debug_line_str", SHT_PROGBITS, 0, strings, (size_t)(at - strings));
    elf_writer_section(&w, ".debug_info", SHT_PROGBITS, 0, at, n_left);
    elf_writer_finish(&w);
    if (hs_elf_open_memory(w.bytes, w.n_bytes, "fuzz", &elf, &err) != HS_OK)
        abort();
    if (hs_dwarf_present(elf)) {
        hs_status status = hs_dwarf_open(elf, &dwarf, &err);
        assert(status == HS_OK || status == HS_FORMAT || status == HS_LIMIT);
        if (status == HS_OK)
            fuzz_lookups(dwarf);
    }
    hs_dwarf_close(dwarf);
    hs_elf_close(elf);
    return 0;
}
