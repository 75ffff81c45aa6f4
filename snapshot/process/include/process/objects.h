/* The ELF objects loaded in a target: the executable and the OCaml plugins (.cmxs) and shared
 * libraries that matter, each with its load bias and symbols at run-time addresses. */
#ifndef HS_PROCESS_OBJECTS_H
#define HS_PROCESS_OBJECTS_H

#include "base/buffer.h"
#include "target/target.h"

struct hs_elf;       /* symbols/elf.h */
struct hs_cfi;       /* symbols/cfi.h */
struct hs_dwarf_box; /* symbols/dwarf_box.h */
struct hs_image;     /* process/image.h */

struct hs_object {
    struct hs_elf *elf;   /* owned */
    struct hs_elf *debug; /* owned: the separate debug file; NULL: none, or not looked for yet */
    struct hs_elf *supplement; /* owned: what dwz moved out of the debug information; or NULL */
    struct hs_buffer merged;   /* owned: the bytes of `debug` where it was split over many files */
    bool debug_tried;
    hs_addr bias;       /* run-time address = link-time address + bias */
    hs_addr begin, end; /* lowest and one past the highest mapped address */
    char *path;         /* owned: as mapped in the target */
    /* owned: its last component without .cmxs: "coqtop", "ltac_plugin"; of the program, what it was
     * started as */
    char *name;
    bool is_executable; /* the main program */
    /* The file could not be read, or is not the one that was loaded (`why`): this is what the
     * process has of it in memory, with dynamic symbols, frame tables and build-id, but without
     * local symbols and debug information. */
    uint8_t *loaded; /* owned; NULL: read from the file */
    size_t n_loaded_bytes;
    char *why;          /* owned; NULL as above */
    struct hs_cfi *cfi; /* owned: opened by whoever unwinds first (process/unwind.h) */
    bool cfi_tried;     /* NULL above then means that there is none */
};

/* A file with code that is mapped and of which nothing could be made. */
struct hs_lost_object {
    hs_addr begin;
    char *path; /* owned: as mapped */
    char *why;  /* owned */
};

struct hs_objects {
    struct hs_object *objects; /* owned; the executable first, then by address */
    size_t n, capacity;
    struct hs_lost_object *lost; /* owned; their memory is in the dump, without a name */
    size_t n_lost, lost_capacity;
    struct hs_dwarf_box *box; /* owned: reads their debug information; made by hs_objects_box */
};

/* A symbol at its run-time address. Text borrowed from the object. */
struct hs_live_symbol {
    hs_addr address;
    uint64_t size;
    const char *name;
    const struct hs_object *object;
    bool is_code;
};

/* Opens every mapped ELF file once. The file must be the one that was loaded: by its build-id, or
 * else by the way that led to it. What cannot be read, or was replaced since, is taken from memory;
 * what cannot be had at all is listed as lost, except the executable: HS_TARGET. The first pages
 * may be missing; code of a file that is mapped once more is no object of its own. May run before
 * the stop; hs_objects_update adds what has been mapped since. */
hs_status hs_objects_open(struct hs_objects *objects, struct hs_target *target,
                          struct hs_error *err);
hs_status hs_objects_update(struct hs_objects *objects, struct hs_target *target,
                            struct hs_error *err);
void hs_objects_close(struct hs_objects *objects);

/* Writes what is missing of number i, 0 <= i, of the files that could not be read: what broke the
 * reader of debug information so far, files of memory, lost ones. One line; false when there are no
 * more. */
bool hs_objects_missing(const struct hs_objects *objects, size_t i, char *text, size_t n_bytes);

/* After all that was asked of them: HS_LIMIT when there were no addresses for some of it. */
hs_status hs_objects_check(const struct hs_objects *objects, struct hs_error *err);

/* The box that reads the objects' debug information, made at the first call; NULL without memory
 * for it. What is opened in it must be closed before the objects. */
struct hs_dwarf_box *hs_objects_box(struct hs_objects *objects);

/* Returns the file that has the object's debug information, the separate one or its own; NULL:
 * none. */
struct hs_elf *hs_object_with_types(const struct hs_object *object);

/* Copies the writable segments of all objects whole while the target is stopped: data, bss, and
 * what the loader has made read-only after relocating it (virtual tables and the like). Fails like
 * hs_image_copy. */
hs_status hs_objects_copy_data(const struct hs_objects *objects, struct hs_image *image,
                               struct hs_target *target, struct hs_error *err);

/* Finds a symbol by its exact name, in the executable first, then in the others by address. */
bool hs_objects_find(const struct hs_objects *objects, const char *name,
                     struct hs_live_symbol *ret);
bool hs_object_find(const struct hs_object *object, const char *name, struct hs_live_symbol *ret);
/* The symbol that contains, or else precedes, an address inside its object. */
bool hs_objects_at(const struct hs_objects *objects, hs_addr address, struct hs_live_symbol *ret);
const struct hs_object *hs_objects_object_at(const struct hs_objects *objects, hs_addr address);

#endif
