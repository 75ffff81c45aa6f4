/* A door for the tests and for the program that makes the golden files. */
#ifndef HS_FORMAT_WRITER_INTERNAL_H
#define HS_FORMAT_WRITER_INTERNAL_H

#include "snapshot/writer.h"

/* The zstd level of all writers made from now on; 0 stores every section as it is, so that the
 * bytes do not depend on the version of zstd. Negative: back to the house's own. Not for threads.
 */
void hs_snap_writer_set_level(int level);

#endif
