#include "worker.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"

/* The memory with which most answers do; the others get what --memory allows. */
#define WORKER_BYTES ((uint64_t)56 << 20)

struct queue {
    struct hs_job *first, **end;
};

struct hs_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    struct queue waiting, done; /* under the lock */
    volatile bool must_end;     /* written under the lock */
    int done_fd;                /* owned */
    struct hs_lane lane;        /* of the thread */
};

static void queue_put(struct queue *queue, struct hs_job *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
}

static struct hs_job *queue_take(struct queue *queue)
{
    struct hs_job *job = queue->first;
    if (job != NULL) {
        queue->first = job->next;
        if (queue->first == NULL)
            queue->end = &queue->first;
    }
    return job;
}

/* Waits for the next job; NULL: it is time to end. */
static struct hs_job *next_job(struct hs_worker *worker)
{
    struct hs_job *job = NULL;
    (void)pthread_mutex_lock(&worker->lock);
    while (!worker->must_end && worker->waiting.first == NULL)
        (void)pthread_cond_wait(&worker->has_work, &worker->lock);
    if (!worker->must_end)
        job = queue_take(&worker->waiting);
    (void)pthread_mutex_unlock(&worker->lock);
    return job;
}

static void *work(void *context)
{
    struct hs_worker *worker = context;
    for (struct hs_job *job; (job = next_job(worker)) != NULL;) {
        uint64_t one = 1;
        job->status = hs_lane_ask(&worker->lane, job->question, &job->printed, &job->err);
        (void)pthread_mutex_lock(&worker->lock);
        queue_put(&worker->done, job);
        (void)pthread_mutex_unlock(&worker->lock);
        (void)!write(worker->done_fd, &one, sizeof one); /* it is only full when nobody reads it */
    }
    return NULL;
}

hs_status hs_worker_start(const struct hs_tool *tool, struct hs_worker **ret, int *ret_fd,
                          struct hs_error *err)
{
    struct hs_worker *worker = NULL;
    HS_TRY(HS_ALLOC(&worker, 1, err));
    worker->waiting.end = &worker->waiting.first;
    worker->done.end = &worker->done.first;
    worker->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&worker->lock, NULL);
    (void)pthread_cond_init(&worker->has_work, NULL);
    hs_lane_init(tool, WORKER_BYTES, &worker->must_end, &worker->lane);
    if (worker->done_fd < 0 || pthread_create(&worker->thread, NULL, work, worker) != 0) {
        if (worker->done_fd >= 0)
            (void)close(worker->done_fd);
        hs_free(worker);
        return hs_fail(err, HS_LIMIT, "cannot start a thread");
    }
    *ret = worker;
    *ret_fd = worker->done_fd;
    return HS_OK;
}

void hs_worker_stop(struct hs_worker *worker)
{
    if (worker == NULL)
        return;
    (void)pthread_mutex_lock(&worker->lock);
    worker->must_end = true;
    (void)pthread_cond_signal(&worker->has_work);
    (void)pthread_mutex_unlock(&worker->lock);
    (void)pthread_join(worker->thread, NULL);
    hs_lane_fini(&worker->lane);
    (void)pthread_mutex_destroy(&worker->lock);
    (void)pthread_cond_destroy(&worker->has_work);
    (void)close(worker->done_fd);
    hs_free(worker);
}

void hs_worker_put(struct hs_worker *worker, struct hs_job *job)
{
    job->err = (struct hs_error)HS_ERROR_INIT;
    job->printed = (struct hs_map){0};
    (void)pthread_mutex_lock(&worker->lock);
    queue_put(&worker->waiting, job);
    (void)pthread_cond_signal(&worker->has_work);
    (void)pthread_mutex_unlock(&worker->lock);
}

struct hs_job *hs_worker_take(struct hs_worker *worker)
{
    uint64_t count;
    (void)!read(worker->done_fd, &count, sizeof count);
    (void)pthread_mutex_lock(&worker->lock);
    struct hs_job *job = queue_take(&worker->done);
    (void)pthread_mutex_unlock(&worker->lock);
    return job;
}
