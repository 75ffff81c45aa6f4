/* A capture of what a command prints: the faces that show several answers on one page have the same
 * bytes as whoever asks for them one by one. */
#ifndef HS_REPORT_CAPTURE_H
#define HS_REPORT_CAPTURE_H

#include "tool.h"

/* Runs the command line `arguments`, the name of a command first and NULL last, with the budget,
 * policy and progress of `tool`; *ret is what it printed: hs_map_close. Its hints are not told.
 * Resident: what it printed. */
hs_status hs_capture(struct hs_tool *tool, const char *const *arguments, struct hs_map *ret,
                     struct hs_error *err);

#endif
