/* The functions of a file without names: the frame descriptions of .eh_frame say where each begins
 * and how long it is, also in a stripped file, and symbols name those that are exported. */
#ifndef HS_ELF_ELF_FUNCTIONS_H
#define HS_ELF_ELF_FUNCTIONS_H

#include "elf_private.h"

struct elf_function {
    hs_addr begin;
    const struct hs_elf_symbol *symbol; /* borrowed; NULL: it has no name */
    uint32_t n_bytes;
    uint32_t source;        /* from 1, elf_sources.h; 0: not known; ELF_SOURCES: several */
    bool is_by_place;       /* its source is that of the functions around it */
    uint32_t before, after; /* the sources of the nearest with a text, on both sides; 0: none */
};
#define ELF_SOURCES UINT32_MAX

struct elf_functions {
    struct elf_function *all; /* owned: by begin, none reaches into the next */
    size_t n, capacity;
};

/* Lists them. What is damaged is left out; the effort bounds the work. Fails with HS_LIMIT. */
hs_status hs_elf_functions_find_(struct hs_elf *elf, const struct hs_elf *names,
                                 struct hs_effort *effort, struct elf_functions *ret,
                                 struct hs_error *err);
void hs_elf_functions_fini_(struct elf_functions *functions);

#endif
