/* Files that shrink while they are read. */
#ifndef HS_TOOLS_LOST_FILE_H
#define HS_TOOLS_LOST_FILE_H

#include <stdbool.h>

/* Snapshots and indexes are mapped: when somebody cuts one short meanwhile, the kernel has nothing
 * to give and sends SIGBUS. From here on that ends the program with a message and the exit code of
 * a failed read, in place of a death by signal. Nothing half written stays: outputs get their names
 * at the end. */
void hs_lost_file_watch(void);
/* Calls `restore`, too, before the end: it gives a terminal back and may be called in a signal;
 * NULL: no more. */
void hs_lost_file_restore(void (*restore)(void));

/* Lets a server go on: from here on what is lost reads as zeros, which every reader of a file takes
 * for damage, and is remembered of the thread that met it. */
void hs_lost_file_go_on(void);
/* Tells whether this thread met such a loss since it last asked. */
bool hs_lost_file_met(void);

#endif
