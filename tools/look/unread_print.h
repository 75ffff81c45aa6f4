/* The sentence of a look about memory that was not read. */
#ifndef HS_LOOK_UNREAD_PRINT_H
#define HS_LOOK_UNREAD_PRINT_H

#include "analysis/unread.h"
#include "tool.h"

enum { HS_UNREAD_TEXT_BYTES = 512 };

/* Writes "97 % of the process's own memory (92.6 MiB) is not read: the heap of PHP (php) is not
 * supported yet"; "" where little is missing. */
void hs_unread_text(const struct hs_view *view, char text[HS_UNREAD_TEXT_BYTES]);

/* Prints that under a table, on standard output; nothing where little is missing. */
hs_status hs_unread_say(struct hs_tool *tool, const struct hs_view *view, struct hs_error *err);

#endif
