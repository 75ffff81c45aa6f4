/* The inside of a hs_elf, shared by elf.c (headers), elf_sections.c and elf_segments.c (contents)
 * and elf_symbols.c. */
#ifndef HS_ELF_ELF_PRIVATE_H
#define HS_ELF_ELF_PRIVATE_H

#include <libelf.h>

#include "base/effort.h"
#include "base/table.h"
#include "elf_view.h"
#include "symbols/elf.h"

enum {
    ELF_MAX_SEGMENTS = 1 << 16,
    ELF_MAX_SECTIONS = 1 << 20,
    ELF_BUILD_ID_MAX = 64, /* bytes; linkers make 8, 16 or 20 */
};

/* The largest contents that are read: no linker makes a larger section, a sparse file may have
 * one. */
#define ELF_MAX_CONTENT (UINT64_C(2) << 30)

/* ch_type of zstd (gABI, 2022), which neither glibc 2.36 nor libelf 0.188 know. */
enum { ELF_COMPRESS_ZSTD = 2 };

/* Tells whether a claim is possible: deflate makes at most 1032 bytes of one, so that a larger
 * claim is a lie, not a reason to allocate. zstd can make more, and of debug information does not.
 */
static inline bool hs_elf_claim_is_possible_(uint64_t n_claimed_bytes, uint64_t n_packed_bytes)
{
    return n_claimed_bytes <= ELF_MAX_CONTENT && n_claimed_bytes / 1032 <= n_packed_bytes;
}

/* The loaded part of a section. */
struct elf_content {
    const uint8_t *bytes; /* libelf's, until elf_end; or `own` */
    size_t n_bytes;
    uint8_t *own; /* owned pages: what libelf cannot decompress */
    bool tried;
};

/* The part of a segment that was read. */
struct elf_segment_content {
    struct elf_view view; /* of no bytes: there are none */
    bool tried;
    bool is_lost; /* the file has become shorter */
};

struct elf_section {
    struct hs_elf_section seen;
    struct elf_content content;
    uint32_t link;
    Elf_Scn *scn; /* libelf's */
};

struct hs_elf {
    Elf *elf;
    char *name; /* owned */
    int fd;     /* owned; -1 for memory */
    uint64_t n_file_bytes;
    struct hs_effort effort;   /* what may still be read of it, by whomever */
    struct hs_elf *supplement; /* borrowed; NULL: none */
    hs_addr entry;
    bool is_dyn, has_interpreter, has_tls, has_symtab;
    struct hs_elf_tls tls;
    struct hs_elf_segment *segments; /* owned */
    struct elf_segment_content *segment_contents;
    struct elf_view_total segments_total;
    bool has_no_room; /* for what a segment has */
    size_t n_segments;
    struct elf_section *sections; /* owned; number 0 is the null section */
    size_t n_sections;
    char build_id[2 * ELF_BUILD_ID_MAX + 1];
    struct hs_elf_symbol *symbols; /* owned: those with an address, then the thread-local */
    size_t n_symbols, n_tls_symbols;
    struct hs_table by_name; /* of symbols */
    uint8_t *mini_bytes;     /* owned pages: of `mini` */
    size_t n_mini_bytes;
    struct hs_elf *mini; /* owned: the file that .gnu_debugdata has; NULL: none */
};

/* The parts of open, in this order. Each leaves what it allocated to hs_elf_close. */
hs_status hs_elf_load_segments_(struct hs_elf *elf, struct hs_error *err);
hs_status hs_elf_load_sections_(struct hs_elf *elf, struct hs_error *err);
void hs_elf_load_build_id_(struct hs_elf *elf);
hs_status hs_elf_load_symbols_(struct hs_elf *elf, struct hs_error *err);
/* Unpacks what .gnu_debugdata has to elf->mini_bytes; *ret_n_bytes is 0 where there is none, it is
 * damaged or too large, or the file has a symbol table. Fails with HS_LIMIT. */
hs_status hs_elf_unpack_mini_(struct hs_elf *elf, size_t *ret_n_bytes, struct hs_error *err);

#endif
