/* Words and lines that are said of rows, for pages that tell of more than one. */
#ifndef HS_BROWSE_DESCRIBE_H
#define HS_BROWSE_DESCRIBE_H

#include "model.h"

/* Appends what a row, or a list, is called: "#12 struct session", "set:3: 5 roots: ...", a key by
 * the way to it. `text` has n bytes. */
void hs_browse_put_what(struct hs_browse *browse, struct hs_browse_what what, char *text, size_t n);
/* Appends who keeps a block: a root, an owner set, several roots, or none. */
void hs_browse_put_keeper(struct hs_browse *browse, hs_node node, char *text, size_t n);
/* Appends a line with its end; what the target's names have of ends of lines are blanks.
 * HS_LIMIT. */
hs_status hs_browse_put_line(struct hs_buffer *lines, struct hs_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
