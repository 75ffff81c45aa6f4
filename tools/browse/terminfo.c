/* <term.h> has macros called `lines`, `columns` and `tab`: it is included nowhere else. */
#include "terminfo.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool hs_browse_terminal_is_known(void)
{
    int found = 0;
    if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
        return false;
    (void)del_curterm(cur_term);
    return true;
}
