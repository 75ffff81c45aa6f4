/* The structures and functions that the parts of a core share: core.c (opening), file.c, unpack.c,
 * headers.c, notes.c, mappings.c, binaries.c, read.c. */
#ifndef HS_CORE_CORE_PRIVATE_H
#define HS_CORE_CORE_PRIVATE_H

#include <sys/types.h>

#include "base/cursor.h"
#include "base/spill.h"
#include "target/core.h"

#define HS_CORE_PAGE ((uint64_t)4096)
/* The address of the kernel's old entry points in every process (asm/vsyscall.h). */
#define HS_CORE_VSYSCALL UINT64_C(0xffffffffff600000)

/* Above is no memory of a process but that (5 levels of page tables; half of it is the kernel's).
 */
#define HS_CORE_USER_END (UINT64_C(1) << 56)

enum { HS_CORE_NONE = UINT32_MAX };

/* The bytes of a core, wherever they came from, to be read at any place. */
struct hs_core_file {
    int fd;
    char *name; /* owned: for messages */
    uint64_t n_bytes;
    struct hs_spill spill; /* open when it was unpacked or came through a pipe; then fd is its */
    bool is_cut;           /* what was unpacked ended early or was damaged there */
    uint32_t uid, gid;     /* its owner; nobody's when it came through a pipe */
};

/* A PT_LOAD: memory [begin, end), of which the file has the first n_bytes. */
struct hs_core_segment {
    hs_addr begin, end;
    uint64_t file_at;
    uint64_t n_claimed_bytes; /* what it says it has; more than n_bytes in a cut file */
    uint64_t n_bytes;         /* whole pages that are there, or all */
    uint32_t flags;           /* PF_R, PF_W, PF_X */
};

/* A row of NT_FILE: [begin, end) is mapped from a file. */
struct hs_core_row {
    hs_addr begin, end;
    uint64_t file_offset;
    uint32_t binary;
};

enum hs_core_proof {
    HS_CORE_UNTRIED,
    HS_CORE_MISSING,  /* no such file here */
    HS_CORE_OTHER,    /* another build */
    HS_CORE_UNPROVEN, /* the core does not hold what could prove it */
    HS_CORE_PROVEN,   /* the same build */
    HS_CORE_BELIEVED, /* as the user says */
};

/* A PT_LOAD of a mapped file: its bytes [begin, end), from a page's beginning on, and where they
 * are by the file's own addresses. */
struct hs_core_load {
    uint64_t begin, end;
    hs_addr address; /* of `begin` */
    uint32_t flags;
};

enum { HS_CORE_LOADS_MAX = 8, HS_CORE_ID_BYTES = 41 };

/* The facts known of a mapped file. */
struct hs_core_known {
    uint8_t *header; /* owned: its first page as the core has it; NULL: it has not */
    char *path;      /* owned: where the file is here; NULL: nowhere, or of another build */
    int fd;          /* -1: not to be read */
    struct hs_core_load loads[HS_CORE_LOADS_MAX];
    size_t n_loads;
    hs_addr memory_begin, memory_end;                             /* by the file's own addresses */
    char wanted_id[HS_CORE_ID_BYTES], found_id[HS_CORE_ID_BYTES]; /* build-ids, perhaps cut */
};

/* A file that was mapped. */
struct hs_core_binary {
    uint32_t path_at;            /* in hs_core.paths */
    uint32_t first_row;          /* of hs_core.rows */
    uint8_t proof;               /* enum hs_core_proof */
    bool is_wanted;              /* asked for as a program or library */
    struct hs_core_known *known; /* owned; NULL: not looked at */
};

/* The sources of a mapping: a segment of the core, a row of its NT_FILE. Parallel to
 * hs_target.mappings. */
struct hs_core_source {
    uint32_t segment, row; /* HS_CORE_NONE: none */
};

struct hs_core_auxv {
    uint64_t phdr, entry, random, execfn, vdso;
};

struct hs_core {
    const struct hs_core_file *file;
    bool owns_file;
    char *exe, *sysroot;              /* owned copies of the options; NULL */
    struct hs_core_segment *segments; /* owned; ascending, disjoint */
    size_t n_segments, segments_capacity;
    struct hs_core_span {
        uint64_t at, n_bytes;
    } * notes; /* owned: PT_NOTE in the file */
    size_t n_notes, notes_capacity;
    struct hs_core_row *rows; /* owned; ascending, disjoint */
    size_t n_rows, rows_capacity;
    struct hs_core_binary *binaries; /* owned */
    size_t n_binaries, binaries_capacity;
    char *paths; /* owned: of binaries */
    size_t n_path_bytes, paths_capacity;
    struct hs_core_source *sources; /* owned */
    size_t sources_capacity;
    struct hs_core_auxv auxv;
    uint32_t program;                 /* of binaries; HS_CORE_NONE */
    uint32_t n_looked_at;             /* of binaries */
    bool lacks_anonymous;             /* coredump_filter left private memory out */
    bool is_unread;                   /* bytes that the file had could not be read */
    uint64_t n_lost_bytes, n_damaged; /* cut off; headers and rows that make no sense */
    uint64_t extent_begin, extent_data, extent_end; /* file: [begin, data) is a hole, then data */
    uint8_t *buffer;                                /* owned: HS_CORE_BUFFER_BYTES */
    char note[512];
};

#define HS_CORE_BUFFER_BYTES ((size_t)256 << 10)

/* ---- unpack.c: writes what a compressed stream holds to the spill; zero pages stay holes. */
enum hs_core_form { HS_CORE_PLAIN, HS_CORE_ZSTD, HS_CORE_LZ4 };
/* `first` is what was read of it already. */
hs_status hs_core_unpack(int fd, enum hs_core_form form, const uint8_t *first, size_t n_first,
                         struct hs_core_file *file, struct hs_error *err);

/* ---- file.c */
/* n_bytes at `at` of the file; HS_FORMAT when it ends before. */
hs_status hs_core_file_read(const struct hs_core_file *file, uint64_t at, void *bytes,
                            size_t n_bytes, struct hs_error *err);

/* ---- headers.c: segments and notes. */
hs_status hs_core_read_headers(struct hs_core *core, struct hs_error *err);

/* ---- notes.c: threads, command, user, rows, auxv. */
hs_status hs_core_read_notes(struct hs_core *core, struct hs_target *target, struct hs_error *err);

/* ---- command.c: puts the whole command line in the place of the note's 79 bytes. */
hs_status hs_core_take_command(struct hs_target *target, struct hs_error *err);

/* ---- mappings.c */
hs_status hs_core_make_mappings(struct hs_core *core, struct hs_target *target,
                                struct hs_error *err);

/* ---- binaries.c */
const char *hs_core_path(const struct hs_core *core, uint32_t binary);
/* Finds and proves the file once; true when it may be read. What is known of it is then there, or
 * there was no memory for it. */
bool hs_core_binary_open(struct hs_core *core, uint32_t binary);
/* The segment that a row maps; NULL when none has its bytes. */
const struct hs_core_load *hs_core_load_of(const struct hs_core *core,
                                           const struct hs_core_row *row);
/* Returns the end, rounded up to a page, of the memory of a file whose lowest mapping begins at
 * `begin`; 0 when unknown. */
hs_addr hs_core_memory_end(struct hs_core *core, uint32_t binary, hs_addr begin);
/* HS_TARGET when the file named by --exe is not the program. */
hs_status hs_core_check_exe(struct hs_core *core, struct hs_error *err);
void hs_core_binaries_fini(struct hs_core *core);

/* ---- bytes.c */
/* Reads bytes of a file, fewer when it was cut since it was opened; returns how many. */
size_t hs_core_read_at(int fd, uint64_t at, uint8_t *bytes, size_t n_bytes);
/* The segment that holds `address`, or NULL. O(log n). */
const struct hs_core_segment *hs_core_segment_at(const struct hs_core *core, hs_addr address);
/* Reads bytes that the core itself has and returns how many, fewer than n_bytes when it has no
 * more. */
size_t hs_core_own_bytes(const struct hs_core *core, hs_addr address, void *bytes, size_t n_bytes);

#endif
