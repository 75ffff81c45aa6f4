/* A directory for what a test writes, below TMPDIR as for any program: in memory where
 * scripts/test says so. */
#ifndef HS_TEST_MADE_DIRECTORY_H
#define HS_TEST_MADE_DIRECTORY_H

#include <stdio.h>
#include <stdlib.h>

enum { MADE_DIRECTORY_BYTES = 160 };

static inline void made_directory(char ret[MADE_DIRECTORY_BYTES])
{
    const char *where = getenv("TMPDIR");
    int n = snprintf(ret, MADE_DIRECTORY_BYTES, "%s/heapsnap-test.XXXXXX",
                     where == NULL || *where == '\0' ? "/tmp" : where);
    if (n < 0 || n >= MADE_DIRECTORY_BYTES || mkdtemp(ret) == NULL)
        abort();
}

#endif
