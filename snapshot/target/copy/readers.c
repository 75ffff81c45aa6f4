/* Large requests to a copy are read by several threads: the sooner it is read, the sooner it ends,
 * and the less its process grows. The kernel copies each page twice on this way (fs/proc/base.c,
 * mem_rw), so that one thread is slower than a plain read of memory, and two are faster.
 *
 * The thread that asks does not read: it looks at the process meanwhile. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "copy_private.h"

#define READERS_PIECE_BYTES ((size_t)256 << 10)
#define READERS_LOOK_NS 5000000L

ssize_t hs_copy_read(struct hs_copy *copy, hs_addr address, void *bytes, size_t n_bytes)
{
    size_t n = 0;

    if (hs_copy_saved_read(&copy->saved, address, bytes, n_bytes, &n))
        return (ssize_t)n;
    return hs_memory_read(&copy->memory, address, bytes, n);
}

/* Takes pieces until there are no more, or none that counts: what follows a page that cannot be
 * read is not asked for. */
static void readers_take(struct hs_copy *copy)
{
    struct hs_copy_readers *readers = &copy->readers;

    for (;;) {
        size_t at = atomic_fetch_add(&readers->next, READERS_PIECE_BYTES), got = 0;
        if (at >= atomic_load(&readers->end))
            return;
        size_t n = readers->n_bytes - at < READERS_PIECE_BYTES ? readers->n_bytes - at
                                                               : READERS_PIECE_BYTES;
        while (got < n) {
            ssize_t more =
                hs_copy_read(copy, readers->address + at + got, readers->bytes + at + got, n - got);
            if (more < 0)
                atomic_store(&readers->is_lost, true);
            if (more <= 0)
                break;
            got += (size_t)more;
        }
        size_t end = atomic_load(&readers->end);
        while (got < n && at + got < end &&
               !atomic_compare_exchange_weak(&readers->end, &end, at + got))
            ;
    }
}

static void *readers_thread(void *argument)
{
    struct hs_copy *copy = argument;
    struct hs_copy_readers *readers = &copy->readers;
    uint64_t seen = 0;

    (void)pthread_mutex_lock(&readers->mutex);
    while (!readers->stops) {
        if (readers->n_requests == seen) {
            (void)pthread_cond_wait(&readers->asked, &readers->mutex);
            continue;
        }
        seen = readers->n_requests;
        (void)pthread_mutex_unlock(&readers->mutex);
        readers_take(copy);
        (void)pthread_mutex_lock(&readers->mutex);
        if (--readers->n_busy == 0)
            (void)pthread_cond_signal(&readers->answered);
    }
    (void)pthread_mutex_unlock(&readers->mutex);
    return NULL;
}

static void readers_clocked(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* Signals are for the thread that asks. Fewer threads, or none, are only slower. */
static void readers_begin(struct hs_copy *copy, unsigned n_threads)
{
    struct hs_copy_readers *readers = &copy->readers;
    sigset_t all, before;

    readers->is_begun = true;
    (void)pthread_mutex_init(&readers->mutex, NULL);
    (void)pthread_cond_init(&readers->asked, NULL);
    readers_clocked(&readers->answered);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    while (readers->n_threads < n_threads && readers->n_threads < HS_COPY_READERS_MAX &&
           pthread_create(&readers->threads[readers->n_threads], NULL, readers_thread, copy) == 0)
        readers->n_threads++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hs_copy_readers_end(struct hs_copy *copy)
{
    struct hs_copy_readers *readers = &copy->readers;

    if (!readers->is_begun)
        return;
    (void)pthread_mutex_lock(&readers->mutex);
    readers->stops = true;
    atomic_store(&readers->end, 0);
    (void)pthread_cond_broadcast(&readers->asked);
    (void)pthread_mutex_unlock(&readers->mutex);
    for (unsigned i = 0; i < readers->n_threads; i++)
        (void)pthread_join(readers->threads[i], NULL);
    (void)pthread_cond_destroy(&readers->answered);
    (void)pthread_cond_destroy(&readers->asked);
    (void)pthread_mutex_destroy(&readers->mutex);
    readers->is_begun = false;
    readers->n_threads = 0;
}

bool hs_copy_reads_wide(struct hs_copy *copy, unsigned n_threads, size_t n_bytes)
{
    if (n_bytes < HS_COPY_WIDE_BYTES || n_threads < 2 || copy->is_ended ||
        !copy->memory.reads_by_file)
        return false;
    if (!copy->readers.is_begun)
        readers_begin(copy, n_threads);
    return copy->readers.n_threads != 0;
}

void hs_copy_ask_wide(struct hs_copy *copy, hs_addr address, uint8_t *bytes, size_t n_bytes)
{
    struct hs_copy_readers *readers = &copy->readers;

    (void)pthread_mutex_lock(&readers->mutex);
    readers->address = address;
    readers->bytes = bytes;
    readers->n_bytes = n_bytes;
    atomic_store(&readers->next, 0);
    atomic_store(&readers->end, n_bytes);
    readers->n_busy = readers->n_threads;
    readers->n_requests++;
    (void)pthread_cond_broadcast(&readers->asked);
    (void)pthread_mutex_unlock(&readers->mutex);
}

bool hs_copy_answers_wide(struct hs_copy *copy, ssize_t *ret)
{
    struct hs_copy_readers *readers = &copy->readers;
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += READERS_LOOK_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_mutex_lock(&readers->mutex);
    if (readers->n_busy != 0)
        (void)pthread_cond_timedwait(&readers->answered, &readers->mutex, &until);
    bool is_answered = readers->n_busy == 0;
    (void)pthread_mutex_unlock(&readers->mutex);
    *ret = atomic_load(&readers->is_lost) ? -1 : (ssize_t)atomic_load(&readers->end);
    return is_answered;
}
