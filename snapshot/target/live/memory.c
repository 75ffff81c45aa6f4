/* The memory of one process: of the target, or of its frozen copy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "page_search.h"
#include "target/procfs.h"
#include "target_private.h"

static int memory_open_file(pid_t pid, const char *name)
{
    char path[HS_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void hs_memory_open(pid_t pid, struct hs_memory *ret)
{
    ret->pid = pid;
    ret->mem_fd = memory_open_file(pid, "mem");
    ret->pagemap_fd = memory_open_file(pid, "pagemap");
    ret->lists_pages = hs_pagemap_lists(ret->pagemap_fd);
    ret->zero_page = ret->lists_pages ? 0 : hs_pagemap_zero_page();
    ret->search = ret->lists_pages ? NULL : hs_page_search_new();
    ret->reads_by_file = false;
}

static void memory_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void hs_memory_close(struct hs_memory *memory)
{
    memory_close_fd(&memory->mem_fd);
    memory_close_fd(&memory->pagemap_fd);
    hs_page_search_free(memory->search);
    memory->search = NULL;
}

/* Through the mem file, which also reads what the program itself may not. A file of a dead process
 * reads as empty. */
static ssize_t memory_read_file(const struct hs_memory *memory, hs_addr address, uint8_t *bytes,
                                size_t n_bytes)
{
    if (memory->mem_fd < 0 || address > INT64_MAX)
        return 0;
    for (;;) {
        ssize_t n = pread(memory->mem_fd, bytes, n_bytes, (off_t)address);
        if (n > 0 || (n < 0 && errno == EIO))
            return n > 0 ? n : 0;
        if (n < 0 && errno == EINTR)
            continue;
        return n == 0 || errno == ESRCH ? -1 : 0;
    }
}

ssize_t hs_memory_read(struct hs_memory *memory, hs_addr address, void *bytes, size_t n_bytes)
{
    struct iovec local = {bytes, n_bytes};
    struct iovec remote = {(void *)(uintptr_t)address, n_bytes};

    if (!memory->reads_by_file) {
        ssize_t n = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
        if (n > 0)
            return n;
        if (n < 0 && errno == ESRCH)
            return -1;
        memory->reads_by_file = n < 0 && (errno == EPERM || errno == ENOSYS);
    }
    return memory_read_file(memory, address, bytes, n_bytes);
}
