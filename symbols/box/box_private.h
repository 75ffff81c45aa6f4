/* The asker's side of the box: dwarf_box.c (the process), ask.c (files and questions). */
#ifndef HS_BOX_BOX_PRIVATE_H
#define HS_BOX_BOX_PRIVATE_H

#include <sys/types.h>

#include "symbols/dwarf_box.h"
#include "symbols/elf.h"
#include "wire.h"

enum {
    BOX_MAX_BREAKS = 8, /* files that may break the box; then it is not started again */
    BOX_MAX_STARTS = 64,
    BOX_NOTE_BYTES = 384,
};

/* A file that broke the box, by device and inode: it is not opened again under another handle. */
struct box_guilty {
    uint64_t device, inode;
    uint32_t kind;
};

struct hs_dwarf_box {
    char *program; /* owned; NULL: beside this very program */
    uint64_t memory_bytes;
    uint64_t answer_ns;
    pid_t pid;           /* 0: does not run */
    int socket;          /* -1: does not run */
    uint32_t how;        /* as it says: enum box_how */
    clockid_t clock;     /* its processor time */
    uint64_t generation; /* counts starts: what was opened in an earlier one is gone */
    uint64_t serial;
    bool *used; /* owned: file numbers in use */
    size_t n_used, used_capacity;
    bool is_given_up; /* cannot be started, or broke too often */
    struct box_guilty guilty[BOX_MAX_BREAKS];
    size_t n_breaks;
    char notes[BOX_MAX_BREAKS + 2][BOX_NOTE_BYTES];
    size_t n_notes;
    uint8_t *answer; /* owned: BOX_MAX_BYTES and a NUL */
};

/* A file of which something was opened in the box. */
struct box_file {
    struct hs_dwarf_box *box; /* borrowed */
    struct hs_elf *elf;       /* borrowed */
    char *name;               /* owned */
    uint32_t number, kind;    /* BOX_OPEN_* */
    uint64_t generation;      /* of the box in which it is open; 0: in none */
    bool has_number, is_given_up;
};

/* The body of an answer, in the box's own memory: until the next question. */
struct box_answer {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* dwarf_box.c: starts the process when it does not run. HS_IO when that cannot be, HS_LIMIT. */
hs_status hs_box_start_(struct hs_dwarf_box *box, struct hs_error *err);
/* Kills and reaps it. */
void hs_box_stop_(struct hs_dwarf_box *box);
void hs_box_note_(struct hs_dwarf_box *box, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ask.c. Opens a file as `kind`; on failure nothing is left open. HS_FORMAT also for what broke
 * the box, now or before. */
hs_status hs_box_file_open_(struct hs_dwarf_box *box, struct hs_elf *elf, const char *name,
                            uint32_t kind, struct box_file *ret, struct box_answer *ret_answer,
                            struct hs_error *err);
void hs_box_file_close_(struct box_file *file);

/* Asks about an address. Fails with HS_FORMAT when the file is given up or the box says so. */
hs_status hs_box_ask_(struct box_file *file, uint32_t kind, hs_addr vaddr, struct box_answer *ret,
                      struct hs_error *err);

/* Refuses an answer that makes no sense, on the asker's side: as if the box had died of it. */
hs_status hs_box_refuse_(struct box_file *file, struct hs_error *err);

#endif
