/* A writer of small ELF files for tests: states segments, sections and symbols, lays them out, and
 * lets the test damage what it likes afterwards (the image is plain memory).
 *
 *   | header | program headers | contents, 16-aligned | section headers |
 *
 * Sections are numbered from 1 in the order stated; .symtab, .strtab and .shstrtab follow.
 * Capacities are fixed: a test that needs more is not small. Errors of the writer itself abort. */
#ifndef HS_TESTS_ELF_WRITER_H
#define HS_TESTS_ELF_WRITER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_WRITER_SECTIONS = 24, ELF_WRITER_SEGMENTS = 8, ELF_WRITER_BYTES = 1 << 16 };

struct elf_writer {
    uint16_t type;  /* ET_DYN unless set */
    bool as_dynsym; /* symbols go to .dynsym, as in a stripped file */
    Elf64_Shdr sections[ELF_WRITER_SECTIONS];
    const uint8_t *contents[ELF_WRITER_SECTIONS]; /* borrowed until finish */
    size_t n_sections;                            /* without the null section */
    Elf64_Phdr segments[ELF_WRITER_SEGMENTS];
    size_t segment_section[ELF_WRITER_SEGMENTS]; /* whose file bytes it covers; 0: as stated */
    size_t n_segments;
    Elf64_Sym symbols[64];
    size_t n_symbols;
    char names[4096]; /* of sections and symbols */
    size_t n_names;
    uint8_t bytes[ELF_WRITER_BYTES]; /* the image, after finish */
    size_t n_bytes;
};

void elf_writer_init(struct elf_writer *w);

/* Returns the section's number. `bytes` NULL makes it SHT_NOBITS. */
size_t elf_writer_section(struct elf_writer *w, const char *name, uint32_t type, uint64_t vaddr,
                          const void *bytes, size_t n_bytes);
/* A segment over the file bytes of one section (0: none). */
void elf_writer_segment(struct elf_writer *w, uint32_t type, uint32_t flags, uint64_t vaddr,
                        uint64_t n_memory_bytes, size_t section);
void elf_writer_symbol(struct elf_writer *w, const char *name, unsigned type, unsigned bind,
                       uint64_t vaddr, uint64_t n_bytes, uint16_t section);
void elf_writer_finish(struct elf_writer *w);

/* Of the finished image, to be damaged. */
Elf64_Ehdr *elf_writer_header(struct elf_writer *w);
Elf64_Shdr *elf_writer_section_header(struct elf_writer *w, size_t number);
Elf64_Phdr *elf_writer_program_header(struct elf_writer *w, size_t number);
Elf64_Sym *elf_writer_symbol_entry(struct elf_writer *w, size_t number);

/* A stripped-down program with one of everything: .text at 0x1000, .data at 0x3000 with .bss behind
 * it, a build-id, five symbols, TLS. */
void elf_writer_sample(struct elf_writer *w);

#endif
