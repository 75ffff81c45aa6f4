#include "base/effort.h"

#include <sys/stat.h>

enum { STAT_BLOCK_BYTES = 512 };

struct hs_effort hs_effort_of_file(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size <= 0)
        return hs_effort_of_bytes(0);
    if (st.st_blocks <= 0) /* several network file systems */
        return hs_effort_of_bytes((uint64_t)st.st_size);
    return hs_effort_of_bytes((uint64_t)st.st_blocks * STAT_BLOCK_BYTES);
}
