/* Child processes to be stopped, read and ended by tests. A child runs a function, says when it is
 * ready, shares a page of counters with the test, and dies with it. Errors here abort. */
#ifndef HS_TESTS_LIVE_CHILD_H
#define HS_TESTS_LIVE_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct live_shared {
    _Atomic uint64_t counters[64];
    _Atomic uint64_t begin, end; /* addresses the child wants to tell */
    _Atomic bool is_ready;
};

struct live_child {
    pid_t pid;
    struct live_shared *shared;
};

/* The body calls live_child_ready and then does what it likes; returning is _exit(0). */
typedef void live_body(struct live_shared *shared);

/* Forks and waits until the child is ready (or ended). */
struct live_child live_child_start(live_body *body);
/* The same without waiting. */
struct live_child live_child_launch(live_body *body);
void live_child_ready(struct live_shared *shared);
/* Kills and collects. */
void live_child_end(struct live_child *child);

/* Starts a detached thread; aborts when it cannot. */
void live_thread(void *(*body)(void *), void *argument);
/* Waits until a counter is at least `value`; false after a minute. For what happens once: the
 * value is taken before it is caused. */
bool live_child_reaches(const struct live_child *child, unsigned counter, uint64_t value);
/* Waits until a counter that never rests has grown by n; false after a minute. */
bool live_child_progresses(const struct live_child *child, unsigned counter, uint64_t n);
/* The state letter of a process or thread in /proc; '?' when it is gone. */
char live_state_of(pid_t pid, pid_t tid);
/* Waits up to a minute for a state. */
bool live_wait_state(pid_t pid, char state);
/* True when no thread of the process is stopped or traced. */
bool live_runs_free(pid_t pid);
void live_sleep_us(unsigned us);

#endif
