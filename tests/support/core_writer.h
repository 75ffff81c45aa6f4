/* A writer of core files for tests: states threads, notes, mapped files and segments, lays them out
 * as the kernel does, and lets the test damage what it likes afterwards (the image is plain
 * memory).
 *
 *   | header | program headers | notes | contents, page-aligned | section header 0, when asked for
 * |
 *
 * Capacities are fixed. Errors of the writer itself abort. */
#ifndef HS_TESTS_CORE_WRITER_H
#define HS_TESTS_CORE_WRITER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CORE_WRITER_SEGMENTS = 64, CORE_WRITER_FILES = 16, CORE_WRITER_NOTE_BYTES = 1 << 14 };

struct core_writer {
    struct core_writer_segment {
        uint64_t begin, end;
        uint32_t flags;
        const void *bytes; /* borrowed until finish; NULL with n_bytes 0 */
        uint64_t n_bytes;
    } segments[CORE_WRITER_SEGMENTS];
    size_t n_segments;
    struct core_writer_file {
        uint64_t begin, end, pages;
        char path[128];
    } files[CORE_WRITER_FILES];
    size_t n_files;
    uint64_t auxv[32];
    size_t n_auxv;
    uint8_t notes[CORE_WRITER_NOTE_BYTES];
    size_t n_notes;
    bool counts_in_section; /* PN_XNUM */
    uint8_t *bytes;         /* owned: the image, after finish */
    size_t n_bytes;
    size_t notes_at, contents_at;
};

void core_writer_init(struct core_writer *w);
void core_writer_fini(struct core_writer *w);

void core_writer_note(struct core_writer *w, uint32_t type, const void *bytes, size_t n_bytes);
void core_writer_thread(struct core_writer *w, int32_t tid, uint64_t rip, uint64_t rsp);
void core_writer_info(struct core_writer *w, int32_t pid, const char *name, const char *arguments);
void core_writer_auxv(struct core_writer *w, uint64_t key, uint64_t value);
void core_writer_file(struct core_writer *w, uint64_t begin, uint64_t end, uint64_t pages,
                      const char *path);
void core_writer_segment(struct core_writer *w, uint64_t begin, uint64_t end, uint32_t flags,
                         const void *bytes, uint64_t n_bytes);
/* Adds NT_AUXV and NT_FILE behind the notes that were stated, and lays everything out. */
void core_writer_finish(struct core_writer *w);

/* Of the finished image, to be damaged. */
Elf64_Ehdr *core_writer_header(struct core_writer *w);
Elf64_Phdr *core_writer_program_header(struct core_writer *w, size_t number); /* 0: the notes */

/* Writes the image, or its first n bytes, to a new file below a directory of the test's own and
 * gives its path, valid until the next call. */
const char *core_writer_save(const void *bytes, size_t n_bytes);
/* That directory, made when first asked for; removed with all in it by core_writer_clean. */
const char *core_writer_directory(void);
void core_writer_clean(void);

/* A whole small process: threads 40 and 42 of process 40, a program at CORE_SAMPLE_PROGRAM mapped
 * from `path` (may not exist), its heap, stack, vdso, a mapping that was never written to. */
#define CORE_SAMPLE_PROGRAM UINT64_C(0x555555554000)
#define CORE_SAMPLE_HEAP UINT64_C(0x555555600000)
#define CORE_SAMPLE_UNTOUCHED UINT64_C(0x7f0000000000)
#define CORE_SAMPLE_GUARD UINT64_C(0x7f0000100000)
#define CORE_SAMPLE_VVAR UINT64_C(0x7ffff7fc0000)
#define CORE_SAMPLE_STACK UINT64_C(0x7ffffffd0000)
/* `header`: the program's first page, or NULL when the core shall not have it. Not finished. */
void core_writer_sample(struct core_writer *w, const char *path, const uint8_t *header);

#endif
