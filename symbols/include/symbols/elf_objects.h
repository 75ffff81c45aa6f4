/* The static objects of a binary whose symbols are gone, found by its code.
 *
 * A word in .bss is of some variable, and where that begins a stripped file does not say; but code
 * that uses it does. An object begins where code or a relocation mentions an address; where code
 * reaches further from an address that it has taken, all that it reaches is of the same object, and
 * what is mentioned within is a member. Symbols that are left are exact: nothing cuts or joins
 * them. So it errs to the harmless side: a structure whose members code mentions one by one is
 * several objects, two variables are hardly ever one (docs/decisions/086).
 *
 * Tells the users of an object as well: exported functions by their names, and the source file by
 * the texts that assertions and log messages of its users have of `__FILE__`. A function that has
 * no such text is of the file that the functions with one on both sides of it are of, if that is
 * the same. These texts are constants of the file, never data of a process. */
#ifndef HS_SYMBOLS_ELF_OBJECTS_H
#define HS_SYMBOLS_ELF_OBJECTS_H

#include "symbols/elf.h"

struct hs_elf_object {
    hs_addr begin; /* vaddr of the object that a place is in */
    const struct hs_elf_symbol
        *function;    /* that mentions it most; borrowed from `names`, or NULL */
    const char *file; /* borrowed from hs_elf_objects; NULL: not known */
};

struct hs_elf_objects {
    struct hs_elf_object *of; /* owned: by place; NULL: nothing is known */
    char *files;              /* owned */
};

/* Finds the objects that `places`, vaddrs, ascending and none twice, are in. `names` has the
 * symbols: `elf`, or a debug file of the same binary. ret->of stays NULL for code of a processor
 * that is not followed, for a file whose functions nothing lists, and where it has more mentions
 * than are looked at. A quarter of what the file may ask for (base/effort.h) bounds the work: some
 * 2 ns for each byte of code, 15 to 50 ns for each instruction of functions that mention what is
 * near a place. 32 bytes for each function, 40 for each mention while it runs. Fails with
 * HS_LIMIT. */
hs_status hs_elf_objects_find(struct hs_elf *elf, const struct hs_elf *names, const hs_addr *places,
                              size_t n, struct hs_elf_objects *ret, struct hs_error *err);
void hs_elf_objects_fini(struct hs_elf_objects *objects);

#endif
