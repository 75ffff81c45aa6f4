/* A live process: what it is, how it is stopped, how its memory is copied, how it is let go.
 *
 * The promise of this file: the target runs on after *any* end of ours. Its memory is never
 * written; it is seized (PTRACE_SEIZE sends no signal), interrupted, read with process_vm_readv,
 * and detached. Registers are set only where the stop broke a system call off that shall start
 * again, to values that are valid at every moment. Should we be killed in between, the kernel
 * detaches and the target runs.
 *
 * Rule of use: open (no stop), stop, read / copy, resume as soon as possible, close. */
#ifndef HS_TARGET_TARGET_H
#define HS_TARGET_TARGET_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/error.h"

struct hs_mapping {
    hs_addr begin, end;   /* half-open, page-aligned */
    uint64_t file_offset; /* bytes */
    uint64_t inode;
    bool readable, writable, executable, shared;
    uint32_t path_at; /* offset in the target's path text; hs_mapping_path */
};

struct hs_thread {
    pid_t tid;
    uint8_t state;                /* private to target_stop.c */
    struct user_regs_struct regs; /* valid while or after a stop */
};

/* What tells one program of one process from the next: a pid may be used again, and exec keeps it.
 * Of two programs in the same file the start of the stack differs, as it is placed at random. */
struct hs_identity {
    uint64_t start_time; /* clock ticks since boot */
    uint64_t exe_device, exe_inode;
    hs_addr code_begin, stack_begin;
};

struct hs_target {
    pid_t pid;
    int pidfd;
    char *command;             /* owned: the command line, sanitised, spaces between arguments */
    struct hs_thread *threads; /* owned; ascending tid; valid after stop */
    size_t n_threads, threads_capacity;
    struct hs_mapping *mappings; /* owned; ascending; refreshed by every stop */
    size_t n_mappings, mappings_capacity;
    char *path_text; /* owned */
    size_t path_text_bytes, path_text_capacity;
    bool is_stopped;
    bool was_stopped_already; /* by its user: group-stop or SIGSTOP. Then our pause is 0 */
    uint64_t stopped_at_ns;
    uint64_t pause_ns; /* length of the last stop, from first interrupt to last detach */
    uint64_t read_bytes;
    uint64_t n_restarted; /* system calls set to start again: they alone notice a mere stop */
    struct hs_identity identity;
    uint32_t uid, gid;      /* the user it runs as */
    int mem_fd, pagemap_fd; /* -1 when the system does not offer them */
    bool reads_by_file;     /* process_vm_readv is refused here: read through mem_fd */
};

/* Looks at the process without disturbing it. HS_TARGET, each with its own message and hint: no
 * such process, zombie, kernel thread, already traced (names the tracer), not permitted (names the
 * setting: other user, yama ptrace_scope, not dumpable), 32-bit program, ourselves. */
hs_status hs_target_open(pid_t pid, struct hs_target *ret, struct hs_error *err);
void hs_target_close(struct hs_target *target);

/* Seizes and interrupts every thread (re-lists until stable), reads registers, refreshes mappings.
 * HS_TARGET when it exits or executes another program meanwhile. On failure nothing stays stopped.
 */
hs_status hs_target_stop(struct hs_target *target, struct hs_error *err);
/* Lets go; never fails. */
void hs_target_resume(struct hs_target *target);

/* Copies n bytes; all or nothing. HS_TARGET when unreadable or gone. */
hs_status hs_target_read(struct hs_target *target, hs_addr address, void *bytes, size_t n_bytes,
                         struct hs_error *err);

/* As above, but stops before the first unreadable page: *ret_n <= n_bytes. HS_TARGET when gone. */
hs_status hs_target_read_some(struct hs_target *target, hs_addr address, void *bytes,
                              size_t n_bytes, size_t *ret_n, struct hs_error *err);

/* A failure of status HS_TARGET becomes "it ended during the dump" when that is so: whatever was
 * looked for could then not be found. Every other status is returned as it is. */
hs_status hs_refusal_if_ended(pid_t pid, hs_status status, struct hs_error *err);

const char *hs_mapping_path(const struct hs_target *target, const struct hs_mapping *mapping);
const struct hs_mapping *hs_target_mapping_at(const struct hs_target *target, hs_addr address);

/* "/proc/PID/exe" or "/proc/PID/map_files/..." (works in containers and for deleted files), falling
 * back to PATH below the link "root" of the process. `path` has PATH_MAX bytes. */
hs_status hs_target_file_path(const struct hs_target *target, const struct hs_mapping *mapping,
                              char *path, size_t path_bytes, struct hs_error *err);

#endif
