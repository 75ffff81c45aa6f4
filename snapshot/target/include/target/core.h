/* A core file as a target: its threads, mappings and memory, read where they lie.
 *
 *   kernel (core(5)), gcore          ELF, ET_CORE: PT_NOTE, PT_LOAD
 *   systemd-coredump                 the same in a zstd or lz4 frame
 *
 * A core that can be read anywhere is read where it lies, never loaded; one that comes through a
 * pipe or is compressed goes to a temporary file first, holes kept. What the core left out (pages
 * of files, by coredump_filter) is read from the files themselves when they are of the same build.
 * Everything in it is hostile input. Sources: core(5), elf(5), fs/binfmt_elf.c. */
#ifndef HS_TARGET_CORE_H
#define HS_TARGET_CORE_H

#include "base/budget.h"
#include "target/target.h"

struct hs_core_file; /* the bytes of a core, to be read at any place */

struct hs_core_options {
    const char *path;         /* "-": standard input */
    const char *exe;          /* the program; NULL: where the core says */
    const char *sysroot;      /* put before the paths of files in the core; NULL: none */
    struct hs_budget *budget; /* names the directory of temporary files; NULL: TMPDIR */
    /* Opened before; NULL: hs_core_open opens one. What comes through a pipe can be opened once. */
    const struct hs_core_file *file;
};

/* Opens `path`, unpacks it when need be: HS_IO when it cannot be read, or the disk has no room;
 * HS_FORMAT when it is compressed otherwise than by zstd or lz4. Close it after the targets. */
hs_status hs_core_file_open(const struct hs_core_options *options, struct hs_core_file **ret,
                            struct hs_error *err);
void hs_core_file_close(struct hs_core_file *file);

/* HS_IO when it cannot be read, HS_FORMAT when it is no core of an x86-64 process or is damaged
 * beyond use, HS_TARGET when `exe` is not its program. A truncated one opens: what it lacks is
 * unreadable, and hs_core_note says so. The result is stopped for good: hs_target_stop, _freeze and
 * _resume have nothing to do. */
hs_status hs_core_open(const struct hs_core_options *options, struct hs_target *ret,
                       struct hs_error *err);

/* Returns what is missing in the core, one line, borrowed until the next call; "" when nothing is.
 * Files that were needed and not found are known after they were asked for. */
const char *hs_core_note(const struct hs_target *target);

/* Returns how many bytes from `begin` on are in it, up to `end` or the first address that it has
 * not, holes of the file left out. */
uint64_t hs_core_data_bytes(const struct hs_target *target, hs_addr begin, hs_addr end);

/* "" or what --sysroot says. Borrowed, as all below. */
const char *hs_core_sysroot(const struct hs_target *target);
/* Returns where the file mapped at `address` was found on this machine, or NULL. */
const char *hs_core_found_path(const struct hs_target *target, hs_addr address);
/* Finds the next mapped file that is nowhere here, from number *at on (0 at first), which becomes
 * its own plus one: its build-id, borrowed; NULL when there is no more. */
const char *hs_core_next_missing(const struct hs_target *target, size_t *at);
/* Takes the file at `path` for the missing one that *at stood behind, if it is of that build. */
hs_status hs_core_offer(const struct hs_target *target, size_t at, const char *path,
                        struct hs_error *err);
/* Returns where the program was found on this machine, or NULL. */
const char *hs_core_program_path(const struct hs_target *target);

#endif
