/* The command line's choice of how a process is stopped. */
#ifndef HS_TOOLS_STOP_OPTIONS_H
#define HS_TOOLS_STOP_OPTIONS_H

#include "options.h"
#include "runtimes/dump_options.h"

/* Fills stop and max_growth_percent. HS_USAGE with a hint. */
hs_status hs_stop_options_parse(const struct hs_invocation *inv, struct hs_dump_options *ret,
                                struct hs_error *err);

/* Parses the core to read, if any, and checks that against the arguments. HS_USAGE with a hint.
 * `core` must live as long as the options. */
hs_status hs_core_options_parse(const struct hs_invocation *inv, struct hs_core_options *core,
                                struct hs_dump_options *ret, struct hs_error *err);

#endif
