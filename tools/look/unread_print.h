/* The remarks of a listing about memory that was not read. */
#ifndef HS_LOOK_UNREAD_PRINT_H
#define HS_LOOK_UNREAD_PRINT_H

#include "analysis/unread.h"
#include "tool.h"

/* Prints the remark under a table: nothing where little is missing. */
void hs_unread_talk(const struct hs_view *view);

#endif
