/* Words that the kernel holds for a program, not its memory. Each may be the only pointer to a
 * block: without them a block that an event loop has given to epoll would pass for lost.
 *
 *   vector registers     PTRACE_GETREGSET in a stop; the notes of a core
 *   signals              values of those that are queued (PTRACE_PEEKSIGINFO, in a stop)
 *   pipes and sockets    what the program wrote to itself, without taking it (in a stop)
 *   epoll                data of each file in the set (proc(5), fdinfo)
 *   POSIX timers         sigev_value (proc(5), timers)
 *   eventfd              the counter (fdinfo)
 *   io_uring             requests that were not taken yet, results, registered buffers (fdinfo)
 *   files without a name what was written there (memfd, O_TMPFILE): read through /proc/PID/fd
 *   robust mutexes       the head of each thread's list (get_robust_list(2))
 *
 * What the kernel tells nobody: of io_uring the data of requests under way, of a pipe or socket
 * what cannot be had without taking it (packets behind the first), and messages in queues, with
 * what mq_notify(3) was given; these are `untold`, as is what would take too long to look at in a
 * stop, and files that one thread alone has; what waits in a connection of TCP or a terminal of
 * which the process has both ends; memory of System V that it is not attached to; maps of BPF; and
 * the registers of other processes that have its memory. And the address of the alternate signal
 * stack. */
#ifndef HS_TARGET_KERNEL_WORDS_H
#define HS_TARGET_KERNEL_WORDS_H

#include "target/target.h"

/* Adds the words of all threads' vector registers that are addresses of private writable memory;
 * all words of an earlier stop go. In a stop, of a process; of a core they are there from the
 * start. A thread that does not tell is passed over. HS_LIMIT, also when the pause has come to its
 * limit; HS_TARGET when it is gone. About 2 us a thread. */
hs_status hs_kernel_words_of_threads(struct hs_target *target, struct hs_error *err);

/* Adds, in a stop and after the registers, the values of queued signals and what waits in the pipes
 * and sockets that were listed. What cannot be seen is noted in `untold`. HS_LIMIT. A call per
 * thread and per 32 signals, of at most 1,024; three for each file (5 us), of at most 4,096 and
 * 16 MiB in all. */
hs_status hs_kernel_words_of_queues(struct hs_target *target, struct hs_error *err);

/* Adds those of epoll, timers, counters and rings, as they are now: nothing is stopped for it.
 * Taken before and after a stop both are sure to have what was held in it, but for what came and
 * went between. A word may be there several times. Lists the pipes and sockets, which the next
 * stop looks into. HS_LIMIT. One readlink per open file. */
hs_status hs_kernel_words_of_files(struct hs_target *target, struct hs_error *err);

/* One word more, unless it is no address or there are too many. HS_LIMIT. O(log mappings). */
hs_status hs_kernel_words_add(struct hs_target *target, const struct hs_kernel_word *word,
                              struct hs_error *err);
/* Those among n bytes of vector registers, of a thread. */
hs_status hs_kernel_words_of_state(struct hs_target *target, pid_t tid, const uint8_t *bytes,
                                   size_t n_bytes, struct hs_error *err);
/* Adds the words in the text of the file fdinfo/`fd`, of an epoll set, an eventfd or a ring of
 * io_uring, and in that of the file `timers`. Of a ring it is also noted whether requests are under
 * way. */
hs_status hs_kernel_words_of_epoll(struct hs_target *target, uint32_t fd, const char *text,
                                   struct hs_error *err);
hs_status hs_kernel_words_of_eventfd(struct hs_target *target, uint32_t fd, const char *text,
                                     struct hs_error *err);
hs_status hs_kernel_words_of_uring(struct hs_target *target, uint32_t fd, const char *text,
                                   struct hs_error *err);
hs_status hs_kernel_words_of_timers(struct hs_target *target, const char *text,
                                    struct hs_error *err);

/* Notes in `untold` that messages wait in a POSIX message queue that is the file `fd`, or that
 * somebody waits to be notified of one. `link` is what the descriptor leads to; 3 us for what is no
 * queue. The second takes the text of such a file. */
void hs_kernel_words_of_queue_file(struct hs_target *target, uint32_t fd, const char *link);
void hs_kernel_words_of_mqueue(struct hs_target *target, const char *text);
/* The times at which the machine and the process began, in seconds since 1970; 0: not known. */
struct hs_lifetime {
    uint64_t boot_s, began_s;
};
/* Notes in `untold` that messages wait in a System V queue to which the process was the last to
 * send, and that it has let go of shared memory that it made or was the last to use. Those of
 * another IPC namespace than ours are not seen. Two files and a line for each on the machine. */
void hs_kernel_words_of_system_v(struct hs_target *target);
/* Do so by the text of sysvipc/msg and of sysvipc/shm. */
void hs_kernel_words_of_msg(struct hs_target *target, const struct hs_lifetime *lifetime,
                            const char *text);
void hs_kernel_words_of_shm(struct hs_target *target, const struct hs_lifetime *lifetime,
                            const char *text);

/* Looks at a file that has a path, or had one: adds the words in it when it has no name, and notes
 * what is known of it when it is a pipe or a terminal. Two calls for others. Reads 16 MiB at most
 * of one process. HS_LIMIT. */
hs_status hs_kernel_words_of_path(struct hs_target *target, uint32_t fd, const char *link,
                                  struct hs_error *err);
/* Around the files: what is known of all of them, of threads and of children. A list
 * of children and a call per thread. HS_LIMIT. */
void hs_kernel_words_begin_others(struct hs_target *target);
hs_status hs_kernel_words_of_others(struct hs_target *target, struct hs_error *err);
/* Notes in `untold` that something waits in a socket of the network that the process itself may
 * have sent. Reads a line of net/tcp and the like for each on the machine when the process has any.
 * HS_LIMIT. */
hs_status hs_kernel_words_of_connections(struct hs_target *target, struct hs_error *err);
/* The same by the texts: of net/tcp with net/tcp6 behind it, a connection of which both ends are
 * sockets that were listed, or one is and the other was closed, or waits to be accepted by one; of
 * net/udp, net/raw or net/netlink, what was received. HS_LIMIT. */
hs_status hs_kernel_words_of_tcp(struct hs_target *target, const char *text, struct hs_error *err);
hs_status hs_kernel_words_of_datagrams(struct hs_target *target, const char *text, bool is_netlink,
                                       struct hs_error *err);

#endif
