/* The extent of a thread's stack by the thread library: its control block (struct pthread), its
 * stack, and the stacks that it keeps of threads that have ended.
 *
 *   | guard | stack ........ frames | static TLS | control block | padding |
 *   block                           tls_begin    tcb = tp        end      block + size
 *
 * Nothing of this has a stable layout but the first three words of a control block (System V ABI
 * and glibc's tcbhead_t: tcb, dtv, self). The rest is found by its values. */
#ifndef HS_NATIVE_STACKS_EXTENT_H
#define HS_NATIVE_STACKS_EXTENT_H

#include "native.h"

struct hs_native_tcb {
    hs_addr tcb, tls_begin, end;    /* static TLS and control block are [tls_begin, end) */
    hs_addr stack_begin, stack_end; /* of a created thread, without its guard; both 0: not known */
    bool is_given;                  /* by the program: there is no guard of the thread library's */
};

/* Returns the size of a control block by what libc says; a usual size when it does not. Asks every
 * object. */
uint64_t hs_native_tcb_bytes(const struct hs_native *native);

/* Reads the control block at `tcb`. False when there is none. */
bool hs_native_read_tcb(const struct hs_native *native, hs_addr tcb, struct hs_native_tcb *ret);

/* Finds a stack that no thread runs on any more: a control block at its top that no thread has. The
 * thread library keeps it for the next thread (glibc: up to 40 MiB of them), or until somebody
 * joins the one that has ended. *at: where to look on, an index of mappings, 0 first. False when
 * there is none any more. Cost: the resident memory above guard pages, once. */
bool hs_native_next_ended(const struct hs_native *native, size_t *at, struct hs_native_tcb *ret);

/* The offset in a control block of the result for pthread_join, by what glibc tells libthread_db of
 * the members beside it (nptl/descr.h; alike in 2.3 to 2.41). All 0: libc does not tell. */
struct hs_thread_result {
    uint32_t tid, joinid, result;
};
struct hs_thread_result hs_native_thread_result(const struct hs_native *native);

/* Tells whether this thread has ended and was not joined yet, so that somebody may still ask for
 * its result. Joining makes its number -1, a detached thread is in its own joinid. Where libc does
 * not tell the places, each may. */
bool hs_native_awaits_join(const struct hs_native *native, const struct hs_thread_result *at,
                           hs_addr tcb);

/* Calls `visit` with the memory of the dynamic linker outside of its own data: what it allocated
 * before there was an allocator (control block of the first thread, its list of objects), in
 * page-aligned ranges, which may overlap. */
void hs_native_each_loader_range(struct hs_native *native,
                                 void (*visit)(void *context, hs_addr begin, hs_addr end),
                                 void *context);

#endif
