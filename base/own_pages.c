#include "base/own_pages.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

/* A data file that is mapped is none of the program, and may be any size. */
enum { LOAD_MAX_BYTES = 64 << 20, LINE_BYTES = 4352 };

static size_t load(const char *line)
{
    uint64_t begin, end, inode;
    char rights[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64, &begin, &end, rights,
               &inode) != 4 ||
        inode == 0 || rights[0] != 'r' || rights[3] != 'p' || end - begin > LOAD_MAX_BYTES)
        return 0;
    void *at = (void *)(uintptr_t)begin; /* NOLINT(performance-no-int-to-ptr) */
    size_t n_bytes = (size_t)(end - begin);
    if (madvise(at, n_bytes, MADV_POPULATE_READ) != 0)
        (void)madvise(at, n_bytes, MADV_WILLNEED); /* a wish; a page that lacks is waited for */
    return n_bytes;
}

size_t hs_own_pages_load(void)
{
    char line[LINE_BYTES];
    size_t n_bytes = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return 0;
    while (n_bytes < LOAD_MAX_BYTES && fgets(line, sizeof line, maps) != NULL)
        n_bytes += load(line);
    (void)fclose(maps); /* was only read */
    return n_bytes;
}
