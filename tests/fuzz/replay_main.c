/* Replays a fuzz target without libFuzzer: every file of the named directories (or files), then a
 * fixed number of mutations of each, the same ones on every run.
 *
 *     X_fuzz_replay [--mutations N] PATH...
 *
 * A crash or a sanitizer report is the failure; the input at fault is then named on stderr, since
 * it is printed before it is tried when HS_REPLAY_VERBOSE is set. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_INPUT_BYTES = 1 << 24, MAX_NAME_BYTES = 4096 };

struct replay {
    unsigned long n_mutations;
    unsigned long n_files;
    unsigned long n_runs;
    uint64_t random;
    bool verbose;
};

/* xorshift64*: the same sequence everywhere. */
static uint64_t replay_random(struct replay *replay)
{
    uint64_t x = replay->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    replay->random = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* One small damage: a flipped bit, an extreme byte, a repeated stretch or a cut. */
static size_t replay_damage(struct replay *replay, uint8_t *bytes, size_t n_bytes)
{
    static const uint8_t extremes[] = {0x00, 0xff, 0x7f, 0x80, 0x01};
    size_t at = (size_t)(replay_random(replay) % n_bytes);
    uint64_t choice = replay_random(replay);
    switch (choice % 8) {
    case 0:
        return at;
    case 1:
    case 2:
        bytes[at] = extremes[(choice >> 8) % sizeof extremes];
        return n_bytes;
    case 3: {
        size_t from = (size_t)(replay_random(replay) % n_bytes);
        size_t room = n_bytes - (at > from ? at : from);
        memmove(bytes + at, bytes + from, room < 16 ? room : 16);
        return n_bytes;
    }
    default:
        bytes[at] ^= (uint8_t)(1u << ((choice >> 8) % 8));
        return n_bytes;
    }
}

/* An exact-size copy, so that a sanitizer sees a read one byte past the end. */
static void replay_once(struct replay *replay, const uint8_t *bytes, size_t n_bytes)
{
    uint8_t *copy = malloc(n_bytes != 0 ? n_bytes : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, n_bytes);
    LLVMFuzzerTestOneInput(copy, n_bytes);
    free(copy);
    replay->n_runs++;
}

static void replay_bytes(struct replay *replay, const char *name, const uint8_t *bytes,
                         size_t n_bytes)
{
    replay_once(replay, bytes, n_bytes);
    if (n_bytes == 0)
        return;
    uint8_t *mutant = malloc(n_bytes);
    if (mutant == NULL)
        abort();
    for (unsigned long i = 0; i < replay->n_mutations; i++) {
        if (replay->verbose)
            fprintf(stderr, "%s mutation %lu\n", name, i);
        memcpy(mutant, bytes, n_bytes);
        size_t n_left = n_bytes;
        for (uint64_t n = 1 + replay_random(replay) % 4; n != 0 && n_left != 0; n--)
            n_left = replay_damage(replay, mutant, n_left);
        replay_once(replay, mutant, n_left);
    }
    free(mutant);
}

static int replay_file(struct replay *replay, const char *name)
{
    FILE *file = fopen(name, "rb");
    uint8_t *bytes = malloc(MAX_INPUT_BYTES);
    if (file == NULL || bytes == NULL) {
        perror(name);
        free(bytes);
        if (file != NULL)
            fclose(file);
        return 1;
    }
    size_t n_bytes = fread(bytes, 1, MAX_INPUT_BYTES, file);
    fclose(file);
    if (replay->verbose)
        fprintf(stderr, "%s\n", name);
    /* Seeded by the contents, so that a new corpus file does not change the other runs. */
    replay->random = UINT64_C(0x9E3779B97F4A7C15) ^ n_bytes;
    for (size_t i = 0; i < n_bytes; i++)
        replay->random = replay->random * 31 + bytes[i];
    replay->random |= 1;
    replay_bytes(replay, name, bytes, n_bytes);
    free(bytes);
    replay->n_files++;
    return 0;
}

static int replay_directory(struct replay *replay, const char *directory)
{
    struct dirent **entries = NULL;
    int n_entries = scandir(directory, &entries, NULL, alphasort);
    if (n_entries < 0) {
        perror(directory);
        return 1;
    }
    int failed = 0;
    for (int i = 0; i < n_entries; i++) {
        char name[MAX_NAME_BYTES];
        snprintf(name, sizeof name, "%s/%s", directory, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            failed |= replay_file(replay, name);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

static int replay_path(struct replay *replay, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        fprintf(stderr, "%s: no corpus, only the built-in inputs are tried\n", path);
        return 0;
    }
    return S_ISDIR(status.st_mode) ? replay_directory(replay, path) : replay_file(replay, path);
}

int main(int argc, char **argv)
{
    struct replay replay = {0};
    replay.verbose = getenv("HS_REPLAY_VERBOSE") != NULL;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--mutations") == 0) {
        replay.n_mutations = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    replay_once(&replay, (const uint8_t *)"", 0);
    replay_once(&replay, (const uint8_t *)"\0\0\0\0\0\0\0", 8);
    replay_once(&replay, (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff", 8);

    int failed = 0;
    for (int i = first; i < argc; i++)
        failed |= replay_path(&replay, argv[i]);
    printf("%lu files, %lu runs\n", replay.n_files, replay.n_runs);
    return failed;
}
