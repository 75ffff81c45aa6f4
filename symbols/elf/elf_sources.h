/* The names of source files among a file's constant texts: what assertions and log messages have of
 * `__FILE__`. */
#ifndef HS_ELF_ELF_SOURCES_H
#define HS_ELF_ELF_SOURCES_H

#include "elf_private.h"

enum { ELF_SOURCE_NAME_MAX = 127 };

struct elf_source {
    hs_addr at;    /* vaddr of the text */
    uint32_t name; /* where it begins in elf_sources.names */
};

struct elf_sources {
    struct elf_source *all; /* owned: ascending */
    size_t n, capacity;
    char *names; /* owned */
    size_t n_names, names_capacity;
};

/* Tells whether a text is the name of a source file of C, C++ or a generator of these, headers
 * apart: letters, digits, `_ . / + -`, and two letters or digits at least before the suffix. A
 * table of suffixes has texts such as ".cc", which name no file. */
bool hs_elf_is_source_name_(const char *text, size_t n);

/* Collects those in read-only sections. The effort bounds the work: 1 ns for each byte. Fails with
 * HS_LIMIT. */
hs_status hs_elf_sources_find_(struct hs_elf *elf, struct hs_effort *effort,
                               struct elf_sources *ret, struct hs_error *err);
void hs_elf_sources_fini_(struct elf_sources *sources);

/* Returns the number from 1 of the text at `vaddr`, or 0. */
uint32_t hs_elf_source_at_(const struct elf_sources *sources, hs_addr vaddr);

#endif
