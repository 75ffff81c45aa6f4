/* The code of a file's functions, a window of it at a time. */
#ifndef HS_ELF_ELF_CODE_H
#define HS_ELF_ELF_CODE_H

#include "elf_private.h"

enum { ELF_CODE_WINDOW_BYTES = 1 << 18, ELF_CODE_BYTES_PER_STEP = 8 };

struct elf_code {
    struct hs_elf *elf;                   /* borrowed */
    const struct hs_elf_segment *segment; /* of the function before */
    struct hs_effort effort;
    uint8_t *window; /* owned */
    hs_addr window_at;
    size_t n_window;
};

/* Begins; the effort is a part of what is left of the file's, and is taken from nobody. Fails with
 * HS_LIMIT. */
hs_status hs_elf_code_init_(struct elf_code *code, struct hs_elf *elf, struct hs_error *err);
void hs_elf_code_fini_(struct elf_code *code);

/* Returns the code of a function, the first 256 KiB of it, borrowed until the next. *ret_n, at
 * first its size, is 0 where there is none. */
const uint8_t *hs_elf_code_at_(struct elf_code *code, hs_addr vaddr, size_t *ret_n);

#endif
