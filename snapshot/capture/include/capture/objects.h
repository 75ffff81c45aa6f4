/* The ELF objects loaded in a target: the executable and the OCaml plugins (.cmxs) and shared
 * libraries that matter, each with its load bias and symbols at run-time addresses. */
#ifndef HS_CAPTURE_OBJECTS_H
#define HS_CAPTURE_OBJECTS_H

#include "target/target.h"

struct hs_elf;   /* symbols/elf.h */
struct hs_cfi;   /* symbols/cfi.h */
struct hs_image; /* capture/image.h */

struct hs_object {
    struct hs_elf *elf;   /* owned */
    struct hs_elf *debug; /* owned: the separate debug file; NULL: none, or not looked for yet */
    bool debug_tried;
    hs_addr bias;       /* run-time address = link-time address + bias */
    hs_addr begin, end; /* lowest and one past the highest mapped address */
    char *path;         /* owned: as mapped in the target */
    char *name;         /* owned: its last component without .cmxs: "coqtop", "ltac_plugin" */
    bool is_executable; /* the main program */
    struct hs_cfi *cfi; /* owned: opened by whoever unwinds first (capture/unwind.h) */
    bool cfi_tried;     /* NULL above then means that there is none */
};

struct hs_objects {
    struct hs_object *objects; /* owned; the executable first, then by address */
    size_t n, capacity;
};

/* A symbol at its run-time address. Text borrowed from the object. */
struct hs_live_symbol {
    hs_addr address;
    uint64_t size;
    const char *name;
    const struct hs_object *object;
    bool is_code;
};

/* Opens every mapped ELF file once (build-ids compared with the mapped note where readable). Files
 * that cannot be read are skipped, except the executable: HS_TARGET. May run before the stop;
 * hs_objects_update adds what has been mapped since. */
hs_status hs_objects_open(struct hs_objects *objects, struct hs_target *target,
                          struct hs_error *err);
hs_status hs_objects_update(struct hs_objects *objects, struct hs_target *target,
                            struct hs_error *err);
void hs_objects_close(struct hs_objects *objects);

/* Copies the writable segments of all objects whole while the target is stopped: data, bss, and
 * what the loader has made read-only after relocating it (virtual tables and the like). Fails like
 * hs_image_copy. */
hs_status hs_objects_copy_data(const struct hs_objects *objects, struct hs_image *image,
                               struct hs_target *target, struct hs_error *err);

/* By exact name: in the executable, then in the others by address. False when there is none. */
bool hs_objects_find(const struct hs_objects *objects, const char *name,
                     struct hs_live_symbol *ret);
bool hs_object_find(const struct hs_object *object, const char *name, struct hs_live_symbol *ret);
/* The symbol that contains, or else precedes, an address inside its object. */
bool hs_objects_at(const struct hs_objects *objects, hs_addr address, struct hs_live_symbol *ret);
const struct hs_object *hs_objects_object_at(const struct hs_objects *objects, hs_addr address);

#endif
