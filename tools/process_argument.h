/* A process or a core where a look takes a snapshot: it is dumped into a file, which is looked at.
 *
 * A file of that name is what is meant. Else digits are the number of a process, and another word
 * is the name of one, as ps(1) has it, or of its program's file; a name of several is not taken for
 * any. The file is called after the process and stands in the working directory: redis-server.4242
 * .snap, or with a number more where that is there already, so that nothing is replaced. Commands
 * that take nothing but a process (dump, watch, doctor) take its name, too. */
#ifndef HS_TOOLS_PROCESS_ARGUMENT_H
#define HS_TOOLS_PROCESS_ARGUMENT_H

#include <stdbool.h>

#include "tool.h"

#define HS_PROCESS_FILE_BYTES 320

struct hs_process_argument {
    char newest[HS_PROCESS_FILE_BYTES], older[HS_PROCESS_FILE_BYTES]; /* "": not dumped */
    char pid[16]; /* of a command that takes a process alone: whose name it was; else "" */
};

/* Dumps what the first argument is called, and lets that be the file instead, which *ret must
 * outlive; with --again twice, the first one as an older snapshot. Nothing where the command takes
 * no process or the argument is none. HS_USAGE when several processes are called so; else as dump.
 */
hs_status hs_process_argument_take(struct hs_process_argument *ret, struct hs_invocation *inv,
                                   struct hs_error *err);

#endif
