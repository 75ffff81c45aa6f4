#include "elf_writer.h"

#include <assert.h>
#include <string.h>

static uint32_t writer_name(struct elf_writer *w, const char *name)
{
    size_t n = strlen(name) + 1, at = w->n_names;
    assert(at + n <= sizeof(w->names));
    memcpy(w->names + at, name, n);
    w->n_names += n;
    return (uint32_t)at;
}

void elf_writer_init(struct elf_writer *w)
{
    memset(w, 0, sizeof(*w));
    w->type = ET_DYN;
    w->n_names = 1; /* name 0 is empty */
}

size_t elf_writer_section(struct elf_writer *w, const char *name, uint32_t type, uint64_t vaddr,
                          const void *bytes, size_t n_bytes)
{
    assert(w->n_sections + 4 < ELF_WRITER_SECTIONS);
    size_t number = ++w->n_sections;
    w->sections[number] = (Elf64_Shdr){
        .sh_name = writer_name(w, name),
        .sh_type = bytes == NULL ? SHT_NOBITS : type,
        .sh_flags = vaddr != 0 ? SHF_ALLOC : 0,
        .sh_addr = vaddr,
        .sh_size = n_bytes,
        .sh_addralign = 1,
    };
    w->contents[number] = bytes;
    return number;
}

void elf_writer_segment(struct elf_writer *w, uint32_t type, uint32_t flags, uint64_t vaddr,
                        uint64_t n_memory_bytes, size_t section)
{
    assert(w->n_segments < ELF_WRITER_SEGMENTS);
    w->segment_section[w->n_segments] = section;
    w->segments[w->n_segments++] = (Elf64_Phdr){.p_type = type,
                                                .p_flags = flags,
                                                .p_vaddr = vaddr,
                                                .p_memsz = n_memory_bytes,
                                                .p_align = 16};
}

void elf_writer_symbol(struct elf_writer *w, const char *name, unsigned type, unsigned bind,
                       uint64_t vaddr, uint64_t n_bytes, uint16_t section)
{
    if (w->n_symbols == 0)
        w->n_symbols = 1; /* the null symbol */
    assert(w->n_symbols < sizeof(w->symbols) / sizeof(w->symbols[0]));
    w->symbols[w->n_symbols++] = (Elf64_Sym){
        .st_name = writer_name(w, name),
        .st_info = (unsigned char)ELF64_ST_INFO(bind, type),
        .st_shndx = section,
        .st_value = vaddr,
        .st_size = n_bytes,
    };
}

static uint64_t writer_put(struct elf_writer *w, const void *bytes, size_t n)
{
    size_t at = (w->n_bytes + 15) & ~(size_t)15;
    assert(at + n <= sizeof(w->bytes));
    if (n != 0)
        memcpy(w->bytes + at, bytes, n);
    w->n_bytes = at + n;
    return at;
}

static void writer_put_symbols(struct elf_writer *w)
{
    if (w->n_symbols == 0)
        return;
    uint32_t type = w->as_dynsym ? SHT_DYNSYM : SHT_SYMTAB;
    size_t table = elf_writer_section(w, w->as_dynsym ? ".dynsym" : ".symtab", type, 0, w->symbols,
                                      w->n_symbols * sizeof(Elf64_Sym));
    w->sections[table].sh_entsize = sizeof(Elf64_Sym);
    w->sections[table].sh_link = (uint32_t)table + 1;
    elf_writer_section(w, ".strtab", SHT_STRTAB, 0, w->names, 0);
}

/* Names grow while sections are added, so the string tables are sized last. */
void elf_writer_finish(struct elf_writer *w)
{
    writer_put_symbols(w);
    size_t names = elf_writer_section(w, ".shstrtab", SHT_STRTAB, 0, w->names, 0);
    for (size_t i = 1; i <= w->n_sections; i++)
        if (w->contents[i] == (const uint8_t *)w->names)
            w->sections[i].sh_size = w->n_names;
    w->n_bytes = sizeof(Elf64_Ehdr) + w->n_segments * sizeof(Elf64_Phdr);
    for (size_t i = 1; i <= w->n_sections; i++) {
        Elf64_Shdr *s = &w->sections[i];
        s->sh_offset = writer_put(w, w->contents[i], w->contents[i] == NULL ? 0 : s->sh_size);
    }
    for (size_t i = 0; i < w->n_segments; i++) {
        const Elf64_Shdr *s = &w->sections[w->segment_section[i]];
        if (w->segment_section[i] == 0)
            continue;
        w->segments[i].p_offset = s->sh_offset;
        w->segments[i].p_filesz = s->sh_type == SHT_NOBITS ? 0 : s->sh_size;
    }
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = w->type,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_entry = 0x1000,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = (uint16_t)w->n_segments,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (uint16_t)(w->n_sections + 1),
        .e_shstrndx = (uint16_t)names,
    };
    head.e_shoff = writer_put(w, w->sections, (w->n_sections + 1) * sizeof(Elf64_Shdr));
    memcpy(w->bytes, &head, sizeof(head));
    memcpy(w->bytes + head.e_phoff, w->segments, w->n_segments * sizeof(Elf64_Phdr));
}

/* The image is 16-aligned in all that these return. */
Elf64_Ehdr *elf_writer_header(struct elf_writer *w)
{
    return (Elf64_Ehdr *)(void *)w->bytes;
}

Elf64_Shdr *elf_writer_section_header(struct elf_writer *w, size_t number)
{
    assert(number <= w->n_sections);
    return (Elf64_Shdr *)(void *)(w->bytes + elf_writer_header(w)->e_shoff) + number;
}

Elf64_Phdr *elf_writer_program_header(struct elf_writer *w, size_t number)
{
    assert(number < w->n_segments);
    return (Elf64_Phdr *)(void *)(w->bytes + elf_writer_header(w)->e_phoff) + number;
}

Elf64_Sym *elf_writer_symbol_entry(struct elf_writer *w, size_t number)
{
    for (size_t i = 1; i <= w->n_sections; i++) {
        const Elf64_Shdr *s = elf_writer_section_header(w, i);
        if (s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM)
            return (Elf64_Sym *)(void *)(w->bytes + s->sh_offset) + number;
    }
    assert(w->n_symbols != 0 && "no symbols");
    return NULL;
}

static const uint8_t sample_text[64] = {0x48, 0x8d, 0x05, 0xf9, 0x1f, 0x00, 0x00, 0xc3};
static const uint8_t sample_data[32] = "sixteen bytes on, data goes on";
static const uint8_t sample_note[] = {4,    0,    0,    0,    8,    0,    0,    0,
                                      3,    0,    0,    0,    'G',  'N',  'U',  0,
                                      0xde, 0xad, 0xbe, 0xef, 0x01, 0x23, 0x45, 0x67};

void elf_writer_sample(struct elf_writer *w)
{
    elf_writer_init(w);
    size_t note = elf_writer_section(w, ".note.gnu.build-id", SHT_NOTE, 0x200, sample_note,
                                     sizeof(sample_note));
    size_t text =
        elf_writer_section(w, ".text", SHT_PROGBITS, 0x1000, sample_text, sizeof(sample_text));
    size_t data =
        elf_writer_section(w, ".data", SHT_PROGBITS, 0x3000, sample_data, sizeof(sample_data));
    elf_writer_section(w, ".bss", SHT_NOBITS, 0x3020, NULL, 0x60);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_X, 0x1000, 64, text);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, 0x3000, 0x80, data);
    elf_writer_segment(w, PT_NOTE, PF_R, 0x200, sizeof(sample_note), note);
    elf_writer_segment(w, PT_TLS, PF_R, 0x3000, 0x28, 0);
    elf_writer_symbol(w, "helper", STT_FUNC, STB_LOCAL, 0x1010, 0x10, (uint16_t)text);
    elf_writer_symbol(w, "main", STT_FUNC, STB_GLOBAL, 0x1000, 0x10, (uint16_t)text);
    elf_writer_symbol(w, "table", STT_OBJECT, STB_GLOBAL, 0x3000, 0x20, (uint16_t)data);
    elf_writer_symbol(w, "camlStm", STT_NOTYPE, STB_GLOBAL, 0x3020, 0, (uint16_t)data);
    elf_writer_symbol(w, "caml_state", STT_TLS, STB_GLOBAL, 0x8, 8, (uint16_t)data);
    elf_writer_symbol(w, "malloc", STT_FUNC, STB_GLOBAL, 0, 0, SHN_UNDEF);
}
