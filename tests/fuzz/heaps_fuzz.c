/* links: hs_dump hs_native hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
/* A valid process and any damage to its memory: it is dumped, and what was written is whole. The
 * first byte chooses the process, the second options, then come operations of six bytes each
 * (hostile_process.h). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
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
