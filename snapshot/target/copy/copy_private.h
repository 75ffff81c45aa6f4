/* The structures and functions that the parts of a frozen copy share: live/freeze.c and copy/. See
 * target/freeze.h and docs/decisions/012-a-frozen-copy.md. */
#ifndef HS_COPY_COPY_PRIVATE_H
#define HS_COPY_COPY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "arch/sigframe.h"
#include "base/budget.h"
#include "target/freeze.h"
#include "target_private.h"

/* ---- the fixed points of an injection, in the order in which they are passed */
enum hs_copy_point {
    HS_COPY_AT_STOPPED = 1, /* all threads stopped, nothing touched */
    HS_COPY_AT_SAVED,       /* areas that a copy lacks are read */
    HS_COPY_AT_FRAME,       /* the frame stands in the stack, options of T are set */
    HS_COPY_AT_ARMED,       /* T would return by the frame */
    HS_COPY_AT_MASKED,      /* no signal reaches T */
    HS_COPY_AT_ASKED,       /* T has made its first call (is it a subreaper?) */
    HS_COPY_AT_BORN,        /* M was born (direct: C); T is inside of clone */
    HS_COPY_AT_BOUND,       /* M ends with us (direct: C) */
    HS_COPY_AT_RETURNED,    /* T is back from clone */
    HS_COPY_AT_COPIED,      /* C was born; M is inside of clone. Not passed in direct mode */
    HS_COPY_AT_ENDED,       /* M was killed. Not passed in direct mode */
    HS_COPY_AT_REAPED,      /* T has waited for M. Not passed in direct mode */
    HS_COPY_AT_UNMASKED,    /* T has its signal mask again */
    HS_COPY_AT_RESTORED,    /* T has its registers again */
    HS_COPY_AT_WHOLE,       /* T came through a stop of its own, the stack is as it was */
    HS_COPY_AT_LET_GO,      /* all threads run; C lives */
    HS_COPY_AT_READ,        /* in resume: about to end C */
    HS_COPY_AT_GONE,        /* C was killed. Direct: it still waits for its second stop */
    HS_COPY_AT_SECOND,      /* direct only: T is armed for the second time, to wait for C */
    HS_COPY_AT_COLLECTED,   /* direct only: T has waited for C, not yet restored */
    HS_COPY_AT_STANDING,    /* before those: the last thread has just come to stand */
    HS_COPY_AT_SEIZED,      /* before all others: all threads are seized, and run */
    HS_COPY_POINTS_END
};

/* Called at every point that is passed; NULL but in tests, which end us there or hang. */
extern void (*hs_copy_point)(int point);
/* "armed"; NULL for a number that is no point. */
const char *hs_copy_point_name(int point);
void hs_copy_pass(enum hs_copy_point point);
/* Tests: the variant to be used, whatever the process is. HS_COPY_NONE: none is forced. */
extern enum hs_copy_variant hs_copy_force;

/* ---- code.c */
/* Places in the target's code. 0: not found. */
struct hs_copy_code {
    hs_addr call, sigreturn, leave; /* enum hs_code_purpose */
};

bool hs_copy_code_is_whole(const struct hs_copy_code *code);
/* Takes what n bytes at `address` have of the places not known yet. */
void hs_copy_code_search(struct hs_copy_code *code, const uint8_t *bytes, size_t n_bytes,
                         hs_addr address);
/* Searches the target's code; what was not found is 0. HS_LIMIT. */
hs_status hs_copy_code_find(const struct hs_target *target, struct hs_copy_code *ret,
                            struct hs_error *err);
/* Tells whether all the code that was found is still there; asked in the pause. */
bool hs_copy_code_stands(const struct hs_target *target, const struct hs_copy_code *code);

/* ---- saved.c: what a copy lacks, read in the pause and laid over what is read from it */
struct hs_copy_area {
    hs_addr begin, end;
};

struct hs_copy_run {
    hs_addr begin, end;
    uint8_t *bytes; /* borrowed from the store */
};

struct hs_copy_saved {
    struct hs_copy_area *areas; /* owned; ascending. Outside of runs they are zero */
    size_t n_areas, areas_capacity;
    struct hs_copy_run *runs; /* owned; ascending */
    size_t n_runs, runs_capacity;
    uint8_t *store; /* owned pages */
    size_t store_bytes, store_capacity;
};

/* Room to spare for pages that become resident before the stop, and for what the frame covers. */
#define HS_COPY_STORE_SPARE(n_bytes) ((n_bytes) + HS_SIGFRAME_BYTES_MAX)
/* Makes room for so many bytes, of which `ready` are made resident now, so that the pause does not
 * pay for that. HS_LIMIT. */
hs_status hs_copy_saved_init(struct hs_copy_saved *saved, size_t n_bytes, size_t ready,
                             struct hs_error *err);
void hs_copy_saved_fini(struct hs_copy_saved *saved);
/* Finds the pages of an area that are there. HS_LIMIT when there is no more room. */
hs_status hs_copy_save_area(struct hs_copy_saved *saved, const struct hs_target *target,
                            hs_addr begin, hs_addr end, struct hs_error *err);
/* Reads those of all areas, by as many threads as the options say: everything of the process stands
 * still, so that processors are free. HS_LIMIT when that comes to be longer than a pause may be. */
hs_status hs_copy_save_all(struct hs_copy_saved *saved, const struct hs_target *target,
                           struct hs_error *err);
/* Lays n bytes over the copy. */
hs_status hs_copy_save_bytes(struct hs_copy_saved *saved, hs_addr begin, const void *bytes,
                             size_t n_bytes, struct hs_error *err);
/* After the last of them, before the first question. */
void hs_copy_saved_sort(struct hs_copy_saved *saved);
/* Up to n bytes from `address` on, *ret_n of them: true with the bytes when they are saved, false
 * when they are to be read from the copy. */
bool hs_copy_saved_read(const struct hs_copy_saved *saved, hs_addr address, void *bytes, size_t n,
                        size_t *ret_n);
/* Finds runs of pages as hs_copy_page_runs does where `begin` is saved. False where the copy is to
 * be asked, up to *end, which may come down. */
bool hs_copy_saved_page_runs(const struct hs_copy_saved *saved, hs_addr begin, hs_addr *end,
                             struct hs_page_run *runs, size_t n, size_t *ret_n, hs_addr *ret_told);

/* ---- left.c */
enum { HS_COPY_LEFT_MAX = 64 };

/* The ended children that killed dumps have left at a process with this status file: their numbers
 * as it knows them, at most n; how many. About 10 us for each child that it has. */
size_t hs_copy_left_find(pid_t pid, const char *status_text, pid_t *inner, size_t n);
/* The same of the stat and status files of one child. */
bool hs_copy_left_is(const char *stat, const char *status_text, const char *parent_status_text,
                     pid_t *ret_inner);

/* ---- foresee.c */
struct hs_copy_plan {
    struct hs_copy_outlook outlook;
    struct hs_copy_code code;
    uint64_t made_at_ns;
    bool is_final;              /* a copy was tried and given up: not to be made anew */
    struct hs_copy_area *areas; /* owned: what a copy would lack */
    size_t n_areas, areas_capacity;
    struct hs_copy_saved store;     /* room for them, made ready before the stop */
    uint64_t room_bytes;            /* that it may still grow by */
    struct hs_memory_groups groups; /* that limit it */
    struct hs_priority hurry;       /* what is to be restored */
    bool is_hurried;
    bool is_lent;                 /* other processes share much of its memory by a fork */
    pid_t left[HS_COPY_LEFT_MAX]; /* to be collected */
    size_t n_left;
};

/* Makes target->copy_plan unless a recent one is there. */
hs_status hs_copy_plan_make(struct hs_target *target, struct hs_error *err);
/* Before the stop: room for what a copy would lack. HS_LIMIT. */
hs_status hs_copy_plan_prepare(struct hs_target *target, struct hs_error *err);

/* ---- call.c: one system call in a stopped thread */
enum hs_copy_called {
    HS_CALLED,       /* it stands at the exit; `result` */
    HS_CALLED_BORN,  /* it stands inside of clone; `child` */
    HS_CALLED_FAULT, /* a fault in the code; it stands before the signal, which is dropped */
    HS_CALLED_LATE,  /* it did not come back in time */
    HS_CALLED_GONE   /* it has ended */
};

struct hs_copy_call {
    pid_t tid;
    struct hs_regs base; /* for all that a call leaves as it is */
    hs_addr code, stack; /* of `syscall; ret`; the stack pointer */
    uint64_t deadline_ns;
    int64_t result;
    pid_t child;
};

enum hs_copy_called hs_copy_call(struct hs_copy_call *call, uint64_t number,
                                 const uint64_t arguments[5]);
/* From HS_CALLED_BORN to the exit. */
enum hs_copy_called hs_copy_call_finish(struct hs_copy_call *call);
/* Waits for a report of a tracee; false when it is late, or no tracee (any more). */
bool hs_copy_wait(pid_t tid, uint64_t deadline_ns, int *ret_report);
/* Waits until a child just born stands in its first stop. */
bool hs_copy_wait_born(pid_t tid, uint64_t deadline_ns);
/* Ends a child of ours to trace, by a way that needs no other permission; false when it is late. */
bool hs_copy_kill(pid_t tid, uint64_t deadline_ns);

/* ---- thread.c: the thread that calls */
struct hs_copy_caller {
    struct hs_target *target;
    const struct hs_copy_plan *plan;
    struct hs_thread *thread;
    struct hs_copy_call call;
    struct hs_sigframe frame;
    struct hs_regs again; /* as it is left: a call that the stop broke off starts again */
    uint64_t deadline_ns;
    long options; /* of the thread while it calls */
    bool is_written, is_armed, is_masked, is_lost;
    char why[160]; /* no call can be made */
    size_t area_bytes;
    uint8_t before[HS_SIGFRAME_BYTES_MAX]; /* the stack as it was */
    uint8_t area[HS_SIGFRAME_BYTES_MAX];
    uint8_t xstate[HS_SIGFRAME_BYTES_MAX];
};

/* Finds the thread, writes the frame, arms it. False with `why`; hs_copy_caller_close all the same.
 */
bool hs_copy_caller_open(struct hs_copy_caller *caller, struct hs_target *target,
                         const struct hs_copy_plan *plan, uint64_t deadline_ns);
enum hs_copy_called hs_copy_caller_call(struct hs_copy_caller *caller, uint64_t number,
                                        const uint64_t arguments[5]);
/* Makes the thread what it was. False when it is lost: ended, or not back from a call. It is armed
 * then, and goes on where it was when it is let go. */
bool hs_copy_caller_close(struct hs_copy_caller *caller);
/* Notes that `called` is no result; false. */
bool hs_copy_caller_failed(struct hs_copy_caller *caller, enum hs_copy_called called,
                           const char *what);

/* ---- watch.c */
/* The figures observed of the target since its copy was made. */
struct hs_copy_watch {
    struct hs_memory_groups groups;
    uint64_t reserve_bytes;                              /* that must stay available */
    uint64_t began_ns, watched_ns, cost_ns, identity_ns; /* cost: of what is cheap */
    uint64_t dear_ns;                                    /* of the last watch: the rest */
    uint64_t growth_at_ns, growth_cost_ns, growth_bytes; /* as measured last */
    double growth_pace;                                  /* bytes a nanosecond, before that */
    uint64_t faults_then, faults_now;                    /* minor ones: at that moment, and now */
    uint64_t room_at_ns, room_cost_ns;
};

/* ---- readers.c */
enum { HS_COPY_READERS_MAX = 4 };
/* The least bytes of a read for which reader threads are woken. */
#define HS_COPY_WIDE_BYTES ((size_t)1 << 20)

struct hs_copy_readers {
    pthread_t threads[HS_COPY_READERS_MAX];
    unsigned n_threads, n_busy;
    pthread_mutex_t mutex;
    pthread_cond_t asked, answered;
    uint64_t n_requests;
    bool is_begun, stops;
    /* of the request */
    hs_addr address;
    uint8_t *bytes;
    size_t n_bytes;
    _Atomic size_t next, end; /* offsets: not taken yet; of what cannot be read */
    _Atomic bool is_lost;     /* the copy is gone */
};

/* ---- inject.c */
struct hs_copy {
    enum hs_copy_variant variant;
    struct hs_memory memory; /* of C */
    pid_t inner_pid;         /* direct: its number in the target's own namespace */
    uint64_t copying_ns;
    struct hs_copy_saved saved;
    struct hs_copy_watch watch;
    struct hs_copy_readers readers;
    bool is_ended;
    char why_given_up[160];  /* a clause, with a failure of HS_LIMIT */
    struct hs_error failure; /* given up: of all that is read from now */
};

/* Makes a copy, in a stop. Without one *ret is NULL, `why` says what spoke against it, and nothing
 * has changed. HS_TARGET when the target is lost; HS_LIMIT. */
hs_status hs_copy_make(struct hs_target *target, struct hs_copy **ret, char *why, size_t why_bytes,
                       struct hs_error *err);

/* ---- direct.c */
/* Lets the target wait for the ended copy, in a stop of its own. */
void hs_copy_collect(struct hs_target *target, struct hs_copy *copy);

/* ---- watch.c */
/* Begins to watch the process, which has just been let go. */
void hs_copy_watch_begin(struct hs_target *target);
/* Looks at the target while its copy is read: every 5 ms, or at a twentieth of the time where
 * looking takes long. */
hs_status hs_copy_watch(struct hs_target *target, struct hs_error *err);
/* Measures by how many bytes the target has grown since its copy was made, into its report. */
void hs_copy_measure(struct hs_target *target);
/* Ends it at once; what is left of it stays until resume. */
void hs_copy_give_up(struct hs_copy *copy);

/* ---- readers.c */
/* Ends the threads; in the middle of a request, too. */
void hs_copy_readers_end(struct hs_copy *copy);

#endif
