/* The floor of reading a file: reads it from the page cache in pieces of 4 MiB into one buffer and
 * adds up its words, again and again for a quarter of a second. Prints the bytes and the processor
 * seconds of the best pass.  plain_file FILE */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PIECE_WORDS = 512 << 10, LEAST_PASSES = 3 };
static const double ENOUGH_SECONDS = 0.25;
static uint64_t buffer[PIECE_WORDS];

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t read_once(int file, uint64_t *sum)
{
    uint64_t n_bytes = 0;
    ssize_t n;

    while ((n = pread(file, buffer, sizeof buffer, (off_t)n_bytes)) > 0) {
        for (size_t i = 0; i < (size_t)n / sizeof *buffer; i++)
            *sum += buffer[i];
        n_bytes += (uint64_t)n;
    }
    return n_bytes;
}

int main(int argc, char **argv)
{
    int file = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    uint64_t n_bytes = 0, sum = 0;
    double best = 0, whole = 0;

    if (file < 0) {
        (void)fprintf(stderr, "plain_file FILE\n");
        return 2;
    }
    memset(buffer, 1, sizeof buffer);
    n_bytes = read_once(file, &sum); /* warms the page cache */
    for (int i = 0; i < LEAST_PASSES || whole < ENOUGH_SECONDS; i++) {
        double began = now();
        n_bytes = read_once(file, &sum);
        double seconds = now() - began;
        whole += seconds;
        best = best == 0 || seconds < best ? seconds : best;
    }
    (void)printf("bytes %" PRIu64 " seconds %.6f check %" PRIx64 "\n", n_bytes, best, sum);
    (void)close(file);
    return EXIT_SUCCESS;
}
