/* heapsnap-debuginfod: fetches debug files, or programs and libraries, from the servers of
 * DEBUGINFOD_URLS, some at a time, into libdebuginfod's own cache. A program of its own, so that
 * what a server says is read in no process that holds another's memory, and one that hangs can be
 * ended.
 *
 *     heapsnap-debuginfod MOST-BYTES debuginfo|executable      of each file
 *
 * Standard input has a build-id a line, in hexadecimal. Standard output has, as it comes:
 *
 *     at ID DONE TOTAL      bytes; 0: not known
 *     got ID PATH
 *     not ID ERRNO
 *
 * SIGTERM ends it; libdebuginfod takes half files out of its cache then. */
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"

enum { MOST_IDS = 4096, ID_BYTES = 130, N_WORKERS = 4, LINE_BYTES = 8192 };
#define TOLD_EVERY_NS ((uint64_t)100000000)

static char ids[MOST_IDS][ID_BYTES];
static size_t n_ids;
static bool wants_executables;
static atomic_size_t next_id;
static volatile sig_atomic_t is_ended;

static void on_end(int signal)
{
    is_ended = signal;
}

/* Writes a line at once, so that those of two workers do not mix: pipe(7), PIPE_BUF. */
static void say(const char *line, int n)
{
    ssize_t written = n <= 0 || n >= LINE_BYTES ? 0 : write(STDOUT_FILENO, line, (size_t)n);
    (void)written; /* whoever does not listen ends us */
}

struct worker {
    const char *id;
    uint64_t told_ns;
};

/* Called by libdebuginfod now and then while it waits. Not 0: it gives up. */
static int on_progress(debuginfod_client *client, long done, long total)
{
    struct worker *worker = debuginfod_get_user_data(client);
    uint64_t now = hs_now_ns();
    char line[LINE_BYTES];

    if (now - worker->told_ns >= TOLD_EVERY_NS && done > 0) {
        worker->told_ns = now;
        say(line, snprintf(line, sizeof line, "at %s %ld %ld\n", worker->id, done,
                           total > 0 ? total : 0));
    }
    return is_ended;
}

static void fetch(debuginfod_client *client, const char *id)
{
    struct worker worker = {.id = id};
    char line[LINE_BYTES], *path = NULL;

    debuginfod_set_user_data(client, &worker);
    int fd = wants_executables
                 ? debuginfod_find_executable(client, (const unsigned char *)id, 0, &path)
                 : debuginfod_find_debuginfo(client, (const unsigned char *)id, 0, &path);
    if (fd >= 0)
        (void)close(fd);
    if (fd >= 0 && path != NULL && strchr(path, '\n') == NULL)
        say(line, snprintf(line, sizeof line, "got %s %s\n", id, path));
    else
        say(line, snprintf(line, sizeof line, "not %s %d\n", id, fd < 0 ? -fd : EINVAL));
    free(path);
}

static void *work(void *unused)
{
    debuginfod_client *client = debuginfod_begin();

    (void)unused;
    if (client == NULL)
        return NULL;
    debuginfod_set_progressfn(client, on_progress);
    for (size_t i; is_ended == 0 && (i = atomic_fetch_add(&next_id, 1)) < n_ids;)
        fetch(client, ids[i]);
    debuginfod_end(client);
    return NULL;
}

static void read_ids(void)
{
    char line[LINE_BYTES];
    while (n_ids < MOST_IDS && fgets(line, sizeof line, stdin) != NULL) {
        size_t n = strspn(line, "0123456789abcdef");
        if (n < 4 || n >= ID_BYTES || line[n] != '\n')
            continue;
        memcpy(ids[n_ids], line, n);
        ids[n_ids++][n] = '\0';
    }
}

int main(int argc, char **argv)
{
    pthread_t workers[N_WORKERS];
    const struct sigaction end = {.sa_handler = on_end};
    struct rlimit most = {0, 0};
    char *after = NULL;
    size_t n = 0;

    if (argc == 3)
        most.rlim_cur = most.rlim_max = strtoull(argv[1], &after, 10);
    wants_executables = argc == 3 && strcmp(argv[2], "executable") == 0;
    if (argc != 3 || *after != '\0' || most.rlim_max == 0 ||
        (!wants_executables && strcmp(argv[2], "debuginfo") != 0)) {
        (void)fputs("usage: heapsnap-debuginfod MOST-BYTES debuginfo|executable <build-ids\n",
                    stderr);
        return 2;
    }
    (void)sigaction(SIGTERM, &end, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error of write */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setrlimit(RLIMIT_FSIZE, &most);
    read_ids();
    while (n < N_WORKERS && n < n_ids && pthread_create(&workers[n], NULL, work, NULL) == 0)
        n++;
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(workers[i], NULL);
    return n == 0 && n_ids != 0 ? 1 : 0;
}
