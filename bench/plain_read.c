/* What any reader of a process must pay: stops it, reads every private writable mapping once with
 * process_vm_readv in pieces of 4 MiB into the same buffer, testing each word against nothing, lets
 * it go. Prints the bytes and the milliseconds of the stop.  plain_read PID */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

enum { PIECE = 4 << 20 };
static char buffer[PIECE];

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t read_mapping(pid_t pid, uint64_t begin, uint64_t end)
{
    uint64_t total = 0;
    while (begin < end) {
        size_t n = end - begin < PIECE ? (size_t)(end - begin) : PIECE;
        struct iovec to = {buffer, n}, from = {(void *)(uintptr_t)begin, n};
        ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
        if (got <= 0)
            break;
        total += (uint64_t)got;
        begin += (uint64_t)got;
    }
    return total;
}

int main(int argc, char **argv)
{
    char path[64], line[512];
    pid_t pid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
    if (pid <= 0) {
        fprintf(stderr, "plain_read PID\n");
        return 2;
    }
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    memset(buffer, 1, sizeof buffer);
    double begin_ms = now_ms();
    kill(pid, SIGSTOP);
    FILE *maps = fopen(path, "r");
    uint64_t total = 0, begin, end;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " rw-p", &begin, &end) == 2 &&
            strstr(line, " rw-p ") != NULL)
            total += read_mapping(pid, begin, end);
    kill(pid, SIGCONT);
    printf("%" PRIu64 " bytes, %.1f ms\n", total, now_ms() - begin_ms);
    if (maps != NULL)
        fclose(maps);
    return maps == NULL;
}
