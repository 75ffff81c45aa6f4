#include "live_child.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIVE_PATIENCE_MS 60000

static void live_abort(const char *what)
{
    perror(what);
    abort();
}

void live_sleep_us(unsigned us)
{
    struct timespec nap = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&nap, &nap) != 0 && errno == EINTR)
        ;
}

struct live_child live_child_launch(live_body *body)
{
    struct live_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        live_abort("mmap");
    fflush(NULL);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        live_abort("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        body(shared);
        _exit(0);
    }
    return (struct live_child){pid, shared};
}

struct live_child live_child_start(live_body *body)
{
    struct live_child child = live_child_launch(body);
    for (int ms = 0; ms < LIVE_PATIENCE_MS && !atomic_load(&child.shared->is_ready); ms++)
        live_sleep_us(1000);
    if (!atomic_load(&child.shared->is_ready))
        live_abort("the child did not get ready");
    return child;
}

void live_child_ready(struct live_shared *shared)
{
    atomic_store(&shared->is_ready, true);
}

void live_child_end(struct live_child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (child->shared != NULL)
        munmap(child->shared, sizeof *child->shared);
    memset(child, 0, sizeof *child);
}

void live_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, body, argument) != 0)
        live_abort("pthread_create");
    pthread_attr_destroy(&attributes);
}

bool live_child_reaches(const struct live_child *child, unsigned counter, uint64_t value)
{
    for (int ms = 0; ms < LIVE_PATIENCE_MS; ms++) {
        if (atomic_load(&child->shared->counters[counter]) >= value)
            return true;
        live_sleep_us(1000);
    }
    return false;
}

bool live_child_progresses(const struct live_child *child, unsigned counter, uint64_t n)
{
    return live_child_reaches(child, counter, atomic_load(&child->shared->counters[counter]) + n);
}

char live_state_of(pid_t pid, pid_t tid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return '?';
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    return at != NULL && at[1] == ' ' ? at[2] : '?';
}

bool live_wait_state(pid_t pid, char state)
{
    for (int ms = 0; ms < LIVE_PATIENCE_MS; ms++) {
        if (live_state_of(pid, pid) == state)
            return true;
        live_sleep_us(1000);
    }
    return false;
}

bool live_runs_free(pid_t pid)
{
    char path[64];
    bool is_free = true;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return false;
    for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
        long tid = strtol(e->d_name, NULL, 10);
        char state = tid > 0 ? live_state_of(pid, (pid_t)tid) : 'R';
        is_free &= state != 'T' && state != 't';
    }
    closedir(tasks);
    return is_free;
}
