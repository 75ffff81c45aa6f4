/* The mentions of a file's static memory near some places, by its code and its relocations. */
#ifndef HS_ELF_ELF_MENTIONS_H
#define HS_ELF_ELF_MENTIONS_H

#include "elf_functions.h"
#include "elf_sources.h"

/* The most bytes from an address that code has taken to a member of the same object; and from the
 * beginning of an object to a place in it, but for places between. */
enum { ELF_MENTIONS_REACH = 1 << 16 };

/* One mention. Without `end` an object may begin at `at`; with it, one that begins there goes on to
 * `end` at least, and the border is another mention's. */
struct elf_hit {
    hs_addr at, end;
    uint32_t function; /* from 1; 0: a section begins; ELF_HIT_IN_DATA: a word of data has it */
    bool is_border;
};

#define ELF_HIT_IN_DATA UINT32_MAX

struct elf_mentions {
    struct elf_hit *hits; /* owned: by at */
    size_t n, capacity;
    struct elf_functions functions;
    struct elf_sources sources;
    bool is_cut; /* there are more than are kept */
};

/* Collects them for `places`, ascending. Functions get their sources. Fails with HS_LIMIT. */
hs_status hs_elf_mentions_find_(struct hs_elf *elf, const struct hs_elf *names,
                                const hs_addr *places, size_t n, struct elf_mentions *ret,
                                struct hs_error *err);
void hs_elf_mentions_fini_(struct elf_mentions *mentions);

#endif
