/* links: hs_dump hs_native hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
/* fuzz: -entropic=0 */
/* A valid process and any damage to its memory: it is dumped, and what was written is whole. The
 * first byte chooses the process, the second options, then come operations of six bytes each
 * (hostile_process.h). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile_process.h"

#ifndef FUZZ_JEMALLOC
#define FUZZ_JEMALLOC 0 /* 1 in jemalloc_fuzz.c: a leaf of its tree takes half a mebibyte */
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

#ifdef HS_FUZZER /* the large ones take the time of fifty: they are only replayed */
    if (n_bytes < 2 || (bytes[1] & HOSTILE_SMALL) == 0 ||
        bytes[0] % HOSTILE_KINDS / 4 != FUZZ_JEMALLOC)
        return 0;
#endif
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    struct hostile_process *process = hostile_process_new(bytes, n_bytes);
    hs_status status = hostile_process_dump(process, fd, &err);
    if (status != HS_OK && getenv("HS_FUZZ_VERBOSE") != NULL)
        (void)fprintf(stderr, "%d: %s\n", (int)status, err.message);
    hostile_process_free(process);
    close(fd);
    return 0;
}
