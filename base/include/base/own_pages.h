/* The files that this very program is made of, in memory before they are needed. */
#ifndef HS_BASE_OWN_PAGES_H
#define HS_BASE_OWN_PAGES_H

#include <stddef.h>

/* Loads every page of the program and its libraries that is not there yet, so that none has to be
 * read while a process is stopped: the disk may be slow, and the file system one that the stopped
 * process serves (FUSE), which would never answer. Some 10 MiB, 1 ms when they are cached. Returns
 * how many bytes were asked for; where the kernel cannot (before 5.14) it is asked to read ahead.
 */
size_t hs_own_pages_load(void);

#endif
