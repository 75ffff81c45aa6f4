/* The dump as the command line asks for it, for commands that tell of it in their own way. */
#ifndef HS_TOOLS_DUMP_RUN_H
#define HS_TOOLS_DUMP_RUN_H

#include "dump/dump.h"
#include "tool.h"

/* Parses a process id as written by the user; that of a thread becomes that of its process, and the
 * user is told. HS_USAGE with a hint. */
hs_status hs_pid_parse(const char *text, pid_t *ret, struct hs_error *err);

/* Dumps what the invocation of `dump` says to the output of the tool and commits it. Says nothing:
 * the report is the caller's to tell. */
hs_status hs_dump_run(struct hs_tool *tool, const struct hs_invocation *inv,
                      struct hs_dump_report *ret, struct hs_error *err);

#endif
