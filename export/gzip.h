/* Bytes on their way to a pen, compressed as gzip does it. The same input gives the same output:
 * there is no time in the head. Failures are the pen's. */
#ifndef HS_EXPORT_GZIP_H
#define HS_EXPORT_GZIP_H

#define ZLIB_CONST /* what is read is const */
#include <zlib.h>

#include "pen.h"

struct hs_gzip {
    struct hs_pen *pen; /* borrowed */
    z_stream stream;
    bool is_open;
};

void hs_gzip_open(struct hs_gzip *gzip, struct hs_pen *pen);
void hs_gzip_write(struct hs_gzip *gzip, const void *bytes, size_t n_bytes);
/* Writes what is left. To be called whatever happened. */
void hs_gzip_close(struct hs_gzip *gzip);

#endif
