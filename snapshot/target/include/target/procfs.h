/* Small readers of /proc. Everything read is text that the target may influence. */
#ifndef HS_TARGET_PROCFS_H
#define HS_TARGET_PROCFS_H

#include <sys/types.h>

#include "base/error.h"

#define HS_PROC_PATH_BYTES 96

/* Reads a whole file of /proc, NUL-terminated (the NUL is not counted). The caller frees with
 * hs_free. HS_TARGET with the errno when it cannot be opened or read. */
hs_status hs_proc_read(const char *path, char **ret, size_t *ret_n_bytes, struct hs_error *err);

/* Reads "/proc/PID/NAME". */
hs_status hs_proc_read_of(pid_t pid, const char *name, char **ret, size_t *ret_n_bytes,
                          struct hs_error *err);

/* The same, given up with HS_LIMIT at a time by hs_now_ns(); 0: never. A list of a hundred thousand
 * mappings takes seconds. */
hs_status hs_proc_read_until(pid_t pid, const char *name, uint64_t deadline_ns, char **ret,
                             size_t *ret_n_bytes, struct hs_error *err);

/* The number after "KEY:" at the start of a line of a status file; false when there is none. */
bool hs_proc_number(const char *status, const char *key, int base, uint64_t *ret);

/* The number at *at, of base 10 or 16 (digits of lower case), which *at is moved behind; false when
 * there is none before `end` or it does not fit. */
bool hs_proc_digits(const char **at, const char *end, unsigned base, uint64_t *ret);

struct hs_proc_stat {
    char state;        /* R S D T t Z X I */
    uint64_t flags;    /* PF_* */
    uint64_t n_faults; /* minor ones: of a process those of all its threads */
    uint64_t start_time;
    hs_addr code_begin, stack_begin; /* 0 or 1 when we may not know */
};

/* Parses a stat file; the command in it may hold any bytes. False when it is malformed. */
bool hs_proc_parse_stat(const char *text, struct hs_proc_stat *ret);
/* Reads and parses "/proc/PID/stat", or "/proc/PID/task/TID/stat" when tid is not 0. */
hs_status hs_proc_stat_of(pid_t pid, pid_t tid, struct hs_proc_stat *ret, struct hs_error *err);

#endif
