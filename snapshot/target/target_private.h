/* The functions that the parts of the target share, from the ground up: live/memory.c and
 * live/process.c know nothing of stops; live/stop.c and copy/ stand on them, live/freeze.c on
 * these, and live/target.c on it and on core/. */
#ifndef HS_TARGET_PRIVATE_H
#define HS_TARGET_PRIVATE_H

#include <sched.h>
#include <sys/time.h>

#include "arch/calls.h"
#include "target/target.h"

/* ---- live/process.c */
/* Returns the thread to ask of the memory and the files of a process: itself, or a thread that
 * lives when its main thread has ended: the kernel tells of these by the memory of the one that is
 * named (exit_mm in kernel/exit.c). 0 when it has ended. */
pid_t hs_process_speaker(pid_t pid);
/* Identifies the program behind the pid now. HS_TARGET when nobody, or when it may not be asked. */
hs_status hs_target_identify(pid_t pid, struct hs_identity *ret, struct hs_error *err);
bool hs_identity_equal(const struct hs_identity *a, const struct hs_identity *b);
/* Reads what target->pid and its memory are, without a stop, into *target. To be closed also after
 * a failure; then nothing must be stopped, and no copy or core be there. */
hs_status hs_process_open(struct hs_target *target, struct hs_error *err);
void hs_process_close(struct hs_target *target);
/* Forgets, in a stop, what was found of the target's pages, and asks another thread from now on
 * when the one that was asked has ended. */
void hs_process_follow(struct hs_target *target);
/* Reads the mappings again, from any thread that is left when threads end one after the other.
 * HS_TARGET, "is ending", when none is left. */
hs_status hs_process_mappings(struct hs_target *target, struct hs_error *err);

/* ---- live/memory.c */
#define HS_MEMORY_INIT ((struct hs_memory){.mem_fd = -1, .pagemap_fd = -1})
/* Opens what the system offers of a process: no failure. */
void hs_memory_open(pid_t pid, struct hs_memory *ret);
void hs_memory_close(struct hs_memory *memory);
/* One request: how many bytes, 0 when the first page cannot be read, -1 when the process is gone.
 */
ssize_t hs_memory_read(struct hs_memory *memory, hs_addr address, void *bytes, size_t n_bytes);

/* ---- live/page_runs.c */
/* As hs_target_page_runs. */
size_t hs_memory_page_runs(const struct hs_memory *memory, hs_addr begin, hs_addr end,
                           struct hs_page_run *runs, size_t n, hs_addr *ret_told);
/* Tells whether the kernel lists pages of this page map (PAGEMAP_SCAN, since Linux 6.7). */
bool hs_pagemap_lists(int pagemap_fd);

/* ---- live/page_map.c */
/* The number of the page that all processes share for zeros that were only read; 0: not to be told
 * (it takes CAP_SYS_ADMIN). */
uint64_t hs_pagemap_zero_page(void);
/* Adds [begin, end) behind the *n_runs runs, of n at most. False, and nothing is added, when there
 * is no room. */
bool hs_page_runs_add(struct hs_page_run *runs, size_t n, size_t *n_runs, hs_addr begin,
                      hs_addr end, uint64_t kind);

/* ---- live/refusal.c */
/* HS_OK for a process that may be dumped; else HS_TARGET with message and hint. */
hs_status hs_refusal_check(pid_t pid, struct hs_error *err);
/* The refusal of a process that the kernel does not let us trace, with what to do about it. */
hs_status hs_refusal_permission(pid_t pid, struct hs_error *err);
/* The refusal of a process one of whose threads another process traces. */
hs_status hs_refusal_traced(pid_t pid, pid_t tracer, struct hs_error *err);

/* ---- mappings.c */
/* Replaces the target's mappings by those of the text of a maps file. HS_TARGET when malformed;
 * the target is then unchanged. */
hs_status hs_mappings_parse(struct hs_target *target, const char *text, size_t n_bytes,
                            struct hs_error *err);
/* Reads /proc/PID/maps. */
hs_status hs_mappings_refresh(struct hs_target *target, struct hs_error *err);
void hs_mappings_fini(struct hs_target *target);

/* ---- live/stop.c */
/* Stops a process as hs_target_stop does, without planning a copy. */
hs_status hs_stop_all(struct hs_target *target, struct hs_error *err);
/* Sets broken-off calls to start again, detaches all threads; a copy stays. */
void hs_stop_let_go(struct hs_target *target);
/* Looks, every few ms at most, whether a process that its user had stopped was continued meanwhile
 * (SIGCONT): from then on it stands because of us. */
void hs_stop_look_for_continue(struct hs_target *target);

/* ---- bound.c */
/* Tells whether we hold it, and have for longer than is allowed. */
bool hs_bound_is_late(const struct hs_target *target);
/* After a tenth of the limit: can a stopped read of so many bytes, at the pace at which requests
 * were answered until now, not end within it? *ret_ns is how long all of it would take. What is
 * foreseen is of all memory, of which less may be read, and a pace changes: nearly twice the limit
 * is let pass at first, and less as time goes by. */
bool hs_bound_is_hopeless(const struct hs_target *target, uint64_t n_bytes, uint64_t *ret_ns);
/* Returns when that will be, by hs_now_ns(); 0: never. */
uint64_t hs_bound_deadline_ns(const struct hs_target *target);
/* Returns where in [begin, end) to stop and look at the time when page maps are read. */
hs_addr hs_bound_end(const struct hs_target *target, hs_addr begin, hs_addr end);
/* hs_memory_page_runs of the process itself, no longer than until then. */
size_t hs_bound_page_runs(const struct hs_target *target, hs_addr begin, hs_addr end,
                          struct hs_page_run *runs, size_t n, hs_addr *ret_told);

/* ---- stuck.c */
/* The control group that has frozen a process, as its path in the hierarchy; false when none has.
 * Of cgroup v2 a frozen thread can be stopped and read, of v1 (*ret_is_v1) it cannot. */
bool hs_stuck_is_frozen(pid_t pid, char *ret_group, size_t n, bool *ret_is_v1);
/* A thread waits in the kernel where no signal and no tracer reaches it. */
bool hs_stuck_is_blocked(pid_t pid, pid_t tid);
/* Explains why a thread has not stopped within waited_ns: which one, in which state, for what it
 * waits. Always fails: HS_TARGET, or HS_LIMIT when it may have been on its way. */
hs_status hs_stuck_explain(const struct hs_target *target, pid_t tid, uint64_t waited_ns,
                           struct hs_error *err);

/* ---- freeze.c */
/* Before every request: has the pause, or the growth of the target, come to its limit? HS_LIMIT;
 * HS_TARGET when it has ended or become another program. It runs then, and all that follows fails
 * alike. */
hs_status hs_freeze_check(struct hs_target *target, struct hs_error *err);

/* ---- copy/readers.c */
/* Reads of the copy, with what it lacks. As hs_memory_read. */
ssize_t hs_copy_read(struct hs_copy *copy, hs_addr address, void *bytes, size_t n_bytes);
/* Should so much be read by several threads? Begins them. */
bool hs_copy_reads_wide(struct hs_copy *copy, unsigned n_threads, size_t n_bytes);
/* Asks them for any number of bytes. Whoever asks looks at the process until the answer is there.
 */
void hs_copy_ask_wide(struct hs_copy *copy, hs_addr address, uint8_t *bytes, size_t n_bytes);
/* Waits for 5 ms at most: true when the answer is there. As hs_memory_read, but that there are
 * fewer bytes only before a page that cannot be read. */
bool hs_copy_answers_wide(struct hs_copy *copy, ssize_t *ret);

/* ---- copy/copy.c, copy/proc.c */
size_t hs_copy_page_runs(const struct hs_copy *copy, hs_addr begin, hs_addr end,
                         struct hs_page_run *runs, size_t n, hs_addr *ret_told);
hs_status hs_copy_proc(const struct hs_target *target, const char *name, char **ret,
                       size_t *ret_n_bytes, struct hs_error *err);
/* Explains why the copy is gone. Always fails. */
hs_status hs_copy_lost(struct hs_target *target, struct hs_error *err);
/* Ends the copy if there is one; never fails, never waits for long. */
void hs_copy_end(struct hs_target *target);
void hs_copy_plan_free(struct hs_copy_plan *plan);

/* ---- copy/thread.c */
/* Tells, in a stop, whether another tracer died a moment ago while the main thread is still on its
 * way back to where that one had stopped it: its registers say nothing then, and it has to run for
 * a moment. */
bool hs_copy_is_left_over(const struct hs_target *target);

/* ---- copy/points.c */
/* Points at which tests kill the tool: when all threads are seized but run, and when all stand and
 * nothing else was done. */
void hs_copy_pass_seized(void);
void hs_copy_pass_standing(void);

/* ---- priority.c */
struct hs_priority {
    bool is_raised;
    int policy;
    struct sched_param parameter;
};

void hs_priority_raise(struct hs_priority *saved);
void hs_priority_restore(const struct hs_priority *saved);
/* The same for a thread that will not live on. */
void hs_priority_lend(pid_t tid);

/* ---- live/let_go.c */
/* Prepares the threads, once all registers were read, so that however the tool ends from here on no
 * wait takes longer than what was left of it plus the pause. */
void hs_let_go_early(struct hs_target *target);
/* Sets broken-off calls to start again, and detaches all threads that stand. */
void hs_let_go_all(struct hs_target *target);

/* ---- live/signals.c */
/* Sets of signals, bit 0 for signal 1: pending for the thread, pending for its process, blocked by
 * the thread, handled by the process. */
struct hs_signals {
    uint64_t own, shared, blocked, caught;
};
/* False when it cannot be told. About 30 us, as the questions below. */
bool hs_signals_read(pid_t pid, pid_t tid, struct hs_signals *ret);
/* One waits for this thread alone, and it will run the handler. */
bool hs_signals_is_own(pid_t pid, pid_t tid);
/* One waits for the process; and this thread would run the handler. */
bool hs_signals_wait_for_process(pid_t pid, pid_t tid);
bool hs_signals_would_take(pid_t pid, pid_t tid);
/* Until a thread that was let go has taken it, 5 ms at most. */
void hs_signals_wait_taken(pid_t pid, pid_t tid);

/* ---- live/waits.c */
enum { HS_WAIT_CLOCKS = 64 };
/* A look at threads: which of them sleep in calls with a limit, and since when. It moves us to
 * their processors until its end. */
struct hs_waits_look {
    const struct hs_target *target;
    cpu_set_t own; /* the processors that we may use */
    bool is_on, has_own, has_moved;
    struct hs_wait_clock {
        unsigned processor;
        bool is_known;
        int64_t behind_ns; /* our clock less that of the processor */
    } clocks[HS_WAIT_CLOCKS];
    size_t n_clocks;
};
void hs_waits_begin(struct hs_waits_look *look, const struct hs_target *target);
void hs_waits_end(struct hs_waits_look *look);
/* Before the thread is seized: once it is, a signal that it ignores wakes it, and that it stands
 * for us says nothing of when its wait began. About 10 us, 60 where it sleeps in such a call. Never
 * fails: what cannot be seen is not known. Nothing between end and begin. */
void hs_waits_look_at(struct hs_waits_look *look, struct hs_thread *thread);
/* Just before the first interrupt: once more at all whose wait is no longer what it was. */
void hs_waits_look_again(struct hs_waits_look *look, struct hs_target *target);
/* The call that it sleeps in; false when it does not. */
bool hs_wait_call(const struct hs_target *target, const struct hs_thread *thread,
                  uint64_t *ret_number, uint64_t arguments[6], hs_addr *ret_sp);
/* Counts how often the thread has gone to sleep; false when the system does not tell. 20 us. */
bool hs_wait_count(const struct hs_target *target, const struct hs_thread *thread, uint64_t *ret);
/* Tells whether it is in the sleep that it was seen in, or out of it for a signal for which it
 * stands. About 20 us. */
bool hs_wait_goes_on(const struct hs_target *target, const struct hs_thread *thread);
/* Returns its state, as in proc(5); 0 when it cannot be told. */
char hs_wait_state(const struct hs_target *target, const struct hs_thread *thread);
/* Returns, in the stop, when the wait began that the stop interrupted. */
uint64_t hs_wait_began(const struct hs_thread *thread, uint64_t n_sleeps);
/* Has it run since it was seen asleep, as its stack tells? One that is woken by the end of its wait
 * and calls again has slept no more often when it is interrupted before it sleeps. Of a thread that
 * stands, in a call that writes nothing there; false, too, when it was not seen. */
bool hs_wait_has_moved(const struct hs_target *target, const struct hs_thread *thread);
/* Asleep in a call with a limit? Of the main thread also in one that the kernel itself starts
 * again.
 */
bool hs_wait_is_in_call(const struct hs_target *target, const struct hs_thread *thread);

/* ---- live/partial.c */
/* Before the stop: waits for a moment in which no thread may have done part of the call that it is
 * in, until then at most. About 5 us a thread. */
void hs_partial_wait(struct hs_target *target, uint64_t until_ns);
/* Takes back, once the stop has all registers, what interrupted calls have left with their sockets,
 * and counts them. */
void hs_partial_settle(struct hs_target *target);

/* ---- live/sockets.c */
/* A descriptor of our own for the target's file; -1 when the system does not give it. */
int hs_target_own_fd(const struct hs_target *target, int fd);
enum { HS_SOCKETS_MAX = 64 }; /* bits of a word */
/* Waits at sockets that are begun again at the same time, each at a socket of its own. */
struct hs_socket_round {
    struct hs_socket_limit {
        int fd, option;
        struct timeval limit, rest; /* the program's; ours, as the system gives it back */
        dev_t device;
        ino_t inode;
        pid_t tid;
        uint64_t deadline_ns, set_ns;
        bool is_shared; /* other threads wait there, too */
    } limits[HS_SOCKETS_MAX];
    size_t n;
    pid_t guard;
    int to_guard;
};
/* The limit of a wait at a socket; false when it has none, or is none. */
bool hs_socket_limit(const struct hs_target *target, const struct hs_wait *wait, uint64_t *ret_ns);
/* False when there is no room, or no way. */
bool hs_socket_take(struct hs_socket_round *round, const struct hs_target *target,
                    const struct hs_thread *thread);
/* Sets the sockets' limits to the rest; false when nothing was done. hs_socket_end in any case,
 * when all threads of the round have been let go: it waits until they sleep, 20 ms at most. One
 * that does not, at a socket of its own, is left to a process of ours, for half a second at most.
 * Returns how many have all of their time again. */
bool hs_socket_begin(struct hs_socket_round *round, const struct hs_target *target);
size_t hs_socket_end(struct hs_socket_round *round, struct hs_target *target);
/* Until no limit is other than the program's: before the next stop, and at the end. */
void hs_socket_guards_wait(struct hs_target *target);

/* ---- live/restart.c */
enum hs_restart {
    HS_RESTART_NOT,   /* nothing was broken off, or by a signal */
    HS_RESTART_WHOLE, /* as it began: it has no limit, or not one that passes */
    HS_RESTART_REST,  /* for the rest of its time */
    HS_RESTART_LATE,  /* at a socket: with all of its time */
    HS_RESTART_LOST   /* the rest is not known: EINTR, as a debugger's stop would make it */
};
/* Finds, once in the stop, when the waits end that it interrupted. */
void hs_restart_confirm(struct hs_target *target);
/* Finds, before the first thread runs or calls, which threads a signal would give EINTR. */
void hs_restart_prepare(const struct hs_target *target, struct hs_thread *thread);
/* Tells whether the thread waits with a time limit of its socket that has not run out. */
bool hs_restart_is_at_socket(const struct hs_thread *thread);
/* Sets a call that the stop broke off to start again, in registers that are the thread's own. The
 * target may have changed below the thread's stack pointer: valid before and after. */
enum hs_restart hs_restart_call(const struct hs_target *target, const struct hs_thread *thread,
                                struct hs_regs *regs);
/* Registers as a frame is to hold them (arch/sigframe.h). */
struct hs_regs hs_restart_framed(const struct hs_target *target, const struct hs_thread *thread,
                                 const struct hs_regs *regs);
/* The main thread's: by a frame the kernel forgets when a wait ends, so it is told the rest. */
void hs_restart_frame(const struct hs_target *target, const struct hs_thread *thread,
                      struct hs_regs *framed);
/* Takes the pause off a wait that the kernel will start again with the rest that it saw. True when
 * it is one. */
bool hs_restart_rest(const struct hs_target *target, const struct hs_thread *thread);

/* ---- core.c, core/read.c: the same of a core. What is missing is not read, and no failure. */
void hs_core_close(struct hs_core *core);
hs_status hs_core_file_path(const struct hs_target *target, const struct hs_mapping *mapping,
                            char *path, size_t path_bytes, struct hs_error *err);
hs_status hs_core_read_once(struct hs_target *target, hs_addr address, uint8_t *bytes,
                            size_t n_bytes, size_t *ret_n, struct hs_error *err);
size_t hs_core_page_runs(const struct hs_target *target, hs_addr begin, hs_addr end,
                         struct hs_page_run *runs, size_t n, hs_addr *ret_told);

/* ---- deadman.c */
/* Makes ready what arm needs, while we are small: under 1 ms, once. */
void hs_deadman_prepare(void);
/* Tells, before anything is held, what limit arm will be given. */
void hs_deadman_expect(uint64_t limit_ns);
/* From arm to rest the process is about to be held, or is: whatever hinders us from letting it go
 * ends us, and the kernel lets it go. Until hold, and when limit_ns is 0, a step may take 30 s and
 * is renewed; from hold on it is limit_ns in all. At hs_deadman_alarm_ns of that the voice speaks,
 * or SIGALRM ends us; at hs_deadman_kill_ns SIGKILL does. Control-Z waits until disarm. SIGALRM is
 * left alone when the caller uses the timer. */
void hs_deadman_arm(pid_t pid, uint64_t limit_ns);
/* Since hold. A quarter and a half over the limit; more of a short one, but within twice the limit,
 * or 10 ms after it. */
uint64_t hs_deadman_alarm_ns(uint64_t limit_ns);
uint64_t hs_deadman_kill_ns(uint64_t limit_ns);
void hs_deadman_hold(void);
void hs_deadman_renew(void);
/* From now, once, where there is no limit: so long, or as long as a step where that is less. */
void hs_deadman_within(uint64_t limit_ns);
/* All but stragglers run again: a second is left to these. */
void hs_deadman_loosen(void);
/* Stops the clocks while the process stands still for its user, however long we take. Should he let
 * it go on while we do not run, it is held by us: the witness then ends us. */
void hs_deadman_attend(void);
/* Nothing is held any more: what comes is harmless, however long it takes. */
void hs_deadman_rest(void);
void hs_deadman_disarm(void);
/* Another length of a step than 30 s, at least 1 us, from the next arm or renewal on: for tests. */
void hs_deadman_limit(uint64_t limit_ns);

/* ---- seize_guard.c */
/* Around a run of hs_seize_guarded: PTRACE_SEIZE of `tid` with these options, while which threads
 * of `target` that end are collected. The result and errno are those of ptrace. */
void hs_seize_guard_begin(void);
long hs_seize_guarded(const struct hs_target *target, pid_t tid, long options);
void hs_seize_guard_end(void);

/* live/kernel_queues.c: may what the process writes there come back to it? Of sockets: the peer is
 * its own. Others of theirs are not opened. Five calls. */
bool hs_queue_leads_back(const struct hs_target *target, const struct hs_queue_file *file);
/* Before the stop, when all are listed: by inode, as the stop looks for both ends of a pipe. */
void hs_queue_files_sort(struct hs_target *target);

#endif
