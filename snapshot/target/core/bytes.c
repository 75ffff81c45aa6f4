/* The bytes that the core itself has of the memory. */
#include <errno.h>
#include <unistd.h>

#include "base/bisect.h"
#include "core_private.h"

size_t hs_core_read_at(int fd, uint64_t at, uint8_t *bytes, size_t n_bytes)
{
    size_t n = 0;

    while (n < n_bytes && at <= INT64_MAX) {
        ssize_t got = pread(fd, bytes + n, n_bytes - n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
        at += (uint64_t)got;
    }
    return n;
}

const struct hs_core_segment *hs_core_segment_at(const struct hs_core *core, hs_addr address)
{
    size_t at = HS_FIRST_ABOVE(core->segments, core->n_segments, end, address);
    return at < core->n_segments && core->segments[at].begin <= address ? &core->segments[at]
                                                                        : NULL;
}

size_t hs_core_own_bytes(const struct hs_core *core, hs_addr address, void *bytes, size_t n_bytes)
{
    size_t done = 0;

    while (done < n_bytes) {
        const struct hs_core_segment *s = hs_core_segment_at(core, address + done);
        uint64_t offset = s != NULL ? address + done - s->begin : 0;
        if (s == NULL || offset >= s->n_bytes)
            break;
        uint64_t left = s->n_bytes - offset;
        size_t n = n_bytes - done < left ? n_bytes - done : (size_t)left;
        size_t got =
            hs_core_read_at(core->file->fd, s->file_at + offset, (uint8_t *)bytes + done, n);
        done += got;
        if (got < n)
            break;
    }
    return done;
}
