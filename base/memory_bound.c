/* The limits that others have set for this process: its control groups and its own resource limits.
 * Beyond the first it is killed, beyond the second a C library fails in ways of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/budget.h"

/* The bytes taken off what is left, for code, stacks, the allocator and the kernel's own tables: an
 * eighth of little, of much 8 MiB and a part that grows with the tables of pages. */
#define BOUND_RESERVE_BYTES ((uint64_t)8 << 20)
#define BOUND_RESERVE_SHARE 64

static uint64_t bound_share(uint64_t left_bytes)
{
    uint64_t reserve = BOUND_RESERVE_BYTES + left_bytes / BOUND_RESERVE_SHARE;

    return left_bytes - (reserve < left_bytes / 8 ? reserve : left_bytes / 8);
}

static void bound_by(struct hs_memory_bound *bound, uint64_t left_bytes, const char *by)
{
    if (left_bytes < bound->left_bytes)
        *bound = (struct hs_memory_bound){left_bytes, by};
}

/* Pages of addresses and of data that this process has, of /proc/self/statm. */
static bool pages_used(uint64_t *ret_all, uint64_t *ret_data)
{
    unsigned long all, data;
    char text[256];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd); /* was only read */
    if (n <= 0)
        return false;
    text[n] = '\0';
    if (sscanf(text, "%lu %*u %*u %*u %*u %lu", &all, &data) != 2)
        return false;
    *ret_all = all;
    *ret_data = data;
    return true;
}

static void bound_by_limit(struct hs_memory_bound *bound, __rlimit_resource_t what,
                           uint64_t n_pages, const char *by)
{
    uint64_t used = n_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bound_by(bound, limit.rlim_cur > used ? limit.rlim_cur - used : 0, by);
}

void hs_memory_address_bound(struct hs_memory_bound *ret)
{
    uint64_t all, data;
    *ret = (struct hs_memory_bound){UINT64_MAX, NULL};
    if (!pages_used(&all, &data))
        return;
    bound_by_limit(ret, RLIMIT_AS, all, "'ulimit -v' of this process");
    bound_by_limit(ret, RLIMIT_DATA, data, "'ulimit -d' of this process");
}

void hs_memory_bound(struct hs_memory_bound *ret)
{
    struct hs_memory_groups groups = {.n = 0};
    uint64_t left = hs_memory_groups_find("/proc", "self", &groups);
    struct hs_memory_bound addresses;
    *ret = (struct hs_memory_bound){UINT64_MAX, NULL};
    if (groups.n != 0 || groups.has_more)
        bound_by(ret, bound_share(left), "the control group of this process");
    hs_memory_address_bound(&addresses);
    if (addresses.by != NULL)
        bound_by(ret, bound_share(addresses.left_bytes), addresses.by);
}

bool hs_memory_can_begin(uint64_t n_bytes)
{
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && munmap(memory, n_bytes) == 0;
}
