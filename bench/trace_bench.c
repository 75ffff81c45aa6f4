/* links: hs_trace */
/* How fast a trace is read, against a plain read of the same file in the same run. CPU seconds, the
 * least of several rounds.
 *
 *     trace_bench FILE [ROUNDS] */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "trace/trace.h"

enum { PIECE_BYTES = 1 << 16 };

struct pass {
    uint64_t n_events, n_frames, sum;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads every byte and adds up the words, which is the least that anything does with them. */
static uint64_t read_plainly(const char *path)
{
    static uint64_t piece[PIECE_BYTES / 8];
    uint64_t sum = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        exit(5);
    while ((n = read(fd, piece, sizeof piece)) > 0)
        for (size_t i = 0; i < (size_t)n / 8; i++)
            sum += piece[i];
    (void)close(fd);
    return sum;
}

static struct pass read_trace(const char *path)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace;
    struct hs_trace_event event;
    struct pass pass = {0};
    bool more;
    hs_status status = hs_trace_open(path, &trace, &err);
    while (status == HS_OK) {
        status = hs_trace_next(trace, &event, &more, &err);
        if (status != HS_OK || !more)
            break;
        pass.n_events++;
        if (event.kind != HS_TRACE_ALLOC)
            continue;
        pass.n_frames += event.n_frames;
        pass.sum += event.n_frames == 0 ? 0 : event.frames[event.n_frames - 1];
    }
    if (status != HS_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(4);
    }
    hs_trace_close(trace);
    return pass;
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 9;
    double least_plain = 1e9, least_trace = 1e9;
    struct pass pass = {0};
    uint64_t sum = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: trace_bench FILE [ROUNDS]\n");
        return 2;
    }
    for (unsigned long i = 0; i < rounds; i++) {
        double began = cpu_s();
        sum += read_plainly(argv[1]);
        double middle = cpu_s();
        pass = read_trace(argv[1]);
        double end = cpu_s();
        least_plain = middle - began < least_plain ? middle - began : least_plain;
        least_trace = end - middle < least_trace ? end - middle : least_trace;
    }
    printf("%" PRIu64 " events, %" PRIu64 " frames (%" PRIx64 ")\n", pass.n_events, pass.n_frames,
           pass.sum ^ (sum & 1));
    printf("plain read %.4f s, trace %.4f s, ratio %.1f; %.1f million events a second\n",
           least_plain, least_trace, least_trace / least_plain,
           (double)pass.n_events / least_trace / 1e6);
    return 0;
}
