/* The target of a dump: a live process, or the core of one. What it is, how it is stopped, how its
 * memory is read, how it is let go.
 *
 * The promise of this file: a process runs on after *any* end of ours. It is seized (PTRACE_SEIZE
 * sends no signal), interrupted, read, and detached. Registers are set only where the stop broke a
 * system call off that shall start again, or to make a frozen copy (target/freeze.h), and to values
 * that are valid at every moment. Should we be killed in between, the kernel detaches and the
 * target runs.
 *
 * Rule of use: open (no stop), stop, look at what decides whether this moment is good, freeze, read
 * / copy, resume, close. A process of which a frozen copy could be made runs on from freeze; any
 * other stays stopped until resume. A core is always stopped. */
#ifndef HS_TARGET_TARGET_H
#define HS_TARGET_TARGET_H

#include <sys/types.h>

#include "arch/processor.h"
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
    uint8_t state;       /* private to live/stop.c */
    struct hs_regs regs; /* valid while or after a stop */
    /* Private to live/waits.c and live/restart.c: since when it was seen asleep in a call with a
     * limit, 0 when it was not; how often it had gone to sleep; when it was interrupted, and when
     * it was found to stand; when its wait ends; the number of the call, of a main thread in one
     * that the kernel starts again for the rest; the stack pointer with which it was seen asleep,
     * 0 when it was not, and a hash of what lies there; when its processor says that it fell
     * asleep; how often it stood for a signal since; a signal waits that it will handle; the limit
     * of its socket is the rest; it was seen asleep in a call that a stop may break off. And to
     * live/partial.c: in one of which it may have done part, now or once; in one that waits for the
     * data of what it closes; in a read with a limit that is a terminal's; it was looked at; how
     * often in a row it was awake then. */
    uint64_t asleep_since_ns, n_sleeps, interrupted_ns, reported_ns, deadline_ns, kept_number;
    uint64_t asleep_sp, asleep_stack, left_ns, n_passed;
    bool has_signal, has_socket, may_break_off;
    bool may_be_cut, has_parts, lingers, reads_timed, was_looked_at;
    uint8_t n_awake;
};

/* A word that the kernel holds for the program: target/kernel_words.h. */
enum hs_kernel_place {
    HS_KERNEL_VECTOR, /* these are of one stop, up to: */
    HS_KERNEL_SIGNAL,
    HS_KERNEL_QUEUE, /* a pipe or a socket */
    HS_KERNEL_EPOLL, /* these are collected before and after it */
    HS_KERNEL_TIMER,
    HS_KERNEL_EVENTFD,
    HS_KERNEL_URING,
    HS_KERNEL_FILE,   /* one without a name */
    HS_KERNEL_ROBUST, /* the head of a thread's list of robust mutexes */
    HS_KERNEL_BASE    /* a segment's base */
};
struct hs_kernel_word {
    uint8_t place;
    pid_t tid;      /* of a vector register, of a signal */
    uint32_t fd;    /* of the file */
    uint32_t of_fd; /* of the file in an epoll set; the number of a timer, of a signal */
    uint64_t word;
};
/* The places where the kernel may hold a pointer and tell nobody, as bits. Any block may be held
 * there. */
enum hs_untold {
    HS_UNTOLD_URING = 1 << 0,       /* requests under way */
    HS_UNTOLD_QUEUE = 1 << 1,       /* what waits in pipes, in sockets, as signals */
    HS_UNTOLD_FILES = 1 << 2,       /* files of a thread that has a table of its own */
    HS_UNTOLD_MANY = 1 << 3,        /* more than are kept */
    HS_UNTOLD_MESSAGES = 1 << 4,    /* queues of messages */
    HS_UNTOLD_LOOP = 1 << 5,        /* connections and terminals that lead back to the process */
    HS_UNTOLD_NAMELESS = 1 << 6,    /* files without a name that are large or cannot be read */
    HS_UNTOLD_DETACHED = 1 << 7,    /* memory of System V that it is not attached to */
    HS_UNTOLD_BPF = 1 << 8,         /* maps of BPF */
    HS_UNTOLD_SHARERS = 1 << 9,     /* registers of other processes that have its memory */
    HS_UNTOLD_REGISTERED = 1 << 10, /* files and memory that only io_uring has */
};
/* A pipe or a socket of the process. */
struct hs_queue_file {
    uint64_t inode;
    uint32_t fd;
    bool is_pipe;
    bool can_read; /* of a pipe: the descriptor is no end that is only written to */
};
struct hs_terminal_end {
    uint64_t number;
    bool is_master;
};

/* The identity of a process and of the program that it runs: a pid may be used again, and exec
 * keeps it. Of two programs in the same file the start of the stack differs, as it is placed at
 * random. */
struct hs_identity {
    uint64_t start_time; /* clock ticks since boot */
    uint64_t exe_device, exe_inode;
    hs_addr code_begin, stack_begin;
};

/* The process that memory is read from: a live one or its frozen copy. */
struct hs_memory {
    pid_t pid; /* who is asked: of a process whose main thread has ended another thread */
    int mem_fd, pagemap_fd;        /* -1 when the system does not offer them */
    bool lists_pages;              /* it has PAGEMAP_SCAN */
    uint64_t zero_page;            /* else: the page of zeros, by its number; 0: not to be told */
    struct hs_page_search *search; /* owned, private; NULL: pages are listed */
    bool reads_by_file;            /* process_vm_readv is refused here: read through mem_fd */
};

/* The ways in which the process was kept still while it was read. Numbers are part of the snapshot
 * format. */
enum hs_stop_way {
    HS_WAY_READ = 1,    /* stopped until all was read */
    HS_WAY_COPY = 2,    /* stopped until a frozen copy was made */
    HS_WAY_CORE = 3,    /* a core: nothing was stopped */
    HS_WAY_STOPPED = 4, /* its user had stopped it */
};

enum hs_stop_mode { HS_STOP_AUTO, HS_STOP_COPY, HS_STOP_READ };

/* The limits that the caller sets. All zero: auto, no limits, calls are set to start again. */
struct hs_stop_options {
    enum hs_stop_mode mode;
    uint64_t max_pause_ns;     /* 0: no limit */
    uint64_t max_growth_bytes; /* of the target while a copy of it lives; 0: as memory allows */
    unsigned n_threads;        /* to read a copy by; 0 and 1: by the one that asks */
    bool leaves_interrupted;   /* do not set interrupted calls to start again */
};

/* The outcome of the stop; figures for the user and the snapshot. */
struct hs_stop_report {
    enum hs_stop_way way;
    uint64_t predicted_ns; /* of the pause, before it; 0: not predicted */
    uint64_t busy_ns;      /* and what it may take longer, as others want the processors */
    uint64_t stopping_ns;  /* from the first interrupt to all registers read */
    uint64_t copying_ns;   /* HS_WAY_COPY: the injected clone */
    uint64_t reading_ns;   /* HS_WAY_COPY: as long as the copy lived */
    uint64_t growth_bytes; /* the target's own, seen while the copy was read */
    uint64_t n_restarted;  /* since open: calls set to start again; they alone notice a stop */
    uint64_t n_shortened;  /* since open: waits that were given the rest of their time */
    uint64_t n_late;       /* since open: waits at sockets that were given all of their time */
    uint64_t n_broken_off; /* since open: waits whose rest is not known; they return EINTR */
    uint64_t n_cut;        /* since open: calls that returned with part of their work done */
    uint64_t n_unsent;     /* since open: closes of sockets that did not wait for their data */
    uint64_t n_anew;       /* since open: reads of terminals that were given all of their time */
    /* Since open: threads in calls that only we set to start again, and how long each of them would
     * have returned EINTR had we been killed, in all and at most. */
    uint64_t n_exposed, exposed_ns, exposed_most_ns;
    char why_no_copy[160]; /* HS_WAY_READ though a copy was allowed: what spoke against it */
};

#define HS_TARGET_NAME_BYTES 16 /* TASK_COMM_LEN */

/* A process that puts the limits of sockets back which a stop had to change (live/sockets.c). */
enum { HS_SOCKET_GUARDS = 4 };
struct hs_socket_guard {
    pid_t pid;
    int word; /* it ends when this is closed */
};

struct hs_copy; /* target/freeze.h */
struct hs_copy_plan;
struct hs_core; /* target/core.h */

struct hs_target {
    pid_t pid; /* of a core: what it was; nobody behind it is to be asked */
    int pidfd;
    struct hs_memory live;
    struct hs_copy *copy;           /* owned: from freeze to resume; NULL: none */
    struct hs_core *core;           /* owned: then there is no process */
    struct hs_copy_plan *copy_plan; /* owned: what was foreseen before the last stop; or NULL */
    struct hs_stop_options options; /* set before the first stop */
    struct hs_stop_report report;   /* of the last stop */
    char *command; /* owned: the command line, sanitised, spaces between arguments */
    char name[HS_TARGET_NAME_BYTES]; /* the main thread's (comm), cut as the kernel does; or "" */
    struct hs_thread *threads;       /* owned; ascending tid; valid after stop */
    size_t n_threads, threads_capacity;
    struct hs_socket_guard socket_guards[HS_SOCKET_GUARDS];
    size_t n_socket_guards;
    struct hs_kernel_word *kernel_words; /* owned; see target/kernel_words.h */
    size_t n_kernel_words, kernel_words_capacity;
    unsigned untold;                   /* of enum hs_untold */
    struct hs_queue_file *queue_files; /* owned; as of the last look at its files */
    size_t n_queue_files, queue_files_capacity;
    struct hs_terminal_end *terminal_ends; /* owned; these three likewise */
    size_t n_terminal_ends, terminal_ends_capacity;
    uint64_t *inet_inodes; /* owned: of sockets of other families than the Unix one */
    size_t n_inet_inodes, inet_inodes_capacity;
    uint64_t nameless_bytes;     /* read of files without a name */
    struct hs_mapping *mappings; /* owned; ascending; refreshed by every stop */
    size_t n_mappings, mappings_capacity;
    uint64_t n_refreshes; /* of the mappings, so far */
    char *path_text;      /* owned */
    size_t path_text_bytes, path_text_capacity;
    bool is_stopped;
    bool is_over_limit;       /* let go in the middle: reads fail until the next stop */
    bool was_stopped_already; /* by its user: group-stop or SIGSTOP. Then our pause is 0 */
    uint64_t stopped_at_ns;   /* one that was stopped already: its SIGCONT, when that came */
    uint64_t looked_at_ns;    /* for that */
    uint64_t pause_ns;        /* length of the last stop, from first interrupt to last detach */
    uint64_t read_bytes;
    uint64_t pace_ns, pace_bytes; /* of a stopped read: time in requests, and what they gave */
    struct hs_identity identity;
    uint32_t uid, gid; /* the user it runs as */
};

/* Looks at the process without disturbing it. HS_TARGET, each with its own message and hint: no
 * such process, zombie, kernel thread, already traced (names the tracer), not permitted (names the
 * setting: other user, yama ptrace_scope, not dumpable), 32-bit program, ourselves. */
hs_status hs_target_open(pid_t pid, struct hs_target *ret, struct hs_error *err);
/* The process of which `tid` is a thread; `tid` itself when it is one, or nobody's. */
pid_t hs_process_of_thread(pid_t tid);
void hs_target_close(struct hs_target *target);

/* Seizes and interrupts every thread (re-lists until stable), reads registers, refreshes mappings.
 * HS_TARGET when it exits or executes another program meanwhile. On failure nothing stays stopped.
 */
hs_status hs_target_stop(struct hs_target *target, struct hs_error *err);
/* After a stop: from here on what is read is of this moment, until resume. By a frozen copy when
 * the options and the process allow it: then the process already runs again on return (is_stopped
 * is false, pause_ns is known), else it stays stopped. HS_LIMIT when reading it stopped would, by
 * prediction, take longer than the options allow; HS_TARGET when it is gone. After a failure the
 * caller resumes as always. */
hs_status hs_target_freeze(struct hs_target *target, struct hs_error *err);

/* Lets go, and ends the copy; never fails. */
void hs_target_resume(struct hs_target *target);

/* Copies n bytes; all or nothing. HS_TARGET when unreadable or gone; HS_LIMIT when the pause or the
 * growth of the target has come to its limit (the process then runs on at once). */
hs_status hs_target_read(struct hs_target *target, hs_addr address, void *bytes, size_t n_bytes,
                         struct hs_error *err);

/* Reads as above, but stops before the first unreadable page: *ret_n <= n_bytes. HS_TARGET when the
 * target is gone. */
hs_status hs_target_read_some(struct hs_target *target, hs_addr address, void *bytes,
                              size_t n_bytes, size_t *ret_n, struct hs_error *err);

/* Pages of one kind in a row. The kinds are numbered as in the kernel's struct page_region
 * (include/uapi/linux/fs.h), which fills these in. */
enum { HS_PAGES_PRESENT = 1 << 3, HS_PAGES_SWAPPED = 1 << 4 };

struct hs_page_run {
    hs_addr begin, end; /* half-open, whole pages */
    uint64_t kind;      /* HS_PAGES_... */
};

/* The pages of [begin, end) that are there: at most n runs, ascending; two that touch may be of one
 * kind. *ret_told: they are all up to here, which is `begin` when the system does not tell. In no
 * run is what was never touched; what was only read and is zero, where that can be told from other
 * pages; and of a core what is zero or not in it.
 *
 * Costs what is there where the kernel lists it (PAGEMAP_SCAN, since 6.7), and a request per n
 * runs. Otherwise the page map is read: 8 bytes a page, less where smaps says that nothing is left
 * to be found. Tells nothing when the pause has come to its limit: the next read says so. */
size_t hs_target_page_runs(const struct hs_target *target, hs_addr begin, hs_addr end,
                           struct hs_page_run *runs, size_t n, hs_addr *ret_told);

/* A file of /proc of what is read: of the process, or (maps, smaps) of its copy. HS_TARGET of a
 * core. */
hs_status hs_target_proc(const struct hs_target *target, const char *name, char **ret,
                         size_t *ret_n_bytes, struct hs_error *err);

/* A failure of status HS_TARGET becomes "it ended during the dump" when that is so: whatever was
 * looked for could then not be found. Every other status is returned as it is. */
hs_status hs_refusal_if_ended(pid_t pid, hs_status status, struct hs_error *err);

/* Memory that several processes may write to: anonymous, of a memfd, of System V, of a file. Not
 * that of devices. */
bool hs_mapping_is_shared_memory(const struct hs_target *target, const struct hs_mapping *mapping);

/* ---- live/shared_memory.c. Shared memory by its file: what others have written is there before
 * this process touches it, and reading it so touches nothing of the process, userfaultfd or not. */

/* Is there no disk behind it? */
bool hs_shared_is_in_memory(const struct hs_target *target, const struct hs_mapping *mapping);
/* The file of such a mapping of a live process, to be closed by the caller; -1 when it is another,
 * or may not be opened: that takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
int hs_shared_open(const struct hs_target *target, const struct hs_mapping *mapping);
/* The first part of [from, end), offsets of the file, in which there are pages; false: none. */
bool hs_shared_next(int fd, uint64_t from, uint64_t end, uint64_t *ret_begin, uint64_t *ret_end);
/* Reads from the file as hs_target_read_some does from memory. */
hs_status hs_shared_read(struct hs_target *target, int fd, uint64_t offset, void *bytes,
                         size_t n_bytes, size_t *ret_n, struct hs_error *err);
const char *hs_mapping_path(const struct hs_target *target, const struct hs_mapping *mapping);
const struct hs_mapping *hs_target_mapping_at(const struct hs_target *target, hs_addr address);

/* "/proc/PID/exe" or "/proc/PID/map_files/..." (works in containers and for deleted files), falling
 * back to PATH below the link "root" of the process; of a core what its options say. `path` has
 * PATH_MAX bytes. */
hs_status hs_target_file_path(const struct hs_target *target, const struct hs_mapping *mapping,
                              char *path, size_t path_bytes, struct hs_error *err);

#endif
