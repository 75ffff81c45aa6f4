/* Split debug information (-gsplit-dwarf): what describes types and variables is in a .dwo file for
 * each unit, or all of these in one .dwp, and a skeleton alone in the program. Of DWARF 5, and of
 * earlier versions as GNU's DebugFission has it.
 *
 * The caller opens the files: what they are called is the program's to say, and so hostile. A file
 * of another build, or one that is damaged, is as if it were not there. */
#ifndef HS_SYMBOLS_SPLIT_H
#define HS_SYMBOLS_SPLIT_H

#include "symbols/elf.h"

struct hs_buffer;

struct hs_split_places {
    /* Opens the .dwo `name`, of the directory that it was compiled in; *ret stays NULL when it is
     * not there. Anything but HS_LIMIT is as if it were not. The caller closes it. */
    hs_status (*open)(void *context, const char *directory, const char *name, struct hs_elf **ret,
                      struct hs_error *err);
    /* Opens the .dwp of the program, likewise, if there is one; may be NULL. */
    hs_status (*open_package)(void *context, struct hs_elf **ret, struct hs_error *err);
    void *context;
};

struct hs_split_found {
    size_t n_files, n_used; /* that skeletons name; of which there is all */
    size_t n_packaged;      /* of these in the .dwp */
};

/* Puts the debug information of `elf` and what its skeletons lead to into one ELF file in *ret,
 * which has nothing else; empty when there is nothing split. Takes `most_bytes` at the most: what
 * does not fit is left out. Fails with HS_LIMIT, and HS_IO of temporary files. */
hs_status hs_split_merge(struct hs_elf *elf, const struct hs_split_places *places,
                         uint64_t most_bytes, struct hs_buffer *ret, struct hs_split_found *found,
                         struct hs_error *err);

#endif
