/* A program that does little but allocate: bench/record runs it with and without recorders.
 *
 *     malloc_heavy THREADS ROUNDS [small|large]
 *
 * Each thread keeps 4096 blocks and replaces one at random in each round. Sizes: small, 9 of 10
 * below 128 bytes, 200 bytes on average; large, 1200 bytes on average, with some of 64 KiB: more
 * bytes and so more samples for each call. Calls come from chains of up to ten functions. Prints
 * the processor time that it took, in seconds. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BLOCKS = 4096, MAX_THREADS = 64 };

struct worker {
    pthread_t thread;
    unsigned long rounds, seed, sum;
};

static unsigned long next(unsigned long *seed)
{
    *seed = *seed * 6364136223846793005UL + 1442695040888963407UL;
    return *seed >> 33;
}

static bool is_large;

static size_t pick_size(unsigned long *seed)
{
    unsigned long r = next(seed);
    if (!is_large && r % 100 < 90)
        return 16 + r / 100 % 112;
    if (!is_large && r % 100 < 99)
        return 128 + r / 100 % 896;
    if (!is_large)
        return 1024 + r / 100 % 15360;
    if (r % 100 < 80)
        return 16 + r / 100 % 240;
    if (r % 100 < 98)
        return 256 + r / 100 % 3840;
    return 4096 + r / 100 % 61440;
}

typedef void *allocate(size_t n_bytes);

static void *deep0(size_t n_bytes)
{
    return malloc(n_bytes);
}

#define CALLER(name, callee)                                    \
    __attribute__((noinline)) static void *name(size_t n_bytes) \
    {                                                           \
        void *block = callee(n_bytes);                          \
        __asm__ volatile("" : "+r"(block)); /* no tail call */  \
        return block;                                           \
    }
CALLER(deep1, deep0)
CALLER(deep2, deep1)
CALLER(deep3, deep2)
CALLER(deep4, deep3)
CALLER(deep5, deep4)
CALLER(deep6, deep5)
CALLER(deep7, deep6)
CALLER(deep8, deep7)
CALLER(deep9, deep8)

static allocate *const chains[] = {deep0, deep1, deep2, deep3, deep4,
                                   deep5, deep6, deep7, deep8, deep9};
enum { N_CHAINS = sizeof chains / sizeof *chains };

static void *work(void *context)
{
    struct worker *worker = context;
    void **blocks = calloc(BLOCKS, sizeof *blocks);
    if (blocks == NULL)
        return NULL;
    for (unsigned long i = 0; i < worker->rounds; i++) {
        unsigned long at = next(&worker->seed) % BLOCKS;
        size_t n_bytes = pick_size(&worker->seed);
        free(blocks[at]);
        blocks[at] = chains[at % N_CHAINS](n_bytes);
        if (blocks[at] == NULL)
            break;
        memset(blocks[at], (int)i, n_bytes < 64 ? n_bytes : 64);
        worker->sum += ((unsigned char *)blocks[at])[0];
    }
    for (unsigned long i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    free(blocks);
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[MAX_THREADS];
    struct rusage used;
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;
    is_large = argc > 3 && strcmp(argv[3], "large") == 0;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
    for (int i = 0; i < n && i < MAX_THREADS; i++) {
        workers[i] = (struct worker){.rounds = rounds, .seed = (unsigned long)i * 977 + 1};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    unsigned long sum = 0;
    for (int i = 0; i < n && i < MAX_THREADS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        sum += workers[i].sum;
    }
    (void)getrusage(RUSAGE_SELF, &used);
    printf("%.6f %lu\n",
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
           sum);
    return 0;
}
