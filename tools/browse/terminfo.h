/* The facts about the terminal, asked before curses takes it. */
#ifndef HS_BROWSE_TERMINFO_H
#define HS_BROWSE_TERMINFO_H

#include "base/types.h"

/* Tells whether there is a description of the terminal of TERM. newterm finds that out, too, and
 * keeps memory that nobody can give back where there is none. */
bool hs_browse_terminal_is_known(void);

#endif
