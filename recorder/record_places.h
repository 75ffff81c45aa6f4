/* The codes of backtraces that the trace has explained. A code is the return address; when another
 * module comes to lie at the same address, the number of that change is in bits 48 to 62. */
#ifndef HS_RECORD_PLACES_H
#define HS_RECORD_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_RECORD_PLACES (1U << 16) /* known at a time; then all is explained anew */

struct hs_record_known {
    uint64_t address;
    uint64_t module;  /* a hash of its base and its name; 0: not explained */
    uint32_t unloads; /* when it was last looked at */
    uint32_t change;
};

struct hs_record_places {
    struct hs_record_known *known;
    uint32_t n_known;
    uint32_t unloads; /* so many modules were unloaded by now */
    uint32_t change;  /* so many codes were taken over by another module */
    char executable[4096];
    char called[4096]; /* the same, by the name that it was started by where that is beside it */
};

bool hs_record_places_init(struct hs_record_places *places);
void hs_record_places_fini(struct hs_record_places *places);

/* The entry of a return address. With *ret_file not NULL its code has to be explained now: the
 * address is *ret_offset in that module, as its ELF file counts. When that gets lost, set `module`
 * to 0. Holds until the next call. */
struct hs_record_known *hs_record_place_find(struct hs_record_places *places, uint64_t address,
                                             const char **ret_file, uint64_t *ret_offset);
/* The same for a place of a script, which is always the same: true when it has to be explained. */
bool hs_record_place_script(struct hs_record_places *places, uint64_t frame,
                            struct hs_record_known **ret);
static inline uint64_t hs_record_place_code(const struct hs_record_known *known)
{
    return known->address | (uint64_t)(known->change & 0x7fff) << 48;
}

#endif
