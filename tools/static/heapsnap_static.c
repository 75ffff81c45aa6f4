/* heapsnap-static: heapsnap, and, when it is started by that name, the box in which libdwarf reads
 * debug information (dwarf-box/heapsnap_dwarf.c), as one file. */
#include <string.h>

#include "static_mains.h"

static const char box_program[] = "heapsnap-dwarf"; /* as symbols/box/ starts it */

int main(int n_arguments, char **arguments)
{
    if (n_arguments > 0 && strcmp(arguments[0], box_program) == 0)
        return hs_static_box_main(n_arguments, arguments);
    return hs_static_program_main(n_arguments, arguments);
}
