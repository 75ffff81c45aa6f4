/* The symbol table of a hs_elf: filtered, sorted by address, hashed by name. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "elf_private.h"

enum {
    SYMBOL_BYTES = 24,         /* Elf64_Sym */
    SYMBOL_MAX_NAME = 1 << 14, /* a million names may be ends of one text of any length */
    SYMBOL_STEPS = 32,         /* to sort and hash one */
    SYMBOL_WALK_BACK = 64,     /* smaller symbols inside a larger one that symbol_at steps over */
};

struct symbol_source {
    struct hs_cursor entries;
    size_t n;
    const char *names; /* names[0, n_names) ends with a NUL */
    size_t n_names;
};

static size_t symbols_section(const struct hs_elf *elf, uint32_t type)
{
    for (size_t i = 1; i < elf->n_sections; i++)
        if (elf->sections[i].scn != NULL && elf->sections[i].seen.type == type &&
            elf->sections[i].seen.is_in_file && elf->sections[i].seen.n_bytes >= SYMBOL_BYTES)
            return i;
    return 0;
}

/* A table without usable names is as good as no table. */
static bool symbols_source(struct hs_elf *elf, size_t section, struct symbol_source *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    const uint8_t *entries, *names;
    size_t n_bytes, n_names, strings = elf->sections[section].link;
    if (strings >= elf->n_sections || elf->sections[strings].seen.type != SHT_STRTAB ||
        hs_elf_section_bytes(elf, section, &entries, &n_bytes, &ignored) != HS_OK ||
        hs_elf_section_bytes(elf, strings, &names, &n_names, &ignored) != HS_OK)
        return false;
    while (n_names > 0 && names[n_names - 1] != '\0')
        n_names--;
    *ret = (struct symbol_source){
        .entries = hs_cursor_make(entries, n_bytes),
        .n = n_bytes / SYMBOL_BYTES,
        .names = (const char *)names,
        .n_names = n_names,
    };
    return true;
}

static bool symbol_kind(unsigned type, uint8_t *ret)
{
    switch (type) {
    case STT_NOTYPE:
        *ret = HS_SYMBOL_LABEL;
        return true;
    case STT_FUNC:
    case STT_GNU_IFUNC:
        *ret = HS_SYMBOL_CODE;
        return true;
    case STT_OBJECT:
    case STT_COMMON:
        *ret = HS_SYMBOL_DATA;
        return true;
    case STT_TLS:
        *ret = HS_SYMBOL_TLS;
        return true;
    default: /* sections and source files name no bytes */
        return false;
    }
}

/* Reads the next entry; false when it is none of those we keep. */
static bool symbol_next(struct symbol_source *source, struct hs_elf_symbol *ret)
{
    struct hs_cursor *c = &source->entries;
    uint32_t name = hs_cursor_u32(c);
    uint8_t info = hs_cursor_u8(c), kind;
    hs_cursor_skip(c, 1);
    uint16_t section = hs_cursor_u16(c);
    uint64_t vaddr = hs_cursor_u64(c), n_bytes = hs_cursor_u64(c), end;
    if (section == SHN_UNDEF || section == SHN_ABS || name >= source->n_names ||
        source->names[name] == '\0' ||
        strnlen(source->names + name, SYMBOL_MAX_NAME) == SYMBOL_MAX_NAME ||
        !symbol_kind(ELF64_ST_TYPE(info), &kind))
        return false;
    *ret = (struct hs_elf_symbol){
        .vaddr = vaddr,
        .n_bytes = hs_add_fits(vaddr, n_bytes, &end) ? n_bytes : 0,
        .name = source->names + name,
        .kind = kind,
        .is_global = ELF64_ST_BIND(info) != STB_LOCAL,
    };
    return true;
}

static int symbol_order(const void *a, const void *b)
{
    const struct hs_elf_symbol *s = a, *t = b;
    bool s_tls = s->kind == HS_SYMBOL_TLS, t_tls = t->kind == HS_SYMBOL_TLS;
    if (s_tls != t_tls)
        return s_tls ? 1 : -1;
    if (s->vaddr != t->vaddr)
        return s->vaddr < t->vaddr ? -1 : 1;
    if (s->is_global != t->is_global)
        return s->is_global ? -1 : 1;
    return s->name == t->name ? 0 : strcmp(s->name, t->name);
}

static size_t symbol_named(const struct hs_elf *elf, const char *name, uint64_t hash)
{
    return HS_TABLE_FIND(&elf->by_name, hash, i, strcmp(elf->symbols[i].name, name) == 0);
}

/* Hashes the symbols, of each name the first that is global, or else the first. */
static hs_status symbols_hash(struct hs_elf *elf, struct hs_error *err)
{
    size_t n = elf->n_symbols + elf->n_tls_symbols;
    for (int is_global = 1; is_global >= 0; is_global--)
        for (size_t i = 0; i < n; i++) {
            const char *name = elf->symbols[i].name;
            if (elf->symbols[i].is_global != is_global)
                continue;
            uint64_t hash = hs_hash_bytes(name, strlen(name));
            if (symbol_named(elf, name, hash) == HS_NO_NUMBER)
                HS_TRY(hs_table_add(&elf->by_name, hash, i, err));
        }
    return HS_OK;
}

/* Takes the symbols of a source behind those that are there. */
static void symbols_take(struct hs_elf *elf, struct symbol_source *source, size_t *n)
{
    for (size_t i = 0; i < source->n; i++)
        if (symbol_next(source, &elf->symbols[*n])) {
            elf->n_tls_symbols += elf->symbols[*n].kind == HS_SYMBOL_TLS;
            ++*n;
        }
}

/* Finds the table of a type in `from`, which is the file itself or the one that it has packed. */
static struct symbol_source symbols_of(struct hs_elf *elf, struct hs_elf *from, uint32_t type)
{
    struct symbol_source source = {0};
    size_t section = from == NULL ? 0 : symbols_section(from, type);

    if (section == 0 || !symbols_source(from, section, &source))
        return (struct symbol_source){0};
    if (!hs_effort_hold(&elf->effort, source.n * SYMBOL_STEPS))
        source.n = 0;
    return source;
}

hs_status hs_elf_load_symbols_(struct hs_elf *elf, struct hs_error *err)
{
    struct symbol_source source = symbols_of(elf, elf, SHT_SYMTAB), mini = {0};
    elf->has_symtab = source.names != NULL;
    if (!elf->has_symtab) {
        source = symbols_of(elf, elf, SHT_DYNSYM);
        mini = symbols_of(elf, elf->mini, SHT_SYMTAB);
    }
    if (source.n > UINT32_MAX / 2 - mini.n)
        return hs_fail(err, HS_LIMIT, "'%s' claims %zu symbols", elf->name, source.n);
    HS_TRY(HS_ALLOC(&elf->symbols, source.n + mini.n, err));
    size_t n = 0;
    symbols_take(elf, &source, &n);
    symbols_take(elf, &mini, &n);
    elf->n_symbols = n - elf->n_tls_symbols;
    qsort(elf->symbols, n, sizeof(*elf->symbols), symbol_order);
    return symbols_hash(elf, err);
}

bool hs_elf_has_symtab(const struct hs_elf *elf)
{
    return elf->has_symtab;
}

const struct hs_elf_symbol *hs_elf_symbols(const struct hs_elf *elf, size_t *ret_n)
{
    *ret_n = elf->n_symbols;
    return elf->symbols;
}

const struct hs_elf_symbol *hs_elf_tls_symbols(const struct hs_elf *elf, size_t *ret_n)
{
    *ret_n = elf->n_tls_symbols;
    return elf->symbols + elf->n_symbols;
}

const struct hs_elf_symbol *hs_elf_find(const struct hs_elf *elf, const char *name)
{
    size_t found = symbol_named(elf, name, hs_hash_bytes(name, strlen(name)));
    return found == HS_NO_NUMBER ? NULL : &elf->symbols[found];
}

/* Counts the symbols that start at or below `vaddr`. */
static size_t symbols_up_to(const struct hs_elf *elf, hs_addr vaddr)
{
    return HS_FIRST_ABOVE(elf->symbols, elf->n_symbols, vaddr, vaddr);
}

/* A symbol that does not say its size ends with its section, or where one that does has ended: what
 * comes then is something else, whose own name was stripped. */
static bool symbol_reaches(const struct hs_elf *elf, const struct hs_elf_symbol *symbol,
                           hs_addr last_end, hs_addr vaddr)
{
    struct hs_elf_section section;
    if (last_end > symbol->vaddr ||
        hs_elf_segment_at(elf, symbol->vaddr) != hs_elf_segment_at(elf, vaddr))
        return false;
    return !hs_elf_section_at(elf, vaddr, &section) || symbol->vaddr >= section.vaddr;
}

const struct hs_elf_symbol *hs_elf_symbol_at(const struct hs_elf *elf, hs_addr vaddr,
                                             uint64_t *ret_offset)
{
    const struct hs_elf_symbol *holds = NULL, *nearest = NULL;
    size_t end = symbols_up_to(elf, vaddr);
    hs_addr last_end = 0; /* of the symbols that end before vaddr */
    for (size_t i = end; i > 0 && end - i < SYMBOL_WALK_BACK; i--) {
        const struct hs_elf_symbol *s = &elf->symbols[i - 1];
        if (holds != NULL && s->vaddr != holds->vaddr)
            break;
        /* Going down within one address, the last that fits is the global one. */
        if (s->n_bytes != 0 && vaddr - s->vaddr < s->n_bytes)
            holds = s;
        else if (s->n_bytes != 0 && s->vaddr + s->n_bytes > last_end)
            last_end = s->vaddr + s->n_bytes;
        else if (s->n_bytes == 0 && (nearest == NULL || s->vaddr == nearest->vaddr))
            nearest = s;
    }
    if (holds == NULL && nearest != NULL && !symbol_reaches(elf, nearest, last_end, vaddr))
        nearest = NULL;
    const struct hs_elf_symbol *found = holds != NULL ? holds : nearest;
    if (found != NULL && ret_offset != NULL)
        *ret_offset = vaddr - found->vaddr;
    return found;
}
