/* One thread for what takes long, one question after the other, so that the others never wait for
 * it. */
#ifndef HS_SERVE_WORKER_H
#define HS_SERVE_WORKER_H

#include "lane.h"

/* A question that waits, is at work or was answered; of whoever asks, until it is taken back. */
struct hs_job {
    struct hs_job *next;
    const struct hs_question *question; /* borrowed */
    hs_status status;
    struct hs_error err;
    struct hs_map printed; /* of HS_OK */
};

struct hs_worker;

/* Starts the thread with SIGINT and SIGTERM blocked, as the caller has them. *ret_fd becomes
 * readable when a job is done; it is the worker's. */
hs_status hs_worker_start(const struct hs_tool *tool, struct hs_worker **ret, int *ret_fd,
                          struct hs_error *err);
/* Ends what is at work; jobs that wait stay as they are. Takes NULL. */
void hs_worker_stop(struct hs_worker *worker);

void hs_worker_put(struct hs_worker *worker, struct hs_job *job);
/* Takes a job that is done; NULL: none is now. */
struct hs_job *hs_worker_take(struct hs_worker *worker);

#endif
