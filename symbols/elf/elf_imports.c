/* The values that the loader puts into the words that a file's calls of other files jump through:
 * the relocations of .rela.plt, in the order of these words, and the names of their symbols (System
 * V ABI 4, "Relocation" and "Procedure Linkage Table"). */
#include <elf.h>
#include <string.h>

#include "base/bisect.h"
#include "base/load.h"
#include "elf_private.h"

enum { IMPORT_MAX_NAME = 256 };

/* The bytes of an entry of a table in loaded memory; NULL: there is none such. */
static const uint8_t *import_entry(struct hs_elf *elf, const char *section, uint64_t number,
                                   size_t n_bytes)
{
    struct hs_elf_section s;

    if (!hs_elf_section_named(elf, section, &s) || s.vaddr == 0 || number >= s.n_bytes / n_bytes)
        return NULL;
    return hs_elf_bytes_at(elf, s.vaddr + number * n_bytes, n_bytes);
}

static const char *import_name(struct hs_elf *elf, uint32_t symbol)
{
    struct hs_elf_section names;
    const uint8_t *entry = import_entry(elf, ".dynsym", symbol, sizeof(Elf64_Sym));
    size_t n;

    if (symbol == 0 || entry == NULL || !hs_elf_section_named(elf, ".dynstr", &names))
        return NULL;
    uint32_t at = hs_load_u32(entry + offsetof(Elf64_Sym, st_name));
    if (names.vaddr == 0 || at >= names.n_bytes)
        return NULL;
    const uint8_t *name = hs_elf_bytes_from(elf, names.vaddr + at, IMPORT_MAX_NAME, &n);
    return name == NULL || memchr(name, '\0', n) == NULL ? NULL : (const char *)name;
}

const char *hs_elf_imported_at(struct hs_elf *elf, hs_addr vaddr)
{
    struct hs_elf_section s;
    size_t n_there;

    if (!hs_elf_section_named(elf, ".rela.plt", &s) || s.vaddr == 0)
        return NULL;
    const uint8_t *entries = hs_elf_bytes_from(elf, s.vaddr, s.n_bytes, &n_there);
    if (entries == NULL)
        return NULL;
    size_t n = n_there / sizeof(Elf64_Rela);
    size_t at = HS_FIRST_NOT(i, 0, n, hs_load_u64(entries + i * sizeof(Elf64_Rela)) < vaddr);
    if (at == n || hs_load_u64(entries + at * sizeof(Elf64_Rela)) != vaddr)
        return NULL;
    uint64_t info = hs_load_u64(entries + at * sizeof(Elf64_Rela) + offsetof(Elf64_Rela, r_info));
    return import_name(elf, (uint32_t)ELF64_R_SYM(info));
}

bool hs_elf_imports(struct hs_elf *elf, const char *name)
{
    struct hs_elf_section s;

    if (!hs_elf_section_named(elf, ".dynsym", &s))
        return false;
    for (uint64_t i = 1; i < s.n_bytes / sizeof(Elf64_Sym) && i < UINT32_MAX; i++) {
        const uint8_t *entry = import_entry(elf, ".dynsym", i, sizeof(Elf64_Sym));
        if (entry == NULL)
            return false;
        const char *found = hs_load_u16(entry + offsetof(Elf64_Sym, st_shndx)) == SHN_UNDEF
                                ? import_name(elf, (uint32_t)i)
                                : NULL;
        if (found != NULL && strcmp(found, name) == 0)
            return true;
    }
    return false;
}
